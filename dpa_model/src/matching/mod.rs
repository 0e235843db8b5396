//! The optimistic algorithm as phases over a slice of a block (O2); README.md beside this file
//! tells the protocol of a block.
//!
//! [`run`] is their order: `search` and book, the partial barrier (`crew`), `detect`, `resolve`
//! (clean, `fast_path`, `slow_path`), `take`, and the `protocol` stage. No phase knows which thread
//! runs it, and each is written once, over a [`Crew`]: the worker that runs a block alone, or one
//! of several.

mod block_run;
mod crew;
mod detect;
mod domain;
mod fast_path;
mod group;
mod protocol;
mod resolve;
mod scratch;
mod search;
mod slow_path;
mod take;
#[cfg(all(test, feature = "ends"))]
pub(crate) mod tests;

pub(crate) use crew::{Alone, Crew};
pub(crate) use domain::Key;
pub(crate) use protocol::{deliver_stored, give_up};
pub(crate) use scratch::Scratch;
pub(crate) use search::find;

use self::block_run::BlockRun;
use self::crew::{Part, Slice};
use crate::block::BlockInfo;
use crate::number::{ReceiveId, WorkerId};
use crate::shared::Shared;
use crate::{CommId, Domains};

/// What the boundary may know of a slice's messages without looking at each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Matched {
    /// All have a receive, in this communicator.
    AllOf(CommId),
    /// None has.
    Nothing,
    /// Look.
    Mixed,
}

#[inline(always)]
pub(crate) fn run_slice(nic: &Shared, block: &BlockInfo, worker: WorkerId, scratch: &mut Scratch) {
    match nic.options.domains {
        Domains::Paper => {
            run(nic, block, Slice::new(nic, block, worker), scratch);
        }
        Domains::Keyed => domain::run_keyed(nic, block, worker, scratch),
    }
}

/// Runs all phases of the crew's part of a block (O2, S1 to S18).
///
/// Phases are functions of their own on a PC, unless the crew says otherwise. On a card, where a
/// slice has one handler, they are part of this one: to save and restore registers for each was a
/// fifth of their instructions.
pub(crate) fn run<C: Crew>(
    nic: &Shared,
    info: &BlockInfo,
    crew: C,
    scratch: &mut Scratch,
) -> Matched {
    let handlers = crew.handlers();
    step!(SliceBegins {
        worker: crew.worker().0,
        block: info.number
    });
    let entries = nic
        .arrivals
        .queue(info.queue)
        .ring
        .stretch(info.first, info.count);
    let block = BlockRun {
        nic,
        info,
        crew,
        entries,
    };
    let comm = if C::PART == Part::Message {
        search::search_each_run(block, scratch)
    } else {
        search::search_and_book(block, scratch)
    };
    crew.pass_barrier(scratch);
    let candidates = &scratch.receives[..handlers.end];
    step!(ConflictSought);
    let conflict = if C::PART == Part::Slice || fault!(ConflictPreviousOnly) {
        // Bookings of other slices could not be seen while booking.
        detect::first_conflict(candidates)
    } else {
        debug_assert_eq!(scratch.conflict, detect::first_conflict(candidates));
        let idle = || {
            candidates
                .iter()
                .filter(|&&candidate| candidate == ReceiveId::NIL)
                .count()
        };
        debug_assert!(!scratch.overtaken.is_empty() || scratch.idle == idle());
        scratch.conflict
    };
    let met = conflict < handlers.end;
    step!(BarrierPassed {
        first: handlers.start,
        end: handlers.end,
        conflict: met.then_some(conflict),
    });
    if met && handlers.end == info.count {
        // The highest slice knows of every conflict of the block.
        nic.boundary_counters.conflict_blocks.add(1);
    }
    let matched = if C::PART == Part::Message {
        resolve::resolve_each(block, conflict, comm, scratch)
    } else {
        resolve::resolve(block, conflict, comm, scratch)
    };
    step!(DeliveryBegins { conflict: met });
    if C::PART == Part::Slice {
        take::Taking::new(block).deliver_all(scratch);
    }
    crew.finished();
    match comm {
        Some(comm) if matched == handlers.len() => Matched::AllOf(comm),
        _ if matched == 0 => Matched::Nothing,
        _ => Matched::Mixed,
    }
}
