//! Replaces calls of collective operations by the messages that a library sends for them.
//!
//! The messages use their own context for each communicator, as in MPI libraries, and the
//! operation's number as tag. A call stays as it is, and only makes processes wait for each other,
//! unless all processes agree on it and the trace says how long its data is.

use std::collections::HashMap;

use rayon::prelude::*;

use super::communicators::{Communicators, Translation};
use super::numbers::Numbers;
use super::origin::LocalId;
use super::program::{
    ANY, Action, CollectiveCall, End, Program, Side, Step, Sync, Transfer, TransferKind, UNKNOWN,
    UNKNOWN_BYTES,
};
use super::steps::Steps;
use super::transfers::Transfers;
use crate::collectives::{Call, Library, Op, schedule};
use dpamatch_traces::{CollectiveKind, TraceError, TraceErrorKind};

/// Maximum messages and receives of a rank inside collective operations.
const TRANSFERS_MAX: usize = 1 << 25;
/// Maximum bytes of a call's data, which bounds the pieces that it travels in.
const BYTES_MAX: u64 = 1 << 36;

/// What became of the calls of collective operations, in sums over the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Expanded {
    pub library: &'static str,
    pub calls: u64,
    pub messages: u64,
    /// Calls that stay without messages.
    pub kept: u64,
}

/// What all processes of a call must agree on: operation, root and data, as far as each knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Agreed {
    kind: CollectiveKind,
    root: u32,
    bytes: Option<u64>,
}

/// The k-th call of each communicator: what its processes agree on, `None` if they do not.
type Calls = HashMap<u32, Vec<Option<Agreed>>>;

/// Makes the messages of all ranks; none unless the number of processes is known.
///
/// # Errors
/// A rank has more than [`TRANSFERS_MAX`] of them.
pub(super) fn expand(
    programs: &mut [Program],
    comms: &mut Communicators,
    library: Library,
    processes_known: bool,
) -> Result<Expanded, TraceError> {
    let calls = if processes_known {
        agree(programs, comms)
    } else {
        Calls::new()
    };
    let used = calls
        .iter()
        .filter(|(_, calls)| calls.iter().any(Option::is_some));
    let mut used: Vec<u32> = used.map(|(&comm, _)| comm).collect();
    used.sort_unstable();
    let contexts = comms.add_contexts(programs, &used);
    let each =
        programs
            .par_iter_mut()
            .zip(contexts)
            .enumerate()
            .map(|(at, (program, contexts))| {
                let mut rebuilt = Rebuilt::new(program, comms, at, library);
                let expanded = rebuilt.run(&contexts, &calls)?;
                rebuilt.transfers.shrink_to_fit();
                let Rebuilt {
                    transfers,
                    steps,
                    finished,
                    ..
                } = rebuilt;
                (program.transfers, program.steps, program.finished) = (transfers, steps, finished);
                (program.collectives, program.counts) = (Vec::new(), Vec::new());
                Ok(expanded)
            });
    let each: Vec<Expanded> = each.collect::<Result<_, TraceError>>()?;
    let sum = |field: fn(&Expanded) -> u64| each.iter().map(field).sum();
    Ok(Expanded {
        library: library.name(),
        calls: sum(|rank| rank.calls),
        messages: sum(|rank| rank.messages),
        kept: sum(|rank| rank.kept),
    })
}

/// The communicator of each call, with the call's number there.
fn numbered<'a>(
    program: &'a Program,
    comms: &'a Communicators,
    at: usize,
) -> impl Iterator<Item = (&'a CollectiveCall, u32, usize)> {
    let mut numbers: HashMap<u32, usize> = HashMap::new();
    program.collectives.iter().map(move |call| {
        let comm = comms.global(at, call.comm);
        let number = numbers.entry(comm).or_default();
        *number += 1;
        (call, comm, *number - 1)
    })
}

fn agree(programs: &[Program], comms: &Communicators) -> Calls {
    let mut all = Calls::new();
    for (at, program) in programs.iter().enumerate() {
        for (call, comm, number) in numbered(program, comms, at) {
            let own = agreed(program, call, comms, at);
            let calls = all.entry(comm).or_default();
            match calls.get_mut(number) {
                None => calls.push(own),
                Some(others) if *others != own => *others = None,
                Some(_) => {}
            }
        }
    }
    all
}

/// What a process knows of its call; `None` if its messages cannot be known.
fn agreed(
    program: &Program,
    call: &CollectiveCall,
    comms: &Communicators,
    at: usize,
) -> Option<Agreed> {
    use CollectiveKind::{Alltoallv, Alltoallw, Gatherv, Scatterv};
    let comm = &comms.all[comms.global(at, call.comm) as usize];
    let size = comm.members.len();
    let known = comm.remote.is_none() && comm.translation == Translation::Exact;
    let whole = |side: Side| side.peers == 0 || side.peers as usize == size;
    let root_fits = call.root == UNKNOWN || (call.root as usize) < size;
    let sides_fit = whole(call.received) && whole(call.sent);
    if !(known && root_fits && sides_fit) || call.kind == Alltoallw {
        return None;
    }
    let made = made(program, call, comms.own_rank(at, call.comm), size)?;
    let bytes = made.everything();
    let differs = matches!(call.kind, Gatherv | Scatterv | Alltoallv);
    (bytes <= BYTES_MAX).then_some(Agreed {
        kind: call.kind,
        root: call.root,
        bytes: (!differs).then_some(bytes),
    })
}

/// The arguments of a recorded call; `None` without the size of its elements.
fn made<'a>(
    program: &'a Program,
    call: &CollectiveCall,
    rank: u32,
    size: usize,
) -> Option<Call<'a>> {
    use CollectiveKind::*;
    let is_root = rank == call.root;
    // MPI_IN_PLACE and ranks other than the root leave one side without meaning.
    let side = match call.kind {
        Barrier => return Some(Call::new(Barrier, rank as usize, size)),
        Gather | Gatherv if is_root => call.received,
        Scatter | Scatterv if !is_root => call.received,
        Allgather | Allgatherv | Alltoall | Alltoallv => call.received,
        _ => call.sent,
    };
    let sent = if call.kind == Alltoallv {
        call.sent
    } else {
        side
    };
    let sent_counts = if call.kind == Alltoallv {
        call.sent.counts(program)
    } else {
        &[]
    };
    (side.element != UNKNOWN_BYTES && sent.element != UNKNOWN_BYTES).then_some(Call {
        root: if call.root == UNKNOWN {
            0
        } else {
            call.root as usize
        },
        count: side.count,
        element: side.element,
        counts: side.counts(program),
        sent_counts,
        sent_element: sent.element,
        ..Call::new(call.kind, rank as usize, size)
    })
}

/// A rank's program with messages in place of calls.
struct Rebuilt<'a> {
    old: &'a Program,
    comms: &'a Communicators,
    at: usize,
    library: Library,
    transfers: Transfers,
    steps: Steps,
    finished: Numbers,
    /// The new number of each old transfer.
    places: Vec<u32>,
}

impl<'a> Rebuilt<'a> {
    fn new(old: &'a Program, comms: &'a Communicators, at: usize, library: Library) -> Self {
        Self {
            old,
            comms,
            at,
            library,
            transfers: Transfers::with_capacity(old.transfers.len()),
            steps: Steps::default(),
            finished: Numbers::with_capacity(old.finished.len()),
            places: vec![UNKNOWN; old.transfers.len()],
        }
    }

    fn run(
        &mut self,
        contexts: &HashMap<u32, LocalId>,
        calls: &Calls,
    ) -> Result<Expanded, TraceError> {
        let mut expanded = Expanded::default();
        let (old, comms) = (self.old, self.comms);
        let mut numbered = numbered(old, comms, self.at).peekable();
        for (number, step) in old.steps.iter().enumerate() {
            let Some((call, comm, k)) = numbered.next_if(|(call, ..)| call.step as usize == number)
            else {
                self.copy(step);
                continue;
            };
            let context = contexts.get(&comm).filter(|_| calls[&comm][k].is_some());
            let Some(&context) = context else {
                expanded.kept += 1;
                self.copy(step);
                continue;
            };
            expanded.calls += 1;
            expanded.messages += self.call(step, call, context);
            if self.transfers.len() > old.transfers.len() + TRANSFERS_MAX {
                let name = format!("rank {}", old.rank);
                let what = "has too many messages inside collective operations".to_owned();
                return Err(TraceError::new(name, TraceErrorKind::Unsupported(what)));
            }
        }
        Ok(expanded)
    }

    fn copy(&mut self, step: Step) {
        let action = match step.action {
            Action::Begin(at) => {
                self.places[at as usize] = self.transfers.len() as u32;
                self.transfers.push(self.old.transfers.at(at));
                Action::Begin(self.places[at as usize])
            }
            Action::Cancel(at) => Action::Cancel(self.places[at as usize]),
            Action::Finish { first, count } => {
                let start = self.finished.len() as u32;
                let those = self.old.finished.part(first, count);
                self.finished
                    .extend(those.map(|at| self.places[at as usize]));
                Action::Finish {
                    first: start,
                    count,
                }
            }
            collective @ Action::Collective { .. } => collective,
        };
        self.steps.push(Step { action, ..step });
    }

    /// Adds the steps of a call, and returns the number of messages sent.
    fn call(&mut self, step: Step, call: &CollectiveCall, context: LocalId) -> u64 {
        let rank = self.comms.own_rank(self.at, call.comm);
        let size = self.comms.all[self.comms.global(self.at, call.comm) as usize]
            .members
            .len();
        let Some(made) = made(self.old, call, rank, size) else {
            return 0;
        };
        let mut gap_ns = step.gap_ns;
        let mut kind = call.kind;
        let mut sent = 0;
        // Receives that the process has not waited for, from `waited` on.
        let mut waited = self.finished.len();
        let mut senders = 0..size as u32;
        for op in schedule(self.library, &made) {
            let action = match op {
                Op::Kind(other) => {
                    kind = other;
                    continue;
                }
                Op::Wait { leave } => {
                    let end = self
                        .finished
                        .len()
                        .saturating_sub(leave as usize)
                        .max(waited);
                    let (first, count) = (waited as u32, (end - waited) as u32);
                    waited = end;
                    if count == 0 {
                        continue;
                    }
                    Action::Finish { first, count }
                }
                Op::Send { to, bytes } => {
                    sent += 1;
                    let send = transfer(call, context, kind, to, bytes);
                    self.transfers.push(Transfer {
                        kind: TransferKind::Send,
                        ..send
                    });
                    Action::Begin(self.transfers.len() as u32 - 1)
                }
                Op::Post { from, bytes } => {
                    let at = self.transfers.len() as u32;
                    self.finished.push(at);
                    let any = || senders.find(|&sender| sender != rank).unwrap_or(0);
                    let source = from.unwrap_or_else(any);
                    let post = transfer(call, context, kind, source, bytes);
                    self.transfers.push(match from {
                        Some(_) => post,
                        // Which sender comes first is unknown: the order of ranks stands in.
                        None => Transfer {
                            peer: ANY,
                            got_source: source as i32,
                            got_tag: post.tag,
                            got_bytes: post.bytes,
                            end: End::Known,
                            ..post
                        },
                    });
                    Action::Begin(at)
                }
            };
            self.steps.push(Step {
                at_ns: step.at_ns,
                gap_ns,
                action,
            });
            gap_ns = 0;
        }
        // The messages make the processes wait; the call still ends a phase.
        if let Action::Collective { comm, root, .. } = step.action {
            let action = Action::Collective {
                comm,
                sync: Sync::None,
                root,
            };
            self.steps.push(Step {
                at_ns: step.at_ns,
                gap_ns,
                action,
            });
        }
        sent
    }
}

/// A receive of a message inside a call.
fn transfer(
    call: &CollectiveCall,
    context: LocalId,
    kind: CollectiveKind,
    peer: u32,
    bytes: u64,
) -> Transfer {
    Transfer {
        peer: peer as i32,
        tag: kind as i32,
        bytes,
        got_source: -1,
        got_tag: -1,
        got_bytes: UNKNOWN_BYTES,
        call: call.call,
        comm: context,
        function: call.function,
        kind: TransferKind::Recv,
        end: End::Ignored,
        blocking: false,
        synchronous: false,
        unsure_null: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::Run;
    use crate::analyze::by_hand::{program, receive, send};
    use crate::analyze::order::{Happening, Network};

    const VECTOR: Side = Side {
        count: 3,
        element: 8,
        first: 0,
        peers: 0,
    };

    /// Two ranks with a message before and after a call each.
    fn run(calls: [CollectiveCall; 2], processes: Option<u32>) -> Run {
        let program = |rank: u32| {
            let (other, all) = (
                1 - rank as i32,
                if rank == 0 {
                    send
                } else {
                    |peer, tag| receive(peer, tag, End::Ignored)
                },
            );
            let mut program = program(rank, &[all(other, 1), all(other, 2)]);
            let sync = Sync::of(calls[rank as usize].kind);
            let action = Action::Collective {
                comm: 0,
                sync,
                root: calls[rank as usize].root,
            };
            let call = Step {
                at_ns: 7,
                gap_ns: 5,
                action,
            };
            program.steps.edit(|steps| steps.insert(1, call));
            program.collectives = vec![calls[rank as usize]];
            program
        };
        Run::with(vec![program(0), program(1)], processes, Library::Mpich).expect("few messages")
    }

    fn call(kind: CollectiveKind, root: u32) -> CollectiveCall {
        let (sent, received) = (VECTOR, VECTOR);
        CollectiveCall {
            sent,
            received,
            step: 1,
            call: 9,
            root,
            comm: 0,
            function: 4,
            kind,
        }
    }

    /// The data of a call have up to 2^36 bytes, over its ranks. A call with more stays without
    /// messages.
    #[test]
    fn calls_have_up_to_64_gib() {
        const HALF: u64 = 1 << 35;
        for (count, fits) in [(HALF - 1, true), (HALF, true), (HALF + 1, false)] {
            let mut bcast = call(CollectiveKind::Bcast, 0);
            bcast.sent = Side {
                count,
                element: 1,
                ..VECTOR
            };
            bcast.received = bcast.sent;
            let expanded = run([bcast; 2], Some(2)).expanded.expect("a library");
            let told = (expanded.calls, expanded.kept);
            assert_eq!(told, if fits { (2, 0) } else { (0, 2) }, "{count} bytes");
        }
    }

    #[test]
    fn messages_stand_between_the_programs_own() {
        let run = run([call(CollectiveKind::Reduce, 1); 2], Some(2));
        let expanded = Expanded {
            library: "mpich",
            calls: 2,
            messages: 1,
            kept: 0,
        };
        assert_eq!(run.expanded, Some(expanded));
        let sent: Vec<_> = run.inbound[1]
            .iter()
            .map(|it| (it.comm, it.tag, it.bytes))
            .collect();
        let context = run.comms.global(1, 2);
        let reduce = CollectiveKind::Reduce as u32;
        assert_eq!(sent, [(0, 1, 4), (context, reduce, 24), (0, 2, 4)]);
        let made = run.programs[0].transfers.at(1);
        assert_eq!((made.call, made.function, made.comm), (9, 4, 2));
        let times: Vec<_> = run.programs[0]
            .steps
            .iter()
            .map(|it| (it.at_ns, it.gap_ns))
            .collect();
        assert_eq!(times, [(0, 0), (7, 5), (7, 0), (0, 0)]);
        let phase = Action::Collective {
            comm: 0,
            sync: Sync::None,
            root: 1,
        };
        let third = run.programs[0].steps.iter().nth(2).expect("four steps");
        assert_eq!(third.action, phase, "the messages make ranks wait");
        let (orders, stalls, _) = run.causal(Network::default());
        assert_eq!(stalls, 0);
        let posts = orders[1]
            .iter()
            .filter(|it| matches!(it, Happening::Post(_)));
        assert_eq!(posts.count(), 3);
        let comm = &run.comms.all[context as usize];
        assert_eq!(
            (comm.name.as_str(), comm.collectives),
            ("collectives of world", true)
        );
        let tags = [i32::MAX - 16, 1 << 30, (1 << 30) - 1];
        assert_eq!(
            tags.map(|tag| comm.tag(tag)),
            [-17, -(1 << 30), (1 << 30) - 1]
        );
    }

    #[test]
    fn calls_stay_if_ranks_disagree_or_sizes_are_unknown() {
        use CollectiveKind::{Alltoallw, Bcast, Reduce};
        let unknown = Side {
            element: UNKNOWN_BYTES,
            ..VECTOR
        };
        let longer = Side { count: 4, ..VECTOR };
        let with = |sent| CollectiveCall {
            sent,
            ..call(Bcast, 0)
        };
        let peers = Side {
            count: 3,
            peers: 0,
            ..VECTOR
        };
        for (calls, processes) in [
            ([call(Bcast, 0), call(Bcast, 1)], Some(2)),
            ([call(Bcast, 0), call(Reduce, 0)], Some(2)),
            ([call(Bcast, 2), call(Bcast, 2)], Some(2)),
            ([with(VECTOR), with(longer)], Some(2)),
            ([with(unknown), with(VECTOR)], Some(2)),
            (
                [with(Side {
                    count: 1 << 34,
                    ..peers
                }); 2],
                Some(2),
            ),
            ([call(Alltoallw, UNKNOWN); 2], Some(2)),
            ([call(Bcast, 0); 2], None),
        ] {
            let run = run(calls, processes);
            let expanded = Expanded {
                library: "mpich",
                calls: 0,
                messages: 0,
                kept: 2,
            };
            assert_eq!(run.expanded, Some(expanded), "{calls:?}");
            assert_eq!(run.programs[0].transfers.len(), 2);
            let waits = Action::Collective {
                comm: 0,
                sync: Sync::of(calls[0].kind),
                root: calls[0].root,
            };
            let second = run.programs[0].steps.iter().nth(1);
            assert_eq!(second.map(|step| step.action), Some(waits));
        }
        assert_eq!(
            run([with(VECTOR); 2], Some(2)).expanded.map(|it| it.kept),
            Some(0)
        );
    }
}
