//! The messages to each rank, in each sender's sending order.

use super::communicators::Communicators;
use super::program::{Program, TransferKind, UNKNOWN};

/// A message to a rank. 32 bytes.
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

/// Sends without a known receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Lost {
    /// To ranks without a trace.
    pub to_absent_ranks: u64,
    /// To ranks outside the communicator.
    pub to_no_rank: u64,
}

/// Distributes all sends to their receivers: one list per program, in the programs' order.
pub(super) fn route(programs: &[Program], comms: &Communicators) -> (Vec<Vec<Inbound>>, Lost) {
    let processes = comms.all.first().map_or(0, |world| world.members.len());
    let mut index = vec![UNKNOWN; processes];
    for (at, program) in programs.iter().enumerate() {
        if let Some(place) = index.get_mut(program.rank as usize) {
            *place = at as u32;
        }
    }
    let mut lost = Lost::default();
    let mut count = vec![0_usize; programs.len()];
    // The first of two passes counts, so that no list grows.
    each_send(programs, comms, &index, &mut lost, |receiver, _| {
        count[receiver] += 1
    });
    let mut inbound: Vec<Vec<Inbound>> = count.into_iter().map(Vec::with_capacity).collect();
    let mut again = Lost::default();
    each_send(programs, comms, &index, &mut again, |receiver, message| {
        inbound[receiver].push(message)
    });
    (inbound, lost)
}

fn each_send(
    programs: &[Program],
    comms: &Communicators,
    index: &[u32],
    lost: &mut Lost,
    mut take: impl FnMut(usize, Inbound),
) {
    for (at, program) in programs.iter().enumerate() {
        for (op, transfer) in program.transfers.iter().enumerate() {
            if transfer.kind != TransferKind::Send {
                continue;
            }
            let comm = comms.global(at, transfer.comm);
            let dest = comms.all[comm as usize].peer(program.rank, transfer.peer as u32);
            let Some(dest) = dest else {
                lost.to_no_rank += 1;
                continue;
            };
            let receiver = index.get(dest as usize).copied().unwrap_or(UNKNOWN);
            if receiver == UNKNOWN {
                lost.to_absent_ranks += 1;
                continue;
            }
            let message = Inbound {
                sender: program.rank,
                op: op as u32,
                comm,
                source: comms.own_rank(at, transfer.comm),
                tag: transfer.tag as u32,
                bytes: transfer.bytes,
                receive: UNKNOWN,
            };
            take(receiver as usize, message);
        }
    }
}
