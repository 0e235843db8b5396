//! Phase 4: every handler of the slice gets its receive, clean, on the fast path or on the slow
//! path (S5, S6, O14 to O18, S13).

use super::block_run::BlockRun;
use super::crew::{Choice, Crew};
use super::fast_path::Refusal;
use super::scratch::Scratch;
use super::slow_path::search_again;
use crate::shared::Shared;
use crate::{FastPath, Path};

/// Resolves in handler order. Each handler takes its receive before the next one chooses: the slow
/// path needs that, and the others do not mind (O16).
#[inline]
pub(super) fn resolve<C: Crew>(block: &BlockRun<'_, C>, scratch: &mut Scratch) {
    if scratch.kinds == 0 {
        return block.leave(block.crew.slice().handlers());
    }
    for handler in block.crew.slice().handlers() {
        let mut path = Path::Clean;
        if scratch.overtaken.contains(handler) {
            path = Path::Overtaking;
        } else {
            match C::choose(block, handler, scratch) {
                Choice::Own => {}
                Choice::Further(receive) => {
                    scratch.met = true;
                    scratch.receives[handler] = receive;
                    path = Path::Fast;
                }
                Choice::Wait(refusal) => {
                    scratch.met = true;
                    count_refusal(block.nic, handler, refusal);
                    scratch.receives[handler] = search_again(block, handler, scratch);
                    path = Path::Slow;
                }
            }
        }
        block.take_one(scratch, handler, path);
    }
}

fn count_refusal(nic: &Shared, handler: usize, refusal: Refusal) {
    if nic.options.fast_path == FastPath::Off {
        return;
    }
    let counters = &nic.handler_counters[handler];
    match refusal {
        Refusal::Mixed => &counters.refused_mixed,
        Refusal::SequenceEnded => &counters.refused_sequence,
        Refusal::Exhausted => &counters.refused_exhausted,
    }
    .add(1);
}
