//! The optimistic algorithm as phases over a slice of a block (O2); README.md in this folder
//! states the protocol of a block.
//!
//! [`run_slice`] is their order: `search` and book, the partial barrier, `detect`, `resolve`
//! (clean, `fast_path`, `slow_path`), `take`, and the `protocol` stage. Handlers wait for the block
//! (`paper`) or for their conflict domain (`domain`), as `Options::domains` says. A worker that
//! runs a block alone matches [in order](run_in_order), without phases.

mod detect;
mod domain;
mod fast_path;
mod in_order;
mod paper;
mod protocol;
mod resolve;
mod scratch;
mod search;
mod slice;
mod slow_path;
mod take;
#[cfg(all(test, feature = "ends"))]
pub(crate) mod tests;

pub(crate) use domain::DomainKey;
pub(crate) use in_order::{run_in_order, run_only};
pub(crate) use protocol::{deliver_stored, give_up};
pub(crate) use scratch::Scratch;
pub(crate) use search::find;

use self::slice::Slice;
use crate::Domains;
use crate::block::BlockInfo;
use crate::number::WorkerId;
use crate::shared::Shared;

/// Runs all phases of the worker's slice of a block (O2, S1 to S18).
#[inline(never)]
pub(crate) fn run_slice(nic: &Shared, block: &BlockInfo, worker: WorkerId, scratch: &mut Scratch) {
    step!(SliceBegins {
        worker: worker.0,
        block: block.number
    });
    let slice = Slice::new(nic, block, worker);
    scratch.begin();
    search::search_and_book(&slice, scratch);
    match nic.options.domains {
        Domains::Paper => paper::pass_barrier(&slice, scratch),
        Domains::Keyed => domain::pass_barrier(&slice),
    }
    resolve::resolve(&slice, scratch);
    if scratch.met {
        nic.block.record_conflict(block.number);
    }
    step!(DeliveryBegins {
        conflict: scratch.met
    });
    slice.deliver_all(scratch);
    slice.finished();
}
