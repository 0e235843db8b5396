//! The door to atomics for sources outside `dpa_model` that models run: libfabric provider and
//! emulator.
//!
//! Without `--cfg dpamatch_loom` its names are those of `std`, [`weak!`](crate::weak) is the
//! ordering and [`fault!`](crate::fault) is `false`. With it they are loom's, and the environment
//! chooses an ordering to weaken or a rule to break, as in `dpa_model`.

#[cfg(dpamatch_loom)]
pub use dpa_model::loomed::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, fence};
#[cfg(dpamatch_loom)]
pub use loom::cell::UnsafeCell;
#[cfg(dpamatch_loom)]
pub use loom::sync::Mutex;
#[cfg(not(dpamatch_loom))]
pub use std::sync::Mutex;
pub use std::sync::atomic::Ordering;
#[cfg(not(dpamatch_loom))]
pub use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, fence};

/// An ordering. `cargo xtask orderings` weakens each in turn; the text says why no model can
/// notice.
#[cfg(not(dpamatch_loom))]
#[macro_export]
macro_rules! weak {
    ($ordering:ident $(, $why:literal)?) => {
        $crate::Ordering::$ordering
    };
}

/// The ordering, or a weaker one if this place was chosen.
#[cfg(dpamatch_loom)]
#[macro_export]
macro_rules! weak {
    ($ordering:ident $(, $why:literal)?) => {{
        const PLACE: u32 = $crate::place(file!(), line!(), column!());
        $crate::weakened(PLACE, $crate::Ordering::$ordering)
    }};
}

/// Whether this rule is broken.
#[cfg(not(dpamatch_loom))]
#[macro_export]
macro_rules! fault {
    ($name:ident) => {
        false
    };
}

/// Whether this rule is broken.
#[cfg(dpamatch_loom)]
#[macro_export]
macro_rules! fault {
    ($name:ident) => {
        $crate::chosen(stringify!($name))
    };
}

#[cfg(dpamatch_loom)]
#[doc(hidden)]
pub use dpa_model::{place, weakened};

/// The seeded faults. `loom_tests/mutants.toml` names the model that must notice each.
#[cfg(dpamatch_loom)]
pub const FAULTS: &[&str] = &[
    // A record's next line keeps the payload of the round before.
    "RingLineNotCleared",
    // A record is stamped before it is written.
    "RingStampFirst",
    // Lines are given back when their record is taken, not when its payload was read.
    "RingReleasedInUse",
    // The receiver looks for a record before it announces that it sleeps.
    "SleepAfterLook",
    // It does not look into the ring for long data.
    "SleepForgetsLong",
    // A sender sets its bell by a load and a store.
    "BellTorn",
    // The receiver takes the bells by a load and a store.
    "BellsTakenTorn",
    // An event for a thread that runs is not kept.
    "EventWhileRunningLost",
    // An event that changes no state passes on nothing that was written before it.
    "EventNotPassedOn",
    // A worker takes its mail back after it has read its messages.
    "MailTakenAfterLook",
    // It looks for mail before it says that it sleeps.
    "WorkerLooksFirst",
];

/// Whether the environment has chosen this fault.
///
/// # Panics
/// If there is no such fault.
#[cfg(dpamatch_loom)]
#[doc(hidden)]
pub fn chosen(fault: &str) -> bool {
    static CHOSEN: std::sync::LazyLock<Option<String>> =
        std::sync::LazyLock::new(|| std::env::var("DPAMATCH_FAULT").ok());
    assert!(FAULTS.contains(&fault), "{fault}: no such fault");
    CHOSEN.as_deref() == Some(fault)
}
