//! The lines.

use super::outcome;
use crate::thread::Unit;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// A line that reports no error.
pub(crate) fn note(text: fmt::Arguments<'_>) {
    outcome::write(text);
    outcome::noted();
}

/// A line that a program gets at most once, by its flag.
pub(crate) fn note_once(said: &AtomicBool, text: fmt::Arguments<'_>) {
    // ordering: said once; no memory goes with it.
    if !said.swap(true, Ordering::Relaxed) {
        note(text);
    }
}

/// The line of an error.
pub(crate) fn error(fault: Fault, text: fmt::Arguments<'_>) {
    outcome::write(text);
    outcome::failed(fault);
}

/// Kinds of errors, and their names in the summary.
macro_rules! faults {
    ($($fault:ident => $name:literal,)+) => {
        /// What a program can do wrong. A thread reports each kind once.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Fault {
            $($fault,)+
        }

        pub(super) const NAMES: &[&str] = &[$($name,)+];
    };
}

faults! {
    NoSuchQueue => "no-such-queue",
    BadEntry => "bad-entry",
    Key => "wrong-key",
    Overrun => "overrun",
    Window => "window",
    Returned => "returned",
    LostEvent => "lost-event",
    NoSuchThread => "no-such-thread",
    Memory => "memory",
    HostMemory => "host-memory",
    Unaligned => "unaligned",
    Stack => "stack",
    NoFence => "no-fence",
    OldIndex => "old-index",
    Watchdog => "long-activation",
    Stale => "stale-read",
    NotWritten => "no-writeback",
    ArmedTwice => "armed-twice",
    NoBuffer => "no-buffer",
    DeadFrame => "dead-frame",
    Asleep => "asleep",
    Foreign => "foreign",
    Ahead => "ahead",
    TakesNone => "takes-none",
    TooManyBuffers => "too-many-buffers",
    Race => "data-race",
    Call => "refused-call",
    Crash => "crash",
    Ended => "ended",
    Unwritten => "unwritten",
    NotPublished => "not-published",
    NotFlushed => "not-flushed",
    NotArmed => "not-armed",
    NotPermitted => "not-permitted",
    TwoWaiters => "two-waiters",
    AfterAck => "after-ack",
    NotReposted => "not-reposted",
}
// A thread remembers in 64 bits which kinds it has reported.
const _: () = assert!(NAMES.len() <= 64);

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
        return error(fault, text);
    };
    if unit.first(fault as u8) {
        match here(unit) {
            Some(line) => of(unit, fault, format_args!("{text}, at {line}")),
            None => of(unit, fault, text),
        }
    }
}

/// The line of an error of a DPA thread.
pub(super) fn of(unit: &Unit, fault: Fault, text: fmt::Arguments<'_>) {
    let (process, activation) = (unit.process.id, unit.activations());
    let name = &unit.name;
    let text = format_args!(
        "process {process}, thread {} ({name}), activation {activation}: {text}",
        unit.id
    );
    error(fault, text);
}

#[cfg(test)]
mod tests {
    use super::NAMES;

    #[test]
    fn the_pages_have_each_kind_of_error() {
        let page = concat!(
            include_str!("../../../../docs/flexio.md"),
            include_str!("../../../../docs/doca.md")
        );
        for name in NAMES {
            let rows = page.lines().filter(|line| line.starts_with("| "));
            let has_name = |row: &&str| row.contains(&format!("`{name}`"));
            assert!(rows.clone().any(|row| has_name(&row)), "{name}");
        }
    }
}
