//! A run with everything that replays and statistics start from.

use dpa_model::Rank;
use rayon::prelude::*;

use super::communicators::Communicators;
use super::inbound::{Inbound, Lost, route};
use super::order::{Causal, Guided, Interleaving, Network, Order, Stall, merged};
use super::program::Program;
use super::replay::RankView;
use super::truth::{Truth, pair};
use crate::trace::{TraceError, TraceErrorKind, TraceSource};

/// Most processes of a run: tables over the world grow with it.
const PROCESSES_MAX: u32 = 1 << 22;

/// All ranks of a trace, their messages, and what was really matched.
#[derive(Debug)]
pub struct Run {
    /// Processes of the world.
    pub processes: u32,
    /// The ranks that have a trace, ascending.
    pub programs: Vec<Program>,
    /// All communicators.
    pub comms: Communicators,
    /// What each of the programs was sent.
    pub inbound: Vec<Vec<Inbound>>,
    /// How their receives and messages go together.
    pub truth: Vec<Truth>,
    /// Sends that lead nowhere.
    pub lost: Lost,
}

impl Run {
    /// Reads all ranks of a trace, in parallel; `read` is told each rank that is done.
    ///
    /// # Errors
    /// A rank cannot be read, or is beyond 2^22.
    ///
    /// # Complexity
    /// Linear in the calls, but for sorting each rank's receives and messages once.
    pub fn load(source: &dyn TraceSource, read: impl Fn(Rank) + Sync) -> Result<Self, TraceError> {
        if let Some(rank) = source.ranks().iter().find(|rank| rank.get() >= PROCESSES_MAX) {
            let name = format!("rank {}", rank.get());
            let what = format!("is beyond the {PROCESSES_MAX} processes that can be analyzed");
            return Err(TraceError::new(name, TraceErrorKind::Unsupported(what)));
        }
        let programs: Result<Vec<_>, _> = source
            .ranks()
            .par_iter()
            .map(|&rank| {
                let mut reader = source.open(rank)?;
                let program = super::collect(reader.as_mut())?;
                read(rank);
                Ok(program)
            })
            .collect();
        Ok(Self::new(programs?, source.run().processes))
    }

    /// From operations; `processes` is the size of the world, if it is known.
    pub fn new(mut programs: Vec<Program>, processes: Option<u32>) -> Self {
        programs.sort_by_key(|program| program.rank);
        let highest = programs.last().map_or(0, |program| program.rank + 1);
        let asked = programs.iter().filter_map(|program| program.comms[0].size).max();
        let told = processes.or(asked).unwrap_or_else(|| addressed(&programs));
        // What the recorder's notes or the program tell may be damaged: memory goes with the ranks.
        let processes = told.min(PROCESSES_MAX).max(highest);
        let comms = Communicators::resolve(&programs, processes);
        let (mut inbound, lost) = route(&programs, &comms);
        let ranks: Vec<u32> = programs.iter().map(|program| program.rank).collect();
        let truth = programs
            .par_iter_mut()
            .zip(&mut inbound)
            .enumerate()
            .map(|(at, (program, inbound))| pair(at, program, inbound, &comms, &ranks))
            .collect();
        Self { processes, programs, comms, inbound, truth, lost }
    }

    /// The n-th program with all that a replay reads.
    pub fn view(&self, at: usize) -> RankView<'_> {
        RankView { at, program: &self.programs[at], inbound: &self.inbound[at], comms: &self.comms }
    }

    /// All programs, as [`view`](Self::view).
    pub fn views(&self) -> impl Iterator<Item = RankView<'_>> {
        (0..self.programs.len()).map(|at| self.view(at))
    }

    /// The order that what was really matched asks for, at each rank.
    pub fn guided(&self, interleaving: Interleaving) -> Vec<Order> {
        let order = |at: usize| {
            let (program, inbound) = (&self.programs[at], self.inbound[at].as_slice());
            Guided { program, at, inbound, comms: &self.comms }.order(interleaving)
        };
        (0..self.programs.len()).into_par_iter().map(order).collect()
    }

    /// The order that comes about when the ranks run, how often one had to be let go, and the first of these times.
    pub fn causal(&self, network: Network) -> (Vec<Order>, u64, Vec<Stall>) {
        Causal::new(&self.programs, &self.comms, &self.inbound, network).run()
    }

    /// The order of the recorded clocks; `None` without wall times.
    pub fn merged(&self) -> Option<Vec<Order>> {
        merged(&self.programs, &self.inbound)
    }
}

/// One more than the highest rank that anybody sends to or receives from: the size of a world that nobody told.
fn addressed(programs: &[Program]) -> u32 {
    let transfers = programs.iter().flat_map(|program| &program.transfers);
    transfers.map(|transfer| (transfer.peer.saturating_add(1)).max(0) as u32).max().unwrap_or(0)
}
