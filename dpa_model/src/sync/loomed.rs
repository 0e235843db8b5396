//! Loom's atomics, which report where each operation is: the arm for `--cfg dpamatch_loom`.
//!
//! With `DPAMATCH_PLACES` set, a program prints `place FILE:LINE:COLUMN` the first time that it
//! comes to an operation or to `weak!`. So `cargo xtask orderings` knows which model runs which.
//!
//! ordering: passes on what its caller chose.

use core::panic::Location;
use core::sync::atomic::Ordering;
use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

pub(crate) fn report_place(place: &'static Location<'static>) {
    static PLACES: LazyLock<Option<Mutex<BTreeSet<usize>>>> =
        LazyLock::new(|| std::env::var_os("DPAMATCH_PLACES").map(|_| Mutex::default()));
    if let Some(places) = &*PLACES
        && places
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(core::ptr::from_ref(place).addr())
    {
        // The first line would follow the test's name.
        std::println!("\nplace {place}");
    }
}

macro_rules! operations {
    ($name:ident, $value:ty: $($operation:ident)*) => {
        impl $name {
            $(
                /// Behaves like its namesake in `core`.
                #[track_caller]
                pub fn $operation(&self, value: $value, order: Ordering) -> $value {
                    report_place(Location::caller());
                    self.0.$operation(value, order)
                }
            )*
        }
    };
}

macro_rules! atomic {
    ($name:ident, $value:ty) => {
        /// Behaves like its namesake in `core`.
        #[derive(Debug, Default)]
        pub struct $name(loom::sync::atomic::$name);

        operations!($name, $value: swap fetch_or fetch_and);

        impl $name {
            /// An atomic with this value.
            #[track_caller]
            pub fn new(value: $value) -> Self {
                Self(loom::sync::atomic::$name::new(value))
            }

            /// Behaves like its namesake in `core`.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                report_place(Location::caller());
                self.0.load(order)
            }

            /// Behaves like its namesake in `core`.
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                report_place(Location::caller());
                self.0.store(value, order);
            }

            /// Behaves like its namesake in `core`.
            ///
            /// # Errors
            /// The value found, if it is not `current`.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                report_place(Location::caller());
                self.0.compare_exchange(current, new, success, failure)
            }

            /// Behaves like its namesake in `core`.
            ///
            /// # Errors
            /// The value found, if it is not `current`.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                report_place(Location::caller());
                self.0.compare_exchange_weak(current, new, success, failure)
            }

            /// Behaves like its namesake in `core`.
            ///
            /// # Errors
            /// The value found, if there is no next one.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                next: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                report_place(Location::caller());
                self.0.fetch_update(set, fetch, next)
            }
        }
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicU8, u8);
atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);
operations!(AtomicU8, u8: fetch_add fetch_sub);
operations!(AtomicU32, u32: fetch_add fetch_sub);
operations!(AtomicU64, u64: fetch_add fetch_sub);

/// Behaves like its namesake in `core`; with [`Ordering::Relaxed`] it does nothing.
#[track_caller]
pub fn fence(order: Ordering) {
    report_place(Location::caller());
    if order != Ordering::Relaxed {
        loom::sync::atomic::fence(order);
    }
}
