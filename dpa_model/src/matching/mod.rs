//! The optimistic algorithm as phases over a slice of a block (O2); README.md in this folder
//! states the protocol of a block.
//!
//! [`run`] is their order: `search` and book, the partial barrier (`crew`), `detect`, `resolve`
//! (clean, `fast_path`, `slow_path`), `take`, and the `protocol` stage. Each phase is written once,
//! over a [`Crew`]: whether handlers wait for the block or for their conflict domain. A worker that
//! runs a block alone matches [in order](run_in_order), without phases.

mod block_run;
mod crew;
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
pub(crate) use in_order::{OnlyTaken, run_in_order, run_only};
pub(crate) use protocol::{deliver_stored, give_up};
pub(crate) use scratch::Scratch;
pub(crate) use search::find;

use self::block_run::BlockRun;
use self::crew::Crew;
use self::domain::Keyed;
use self::paper::Paper;
use self::slice::Slice;
use crate::block::BlockInfo;
use crate::number::WorkerId;
use crate::shared::Shared;
use crate::{CommId, Domains};

/// What is common to the messages of a lone worker's block, so that the boundary need not look at
/// each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Matched {
    /// All have a receive, in this communicator.
    AllOf(CommId),
    /// None has.
    Nothing,
    /// Look.
    Mixed,
}

#[inline]
pub(crate) fn run_slice(nic: &Shared, block: &BlockInfo, worker: WorkerId, scratch: &mut Scratch) {
    let slice = Slice::new(nic, block, worker);
    match nic.options.domains {
        Domains::Paper => run(nic, block, Paper { slice }, scratch),
        Domains::Keyed => run(nic, block, Keyed { slice }, scratch),
    }
}

/// Runs all phases of the worker's slice of a block (O2, S1 to S18).
#[inline(never)]
fn run<C: Crew>(nic: &Shared, info: &BlockInfo, crew: C, scratch: &mut Scratch) {
    step!(SliceBegins {
        worker: crew.slice().worker.0,
        block: info.number
    });
    let block = BlockRun::new(nic, info, crew, info.count);
    scratch.begin();
    search::search_and_book(block, scratch);
    crew.pass_barrier(scratch);
    resolve::resolve(&block, scratch);
    if scratch.met {
        nic.block.record_conflict(info.number);
    }
    step!(DeliveryBegins {
        conflict: scratch.met
    });
    block.deliver_all(scratch);
    crew.slice().finished();
}
