//! The end of a slice in a block that its handlers end (`Options::repost`): each handler records
//! the state of its receive, see repost.rs.

use super::scratch::Scratch;
use crate::block::BlockInfo;
use crate::descriptor::state;
use crate::number::{ReceiveId, WorkerId, unchecked};
use crate::repost::{Left, Reposts};
use crate::shared::Shared;
use crate::sync::Relaxed;

/// Ends a worker's slice after its data has moved; `scratch` names its receives.
pub(crate) fn end_slice(
    nic: &Shared,
    reposts: &Reposts,
    block: &BlockInfo,
    worker: WorkerId,
    scratch: &Scratch,
) {
    let ring = &nic.arrivals.queue(block.queue).ring;
    let entries = ring.stretch(block.first, block.count);
    let mut unmatched = false;
    for handler in block.slice(worker) {
        let receive = scratch.receives()[handler];
        if receive == ReceiveId::NIL {
            unmatched = true;
            continue;
        }
        step!(Reposted { receive: receive.0 });
        // SAFETY: the handler took the receive.
        let descriptor = unsafe { unchecked(&nic.receives, receive) };
        // SAFETY: inside a block (D1).
        let class = unsafe { descriptor.posted.peek() }.class;
        // SAFETY: the entry was seen ready, and is released only after this slice is counted.
        let comm = unsafe { entries.peek(handler) }.envelope.comm;
        let free = descriptor.state.load(Relaxed) == state::FREE || fault!(RepostedInChain);
        // SAFETY: this worker runs the handler, and has not counted its slice.
        unsafe { reposts.note(handler, Left::new(comm, class, free)) };
    }
    if let Some(all_matched) = reposts.count(block, unmatched) {
        if all_matched {
            step!(EntriesReleased);
            ring.release(block.first + block.count as u64);
        }
        reposts.tell(block.number);
    }
}
