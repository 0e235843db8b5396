//! Calls from the host: a device function with arguments, to its end.

use super::convention::{Arguments, Variadic, narrow};
use super::unit::{Entry, Kind, Unit};
use crate::handle::Handle;
use crate::machine::{lock, machine};
use crate::process::{Process, Prototype};
use crate::status::{Refusal, host};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, mpsc};

/// A call, and where its caller waits: for the result, then for the sender's end.
pub(crate) struct Call {
    arguments: Arguments,
    told: Mutex<Option<mpsc::Sender<u64>>>,
}

impl Call {
    /// Runs the function. Called on a coroutine.
    pub(crate) fn run(&self, entry: usize) {
        // SAFETY: an entry point of the image, and arguments for its prototype.
        let result = unsafe { self.arguments.call(entry) };
        let _ = lock(&self.told).as_ref().map(|told| told.send(result));
    }

    pub(crate) fn argument_bytes(&self) -> usize {
        self.arguments.stack_bytes()
    }

    pub(crate) fn end(&self) {
        lock(&self.told).take();
    }
}

/// Starts a device function as a new thread.
fn start(
    process: &Arc<Process>,
    entry: Entry,
    arguments: Arguments,
) -> Result<mpsc::Receiver<u64>, Refusal> {
    let (told, result) = mpsc::channel();
    let call = Call {
        arguments,
        told: Mutex::new(Some(told)),
    };
    let unit = super::spawn(process, entry, Kind::Call(call), 0)?;
    unit.state.begin();
    machine().scheduler.wake(&unit);
    Ok(result)
}

/// Runs the error handler of a process that has just ended. It runs on its caller: other threads
/// of the process do not run any more.
pub(crate) fn last_words(process: &Arc<Process>, entry: usize, code: u64) {
    let entry = Entry::named("error handler", entry);
    let unit = Unit::new(u32::MAX, Arc::clone(process), entry, Kind::Handler, 0, 0);
    unit.argument
        // ordering: this host thread runs the handler.
        .store(code, std::sync::atomic::Ordering::Release);
    super::worker::alone(&unit);
}

/// Arguments of the call that have names: process, function, place of the result.
const NAMED: usize = 3;

/// The API's variadic call, as a caller in C makes it: registers and the stack hold what follows
/// the first three arguments.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn flexio_process_call() {
    std::arch::naked_asm!(
        "sub rsp, 184",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "movups [rsp + 48], xmm0",
        "movups [rsp + 64], xmm1",
        "movups [rsp + 80], xmm2",
        "movups [rsp + 96], xmm3",
        "movups [rsp + 112], xmm4",
        "movups [rsp + 128], xmm5",
        "movups [rsp + 144], xmm6",
        "movups [rsp + 160], xmm7",
        "mov rcx, rsp",
        "lea r8, [rsp + 48]",
        "lea r9, [rsp + 192]",
        "call {inner}",
        "add rsp, 184",
        "ret",
        inner = sym process_call,
    )
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn flexio_process_call() {
    std::arch::naked_asm!(
        "stp x29, x30, [sp, #-80]!",
        "str x3, [sp, #40]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "add x3, sp, #16",
        // Floating-point numbers are refused.
        "mov x4, xzr",
        "add x5, sp, #80",
        "bl {inner}",
        "ldp x29, x30, [sp], #80",
        "ret",
        inner = sym process_call,
    )
}

extern "C" fn process_call(
    process: Handle,
    stub: *const c_void,
    result: *mut u64,
    integers: *const u64,
    floats: *const [u64; 2],
    stack: *const u64,
) -> i32 {
    host("flexio_process_call", || {
        let process = machine().process(process)?;
        let from = Variadic {
            integers,
            named: NAMED,
            floats,
            stack,
        };
        // SAFETY: the registers were stored above; then come words of the caller's frame. The API's
        // contract: the caller passes what the function takes, and a place for the result.
        unsafe { call(&process, stub, result, from) }
    })
}

/// What a function wants from a variadic call, by its prototype.
///
/// # Safety
///
/// As for [`Arguments::take`].
pub(crate) unsafe fn arguments(
    process: &Process,
    entry: &Entry,
    from: Variadic,
) -> Result<(Arc<Prototype>, Arguments), Refusal> {
    let refuse = |why: String| format!("the arguments of {} cannot be passed: {why}", entry.name);
    let prototype = process.prototype(entry.address).map_err(refuse)?;
    // SAFETY: the caller's promise.
    let arguments = unsafe { Arguments::take(&prototype, from) };
    let arguments = arguments.map_err(|why| refuse(why.to_owned()))?;
    Ok((prototype, arguments))
}

/// Calls a device function and waits for its end.
///
/// # Safety
///
/// As for [`Arguments::take`]; `result` is null or good for a result.
pub(crate) unsafe fn call(
    process: &Arc<Process>,
    stub: *const c_void,
    result: *mut u64,
    from: Variadic,
) -> Result<(), Refusal> {
    let entry = super::entry(process, stub)?;
    let name = entry.name.clone();
    // SAFETY: the caller's promise.
    let (prototype, arguments) = unsafe { arguments(process, &entry, from) }?;
    let call = start(process, entry, arguments)?;
    let found = call
        .iter()
        .last()
        .ok_or_else(|| Refusal::fatal(format!("the process ended in or before {name}")))?;
    if !result.is_null() {
        let found = prototype.result.as_ref().map_or(0, |of| narrow(of, found));
        // SAFETY: the caller's promise.
        unsafe { result.write(found) };
    }
    Ok(())
}
