//! DPA threads: coroutines on a pool of workers.
//!
//! A thread belongs to one worker for life, so that its stack and state have one user. Other
//! host threads reach it through its state and the worker's mailbox (`shared`).

mod call;
mod convention;
mod crash;
mod device;
mod host;
mod patience;
mod shared;
mod tasks;
mod unit;
mod watchdog;
mod worker;

pub(crate) use call::{arguments, call, last_words};
pub(crate) use convention::{Arguments, Variadic};
pub(crate) use crash::in_nic;
pub(crate) use device::{
    accessed, activate as activate_here, at_place, end as end_here, nanoseconds, ring as ring_here,
    window, window_pointer,
};
pub(crate) use host::{entry, find};
pub(crate) use patience::Patience;
pub(crate) use tasks::TaskQueue;
pub(crate) use unit::{Entry, Kind as UnitKind, Unit};
pub(crate) use worker::{Scheduler, current, end_process, overflow, wait_in_vain};

use crate::machine::machine;
use crate::process::Process;
use crate::status::Refusal;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

pub(crate) fn signal(event: &OwnedFd) {
    let one = 1_u64.to_ne_bytes();
    // SAFETY: eight bytes for a descriptor that we own. It counts, so a full one is as good.
    unsafe { libc::write(event.as_raw_fd(), one.as_ptr().cast(), one.len()) };
}

/// Adds a thread to a process, and gives it to a worker.
pub(crate) fn spawn(
    process: &Arc<Process>,
    entry: Entry,
    kind: unit::Kind,
    local: u64,
) -> Result<Arc<Unit>, Refusal> {
    let worker = machine().scheduler.choose(&kind)?;
    let mut made = None;
    machine().objects().units.insert(|id| {
        let unit = Unit::new(id, Arc::clone(process), entry, kind, local, worker);
        Arc::clone(made.insert(Arc::new(unit)))
    });
    let unit = made.ok_or("too many threads")?;
    machine().scheduler.adopt(&unit);
    Ok(unit)
}

pub(crate) fn retire_all(process: &Arc<Process>) {
    let units: Vec<_> = machine()
        .objects()
        .units
        .iter()
        .map(|(_, unit)| unit)
        .cloned()
        .collect();
    let ours = units
        .iter()
        .filter(|unit| Arc::ptr_eq(&unit.process, process));
    ours.for_each(|unit| machine().scheduler.retire(unit));
}
