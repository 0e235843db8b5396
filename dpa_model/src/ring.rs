//! A bounded queue whose entries carry their own ready mark, as a NIC's completion queue does
//! (O20).
//!
//! Used three times: sender to NIC (completion queue), host to NIC (command queue), NIC to host
//! (completion ring). Positions count from 0 and never wrap; the slot is the position modulo the
//! depth.
//!
//! **State.** `Slot::state`: bit 0 the owner bit, bits 1.. the stamp. The expected owner bit of a
//! position is 1 on the first pass over the ring and flips on each pass, so the consumer reads no
//! index of the producer: the line that brings the entry also says that it is there.
//!
//! **Invariants.** R1: a position is filled once, after a claim that saw `position - head < depth`.
//! R2: `head` only grows, and passes a position only after its entry was read for the last time.
//!
//! **Orderings.**
//!
//! | writer | reader | publishes |
//! |---|---|---|
//! | `fill`: state, Release | `stamp_if_ready`: Acquire | the entry |
//! | `release`: head, Release | `head`: Acquire | that the slots below are no longer read |
//!
//! **Progress.** Wait-free. **Cost.** One line per entry; `head` is written once per batch.

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use crate::sync::{Acquire, AtomicU64, Peek, PlainCell, Release};

#[derive(Debug)]
#[repr(C, align(64))]
struct Slot<T> {
    entry: PlainCell<T>,
    state: AtomicU64,
}

/// What bit 0 of a filled slot is on the pass that holds `position`.
#[inline(always)]
fn owner_bit(position: u64, depth: u64) -> u64 {
    if fault!(OwnerBitConstant) { 1 } else { u64::from(position & depth == 0) }
}

impl<T> Slot<T> {
    /// # Safety
    /// As for [`Ring::fill`].
    #[inline(always)]
    unsafe fn fill(&self, stamp: u64, owner_bit: u64, write: impl FnOnce(&mut T)) {
        let ready = stamp << 1 | owner_bit;
        if fault!(OwnerBitFirst) {
            self.state.store(ready, Release);
        }
        // SAFETY: the claim makes this thread the only writer, and the consumer released the slot's
        // last pass before the head that the claim saw (Acquire in `head`).
        unsafe { self.entry.write(write) };
        self.state.store(ready, weak!(FillRelaxed, Release));
    }
}

#[derive(Debug)]
pub(crate) struct Ring<T> {
    slots: Box<[Slot<T>]>,
    /// A power of two.
    depth: u64,
    head: CachePadded<AtomicU64>,
}

impl<T: Copy + Default> Ring<T> {
    pub(crate) const SLOT_BYTES: usize = size_of::<Slot<T>>();

    /// `depth`: a power of two.
    pub(crate) fn new(depth: usize) -> Self {
        debug_assert!(depth.is_power_of_two());
        let slots = (0..depth)
            .map(|_| Slot { entry: PlainCell::new(T::default()), state: AtomicU64::new(0) });
        Self {
            slots: slots.collect(),
            depth: depth as u64,
            head: CachePadded::new(AtomicU64::new(0)),
        }
    }

    #[inline(always)]
    pub(crate) fn depth(&self) -> u64 {
        self.depth
    }

    /// Addresses of the slots and of the head, for another program.
    #[cfg(not(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual)))]
    pub(crate) fn addresses(&self) -> (u64, u64) {
        let head = core::ptr::from_ref::<AtomicU64>(&self.head);
        (self.slots.as_ptr().expose_provenance() as u64, head.expose_provenance() as u64)
    }

    #[inline(always)]
    fn slot(&self, position: u64) -> &Slot<T> {
        let index = (position & (self.depth - 1)) as usize;
        // SAFETY: `new` made exactly `depth` slots, a power of two, and the mask keeps the index
        // below it.
        unsafe { self.slots.get_unchecked(index) }
    }

    /// First position that the consumer may still read.
    #[inline(always)]
    pub(crate) fn head(&self) -> u64 {
        self.head.load(weak!(HeadRelaxed, Acquire))
    }

    /// Writes the entry at `position` and hands it over.
    ///
    /// # Safety
    /// The caller claimed `position`: nobody else fills it, and `position - head() < depth()` was
    /// seen (R1).
    #[inline(always)]
    pub(crate) unsafe fn fill(&self, position: u64, stamp: u64, write: impl FnOnce(&mut T)) {
        // SAFETY: the caller's promise.
        unsafe { self.slot(position).fill(stamp, owner_bit(position, self.depth), write) };
    }

    /// The stamp of the entry at `position` if it is there. Only meaningful at
    /// `head() .. head() + depth()`.
    #[inline(always)]
    pub(crate) fn stamp_if_ready(&self, position: u64) -> Option<u64> {
        let state = self.slot(position).state.load(weak!(ReadyRelaxed, Acquire));
        (state & 1 == owner_bit(position, self.depth)).then_some(state >> 1)
    }

    /// Looks at the entry at `position`.
    ///
    /// # Safety
    /// The entry was seen ready (`stamp_if_ready`, here or in a thread that then handed over to
    /// this one), and `release` has not passed it.
    #[inline(always)]
    pub(crate) unsafe fn read<R>(&self, position: u64, look: impl FnOnce(&T) -> R) -> R {
        // SAFETY: ready means written (Acquire pairs with `fill`), and R1 keeps the next pass away
        // until `release`.
        unsafe { self.slot(position).entry.read(look) }
    }

    /// The entry at `position`, for as long as it is not released.
    ///
    /// # Safety
    /// As for `read`, for as long as the [`Peek`] lives.
    #[inline(always)]
    pub(crate) unsafe fn peek(&self, position: u64) -> Peek<'_, T> {
        // SAFETY: as in `read`.
        unsafe { self.slot(position).entry.peek() }
    }

    /// The entry at `position` if it is there. Only meaningful as
    /// [`stamp_if_ready`](Self::stamp_if_ready).
    ///
    /// # Safety
    /// `release` does not pass the entry as long as the [`Peek`] lives.
    #[inline(always)]
    pub(crate) unsafe fn peek_if_ready(&self, position: u64) -> Option<Peek<'_, T>> {
        let slot = self.slot(position);
        let state = slot.state.load(weak!(ReadyRelaxed, Acquire));
        if state & 1 != owner_bit(position, self.depth) {
            return None;
        }
        // SAFETY: seen ready; the caller's promise.
        Some(unsafe { slot.entry.peek() })
    }

    /// The positions from `first` on, for a loop that keeps what it needs of the ring in registers.
    #[inline(always)]
    pub(crate) fn run(&self, first: u64) -> Run<'_, T> {
        Run { slots: &self.slots, depth: self.depth, first }
    }

    /// Positions from `first` on before the slots begin anew.
    #[inline(always)]
    pub(crate) fn until_end(&self, first: u64) -> usize {
        (self.depth - (first & (self.depth - 1))) as usize
    }

    /// So many positions from `first` on, whose slots lie side by side: no more than
    /// [`until_end`](Self::until_end).
    #[inline(always)]
    pub(crate) fn stretch(&self, first: u64, count: usize) -> Stretch<'_, T> {
        let start = (first & (self.depth - 1)) as usize;
        let slots = &self.slots[start..start + count];
        Stretch { slots, first, owner_bit: owner_bit(first, self.depth) }
    }

    /// Gives back every position below `head`; consumer only.
    #[inline(always)]
    pub(crate) fn release(&self, head: u64) {
        self.head.store(head, weak!(HeadReleaseRelaxed, Release));
    }
}

/// Positions in a row, counted from the first.
#[derive(Debug)]
pub(crate) struct Run<'a, T> {
    slots: &'a [Slot<T>],
    depth: u64,
    first: u64,
}

impl<T> Clone for Run<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Run<'_, T> {}

impl<'a, T> Run<'a, T> {
    /// The position of the run's place `index`.
    #[inline(always)]
    pub(crate) fn position(&self, index: usize) -> u64 {
        self.first + index as u64
    }

    #[inline(always)]
    fn slot(&self, index: usize) -> &'a Slot<T> {
        let index = (self.position(index) & (self.depth - 1)) as usize;
        // SAFETY: as in `Ring::slot`.
        unsafe { self.slots.get_unchecked(index) }
    }

    /// As [`Ring::stamp_if_ready`].
    #[inline(always)]
    pub(crate) fn stamp_if_ready(&self, index: usize) -> Option<u64> {
        let state = self.slot(index).state.load(weak!(ReadyRelaxed, Acquire));
        (state & 1 == owner_bit(self.position(index), self.depth)).then_some(state >> 1)
    }

    /// The places from `index` to `end` whose slots lie side by side.
    #[inline(always)]
    pub(crate) fn stretch(&self, index: usize, end: usize) -> Stretch<'a, T> {
        let first = self.position(index);
        let start = (first & (self.depth - 1)) as usize;
        let count = (end - index).min(self.slots.len() - start);
        let slots = &self.slots[start..start + count];
        Stretch { slots, first, owner_bit: owner_bit(first, self.depth) }
    }

    /// As [`Ring::peek`].
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub(crate) unsafe fn peek(&self, index: usize) -> Peek<'a, T> {
        // SAFETY: the caller's promise.
        unsafe { self.slot(index).entry.peek() }
    }
}

/// Positions in a row whose slots lie side by side, for a loop over a block.
#[derive(Debug)]
pub(crate) struct Stretch<'a, T> {
    slots: &'a [Slot<T>],
    first: u64,
    owner_bit: u64,
}

impl<T> Clone for Stretch<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Stretch<'_, T> {}

impl<'a, T> Stretch<'a, T> {
    /// Its places.
    #[inline(always)]
    pub(crate) fn places(&self) -> core::ops::Range<usize> {
        0..self.slots.len()
    }

    /// The position of the stretch's place `index`.
    #[inline(always)]
    pub(crate) fn position(&self, index: usize) -> u64 {
        self.first + index as u64
    }

    /// # Safety
    /// `index` is a place of the stretch.
    #[inline(always)]
    unsafe fn slot(&self, index: usize) -> &'a Slot<T> {
        debug_assert!(index < self.slots.len());
        // SAFETY: the caller's promise.
        unsafe { self.slots.get_unchecked(index) }
    }

    /// Whether the entry at place `index` is there; `false` behind the stretch.
    #[inline(always)]
    pub(crate) fn is_ready(&self, index: usize) -> bool {
        let slot = self.slots.get(index);
        slot.is_some_and(|slot| slot.state.load(weak!(ReadyRelaxed, Acquire)) & 1 == self.owner_bit)
    }

    /// As [`Ring::stamp_if_ready`]; `None` behind the stretch, too.
    #[inline(always)]
    pub(crate) fn stamp_if_ready(&self, index: usize) -> Option<u64> {
        let state = self.slots.get(index)?.state.load(weak!(ReadyRelaxed, Acquire));
        (state & 1 == self.owner_bit).then_some(state >> 1)
    }

    /// How many entries in a row are there.
    #[inline(always)]
    pub(crate) fn ready(&self) -> usize {
        let count = |owner_bit| {
            let ready =
                |slot: &&Slot<T>| slot.state.load(weak!(ReadyRelaxed, Acquire)) & 1 == owner_bit;
            self.slots.iter().take_while(ready).count()
        };
        // A loop for each: with a constant it takes half as many instructions.
        if self.owner_bit == 1 { count(1) } else { count(0) }
    }

    /// Brings the line of an entry near, here or behind the stretch.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: usize) {
        crate::sync::prefetch(self.slots.as_ptr().wrapping_add(index));
    }

    /// As [`Ring::peek`].
    ///
    /// # Safety
    /// As there; `index` is a place of the stretch.
    #[inline(always)]
    pub(crate) unsafe fn peek(&self, index: usize) -> Peek<'a, T> {
        // SAFETY: the caller's promise.
        unsafe { self.slot(index).entry.peek() }
    }

    /// As [`Ring::fill`], with stamp 0.
    ///
    /// # Safety
    /// As there; `index` is a place of the stretch.
    #[inline(always)]
    pub(crate) unsafe fn fill(&self, index: usize, write: impl FnOnce(&mut T)) {
        // SAFETY: the caller's promise.
        unsafe { self.slot(index).fill(0, self.owner_bit, write) };
    }
}
