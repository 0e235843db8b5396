//! Roles of the harts other than 0: a slice of each block, or one of the ends.

use alloc::boxed::Box;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

use dpa_model::Worker;

use crate::start::{HARTS_MOST, mark, wait};

/// Marks of this program; numbers below 1,000 are the card's steps.
pub(crate) mod marks {
    pub(crate) const POST: u32 = 1000;
    pub(crate) const SEND: u32 = 1001;
    /// The leader looks for work.
    pub(crate) const LEAD: u32 = 1002;
    pub(crate) const DRAIN: u32 = 1003;
    /// A worker looks for work.
    pub(crate) const IDLE: u32 = 1004;
}

pub(crate) enum Role {
    /// Runs slices until the run ends.
    Worker(Worker),
    /// Runs once.
    End(Box<dyn FnOnce() + Send>),
}

static ROLES: [AtomicPtr<Role>; HARTS_MOST] = [const { AtomicPtr::new(null_mut()) }; HARTS_MOST];
static ENDS_DONE: AtomicUsize = AtomicUsize::new(0);
static STOP: AtomicBool = AtomicBool::new(false);

pub(crate) fn assign(hart: usize, role: Role) {
    ROLES[hart].store(Box::into_raw(Box::new(role)), Release);
}

/// Whether `ends` ends are done; acquires their writes.
pub(crate) fn ends_are_done(ends: usize) -> bool {
    ENDS_DONE.load(Acquire) == ends
}

/// Ends the workers after their block.
pub(crate) fn stop_workers() {
    STOP.store(true, Relaxed);
}

/// Entry of every hart but 0, once started.
#[unsafe(no_mangle)]
extern "C" fn further_hart(hart: usize) {
    let role = ROLES[hart].swap(null_mut(), Acquire);
    if role.is_null() {
        return;
    }
    // SAFETY: `assign` made it from a box, and the swap gives it out once.
    match *unsafe { Box::from_raw(role) } {
        Role::Worker(mut worker) => {
            mark::<{ marks::IDLE }>();
            while !STOP.load(Relaxed) {
                if worker.round() {
                    mark::<{ marks::IDLE }>();
                } else {
                    wait();
                }
            }
            // Its shared tables are still in use.
            core::mem::forget(worker);
        }
        Role::End(end) => {
            end();
            ENDS_DONE.fetch_add(1, Release);
        }
    }
}
