//! One thread at a time in a domain.

use std::cell::UnsafeCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::endpoint::State;

/// A domain's state behind a lock. There is no lock if the program has promised that one thread at
/// a time calls (`FI_THREAD_DOMAIN`).
#[derive(Debug)]
pub(crate) struct Gate {
    lock: Option<Mutex<()>>,
    state: UnsafeCell<State>,
}

// SAFETY: the state is reached through `enter` alone, which one thread at a time runs: by the lock,
// or by the program's promise. The state itself may move between threads.
unsafe impl Sync for Gate {}

impl Gate {
    /// `promised`: the program calls from one thread at a time.
    pub(crate) fn new(state: State, promised: bool) -> Self {
        Self {
            lock: (!promised).then(|| Mutex::new(())),
            state: UnsafeCell::new(state),
        }
    }

    /// Runs `inside`, which must not enter again.
    #[inline(always)]
    pub(crate) fn enter<R>(&self, inside: impl FnOnce(&mut State) -> R) -> R {
        // A panic inside has ended the process: nothing is poisoned.
        let _held = self.lock.as_ref().map(|lock| lock.lock());
        // SAFETY: no other thread is inside, see above, and nothing inside enters again.
        inside(unsafe { &mut *self.state.get() })
    }

    /// Enters without a closure, so that the compiler can inline the code inside into its caller.
    ///
    /// # Safety
    /// This thread is not inside, and does not enter again as long as it holds the result.
    #[inline(always)]
    pub(crate) unsafe fn hold(&self) -> Held<'_> {
        // The lock is never poisoned, see above.
        let lock = self
            .lock
            .as_ref()
            .map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner));
        // SAFETY: no other thread is inside, see above; nor is this one, by the caller's promise.
        let state = unsafe { &mut *self.state.get() };
        Held { state, _lock: lock }
    }
}

/// A domain's state while this thread is inside.
pub(crate) struct Held<'a> {
    pub(crate) state: &'a mut State,
    _lock: Option<MutexGuard<'a, ()>>,
}

const _: () = {
    const fn movable<T: Send>() {}
    movable::<State>();
};
