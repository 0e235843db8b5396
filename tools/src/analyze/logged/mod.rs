//! Reads a run from order logs: the matching of every process in its real order.
//!
//! A log is an event stream with its results, written by the libfabric provider in one or more
//! pieces. Each later piece begins with the queues' contents. Comments at the end of a piece name
//! communicators and peers. The order is known, but sends, waits and the program's calls are not.

mod collector;
mod piece;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use dpamatch_vocabulary::{Selector, SourceSel, TagSel};

use self::collector::{Collector, Comms, transfer};
use self::piece::processes;
use super::communicators::Communicators;
use super::inbound::{Lost, Messages};
use super::order::{Happening, Load, Order};
use super::probes::Probes;
use super::program::{End, LocalComm, Program, Transfer, TransferKind, UNKNOWN};
use super::run::Run;
use super::truth::Truth;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    #[error("{}: {error}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("{}: {what}", path.display())]
    Content { path: PathBuf, what: String },
}

pub fn is_log(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.path().extension().is_some_and(|ext| ext == "events"))
    })
}

/// Adds each process's sends as the receivers' logs show them: peers and bytes, but no times.
fn add_sends(run: &mut Run, of_local: &mut [Vec<u32>]) {
    let index: HashMap<u32, usize> = run
        .programs
        .iter()
        .enumerate()
        .map(|(at, program)| (program.rank, at))
        .collect();
    for (receiver, inbound) in run.inbound.iter().enumerate() {
        let to = run.programs[receiver].rank;
        for message in inbound.iter() {
            let Some(&at) = index.get(&message.sender) else {
                continue;
            };
            let (program, comms) = (&mut run.programs[at], &mut of_local[at]);
            let local = comms
                .iter()
                .position(|&comm| comm == message.comm)
                .unwrap_or_else(|| {
                    let (number, made) = (message.comm, true);
                    program.comms.push(LocalComm {
                        number,
                        own_rank: None,
                        size: None,
                        made,
                    });
                    comms.push(message.comm);
                    comms.len() - 1
                });
            // A process with that many communicators has no further logged receives, either.
            let Ok(comm) = u16::try_from(local) else {
                continue;
            };
            let selector = Selector {
                source: SourceSel::Any,
                tag: TagSel::Any,
            };
            let send = transfer(TransferKind::Send, selector, comm, UNKNOWN, message.bytes);
            program.transfers.push(Transfer {
                peer: to as i32,
                tag: message.tag as i32,
                end: End::Ignored,
                ..send
            });
        }
    }
}

impl Run {
    /// Reads the order logs in a folder: `.events` and `.results` of each process.
    ///
    /// # Complexity
    /// Linear in the events.
    pub fn of_logs(folder: &Path) -> Result<Self, LogError> {
        let processes = processes(folder)?;
        if processes.is_empty() {
            let what = "no order log with an event".to_owned();
            return Err(LogError::Content {
                path: folder.to_owned(),
                what,
            });
        }
        let ranks: HashMap<String, u32> = processes
            .iter()
            .map(|process| (process.identity.clone(), process.rank))
            .collect();
        let count = processes
            .iter()
            .map(|process| process.rank + 1)
            .max()
            .unwrap_or(0);
        let pieces = || processes.iter().flat_map(|process| &process.pieces);
        let begin_unix_ns = pieces()
            .map(|piece| piece.begin_unix_ns)
            .filter(|&begin| begin > 0)
            .min()
            .unwrap_or(0);
        let mut comms = Comms::default();
        let mut run = Self {
            processes: count,
            processes_guessed: false,
            programs: Vec::new(),
            comms: Communicators::known(Vec::new(), Vec::new(), [].into()),
            inbound: Vec::new(),
            truth: Vec::new(),
            probes: Vec::new(),
            lost: Lost::default(),
            expanded: None,
            recorded: None,
        };
        let (mut orders, mut of_local) = (Vec::new(), Vec::new());
        for process in &processes {
            let mut collector = Collector {
                ranks: &ranks,
                strangers: count,
                program: Program {
                    rank: process.rank,
                    ..Program::default()
                },
                inbound: Messages::default(),
                order: Order::default(),
                truth: Truth::default(),
                local: HashMap::new(),
                of_local: Vec::new(),
                receives: HashMap::new(),
                messages: HashMap::new(),
                begin_unix_ns,
            };
            let protocol = process
                .pieces
                .iter()
                .map(|piece| piece.protocol)
                .max()
                .unwrap_or(0);
            if !process.pieces.iter().all(|piece| piece.whole) {
                let why = "its order log was not closed, so the end may be missing";
                collector.program.salvaged = Some(why.to_owned());
            }
            for piece in &process.pieces {
                collector.piece(piece, protocol, &mut comms)?;
            }
            let left = collector
                .inbound
                .iter()
                .filter(|message| message.receive == UNKNOWN);
            collector.truth.left = left.count() as u64;
            run.programs.push(collector.program);
            collector.inbound.shrink_to_fit();
            run.inbound.push(collector.inbound);
            run.truth.push(collector.truth);
            // The order is known, so it needs no rule.
            run.probes.push(Probes::default());
            orders.push(collector.order);
            of_local.push(collector.of_local);
        }
        add_sends(&mut run, &mut of_local);
        let programs = run.programs.iter_mut();
        programs.for_each(|it| it.transfers.shrink_to_fit());
        run.comms = Communicators::known(comms.names, of_local, (0..count).collect());
        run.recorded = Some(orders);
        Ok(run)
    }

    /// When each rank's log ends, in nanoseconds, with the matching cost `load` added. Logs have no
    /// waits: the model assumes one wait for all messages that came to posted receives between two
    /// posts.
    pub(super) fn logged_ends(&self, orders: &[Order], load: &Load) -> Vec<u64> {
        let end = |(at, order): (usize, &Order)| {
            let view = self.view(at);
            let (mut receives, mut waits, mut waiting) = (0_u64, 0_u64, false);
            let mut posted = HashSet::new();
            for happening in order.iter() {
                match happening {
                    Happening::Post(receive) => {
                        posted.insert(receive);
                        receives += u64::from(load.counts(view.comm(receive)));
                        waiting = false;
                    }
                    Happening::Arrive(message) => {
                        let inbound = view.inbound.at(message);
                        let expected = posted.remove(&inbound.receive);
                        if expected && load.counts(inbound.comm) && !waiting {
                            (waits, waiting) = (waits + 1, true);
                        }
                    }
                    _ => {}
                }
            }
            let last = order
                .len()
                .checked_sub(1)
                .and_then(|last| order.time_ns(last));
            let span = last.unwrap_or(0) - order.time_ns(0).unwrap_or(0);
            let receive_ns = load.receive_ns.get(at).copied().unwrap_or(0);
            span + receives * receive_ns + waits * load.delay_ns
        };
        orders.iter().enumerate().map(end).collect()
    }
}
