//! A run: the common input of replays and statistics.

use dpamatch_vocabulary::Rank;
use rayon::prelude::*;

use super::communicators::Communicators;
use super::expand::{Expanded, expand};
use super::inbound::{Lost, Messages, route};
use super::order::{Causal, Guided, Load, Merged, Network, Order, OrderChoice, Stall};
use super::probes::{Probes, probes};
use super::program::Program;
use super::replay::RankView;
use super::truth::{Truth, pair};
use crate::collectives::Library;
use dpamatch_traces::{TraceError, TraceErrorKind, TraceSource};

/// Maximum processes of a run, which bounds tables over the world.
const PROCESSES_MAX: u32 = 1 << 22;

/// All ranks of a trace, their messages, and the recorded pairs.
#[derive(Debug)]
pub struct Run {
    pub processes: u32,
    /// Whether `processes` is a guess: the minimum that the recorded ranks imply.
    pub processes_guessed: bool,
    pub programs: Vec<Program>,
    pub comms: Communicators,
    pub inbound: Vec<Messages>,
    /// How each program's receives and messages were paired.
    pub truth: Vec<Truth>,
    /// What each program's probes found.
    pub probes: Vec<Probes>,
    pub lost: Lost,
    /// What became of collective operations, if their messages were made.
    pub expanded: Option<Expanded>,
    /// The order at each rank, if known.
    pub(super) recorded: Option<Vec<Order>>,
}

impl Run {
    /// Reads all ranks of a trace in parallel and calls `read` after each one.
    ///
    /// # Errors
    /// A rank cannot be read or exceeds 2^22.
    ///
    /// # Complexity
    /// Linear in the calls, plus one sort of each rank's receives and messages.
    pub fn load(source: &dyn TraceSource, read: impl Fn(Rank) + Sync) -> Result<Self, TraceError> {
        Self::load_with(source, Library::Off, read)
    }

    /// As [`load`](Self::load), with the messages that `library` sends inside collective
    /// operations.
    ///
    /// # Errors
    /// As [`load`](Self::load), or a rank has more than 2^25 such messages and receives.
    pub fn load_with(
        source: &dyn TraceSource,
        library: Library,
        read: impl Fn(Rank) + Sync,
    ) -> Result<Self, TraceError> {
        if let Some(rank) = source
            .ranks()
            .iter()
            .find(|rank| rank.get() >= PROCESSES_MAX)
        {
            let name = format!("rank {}", rank.get());
            let what = format!("is beyond the {PROCESSES_MAX} processes that can be analyzed");
            return Err(TraceError::new(name, TraceErrorKind::Unsupported(what)));
        }
        let programs: Result<Vec<_>, _> = source
            .ranks()
            .par_iter()
            .map(|&rank| {
                let mut reader = source.open(rank)?;
                let sites = source.sites(rank)?;
                let program = super::collect(reader.as_mut(), library != Library::Off, sites)?;
                read(rank);
                Ok(program)
            })
            .collect();
        Self::with(programs?, source.run().processes, library)
    }

    /// Builds a run from operations; `processes` is the size of the world, if known.
    pub fn new(programs: Vec<Program>, processes: Option<u32>) -> Self {
        let run = Self::with(programs, processes, Library::Off);
        run.expect("only messages inside collective operations can be too many")
    }

    pub(super) fn with(
        mut programs: Vec<Program>,
        processes: Option<u32>,
        library: Library,
    ) -> Result<Self, TraceError> {
        programs.sort_by_key(|program| program.rank);
        let highest = programs.last().map_or(0, |program| program.rank + 1);
        let asked = programs
            .iter()
            .filter_map(|program| program.comms[0].size)
            .max();
        let processes_told = processes.or(asked);
        let told = processes_told.unwrap_or_else(|| addressed(&programs));
        // A damaged number must not make tables grow beyond what the ranks need.
        let processes = told.min(PROCESSES_MAX).max(highest);
        let processes_guessed = processes_told.is_none();
        let mut comms = Communicators::resolve(&programs, processes);
        let expanded = match library {
            Library::Off => None,
            _ => Some(expand(
                &mut programs,
                &mut comms,
                library,
                !processes_guessed,
            )?),
        };
        let (mut inbound, lost) = route(&programs, &comms);
        let ranks: Vec<u32> = programs.iter().map(|program| program.rank).collect();
        let truth = programs
            .par_iter_mut()
            .zip(&mut inbound)
            .enumerate()
            .map(|(at, (program, inbound))| pair(at, program, inbound, &comms, &ranks))
            .collect();
        let probes = programs
            .par_iter()
            .zip(&inbound)
            .enumerate()
            .map(|(at, (program, inbound))| probes(at, program, inbound, &comms))
            .collect();
        Ok(Self {
            processes,
            processes_guessed,
            programs,
            comms,
            inbound,
            truth,
            probes,
            lost,
            expanded,
            recorded: None,
        })
    }

    /// The inputs of a replay of the n-th program.
    pub fn view(&self, at: usize) -> RankView<'_> {
        RankView {
            at,
            program: &self.programs[at],
            inbound: &self.inbound[at],
            probes: &self.probes[at],
            comms: &self.comms,
        }
    }

    /// The place of a world rank's program. Constant if every rank has one, else a search.
    pub fn program_of(&self, rank: u32) -> Option<usize> {
        let at = |program: &Program| program.rank;
        if self.programs.get(rank as usize).map(at) == Some(rank) {
            return Some(rank as usize);
        }
        self.programs.binary_search_by_key(&rank, at).ok()
    }

    pub fn views(&self) -> impl Iterator<Item = RankView<'_>> {
        (0..self.programs.len()).map(|at| self.view(at))
    }

    /// A guided order at each rank, which reproduces the recorded pairs.
    pub fn guided(&self, choice: OrderChoice) -> Vec<Order> {
        self.each_rank(|at| self.guided_at(at, choice))
    }

    fn guided_at(&self, at: usize, choice: OrderChoice) -> Order {
        Guided {
            view: self.view(at),
        }
        .order(choice)
    }

    fn each_rank<T: Send>(&self, each: impl Fn(usize) -> T + Send + Sync) -> Vec<T> {
        let ranks = (0..self.programs.len()).into_par_iter();
        ranks.map(each).collect()
    }

    /// Whether the order at each rank is known ([`Run::of_logs`]). Then every order choice returns
    /// it.
    pub fn is_logged(&self) -> bool {
        self.recorded.is_some()
    }

    /// Simulates the ranks. Returns the order at each rank, the number of stalls and the first of
    /// them.
    pub fn causal(&self, network: Network) -> (Vec<Order>, u64, Vec<Stall>) {
        if let Some(orders) = &self.recorded {
            return (orders.clone(), 0, Vec::new());
        }
        Causal::new(self, network).run()
    }

    /// When each rank is done in the causal order with the matching cost `load`, in nanoseconds.
    pub fn ends(&self, network: Network, load: Load) -> Vec<u64> {
        if let Some(orders) = &self.recorded {
            return self.logged_ends(orders, &load);
        }
        Causal::ends(self, network, load)
    }

    /// The chosen order at each rank, the number of stalls and the first of them. `network` applies
    /// to [`OrderChoice::Causal`]. `None` for [`OrderChoice::Time`] if a rank lacks wall times.
    pub fn orders(
        &self,
        choice: OrderChoice,
        network: Network,
    ) -> Option<(Vec<Order>, u64, Vec<Stall>)> {
        if let Some(orders) = &self.recorded {
            return Some((orders.clone(), 0, Vec::new()));
        }
        match choice {
            OrderChoice::Recorded => None,
            OrderChoice::Causal => Some(self.causal(network)),
            OrderChoice::Time => Some((self.merged()?, 0, Vec::new())),
            guided => Some((self.guided(guided), 0, Vec::new())),
        }
    }

    /// In the causal order, the messages that find a posted receive, and the others; not for order
    /// logs.
    pub(super) fn causal_counts(&self, network: Network) -> [u64; 2] {
        Causal::counts(self, network)
    }

    /// The order of the recorded clocks; `None` without wall times.
    pub fn merged(&self) -> Option<Vec<Order>> {
        let merged = Merged::new(self)?;
        Some(self.each_rank(|at| merged.order(at)))
    }

    /// What `look` finds in the order at each rank. These are orders that a rank has by itself, and
    /// one of them is held at a time. `None` for others, and for [`OrderChoice::Time`] without wall
    /// times.
    pub(super) fn look_at_orders<T: Send>(
        &self,
        choice: OrderChoice,
        look: impl Fn(RankView<'_>, &Order) -> T + Sync,
    ) -> Option<Vec<T>> {
        let look = |at: usize, order: &Order| look(self.view(at), order);
        match choice {
            _ if self.is_logged() => None,
            OrderChoice::Recorded | OrderChoice::Causal => None,
            OrderChoice::Time => {
                let merged = Merged::new(self)?;
                Some(self.each_rank(|at| look(at, &merged.order(at))))
            }
            guided => Some(self.each_rank(|at| look(at, &self.guided_at(at, guided)))),
        }
    }
}

/// One more than the highest rank in any send or receive: the minimum size of the world.
fn addressed(programs: &[Program]) -> u32 {
    let transfers = programs
        .iter()
        .flat_map(|program| program.transfers.kinds());
    transfers
        .map(|transfer| (transfer.peer.saturating_add(1)).max(0) as u32)
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::by_hand::{paired, program, receive, run, send};
    use crate::analyze::order::Happening;
    use crate::analyze::program::{Action, End, Step, Transfer, UNKNOWN};
    use dpamatch::engine::Oracle;

    #[test]
    fn a_message_comes_after_the_cancel_of_a_receive_that_would_have_taken_it() {
        for (peer, tag) in [(0, 5), (-1, 5), (0, -1), (-1, -1)] {
            let run = run(
                &[send(1, 5)],
                &[
                    receive(peer, tag, End::Cancelled),
                    receive(0, 5, End::Ignored),
                ],
            );
            assert_eq!(paired(&run), [1]);
            let early = run.guided(OrderChoice::ArrivalsFirst);
            let last = early[1].iter().skip(2).collect::<Vec<_>>();
            assert_eq!(
                last,
                [Happening::Arrive(0), Happening::Post(1)],
                "{peer}, {tag}"
            );
        }
    }

    /// A run has tables for up to 2^22 processes.
    #[test]
    fn ranks_are_below_2_to_the_22() {
        let folder = tempfile::tempdir().expect("a folder");
        let time = "walltime 0.000000000, cputime 0.000000000 seconds in thread 0.";
        let text = format!("MPI_Finalize entering at {time}\nMPI_Finalize returning at {time}\n");
        for (rank, fits) in [(4_194_302, true), (4_194_303, true), (4_194_304, false)] {
            let path = folder.path().join(format!("run-{rank}.txt"));
            std::fs::write(&path, &text).expect("room");
            let source = dpamatch_traces::open(&path, &Default::default()).expect("a trace");
            let run = Run::load(&*source, |_| ()).map_err(|error| error.to_string());
            let expected = match fits {
                true => Ok(rank + 1),
                false => Err(format!(
                    "rank {rank}: is beyond the 4194304 processes that can be analyzed"
                )),
            };
            assert_eq!(run.map(|run| run.processes), expected);
        }
    }

    #[test]
    fn receives_without_status_get_what_is_left() {
        let known = Transfer {
            got_source: 0,
            got_tag: 7,
            got_bytes: 4,
            ..receive(-1, -1, End::Known)
        };
        let run = run(
            &[send(1, 7), send(1, 8)],
            &[receive(-1, -1, End::Ignored), known],
        );
        let truth = run.truth[1];
        assert_eq!(
            (truth.pairs, truth.eliminated, truth.bytes_equal),
            (1, 1, 1)
        );
        assert_eq!(
            paired(&run),
            [1, 0],
            "the receive with the status got tag 7"
        );
    }

    #[test]
    fn a_receive_that_may_be_of_nobody_is_if_nobody_sent() {
        let mut unsure = receive(-1, 3, End::Ignored);
        unsure.unsure_null = true;
        let run = run(&[send(1, 4)], &[unsure, receive(0, 4, End::Ignored)]);
        assert_eq!((run.truth[1].taken_for_null, run.truth[1].left), (1, 0));
        assert_eq!(paired(&run), [1]);
    }

    #[test]
    fn a_send_that_is_in_no_trace_is_made_up() {
        let known = Transfer {
            got_source: 0,
            got_tag: 9,
            got_bytes: 2,
            ..receive(0, -1, End::Known)
        };
        let run = run(
            &[send(1, 4), send(5, 0)],
            &[known, receive(0, 4, End::Ignored)],
        );
        assert_eq!((run.truth[1].assumed, run.lost.to_no_rank), (1, 1));
        assert_eq!(run.inbound[1].at(1).op, UNKNOWN);
        assert_eq!(run.inbound[1].at(1).bytes, 2);
        assert_eq!(paired(&run), [1, 0]);
    }

    /// The recorded first receive got the second sender's message. In a causal order it may get the
    /// first sender's, and the second receive waits for ever.
    #[test]
    fn a_causal_order_that_cannot_go_on_lets_go() {
        let wild = Transfer {
            blocking: true,
            got_source: 2,
            got_tag: 0,
            ..receive(-1, 0, End::Known)
        };
        let exact = Transfer {
            blocking: true,
            got_source: 0,
            got_tag: 0,
            ..receive(0, 0, End::Known)
        };
        let late = Step {
            at_ns: 0,
            gap_ns: 1_000_000,
            action: Action::Begin(0),
        };
        let mut slow = program(2, &[send(1, 0)]);
        slow.steps = [late].into_iter().collect();
        let run = Run::new(
            vec![program(0, &[send(1, 0)]), program(1, &[wild, exact]), slow],
            Some(3),
        );
        let (orders, stalls, told) = run.causal(Network::default());
        assert_eq!((stalls, told.len(), told[0].rank), (1, 1, 1));
        let receives = run
            .view(1)
            .run(&mut Oracle::new(), &orders[1])
            .expect("an engine");
        assert_eq!(receives, [0, UNKNOWN]);
        assert_eq!(
            crate::analyze::legality::check(run.view(1), &orders[1], &receives),
            Ok(())
        );
    }
}
