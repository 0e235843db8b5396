//! The calls that a compiler puts before accesses (`-fsanitize=thread`). dpacc links no runtime of
//! the compiler's, but these.

use super::access::{self, Access};
use crate::thread::{accessed, current};
use std::ffi::c_int;

/// Passes the return address on, as one more argument after `$after`.
macro_rules! with_place {
    ($($name:ident => $inner:path, $x86:literal, $arm:literal;)+) => {$(
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                concat!("mov ", $x86, ", [rsp]"), "jmp {inner}", inner = sym $inner
            )
        }

        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                concat!("mov ", $arm, ", x30"), "b {inner}", inner = sym $inner
            )
        }
    )+};
}

fn access(address: usize, (bytes, align): (usize, usize), writes: bool, place: usize) {
    if let Some(unit) = current() {
        access::check(unit, Access { address, bytes, align, writes, place });
        accessed(unit);
    }
}

extern "C" fn fixed<const BYTES: usize, const WRITES: bool>(address: usize, place: usize) {
    access(address, (BYTES, BYTES), WRITES, place);
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

with_place! {
    __tsan_read1 => fixed::<1, false>, "rsi", "x1";
    __tsan_read2 => fixed::<2, false>, "rsi", "x1";
    __tsan_read4 => fixed::<4, false>, "rsi", "x1";
    __tsan_read8 => fixed::<8, false>, "rsi", "x1";
    __tsan_read16 => fixed::<16, false>, "rsi", "x1";
    __tsan_write1 => fixed::<1, true>, "rsi", "x1";
    __tsan_write2 => fixed::<2, true>, "rsi", "x1";
    __tsan_write4 => fixed::<4, true>, "rsi", "x1";
    __tsan_write8 => fixed::<8, true>, "rsi", "x1";
    __tsan_write16 => fixed::<16, true>, "rsi", "x1";
    __tsan_unaligned_read2 => fixed::<2, false>, "rsi", "x1";
    __tsan_unaligned_read4 => fixed::<4, false>, "rsi", "x1";
    __tsan_unaligned_read8 => fixed::<8, false>, "rsi", "x1";
    __tsan_unaligned_read16 => fixed::<16, false>, "rsi", "x1";
    __tsan_unaligned_write2 => fixed::<2, true>, "rsi", "x1";
    __tsan_unaligned_write4 => fixed::<4, true>, "rsi", "x1";
    __tsan_unaligned_write8 => fixed::<8, true>, "rsi", "x1";
    __tsan_unaligned_write16 => fixed::<16, true>, "rsi", "x1";
    __tsan_read_range => range::<false>, "rdx", "x2";
    __tsan_write_range => range::<true>, "rdx", "x2";
    __tsan_func_entry => enter, "rsi", "x1";
    __tsan_memcpy => copy, "rcx", "x3";
    __tsan_memmove => copy, "rcx", "x3";
    __tsan_memset => fill, "rcx", "x3";
    // What the compiler leaves to the C library (`--wrap`).
    __wrap_memcpy => copy, "rcx", "x3";
    __wrap_memmove => copy, "rcx", "x3";
    __wrap_memset => fill, "rcx", "x3";
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

/// Atomic accesses of one width: the calls, and what they do, in the strongest order.
macro_rules! atomics {
    ($module:ident, $atomic:ident, $word:ty, $load:ident, $store:ident, $strong:ident, $weak:ident,
     $value:ident, $($change:ident: $method:ident),+) => {
        mod $module {
            use std::sync::atomic::{$atomic as Atomic, Ordering::SeqCst};
            const SIZE: (usize, usize) = (size_of::<$word>(), size_of::<$word>());

            /// # Safety
            ///
            /// Device code's own access, as all below.
            pub(super) unsafe extern "C" fn load(at: *mut $word, _: i32, place: usize) -> $word {
                super::access(at.addr(), SIZE, false, place);
                // SAFETY: device code accesses this word; a wrong address is its fault.
                unsafe { Atomic::from_ptr(at) }.load(SeqCst)
            }
            pub(super) unsafe extern "C" fn store(at: *mut $word, value: $word, _: i32, place: usize) {
                super::access(at.addr(), SIZE, true, place);
                // SAFETY: as above.
                unsafe { Atomic::from_ptr(at) }.store(value, SeqCst);
            }
            $(pub(super) unsafe extern "C" fn $method(
                at: *mut $word, value: $word, _: i32, place: usize,
            ) -> $word {
                super::access(at.addr(), SIZE, true, place);
                // SAFETY: as above.
                unsafe { Atomic::from_ptr(at) }.$method(value, SeqCst)
            })+
            pub(super) unsafe extern "C" fn exchange(
                at: *mut $word, old: *mut $word, new: $word, _: i32, _: i32, place: usize,
            ) -> i32 {
                super::access(at.addr(), SIZE, true, place);
                // SAFETY: as above; the caller's expected value is a place of its own.
                unsafe {
                    match Atomic::from_ptr(at).compare_exchange(*old, new, SeqCst, SeqCst) {
                        Ok(_) => 1,
                        Err(seen) => {
                            *old = seen;
                            0
                        }
                    }
                }
            }
            pub(super) unsafe extern "C" fn value(
                at: *mut $word, old: $word, new: $word, _: i32, _: i32, place: usize,
            ) -> $word {
                super::access(at.addr(), SIZE, true, place);
                // SAFETY: as above.
                let atomic = unsafe { Atomic::from_ptr(at) };
                atomic.compare_exchange(old, new, SeqCst, SeqCst).unwrap_or_else(|seen| seen)
            }
        }
        with_place! {
            $load => $module::load, "rdx", "x2";
            $store => $module::store, "rcx", "x3";
            $strong => $module::exchange, "r9", "x5";
            $weak => $module::exchange, "r9", "x5";
            $value => $module::value, "r9", "x5";
            $($change => $module::$method, "rcx", "x3";)+
        }
    };
}

atomics!(
    word8, AtomicU8, u8, __tsan_atomic8_load, __tsan_atomic8_store,
    __tsan_atomic8_compare_exchange_strong, __tsan_atomic8_compare_exchange_weak, __tsan_atomic8_compare_exchange_val,
    __tsan_atomic8_exchange: swap, __tsan_atomic8_fetch_add: fetch_add, __tsan_atomic8_fetch_sub: fetch_sub,
    __tsan_atomic8_fetch_and: fetch_and, __tsan_atomic8_fetch_or: fetch_or, __tsan_atomic8_fetch_xor: fetch_xor,
    __tsan_atomic8_fetch_nand: fetch_nand
);

atomics!(
    word16, AtomicU16, u16, __tsan_atomic16_load, __tsan_atomic16_store,
    __tsan_atomic16_compare_exchange_strong, __tsan_atomic16_compare_exchange_weak, __tsan_atomic16_compare_exchange_val,
    __tsan_atomic16_exchange: swap, __tsan_atomic16_fetch_add: fetch_add, __tsan_atomic16_fetch_sub: fetch_sub,
    __tsan_atomic16_fetch_and: fetch_and, __tsan_atomic16_fetch_or: fetch_or, __tsan_atomic16_fetch_xor: fetch_xor,
    __tsan_atomic16_fetch_nand: fetch_nand
);

atomics!(
    word32, AtomicU32, u32, __tsan_atomic32_load, __tsan_atomic32_store,
    __tsan_atomic32_compare_exchange_strong, __tsan_atomic32_compare_exchange_weak, __tsan_atomic32_compare_exchange_val,
    __tsan_atomic32_exchange: swap, __tsan_atomic32_fetch_add: fetch_add, __tsan_atomic32_fetch_sub: fetch_sub,
    __tsan_atomic32_fetch_and: fetch_and, __tsan_atomic32_fetch_or: fetch_or, __tsan_atomic32_fetch_xor: fetch_xor,
    __tsan_atomic32_fetch_nand: fetch_nand
);

atomics!(
    word64, AtomicU64, u64, __tsan_atomic64_load, __tsan_atomic64_store,
    __tsan_atomic64_compare_exchange_strong, __tsan_atomic64_compare_exchange_weak, __tsan_atomic64_compare_exchange_val,
    __tsan_atomic64_exchange: swap, __tsan_atomic64_fetch_add: fetch_add, __tsan_atomic64_fetch_sub: fetch_sub,
    __tsan_atomic64_fetch_and: fetch_and, __tsan_atomic64_fetch_or: fetch_or, __tsan_atomic64_fetch_xor: fetch_xor,
    __tsan_atomic64_fetch_nand: fetch_nand
);
