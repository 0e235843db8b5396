//! The messages of a recorded run.

use std::collections::{BTreeMap, HashMap};

use super::message_list::{Message, MessageList, Phase};
use crate::trace::{
    Comm, DatatypeSizes, Dest, Op, RankReader, Request, SendSpec, TraceError, TraceSource, per_rank,
};

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceMessages {
    /// The messages. A phase is what lies between two collective operations of all processes, and has the number
    /// of the operations before it as its name. Within a phase, the k-th messages of all senders come before
    /// the next ones: a trace does not say in which order messages of different senders arrived.
    pub list: MessageList,
    /// Messages left out: of other communicators than `MPI_COMM_WORLD`, whose ranks have other numbers, or of
    /// datatypes of unknown size.
    pub left_out: u64,
}

/// What a rank sends.
#[derive(Default)]
struct Sent {
    /// By phase, in order.
    phases: BTreeMap<u64, Vec<Message>>,
    left_out: u64,
}

/// Takes the messages out of a trace. Nothing is sent by collective operations: what a library sends for them is
/// not recorded.
///
/// # Errors
/// The trace cannot be read.
///
/// # Complexity
/// O(calls + messages log messages); the messages are held in memory.
pub fn read(trace: &dyn TraceSource) -> Result<TraceMessages, TraceError> {
    let mut found = TraceMessages::default();
    let last = trace.ranks().last().map_or(0, |rank| rank.get() + 1);
    found.list.ranks = trace.run().processes.unwrap_or(0).max(last);
    let mut phases: BTreeMap<u64, Vec<(usize, Message)>> = BTreeMap::new();
    for (_, sent) in per_rank(trace, |rank, reader| sent(rank.get(), reader)) {
        let sent = sent?;
        found.left_out += sent.left_out;
        for (phase, messages) in sent.phases {
            phases.entry(phase).or_default().extend(messages.into_iter().enumerate());
        }
    }
    for (phase, mut messages) in phases {
        // Stable: ranks came in rising order.
        messages.sort_by_key(|&(place, _)| place);
        let messages = messages.into_iter().map(|(_, message)| message).collect();
        found.list.phases.push(Phase { name: phase.to_string(), messages });
    }
    let highest = found.list.phases.iter().flat_map(|phase| &phase.messages).map(|message| message.dst).max();
    found.list.ranks = found.list.ranks.max(highest.map_or(0, |rank| rank.saturating_add(1)));
    Ok(found)
}

fn sent(rank: u32, reader: &mut dyn RankReader) -> Result<Sent, TraceError> {
    let sizes = reader.info().sizes.clone();
    let mut sent = Sent::default();
    let mut phase = 0;
    let mut persistent: HashMap<Request, SendSpec> = HashMap::new();
    while let Some(call) = reader.next_call()? {
        match call.op {
            Op::Send(send) | Op::Isend { send, .. } | Op::Sendrecv { send, .. } => {
                sent.add(rank, phase, &send, &sizes);
            }
            Op::SendInit { send, request } => drop(persistent.insert(request, send)),
            // The number may come back for a receive.
            Op::RecvInit { request, .. } | Op::RequestFree(request) => drop(persistent.remove(&request)),
            Op::Start(requests) => {
                requests
                    .iter()
                    .filter_map(|request| persistent.get(request))
                    .for_each(|send| sent.add(rank, phase, send, &sizes));
            }
            Op::Collective(collective) if collective.comm == Comm::WORLD => phase += 1,
            _ => {}
        }
    }
    Ok(sent)
}

impl Sent {
    fn add(&mut self, src: u32, phase: u64, send: &SendSpec, sizes: &DatatypeSizes) {
        let Dest::Rank(dst) = send.dest else { return };
        match sizes.bytes(send.payload) {
            Some(bytes) if send.comm == Comm::WORLD => {
                let message = Message { src, dst: dst.get(), tag: send.tag.get(), bytes };
                self.phases.entry(phase).or_default().push(message);
            }
            _ => self.left_out += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{
        Call, Collective, CollectiveKind, Datatype, Function, Payload, Rank, RankInfo, RunInfo, SendMode, Tag,
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
            let call =
                |op| Call { sequence: 0, offset: 0, function, thread: None, cpu: None, wall: None, op };
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

    #[test]
    fn sends_of_all_kinds_are_found_between_collective_operations() {
        let collective = |comm| {
            let kind = CollectiveKind::Barrier;
            Op::Collective(Collective { kind, comm, root: None, sent: None, received: None })
        };
        const REQUESTS: &[Request] = &[Request(9), Request(8)];
        let world = Comm::WORLD;
        let ops = vec![
            vec![
                Op::Send(send(1, 5, 2, world)),
                Op::SendInit { send: send(1, 6, 1, world), request: Request(9) },
                collective(Comm(7)),
                Op::Start(REQUESTS),
                collective(world),
                Op::Start(REQUESTS),
                Op::RequestFree(Request(9)),
                Op::Start(REQUESTS),
                Op::Send(send(1, 0, 1, Comm(7))),
                Op::Send(SendSpec { dest: Dest::Null, ..send(1, 0, 1, world) }),
            ],
            vec![Op::Isend { send: send(0, 1, 0, world), request: Request(3) }, collective(world)],
        ];
        let ranks = vec![Rank::new(0).expect("a rank"), Rank::new(1).expect("a rank")];
        let run = RunInfo { processes: Some(4), ..RunInfo::default() };
        let found = read(&Recorded { run, ranks, ops }).expect("a trace");
        let message = |src, dst, tag, bytes| Message { src, dst, tag, bytes };
        assert_eq!((found.list.ranks, found.left_out), (4, 1));
        let [first, second] = &found.list.phases[..] else { panic!("two phases") };
        assert_eq!((first.name.as_str(), second.name.as_str()), ("0", "1"));
        // The first of each sender, then the second.
        assert_eq!(first.messages, [message(0, 1, 5, 16), message(1, 0, 1, 0), message(0, 1, 6, 8)]);
        assert_eq!(second.messages, [message(0, 1, 6, 8)]);
    }
}
