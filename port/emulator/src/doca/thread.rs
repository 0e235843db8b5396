//! DPA threads, groups, affinity, and the contexts that wake threads: completions, notifications.

use super::dpa::UNITS;
use super::memory::{allocate, write};
use super::{Answer, Error, any, calls, destroyers, make, setters, setup, started, take, with};
use crate::handle::{Handle, Kind};
use crate::machine::{lock, machine};
use crate::process::Process;
use crate::queue::Cq;
use crate::status::{Given, put};
use crate::thread::{Unit, UnitKind};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Entries of the deepest completion queue, and most threads of a group.
const DEPTH: u32 = 1 << 22;
const GROUP: u32 = 256;

pub(super) struct Thread {
    pub(super) process: Arc<Process>,
    function: Option<crate::thread::Entry>,
    argument: u64,
    local: u64,
    pub(super) unit: Option<Arc<Unit>>,
    is_running: bool,
}

/// Threads with ranks.
pub(super) struct Group {
    threads: Vec<Option<Handle>>,
    pub(super) ranks: Option<()>,
}

// SAFETY: handles are numbers in the shape of pointers.
unsafe impl Send for Group {}

pub(super) struct Affinity {
    unit: Option<u32>,
}

pub(super) struct Completion {
    pub(super) process: Arc<Process>,
    pub(super) dpa: Handle,
    log_depth: u8,
    thread: Option<Handle>,
    pub(super) queue: Option<Queue>,
}

// SAFETY: handles are numbers in the shape of pointers.
unsafe impl Send for Completion {}

/// A started completion context: its queue, and its blocks in the heap, of which the last is what
/// its handle points to.
#[derive(Clone, Copy)]
pub(super) struct Queue {
    pub(super) cqn: u32,
    blocks: [u64; 3],
}

pub(super) struct Notification {
    thread: Handle,
    pub(super) unit: Option<Arc<Unit>>,
}

// SAFETY: handles are numbers in the shape of pointers.
unsafe impl Send for Notification {}

/// The unit of a started thread.
fn unit(thread: Handle) -> Answer<Arc<Unit>> {
    with(thread, |thread: &mut Thread| {
        started(&thread.unit, Kind::DpaThread)
    })
}

/// Whether something that wakes the thread exists.
fn is_woken(thread: Handle) -> bool {
    any(|at: &Completion| at.queue.is_some() && at.thread == Some(thread))
        || any(|at: &Notification| at.unit.is_some() && at.thread == thread)
}

fn stop(thread: Handle) -> Answer {
    if is_woken(thread) {
        return Error::InUse.because("a completion or notification context wakes the thread");
    }
    let unit = with(thread, |thread: &mut Thread| {
        thread.is_running = false;
        Ok(thread.unit.take())
    })?;
    unit.iter()
        .for_each(|unit| machine().scheduler.retire(unit));
    Ok(())
}

calls! {
    fn doca_dpa_thread_create(dpa: Handle, thread: Given<Handle>) {
        let process = super::dpa::process(dpa)?;
        let (function, argument, local, unit, is_running) = (None, 0, 0, None, false);
        make(thread, Thread { process, function, argument, local, unit, is_running }).map(|_| ())
    }

    fn doca_dpa_thread_set_func_arg(thread: Handle, function: *const c_void, argument: u64) {
        setup(thread, |thread: &mut Thread| {
            thread.function = Some(crate::thread::entry(&thread.process, function)?);
            thread.argument = argument;
            Ok(())
        })
    }

    fn doca_dpa_thread_set_affinity(thread: Handle, affinity: Handle) {
        let unit = with(affinity, |affinity: &mut Affinity| Ok(affinity.unit))?;
        setup(thread, |_: &mut Thread| match unit {
            // All units are alike: workers run threads in turn.
            Some(_) => Ok(()),
            None => Error::InvalidValue.because("an affinity without an execution unit"),
        })
    }

    fn doca_dpa_thread_start(thread: Handle) {
        let (process, function, local) = setup(thread, |thread: &mut Thread| {
            let Some(function) = thread.function.clone() else {
                let why = "no function: doca_dpa_thread_set_func_arg comes first";
                return Error::BadState.because(why);
            };
            Ok((Arc::clone(&thread.process), function, thread.local))
        })?;
        super::dpa::lives(&process)?;
        let unit = crate::thread::spawn(&process, function, UnitKind::Handler, local)?;
        unit.own.doca.is_thread();
        with(thread, |thread: &mut Thread| {
            // ordering: the first event orders it.
            unit.argument.store(thread.argument, Ordering::Release);
            thread.unit = Some(unit);
            Ok(())
        })
    }

    fn doca_dpa_thread_run(thread: Handle) {
        let unit = unit(thread)?;
        super::dpa::lives(&unit.process)?;
        with(thread, |thread: &mut Thread| {
            if std::mem::replace(&mut thread.is_running, true) {
                return Error::BadState.because("the thread runs already");
            }
            Ok(())
        })?;
        crate::check::race::runs(&unit);
        unit.state.begin();
        machine().nic().runs();
        Ok(())
    }

    fn doca_dpa_thread_stop(thread: Handle) {
        unit(thread)?;
        stop(thread)
    }

    fn doca_dpa_thread_destroy(thread: Handle) {
        stop(thread)?;
        take(thread, |_: &mut Thread| Ok(())).map(|_| ())
    }

    fn doca_dpa_thread_group_create(dpa: Handle, threads: u32, group: Given<Handle>) {
        super::dpa::process(dpa)?;
        if !(1..=GROUP).contains(&threads) {
            return Error::InvalidValue.because(format!("{threads} threads: 1 to {GROUP}"));
        }
        make(group, Group { threads: vec![None; threads as usize], ranks: None }).map(|_| ())
    }

    fn doca_dpa_thread_group_set_thread(group: Handle, thread: Handle, rank: u32) {
        with(thread, |_: &mut Thread| Ok(()))?;
        setup(group, |group: &mut Group| {
            let threads = group.threads.len();
            match group.threads.get_mut(rank as usize) {
                Some(slot @ None) => *slot = Some(thread),
                Some(_) => return Error::AlreadyExist.because(format!("rank {rank} is taken")),
                None => {
                    let why = format!("rank {rank} of {threads} threads");
                    return Error::InvalidValue.because(why);
                }
            }
            Ok(())
        })
    }

    fn doca_dpa_thread_group_start(group: Handle) {
        let threads = setup(group, |group: &mut Group| Ok(group.threads.clone()))?;
        for (rank, thread) in threads.iter().enumerate() {
            let Some(thread) = thread else {
                return Error::BadState.because(format!("rank {rank} has no thread"));
            };
            unit(*thread)?.own.doca.is_ranked(rank as u32, threads.len() as u32);
        }
        with(group, |group: &mut Group| {
            group.ranks = Some(());
            Ok(())
        })
    }

    fn doca_dpa_thread_group_stop(group: Handle) {
        with(group, |group: &mut Group| {
            started(&group.ranks, Kind::Group)?;
            group.ranks = None;
            Ok(())
        })
    }

    fn doca_dpa_eu_affinity_create(dpa: Handle, affinity: Given<Handle>) {
        super::dpa::process(dpa)?;
        make(affinity, Affinity { unit: None }).map(|_| ())
    }

    fn doca_dpa_eu_affinity_set(affinity: Handle, unit: u32) {
        with(affinity, |affinity: &mut Affinity| {
            if unit >= UNITS {
                return Error::InvalidValue.because(format!("execution unit {unit} of {UNITS}"));
            }
            affinity.unit = Some(unit);
            Ok(())
        })
    }

    fn doca_dpa_eu_affinity_clear(affinity: Handle) {
        with(affinity, |affinity: &mut Affinity| {
            affinity.unit = None;
            Ok(())
        })
    }

    fn doca_dpa_eu_affinity_get(affinity: Handle, unit: Given<u32>) {
        let found = with(affinity, |affinity: &mut Affinity| Ok(affinity.unit))?;
        match found {
            Some(found) => Ok(put(unit, found)?),
            None => Error::NotFound.because("an affinity without an execution unit"),
        }
    }
}

destroyers! {
    doca_dpa_thread_group_destroy: Group;
    doca_dpa_eu_affinity_destroy: Affinity;
}

setters! {
    Thread {
        doca_dpa_thread_set_local_storage: u64 => local;
    }
}

/// The started queue of a completion context.
pub(super) fn queue(completion: Handle) -> Answer<Queue> {
    with(completion, |completion: &mut Completion| {
        started(&completion.queue, Kind::Completion)
    })
}

/// A completion queue in the heap, armed, whose completions wake the thread.
fn start(process: &Arc<Process>, log_depth: u8, unit: Option<Arc<Unit>>) -> Answer<Queue> {
    let depth = 1_u64 << log_depth;
    let ring = allocate(process, 64 * depth)?;
    let place = process.heap.place(ring, 64 * depth)?;
    for at in 0..depth {
        // SAFETY: a byte of the new block, of which no other knows.
        unsafe { place.at(64 * at + 63, 1).write(1) };
    }
    let record = allocate(process, 64)?;
    let block = allocate(process, 64)?;
    let record_place = process.heap.place(record, 8)?;
    let made = Cq::new(process.id, place, record_place, log_depth, unit.clone());
    let cqn = machine().nic().cqs.insert(|number| Cq { number, ..made });
    let Some(cqn) = cqn else {
        return Error::NoMemory.because("too many completion queues");
    };
    let words = [ring, record, u64::from(log_depth) << 32 | u64::from(cqn)];
    write(process, block, &words)?;
    unit.iter()
        .for_each(|unit| lock(&unit.own.doca.queues).push(cqn));
    Ok(Queue {
        cqn,
        blocks: [ring, record, block],
    })
}

fn stop_completion(completion: Handle) -> Answer {
    let (queue, process) = with(completion, |at: &mut Completion| {
        Ok((at.queue, Arc::clone(&at.process)))
    })?;
    let Some(queue) = queue else { return Ok(()) };
    let mut nic = machine().nic();
    if nic.cqs.get(queue.cqn).is_some_and(|cq| cq.users > 0) {
        return Error::InUse.because("queues complete here");
    }
    nic.look_last(|cq| cq.number == queue.cqn);
    let gone = nic.cqs.remove(queue.cqn);
    drop(nic);
    if let Some(unit) = gone.and_then(|cq| cq.unit) {
        lock(&unit.own.doca.queues).retain(|&cqn| cqn != queue.cqn);
    }
    for block in queue.blocks {
        process.heap.free(block)?;
    }
    with(completion, |completion: &mut Completion| {
        completion.queue = None;
        Ok(())
    })
}

calls! {
    fn doca_dpa_completion_create(dpa: Handle, depth: u32, completion: Given<Handle>) {
        let process = super::dpa::process(dpa)?;
        if !(1..=DEPTH).contains(&depth) {
            return Error::InvalidValue.because(format!("{depth} entries: 1 to {DEPTH}"));
        }
        let log_depth = depth.next_power_of_two().trailing_zeros() as u8;
        let (thread, queue) = (None, None);
        make(completion, Completion { process, dpa, log_depth, thread, queue }).map(|_| ())
    }

    fn doca_dpa_completion_set_thread(completion: Handle, thread: Handle) {
        let process = with(thread, |thread: &mut Thread| Ok(thread.process.id))?;
        setup(completion, |completion: &mut Completion| {
            if completion.process.id != process {
                return Error::InvalidValue.because("the thread is of another context");
            }
            completion.thread = Some(thread);
            Ok(())
        })
    }

    fn doca_dpa_completion_start(completion: Handle) {
        let (process, log_depth, thread) = setup(completion, |at: &mut Completion| {
            Ok((Arc::clone(&at.process), at.log_depth, at.thread))
        })?;
        let made = start(&process, log_depth, thread.map(unit).transpose()?)?;
        with(completion, |completion: &mut Completion| {
            completion.queue = Some(made);
            Ok(())
        })
    }

    fn doca_dpa_completion_stop(completion: Handle) {
        queue(completion)?;
        stop_completion(completion)
    }

    fn doca_dpa_completion_destroy(completion: Handle) {
        stop_completion(completion)?;
        take(completion, |_: &mut Completion| Ok(())).map(|_| ())
    }

    fn doca_dpa_completion_get_dpa_handle(completion: Handle, handle: Given<u64>) {
        Ok(put(handle, queue(completion)?.blocks[2])?)
    }

    fn doca_dpa_notification_completion_create(
        dpa: Handle, thread: Handle, notification: Given<Handle>
    ) {
        let process = super::dpa::process(dpa)?;
        let owner = with(thread, |thread: &mut Thread| Ok(thread.process.id))?;
        if owner != process.id {
            return Error::InvalidValue.because("the thread is of another context");
        }
        make(notification, Notification { thread, unit: None }).map(|_| ())
    }

    fn doca_dpa_notification_completion_start(notification: Handle) {
        let thread = setup(notification, |at: &mut Notification| Ok(at.thread))?;
        let unit = unit(thread)?;
        // ordering: a count for a message.
        unit.own.doca.notified.fetch_add(1, Ordering::Relaxed);
        with(notification, |notification: &mut Notification| {
            notification.unit = Some(unit);
            Ok(())
        })
    }

    fn doca_dpa_notification_completion_stop(notification: Handle) {
        let unit = with(notification, |at: &mut Notification| {
            let unit = started(&at.unit, Kind::Notification)?;
            at.unit = None;
            Ok(unit)
        })?;
        // ordering: as above.
        unit.own.doca.notified.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }

    fn doca_dpa_notification_completion_destroy(notification: Handle) {
        let gone = take(notification, |_: &mut Notification| Ok(()))?;
        if let Some(unit) = gone.unit {
            // ordering: as above.
            unit.own.doca.notified.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn doca_dpa_notification_completion_get_dpa_handle(notification: Handle, handle: Given<u64>) {
        notified(notification)?;
        Ok(put(handle, notification as u64)?)
    }
}

/// The thread that a started notification context wakes.
pub(super) fn notified(notification: Handle) -> Answer<Arc<Unit>> {
    with(notification, |notification: &mut Notification| {
        started(&notification.unit, Kind::Notification)
    })
}
