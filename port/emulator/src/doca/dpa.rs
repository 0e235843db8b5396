//! Contexts: one DPA process for a PF, and contexts of other functions on it. Memory of the heap.

use super::info::{Device, PF};
use super::{Answer, Error, Wrong, any, calls, make, setters, started, take, with};
use crate::handle::{Handle, Kind};
use crate::machine::{lock, machine};
use crate::process::{App, Process, ended};
use crate::status::{Given, put};
use crate::thread::Unit;
use std::ffi::{c_char, c_int};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Execution units: one that programs do not get, and those of a BlueField-3 that they do.
pub(super) const UNITS: u32 = 191;
/// Seconds that a kernel may run, as those of the watchdog.
const RUN_TIME_S: u64 = 12;
/// Ranges that were written without a fence before an event, which a process remembers.
const RANGES: usize = 1 << 12;

/// A context. The extended ones name their base.
pub(super) struct Dpa {
    pub(super) device: Handle,
    pub(super) pd: usize,
    base: Option<Handle>,
    app: Option<Arc<App>>,
    level: u32,
    pub(super) process: Option<Arc<Process>>,
    /// The window through which device code sees memory of the host.
    window: u32,
}

// SAFETY: handles are numbers in the shape of pointers.
unsafe impl Send for Dpa {}

/// What a process has of DOCA.
#[derive(Default)]
pub(crate) struct Shared {
    /// Levels of device logs that are printed, and the process's window.
    pub(super) level: AtomicU32,
    pub(super) window: AtomicU32,
    /// Whether contexts of other devices are on the process.
    pub(super) is_extended: AtomicBool,
    /// Threads that serve kernels and are free.
    pub(super) free: Mutex<Vec<Arc<Unit>>>,
    /// What threads wrote and had not fenced when they updated an event.
    unfenced: Mutex<Vec<Unfenced>>,
}

/// Memory that a thread wrote, and the instruction that did.
#[derive(Clone)]
struct Unfenced {
    range: Range<usize>,
    place: usize,
    by: Arc<Unit>,
}

impl Shared {
    /// The process ends: nothing here holds its threads, which hold it.
    pub(crate) fn clear(&self) {
        lock(&self.free).clear();
        lock(&self.unfenced).clear();
    }

    /// A thread tells others that its work is done, though it has not fenced these writes.
    pub(super) fn tells(&self, writes: Vec<(Range<usize>, usize)>, unit: &Arc<Unit>) {
        let mut unfenced = lock(&self.unfenced);
        for (range, place) in writes {
            if unfenced.len() < RANGES {
                let by = Arc::clone(unit);
                unfenced.push(Unfenced { range, place, by });
            }
        }
    }

    /// A thread fences: the host's later copies see what it wrote.
    pub(super) fn fences(&self, unit: &Unit) {
        lock(&self.unfenced).retain(|write| write.by.id != unit.id);
    }

    /// The host copies this range.
    fn reads(&self, process: &Process, range: &Range<usize>) {
        let overlaps =
            |write: &&Unfenced| write.range.start < range.end && range.start < write.range.end;
        let found = lock(&self.unfenced).iter().find(overlaps).cloned();
        if let Some(Unfenced { range, place, by }) = found {
            let line = process.image.source_line(place.wrapping_sub(1));
            let text = format_args!(
                "the host copies memory at {:#x} that the thread had not fenced when it updated an \
                 event, so the copy may be old, written at {line}",
                range.start
            );
            crate::check::device(Some(&by), crate::check::Fault::NotPublished, text);
        }
    }
}

/// The process of a started context, if it has not ended.
pub(super) fn process(dpa: Handle) -> Answer<Arc<Process>> {
    let process = with(dpa, |dpa: &mut Dpa| started(&dpa.process, Kind::Dpa))?;
    lives(&process)?;
    Ok(process)
}

/// Whether a process has not ended.
pub(super) fn lives(process: &Process) -> Answer {
    match process.state() {
        ended::NOT => Ok(()),
        _ => Error::DeviceFatal.because("the DPA's process has ended"),
    }
}

/// What it answers stays: the context can only be destroyed. It is a question, and so without a
/// line.
#[unsafe(no_mangle)]
extern "C" fn doca_dpa_peek_at_last_error(dpa: Handle) -> i32 {
    process(dpa).map_or_else(|Wrong(error, _)| error as i32, |_| 0)
}

/// The process and the protection domain of a started context.
pub(super) fn domain(dpa: Handle) -> Answer<(Arc<Process>, usize)> {
    let process = process(dpa)?;
    let pd = with(dpa, |dpa: &mut Dpa| Ok(dpa.pd))?;
    Ok((process, pd))
}

/// The protection domain of a context in this process; whether it is the base.
pub(super) fn context(handle: u64, process: u32) -> Option<(usize, bool)> {
    let found = with(handle as Handle, |dpa: &mut Dpa| {
        let is_its = dpa.process.as_ref().is_some_and(|own| own.id == process);
        Ok(is_its.then_some((dpa.pd, dpa.base.is_none())))
    });
    found.ok().flatten()
}

/// Whether a context, or what belongs to it, is on this process.
fn is_used(process: &Process) -> Option<&'static str> {
    let is = |other: &Arc<Process>| other.id == process.id;
    [
        (
            any(|at: &super::thread::Thread| is(&at.process)),
            "a thread",
        ),
        (
            any(|at: &super::thread::Completion| is(&at.process)),
            "a completion context",
        ),
        (
            any(|at: &super::memory::Mmap| at.is_of(process.id)),
            "a memory map",
        ),
        (
            any(|at: &super::rdma::Rdma| at.is_of(process.id)),
            "an RDMA context",
        ),
        (
            any(|at: &super::verbs::EthQueue| at.is_of(process.id)),
            "an Ethernet queue",
        ),
        (
            any(|at: &super::qp::Qp| at.is_of(process.id)),
            "a pair of queues",
        ),
    ]
    .into_iter()
    .find_map(|(is_there, what)| is_there.then_some(what))
}

fn stop(dpa: Handle) -> Answer {
    let (process, base) = with(dpa, |dpa: &mut Dpa| Ok((dpa.process.clone(), dpa.base)))?;
    let Some(process) = process else {
        return Ok(());
    };
    if base.is_none() {
        let extended = |at: &Dpa| at.base == Some(dpa);
        let used = match any(extended) {
            true => Some("an extended context"),
            false => is_used(&process),
        };
        if let Some(what) = used {
            return Error::InUse.because(format!("{what} of the context exists"));
        }
        crate::process::destroy(process.id)?;
    }
    with(dpa, |dpa: &mut Dpa| {
        dpa.process = None;
        Ok(())
    })
}

setters! {
    Dpa {
        doca_dpa_set_log_level: u32 => level in 0..=100;
    }
}

calls! {
    fn doca_dpa_create(device: Handle, dpa: Given<Handle>) {
        let (function, pd) = with(device, |device: &mut Device| Ok((device.function, device.pd)))?;
        if function != PF {
            return Error::NotSupported.because("a DPA context needs a PF; extend it to the SF");
        }
        let (base, app, process) = (None, None, None);
        make(dpa, Dpa { device, pd, base, app, level: 50, process, window: 0 }).map(|_| ())
    }

    fn doca_dpa_set_app(dpa: Handle, app: Handle) {
        let app = crate::process::app(app)?;
        super::setup(dpa, |dpa: &mut Dpa| {
            dpa.app = Some(app);
            Ok(())
        })
    }

    fn doca_dpa_start(dpa: Handle) {
        let (app, pd, level) = super::setup(dpa, |dpa: &mut Dpa| match &dpa.app {
            Some(app) => Ok((Arc::clone(app), dpa.pd, dpa.level)),
            None => Error::BadState.because("no program: doca_dpa_set_app comes first"),
        })?;
        let made = crate::process::create(app, pd, false)?;
        // ordering: no thread of the process runs yet, and the first event of each orders it.
        made.doca.level.store(level, Relaxed);
        let window = machine().objects().windows.insert(|_| (made.id, pd));
        // ordering: as above.
        made.doca.window.store(window.unwrap_or(0), Relaxed);
        with(dpa, |dpa: &mut Dpa| {
            dpa.window = window.unwrap_or(0);
            dpa.process = Some(made);
            Ok(())
        })
    }

    fn doca_dpa_stop(dpa: Handle) {
        with(dpa, |dpa: &mut Dpa| started(&dpa.process, Kind::Dpa).map(|_| ()))?;
        stop(dpa)
    }

    fn doca_dpa_destroy(dpa: Handle) {
        stop(dpa)?;
        let gone = take(dpa, |_: &mut Dpa| Ok(()))?;
        machine().objects().windows.remove(gone.window);
        Ok(())
    }

    /// The new context runs as its base does.
    fn doca_dpa_device_extend(base: Handle, device: Handle, extended: Given<Handle>) {
        let process = process(base)?;
        let is_extended = with(base, |dpa: &mut Dpa| Ok(dpa.base.is_some()))?;
        if is_extended {
            return Error::InvalidValue.because("an extended context cannot be extended");
        }
        let pd = with(device, |device: &mut Device| Ok(device.pd))?;
        // ordering: as in `flush`.
        process.doca.is_extended.store(true, Relaxed);
        let (base, app, process) = (Some(base), None, Some(process));
        make(extended, Dpa { device, pd, base, app, level: 50, process, window: 0 }).map(|_| ())
    }

    fn doca_dpa_get_dpa_handle(dpa: Handle, handle: Given<u64>) {
        process(dpa)?;
        Ok(put(handle, dpa as u64)?)
    }

    fn doca_dpa_get_total_num_eus_available(dpa: Handle, units: Given<u32>) {
        process(dpa)?;
        Ok(put(units, UNITS)?)
    }

    fn doca_dpa_get_max_threads_per_kernel(dpa: Handle, threads: Given<u32>) {
        with(dpa, |_: &mut Dpa| Ok(()))?;
        Ok(put(threads, super::launch::THREADS)?)
    }

    fn doca_dpa_get_kernel_max_run_time(dpa: Handle, seconds: Given<u64>) {
        with(dpa, |_: &mut Dpa| Ok(()))?;
        Ok(put(seconds, RUN_TIME_S)?)
    }

    /// Device logs go to standard output.
    fn doca_dpa_log_file_set_path(dpa: Handle, _path: *const c_char) {
        with(dpa, |_: &mut Dpa| Ok(()))
    }

    fn doca_dpa_mem_alloc(dpa: Handle, bytes: usize, address: Given<u64>) {
        let process = process(dpa)?;
        let found = process.heap.allocate(crate::process::bytes(bytes)?)?;
        process.heap.expect_writes(found);
        Ok(put(address, found)?)
    }

    fn doca_dpa_mem_free(dpa: Handle, address: u64) {
        let process = with(dpa, |dpa: &mut Dpa| started(&dpa.process, Kind::Dpa))?;
        Ok(process.heap.free(address)?)
    }

    fn doca_dpa_memset(dpa: Handle, address: u64, value: c_int, bytes: usize) {
        let process = process(dpa)?;
        let bytes = crate::process::bytes(bytes)?;
        let place = process.heap.in_block(address, bytes)?;
        // SAFETY: the block has that many bytes; device code may race, as on the card.
        unsafe { std::ptr::write_bytes(place.at(0, bytes), value as u8, bytes as usize) };
        process.heap.host_writes(address, bytes);
        Ok(())
    }

    fn doca_dpa_h2d_memcpy(dpa: Handle, address: u64, source: *const u8, bytes: usize) {
        let process = process(dpa)?;
        let bytes = crate::process::bytes(bytes)?;
        if source.is_null() {
            return Error::InvalidValue.because("no source");
        }
        let place = process.heap.in_block(address, bytes)?;
        // SAFETY: the API's contract: the source has that many bytes, and the place has as many.
        unsafe { std::ptr::copy(source, place.at(0, bytes), bytes as usize) };
        process.heap.host_writes(address, bytes);
        Ok(())
    }

    fn doca_dpa_d2h_memcpy(dpa: Handle, target: *mut u8, address: u64, bytes: usize) {
        let process = process(dpa)?;
        let bytes = crate::process::bytes(bytes)?;
        if target.is_null() {
            return Error::InvalidValue.because("no target");
        }
        let place = process.heap.in_block(address, bytes)?;
        let range = address as usize..(address + bytes) as usize;
        process.doca.reads(&process, &range);
        // SAFETY: as above, the other way.
        unsafe { std::ptr::copy(place.at(0, bytes), target, bytes as usize) };
        Ok(())
    }
}
