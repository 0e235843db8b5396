//! What device code calls: the calls behind the headers `doca_dpa_dev*.h`.

use super::event::{Change, Waiter, Word};
use crate::check::{Caller, Fault, device, with_place};
use crate::handle::Handle;
use crate::machine::{lock, machine};
use crate::thread::{Unit, UnitKind, at_place, current, wait_in_vain};
use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// What a DPA thread has of DOCA.
#[derive(Default)]
pub(crate) struct Own {
    is_thread: AtomicBool,
    rank: AtomicU32,
    count: AtomicU32,
    /// Completion queues that wake the thread, and how many notification contexts do.
    pub(super) queues: Mutex<Vec<u32>>,
    pub(super) notified: AtomicU32,
    /// The protection domain of the current device, once one is set.
    device: Cell<Option<usize>>,
    /// Send queues with entries that no doorbell has announced, and where each was written last.
    unflushed: RefCell<Vec<(u32, usize)>>,
    /// Whether it has updated an event before a fence.
    has_told: Cell<bool>,
    /// The window entity that the next external pointer gets, and the key of each.
    entity: Cell<usize>,
    keys: [Cell<Option<u32>>; 2],
}

impl Own {
    /// The unit is a DOCA thread.
    pub(super) fn is_thread(&self) {
        // ordering: set before the first event, which orders it.
        self.is_thread.store(true, Relaxed);
    }

    pub(super) fn is_ranked(&self, rank: u32, count: u32) {
        // ordering: as above.
        self.rank.store(rank, Relaxed);
        // ordering: as above.
        self.count.store(count, Relaxed);
    }

    /// Whether the current device is that of a work queue, if there is such a queue.
    fn has_device_of(&self, unit: &Unit, number: u32) -> bool {
        let domain = machine().nic().wqs.get(number).map(|wq| wq.pd);
        let device = self.device.get().unwrap_or(unit.process.pd);
        domain.is_none_or(|pd| pd == device)
    }

    /// The thread fences its writes.
    pub(crate) fn fences(&self, unit: &Unit) {
        if self.has_told.replace(false) {
            unit.process.doca.fences(unit);
        }
    }

    /// An activation, a call or a kernel ends.
    pub(crate) fn ends(&self, unit: &Unit) {
        self.device.set(None);
        let unflushed = std::mem::take(&mut *self.unflushed.borrow_mut());
        if let Some((number, place)) = unflushed.first() {
            let line = unit.process.image.source_line(place.wrapping_sub(1));
            let text = format_args!(
                "it ends with entries of send queue {number:#x} that were posted without FLUSH or \
                 a commit, at {line}"
            );
            device(Some(unit), Fault::NotFlushed, text);
        }
    }
}

pub(super) fn fault(unit: &Unit, caller: Caller, fault: Fault, text: std::fmt::Arguments<'_>) {
    at_place(unit, caller, || device(Some(unit), fault, text));
}

with_place! {
    "dpa_emulator_doca_end" => end, "rsi", "x1";
    "dpa_emulator_doca_device" => set_device, "rsi", "x1";
    "dpa_emulator_doca_notify" => notify, "rsi", "x1";
    "dpa_emulator_doca_event" => event, "rcx", "x3";
    "dpa_emulator_doca_wait" => wait, "rcx", "x3";
    "dpa_emulator_doca_external" => external, "rdx", "x2";
    "dpa_emulator_doca_posted" => posted, "rsi", "x1";
    "dpa_emulator_doca_flush" => flush, "rdx", "x2";
    "dpa_emulator_doca_wrong" => wrong, "rdx", "x2";
    "dpa_emulator_doca_refused" => super::refused::by_device, "rsi", "x1";
}

/// 0: reschedule, 2: finish, as the FlexIO calls count; 3: yield, for kernels.
extern "C" fn end(how: c_int, caller: Caller) {
    let Some(unit) = current() else { return };
    let is_thread = matches!(unit.kind, UnitKind::Handler);
    if is_thread == (how == 3) {
        let text = match is_thread {
            true => "a yield is for kernels, not for threads",
            false => "a reschedule or finish is for threads, not for kernels and calls",
        };
        return fault(unit, caller, Fault::NoSuchThread, format_args!("{text}"));
    }
    if how == 0 {
        is_woken(unit, caller);
    }
    crate::thread::end_here(how, caller);
}

/// Whether something wakes a thread that reschedules.
fn is_woken(unit: &Unit, caller: Caller) {
    let own = &unit.own.doca;
    // ordering: a count for a message; the host starts notifications before the thread.
    if own.notified.load(Relaxed) > 0 || unit.state.has_event() {
        return;
    }
    let queues = lock(&own.queues).clone();
    let nic = machine().nic();
    let armed = |cqn: &u32| nic.cqs.get(*cqn).is_some_and(|cq| cq.armed);
    if queues.iter().any(armed) {
        return;
    }
    drop(nic);
    let text = match queues.first() {
        Some(cqn) => format!(
            "it reschedules without a request for notification of its completion context (queue \
             {cqn:#x}), so nothing wakes it"
        ),
        None => "it reschedules, and no completion or notification context wakes it".to_owned(),
    };
    fault(unit, caller, Fault::NotArmed, format_args!("{text}"));
    // The NIC would say the same of it later.
    unit.first(Fault::Asleep as u8);
}

extern "C" fn set_device(handle: u64, caller: Caller) {
    let Some(unit) = current() else { return };
    match super::dpa::context(handle, unit.process.id) {
        Some((pd, _)) => unit.own.doca.device.set(Some(pd)),
        None => {
            let text = format_args!("{handle:#x} is no context of this process");
            fault(unit, caller, Fault::Foreign, text);
        }
    }
}

extern "C" fn notify(handle: u64, caller: Caller) {
    let Some(unit) = current() else { return };
    let Ok(other) = super::thread::notified(handle as Handle) else {
        let text = format_args!("{handle:#x} is no started notification context");
        return fault(unit, caller, Fault::NoSuchThread, text);
    };
    if unit.process.app.lacks_empty_completions() {
        let text = format_args!(
            "the program's attributes lack Generating_Empty_CQE, so this notification does nothing"
        );
        return fault(unit, caller, Fault::NotPermitted, text);
    }
    tells(unit, caller);
    crate::thread::activate_here(other.id, caller);
}

/// The thread tells others that its work is done. What it has written for the host, the host must
/// see; what it has written to the heap may be missing in copies of the host.
fn tells(unit: &Unit, caller: Caller) {
    let watch = &unit.own.watch;
    if watch.has_unfenced_for_host() {
        let text = format_args!(
            "an event or a notification without a window writeback after the host's memory was \
             written"
        );
        fault(unit, caller, Fault::NotWritten, text);
    }
    let writes = watch.unfenced_in_heap();
    if !writes.is_empty() {
        let own = machine().objects().units.get(unit.id).cloned();
        own.iter()
            .for_each(|own| unit.process.doca.tells(writes.clone(), own));
        unit.own.doca.has_told.set(true);
    }
    crate::check::race::host(unit, false);
}

fn word(unit: &Unit, handle: u64, caller: Caller) -> Option<Arc<Word>> {
    let found = super::event::word(handle as Handle).ok();
    if found.is_none() {
        let text = format_args!("{handle:#x} is no started sync event");
        fault(unit, caller, Fault::NoSuchQueue, text);
    }
    found
}

/// 0: get, 1: set, 2: add.
extern "C" fn event(handle: u64, how: c_int, value: u64, caller: Caller) -> u64 {
    let Some(unit) = current() else { return 0 };
    let Some(word) = word(unit, handle, caller) else {
        return 0;
    };
    unit.own.worked.set(true);
    if how == 0 {
        crate::check::race::host(unit, true);
        return word.value();
    }
    tells(unit, caller);
    word.update(if how == 1 {
        Change::Set(value)
    } else {
        Change::Add(value)
    });
    0
}

extern "C" fn wait(handle: u64, above: u64, mask: u64, caller: Caller) {
    let Some(unit) = current() else { return };
    // The word is looked up for each look: no count lives on the coroutine's stack.
    let Some(pointer) = word(unit, handle, caller) else {
        return;
    };
    let other = pointer.waits(Waiter::Thread(unit.id));
    drop(pointer);
    if let Some(other) = other {
        let text = format_args!("a sync event has more than one waiter: this thread, and {other}");
        fault(unit, caller, Fault::TwoWaiters, text);
    }
    loop {
        match super::event::word(handle as Handle).map(|word| word.value()) {
            Ok(value) if value & mask <= above => wait_in_vain(unit),
            _ => break,
        }
    }
    if let Ok(word) = super::event::word(handle as Handle) {
        word.has_waited(Waiter::Thread(unit.id));
    }
    crate::check::race::host(unit, true);
}

extern "C" fn external(key: u32, address: u64, caller: Caller) -> u64 {
    let Some(unit) = current() else { return 0 };
    // ordering: set before a thread of the process runs, whose first event orders it.
    let window = unit.process.doca.window.load(Relaxed);
    let domain = machine().nic().keys.domain(key);
    if domain.is_some_and(|pd| pd != unit.process.pd) {
        let text = format_args!(
            "an external pointer with key {key:#x} of another device: it needs a map of the base \
             context's device"
        );
        fault(unit, caller, Fault::Foreign, text);
        return 0;
    }
    if !address.is_multiple_of(64) {
        let text = format_args!("an external pointer to {address:#x}, not aligned to 64");
        fault(unit, caller, Fault::Unaligned, text);
    }
    let own = &unit.own.doca;
    let known = own.keys.iter().position(|known| known.get() == Some(key));
    at_place(unit, caller, || {
        let entity = known.unwrap_or_else(|| {
            let entity = own.entity.replace(1 - own.entity.get());
            own.keys[entity].set(Some(key));
            entity
        });
        if known.is_none() && crate::thread::window(entity, window, key) != 0 {
            own.keys[entity].set(None);
            return 0;
        }
        crate::thread::window_pointer(entity, address)
    })
}

/// An entry was posted that no doorbell announces yet.
extern "C" fn posted(number: u32, caller: Caller) {
    let Some(unit) = current() else { return };
    let mut unflushed = unit.own.doca.unflushed.borrow_mut();
    match unflushed.iter_mut().find(|(other, _)| *other == number) {
        Some((_, place)) => *place = caller.place(),
        None => unflushed.push((number, caller.place())),
    }
}

/// Rings the doorbell of a send queue, of which the current device must be the owner.
extern "C" fn flush(index: u32, number: u32, caller: Caller) {
    let Some(unit) = current() else { return };
    let own = &unit.own.doca;
    own.unflushed
        .borrow_mut()
        .retain(|(other, _)| *other != number);
    // ordering: for a message; set before a thread uses the extended context.
    if unit.process.doca.is_extended.load(Relaxed) && !own.has_device_of(unit, number) {
        let text = format_args!(
            "send queue {number:#x} is not of the current device: doca_dpa_dev_device_set comes \
             first"
        );
        fault(unit, caller, Fault::Foreign, text);
    }
    crate::thread::ring_here(index, number, caller);
}

/// What the headers find.
extern "C" fn wrong(what: c_int, value: u64, caller: Caller) {
    let Some(unit) = current() else { return };
    let (kind, text) = match what {
        0 => (
            Fault::AfterAck,
            "an element is read after its ack".to_owned(),
        ),
        1 => (Fault::BadEntry, format!("no connection {value}")),
        2 => (
            Fault::BadEntry,
            format!("{value} buffers are more than the queue takes"),
        ),
        _ => (
            Fault::BadEntry,
            format!("an ack of {value}, more than were read"),
        ),
    };
    fault(unit, caller, kind, format_args!("{text}"));
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_doca_rank() -> u32 {
    // ordering: set before the first event, which orders it.
    current().map_or(0, |unit| unit.own.doca.rank.load(Relaxed))
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_doca_count() -> u32 {
    // ordering: as above.
    current().map_or(1, |unit| unit.own.doca.count.load(Relaxed).max(1))
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_doca_log(level: u32, text: *const u8, bytes: u64) {
    let Some(unit) = current() else { return };
    // ordering: as for the window (`external`).
    if level <= unit.process.doca.level.load(Relaxed) {
        // SAFETY: the header passes its own buffer, with that many bytes.
        let text = unsafe { std::slice::from_raw_parts(text, bytes as usize) };
        super::info::say(format_args!("{}", String::from_utf8_lossy(text)));
    }
}
