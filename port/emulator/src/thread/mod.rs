//! DPA threads: coroutines on a pool of workers.
//!
//! A thread belongs to one worker for life, so that its stack and state have one user. Other
//! host threads reach it through its state word and the worker's inbox.

mod call;
mod crash;
mod device;
mod host;
mod tasks;
mod unit;
mod worker;

pub(crate) use call::last_words;
pub(crate) use crash::in_nic;
pub(crate) use device::{accessed, nanoseconds};
pub(crate) use host::{entry, find};
pub(crate) use tasks::TaskQueue;
pub(crate) use unit::Unit;
pub(crate) use worker::{Scheduler, current, wait_in_vain};

use crate::machine::machine;
use crate::process::Process;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

pub(crate) fn signal(event: &OwnedFd) {
    let one = 1_u64.to_ne_bytes();
    // SAFETY: eight bytes for a descriptor that we own. It counts, so a full one is as good.
    unsafe { libc::write(event.as_raw_fd(), one.as_ptr().cast(), one.len()) };
}

pub(crate) fn retire_all(process: &Arc<Process>) {
    let objects = machine().objects();
    let of_process = objects.units.iter().filter(|(_, unit)| Arc::ptr_eq(&unit.process, process));
    let units: Vec<_> = of_process.map(|(id, _)| id).collect();
    drop(objects);
    for id in units {
        let unit = machine().objects().units.remove(id);
        if let Some(unit) = unit {
            machine().scheduler.retire(&unit);
        }
    }
}
