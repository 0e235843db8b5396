//! What the handlers do, step by step: told in builds for random schedules
//! (`--cfg dpamatch_shuttle`), nothing in all others.
//!
//! There all threads of a run take turns on one thread of the system, so the order of telling is
//! the order of the schedule.

/// One step of one handler. Receives go by their request numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Step {
    /// The boundary cut a block of `count` messages, of which the first is number `first`.
    BlockCut {
        /// Arrival number of handler 0's message.
        first: u64,
        /// Handlers that take part.
        count: usize,
    },
    /// The optimistic search ended.
    Searched {
        /// Which handler.
        handler: usize,
        /// The receive it would take.
        found: Option<u64>,
    },
    /// The handler set its bit.
    Booked {
        /// Which handler.
        handler: usize,
        /// In which receive.
        receive: u64,
    },
    /// The handler has seen that all lower ones have booked.
    PassedBarrier {
        /// Which handler.
        handler: usize,
        /// First handler in conflict, if there is one at or below this one's slice.
        conflict: Option<usize>,
    },
    /// No conflict: it takes its own.
    Clean {
        /// Which handler.
        handler: usize,
    },
    /// In conflict or forced: it takes the receive its number further.
    Fast {
        /// Which handler.
        handler: usize,
    },
    /// In conflict or forced, no fast path: it waits for all lower handlers.
    SlowWaits {
        /// Which handler.
        handler: usize,
    },
    /// All lower handlers are done; what it found.
    SlowFound {
        /// Which handler.
        handler: usize,
        /// The receive it takes.
        found: Option<u64>,
        /// It is still its own candidate.
        own: bool,
    },
    /// The receive is taken.
    Consumed {
        /// Which handler.
        handler: usize,
        /// Which receive.
        receive: u64,
    },
    /// There is no receive for its message.
    Unmatched {
        /// Which handler.
        handler: usize,
    },
    /// Another handler holds the bin's lock: the taken receive stays in the chain for now.
    LockMissed {
        /// Which handler.
        handler: usize,
    },
}

#[cfg(dpamatch_shuttle)]
mod log {
    use super::Step;
    use std::cell::RefCell;
    use std::vec::Vec;

    std::thread_local! {
        static STEPS: RefCell<Option<Vec<Step>>> = const { RefCell::new(None) };
    }

    /// Begins to listen on this thread; earlier steps are forgotten.
    pub fn listen() {
        STEPS.with_borrow_mut(|steps| *steps = Some(Vec::new()));
    }

    /// The steps since `listen`, which ends.
    pub fn steps() -> Vec<Step> {
        STEPS.take().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn tell(step: impl FnOnce() -> Step) {
        STEPS.with_borrow_mut(|steps| {
            if let Some(steps) = steps {
                steps.push(step());
            }
        });
    }
}

#[cfg(dpamatch_shuttle)]
pub use log::{listen, steps};

#[cfg(dpamatch_shuttle)]
pub(crate) use log::tell;

/// Tells a step, `tell!(Clean { handler })`, or runs code that tells some, `tell!({ .. })`, where
/// somebody can listen. In all other builds it is nothing, and its arguments are not even looked
/// at.
#[cfg(dpamatch_shuttle)]
macro_rules! tell {
    ($step:ident { $($field:tt)* }) => {
        crate::story::tell(|| crate::story::Step::$step { $($field)* })
    };
    ({ $($code:tt)* }) => { $($code)* };
}

#[cfg(not(dpamatch_shuttle))]
macro_rules! tell {
    ($($told:tt)*) => {};
}
