//! What device code calls: ends of activations, clocks, fences, polls, doorbells, windows.

use super::unit::{POLLS, Unit};
use super::worker::{Pause, current, pause, wants_turn};
use crate::check::{Fault, announce, device};
use crate::machine::machine;
use crate::process::ended;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
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

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_context() -> *const c_void {
    current().map_or(std::ptr::null(), |unit| std::ptr::from_ref(unit).cast())
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_thread_id() -> u32 {
    current().map_or(u32::MAX, |unit| unit.id)
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_local_storage() -> u64 {
    current().map_or(0, |unit| unit.local)
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_errno() -> u64 {
    current().map_or(0, |unit| unit.own.errno.replace(0))
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_end(how: c_int) {
    let Some(unit) = current() else { return };
    if how < 3 {
        crate::check::ends(unit);
    }
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

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_end_process(code: u32) {
    let Some(unit) = current() else { return };
    if code >= ended::USER {
        let name = &unit.name;
        let id = unit.process.id;
        crate::check::line(format_args!("process {id}: {name} ends it with code {code}"));
    }
    unit.process.end(code);
    pause(unit, Pause::Finished);
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_activate(id: u32) {
    let Some(unit) = current() else { return };
    let other = machine().objects().units.get(id).cloned();
    match other.filter(|other| other.process.id == unit.process.id) {
        Some(other) => machine().scheduler.wake(&other),
        None => device(Some(unit), Fault::NoSuchThread, format_args!("no thread {id} to activate")),
    }
}

/// A wait for others: gives them a turn.
#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_spin() {
    if let Some(unit) = current() {
        pause(unit, Pause::Vain);
    }
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
fn works(unit: &Unit) {
    unit.own.spins.set(0);
    if wants_turn() {
        pause(unit, Pause::Turn);
    }
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_fence(space: c_int, before: c_int, after: c_int) {
    let Some(unit) = current() else { return };
    for (host, spaces) in [(false, MEMORY), (true, WINDOWS)] {
        if space & spaces != 0 && before & WRITES != 0 {
            unit.own.watch.fence(host);
        }
    }
    if space & WINDOWS != 0 && before & after & READS != 0 {
        unit.own.watch.invalidate();
    }
    maybe_waiting(unit);
    if wants_turn() {
        pause(unit, Pause::Turn);
    }
}

/// Nanoseconds since the first look.
pub(crate) fn nanoseconds() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_cycles() -> u64 {
    if let Some(unit) = current() {
        maybe_waiting(unit);
    }
    nanoseconds() * CYCLES_IN_10_NS / 10
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_time() -> u64 {
    nanoseconds() / 1000
}

/// Reads a byte with an owner bit. The same byte twice means that nothing has come.
#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_poll(owner: *const AtomicU8) -> u8 {
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
        return found;
    }
    pause(unit, Pause::Vain);
    let found = read();
    cell.set((owner as usize, found));
    found
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_ring(index: u32, number: u32) {
    let Some(unit) = current() else { return };
    let mut nic = machine().nic();
    if unit.own.watch.has_unfenced() {
        announce(unit, number, &nic.announced(index as u16, number));
    }
    nic.ring(Some(unit), index as u16, number);
    drop(nic);
    works(unit);
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_arm(index: u32, cqn: u32) {
    let Some(unit) = current() else { return };
    machine().nic().arm(Some(unit), index & 0xff_ffff, cqn);
    works(unit);
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_zero_completion(cqn: u32) {
    let Some(unit) = current() else { return };
    machine().nic().zero_completion(Some(unit), cqn);
    works(unit);
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_event_index(_index: u32, eqn: u32) {
    let Some(unit) = current() else { return };
    let text = format_args!("event queue {eqn} does not exist: event queues are not emulated");
    device(Some(unit), Fault::NoSuchQueue, text);
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_window(entity: c_int, windows: c_int, window: u32, mkey: u32) -> c_int {
    let Some(unit) = current() else { return 1 };
    let Some(slot) = unit.own.windows.get(entity as usize) else {
        device(Some(unit), Fault::Window, format_args!("window entity {entity} does not exist"));
        return 1;
    };
    let owner = machine().objects().windows.get(window).copied();
    if windows != 0 && owner != Some(unit.process.id) {
        device(Some(unit), Fault::Window, format_args!("window {window} is none of the process"));
        return 1;
    }
    let Some(memory) = machine().nic().keys.memory(mkey) else {
        device(Some(unit), Fault::Key, format_args!("key {mkey:#x} of a window does not exist"));
        return 1;
    };
    slot.set(Some(mkey));
    unit.own.watch.configure(entity as usize, memory);
    0
}

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_window_pointer(entity: c_int, address: u64, bytes: u64) -> u64 {
    let Some(unit) = current() else { return 0 };
    let key = unit.own.windows.get(entity as usize).and_then(std::cell::Cell::get);
    let Some(key) = key else {
        device(Some(unit), Fault::Window, format_args!("window {entity} has no key yet"));
        return 0;
    };
    match machine().nic().keys.reach(key, address, bytes, 0) {
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

#[unsafe(no_mangle)]
extern "C" fn dpa_emulator_message(stream: c_int, level: c_int, text: *const u8, bytes: u64) {
    let Some(unit) = current() else { return };
    // SAFETY: the header passes its own buffer, with that many bytes.
    let text = unsafe { std::slice::from_raw_parts(text, bytes as usize) };
    unit.process.message(stream, level as u8, text);
}
