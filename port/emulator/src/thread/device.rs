//! What device code calls: ends of activations, clocks, fences, polls, doorbells, windows.

use super::unit::{POLLS, Unit};
use super::worker::{Pause, current, pause, wants_turn};
use crate::check::{Caller, Fault, announce, device, race, with_place};
use crate::machine::machine;
use crate::model::DOORBELL;
use crate::process::ended;
use crate::queue::let_go;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering, fence};
use std::time::Instant;

/// Cycles of the DPA's clock in a nanosecond, times ten.
const CYCLES_IN_10_NS: u64 = 18;
/// Spaces of fences that order the DPA's memory and windows, and accesses that fences name.
const MEMORY: c_int = 3;
const WINDOWS: c_int = 4;
const READS: c_int = 1;
const WRITES: c_int = 2;
/// Fences and looks at the clock in a row that count as waiting.
const SPINS: u32 = 64;

/// Calls of device code on a DPA thread. One with a result names its value for other code.
macro_rules! device_calls {
    ($(
        $(#[$about:meta])*
        fn $call:ident($unit:ident $(, $name:ident: $kind:ty)*)
            $(-> $answer:ty = $none:expr =>)? $work:block
    )+) => {$(
        $(#[$about])*
        #[unsafe(no_mangle)]
        extern "C" fn $call($($name: $kind),*) $(-> $answer)? {
            let Some($unit) = current() else { return $($none)? };
            $work
        }
    )+};
}

device_calls! {
    fn dpa_emulator_context(unit) -> *const c_void = std::ptr::null() => {
        std::ptr::from_ref(unit).cast()
    }

    fn dpa_emulator_thread_id(unit) -> u32 = u32::MAX => { unit.id }

    fn dpa_emulator_local_storage(unit) -> u64 = 0 => { unit.local }

    fn dpa_emulator_end_process(unit, code: u32) {
        if code >= ended::USER {
            let name = &unit.name;
            let id = unit.process.id;
            let text = format_args!("process {id}: {name} ends it with code {code}");
            crate::check::error(Fault::Ended, text);
        }
        unit.process.end(code);
        pause(unit, Pause::Finished);
    }

    /// A wait for others: gives them a turn.
    fn dpa_emulator_spin(unit) { pause(unit, Pause::Vain); }
}

/// A fence or a look at the clock. Code that does nothing else waits for another handler.
fn maybe_waiting(unit: &Unit) {
    let spins = unit.own.spins.get() + 1;
    unit.own.spins.set(if spins < SPINS { spins } else { 0 });
    if spins >= SPINS {
        pause(unit, Pause::Vain);
    }
}

/// Accesses after which others get a turn, so that code that waits for several words shares its
/// worker.
const ACCESSES: u32 = 1 << 12;

/// Device code accessed memory.
pub(crate) fn accessed(unit: &Unit) {
    let accesses = unit.own.accesses.get() + 1;
    unit.own.accesses.set(accesses % ACCESSES);
    if accesses == ACCESSES {
        pause(unit, Pause::Turn);
    }
}

/// Work: no wait. A place where the seed may choose another thread.
fn doorbell(unit: &Unit) {
    unit.own.worked.set(true);
    unit.own.spins.set(0);
    unit.own.time.add(DOORBELL);
    if wants_turn() {
        pause(unit, Pause::Turn);
    }
}

device_calls! {
    fn dpa_emulator_fence(unit, space: c_int, before: c_int, after: c_int) {
        // As strong as the weakest order of C that orders them.
        // ordering: device code's own fence.
        if before & WRITES != 0 && after & READS != 0 {
            fence(Ordering::SeqCst);
        } else {
            fence(Ordering::AcqRel);
        }
        if space & MEMORY != 0 {
            race::fence(unit, before & READS != 0, before & after & WRITES != 0);
        }
        if space & WINDOWS != 0 && before & WRITES != 0 && unit.own.watch.has_unfenced_for_host() {
            race::host(unit, false);
        }
        for (host, spaces) in [(false, MEMORY), (true, WINDOWS)] {
            if space & spaces != 0 && before & WRITES != 0 {
                unit.own.watch.fence(host);
            }
        }
        if space & MEMORY != 0 && before & WRITES != 0 {
            unit.own.doca.fences(unit);
        }
        if space & WINDOWS != 0 && before & after & READS != 0 {
            unit.own.watch.invalidate();
        }
        maybe_waiting(unit);
        if wants_turn() {
            pause(unit, Pause::Turn);
        }
    }
}

/// Nanoseconds since the first look.
pub(crate) fn nanoseconds() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// What clocks of device code show: this machine's time, or the model's.
fn clock() -> u64 {
    let unit = current().filter(|_| crate::model::is_on());
    unit.map_or_else(nanoseconds, |unit| unit.own.time.look())
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_cycles() -> u64 {
    if let Some(unit) = current() {
        maybe_waiting(unit);
    }
    clock() * CYCLES_IN_10_NS / 10
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_time() -> u64 {
    clock() / 1000
}

/// Reads a byte with an owner bit. The same byte twice means that nothing has come.
#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_poll(owner: *const AtomicU8) -> u8 {
    // ordering: the acquire of the owner byte that `push` releases.
    let read = || {
        // SAFETY: the address of a queue's entry, by the contract of the API. A wrong one is a
        // fault of device code, which the handler of signals attributes to it.
        unsafe { (*owner).load(Ordering::Acquire) }
    };
    let found = read();
    let Some(unit) = current() else { return found };
    let cell = &unit.own.polls[(owner as usize >> 6) % POLLS];
    if cell.replace((owner as usize, found)) != (owner as usize, found) {
        unit.own.spins.set(0);
        unit.own.worked.set(true);
        unit.own.time.access(owner as usize, 1, false);
        race::polls(unit, owner as usize);
        return found;
    }
    pause(unit, Pause::Vain);
    let found = read();
    if cell.replace((owner as usize, found)) == (owner as usize, found) {
        unit.polls_in_vain(owner as usize);
    }
    race::polls(unit, owner as usize);
    found
}

with_place! {
    "dpa_emulator_end" => end, "rsi", "x1";
    "dpa_emulator_activate" => activate, "rsi", "x1";
    "dpa_emulator_ring" => ring, "rdx", "x2";
    "dpa_emulator_arm" => arm, "rdx", "x2";
    "dpa_emulator_zero_completion" => zero_completion, "rsi", "x1";
    "dpa_emulator_event_index" => event_index, "rdx", "x2";
    "dpa_emulator_outbox" => outbox, "rsi", "x1";
}

/// Does a call's work. Faults of the thread that are found meanwhile name the call's place.
pub(crate) fn at_place<T>(unit: &Unit, caller: Caller, work: impl FnOnce() -> T) -> T {
    unit.own.place.set(caller.place());
    let result = work();
    unit.own.place.set(0);
    result
}

pub(crate) extern "C" fn end(how: c_int, caller: Caller) {
    let Some(unit) = current() else { return };
    if how < 3 {
        crate::check::ends(unit);
        race::ended(unit);
    }
    unit.sleeps_at(caller.place());
    pause(
        unit,
        match how {
            0 => Pause::Rescheduled,
            1 => Pause::Again,
            2 => Pause::Finished,
            3 => Pause::Waits,
            _ => Pause::Turn,
        },
    );
}

pub(crate) extern "C" fn activate(id: u32, caller: Caller) {
    let Some(unit) = current() else { return };
    let other = machine().objects().units.get(id).cloned();
    let Some(other) = other.filter(|other| other.process.id == unit.process.id) else {
        let text = format_args!("no thread {id} to activate");
        return at_place(unit, caller, || {
            device(Some(unit), Fault::NoSuchThread, text)
        });
    };
    if other.state.is_new() {
        let name = &other.name;
        let text = format_args!(
            "thread {id} ({name}) is activated before event_handler_run, and this event is lost"
        );
        return at_place(unit, caller, || device(Some(unit), Fault::LostEvent, text));
    }
    other.is_activated();
    race::wakes(unit, &other);
    machine().scheduler.wake(&other);
}

pub(crate) extern "C" fn ring(index: u32, number: u32, caller: Caller) {
    let Some(unit) = current() else { return };
    let mut nic = machine().nic();
    race::rings(unit, number, nic.goes_out(number));
    if unit.own.watch.has_unfenced() {
        announce(unit, number, &nic.announced(index as u16, number));
    }
    at_place(unit, caller, || nic.ring(Some(unit), index as u16, number));
    let_go(nic);
    doorbell(unit);
}

extern "C" fn arm(index: u32, cqn: u32, caller: Caller) {
    let Some(unit) = current() else { return };
    at_place(unit, caller, || {
        machine().nic().arm(Some(unit), index & 0xff_ffff, cqn)
    });
    doorbell(unit);
}

extern "C" fn zero_completion(cqn: u32, caller: Caller) {
    let Some(unit) = current() else { return };
    race::signals(unit, cqn);
    at_place(unit, caller, || {
        machine().nic().zero_completion(Some(unit), cqn)
    });
    doorbell(unit);
}

/// 0 if the outbox, whose number is that of its process, is the thread's.
extern "C" fn outbox(number: u32, caller: Caller) -> c_int {
    let Some(unit) = current() else { return 0 };
    if number == unit.process.id {
        return 0;
    }
    let text = format_args!("outbox {number} is none of the process");
    at_place(unit, caller, || device(Some(unit), Fault::Foreign, text));
    1
}

extern "C" fn event_index(_index: u32, eqn: u32, caller: Caller) {
    let Some(unit) = current() else { return };
    let text = format_args!("event queue {eqn} does not exist: event queues are not emulated");
    at_place(unit, caller, || {
        device(Some(unit), Fault::NoSuchQueue, text)
    });
}

device_calls! {
    fn dpa_emulator_window(
        unit, entity: c_int, windows: c_int, window: u32, mkey: u32
    ) -> c_int = 1 => {
        let refuse = |fault, text: std::fmt::Arguments<'_>| {
            device(Some(unit), fault, text);
            1
        };
        let Some(slot) = unit.own.windows.get(entity as usize) else {
            let text = format_args!("window entity {entity} does not exist");
            return refuse(Fault::Window, text);
        };
        let owner = machine().objects().windows.get(window).copied();
        if windows != 0 && owner.is_none_or(|(process, _)| process != unit.process.id) {
            return refuse(Fault::Window, format_args!("window {window} is none of the process"));
        }
        if windows == 0 && unit.own.watch.has_lost_window(entity as usize) {
            return refuse(Fault::Window, format_args!("window {entity}: it was destroyed"));
        }
        let Some(memory) = machine().nic().keys.memory(mkey) else {
            return refuse(Fault::Key, format_args!("key {mkey:#x} of a window does not exist"));
        };
        if windows != 0 && machine().nic().keys.domain(mkey) != owner.map(|(_, pd)| pd) {
            let why = "is of another protection domain than the window";
            return refuse(Fault::Key, format_args!("key {mkey:#x} {why}"));
        }
        slot.set(Some(mkey));
        let window = (windows != 0).then_some(window);
        unit.own.watch.configure(entity as usize, window, mkey, memory);
        0
    }

    fn dpa_emulator_window_pointer(unit, entity: c_int, address: u64, bytes: u64) -> u64 = 0 => {
        let key = unit.own.windows.get(entity as usize).and_then(std::cell::Cell::get);
        let Some(key) = key else {
            device(Some(unit), Fault::Window, format_args!("window {entity} has no key yet"));
            return 0;
        };
        if unit.own.watch.has_lost_window(entity as usize) {
            device(Some(unit), Fault::Window, format_args!("window {entity}: it was destroyed"));
            return 0;
        }
        let reached = machine().nic().keys.reach(key, address, bytes, 0);
        match reached {
            Ok(pointer) => {
                unit.own.watch.acquire(entity as usize);
                pointer as u64
            }
            Err(why) => {
                device(Some(unit), Fault::Window, format_args!("window {entity}: {why}"));
                0
            }
        }
    }

    fn dpa_emulator_message(unit, stream: c_int, level: c_int, text: *const u8, bytes: u64) {
        // SAFETY: the header passes its own buffer, with that many bytes.
        let text = unsafe { std::slice::from_raw_parts(text, bytes as usize) };
        unit.process.message(stream, level as u8, text);
    }
}

/// Shows memory of a key in a window entity of the running thread. 0 if it can.
pub(crate) fn window(entity: usize, window: u32, key: u32) -> c_int {
    dpa_emulator_window(entity as c_int, 1, window, key)
}

/// A pointer of the running thread into such a window, or 0.
pub(crate) fn window_pointer(entity: usize, address: u64) -> u64 {
    dpa_emulator_window_pointer(entity as c_int, address, 1)
}
