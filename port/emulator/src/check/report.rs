//! The lines.

use crate::thread::Unit;
use std::fmt;
use std::io::Write;

pub(crate) fn line(text: fmt::Arguments<'_>) {
    // One write for the whole line, so that lines of several threads do not mix. Nobody is left
    // to hear that standard error is closed.
    let _ = std::io::stderr().write_all(format!("dpa: {text}\n").as_bytes());
}

/// What a device part can do wrong. A thread reports each kind once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Fault {
    NoSuchQueue,
    BadEntry,
    Key,
    Overrun,
    Window,
    Returned,
    LostEvent,
    NoSuchThread,
    Memory,
    HostMemory,
    Unaligned,
    Stack,
    NoFence,
    OldIndex,
    Watchdog,
    Stale,
    NotWritten,
    ArmedTwice,
    NoBuffer,
    DeadFrame,
    Asleep,
    Foreign,
    Ahead,
    TakesNone,
    TooManyBuffers,
    Unwritten,
    NotPublished,
    NotFlushed,
    NotArmed,
    NotPermitted,
    TwoWaiters,
    AfterAck,
    NotReposted,
}

/// The source line of the call that the thread makes on this host thread.
fn here(unit: &Unit) -> Option<String> {
    let current = crate::thread::current()?;
    let place = current.own.place.get();
    let is_it = std::ptr::eq(current, unit) && place != 0;
    is_it.then(|| unit.process.image.source_line(place.wrapping_sub(1)))
}

/// Reports a fault of a DPA thread, or of the NIC on behalf of nobody.
pub(crate) fn device(unit: Option<&Unit>, fault: Fault, text: fmt::Arguments<'_>) {
    let Some(unit) = unit else {
        return line(text);
    };
    if unit.first(fault as u8) {
        match here(unit) {
            Some(line) => of(unit, format_args!("{text}, at {line}")),
            None => of(unit, text),
        }
    }
}

/// A line of a DPA thread.
pub(super) fn of(unit: &Unit, text: fmt::Arguments<'_>) {
    let (process, activation) = (unit.process.id, unit.activations());
    let name = &unit.name;
    line(format_args!(
        "process {process}, thread {} ({name}), activation {activation}: {text}",
        unit.id
    ));
}
