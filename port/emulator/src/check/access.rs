//! What device code reads and writes, as its compiler announces it.

use super::race::{self, Knowledge};
use super::window::{Lines, Windows};
use super::writes::Writes;
use super::{Fault, device};
use crate::process::{Heap, is_of_a_heap};
use crate::thread::{Unit, wait_in_vain};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Bytes of a DPA thread's stack, from the frame of the entry point on.
const STACK: usize = 8184;
/// Bytes of a coroutine's stack that hooks and calls of device code may need.
const ROOM: usize = 64 << 10;
/// Reads of one place by one instruction in a row that count as waiting.
const READS: u32 = 64;
/// Blocks of the heap that a thread remembers: one for each cache line of a page.
const BLOCKS: usize = 64;

/// How device code accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Plain,
    Volatile,
    Atomic,
}

/// An access, and the instruction after it.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) address: usize,
    pub(crate) bytes: usize,
    /// The address has to be a multiple of it, a power of two, which is checked up to 8.
    pub(crate) align: usize,
    pub(crate) how: How,
    pub(crate) writes: bool,
    pub(crate) place: usize,
    /// The stack pointer there.
    pub(crate) stack: usize,
}

impl Access {
    pub(super) fn within(self, range: &Range<usize>) -> bool {
        range.contains(&self.address) && range.end - self.address >= self.bytes
    }
}

/// What a thread has done so far; its worker alone touches it.
#[derive(Default)]
pub(crate) struct Watch {
    /// The stack of the coroutine.
    stack: Cell<(usize, usize)>,
    /// Where the frame of the entry point begins, and whether that is known yet. Below come frames
    /// of device code only.
    top: Cell<(usize, bool)>,
    /// Blocks of the heap that were used last, by cache line, and the heap's generation then.
    blocks: Blocks,
    windows: Windows,
    lines: Lines,
    /// Ranges of the DPA's memory and of the host's that were written since the last fence for it.
    writes: [RefCell<Writes>; 2],
    last_read: Cell<(usize, usize, u32)>,
    /// What orders the thread and others.
    pub(super) race: Knowledge,
}

impl Watch {
    /// An activation begins, on this stack.
    pub(crate) fn begin(&self, stack: Range<usize>) {
        self.top.set((stack.end, false));
        self.stack.set((stack.start, stack.end));
    }

    /// Whether an access that crashed was beyond the end of the stack.
    pub(crate) fn is_beyond_stack(&self, address: usize) -> bool {
        let (low, high) = self.stack.get();
        low < high && (low..low + ROOM).contains(&address)
    }

    /// Where the frame of the entry point begins. The first function that begins in an activation
    /// is the entry point. Where its frame pointer is at the frame's upper end, that is exact;
    /// elsewhere the emulator's own frames count as well.
    fn top(&self, frame: usize, returns_to: usize) -> usize {
        let (mut top, known) = self.top.get();
        let (low, high) = self.stack.get();
        if !known {
            let is_frame = cfg!(target_arch = "x86_64")
                && frame.is_multiple_of(8)
                && (low..high - 16).contains(&frame);
            // SAFETY: an aligned word of the stack of the running coroutine.
            if is_frame && unsafe { (frame as *const usize).add(1).read() } == returns_to {
                top = frame + 16;
            }
            self.top.set((top, true));
        }
        top
    }

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

    /// Whether the host's memory was written since the last fence for it.
    pub(crate) fn has_unfenced_for_host(&self) -> bool {
        !self.writes[1].borrow().is_empty()
    }

    /// Ranges of the heap that were written since the last fence, and by which instruction.
    pub(crate) fn unfenced_in_heap(&self) -> Vec<(Range<usize>, usize)> {
        self.writes[0].borrow().all()
    }

    pub(crate) fn has_unfenced(&self) -> bool {
        self.writes.iter().any(|writes| !writes.borrow().is_empty())
    }

    /// The thread got a pointer into a window.
    pub(crate) fn acquire(&self, entity: usize) {
        self.windows.acquire(entity);
    }

    /// Whether the window of an entity was destroyed.
    pub(crate) fn has_lost_window(&self, entity: usize) -> bool {
        self.windows.is_destroyed(entity)
    }

    /// A window entity has a new key, for this memory, and a new window if one is named.
    pub(crate) fn configure(
        &self,
        entity: usize,
        window: Option<u32>,
        key: u32,
        memory: Range<usize>,
    ) {
        self.invalidate();
        self.windows.configure(entity, window, key, memory);
    }

    #[inline(always)]
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

    fn in_block(&self, heap: &Heap, access: Access) -> Block {
        // ordering: the blocks have a lock; a thread that races with `free` may find its block once
        // more.
        let generation = heap.generation.load(Ordering::Acquire);
        // Pages begin at different lines.
        let line = access.address / 64;
        let known = &self.blocks.0[(line ^ (line / BLOCKS)) % BLOCKS];
        let (start, end, of) = known.get();
        if of == generation && access.within(&(start..end)) {
            return Block::Known;
        }
        let Some(block) = heap.block(access.address as u64) else {
            return Block::None;
        };
        let block = block.start as usize..block.end as usize;
        known.set((block.start, block.end, generation));
        match access.within(&block) {
            true => Block::New,
            false => Block::None,
        }
    }
}

type Known = Cell<(usize, usize, u64)>;

struct Blocks([Known; BLOCKS]);

impl Default for Blocks {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Known::default()))
    }
}

/// What a thread knows of the block that it accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Known,
    New,
    None,
}

/// The thread accesses a block that it has not used lately.
#[cold]
fn first_use(unit: &Unit, heap: &Heap, access: Access) {
    if heap.is_written(access.address as u64) && !access.writes {
        let why = " of a block that nobody has written yet";
        wrong(unit, Fault::Unwritten, access, why);
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
        // What is beyond the frame of the entry point has no depth, and wraps.
        let depth = watch.top.get().0.wrapping_sub(access.address + 1);
        if access.address < access.stack || depth >= STACK {
            on_stack(unit, access);
        }
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
        match watch.in_block(heap, access) {
            Block::Known => {}
            Block::New => first_use(unit, heap, access),
            Block::None => wrong(unit, Fault::Memory, access, &heap.explain(address as u64)),
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
    if host {
        // What the host has written, a window shows.
        if !access.writes {
            race::host(unit, true);
        }
    } else {
        race::access(unit, access);
    }
}

/// Whether the access lies in a window of the thread.
fn host_memory(unit: &Unit, access: Access) -> bool {
    let watch = &unit.own.watch;
    let window = match watch.windows.of(access) {
        Ok(window) => window,
        Err(_) if is_of_a_heap(access.address as u64) => {
            wrong(unit, Fault::Memory, access, " of another process's heap");
            return false;
        }
        Err(why) => {
            wrong(unit, Fault::HostMemory, access, why);
            return false;
        }
    };
    if watch.lines.is_stale(access, &window) {
        let why = " of the host, which have changed since the thread has read their line, \
                   without a window read_inv";
        wrong(unit, Fault::Stale, access, why);
    }
    true
}

/// An activation or a call is about to end.
pub(crate) fn ends(unit: &Unit) {
    unit.own.doca.ends(unit);
    let last = unit.own.watch.writes[1].borrow().last();
    if let Some((range, place)) = last {
        let text = format_args!(
            "the activation ends without a window writeback after host memory at {:#x} was written",
            range.start
        );
        report(unit, Fault::NotWritten, place, text);
    }
}

/// An access of the stack that a DPA has no room for, of a frame whose function has returned, or
/// beyond the frame of the entry point, where a call has the arguments that no register holds.
#[cold]
fn on_stack(unit: &Unit, access: Access) {
    let (top, _) = unit.own.watch.top.get();
    if access.address >= top {
        if !access.within(&(top..top + unit.argument_bytes())) {
            let why = " of the stack, beyond the frame of the entry point";
            wrong(unit, Fault::Memory, access, why);
        }
        return;
    }
    if access.address < access.stack {
        let why = " of the stack, in the frame of a function that has returned";
        return wrong(unit, Fault::DeadFrame, access, why);
    }
    too_deep(unit, top - access.address, access.place);
}

fn too_deep(unit: &Unit, depth: usize, place: usize) {
    let text = format_args!("the stack has {depth} bytes here, and on a DPA at most {STACK}");
    report(unit, Fault::Stack, place, text);
}

/// A function begins, with this stack pointer, frame pointer and return address.
pub(crate) fn enter(unit: &Unit, stack: usize, frame: usize, returns_to: usize, place: usize) {
    let (low, high) = unit.own.watch.stack.get();
    if !(low..high).contains(&stack) {
        return;
    }
    let depth = unit.own.watch.top(frame, returns_to) - stack;
    if depth > STACK {
        too_deep(unit, depth, place);
    }
    if stack - low < ROOM {
        let line = unit.process.image.source_line(place.wrapping_sub(1));
        let text = format_args!(
            "the stack has {depth} bytes at {line}, and the emulator has room for no more"
        );
        crate::thread::overflow(unit, text);
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
