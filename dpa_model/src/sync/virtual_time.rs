//! Atomics whose accesses happen in the order of virtual time: the arm for `--cfg
//! dpamatch_virtual`.
//!
//! The machine that keeps virtual time sets [`Hooks`] on the thread that runs its handlers. One
//! thread runs all of them, so every access here is Relaxed.
//!
//! ordering: one thread runs all handlers.

use std::cell::Cell;
use std::sync::atomic::Ordering::{self, Relaxed};

/// What a machine in virtual time does around each access.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// Before a load of the word at this address: returns when the caller's clock is the least.
    pub before_load: fn(usize),
    /// Before a store: returns when the caller's clock is the least.
    pub before_store: fn(),
    /// After a store to the word at this address.
    pub stored: fn(usize),
    /// After a poll that failed: returns when another task has stored to the polled word.
    pub pause: fn(),
}

std::thread_local! {
    static HOOKS: Cell<Option<&'static Hooks>> = const { Cell::new(None) };
}

/// Sets the hooks of this thread; `None` removes them.
pub fn set_hooks(hooks: Option<&'static Hooks>) {
    HOOKS.set(hooks);
}

#[inline]
fn before_load(address: usize) {
    if let Some(hooks) = HOOKS.get() {
        (hooks.before_load)(address);
    }
}

#[inline]
fn before_store() {
    if let Some(hooks) = HOOKS.get() {
        (hooks.before_store)();
    }
}

#[inline]
fn stored(address: usize) {
    if let Some(hooks) = HOOKS.get() {
        (hooks.stored)(address);
    }
}

/// Sleeps until another task stores to the word that was read last.
///
/// # Panics
/// Without hooks: no other task would ever store.
pub(super) fn pause() {
    let hooks = HOOKS.get().expect("only a handler on a machine waits");
    (hooks.pause)();
}

macro_rules! atomic {
    ($(#[$doc:meta])* $name:ident, $inner:ident, $value:ident) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name(std::sync::atomic::$inner);

        impl $name {
            /// An atomic with this value.
            pub fn new(value: $value) -> Self {
                Self(std::sync::atomic::$inner::new(value))
            }

            fn address(&self) -> usize {
                std::ptr::from_ref(self).addr()
            }

            /// Behaves like its namesake in `core`.
            #[inline]
            pub fn load(&self, _: Ordering) -> $value {
                before_load(self.address());
                self.0.load(Relaxed)
            }

            /// Behaves like its namesake in `core`.
            #[inline]
            pub fn store(&self, value: $value, _: Ordering) {
                before_store();
                self.0.store(value, Relaxed);
                stored(self.address());
            }

            fn update(&self, change: impl FnOnce($value) -> $value) -> $value {
                before_store();
                let before = self.0.load(Relaxed);
                self.0.store(change(before), Relaxed);
                stored(self.address());
                before
            }

            /// Behaves like its namesake in `core`.
            #[inline]
            pub fn swap(&self, value: $value, _: Ordering) -> $value {
                self.update(|_| value)
            }

            /// Behaves like its namesake in `core`.
            #[inline]
            pub fn fetch_or(&self, bits: $value, _: Ordering) -> $value {
                self.update(|value| value | bits)
            }

            /// Behaves like its namesake in `core`.
            #[inline]
            pub fn fetch_add(&self, amount: $value, _: Ordering) -> $value {
                self.update(|value| value.wrapping_add(amount))
            }

            /// Behaves like its namesake in `core`.
            #[inline]
            pub fn fetch_sub(&self, amount: $value, _: Ordering) -> $value {
                self.update(|value| value.wrapping_sub(amount))
            }

            /// Behaves like its namesake in `core`.
            ///
            /// # Errors
            /// The value found, if it is not `current`.
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                _: Ordering,
                _: Ordering,
            ) -> Result<$value, $value> {
                before_load(self.address());
                let found = self.0.load(Relaxed);
                if found != current {
                    return Err(found);
                }
                self.0.store(new, Relaxed);
                stored(self.address());
                Ok(found)
            }

            /// Behaves like its namesake in `core`, but never fails spuriously.
            ///
            /// # Errors
            /// The value found, if it is not `current`.
            #[inline]
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
    AtomicU32,
    u32
);
atomic!(
    /// 64 bits.
    AtomicU64,
    AtomicU64,
    u64
);
