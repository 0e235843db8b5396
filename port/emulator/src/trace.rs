//! A timeline for <https://ui.perfetto.dev>: activations and doorbells of each thread, completions
//! of each queue. The file is a complete JSON text after each event.

use crate::machine::lock;
use crate::thread::{Unit, nanoseconds};
use std::fmt::Arguments;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{LazyLock, Mutex};

/// The process that stands for the NIC: processes of the DPA count from 1.
const NIC: u32 = 0;

struct Timeline {
    /// None after an error.
    file: Option<File>,
    /// Bytes of the text, but for its end.
    bytes: u64,
}

static TIMELINE: LazyLock<Option<Mutex<Timeline>>> = LazyLock::new(|| {
    let path = crate::environment::text("DPA_TRACE")?;
    match File::create(&path) {
        Ok(file) => Some(Mutex::new(Timeline {
            file: Some(file),
            bytes: 0,
        })),
        Err(error) => crate::environment::refuse(format_args!("DPA_TRACE: {path}: {error}")),
    }
});

/// Opens the file, if there is to be one. A program whose file cannot be made ends.
pub(crate) fn open() {
    LazyLock::force(&TIMELINE);
}

#[inline]
fn is_on() -> bool {
    TIMELINE.is_some()
}

/// A line of the timeline: a thread of a process, or a completion queue of the NIC.
#[derive(Clone, Copy)]
struct Track {
    process: u32,
    number: u32,
}

/// Adds an event: a phase of the format, its track, a name, and more members.
fn event(phase: char, track: Track, name: Arguments<'_>, more: Arguments<'_>) {
    let Track { process, number } = track;
    let Some(timeline) = &*TIMELINE else { return };
    let mut timeline = lock(timeline);
    let begin = if timeline.bytes == 0 { "[" } else { "," };
    let time = nanoseconds() as f64 / 1e3;
    let mut text = format!(
        "{begin}\n{{\"ph\":\"{phase}\",\"ts\":{time:.3},\"pid\":{process},\"tid\":{number},\
         \"name\":\"{name}\"{more}}}"
    );
    let bytes = text.len() as u64;
    text += "\n]\n";
    let Some(file) = &timeline.file else { return };
    match file.write_all_at(text.as_bytes(), timeline.bytes) {
        Ok(()) => timeline.bytes += bytes,
        Err(error) => {
            crate::check::note(format_args!("DPA_TRACE: {error}"));
            timeline.file = None;
        }
    }
}

fn track(unit: &Unit) -> Track {
    Track {
        process: unit.process.id,
        number: unit.id,
    }
}

/// A thread begins an activation.
#[inline]
pub(crate) fn begins(unit: &Unit) {
    if !is_on() {
        return;
    }
    if unit.activations() == 1 {
        let special = |letter: char| letter.is_control() || "\"\\".contains(letter);
        let name = unit.name.replace(special, "_");
        let more = format_args!(",\"args\":{{\"name\":\"{name}\"}}");
        event('M', track(unit), format_args!("thread_name"), more);
    }
    event(
        'B',
        track(unit),
        format_args!("activation {}", unit.activations()),
        format_args!(""),
    );
}

/// The thread's activation is over.
#[inline]
pub(crate) fn ends(unit: &Unit) {
    if is_on() {
        let name = format_args!("activation {}", unit.activations());
        event('E', track(unit), name, format_args!(""));
    }
}

/// A thread rings, arms or wakes a queue.
#[inline]
pub(crate) fn doorbell(unit: Option<&Unit>, what: &str, number: u32, index: u32) {
    if let Some(unit) = unit.filter(|_| is_on()) {
        let more = format_args!(",\"s\":\"t\",\"args\":{{\"index\":{index}}}");
        event('i', track(unit), format_args!("{what} {number:#x}"), more);
    }
}

/// The NIC writes a completion.
#[inline]
pub(crate) fn completion(cqn: u32, opcode: u8, bytes: u32) {
    if is_on() {
        let more = format_args!(",\"s\":\"t\",\"args\":{{\"opcode\":{opcode},\"bytes\":{bytes}}}");
        event(
            'i',
            Track {
                process: NIC,
                number: cqn,
            },
            format_args!("completion of queue {cqn:#x}"),
            more,
        );
    }
}
