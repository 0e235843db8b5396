//! The calls that a compiler puts before accesses (`-fsanitize=thread`). dpacc links no runtime of
//! the compiler's, but these.

use super::access::{self, Access, How};
use super::race;
use crate::thread::{accessed, current};
use std::ffi::{c_int, c_void};

/// Where device code called a hook: the address of its return address, which is the last word
/// below the caller's stack pointer.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Caller(*const usize);

impl Caller {
    /// The instruction after the call.
    pub(crate) fn place(self) -> usize {
        // SAFETY: the hooks below pass the address of their return address, which is on the stack
        // as long as they run.
        unsafe { self.0.read() }
    }

    /// The caller's stack pointer.
    fn stack(self) -> usize {
        self.0.addr() + size_of::<usize>()
    }
}

/// Exports calls that pass their [`Caller`] on, as one more argument in `$x86` or `$arm`.
macro_rules! with_place {
    ($($name:expr => $inner:path, $x86:literal, $arm:literal;)+) => {$(const _: () = {
        #[unsafe(naked)]
        #[unsafe(export_name = $name)]
        unsafe extern "C" fn call() {
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!(
                concat!("mov ", $x86, ", rsp"), "jmp {inner}", inner = sym $inner
            );
            #[cfg(target_arch = "aarch64")]
            std::arch::naked_asm!(
                "stp x29, x30, [sp, #-16]!", "mov x29, sp", concat!("add ", $arm, ", sp, #8"),
                "bl {inner}", "ldp x29, x30, [sp], #16", "ret", inner = sym $inner
            );
        }
    };)+};
}
pub(crate) use with_place;

// Inlined: the compiler then knows the length and what is done.
#[inline(always)]
fn access_here(address: usize, bytes: usize, align: usize, how: How, writes: bool, caller: Caller) {
    if let Some(unit) = current() {
        access::check(
            unit,
            Access {
                address,
                bytes,
                align,
                how,
                writes,
                place: caller.place(),
                stack: caller.stack(),
            },
        );
        accessed(unit);
    }
}

extern "C" fn fixed<const BYTES: usize, const WRITES: bool>(address: usize, caller: Caller) {
    access_here(address, BYTES, BYTES, How::Plain, WRITES, caller);
}

extern "C" fn polled<const BYTES: usize, const WRITES: bool>(address: usize, caller: Caller) {
    access_here(address, BYTES, BYTES, How::Volatile, WRITES, caller);
}

extern "C" fn range<const WRITES: bool>(address: usize, bytes: usize, caller: Caller) {
    if bytes > 0 {
        access_here(address, bytes, 1, How::Plain, WRITES, caller);
    }
}

/// A function begins: its frame is on the stack already.
extern "C" fn enter(_function: *const c_void, returns_to: usize, caller: Caller, frame: usize) {
    if let Some(unit) = current() {
        access::enter(unit, caller.stack(), frame, returns_to, caller.place());
    }
}

/// The call of `-finstrument-functions`, which leaf functions have as well.
#[unsafe(naked)]
#[unsafe(export_name = "__cyg_profile_func_enter")]
unsafe extern "C" fn function_begins() {
    #[cfg(target_arch = "x86_64")]
    std::arch::naked_asm!("mov rdx, rsp", "mov rcx, rbp", "jmp {inner}", inner = sym enter);
    #[cfg(target_arch = "aarch64")]
    std::arch::naked_asm!(
        "mov x3, x29", "stp x29, x30, [sp, #-16]!", "mov x29, sp", "add x2, sp, #8",
        "bl {inner}", "ldp x29, x30, [sp], #16", "ret", inner = sym enter
    );
}

#[unsafe(no_mangle)]
extern "C" fn __cyg_profile_func_exit(_function: *const c_void, _returns_to: usize) {}

/// Accesses of a fixed number of bytes.
macro_rules! accesses {
    ($($bytes:literal)+) => {
        with_place! {$(
            concat!("__tsan_read", $bytes) => fixed::<$bytes, false>, "rsi", "x1";
            concat!("__tsan_write", $bytes) => fixed::<$bytes, true>, "rsi", "x1";
            concat!("__tsan_unaligned_read", $bytes) => fixed::<$bytes, false>, "rsi", "x1";
            concat!("__tsan_unaligned_write", $bytes) => fixed::<$bytes, true>, "rsi", "x1";
            concat!("__tsan_volatile_read", $bytes) => polled::<$bytes, false>, "rsi", "x1";
            concat!("__tsan_volatile_write", $bytes) => polled::<$bytes, true>, "rsi", "x1";
            concat!("__tsan_unaligned_volatile_read", $bytes) =>
                polled::<$bytes, false>, "rsi", "x1";
            concat!("__tsan_unaligned_volatile_write", $bytes) =>
                polled::<$bytes, true>, "rsi", "x1";
        )+}
    };
}

accesses!(1 2 4 8 16);

with_place! {
    "__tsan_read_range" => range::<false>, "rdx", "x2";
    "__tsan_write_range" => range::<true>, "rdx", "x2";
    "__tsan_memcpy" => copy, "rcx", "x3";
    "__tsan_memmove" => copy, "rcx", "x3";
    "__tsan_memset" => fill, "rcx", "x3";
    // What the compiler leaves to the C library (`--wrap`).
    "__wrap_memcpy" => copy, "rcx", "x3";
    "__wrap_memmove" => copy, "rcx", "x3";
    "__wrap_memset" => fill, "rcx", "x3";
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {}

#[unsafe(no_mangle)]
extern "C" fn __tsan_func_entry(_returns_to: usize) {}

#[unsafe(no_mangle)]
extern "C" fn __tsan_func_exit() {}

/// # Safety
///
/// Device code's own copy: both ranges have that many bytes.
unsafe extern "C" fn copy(to: *mut u8, from: *const u8, bytes: usize, caller: Caller) -> *mut u8 {
    range::<false>(from.addr(), bytes, caller);
    range::<true>(to.addr(), bytes, caller);
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy(from, to, bytes) };
    to
}

/// # Safety
///
/// Device code's own: the range has that many bytes.
unsafe extern "C" fn fill(to: *mut u8, byte: c_int, bytes: usize, caller: Caller) -> *mut u8 {
    range::<true>(to.addr(), bytes, caller);
    // SAFETY: the caller's promise.
    unsafe { std::ptr::write_bytes(to, byte as u8, bytes) };
    to
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(order: c_int) {
    // ordering: device code's own fence, in the strongest order.
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    if let Some(unit) = current() {
        race::fence(unit, order != RELEASE, order >= RELEASE);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_order: c_int) {}

/// A memory order as C numbers them: smaller ones release nothing, and larger ones acquire as well.
const RELEASE: c_int = 3;

/// An atomic access of device code is announced.
fn atomic_access(address: usize, bytes: usize, writes: bool, caller: Caller) {
    access_here(address, bytes, bytes, How::Atomic, writes, caller);
}

/// An atomic access orders its thread and others: one that writes before it is done, one that reads
/// afterwards.
fn atomic_order(address: usize, order: c_int, reads: bool, writes: bool) {
    if let Some(unit) = current() {
        race::atomic(unit, address, order, reads, writes);
    }
}

/// Changes of a word that answer what it was.
// ordering: device code's own accesses, in the strongest order.
macro_rules! changes {
    ($($method:ident)+) => {
        $(pub(super) unsafe extern "C" fn $method(
            at: *mut Word, value: Word, order: i32, caller: super::Caller,
        ) -> Word {
            super::atomic_access(at.addr(), SIZE, true, caller);
            super::atomic_order(at.addr(), order, false, true);
            // SAFETY: device code accesses this word; a wrong address is its fault.
            let before = unsafe { Atomic::from_ptr(at) }.$method(value, SeqCst);
            super::atomic_order(at.addr(), order, true, false);
            before
        })+
    };
}

/// Atomic accesses of one width: the calls, and what they do, in the strongest order.
// ordering: device code's own accesses, in the strongest order.
macro_rules! atomics {
    ($($module:ident, $atomic:ident, $word:ty, $call:literal;)+) => {$(
        mod $module {
            use std::sync::atomic::{$atomic as Atomic, Ordering::SeqCst};
            type Word = $word;
            const SIZE: usize = size_of::<$word>();

            /// # Safety
            ///
            /// Device code's own access, as all below.
            pub(super) unsafe extern "C" fn load(
                at: *mut $word, order: i32, caller: super::Caller,
            ) -> $word {
                super::atomic_access(at.addr(), SIZE, false, caller);
                // SAFETY: device code accesses this word; a wrong address is its fault.
                let value = unsafe { Atomic::from_ptr(at) }.load(SeqCst);
                super::atomic_order(at.addr(), order, true, false);
                crate::thread::current().into_iter().for_each(|unit| unit.own.watch.loaded());
                value
            }
            pub(super) unsafe extern "C" fn store(
                at: *mut $word, value: $word, order: i32, caller: super::Caller,
            ) {
                super::atomic_access(at.addr(), SIZE, true, caller);
                super::atomic_order(at.addr(), order, false, true);
                // SAFETY: as above.
                unsafe { Atomic::from_ptr(at) }.store(value, SeqCst);
            }
            changes!(swap fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_nand);
            pub(super) unsafe extern "C" fn value(
                at: *mut $word, old: $word, new: $word, order: i32, _: i32, caller: super::Caller,
            ) -> $word {
                super::atomic_access(at.addr(), SIZE, true, caller);
                super::atomic_order(at.addr(), order, false, true);
                // SAFETY: as above.
                let atomic = unsafe { Atomic::from_ptr(at) };
                let result = atomic.compare_exchange(old, new, SeqCst, SeqCst);
                super::atomic_order(at.addr(), order, true, false);
                result.unwrap_or_else(|seen| seen)
            }
            pub(super) unsafe extern "C" fn exchange(
                at: *mut $word, old: *mut $word, new: $word, order: i32, _: i32,
                caller: super::Caller,
            ) -> i32 {
                // SAFETY: as above; the caller's expected value is another place.
                unsafe {
                    let wanted = old.replace(value(at, *old, new, order, 0, caller));
                    i32::from(*old == wanted)
                }
            }
        }
        with_place! {
            concat!($call, "_load") => $module::load, "rdx", "x2";
            concat!($call, "_store") => $module::store, "rcx", "x3";
            concat!($call, "_compare_exchange_strong") => $module::exchange, "r9", "x5";
            concat!($call, "_compare_exchange_weak") => $module::exchange, "r9", "x5";
            concat!($call, "_compare_exchange_val") => $module::value, "r9", "x5";
            concat!($call, "_exchange") => $module::swap, "rcx", "x3";
            concat!($call, "_fetch_add") => $module::fetch_add, "rcx", "x3";
            concat!($call, "_fetch_sub") => $module::fetch_sub, "rcx", "x3";
            concat!($call, "_fetch_and") => $module::fetch_and, "rcx", "x3";
            concat!($call, "_fetch_or") => $module::fetch_or, "rcx", "x3";
            concat!($call, "_fetch_xor") => $module::fetch_xor, "rcx", "x3";
            concat!($call, "_fetch_nand") => $module::fetch_nand, "rcx", "x3";
        }
    )+};
}

atomics! {
    word8, AtomicU8, u8, "__tsan_atomic8";
    word16, AtomicU16, u16, "__tsan_atomic16";
    word32, AtomicU32, u32, "__tsan_atomic32";
    word64, AtomicU64, u64, "__tsan_atomic64";
}
