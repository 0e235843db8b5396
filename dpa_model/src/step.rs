//! What the NIC does, step by step: told in builds for loom (`--cfg dpamatch_loom`), for random
//! schedules (`--cfg dpamatch_shuttle`) and for virtual time (`--cfg dpamatch_virtual`), nothing in
//! all others.
//!
//! One table of steps has several listeners: the story of a schedule (`explore`, and a model that
//! failed), the clocks of the virtual machine (`predict`). In all these builds the threads of a run
//! take turns on one thread of the system, so the order of telling is the order of the schedule.

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

/// Tells a step where somebody can listen: `step!(Booked { handler, receive })`. In all other builds
/// it is no code.
#[cfg(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual))]
macro_rules! step {
    ($($step:tt)*) => { $crate::step::tell($crate::step::Step::$($step)*) };
}

#[cfg(not(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual)))]
macro_rules! step {
    ($($step:tt)*) => {
        if false {
            let _ = $crate::step::Step::$($step)*;
        }
    };
}
