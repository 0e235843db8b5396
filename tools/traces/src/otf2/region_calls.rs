//! Turns the events within one MPI function into operations.

use std::collections::{HashSet, VecDeque};

use crate::function::Recipe;
use crate::{
    Collective, CollectiveKind, Comm, Completion, CompletionKind, Datatype, Dest, Done, Function,
    Op, Payload, Rank, RecvSpec, Request, SendMode, SendSpec, Source, Status, Tag, TagSel,
};

use super::definitions::Members;
use super::events::Message;

/// Collective operations by their number in OTF2. Later numbers create and free objects.
const COLLECTIVES: [CollectiveKind; 17] = {
    use CollectiveKind::*;
    [
        Barrier,
        Bcast,
        Gather,
        Gatherv,
        Scatter,
        Scatterv,
        Allgather,
        Allgatherv,
        Alltoall,
        Alltoallv,
        Alltoallw,
        Allreduce,
        Reduce,
        ReduceScatter,
        Scan,
        Exscan,
        ReduceScatter,
    ]
};

pub(super) const COLLECTIVE_KINDS: u8 = COLLECTIVES.len() as u8;

/// `MPI_CHAR`, so that elements are bytes.
const BYTE: Datatype = Datatype(2);
/// Request numbers, from 2 on, before they begin again.
const REQUESTS: u64 = 1 << 30;

#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    Op(Op<'static>),
    /// The completion that the lists of requests describe.
    Completion,
}

/// The operations of the function that is being read.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) items: VecDeque<Item>,
    requests: Vec<Request>,
    positions: Vec<i32>,
    statuses: Vec<Status>,
    /// Posted receives that never complete, and therefore are no operations.
    left_out: HashSet<u64>,
}

fn request(number: u64) -> Request {
    Request((number % REQUESTS) as i32 + 2)
}

fn payload(bytes: u64) -> Payload {
    Payload {
        count: bytes,
        datatype: BYTE,
    }
}

pub(super) fn mode(function: Function) -> SendMode {
    match function.recipe() {
        Recipe::Send(mode) | Recipe::Isend(mode) => mode,
        _ => SendMode::Standard,
    }
}

/// A message's rank and tag; `None` if they are out of range.
fn envelope(message: &Message) -> Option<(Rank, Tag)> {
    Some((Rank::new(message.peer).ok()?, Tag::new(message.tag).ok()?))
}

pub(super) fn send(message: &Message, comm: Comm, mode: SendMode) -> Option<SendSpec> {
    let (rank, tag) = envelope(message)?;
    Some(SendSpec {
        mode,
        dest: Dest::Rank(rank),
        tag,
        comm,
        payload: payload(message.bytes),
    })
}

pub(super) fn recv(message: &Message, comm: Comm) -> Option<RecvSpec> {
    let (rank, tag) = envelope(message)?;
    let (source, tag) = (Source::Rank(rank), TagSel::Tag(tag));
    Some(RecvSpec {
        source,
        tag,
        comm,
        room: payload(message.bytes),
    })
}

pub(super) fn status(message: &Message) -> Status {
    Status {
        bytes: i64::try_from(message.bytes).unwrap_or(-1),
        source: message.peer as i32,
        tag: message.tag as i32,
        cancelled: false,
        error: 0,
    }
}

impl Calls {
    pub(super) fn push(&mut self, op: Op<'static>) {
        self.items.push_back(Item::Op(op));
    }

    pub(super) fn isend(&mut self, send: SendSpec, number: u64) {
        self.push(Op::Isend {
            send,
            request: request(number),
        });
    }

    pub(super) fn irecv(&mut self, recv: Option<RecvSpec>, number: u64) {
        match recv {
            Some(recv) => self.push(Op::Irecv {
                recv,
                request: request(number),
            }),
            None => _ = self.left_out.insert(number),
        }
    }

    /// An operation of a wait or test, with its status if it is complete.
    pub(super) fn tested(&mut self, number: u64, status: Option<Status>) {
        if let Some(status) = status {
            if self.left_out.remove(&number) {
                return;
            }
            self.positions.push(self.requests.len() as i32);
            self.statuses.push(status);
        }
        self.requests.push(request(number));
    }

    pub(super) fn collective(
        &mut self,
        operation: u8,
        members: &Members,
        root: u32,
        sent: u64,
        received: u64,
    ) {
        use CollectiveKind::{Allgather, Allreduce, Alltoall, Bcast, Gather, Reduce, Scatter};
        let Some(&kind) = COLLECTIVES.get(usize::from(operation)) else {
            return;
        };
        // Score-P counts the bytes for all peers, in place for all but the own rank.
        let size = members.ranks.len().max(1) as u64;
        let each = |bytes: u64| match size - 1 {
            others if others > 0 && !bytes.is_multiple_of(size) && bytes.is_multiple_of(others) => {
                bytes / others
            }
            _ => bytes / size,
        };
        let (sent, received) = match kind {
            Bcast => (
                Some(received.max(each(sent))),
                Some(received.max(each(sent))),
            ),
            Gather | Reduce => (Some(sent), Some(each(received))),
            Scatter => (Some(each(sent)), Some(received)),
            Allgather | Alltoall | Allreduce => (Some(each(sent)), Some(each(received))),
            _ => (None, None),
        };
        self.push(Op::Collective(Collective {
            kind,
            comm: members.comm,
            root: i32::try_from(root).ok(),
            sent: sent.map(payload),
            received: received.map(payload),
            sent_counts: &[],
            received_counts: &[],
        }));
    }

    /// Ends the function: there is at least one operation then.
    pub(super) fn close(&mut self, function: Function) {
        let both = matches!(
            function.recipe(),
            Recipe::Sendrecv | Recipe::SendrecvReplace
        );
        if let (true, Some(op)) = (both, self.joined()) {
            self.items.clear();
            self.push(op);
        }
        if !self.requests.is_empty() {
            self.items.push_back(Item::Completion);
        }
        if self.items.is_empty() {
            self.push(Op::Other);
        }
    }

    fn joined(&self) -> Option<Op<'static>> {
        let (mut sends, mut receives) = (None, None);
        for item in &self.items {
            match *item {
                Item::Op(Op::Send(send)) => sends = Some(send),
                Item::Op(Op::Recv { recv, status }) => receives = Some((recv, status)),
                _ => {}
            }
        }
        let (send, (recv, status)) = (sends?, receives?);
        Some(Op::Sendrecv { send, recv, status })
    }

    /// Begins the next function.
    pub(super) fn clear(&mut self) {
        self.items.clear();
        self.requests.clear();
        self.positions.clear();
        self.statuses.clear();
    }

    pub(super) fn op(&self, item: Item, function: Function) -> Op<'_> {
        let Item::Op(op) = item else {
            let kind = match function.recipe() {
                Recipe::Complete(kind) => kind,
                _ => CompletionKind::Wait,
            };
            let done = if self.positions.is_empty() {
                Done::None
            } else {
                Done::Some(&self.positions)
            };
            let (requests, statuses) = (&self.requests[..], &self.statuses[..]);
            return Op::Completion(Completion {
                kind,
                requests,
                done,
                statuses,
            });
        };
        op
    }
}
