//! What the NIC does, step by step: told in builds for loom (`--cfg dpamatch_loom`), for random
//! schedules (`--cfg dpamatch_shuttle`) and for virtual time (`--cfg dpamatch_virtual`), marked in
//! machine code for RISC-V (`--cfg dpamatch_marks`), nothing in all others.
//!
//! One table of steps has several listeners: the story of a schedule (`explore`, and a model that
//! failed), the clocks of the virtual machine (`predict`), the counters of an interpreter (`port`).
//! In the builds that tell, the threads of a run take turns on one thread of the system, so the
//! order of telling is the order of the schedule.

/// The table itself is one for all builds.
pub use dpamatch_vocabulary::Step;

#[cfg(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual))]
mod listener {
    use super::Step;
    use std::cell::Cell;

    std::thread_local! {
        static LISTENER: Cell<Option<fn(Step)>> = const { Cell::new(None) };
    }

    /// From now on `listener` is told every step of this thread; `None` ends it.
    pub fn listen(listener: Option<fn(Step)>) {
        LISTENER.set(listener);
    }

    #[inline]
    pub(crate) fn tell(step: Step) {
        if let Some(listener) = LISTENER.get() {
            listener(step);
        }
    }
}

#[cfg(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual))]
pub use listener::listen;
#[cfg(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual))]
pub(crate) use listener::tell;

/// The steps' names. A step's place in this list is the number of its mark.
#[rustfmt::skip]
pub const NAMES: &[&str] = &[
    "EntriesSeen", "CommandBegins", "BoundaryBegins", "BoundaryEnds", "Posted", "Unlinked",
    "Recycled", "Stored", "UnexpectedVisited", "TakenLate", "BlockCut", "SliceBegins", "EntryRead",
    "HashesComputed", "SearchBegins", "BinRead", "Visited", "Searched", "Booked", "Published",
    "SliceBooked", "ProgressWritten", "ProgressRead", "Waited", "BitSet", "BitsRead", "BitsCleared",
    "CandidatesRead", "ConflictSought", "BarrierPassed", "ClaimRead", "FastPathTried", "SlowWaits",
    "SlowWaited", "StateRead", "SlowFound", "Taken", "Noted", "Unmatched", "Unlinking",
    "LockMissed", "LinkRead", "SliceMatched", "DeliveryBegins", "Delivered", "BounceRead",
    "RemoteRead", "Completed", "SliceEnds", "Reposted", "SliceCounted", "EntriesReleased", "EndRead",
];

#[cfg(dpamatch_marks)]
mod marks {
    /// A step's number. A name that is not in the list does not compile.
    pub(crate) const fn number(name: &str) -> u32 {
        let mut index = 0;
        while index < super::NAMES.len() {
            if same(super::NAMES[index].as_bytes(), name.as_bytes()) {
                return index as u32;
            }
            index += 1;
        }
        panic!("no name for this step")
    }

    const fn same(first: &[u8], second: &[u8]) -> bool {
        let mut index = 0;
        while index < first.len() && index < second.len() && first[index] == second[index] {
            index += 1;
        }
        index == first.len() && index == second.len()
    }

    /// The mark of a step: an instruction without effect.
    #[inline(always)]
    pub(crate) fn mark<const NUMBER: u32>() {
        // SAFETY: `slti` to register x0 is a hint: it changes nothing.
        unsafe {
            core::arch::asm!(
                "slti x0, x0, {number}",
                number = const NUMBER,
                options(nomem, nostack, preserves_flags)
            );
        }
    }
}

#[cfg(dpamatch_marks)]
pub(crate) use marks::{mark, number};

/// Tells a step where somebody can listen: `step!(Booked { handler, receive })`. In all other
/// builds it is no code.
#[cfg(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual))]
macro_rules! step {
    ($($step:tt)*) => { $crate::step::tell($crate::step::Step::$($step)*) };
}

#[cfg(dpamatch_marks)]
macro_rules! step {
    ($name:ident $($rest:tt)*) => {{
        if false {
            let _ = $crate::step::Step::$name $($rest)*;
        }
        $crate::step::mark::<{ $crate::step::number(stringify!($name)) }>();
    }};
}

#[cfg(not(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual, dpamatch_marks)))]
macro_rules! step {
    ($($step:tt)*) => {
        if false {
            let _ = $crate::step::Step::$($step)*;
        }
    };
}
