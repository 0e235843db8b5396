//! Remote calls, and kernels: a function on some threads, when an event is greater than a value.

use super::event::{Change, Waiter, Word};
use super::{Answer, Error, host};
use crate::handle::Handle;
use crate::machine::{lock, machine};
use crate::process::{Process, ended};
use crate::thread::{Arguments, Entry, Unit, UnitKind, Variadic};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// Maximum number of threads of a kernel. Programs have met this limit on a card.
pub(super) const THREADS: u32 = 128;

/// A kernel that begins when its event says so.
pub(super) struct Launch {
    process: Arc<Process>,
    entry: usize,
    arguments: Arguments,
    threads: u32,
    /// What becomes of the completion event when all threads are through.
    end: Option<(Arc<Word>, Change)>,
}

/// A kernel that runs.
struct Running {
    launch: Launch,
    left: AtomicU32,
}

/// A thread for kernels, which serves one after another.
#[derive(Default)]
pub(crate) struct Seat {
    job: Mutex<Option<(Arc<Running>, u32)>>,
    unit: OnceLock<Weak<Unit>>,
}

impl Launch {
    pub(super) fn begin(self) {
        if self.process.state() != ended::NOT {
            return;
        }
        let (process, threads) = (Arc::clone(&self.process), self.threads);
        let running = Arc::new(Running {
            launch: self,
            left: threads.into(),
        });
        let mut units = Vec::with_capacity(threads as usize);
        let mut free = lock(&process.doca.free);
        let kept = free.len().saturating_sub(threads as usize);
        units.extend(free.drain(kept..));
        drop(free);
        while units.len() < threads as usize {
            let kind = UnitKind::Kernel(Arc::default());
            let entry = Entry::named("kernel", running.launch.entry);
            match crate::thread::spawn(&process, entry, kind, 0) {
                Ok(unit) => {
                    if let UnitKind::Kernel(seat) = &unit.kind {
                        seat.unit.get_or_init(|| Arc::downgrade(&unit));
                    }
                    unit.state.begin();
                    units.push(unit);
                }
                Err(_) => {
                    crate::check::error(
                        crate::check::Fault::Ended,
                        format_args!("too many threads for a kernel; it is lost"),
                    );
                    return process.end(ended::CRASH);
                }
            }
        }
        for (rank, unit) in units.iter().enumerate() {
            if let UnitKind::Kernel(seat) = &unit.kind {
                *lock(&seat.job) = Some((Arc::clone(&running), rank as u32));
            }
        }
        machine().scheduler.wake_all(&units);
    }
}

impl Seat {
    /// Runs the kernel's function with its rank. Called on a coroutine.
    pub(crate) fn run(&self, unit: &Unit) {
        let (running, rank) = match &*lock(&self.job) {
            Some((running, rank)) => (Arc::as_ptr(running), *rank),
            None => return,
        };
        // SAFETY: the seat holds the job until `done`, and the unit holds the seat. No guard or
        // count lives on the coroutine's stack, which may be dropped during the call.
        let launch = unsafe { &(*running).launch };
        unit.own.doca.is_ranked(rank, launch.threads);
        // SAFETY: an entry point of the image, and arguments for its prototype.
        unsafe { launch.arguments.call(launch.entry) };
        crate::check::ends(unit);
        crate::check::race::returns(unit);
        self.done(unit);
    }

    /// The thread is free again. The last one of a kernel tells its event.
    fn done(&self, unit: &Unit) {
        let Some((running, _)) = lock(&self.job).take() else {
            return;
        };
        let own = self.unit.get().and_then(Weak::upgrade);
        lock(&unit.process.doca.free).extend(own);
        // ordering: one release, one acquire: the last thread sees what all others have written.
        if running.left.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some((word, change)) = &running.launch.end
        {
            word.update(*change);
        }
    }

    pub(crate) fn argument_bytes(&self) -> usize {
        let job = lock(&self.job);
        job.as_ref()
            .map_or(0, |(running, _)| running.launch.arguments.stack_bytes())
    }
}

/// The API's variadic calls, as callers in C make them: the inner function gets the registers of
/// integers, those of floating-point numbers, and the words on the stack.
macro_rules! variadic {
    ($($call:ident => $inner:ident;)+) => {$(
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $call() {
            std::arch::naked_asm!(
                "sub rsp, 184",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
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
                "mov rdi, rsp",
                "lea rsi, [rsp + 48]",
                "lea rdx, [rsp + 192]",
                "call {inner}",
                "add rsp, 184",
                "ret",
                inner = sym $inner,
            )
        }

        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $call() {
            std::arch::naked_asm!(
                "stp x29, x30, [sp, #-80]!",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "add x0, sp, #16",
                // Floating-point numbers are refused.
                "mov x1, xzr",
                "add x2, sp, #80",
                "bl {inner}",
                "ldp x29, x30, [sp], #80",
                "ret",
                inner = sym $inner,
            )
        }
    )+};
}

variadic! {
    doca_dpa_rpc => rpc;
    doca_dpa_kernel_launch_update_set => launch_set;
    doca_dpa_kernel_launch_update_add => launch_add;
}

extern "C" fn rpc(integers: *const u64, floats: *const [u64; 2], stack: *const u64) -> i32 {
    host("doca_dpa_rpc", || {
        // SAFETY: the registers that were stored above; the API's contract: three arguments.
        let [dpa, function, result] = unsafe { integers.cast::<[u64; 3]>().read() };
        let process = super::dpa::process(dpa as Handle)?;
        let from = Variadic {
            integers,
            named: 3,
            floats,
            stack,
        };
        // SAFETY: the API's contract: a place for the result or none, and what the function takes.
        Ok(unsafe { crate::thread::call(&process, function as _, result as *mut u64, from) }?)
    })
}

extern "C" fn launch_set(integers: *const u64, floats: *const [u64; 2], stack: *const u64) -> i32 {
    host("doca_dpa_kernel_launch_update_set", || {
        // SAFETY: as for `launch`.
        unsafe { launch(Change::Set, integers, floats, stack) }
    })
}

extern "C" fn launch_add(integers: *const u64, floats: *const [u64; 2], stack: *const u64) -> i32 {
    host("doca_dpa_kernel_launch_update_add", || {
        // SAFETY: as for `launch`.
        unsafe { launch(Change::Add, integers, floats, stack) }
    })
}

/// # Safety
///
/// The registers and the stack of a caller that has passed the API's seven arguments, and then
/// what the function takes.
unsafe fn launch(
    change: fn(u64) -> Change,
    integers: *const u64,
    floats: *const [u64; 2],
    stack: *const u64,
) -> Answer {
    // SAFETY: the caller's promise.
    let [dpa, wait, above, done, count, threads] = unsafe { integers.cast::<[u64; 6]>().read() };
    let in_registers = cfg!(target_arch = "aarch64");
    // The seventh argument is in a register, or the first word on the stack.
    let (named, seventh, stack) = match in_registers {
        true => (7, integers.wrapping_add(6), stack),
        false => (6, stack, stack.wrapping_add(1)),
    };
    // SAFETY: the caller's promise.
    let function = unsafe { seventh.read() } as *const c_void;
    // A parameter of 32 bits: the upper half of its register is undefined.
    let threads = threads as u32;
    let process = super::dpa::process(dpa as Handle)?;
    if !(1..=THREADS).contains(&threads) {
        let why = format!("{threads} threads: a kernel has 1 to {THREADS}");
        return Error::InvalidValue.because(why);
    }
    let word = |event: u64| match event {
        0 => Ok(None),
        event => super::event::word(event as Handle).map(Some),
    };
    let (wait, done) = (word(wait)?, word(done)?);
    let entry = crate::thread::entry(&process, function)?;
    let from = Variadic {
        integers,
        named,
        floats,
        stack,
    };
    // SAFETY: the caller's promise.
    let (_, arguments) = unsafe { crate::thread::arguments(&process, &entry, from) }?;
    let end = done.map(|word| (word, change(count)));
    let launch = Launch {
        process,
        entry: entry.address,
        arguments,
        threads,
        end,
    };
    let Some(wait) = wait else {
        launch.begin();
        return Ok(());
    };
    if let Some(other) = wait.waits(Waiter::Kernels) {
        crate::check::error(
            crate::check::Fault::TwoWaiters,
            format_args!("a sync event has more than one waiter: a kernel's launch, and {other}"),
        );
    }
    wait.launch(above, launch);
    Ok(())
}
