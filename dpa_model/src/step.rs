//! The NIC reports its steps to a listener in builds for loom (`--cfg dpamatch_loom`), for random
//! schedules (`--cfg dpamatch_shuttle`) and for virtual time (`--cfg dpamatch_virtual`). A build
//! for RISC-V marks them in its machine code (`--cfg dpamatch_marks`). All other builds compile a
//! step to nothing.
//!
//! The one table of steps has several listeners: the story of a schedule (`explore`, and a model
//! that failed), the clocks of the virtual machine (`predict`), the counters of an interpreter
//! (`port`). In the builds with a listener the threads of a run take turns on one thread of the
//! system, so the order of the reports is the order of the schedule.

pub use dpamatch_vocabulary::step::{Step, StepKind};

#[cfg(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual))]
mod listener {
    use super::Step;
    use std::cell::Cell;

    std::thread_local! {
        static LISTENER: Cell<Option<fn(Step)>> = const { Cell::new(None) };
    }

    /// Sends every step of this thread to `listener`; `None` stops that.
    pub fn listen(listener: Option<fn(Step)>) {
        LISTENER.set(listener);
    }

    #[inline]
    pub(crate) fn report(step: Step) {
        if let Some(listener) = LISTENER.get() {
            listener(step);
        }
    }
}

#[cfg(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual))]
pub use listener::listen;
#[cfg(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual))]
pub(crate) use listener::report;

/// The mark of a step: an instruction without effect that carries the step's number.
#[cfg(dpamatch_marks)]
#[inline]
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

/// Reports a step: `step!(Booked { handler, receive })`.
#[cfg(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual))]
macro_rules! step {
    ($($step:tt)*) => { $crate::step::report($crate::step::Step::$($step)*) };
}

#[cfg(dpamatch_marks)]
macro_rules! step {
    ($name:ident $($rest:tt)*) => {{
        if false {
            let _ = $crate::step::Step::$name $($rest)*;
        }
        $crate::step::mark::<{ $crate::step::StepKind::$name as u32 }>();
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
