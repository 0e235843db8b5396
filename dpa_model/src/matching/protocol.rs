//! The protocol stage: data to the user's buffer, result to the completion ring (O21).

use crate::block::BlockInfo;
use crate::descriptor::{NIL, Posted};
use crate::message::{Completion, Entry, HostAddress, Message, Protocol, inline_bytes};
use crate::nic::Shared;
use crate::region::RegionKey;
use crate::unexpected::UnexpectedStore;

/// Moves the data of a matched handler and reports the receive. Unmatched messages are the
/// boundary's business.
#[inline(always)]
pub(crate) fn deliver_arrived(nic: &Shared, block: &BlockInfo, handler: usize) {
    // SAFETY: this worker runs the handler.
    let outcome = unsafe { nic.block.outcome(handler) };
    if outcome.receive == NIL {
        return;
    }
    let position = block.first + handler as u64;
    // SAFETY: inside a block (D1).
    let posted = unsafe { nic.receives[outcome.receive as usize].posted.peek() };
    // SAFETY: the leader saw the block's entries ready, and releases them only after the block's
    // end.
    let entry = unsafe { nic.arrivals.ring.peek(position) };
    charge!(window(entry.length.min(posted.capacity) as usize));
    move_data(nic, &entry, position, &posted);
    charge!(completion());
    // SAFETY: the leader claimed `results .. results + count` for this block, and handler i owns
    // position i of it.
    unsafe {
        nic.completions.fill(block.results + handler as u64, 0, |slot| {
            let message =
                Message { arrival: position, envelope: entry.envelope, length: entry.length };
            *slot = Completion::Received { request: posted.request, message, late: false };
        });
    }
}

/// Copies a message's bytes to the user's buffer, as many as fit.
#[inline(always)]
pub(crate) fn move_data(nic: &Shared, entry: &Entry, position: u64, posted: &Posted) {
    let (target, capacity) = (posted.buffer, posted.capacity);
    if entry.protocol == Protocol::Inline {
        // SAFETY: the host lent the buffer with the post until the result reaches it (see
        // `HostPort`).
        unsafe { target.put(capacity, inline_bytes(&entry.payload, entry.length)) }
    } else {
        move_longer(nic, entry, position, posted);
    }
}

/// Apart, so that the loop over short messages stays short.
#[inline(never)]
fn move_longer(nic: &Shared, entry: &Entry, position: u64, posted: &Posted) {
    let (target, capacity) = (posted.buffer, posted.capacity);
    if entry.protocol == Protocol::Rendezvous {
        return rendezvous(nic, RegionKey(entry.payload[0]), target, capacity);
    }
    let buffer = nic.arrivals.bounce_buffer(position);
    charge!(bounce(buffer, entry.length as usize));
    // SAFETY: the bounce buffer belongs to this entry until the head passes it; the target as in
    // `move_data`.
    unsafe {
        nic.arrivals
            .bounce
            .read(buffer, entry.length as usize, |bytes| target.put(capacity, bytes));
    }
}

/// The RDMA read of a rendezvous message, and the FIN to its sender.
fn rendezvous(nic: &Shared, key: RegionKey, target: HostAddress, capacity: u32) {
    if fault!(FinBeforeRead) {
        nic.regions.finish(key);
    }
    charge!(rendezvous());
    // SAFETY: the NIC runs this, with a message that it has and then gives away; the target as in
    // `move_data`.
    unsafe { nic.regions.read(key, |bytes| target.put(capacity, bytes)) };
    nic.regions.finish(key);
}

/// Moves the data of an unexpected message that a receive has claimed (O22); boundary only.
#[inline(always)]
pub(crate) fn deliver_stored(
    nic: &Shared,
    store: &UnexpectedStore,
    index: u32,
    target: HostAddress,
    capacity: u32,
) {
    let entry = store.entry(index);
    if entry.protocol == Protocol::Rendezvous {
        rendezvous(nic, RegionKey(entry.payload[0]), target, capacity);
    } else {
        // SAFETY: as in `move_data`.
        store.with_bytes(index, |bytes| unsafe { target.put(capacity, bytes) });
    }
}
