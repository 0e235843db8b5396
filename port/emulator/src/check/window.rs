//! The host's memory as a thread sees it through its windows.
//!
//! A window entity shows the memory of one key. A pointer into it is an address of the host, which
//! the entity translates with the key that it has at the access. So a pointer that was acquired
//! earlier is right again when its key comes back, and wrong under a key of other memory.

use super::access::Access;
use crate::machine::machine;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Window configurations, and ranges with acquired pointers, that a thread is reminded of.
const OLD: usize = 4;
const ACQUIRED: usize = 64;

/// How often a key or a window went away. What threads know of theirs holds until then.
static GONE: AtomicU64 = AtomicU64::new(0);

/// A key or a window is about to go, or has just gone.
pub(crate) fn gone() {
    // ordering: keys and windows have locks; the number only says that a look is due.
    GONE.fetch_add(1, Ordering::AcqRel);
}

/// What an entity shows.
#[derive(Clone, Debug, Default)]
struct View {
    window: Option<u32>,
    key: u32,
    memory: Range<usize>,
    /// Why the memory cannot be reached any more.
    lost: Option<&'static str>,
    /// Memory of this key and of earlier ones, where a pointer was acquired.
    acquired: Vec<Range<usize>>,
}

impl View {
    fn has_pointer(&self) -> bool {
        let memory = &self.memory;
        let is_shared =
            |other: &Range<usize>| other.start.max(memory.start) < other.end.min(memory.end);
        self.acquired.iter().any(is_shared)
    }

    fn look(&mut self) {
        let window = self.window;
        if machine().nic().keys.memory(self.key).as_ref() != Some(&self.memory) {
            self.lost = Some(" through a window whose memory is not registered any more");
        } else if window.is_some_and(|id| machine().objects().windows.get(id).is_none()) {
            self.lost = Some(" through a window that was destroyed");
        }
    }
}

/// The window entities of a thread.
#[derive(Default)]
pub(super) struct Windows {
    views: RefCell<[View; 2]>,
    /// Memory behind keys of earlier configurations.
    old: RefCell<Vec<Range<usize>>>,
    /// The state of `GONE` that the views have.
    seen: Cell<u64>,
}

impl Windows {
    /// An entity gets a key, for this memory. The window stays if none is named.
    pub(super) fn configure(
        &self,
        entity: usize,
        window: Option<u32>,
        key: u32,
        memory: Range<usize>,
    ) {
        let mut views = self.views.borrow_mut();
        let Some(view) = views.get_mut(entity) else {
            return;
        };
        view.window = window.or(view.window);
        view.lost = None;
        view.key = key;
        let before = std::mem::replace(&mut view.memory, memory);
        view.look();
        let mut old = self.old.borrow_mut();
        if !before.is_empty() && !old.contains(&before) {
            if old.len() == OLD {
                old.remove(0);
            }
            old.push(before);
        }
    }

    /// The thread got a pointer into the memory of the entity's key.
    pub(super) fn acquire(&self, entity: usize) {
        let view = &mut self.views.borrow_mut()[entity];
        if !view.acquired.contains(&view.memory) {
            if view.acquired.len() == ACQUIRED {
                view.acquired.remove(0);
            }
            view.acquired.push(view.memory.clone());
        }
    }

    /// Whether the entity's window is not there any more.
    pub(super) fn is_destroyed(&self, entity: usize) -> bool {
        let window = self.views.borrow().get(entity).and_then(|view| view.window);
        window.is_some_and(|id| machine().objects().windows.get(id).is_none())
    }

    /// The window that an access uses, or what is wrong with it.
    pub(super) fn of(&self, access: Access) -> Result<Range<usize>, &'static str> {
        // ordering: as in `gone`.
        let now = GONE.load(Ordering::Acquire);
        let mut views = self.views.borrow_mut();
        if self.seen.replace(now) != now {
            views.iter_mut().for_each(View::look);
        }
        let covers = |view: &&View| access.within(&view.memory);
        let right = |view: &&View| view.lost.is_none() && view.has_pointer();
        if let Some(view) = views.iter().filter(covers).find(right) {
            return Ok(view.memory.clone());
        }
        if let Some(lost) = views.iter().filter(covers).find_map(|view| view.lost) {
            return Err(lost);
        }
        let within = |range: &Range<usize>| access.within(range);
        let had_pointer = |view: &View| view.acquired.iter().any(within);
        let is_covered = views.iter().any(|view| covers(&view));
        if views.iter().any(had_pointer) || !is_covered && self.old.borrow().iter().any(within) {
            Err(" through a window that was configured anew")
        } else if is_covered {
            Err(" of the host, for which no window pointer was acquired")
        } else {
            Err(" of the host, outside of its windows")
        }
    }
}

const LINE: usize = 64;
/// Lines that a thread remembers. It forgets all when there are more.
const MOST: usize = 1 << 10;

/// Lines of host memory that a thread has read through its windows. Windows are not coherent: on a
/// DPA such a line may stay as it was until `window_read_inv`.
#[derive(Default)]
pub(super) struct Lines {
    /// Bytes of each line as they were when it was read first.
    lines: RefCell<HashMap<usize, [u8; LINE]>>,
    /// The line that the last access has read first, and what the window covers of it.
    new: Cell<Option<Covered>>,
}

/// The addresses of a line that a window covers.
#[derive(Clone, Copy)]
struct Covered {
    line: usize,
    start: usize,
    end: usize,
}

impl Covered {
    /// The line's bytes as they are now; 0 outside of the window.
    fn bytes(self) -> [u8; LINE] {
        let mut bytes = [0; LINE];
        for at in self.start..self.end {
            // SAFETY: in a window, whose key the host keeps mapped. Nothing is borrowed here: an
            // access of memory that is gone ends this coroutine.
            bytes[at - self.line] = unsafe { (at as *const u8).read_volatile() };
        }
        bytes
    }
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
            let covered = Covered {
                line,
                start: line.max(window.start),
                end: (line + LINE).min(window.end),
            };
            if access.writes {
                self.lines.borrow_mut().remove(&line);
                continue;
            }
            let now = covered.bytes();
            let mut lines = self.lines.borrow_mut();
            if lines.len() >= MOST && !lines.contains_key(&line) {
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
        if let Some(covered) = self.new.take() {
            let now = covered.bytes();
            self.lines.borrow_mut().insert(covered.line, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::access::How;
    use super::*;

    /// A thread remembers 1,024 lines: of a line more it has forgotten the others.
    #[test]
    fn a_thread_remembers_1024_lines() {
        for (count, remembers) in [(1023, true), (1024, true), (1025, false)] {
            let mut memory = vec![0_u8; (count + 1) * LINE];
            let start = memory.as_mut_ptr().addr().next_multiple_of(LINE);
            let window = start..start + count * LINE;
            let lines = Lines::default();
            let reads = |line: usize| Access {
                address: start + line * LINE,
                bytes: 8,
                align: 8,
                how: How::Plain,
                writes: false,
                place: 0,
                stack: 0,
            };
            assert!((0..count).all(|line| !lines.is_stale(reads(line), &window)));
            let first = start - memory.as_ptr().addr();
            memory[first] = 1;
            // The line that is read last is the first one.
            assert_eq!(lines.is_stale(reads(0), &window), remembers, "{count}");
        }
    }
}
