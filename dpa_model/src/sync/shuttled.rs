//! shuttle's atomics, which report each access to a listener: the arm for `--cfg dpamatch_shuttle`.
//!
//! The listener learns which word was accessed, how, and the values. So it can decide whether two
//! schedules led to the same state. A word's number is its place in the order of creation;
//! [`begin`] starts again.
//!
//! ordering: shuttle runs one thread at a time, and passes through what the caller names.

use std::cell::Cell;
use std::sync::atomic::Ordering;

/// What an access did, or that a poll failed. A word is named by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The thread comes to an access of this atomic word, and may write it; another thread may go
    /// first.
    Next(u32, bool),
    /// Read this value of an atomic word.
    Load(u32, u64),
    /// Replaced the value of an atomic word.
    Store(u32, u64),
    /// Read and replaced the value of an atomic word: before and after.
    Update(u32, [u64; 2]),
    /// Read a cell of plain memory.
    Look(u32),
    /// Changed a cell of plain memory.
    Change(u32),
    /// A poll failed: the thread lets others run.
    Pause,
    /// The thread continues after a pause, or begins.
    Resume,
}

std::thread_local! {
    static LISTENER: Cell<Option<fn(Access)>> = const { Cell::new(None) };
    static WORDS: Cell<u32> = const { Cell::new(0) };
}

/// Tells every access on this thread of the system to `listener`; `None` stops that.
pub fn listen(listener: Option<fn(Access)>) {
    LISTENER.set(listener);
}

/// The next word is the first.
pub fn begin() {
    WORDS.set(0);
}

/// Reports an access, also for words outside of this crate, such as a flag that ends the threads.
pub fn report(access: Access) {
    if let Some(listener) = LISTENER.get() {
        listener(access);
    }
}

/// The number of a word.
#[derive(Debug)]
pub struct Word(u32);

impl Word {
    /// The next number.
    pub fn new() -> Self {
        let number = WORDS.get();
        WORDS.set(number.wrapping_add(1));
        Self(number)
    }

    pub(super) fn report_read(&self) {
        report(Access::Look(self.0));
    }

    pub(super) fn report_write(&self) {
        report(Access::Change(self.0));
    }

    fn next(&self, may_write: bool) {
        report(Access::Next(self.0, may_write));
    }

    fn load(&self, value: u64) {
        report(Access::Load(self.0, value));
    }

    fn update(&self, before: u64, after: u64) {
        report(Access::Update(self.0, [before, after]));
    }
}

impl Default for Word {
    fn default() -> Self {
        Self::new()
    }
}

macro_rules! atomic {
    ($(#[$doc:meta])* $name:ident, $value:ident) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name(shuttle::sync::atomic::$name, Word);

        impl $name {
            /// An atomic with this value.
            pub fn new(value: $value) -> Self {
                // shuttle hashes the place of creation; for most words the compiler does.
                let word = match value {
                    0 => const { shuttle::sync::atomic::$name::new(0) },
                    $value::MAX => const { shuttle::sync::atomic::$name::new($value::MAX) },
                    value => shuttle::sync::atomic::$name::new(value),
                };
                Self(word, Word::new())
            }

            /// Behaves like its namesake in `core`.
            pub fn load(&self, ordering: Ordering) -> $value {
                self.1.next(false);
                let value = self.0.load(ordering);
                self.1.load(value.into());
                value
            }

            /// Behaves like its namesake in `core`.
            pub fn store(&self, value: $value, ordering: Ordering) {
                self.1.next(true);
                self.0.store(value, ordering);
                report(Access::Store(self.1.0, value.into()));
            }

            /// Behaves like its namesake in `core`.
            pub fn swap(&self, value: $value, ordering: Ordering) -> $value {
                self.1.next(true);
                let before = self.0.swap(value, ordering);
                self.1.update(before.into(), value.into());
                before
            }

            /// Behaves like its namesake in `core`.
            pub fn fetch_or(&self, bits: $value, ordering: Ordering) -> $value {
                self.1.next(true);
                let before = self.0.fetch_or(bits, ordering);
                self.1.update(before.into(), (before | bits).into());
                before
            }

            /// Behaves like its namesake in `core`.
            pub fn fetch_add(&self, amount: $value, ordering: Ordering) -> $value {
                self.1.next(true);
                let before = self.0.fetch_add(amount, ordering);
                self.1.update(before.into(), (before.wrapping_add(amount)).into());
                before
            }

            /// Behaves like its namesake in `core`.
            pub fn fetch_sub(&self, amount: $value, ordering: Ordering) -> $value {
                self.1.next(true);
                let before = self.0.fetch_sub(amount, ordering);
                self.1.update(before.into(), (before.wrapping_sub(amount)).into());
                before
            }

            /// Behaves like its namesake in `core`.
            ///
            /// # Errors
            /// The value found, if it is not `current`.
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.1.next(true);
                let result = self.0.compare_exchange(current, new, success, failure);
                match result {
                    Ok(before) => self.1.update(before.into(), new.into()),
                    Err(found) => self.1.load(found.into()),
                }
                result
            }

            /// Behaves like its namesake in `core`, but never fails spuriously.
            ///
            /// # Errors
            /// The value found, if it is not `current`.
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }
        }
    };
}

atomic!(
    /// 32 bits.
    AtomicU32,
    u32
);
atomic!(
    /// 64 bits.
    AtomicU64,
    u64
);
