//! The protocol stage: moves data to the user's buffer and the result to the completion ring (O21).

use crate::Envelope;
use crate::block::BlockInfo;
use crate::descriptor::Posted;
use crate::host_address::HostAddress;
use crate::message::{Completion, Entry, Message, Protocol, Transfer};
use crate::number::StoredId;
#[cfg(not(dpamatch_card))]
use crate::region::RegionKey;
use crate::ring::RingSpan;
use crate::shared::Shared;
use crate::unexpected::UnexpectedStore;

/// Moves the data of a matched handler and reports the receive. The boundary handles unmatched
/// messages.
///
/// # Safety
/// The caller runs handler `handler` of this block, and these runs begin with the block's first
/// entry and first result. The handler has taken the receive `posted`, has not reported its result,
/// and `transfer` is that of its message and receive.
#[inline(always)]
pub(super) unsafe fn deliver(
    nic: &Shared,
    block: &BlockInfo,
    entries: RingSpan<'_, Entry>,
    results: RingSpan<'_, Completion>,
    handler: usize,
    posted: &Posted,
    transfer: Transfer,
) {
    let arrival = block.arrival + handler as u64;
    // SAFETY: the leader saw the block's entries ready, and releases them only after the block.
    let entry = unsafe { entries.peek(handler) };
    step!(Delivered {
        bytes: entry.length.min(posted.capacity) as usize
    });
    move_data(
        nic,
        block,
        handler,
        &entry,
        posted,
        results.position(handler),
        transfer,
    );
    step!(Completed);
    // SAFETY: the leader claimed a position of the ring for each handler.
    unsafe {
        results.fill(handler, |slot| {
            // Word by word: a copy of the whole would pass through the stack.
            let Envelope { comm, source, tag } = entry.envelope;
            let envelope = Envelope { comm, source, tag };
            let message = Message {
                arrival,
                envelope,
                length: entry.length,
            };
            *slot = Completion::Received {
                request: posted.request,
                message,
                late: false,
            };
        });
    }
}

/// Copies a message's bytes to the user's buffer, up to its capacity. `result`: position of the
/// result to come.
#[inline(always)]
fn move_data(
    nic: &Shared,
    block: &BlockInfo,
    handler: usize,
    entry: &Entry,
    posted: &Posted,
    result: u64,
    transfer: Transfer,
) {
    let (target, capacity) = (posted.buffer, posted.capacity);
    match transfer {
        // SAFETY: the host lent the buffer with the post until the result reaches it (see
        // `HostPort`).
        Transfer::Entry => unsafe { target.put_inline(capacity, &entry.payload, entry.length) },
        Transfer::Bounce => {
            let queue = nic.arrivals.queue(block.queue);
            let buffer = queue.bounce_buffer(block.first + handler as u64);
            step!(BounceRead {
                buffer,
                bytes: entry.length as usize
            });
            // SAFETY: as in `move_longer`.
            unsafe {
                let put = |bytes: &[u8]| target.put_in_loop(capacity, bytes);
                queue.bounce.read(buffer, entry.length as usize, put);
            }
        }
        Transfer::Call => move_longer(nic, block, handler, entry, posted, result),
    }
}

/// Out of line, so that the loop over short messages stays short.
#[cold]
#[inline(never)]
fn move_longer(
    nic: &Shared,
    block: &BlockInfo,
    handler: usize,
    entry: &Entry,
    posted: &Posted,
    result: u64,
) {
    let (target, capacity) = (posted.buffer, posted.capacity);
    if entry.protocol == Protocol::Rendezvous {
        return rendezvous(nic, &entry.payload, entry.length, target, capacity, result);
    }
    let queue = nic.arrivals.queue(block.queue);
    let buffer = queue.bounce_buffer(block.first + handler as u64);
    step!(BounceRead {
        buffer,
        bytes: entry.length as usize
    });
    // SAFETY: the bounce buffer belongs to this entry until the head passes it; the host lent the
    // target until the result reaches it.
    unsafe {
        queue.bounce.read(buffer, entry.length as usize, |bytes| {
            target.put(capacity, bytes)
        });
    }
}

/// The RDMA read of a rendezvous message, and the FIN to its sender.
#[cfg(not(dpamatch_card))]
fn rendezvous(
    nic: &Shared,
    payload: &[u64; 3],
    _length: u32,
    target: HostAddress,
    capacity: u32,
    _result: u64,
) {
    let key = RegionKey(payload[0]);
    if fault!(FinBeforeRead) {
        nic.regions.finish(key);
    }
    step!(RemoteRead);
    // SAFETY: the NIC runs this for a message that it holds and then gives away; the host lent the
    // target until the result reaches it.
    unsafe { nic.regions.read(key, |bytes| target.put(capacity, bytes)) };
    nic.regions.finish(key);
}

/// Begins the RDMA read of a rendezvous message, and the FIN to its sender.
#[cfg(dpamatch_card)]
fn rendezvous(
    _: &Shared,
    payload: &[u64; 3],
    length: u32,
    target: HostAddress,
    capacity: u32,
    result: u64,
) {
    // SAFETY: the host lent the target until the result reaches it.
    unsafe { crate::card::begin_read(payload, length, target, capacity, result) };
}

/// Gives up a rendezvous message that will not be received.
pub(crate) fn give_up(nic: &Shared, payload: &[u64; 3]) {
    #[cfg(not(dpamatch_card))]
    nic.regions.give_up(RegionKey(payload[0]));
    #[cfg(dpamatch_card)]
    rendezvous(
        nic,
        payload,
        0,
        HostAddress::none(),
        0,
        crate::card::GIVEN_UP,
    );
}

/// Moves the data of an unexpected message that a receive has claimed (O22); boundary only.
/// `result`: position of the result to come.
#[inline(always)]
pub(crate) fn deliver_stored(
    nic: &Shared,
    store: &UnexpectedStore,
    message: StoredId,
    target: HostAddress,
    capacity: u32,
    result: u64,
) {
    let entry = store.entry(message);
    if entry.protocol == Protocol::Rendezvous {
        let length = entry.message.length;
        rendezvous(nic, &entry.payload, length, target, capacity, result);
    } else {
        // SAFETY: the host lent the target until the result reaches it.
        store.with_bytes(message, |bytes| unsafe { target.put(capacity, bytes) });
    }
}
