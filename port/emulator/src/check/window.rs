//! Lines of host memory that a thread has read through its windows. Windows are not coherent: on a
//! DPA such a line may stay as it was until `window_read_inv`.

use super::access::Access;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

const LINE: usize = 64;
/// Lines that a thread remembers. It forgets all when there are more.
const MOST: usize = 1 << 10;

/// Bytes of each line as they were when it was read first.
#[derive(Default)]
pub(super) struct Lines(RefCell<HashMap<usize, [u8; LINE]>>);

impl Lines {
    /// `window_read_inv`, or a new configuration.
    pub(super) fn forget(&self) {
        self.0.borrow_mut().clear();
    }

    /// The thread reads or writes within a window. True if it reads bytes that have changed since
    /// it has read their line.
    pub(super) fn is_stale(&self, access: Access, window: &Range<usize>) -> bool {
        let end = access.address + access.bytes;
        let mut stale = false;
        for line in (access.address / LINE * LINE..end).step_by(LINE).take(MOST) {
            let covered = line.max(window.start)..(line + LINE).min(window.end);
            if access.writes {
                self.0.borrow_mut().remove(&line);
                continue;
            }
            let mut now = [0; LINE];
            for at in covered {
                // SAFETY: in a window, whose key the host keeps mapped. Nothing is borrowed here:
                // an access of memory that is gone ends this coroutine.
                now[at - line] = unsafe { (at as *const u8).read_volatile() };
            }
            let mut lines = self.0.borrow_mut();
            if lines.len() >= MOST {
                lines.clear();
            }
            let before = lines.entry(line).or_insert(now);
            let read = access.address.max(line) - line..end.min(line + LINE) - line;
            stale |= before[read.clone()] != now[read];
        }
        stale
    }
}
