//! The calls that a compiler puts before accesses (`-fsanitize=thread`). dpacc links no runtime of
//! the compiler's, but these.

use super::access::{self, Access};
use crate::thread::{accessed, current};
use std::ffi::c_int;

/// Exports calls that pass the return address on, as one more argument in `$x86` or `$arm`.
macro_rules! with_place {
    ($($name:expr => $inner:path, $x86:literal, $arm:literal;)+) => {$(const _: () = {
        #[unsafe(naked)]
        #[unsafe(export_name = $name)]
        unsafe extern "C" fn call() {
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!(
                concat!("mov ", $x86, ", [rsp]"), "jmp {inner}", inner = sym $inner
            );
            #[cfg(target_arch = "aarch64")]
            std::arch::naked_asm!(
                concat!("mov ", $arm, ", x30"), "b {inner}", inner = sym $inner
            );
        }
    };)+};
}
pub(crate) use with_place;

// Inlined: the compiler then knows the length and what is done.
#[inline(always)]
fn access_here(address: usize, (bytes, align): (usize, usize), writes: bool, place: usize) {
    if let Some(unit) = current() {
        access::check(
            unit,
            Access {
                address,
                bytes,
                align,
                writes,
                place,
            },
        );
        accessed(unit);
    }
}

fn access(address: usize, size: (usize, usize), writes: bool, place: usize) {
    access_here(address, size, writes, place);
}

extern "C" fn fixed<const BYTES: usize, const WRITES: bool>(address: usize, place: usize) {
    access_here(address, (BYTES, BYTES), WRITES, place);
}

extern "C" fn range<const WRITES: bool>(address: usize, bytes: usize, place: usize) {
    if bytes > 0 {
        access(address, (bytes, 1), WRITES, place);
    }
}

extern "C" fn enter(caller: usize, place: usize) {
    let here = 0_u8;
    if let Some(unit) = current() {
        access::enter(unit, std::ptr::from_ref(&here).addr(), place);
    }
    let _ = caller;
}

/// Accesses of a fixed number of bytes.
macro_rules! accesses {
    ($($bytes:literal)+) => {
        with_place! {$(
            concat!("__tsan_read", $bytes) => fixed::<$bytes, false>, "rsi", "x1";
            concat!("__tsan_write", $bytes) => fixed::<$bytes, true>, "rsi", "x1";
            concat!("__tsan_unaligned_read", $bytes) => fixed::<$bytes, false>, "rsi", "x1";
            concat!("__tsan_unaligned_write", $bytes) => fixed::<$bytes, true>, "rsi", "x1";
        )+}
    };
}

accesses!(1 2 4 8 16);

with_place! {
    "__tsan_read_range" => range::<false>, "rdx", "x2";
    "__tsan_write_range" => range::<true>, "rdx", "x2";
    "__tsan_func_entry" => enter, "rsi", "x1";
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
extern "C" fn __tsan_func_exit() {}

/// # Safety
///
/// Device code's own copy: both ranges have that many bytes.
unsafe extern "C" fn copy(to: *mut u8, from: *const u8, bytes: usize, place: usize) -> *mut u8 {
    range::<false>(from.addr(), bytes, place);
    range::<true>(to.addr(), bytes, place);
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy(from, to, bytes) };
    to
}

/// # Safety
///
/// Device code's own: the range has that many bytes.
unsafe extern "C" fn fill(to: *mut u8, byte: c_int, bytes: usize, place: usize) -> *mut u8 {
    range::<true>(to.addr(), bytes, place);
    // SAFETY: the caller's promise.
    unsafe { std::ptr::write_bytes(to, byte as u8, bytes) };
    to
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(_order: c_int) {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_order: c_int) {}

/// Changes of a word that answer what it was.
macro_rules! changes {
    ($($method:ident)+) => {
        $(pub(super) unsafe extern "C" fn $method(
            at: *mut Word, value: Word, _: i32, place: usize,
        ) -> Word {
            super::access(at.addr(), SIZE, true, place);
            // SAFETY: device code accesses this word; a wrong address is its fault.
            unsafe { Atomic::from_ptr(at) }.$method(value, SeqCst)
        })+
    };
}

/// Atomic accesses of one width: the calls, and what they do, in the strongest order.
macro_rules! atomics {
    ($($module:ident, $atomic:ident, $word:ty, $call:literal;)+) => {$(
        mod $module {
            use std::sync::atomic::{$atomic as Atomic, Ordering::SeqCst};
            type Word = $word;
            const SIZE: (usize, usize) = (size_of::<$word>(), size_of::<$word>());

            /// # Safety
            ///
            /// Device code's own access, as all below.
            pub(super) unsafe extern "C" fn load(at: *mut $word, _: i32, place: usize) -> $word {
                super::access(at.addr(), SIZE, false, place);
                // SAFETY: device code accesses this word; a wrong address is its fault.
                let value = unsafe { Atomic::from_ptr(at) }.load(SeqCst);
                crate::thread::current().into_iter().for_each(|unit| unit.own.watch.loaded());
                value
            }
            pub(super) unsafe extern "C" fn store(at: *mut $word, value: $word, _: i32, place: usize) {
                super::access(at.addr(), SIZE, true, place);
                // SAFETY: as above.
                unsafe { Atomic::from_ptr(at) }.store(value, SeqCst);
            }
            changes!(swap fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_nand);
            pub(super) unsafe extern "C" fn value(
                at: *mut $word, old: $word, new: $word, _: i32, _: i32, place: usize,
            ) -> $word {
                super::access(at.addr(), SIZE, true, place);
                // SAFETY: as above.
                let atomic = unsafe { Atomic::from_ptr(at) };
                atomic.compare_exchange(old, new, SeqCst, SeqCst).unwrap_or_else(|seen| seen)
            }
            pub(super) unsafe extern "C" fn exchange(
                at: *mut $word, old: *mut $word, new: $word, _: i32, _: i32, place: usize,
            ) -> i32 {
                // SAFETY: as above; the caller's expected value is a place of its own.
                unsafe {
                    let wanted = old.replace(value(at, *old, new, 0, 0, place));
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
