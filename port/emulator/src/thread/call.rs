//! Calls from the host: a device function with arguments, to its end.

use super::unit::{Kind, Unit};
use crate::handle::Handle;
use crate::machine::{lock, machine};
use crate::process::Process;
use crate::status::{Refusal, host};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, mpsc};

const ARGUMENTS: usize = 11;

/// A call, and where its caller waits: for the result, then for the sender's end.
pub(crate) struct Call {
    arguments: [u64; ARGUMENTS],
    told: Mutex<Option<mpsc::Sender<u64>>>,
}

impl Call {
    /// Runs the function. Called on a coroutine.
    pub(crate) fn run(&self, entry: usize) {
        type Function = extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u64;
        // SAFETY: an entry point of the image. The calling convention lets a function ignore
        // arguments that it does not have.
        let function: Function = unsafe { std::mem::transmute(entry) };
        let [a, b, c, d, e, f, g, h, i, j, k] = self.arguments;
        let result = function(a, b, c, d, e, f, g, h, i, j, k);
        let _ = lock(&self.told).as_ref().map(|told| told.send(result));
    }

    pub(crate) fn end(&self) {
        lock(&self.told).take();
    }
}

/// Starts a device function as a thread of its own.
fn start(
    process: &Arc<Process>,
    entry: (String, usize),
    arguments: [u64; ARGUMENTS],
) -> Result<mpsc::Receiver<u64>, Refusal> {
    let (told, result) = mpsc::channel();
    let call = Call {
        arguments,
        told: Mutex::new(Some(told)),
    };
    let unit = super::spawn(process, entry, Kind::Call(call), 0)?;
    unit.begin();
    machine().scheduler.wake(&unit);
    Ok(result)
}

/// Runs the error handler of a process that has just ended. It runs on its caller: other threads
/// of the process do not run any more.
pub(crate) fn last_words(process: &Arc<Process>, entry: usize, code: u64) {
    let name = ("error handler".to_owned(), entry);
    let unit = Unit::new(u32::MAX, Arc::clone(process), name, Kind::Handler, 0, 0);
    unit.argument
        .store(code, std::sync::atomic::Ordering::Release);
    super::worker::alone(&unit);
}

/// The API's variadic call, as a caller in C makes it: three registers and the stack hold what
/// follows the first three arguments.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn flexio_process_call() {
    std::arch::naked_asm!(
        "push r9",
        "push r8",
        "push rcx",
        "mov rcx, rsp",
        "lea r8, [rsp + 32]",
        "call {inner}",
        "add rsp, 24",
        "ret",
        inner = sym process_call,
    )
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn flexio_process_call() {
    std::arch::naked_asm!(
        "stp x29, x30, [sp, #-64]!",
        "stp x3, x4, [sp, #16]",
        "stp x5, x6, [sp, #32]",
        "str x7, [sp, #48]",
        "add x3, sp, #16",
        "add x4, sp, #64",
        "bl {inner}",
        "ldp x29, x30, [sp], #64",
        "ret",
        inner = sym process_call,
    )
}

/// Registers that hold arguments after the third.
const REGISTERS: usize = if cfg!(target_arch = "x86_64") { 3 } else { 5 };

extern "C" fn process_call(
    process: Handle,
    stub: *const c_void,
    result: *mut u64,
    registers: *const u64,
    stack: *const u64,
) -> i32 {
    host("flexio_process_call", || {
        let process = machine().process(process)?;
        let entry = super::entry(&process, stub)?;
        let name = entry.0.clone();
        let argument = |at: usize| {
            // SAFETY: the registers were stored above; then come words of the caller's frame. The
            // device function uses those that the caller wrote, and ignores the others.
            unsafe {
                if at < REGISTERS {
                    *registers.add(at)
                } else {
                    *stack.add(at - REGISTERS)
                }
            }
        };
        let call = start(&process, entry, std::array::from_fn(argument))?;
        let found = call
            .iter()
            .last()
            .ok_or_else(|| Refusal::fatal(format!("the process ended in or before {name}")))?;
        if !result.is_null() {
            // SAFETY: the API's contract: a place for the result.
            unsafe { result.write(found) };
        }
        Ok(())
    })
}
