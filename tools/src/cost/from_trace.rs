//! The messages of a recorded run.
//!
//! A phase ends where all processes take part in a collective operation, on any communicator: every
//! message of the phase was sent before it. Creating a communicator from one of all processes
//! counts as well. A message belongs to the phase in which it is sent; the phase's name is the
//! number of collective operations before it.

use std::collections::BTreeMap;

use super::message_list::{Message, MessageList, Phase};
use crate::analyze::{Action, Kind, Program, Run, Translation, UNKNOWN};
use crate::collectives::Library;
use crate::trace::{TraceError, TraceSource};

/// Messages found in a trace. Ranks are world ranks, whatever the message's communicator.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceMessages {
    /// The messages. Within a phase the k-th messages of all senders precede the next ones, because
    /// a trace does not record the arrival order across senders.
    pub list: MessageList,
    pub communicators: usize,
    pub left_out: LeftOut,
    /// Messages on communicators whose creation was not recorded; the parent's ranks stand in.
    pub assumed_ranks: u64,
}

/// Messages left out, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeftOut {
    /// The trace does not hold the size of the datatype.
    pub unknown_bytes: u64,
    /// The communicator has no such rank.
    pub to_no_rank: u64,
}

/// Extracts the messages of a trace, with those that a library sends inside collective operations.
/// These belong to the phase that the operation ends.
///
/// # Errors
/// The trace cannot be read.
///
/// # Complexity
/// O(calls + messages log messages); the calls are held in memory.
pub fn read(trace: &dyn TraceSource, collectives: Library) -> Result<TraceMessages, TraceError> {
    Ok(of_run(&Run::load_with(trace, collectives, |_| ())?))
}

pub fn of_run(run: &Run) -> TraceMessages {
    let mut found = TraceMessages::default();
    found.list.ranks = run.processes;
    let posts = posts(run);
    let mut senders_of = vec![false; run.comms.all.len()];
    let mut phases: BTreeMap<u32, Vec<(usize, Message)>> = BTreeMap::new();
    for (at, program) in run.programs.iter().enumerate() {
        let mut places: BTreeMap<u32, usize> = BTreeMap::new();
        for (phase, op) in begun(run, at, program) {
            let transfer = &program.transfers[op as usize];
            if transfer.kind != Kind::Send {
                continue;
            }
            let number = run.comms.global(at, transfer.comm);
            let comm = &run.comms.all[number as usize];
            let Some(dst) = comm.peer(program.rank, transfer.peer as u32) else {
                found.left_out.to_no_rank += 1;
                continue;
            };
            if transfer.bytes == UNKNOWN {
                found.left_out.unknown_bytes += 1;
                continue;
            }
            senders_of[number as usize] = true;
            found.assumed_ranks += u64::from(comm.translation == Translation::Assumed);
            let message = Message {
                src: program.rank,
                dst,
                tag: transfer.tag as u32,
                bytes: u64::from(transfer.bytes),
                comm: number,
                post: posts[at][op as usize],
            };
            let place = places.entry(phase).or_default();
            phases.entry(phase).or_default().push((*place, message));
            *place += 1;
        }
    }
    found.communicators = senders_of.into_iter().filter(|&sent| sent).count();
    for (phase, mut messages) in phases {
        messages.sort_by_key(|&(place, _)| place);
        let messages = messages.into_iter().map(|(_, message)| message).collect();
        found.list.phases.push(Phase { name: phase.to_string(), messages });
    }
    found
}

/// The receive that each send of a program met, by transfer. A rank's receives are numbered in
/// posting order.
fn posts(run: &Run) -> Vec<Vec<u32>> {
    let mut posts: Vec<Vec<u32>> =
        run.programs.iter().map(|program| vec![UNKNOWN; program.transfers.len()]).collect();
    for message in run.inbound.iter().flatten() {
        if let Ok(at) = run.programs.binary_search_by_key(&message.sender, |program| program.rank)
            && let Some(post) = posts[at].get_mut(message.op as usize)
        {
            *post = message.receive;
        }
    }
    posts
}

/// The transfers that a program begins, in order, each with its phase.
fn begun<'a>(
    run: &'a Run,
    at: usize,
    program: &'a Program,
) -> impl Iterator<Item = (u32, u32)> + 'a {
    let of_all = move |local| {
        let comm = &run.comms.all[run.comms.global(at, local) as usize];
        comm.remote.is_none()
            && comm.translation == Translation::Exact
            && comm.members.len() == run.processes as usize
    };
    let mut phase = 0;
    program.steps.iter().filter_map(move |step| match step.action {
        Action::Begin(op) => Some((phase, op)),
        Action::Collective { comm, .. } => {
            phase += u32::from(of_all(comm));
            None
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{
        Call, Collective, CollectiveKind, Comm, CommHow, CommNew, Datatype, DatatypeSizes, Dest,
        Function, Op, Payload, Rank, RankInfo, RankReader, RecvSpec, Request, RunInfo, SendMode,
        SendSpec, Source, Tag,
    };

    #[derive(Debug)]
    struct Recorded {
        run: RunInfo,
        ranks: Vec<Rank>,
        ops: Vec<Vec<Op<'static>>>,
    }

    struct Reader {
        info: RankInfo,
        ops: std::vec::IntoIter<Op<'static>>,
    }

    impl TraceSource for Recorded {
        fn run(&self) -> &RunInfo {
            &self.run
        }

        fn ranks(&self) -> &[Rank] {
            &self.ranks
        }

        fn open(&self, rank: Rank) -> Result<Box<dyn RankReader + '_>, TraceError> {
            let info = RankInfo {
                rank,
                format: "test",
                version: None,
                hostname: None,
                start_s: None,
                bytes: None,
                sizes: DatatypeSizes::default(),
                footer: None,
            };
            Ok(Box::new(Reader { info, ops: self.ops[rank.get() as usize].clone().into_iter() }))
        }
    }

    impl RankReader for Reader {
        fn info(&self) -> &RankInfo {
            &self.info
        }

        fn next_call(&mut self) -> Result<Option<Call<'_>>, TraceError> {
            let function = Function::from_name("MPI_Send").expect("a known function");
            let call = |op| Call {
                sequence: 0,
                offset: 0,
                function,
                thread: None,
                cpu: None,
                wall: None,
                op,
            };
            Ok(self.ops.next().map(call))
        }
    }

    fn send(dst: u32, tag: u32, count: u64, comm: Comm) -> SendSpec {
        SendSpec {
            mode: SendMode::Standard,
            dest: Dest::Rank(Rank::new(dst).expect("a rank")),
            tag: Tag::new(tag).expect("a tag"),
            comm,
            // MPI_DOUBLE.
            payload: Payload { count, datatype: Datatype(14) },
        }
    }

    fn recorded(processes: u32, ops: Vec<Vec<Op<'static>>>) -> TraceMessages {
        let ranks = (0..ops.len() as u32).map(|rank| Rank::new(rank).expect("a rank")).collect();
        let run = RunInfo { processes: Some(processes), ..RunInfo::default() };
        read(&Recorded { run, ranks, ops }, Library::Off).expect("a trace")
    }

    fn collective(comm: Comm) -> Op<'static> {
        let kind = CollectiveKind::Barrier;
        let (sent_counts, received_counts): (&[i32], &[i32]) = (&[], &[]);
        Op::Collective(Collective {
            kind,
            comm,
            root: None,
            sent: None,
            received: None,
            sent_counts,
            received_counts,
        })
    }

    fn recv(tag: u32) -> Op<'static> {
        let room = Payload { count: 9, datatype: Datatype(14) };
        let source = Source::Rank(Rank::new(0).expect("a rank"));
        let tag = dpamatch_vocabulary::TagSel::Tag(Tag::new(tag).expect("a tag"));
        Op::Recv { recv: RecvSpec { source, tag, comm: Comm::WORLD, room }, status: None }
    }

    fn envelopes(phase: &Phase) -> Vec<(u32, u32, u32, u64)> {
        phase.messages.iter().map(|m| (m.src, m.dst, m.tag, m.bytes)).collect()
    }

    #[test]
    fn sends_of_all_kinds_are_found_between_collective_operations() {
        const REQUESTS: &[Request] = &[Request(9), Request(8)];
        let world = Comm::WORLD;
        let found = recorded(
            4,
            vec![
                vec![
                    Op::Send(send(1, 5, 2, world)),
                    Op::SendInit { send: send(1, 6, 1, world), request: Request(9) },
                    collective(Comm::SELF),
                    Op::Start(REQUESTS),
                    collective(world),
                    Op::Start(REQUESTS),
                    Op::RequestFree(Request(9)),
                    Op::Start(REQUESTS),
                    Op::Send(send(4, 0, 1, world)),
                    Op::Send(SendSpec {
                        payload: Payload { count: 1, datatype: Datatype(99) },
                        ..send(1, 0, 1, world)
                    }),
                    Op::Send(SendSpec { dest: Dest::Null, ..send(1, 0, 1, world) }),
                ],
                vec![
                    Op::Isend { send: send(0, 1, 0, world), request: Request(3) },
                    collective(world),
                ],
            ],
        );
        assert_eq!((found.list.ranks, found.communicators, found.assumed_ranks), (4, 1, 0));
        assert_eq!(found.left_out, LeftOut { unknown_bytes: 1, to_no_rank: 1 });
        let [first, second] = &found.list.phases[..] else { panic!("two phases") };
        assert_eq!((first.name.as_str(), second.name.as_str()), ("0", "1"));
        // The first of each sender, then the second.
        assert_eq!(envelopes(first), [(0, 1, 5, 16), (1, 0, 1, 0), (0, 1, 6, 8)]);
        assert_eq!(envelopes(second), [(0, 1, 6, 8)]);
    }

    #[test]
    fn ranks_of_all_communicators_become_those_of_the_world() {
        let (reversed, pair) = (Comm(7), Comm(8));
        let ops = |rank: u32| {
            let split = |color, key, new| {
                let how = CommHow::Split { color: Some(color), key };
                Op::CommNew(CommNew { how, parent: Comm::WORLD, new })
            };
            vec![
                split(0, -(rank as i32), reversed),
                split(rank / 2, 0, pair),
                Op::Send(send(0, rank, 1, reversed)),
                collective(pair),
                Op::Send(send(1, rank, 2, pair)),
                // All processes, though not the world communicator: a phase ends.
                collective(reversed),
                Op::Send(send(3, rank, 1, Comm(9))),
            ]
        };
        let found = recorded(4, (0..4).map(ops).collect());
        let [before, after] = &found.list.phases[..] else { panic!("two phases") };
        assert_eq!(
            (before.name.as_str(), after.name.as_str()),
            ("2", "3"),
            "two creations are two cuts"
        );
        let to_first = (0..4).map(|rank| (rank, 3, rank, 8));
        let in_pairs = [(0, 1), (1, 1), (2, 3), (3, 3)].map(|(src, dst)| (src, dst, src, 16));
        assert_eq!(envelopes(before), to_first.chain(in_pairs).collect::<Vec<_>>());
        let comms: Vec<u32> = before.messages.iter().map(|message| message.comm).collect();
        assert_eq!(comms[0], comms[3]);
        assert_eq!(comms[4], comms[5]);
        assert!(comms[4] != comms[6] && comms[0] != comms[4], "{comms:?}");
        // The creation of communicator 9 was not recorded: world ranks stand in.
        assert_eq!(envelopes(after).iter().map(|&(_, dst, ..)| dst).collect::<Vec<_>>(), [3; 4]);
        assert_eq!((found.communicators, found.assumed_ranks), (4, 4));
    }

    #[test]
    fn receives_keep_the_order_in_which_they_were_posted() {
        let world = Comm::WORLD;
        let sends = (0..3).map(|tag| Op::Send(send(1, tag, 1, world))).collect();
        let found = recorded(2, vec![sends, vec![recv(2), recv(0), recv(1)]]);
        let posts: Vec<u32> =
            found.list.phases[0].messages.iter().map(|message| message.post).collect();
        assert_eq!(posts, [1, 2, 0]);
    }
}
