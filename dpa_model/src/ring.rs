//! A bounded queue whose entries carry their own ready mark, like a NIC's completion queue (O20).
//!
//! It serves three times: sender to NIC (completion queue), host to NIC (command queue) and NIC to
//! host (completion ring). Positions count from 0 and never wrap; the slot is the position modulo
//! the depth.
//!
//! **State.** `Slot::state`: bit 0 is the owner bit, bits 1.. are the stamp. The expected owner bit
//! of a position is 1 on the first pass over the ring and flips on each pass. So the consumer reads
//! no index of the producer: the cache line that brings the entry also brings its mark.
//!
//! **Invariants.** R1: a position is filled once, after a claim that saw `position - head < depth`.
//! R2: `head` only grows, and passes a position only after the last read of its entry.
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

use crate::sync::{AtomicU64, Peek, PlainCell};

#[derive(Debug)]
#[repr(C, align(64))]
struct Slot<T> {
    entry: PlainCell<T>,
    state: AtomicU64,
}

/// The owner bit of a filled slot on the pass that holds `position`.
#[inline(always)]
fn owner_bit(position: u64, depth: u64) -> u64 {
    if fault!(OwnerBitConstant) {
        1
    } else {
        u64::from(position & depth == 0)
    }
}

impl<T> Slot<T> {
    /// # Safety
    /// The safety contract of [`Ring::fill`] applies.
    #[inline(always)]
    unsafe fn fill(&self, stamp: u64, owner_bit: u64, write: impl FnOnce(&mut T)) {
        let ready = stamp << 1 | owner_bit;
        if fault!(OwnerBitFirst) {
            self.state.store(ready, crate::sync::Ordering::Release);
        }
        // SAFETY: the claim makes this thread the only writer, and the consumer released the slot's
        // last pass before the head that the claim saw (Acquire in `head`).
        unsafe { self.entry.write(write) };
        self.state.store(ready, weak!(Release));
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
        let slots = (0..depth).map(|_| Slot {
            entry: PlainCell::new(T::default()),
            state: AtomicU64::new(0),
        });
        Self {
            slots: slots.collect(),
            depth: depth as u64,
            head: CachePadded::new(AtomicU64::new(0)),
        }
    }

    #[inline]
    pub(crate) fn depth(&self) -> u64 {
        self.depth
    }

    /// Addresses of the slots and of the head, for a host that is another program.
    #[cfg(not(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual)))]
    pub(crate) fn addresses(&self) -> (u64, u64) {
        let head = core::ptr::from_ref::<AtomicU64>(&self.head);
        (
            self.slots.as_ptr().expose_provenance() as u64,
            head.expose_provenance() as u64,
        )
    }

    #[inline]
    fn slot(&self, position: u64) -> &Slot<T> {
        let index = (position & (self.depth - 1)) as usize;
        // SAFETY: `new` made exactly `depth` slots, a power of two, and the mask keeps the index
        // below it.
        unsafe { self.slots.get_unchecked(index) }
    }

    /// First position that the consumer may still read.
    #[inline]
    pub(crate) fn head(&self) -> u64 {
        self.head.load(weak!(Acquire))
    }

    /// Writes the entry at `position` and hands it over.
    ///
    /// The caller claimed `position` after it saw `position - head() < depth()` (R1), and is its
    /// only writer.
    #[inline(always)]
    pub(crate) unsafe fn fill(&self, position: u64, stamp: u64, write: impl FnOnce(&mut T)) {
        // SAFETY: the caller's promise.
        unsafe {
            self.slot(position)
                .fill(stamp, owner_bit(position, self.depth), write)
        };
    }

    /// Writes a part of the entry at `position` before [`fill`](Self::fill).
    ///
    /// # Safety
    /// The safety contract of [`fill`](Self::fill) applies.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, position: u64, write: impl FnOnce(&mut T)) {
        // SAFETY: the caller's promise.
        unsafe { self.slot(position).entry.write(write) };
    }

    /// The stamp of the entry at `position`, if the entry is ready. Only meaningful at `head() ..
    /// head() + depth()`.
    #[inline]
    pub(crate) fn stamp_if_ready(&self, position: u64) -> Option<u64> {
        let acquire = weak!(Acquire, "callers that read the entry load its mark again");
        let state = self.slot(position).state.load(acquire);
        (state & 1 == owner_bit(position, self.depth)).then_some(state >> 1)
    }

    /// Passes the entry at `position` to a closure.
    ///
    /// # Safety
    /// This thread, or one that then handed over to it, saw the entry ready (`stamp_if_ready`), and
    /// `release` has not passed it.
    #[inline(always)]
    pub(crate) unsafe fn read<R>(&self, position: u64, look: impl FnOnce(&T) -> R) -> R {
        // SAFETY: ready means written (Acquire pairs with `fill`), and R1 keeps the next pass away
        // until `release`.
        unsafe { self.slot(position).entry.read(look) }
    }

    /// Borrows the entry at `position`.
    ///
    /// # Safety
    /// The safety contract of `read` holds for as long as the [`Peek`] lives.
    #[inline]
    pub(crate) unsafe fn peek(&self, position: u64) -> Peek<'_, T> {
        // SAFETY: the caller keeps the entry ready and unreleased while the `Peek` lives.
        unsafe { self.slot(position).entry.peek() }
    }

    /// Borrows the entry at `position`, if it is ready. Only meaningful at `head() .. head() +
    /// depth()`.
    ///
    /// # Safety
    /// `release` does not pass the entry while the [`Peek`] lives.
    #[inline(always)]
    pub(crate) unsafe fn peek_if_ready(&self, position: u64) -> Option<Peek<'_, T>> {
        let slot = self.slot(position);
        let state = slot.state.load(weak!(Acquire));
        if state & 1 != owner_bit(position, self.depth) {
            return None;
        }
        // SAFETY: the entry is ready, and the caller keeps `release` behind it.
        Some(unsafe { slot.entry.peek() })
    }

    /// Number of positions from `first` to the end of the slots.
    #[inline]
    pub(crate) fn until_end(&self, first: u64) -> usize {
        (self.depth - (first & (self.depth - 1))) as usize
    }

    /// A stretch of positions from `first` on with adjacent slots. Its length is at most
    /// [`until_end`](Self::until_end).
    #[inline(always)]
    pub(crate) fn span(&self, first: u64, count: usize) -> RingSpan<'_, T> {
        let start = (first & (self.depth - 1)) as usize;
        let slots = &self.slots[start..start + count];
        RingSpan {
            slots,
            first,
            owner_bit: owner_bit(first, self.depth),
        }
    }

    /// Releases every position below `head`; consumer only.
    #[inline]
    pub(crate) fn release(&self, head: u64) {
        self.head.store(head, weak!(Release));
    }
}

/// Consecutive positions with adjacent slots, for a loop over a block.
#[derive(Debug)]
pub(crate) struct RingSpan<'a, T> {
    slots: &'a [Slot<T>],
    first: u64,
    owner_bit: u64,
}

impl<T> Clone for RingSpan<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for RingSpan<'_, T> {}

impl<'a, T> RingSpan<'a, T> {
    #[inline]
    pub(crate) fn places(&self) -> core::ops::Range<usize> {
        0..self.slots.len()
    }

    #[inline]
    pub(crate) fn position(&self, index: usize) -> u64 {
        self.first + index as u64
    }

    /// # Safety
    /// `index` is a place of the stretch.
    #[inline]
    unsafe fn slot(&self, index: usize) -> &'a Slot<T> {
        debug_assert!(index < self.slots.len());
        // SAFETY: the caller's promise.
        unsafe { self.slots.get_unchecked(index) }
    }

    /// Whether the entry at `index` is ready; `false` past the end.
    #[inline(always)]
    pub(crate) fn is_ready(&self, index: usize) -> bool {
        let slot = self.slots.get(index);
        slot.is_some_and(|slot| slot.state.load(weak!(Acquire)) & 1 == self.owner_bit)
    }

    /// The stamp of the entry at `index`, if the entry is ready; `None` past the end.
    #[inline]
    pub(crate) fn stamp_if_ready(&self, index: usize) -> Option<u64> {
        let state = self.slots.get(index)?.state.load(weak!(Acquire));
        (state & 1 == self.owner_bit).then_some(state >> 1)
    }

    /// Number of ready entries at the beginning of the stretch.
    #[inline(always)]
    pub(crate) fn ready(&self) -> usize {
        let count = |owner_bit| {
            let ready = |slot: &&Slot<T>| slot.state.load(weak!(Acquire)) & 1 == owner_bit;
            self.slots.iter().take_while(ready).count()
        };
        // Two loops: a constant owner bit halves the instructions.
        if self.owner_bit == 1 {
            count(1)
        } else {
            count(0)
        }
    }

    /// Prefetches the line of an entry, which may be past the end.
    #[inline]
    pub(crate) fn prefetch(&self, index: usize) {
        crate::sync::prefetch(self.slots.as_ptr().wrapping_add(index));
    }

    /// Borrows the entry at `index`.
    ///
    /// # Safety
    /// `index` is a place of the stretch, and the safety contract of [`Ring::peek`] applies.
    #[inline]
    pub(crate) unsafe fn peek(&self, index: usize) -> Peek<'a, T> {
        // SAFETY: the caller's promise.
        unsafe { self.slot(index).entry.peek() }
    }

    /// Writes the entry at `index` with stamp 0.
    ///
    /// # Safety
    /// `index` is a place of the stretch, and the safety contract of [`Ring::fill`] applies.
    #[inline(always)]
    pub(crate) unsafe fn fill(&self, index: usize, write: impl FnOnce(&mut T)) {
        // SAFETY: the caller's promise.
        unsafe { self.slot(index).fill(0, self.owner_bit, write) };
    }
}
