//! The host's calls on processes and message streams.

use super::message::Stream;
use super::{App, Heap, HeapInfo, Image, Process, ended};
use crate::handle::{Handle, Kind, destroyers};
use crate::machine::machine;
use crate::status::{Given, Refusal, attributes, calls, given, put};
use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of the smallest buffer of a stream, and most streams of a process.
const STREAM_BYTES: usize = 2048;
const STREAMS: usize = 255;

#[repr(C)]
struct ProcessAttributes {
    pd: *mut c_void,
    pcc: u8,
}

#[repr(C)]
struct StreamAttributes {
    uar: Handle,
    bytes: usize,
    mode: u32,
    transport: u32,
    tracer: u32,
    level: u8,
    name: *const c_char,
    affinity: [u32; 2],
}

/// `en_pcc` of a process or an outbox.
pub(super) fn no_congestion_control(call: &str) {
    static SAID: AtomicBool = AtomicBool::new(false);
    let text = format_args!("{call}: congestion control is not emulated; en_pcc has no effect");
    crate::check::note_once(&SAID, text);
}

/// A process that runs the program, whose queues and keys default to this protection domain;
/// `owns_pd`: which ends with the process.
pub(crate) fn create(app: Arc<App>, pd: usize, owns_pd: bool) -> Result<Arc<Process>, Refusal> {
    let image = Image::load(&app.name.to_string_lossy(), &app.bytes)?;
    let heap = Heap::new(crate::environment::heap_bytes())?;
    // SAFETY: a new descriptor, or -1.
    let event = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
    if event < 0 {
        return Err("no event descriptor".into());
    }
    let mut made = None;
    machine().objects().processes.insert(|id| {
        let process = Process {
            id,
            app,
            image,
            heap,
            shadows: Default::default(),
            pd,
            owns_pd,
            doca: Default::default(),
            streams: Default::default(),
            state: ended::NOT.into(),
            error_handler: 0.into(),
            // SAFETY: new, and owned by nobody else.
            error_event: unsafe { OwnedFd::from_raw_fd(event) },
        };
        Arc::clone(made.insert(Arc::new(process)))
    });
    machine().scheduler.start();
    made.ok_or_else(|| "too many processes".into())
}

calls! {
    fn flexio_process_create(
        context: *mut c_void, app: Handle, attr: Given<ProcessAttributes>, process: Given<Handle>
    ) {
        let number = Kind::App.number(app)?;
        let app = machine().objects().apps.get(number).cloned().ok_or_else(|| Kind::App.gone())?;
        let attr = given(attr);
        let pd = attr.map_or(std::ptr::null_mut(), |attr| attr.pd);
        let owns_pd = pd.is_null();
        if attr.is_some_and(|attr| attr.pcc != 0) {
            no_congestion_control("flexio_process_create");
        }
        let pd = if owns_pd { crate::verbs::new_pd(context)? } else { pd };
        put(process, Kind::Process.handle(create(app, pd as usize, owns_pd)?.id))
    }

    fn flexio_process_get_pd(process: Handle) -> *mut c_void = std::ptr::null_mut() => {
        Ok(machine().process(process)?.pd as *mut c_void)
    }

    /// UAR, outbox and memory are numbers without state.
    fn flexio_process_get_uar(process: Handle) -> Handle = std::ptr::null_mut() => {
        machine().process(process).map(|process| Kind::Uar.handle(process.id))
    }

    fn flexio_process_get_outbox(process: Handle) -> Handle = std::ptr::null_mut() => {
        machine().process(process).map(|process| Kind::Outbox.handle(process.id))
    }

    fn flexio_process_get_dumem_id(process: Handle) -> u32 = 0 => {
        Ok(machine().process(process)?.id)
    }

    /// No token: native debuggers attach to the host's program.
    fn flexio_process_udbg_token_get(process: Handle) -> u64 = 0 => {
        machine().process(process).map(|_| 0)
    }

    fn flexio_process_mem_info_get(process: Handle, info: Given<HeapInfo>) {
        put(info, machine().process(process)?.heap.info())
    }

    fn flexio_process_error_handler_set(process: Handle, stub: *const c_void) {
        let process = machine().process(process)?;
        let entry = crate::thread::entry(&process, stub)?;
        // ordering: an address of code that is loaded already.
        process.error_handler.store(entry.address, Ordering::Release);
        Ok(())
    }

    fn flexio_err_status_get(process: Handle) -> i32 = 0 => {
        Ok(match machine().process(process)?.state() {
            ended::NOT | ended::FINISHED => 0,
            code if code >= ended::USER => 2,
            _ => 1,
        })
    }

    fn flexio_err_handler_fd(process: Handle) -> c_int = -1 => {
        Ok(machine().process(process)?.error_event.as_raw_fd())
    }

    fn flexio_coredump_create(process: Handle, _path: *const c_char) {
        machine().process(process)?;
        Err("core dumps are not emulated; a debugger sees the host's program".into())
    }

    fn flexio_msg_stream_create(
        process: Handle, attr: Given<StreamAttributes>, file: *mut libc::FILE,
        thread: *mut libc::pthread_t, stream: Given<Handle>
    ) {
        let attr = attributes(attr)?;
        let process = machine().process(process)?;
        if file.is_null() {
            return Err("no file for the messages".into());
        }
        if attr.bytes < STREAM_BYTES {
            let bytes = attr.bytes;
            return Err(format!("a buffer of {bytes} bytes; at least {STREAM_BYTES}").into());
        }
        let mut streams = process.streams();
        let full = || format!("more than {STREAMS} streams");
        let at = match streams.len() {
            STREAMS => streams.iter().position(Option::is_none).ok_or_else(full)?,
            unused => unused,
        };
        // The API reads a level of 0, which prints nothing, as the default.
        let level = if attr.level == 0 { 4 } else { attr.level };
        let waits = (attr.mode != 0).then_some(attr.bytes);
        let made = Some(Stream { file, level, waits, held: Vec::new() });
        match streams.get_mut(at) {
            Some(slot) => *slot = made,
            None => streams.push(made),
        }
        let number = (process.id << 8) | at as u32;
        if !thread.is_null() {
            // SAFETY: a place for a thread, by the API's contract. Messages have none.
            unsafe { thread.write(libc::pthread_self()) };
        }
        put(stream, Kind::Stream.handle(number))
    }
}

fn with_stream<T>(
    stream: Handle,
    work: impl FnOnce(&mut Option<Stream>) -> T,
) -> Result<T, Refusal> {
    let number = Kind::Stream.number(stream)?;
    let process = machine().objects().processes.get(number >> 8).cloned();
    let process = process.ok_or_else(|| Kind::Stream.gone())?;
    let mut streams = process.streams();
    let slot = streams
        .get_mut((number & 0xff) as usize)
        .filter(|slot| slot.is_some());
    Ok(work(slot.ok_or_else(|| Kind::Stream.gone())?))
}

calls! {
    fn flexio_msg_stream_flush(stream: Handle) {
        with_stream(stream, |slot| slot.iter_mut().for_each(Stream::flush))
    }

    fn flexio_msg_stream_level_set(stream: Handle, level: u8) {
        with_stream(stream, |slot| slot.iter_mut().for_each(|stream| stream.level = level))
    }

    fn flexio_msg_stream_get_id(stream: Handle) -> c_int = -1 => {
        with_stream(stream, |_| ())?;
        Ok((Kind::Stream.number(stream)? & 0xff) as c_int)
    }
}

pub(crate) fn destroy(id: u32) -> Result<(), Refusal> {
    let gone = machine().process(Kind::Process.handle(id))?;
    machine().nic().look_last(|cq| cq.process == id);
    gone.end(ended::FINISHED);
    crate::thread::retire_all(&gone);
    gone.doca.clear();
    machine().nic().forget(id);
    machine().objects().processes.remove(id);
    Ok(())
}

fn destroy_stream(number: u32) -> Result<(), Refusal> {
    with_stream(Kind::Stream.handle(number), |slot| {
        slot.iter_mut().for_each(Stream::flush);
        *slot = None;
    })
}
destroyers! {
    flexio_process_destroy: Process => destroy;
    flexio_msg_stream_destroy: Stream => destroy_stream;
}
