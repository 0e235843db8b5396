//! What device code reads and writes, as its compiler announces it.

use super::window::Lines;
use super::writes::Writes;
use super::{Fault, device};
use crate::process::Heap;
use crate::thread::{Unit, wait_in_vain};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Bytes of a DPA thread's stack.
const STACK: usize = 8184;
/// Reads of one place by one instruction in a row that count as waiting.
const READS: u32 = 64;
/// Window configurations that a thread is reminded of.
const OLD: usize = 4;

/// Blocks of the heap that a thread remembers.
const BLOCKS: usize = 32;

/// An access, and the instruction after it.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) address: usize,
    pub(crate) bytes: usize,
    /// The address has to be a multiple of it, a power of two, which is checked up to 8.
    pub(crate) align: usize,
    pub(crate) writes: bool,
    pub(crate) place: usize,
}

impl Access {
    fn within(self, range: &Range<usize>) -> bool {
        range.contains(&self.address) && range.end - self.address >= self.bytes
    }
}

/// What a thread has done so far; its worker alone touches it.
#[derive(Default)]
pub(crate) struct Watch {
    /// The stack of the coroutine.
    pub(crate) stack: Cell<(usize, usize)>,
    /// Blocks of the heap that were used last, by cache line, and the heap's generation then.
    blocks: [Cell<(usize, usize, u64)>; BLOCKS],
    /// Memory behind each window entity, and behind keys before it.
    windows: RefCell<[Range<usize>; 2]>,
    /// Whether a pointer was acquired since an entity was configured.
    acquired: [Cell<bool>; 2],
    lines: Lines,
    old_windows: RefCell<Vec<Range<usize>>>,
    /// Ranges of the DPA's memory and of the host's that were written since the last fence for it.
    writes: [RefCell<Writes>; 2],
    last_read: Cell<(usize, usize, u32)>,
}

impl Watch {
    /// A fence: what was written before is visible to the NIC, or to the host.
    pub(crate) fn fence(&self, host: bool) {
        self.writes[usize::from(host)].borrow_mut().clear();
    }

    /// What the thread has read through windows may come from the host again.
    pub(crate) fn invalidate(&self) {
        self.lines.forget();
    }

    /// An atomic load is over.
    pub(crate) fn loaded(&self) {
        self.lines.loaded();
    }

    /// The instruction that wrote a part of the range after the last fence.
    pub(crate) fn unfenced(&self, start: usize, bytes: usize) -> Option<usize> {
        let mut found = self
            .writes
            .iter()
            .map(|writes| writes.borrow().within(start, bytes));
        found.find_map(|place| place)
    }

    pub(crate) fn has_unfenced(&self) -> bool {
        self.writes.iter().any(|writes| !writes.borrow().is_empty())
    }

    /// The thread got a pointer into a window.
    pub(crate) fn acquire(&self, entity: usize) {
        self.acquired[entity].set(true);
    }

    /// A window entity has a new key, for this memory.
    pub(crate) fn configure(&self, entity: usize, memory: Range<usize>) {
        self.acquired[entity].set(false);
        self.invalidate();
        if let Some(window) = self.windows.borrow_mut().get_mut(entity) {
            let before = std::mem::replace(window, memory);
            let mut old = self.old_windows.borrow_mut();
            if !before.is_empty() && !old.contains(&before) {
                if old.len() == OLD {
                    old.remove(0);
                }
                old.push(before);
            }
        }
    }

    fn note_write(&self, access: Access, host: bool) {
        let range = access.address..access.address.saturating_add(access.bytes);
        self.writes[usize::from(host)]
            .borrow_mut()
            .add(range, access.place);
    }

    /// Whether more was written without a fence than the thread remembers.
    fn has_forgotten(&self) -> bool {
        self.writes
            .iter()
            .any(|writes| writes.borrow().has_forgotten)
    }

    fn in_block(&self, heap: &Heap, access: Access) -> bool {
        let generation = heap.generation.load(Ordering::Acquire);
        let known = &self.blocks[access.address / 64 % BLOCKS];
        let (start, end, of) = known.get();
        if of == generation && access.within(&(start..end)) {
            return true;
        }
        let Some(block) = heap.block(access.address as u64) else {
            return false;
        };
        let block = block.start as usize..block.end as usize;
        known.set((block.start, block.end, generation));
        access.within(&block)
    }
}

fn report(unit: &Unit, fault: Fault, place: usize, text: std::fmt::Arguments<'_>) {
    if unit.is_first(fault as u8) {
        let line = unit.process.image.source_line(place.wrapping_sub(1));
        device(Some(unit), fault, format_args!("{text}, at {line}"));
    }
}

#[cold]
fn wrong(unit: &Unit, fault: Fault, access: Access, why: &str) {
    let Access {
        address,
        bytes,
        writes,
        place,
        ..
    } = access;
    let how = if writes { "writes" } else { "reads" };
    report(
        unit,
        fault,
        place,
        format_args!("{how} {bytes} bytes at {address:#x}{why}"),
    );
}

/// Device code accesses memory.
#[inline(always)]
pub(crate) fn check(unit: &Unit, access: Access) {
    let watch = &unit.own.watch;
    let (low, high) = watch.stack.get();
    if access.address.wrapping_sub(low) < high - low {
        return;
    }
    let heap = &unit.process.heap;
    let Access { address, place, .. } = access;
    let mut waits = false;
    if !access.writes {
        let (last, by, count) = watch.last_read.get();
        let count = if (last, by) == (address, place) {
            count + 1
        } else {
            0
        };
        watch
            .last_read
            .set((address, place, if count < READS { count } else { 0 }));
        waits = count > 0;
        if count >= READS {
            wait_in_vain(unit);
        }
    }
    let mut host = false;
    if heap.has(address as u64) {
        if !watch.in_block(heap, access) {
            wrong(unit, Fault::Memory, access, ", in no block of the heap");
        }
    } else if !access.within(&unit.process.image.range) {
        host = host_memory(unit, access);
    }
    if !waits {
        unit.own.time.access(address, access.bytes, host);
    }
    if access.align <= 8 && address & (access.align - 1) != 0 {
        wrong(unit, Fault::Unaligned, access, ", which is not aligned");
    }
    if access.writes {
        watch.note_write(access, host);
    }
}

/// Whether the access lies in a window of the thread.
fn host_memory(unit: &Unit, access: Access) -> bool {
    let watch = &unit.own.watch;
    let window = |acquired: bool| {
        let windows = watch.windows.borrow();
        let mut entities = windows.iter().zip(&watch.acquired);
        let is_it = |(window, got): &(&Range<usize>, &Cell<bool>)| {
            got.get() == acquired && access.within(window)
        };
        entities.find(is_it).map(|(window, _)| window.clone())
    };
    if let Some(window) = window(true) {
        if watch.lines.is_stale(access, &window) {
            let why = " of the host, which have changed since the thread has read their line, \
                       without a window read_inv";
            wrong(unit, Fault::Stale, access, why);
        }
        return true;
    }
    let was_there = watch
        .old_windows
        .borrow()
        .iter()
        .any(|window| access.within(window));
    let why = if window(false).is_some() {
        " of the host, for which no window pointer was acquired"
    } else if was_there {
        " through a window that was configured anew"
    } else {
        " of the host, outside of its windows"
    };
    wrong(unit, Fault::HostMemory, access, why);
    false
}

/// An activation or a call is about to end.
pub(crate) fn ends(unit: &Unit) {
    let last = unit.own.watch.writes[1].borrow().last();
    if let Some((range, place)) = last {
        let text = format_args!(
            "the activation ends without a window writeback after host memory at {:#x} was written",
            range.start
        );
        report(unit, Fault::NotWritten, place, text);
    }
}

/// A function begins, with this much of the stack in use.
pub(crate) fn enter(unit: &Unit, stack: usize, place: usize) {
    let (low, high) = unit.own.watch.stack.get();
    let depth = high.wrapping_sub(stack);
    if (low..high).contains(&stack) && depth > STACK {
        let text = format_args!("the stack has {depth} bytes here, and on a DPA at most {STACK}");
        report(unit, Fault::Stack, place, text);
    }
}

/// A doorbell announces these ranges of memory.
pub(crate) fn announce(unit: &Unit, number: u32, ranges: &[(usize, usize, &str)]) {
    for &(start, bytes, what) in ranges {
        if let Some(place) = unit.own.watch.unfenced(start, bytes) {
            let text = format_args!(
                "doorbell of queue {number:#x} without a write fence after {what} was written"
            );
            return report(unit, Fault::NoFence, place, text);
        }
    }
    if unit.own.watch.has_forgotten() {
        let text = format_args!(
            "doorbell of queue {number:#x} after so many writes without a fence that the oldest are \
             not checked"
        );
        device(Some(unit), Fault::NoFence, text);
    }
}
