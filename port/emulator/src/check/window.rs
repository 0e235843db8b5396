//! Lines of host memory that a thread has read through its windows. Windows are not coherent: on a
//! DPA such a line may stay as it was until `window_read_inv`.

use super::access::Access;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;

const LINE: usize = 64;
/// Lines that a thread remembers. It forgets all when there are more.
const MOST: usize = 1 << 10;

#[derive(Default)]
pub(super) struct Lines {
    /// Bytes of each line as they were when it was read first.
    lines: RefCell<HashMap<usize, [u8; LINE]>>,
    /// The line that the last access has read first, and what the window covers of it.
    new: Cell<Option<(usize, usize, usize)>>,
}

/// The bytes of a line from `start` to `end`, which lie in a window.
fn bytes((line, start, end): (usize, usize, usize)) -> [u8; LINE] {
    let mut bytes = [0; LINE];
    for at in start..end {
        // SAFETY: in a window, whose key the host keeps mapped. Nothing is borrowed here: an access
        // of memory that is gone ends this coroutine.
        bytes[at - line] = unsafe { (at as *const u8).read_volatile() };
    }
    bytes
}

impl Lines {
    /// `window_read_inv`, or a new configuration.
    pub(super) fn forget(&self) {
        self.lines.borrow_mut().clear();
    }

    /// The thread reads or writes within a window. True if it reads bytes that have changed since
    /// it has read their line.
    pub(super) fn is_stale(&self, access: Access, window: &Range<usize>) -> bool {
        let end = access.address + access.bytes;
        let mut stale = false;
        self.new.set(None);
        for line in (access.address / LINE * LINE..end).step_by(LINE).take(MOST) {
            let covered = (line, line.max(window.start), (line + LINE).min(window.end));
            if access.writes {
                self.lines.borrow_mut().remove(&line);
                continue;
            }
            let now = bytes(covered);
            let mut lines = self.lines.borrow_mut();
            if lines.len() >= MOST {
                lines.clear();
            }
            let before = lines.entry(line).or_insert_with(|| {
                self.new.set(Some(covered));
                now
            });
            let read = access.address.max(line) - line..end.min(line + LINE) - line;
            stale |= before[read.clone()] != now[read];
        }
        stale
    }

    /// An atomic load is over, which may have seen what came after its announcement.
    pub(super) fn loaded(&self) {
        if let Some(line) = self.new.take() {
            let now = bytes(line);
            self.lines.borrow_mut().insert(line.0, now);
        }
    }
}
