//! The one door to atomics, shared plain memory and waiting.
//!
//! Four arms export the same names: plain (`core` atomics), `--cfg dpamatch_loom` (every
//! interleaving up to a bound), `--cfg dpamatch_shuttle` (random schedules with many threads) and
//! `--cfg dpamatch_virtual` (virtual time). Nothing else in this crate names `core::sync::atomic`.
//! [`Counter`] and [`Unique`] always use the plain ones: they are no part of the algorithm.

#[cfg(dpamatch_loom)]
pub mod loomed;
#[cfg(all(dpamatch_shuttle, not(dpamatch_loom)))]
pub mod shuttled;
#[cfg(dpamatch_virtual)]
pub mod virtual_time;

#[cfg(not(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual)))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64};
#[cfg(dpamatch_loom)]
pub(crate) use loomed::{AtomicU32, AtomicU64};
#[cfg(all(dpamatch_shuttle, not(dpamatch_loom)))]
pub(crate) use shuttled::{AtomicU32, AtomicU64};
#[cfg(dpamatch_virtual)]
pub(crate) use virtual_time::{AtomicU32, AtomicU64};

/// Only `weak!` names other orderings than Relaxed.
pub(crate) use core::sync::atomic::Ordering::{self, Relaxed};

/// Memory that several threads access without atomics; the caller names the release/acquire pair
/// that orders them.
///
/// Under loom an access that no pair orders is reported as a data race.
#[derive(Debug)]
pub(crate) struct PlainCell<T>(
    Inner<T>,
    /// Which cell it is.
    #[cfg(all(dpamatch_shuttle, not(dpamatch_loom)))]
    shuttled::Word,
);

#[cfg(not(dpamatch_loom))]
type Inner<T> = core::cell::UnsafeCell<T>;
#[cfg(dpamatch_loom)]
type Inner<T> = loom::cell::UnsafeCell<T>;

// SAFETY: the methods that reach the value are unsafe, and their callers promise that no write
// overlaps another access.
unsafe impl<T: Send> Sync for PlainCell<T> {}

impl<T> PlainCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(
            Inner::new(value),
            #[cfg(all(dpamatch_shuttle, not(dpamatch_loom)))]
            shuttled::Word::new(),
        )
    }

    /// Reports a read to a schedule's listener.
    #[inline]
    fn report_read(&self) {
        #[cfg(all(dpamatch_shuttle, not(dpamatch_loom)))]
        self.1.report_read();
    }

    /// Passes the value to a closure.
    ///
    /// # Safety
    /// No thread writes this cell during the call: every write happens before it or after it.
    #[inline]
    pub(crate) unsafe fn read<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        self.report_read();
        #[cfg(not(dpamatch_loom))]
        // SAFETY: the pointer is valid while `self` is; the caller excludes concurrent writes.
        return look(unsafe { &*self.0.get() });
        #[cfg(dpamatch_loom)]
        // SAFETY: the pointer is valid while `self` is, and the caller excludes concurrent writes;
        // loom checks it.
        self.0.with(|value| look(unsafe { &*value }))
    }

    /// Borrows the value beyond one closure. Loom reports a write while the [`Peek`] lives.
    ///
    /// # Safety
    /// No thread writes this cell while the [`Peek`] lives.
    #[inline]
    pub(crate) unsafe fn peek(&self) -> Peek<'_, T> {
        self.report_read();
        Peek::new(self)
    }

    /// Passes the value to a closure that may change it.
    ///
    /// # Safety
    /// No other thread reads or writes this cell during the call.
    #[inline]
    pub(crate) unsafe fn write<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(all(dpamatch_shuttle, not(dpamatch_loom)))]
        self.1.report_write();
        #[cfg(not(dpamatch_loom))]
        // SAFETY: the pointer is valid while `self` is; the caller excludes every other access.
        return change(unsafe { &mut *self.0.get() });
        #[cfg(dpamatch_loom)]
        // SAFETY: the pointer is valid while `self` is, and the caller excludes every other access;
        // loom checks it.
        self.0.with_mut(|value| change(unsafe { &mut *value }))
    }
}

/// A borrow of a [`PlainCell`].
#[derive(Debug)]
#[cfg(not(dpamatch_loom))]
pub(crate) struct Peek<'a, T>(&'a T);

/// A borrow of a [`PlainCell`], of which loom sees the beginning and the end.
#[derive(Debug)]
#[cfg(dpamatch_loom)]
pub(crate) enum Peek<'a, T> {
    Cell(loom::cell::ConstPtr<T>),
    Constant(&'a T),
}

#[cfg(not(dpamatch_loom))]
impl<'a, T> Peek<'a, T> {
    #[inline]
    fn new(cell: &'a PlainCell<T>) -> Self {
        // SAFETY: the pointer is valid while `cell` is; the caller of `peek` excludes concurrent
        // writes.
        Self(unsafe { &*cell.0.get() })
    }

    /// A borrow of a value that is never written.
    #[inline]
    pub(crate) fn constant(value: &'a T) -> Self {
        Self(value)
    }
}

#[cfg(not(dpamatch_loom))]
impl<T> core::ops::Deref for Peek<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0
    }
}

#[cfg(dpamatch_loom)]
impl<'a, T> Peek<'a, T> {
    fn new(cell: &'a PlainCell<T>) -> Self {
        Self::Cell(cell.0.get())
    }

    pub(crate) fn constant(value: &'a T) -> Self {
        Self::Constant(value)
    }
}

#[cfg(dpamatch_loom)]
impl<T> core::ops::Deref for Peek<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            // SAFETY: the caller of `peek` keeps the cell alive and excludes writes; loom checks
            // the latter.
            Self::Cell(cell) => unsafe { cell.deref() },
            Self::Constant(value) => value,
        }
    }
}

/// A wait for another thread: spins, then yields, then sleeps in growing steps.
///
/// Sleeping keeps more workers than processors slow but never stuck (S19). A sleep ends by itself
/// after at most [`Wait::LONGEST_SLEEP_US`], so the other side pays for no wake-up.
#[derive(Debug, Default)]
pub struct Wait {
    failed_polls: u32,
}

impl Wait {
    /// Polls with a spin hint before the first yield.
    pub const SPINS: u32 = 256;
    /// Polls with a yield before the first sleep.
    pub const YIELDS: u32 = 512;
    /// Upper bound of one sleep, in microseconds.
    pub const LONGEST_SLEEP_US: u64 = 500;

    /// A wait that has not polled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of calls of [`Wait::pause`].
    pub fn failed_polls(&self) -> u32 {
        self.failed_polls
    }

    /// Call after each poll that failed.
    #[cfg(not(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual)))]
    #[inline]
    pub fn pause(&mut self) {
        let polls = self.failed_polls;
        self.failed_polls = polls.saturating_add(1);
        #[cfg(feature = "std")]
        if polls >= Self::SPINS {
            if polls < Self::SPINS + Self::YIELDS {
                std::thread::yield_now();
            } else {
                let step = u64::from(polls - Self::SPINS - Self::YIELDS + 1) * 10;
                let sleep = step.min(Self::LONGEST_SLEEP_US);
                std::thread::park_timeout(std::time::Duration::from_micros(sleep));
            }
            return;
        }
        #[cfg(dpamatch_card)]
        crate::card::pause();
        #[cfg(not(any(dpamatch_firmware, dpamatch_card)))]
        core::hint::spin_loop();
        #[cfg(dpamatch_firmware)]
        // SAFETY: waits for an interrupt that always pends and is never taken; it may also do
        // nothing. Emulators that run harts in turn let another hart run.
        unsafe {
            core::arch::asm!("wfi", options(nomem, nostack, preserves_flags));
        }
    }

    /// Call after each poll that failed. Under loom a failed poll ends the exploration of this
    /// branch. The poll has no effect after its last load, so a branch in which that load comes
    /// later covers it; otherwise two waiters would alternate for ever. So a poll must make its
    /// stores visible before its last load, and load again if it stored.
    #[cfg(dpamatch_loom)]
    pub fn pause(&mut self) {
        self.failed_polls += 1;
        loom::skip_branch();
        loom::thread::yield_now();
    }

    /// Call after each poll that failed.
    #[cfg(all(dpamatch_shuttle, not(dpamatch_loom)))]
    pub fn pause(&mut self) {
        self.failed_polls += 1;
        shuttled::report(shuttled::Access::Pause);
        shuttle::thread::yield_now();
        shuttled::report(shuttled::Access::Resume);
    }

    /// Call after each poll that failed: sleeps until another task stores to the polled word.
    #[cfg(dpamatch_virtual)]
    pub fn pause(&mut self) {
        self.failed_polls += 1;
        virtual_time::pause();
    }
}

/// A statistic with one writer, whose readers may see an old value. It is never part of the
/// algorithm, so never modelled.
#[derive(Debug, Default)]
pub(crate) struct Counter(core::sync::atomic::AtomicU64);

// ordering: a statistic, see above.
impl Counter {
    /// Adds without a read-modify-write; only one thread may add at a time.
    #[inline]
    pub(crate) fn add(&self, amount: u64) {
        self.0
            .store(self.0.load(Relaxed).wrapping_add(amount), Relaxed);
    }

    /// Adds from several threads.
    #[inline]
    pub(crate) fn add_shared(&self, amount: u64) {
        self.0.fetch_add(amount, Relaxed);
    }

    /// Raises to `value` if it is larger.
    #[inline]
    pub(crate) fn raise(&self, value: u64) {
        if value > self.0.load(Relaxed) {
            self.0.store(value, Relaxed);
        }
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Hands out each number once: a 64-bit counter never wraps.
#[derive(Debug)]
pub(crate) struct Unique(core::sync::atomic::AtomicU64);

impl Unique {
    pub(crate) const fn new() -> Self {
        Self(core::sync::atomic::AtomicU64::new(0))
    }

    pub(crate) fn next(&self) -> u64 {
        // ordering: only the numbers differ, and no memory goes with them.
        self.0.fetch_add(1, Relaxed)
    }
}

/// Prefetches the line at `place`; a hint without effect on the result.
#[inline]
pub(crate) fn prefetch<T>(place: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch reads nothing and cannot fault; SSE is part of every x86_64.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(place.cast::<i8>());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}
