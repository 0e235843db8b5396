//! Phase 4: every handler of the slice gets its receive, clean, on the fast path or on the slow
//! path (S5, S6, O14 to O18, S13).

use super::scratch::Scratch;
use super::slice::Slice;
use super::slow_path::search_again;
use super::{domain, paper};
use crate::{Domains, Path};

/// Resolves in handler order. Each handler takes its receive before the next one chooses: the slow
/// path needs that, and the others do not mind (O16).
#[inline]
pub(super) fn resolve(slice: &Slice<'_>, scratch: &mut Scratch) {
    if scratch.kinds == 0 {
        return slice.leave(slice.handlers());
    }
    for handler in slice.handlers() {
        let path = if scratch.overtaken.contains(handler) {
            Path::Overtaking
        } else {
            let path = match slice.nic.options.domains {
                Domains::Paper => paper::choose_path(slice, handler, scratch),
                Domains::Keyed => domain::choose_path(slice, handler, scratch),
            };
            scratch.met |= path != Path::Clean;
            if path == Path::Slow {
                scratch.receives[handler] = search_again(slice, handler, scratch);
            }
            path
        };
        slice.take_one(scratch, handler, path);
    }
}
