//! Signals in device code. If it crashes, its process ends, and the host's program goes on. If it
//! does not yield, the place where it is can be asked for.

use super::unit::Unit;
use super::worker::{Pause, current};
use crate::machine::lock;
use crate::process::ended;
use corosensei::trap::CoroutineTrapHandler;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, OnceLock};

/// Signals of code that crashes.
const SIGNALS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];
/// Words of the stack that are searched for the caller of a crashed function.
const WORDS: usize = 4096;

type Trap = CoroutineTrapHandler<Pause>;

/// Where and why device code crashed.
#[derive(Clone, Copy, Debug, Default)]
struct Crash {
    signal: c_int,
    address: usize,
    /// In device code: the instruction, or the call it has not returned from.
    place: usize,
}

thread_local! {
    static CRASH: Cell<Option<Crash>> = const { Cell::new(None) };
    /// Whether this host thread holds the NIC's lock, so that it cannot be taken out of its code.
    static IN_NIC: Cell<bool> = const { Cell::new(false) };
}

/// The signal that asks a host thread where its device code is: one that programs hardly use.
fn question() -> c_int {
    libc::SIGRTMIN() + 9
}

static BEFORE: [OnceLock<libc::sigaction>; 4] = [const { OnceLock::new() }; 4];

/// Handles crashes from now on. The host program's handlers stay in charge of its own code.
pub(crate) fn install() {
    for (signal, before) in SIGNALS.iter().zip(&BEFORE) {
        // SAFETY: a zeroed action is a valid one; both pointers live during the call.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = caught;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            let mut old: libc::sigaction = std::mem::zeroed();
            libc::sigaction(*signal, &action, &mut old);
            before.get_or_init(|| old);
        }
    }
    // SAFETY: as above.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = asked;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigaction(question(), &action, std::ptr::null_mut());
    }
}

/// Asks a worker's host thread where its device code is. [`super::worker::answer`] gets the answer,
/// unless no device code runs there.
pub(crate) fn ask(thread: libc::pthread_t) {
    // SAFETY: workers never end, so their host threads exist.
    unsafe { libc::pthread_kill(thread, question()) };
}

extern "C" fn asked(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    let running = current().and_then(|unit| Some((unit, unit.own.trap.get()?)));
    let Some((unit, trap)) = running.filter(|_| !IN_NIC.get()) else {
        return;
    };
    // SAFETY: the system passes a context for handlers with SA_SIGINFO.
    let place = device_place(unit, trap, unsafe { &*context.cast() });
    super::worker::answer(unit.id, place);
}

/// The instruction of device code that runs, or the call it has not returned from.
fn device_place(unit: &Unit, trap: Trap, context: &libc::ucontext_t) -> usize {
    let (instruction, stack) = place_of(context);
    let range = &unit.process.image.range;
    let mut place = instruction;
    // In the C library or a hook: the topmost word of the stack that points into device code.
    let mut at = stack;
    while !range.contains(&place) && trap.stack_ptr_in_bounds(at + 8) && at < stack + WORDS * 8 {
        // SAFETY: within the coroutine's stack.
        place = unsafe { (at as *const usize).read() }.wrapping_sub(1);
        at += 8;
    }
    place
}

/// Stacks for signals. They are never freed: workers never end. Leak checkers find them here.
static STACKS: Mutex<Vec<Box<[u8]>>> = Mutex::new(Vec::new());

/// Gives a worker a stack for signals, since a coroutine's may be full.
pub(crate) fn give_stack() {
    let mut memory = vec![0_u8; 64 << 10].into_boxed_slice();
    let stack = libc::stack_t {
        ss_sp: memory.as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: memory.len(),
    };
    lock(&STACKS).push(memory);
    // SAFETY: the memory lives as long as the program.
    unsafe { libc::sigaltstack(&stack, std::ptr::null_mut()) };
    // The host's program may block signals in the threads that it starts.
    // SAFETY: a set of our own, which lives during the calls.
    unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut signals);
        libc::sigaddset(&mut signals, question());
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &signals, std::ptr::null_mut());
    }
}

/// The NIC's code runs on this host thread, or does not any more.
pub(crate) fn in_nic(now: bool) {
    IN_NIC.set(now);
}

#[cfg(target_arch = "x86_64")]
fn place_of(context: &libc::ucontext_t) -> (usize, usize) {
    let registers = &context.uc_mcontext.gregs;
    let of = |register: c_int| registers[register as usize] as usize;
    (of(libc::REG_RIP), of(libc::REG_RSP))
}

#[cfg(target_arch = "aarch64")]
fn place_of(context: &libc::ucontext_t) -> (usize, usize) {
    (
        context.uc_mcontext.pc as usize,
        context.uc_mcontext.sp as usize,
    )
}

#[cfg(target_arch = "x86_64")]
fn go_to(context: &mut libc::ucontext_t, target: corosensei::trap::TrapHandlerRegs) {
    let registers = &mut context.uc_mcontext.gregs;
    registers[libc::REG_RIP as usize] = target.rip as i64;
    registers[libc::REG_RSP as usize] = target.rsp as i64;
    registers[libc::REG_RBP as usize] = target.rbp as i64;
    registers[libc::REG_RDI as usize] = target.rdi as i64;
    registers[libc::REG_RSI as usize] = target.rsi as i64;
}

#[cfg(target_arch = "aarch64")]
fn go_to(context: &mut libc::ucontext_t, target: corosensei::trap::TrapHandlerRegs) {
    let registers = &mut context.uc_mcontext;
    registers.pc = target.pc;
    registers.sp = target.sp;
    registers.regs[0] = target.x0;
    registers.regs[1] = target.x1;
    registers.regs[29] = target.x29;
    registers.regs[30] = target.lr;
}

extern "C" fn caught(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes both for handlers with SA_SIGINFO.
    let (info, context) = unsafe { (&*info, &mut *context.cast::<libc::ucontext_t>()) };
    let trap = current().and_then(|unit| Some((unit, unit.own.trap.get()?)));
    let Some((unit, trap)) = trap.filter(|_| !IN_NIC.get()) else {
        // Not device code: the handler that was there before gets the signal again.
        let at = SIGNALS
            .iter()
            .position(|&known| known == signal)
            .unwrap_or_default();
        if let Some(before) = BEFORE[at].get() {
            // SAFETY: an action that the system gave us.
            unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
        }
        return;
    };
    let place = device_place(unit, trap, context);
    // SAFETY: the kernel fills the address for these signals.
    let address = unsafe { info.si_addr() } as usize;
    CRASH.set(Some(Crash {
        signal,
        address,
        place,
    }));
    // SAFETY: the coroutine of this unit runs on this host thread, in C code of the device part or
    // of the C library on its behalf: its frames own nothing of ours and hold no lock of ours.
    go_to(context, unsafe {
        trap.setup_trap_handler(|| Pause::Crashed)
    });
}

/// Says where a thread crashed, and ends its process.
pub(crate) fn tell(unit: &Unit) {
    let crash = CRASH.take().unwrap_or_default();
    let name = match crash.signal {
        libc::SIGSEGV if unit.own.watch.is_beyond_stack(crash.address) => "no room for a stack to",
        libc::SIGSEGV => "bad access to",
        libc::SIGBUS => "bad address",
        libc::SIGFPE => "bad arithmetic in",
        _ => "bad instruction in",
    };
    let line = if unit.process.image.range.contains(&crash.place) {
        unit.process.image.source_line(crash.place)
    } else {
        "a place outside of the device part".to_owned()
    };
    let (process, activation) = (unit.process.id, unit.activations());
    let text = format_args!(
        "process {process}, thread {} ({}), activation {activation}: {name} {:#x} at {line}; \
         the process is in error state 1",
        unit.id, unit.name, crash.address
    );
    crate::check::error(crate::check::Fault::Crash, text);
    unit.process.end(ended::CRASH);
}
