//! The messages to each rank, in each sender's sending order.

use std::collections::HashMap;

use foldhash::fast::RandomState as Fast;

use super::communicators::Communicators;
use super::program::{Program, Transfer, TransferKind, UNKNOWN};
use super::repeated::Repeated;

/// A message to a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inbound {
    /// The sender's world rank, or [`UNKNOWN`].
    pub sender: u32,
    /// The sender's transfer; [`UNKNOWN`] if the send is in no trace and only a receive's status
    /// proves it.
    pub op: u32,
    pub comm: u32,
    /// The sender's rank there.
    pub source: u32,
    pub tag: u32,
    /// Bytes sent, or [`UNKNOWN_BYTES`](super::program::UNKNOWN_BYTES).
    pub bytes: u64,
    /// The receive that got the message in the recorded run, as a transfer of the receiver.
    /// [`UNKNOWN`] if none did or the trace does not say.
    pub receive: u32,
}

impl Inbound {
    /// Communicator, source and tag: messages with equal keys do not overtake each other.
    pub(super) fn key(&self) -> (u32, u32, u32) {
        (self.comm, self.source, self.tag)
    }
}

/// What many messages of a sender have in common. 24 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Kind {
    sender: u32,
    comm: u32,
    source: u32,
    tag: u32,
    bytes: u64,
}

/// The messages to a rank: 10 bytes each, and 24 for each kind.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Messages {
    kinds: Repeated<Kind>,
    ops: Vec<u32>,
    receives: Vec<u32>,
    /// The numbers of kinds, while messages are added one by one.
    known: HashMap<Kind, u32, Fast>,
}

impl Messages {
    fn with_capacity(messages: usize) -> Self {
        Self {
            kinds: Repeated::with_capacity(messages),
            ops: Vec::with_capacity(messages),
            receives: Vec::with_capacity(messages),
            known: HashMap::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.ops.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The n-th message.
    ///
    /// # Panics
    /// If there is no such message.
    #[inline]
    pub fn at(&self, message: u32) -> Inbound {
        let at = message as usize;
        let &Kind {
            sender,
            comm,
            source,
            tag,
            bytes,
        } = self.kinds.at(at);
        Inbound {
            sender,
            op: self.ops[at],
            comm,
            source,
            tag,
            bytes,
            receive: self.receives[at],
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Inbound> + '_ {
        (0..self.len() as u32).map(|at| self.at(at))
    }

    /// The message without recorded send that a receive got. Such messages are the last ones, in
    /// the order of their receives.
    pub(super) fn assumed(&self, receive: u32) -> Option<u32> {
        let sent = self.ops.partition_point(|&op| op != UNKNOWN);
        let found = self.receives[sent..].binary_search(&receive);
        found.ok().map(|place| (sent + place) as u32)
    }

    /// Whether a receive may have got a message without recorded send.
    pub(super) fn has_assumed(&self) -> bool {
        self.ops.last() == Some(&UNKNOWN)
    }

    /// Says which receive got a message.
    pub fn set_receive(&mut self, message: u32, receive: u32) {
        self.receives[message as usize] = receive;
    }

    /// Makes room for exactly so many more messages of few kinds.
    pub(super) fn reserve(&mut self, more: usize) {
        self.kinds.reserve(more);
        self.ops.reserve_exact(more);
        self.receives.reserve_exact(more);
    }

    pub fn push(&mut self, message: Inbound) {
        let Inbound {
            sender,
            op,
            comm,
            source,
            tag,
            bytes,
            receive,
        } = message;
        let kind = Kind {
            sender,
            comm,
            source,
            tag,
            bytes,
        };
        let kinds = &mut self.kinds;
        if self.known.is_empty() {
            self.known = kinds.values().iter().copied().zip(0..).collect();
        }
        let number = self.known.entry(kind);
        let number = *number.or_insert_with(|| kinds.add_value(kind));
        self.push_numbered(op, receive, number);
    }

    fn push_numbered(&mut self, op: u32, receive: u32, kind: u32) {
        self.kinds.push(kind);
        self.ops.push(op);
        self.receives.push(receive);
    }

    pub fn shrink_to_fit(&mut self) {
        self.kinds.shrink_to_fit();
        self.ops.shrink_to_fit();
        self.receives.shrink_to_fit();
        self.known = HashMap::default();
    }

    pub fn memory_bytes(&self) -> usize {
        let known = self.known.capacity() * size_of::<(Kind, u32)>();
        let numbers = 4 * (self.ops.capacity() + self.receives.capacity());
        self.kinds.memory_bytes() + numbers + known
    }
}

impl FromIterator<Inbound> for Messages {
    fn from_iter<T: IntoIterator<Item = Inbound>>(messages: T) -> Self {
        let mut all = Self::default();
        messages.into_iter().for_each(|it| all.push(it));
        all
    }
}

/// Sends without a known receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Lost {
    /// To ranks without a trace.
    pub to_absent_ranks: u64,
    /// To ranks outside the communicator.
    pub to_no_rank: u64,
}

/// Where the sends of a kind go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// To this program.
    To(u32),
    ToAbsentRank,
    ToNoRank,
    /// It is no send.
    Nowhere,
}

/// The ways of each program's sends.
pub(super) struct Ways<'a> {
    programs: &'a [Program],
    comms: &'a Communicators,
    /// The program of each world rank, or [`UNKNOWN`].
    index: Vec<u32>,
}

impl<'a> Ways<'a> {
    pub(super) fn new(programs: &'a [Program], comms: &'a Communicators) -> Self {
        let processes = comms.all.first().map_or(0, |world| world.members.len());
        let mut index = vec![UNKNOWN; processes];
        for (at, program) in programs.iter().enumerate() {
            if let Some(place) = index.get_mut(program.rank as usize) {
                *place = at as u32;
            }
        }
        Self {
            programs,
            comms,
            index,
        }
    }

    /// By [`kind`](super::transfers::Transfers::kind) of the n-th program's transfers.
    pub(super) fn of(&self, at: usize) -> Vec<Way> {
        let program = &self.programs[at];
        let way = |transfer: &Transfer| {
            if transfer.kind != TransferKind::Send {
                return Way::Nowhere;
            }
            let comm = self.comms.global(at, transfer.comm);
            let comm = &self.comms.all[comm as usize];
            let Some(dest) = comm.peer(program.rank, transfer.peer as u32) else {
                return Way::ToNoRank;
            };
            match self.index.get(dest as usize) {
                None | Some(&UNKNOWN) => Way::ToAbsentRank,
                Some(&receiver) => Way::To(receiver),
            }
        };
        program.transfers.kinds().iter().map(way).collect()
    }
}

/// Distributes all sends to their receivers: one list per program, in the programs' order.
pub(super) fn route(programs: &[Program], comms: &Communicators) -> (Vec<Messages>, Lost) {
    let ways = Ways::new(programs, comms);
    let mut lost = Lost::default();
    let mut count = vec![0_usize; programs.len()];
    // The first of two passes counts, so that no list grows.
    for (at, program) in programs.iter().enumerate() {
        let ways = ways.of(at);
        for op in 0..program.transfers.len() as u32 {
            match ways[program.transfers.kind(op) as usize] {
                Way::To(receiver) => count[receiver as usize] += 1,
                Way::ToAbsentRank => lost.to_absent_ranks += 1,
                Way::ToNoRank => lost.to_no_rank += 1,
                Way::Nowhere => {}
            }
        }
    }
    let mut inbound: Vec<Messages> = count.into_iter().map(Messages::with_capacity).collect();
    for (at, program) in programs.iter().enumerate() {
        let ways = ways.of(at);
        // The receiver's number for each kind of transfer.
        let mut numbers = vec![UNKNOWN; ways.len()];
        for op in 0..program.transfers.len() as u32 {
            let number = program.transfers.kind(op) as usize;
            let Way::To(receiver) = ways[number] else {
                continue;
            };
            let messages = &mut inbound[receiver as usize];
            if numbers[number] == UNKNOWN {
                let transfer = &program.transfers.kinds()[number];
                numbers[number] = messages.kinds.add_value(Kind {
                    sender: program.rank,
                    comm: comms.global(at, transfer.comm),
                    source: comms.own_rank(at, transfer.comm),
                    tag: transfer.tag as u32,
                    bytes: transfer.bytes,
                });
            }
            messages.push_numbered(op, UNKNOWN, numbers[number]);
        }
    }
    (inbound, lost)
}
