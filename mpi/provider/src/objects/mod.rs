//! The objects that C programs hold. Each begins with libfabric's part, and continues with its
//! domain and its number there.
//!
//! **Facts on which every `unsafe` block here rests** (libfabric's rules for programs): a pointer
//! to an object comes from this provider and was not closed; pointers to attributes, buffers and
//! results are valid for the call; buffers of an operation stay valid until it completes; objects
//! are closed after those that were bound to them.

/// C functions that only return an error.
macro_rules! refusals {
    ($($name:ident($($arg:ty),*) = $error:ident;)*) => {
        $(unsafe extern "C" fn $name($(_: $arg),*) -> c_int {
            -$error
        })*
    };
}

/// `Some` of what a function takes, or `None` if it takes nothing.
macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

mod av;
mod clock;
mod cntr;
mod cq;
mod domain;
mod endpoint;
mod eq;
mod fabric;
mod messages;
mod mr;
mod rma;

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

#[cfg(test)]
pub(crate) use clock::Clock;
#[cfg(test)]
pub(crate) use cntr::wait_by;
#[cfg(test)]
pub(crate) use cq::sread_by as cq_sread_by;
pub(crate) use eq::Events;
#[cfg(test)]
pub(crate) use eq::sread_by as eq_sread_by;
pub(crate) use fabric::fabric;

use crate::bindings::*;
use crate::endpoint::State;
use crate::gate::Gate;

#[repr(C)]
#[derive(Debug)]
struct Object<C> {
    /// libfabric's part; first, so that both have one address.
    c: C,
    gate: Arc<Gate>,
    /// Its number among the objects of its kind.
    index: usize,
}

impl<C> Object<C> {
    /// Hands an object over to the program.
    ///
    /// # Safety
    /// `out` is the program's place for it.
    unsafe fn write_to(self, out: *mut *mut C) {
        // SAFETY: the caller's promise; the object's address is that of its first field.
        unsafe { *out = Box::into_raw(Box::new(self)).cast() };
    }

    /// The object behind a pointer that the program holds.
    ///
    /// # Safety
    /// It was given by [`give`](Self::give) and not taken back.
    unsafe fn of<'a, P>(pointer: *mut P) -> &'a Self {
        // SAFETY: the caller's promise.
        unsafe { &*pointer.cast::<Self>() }
    }

    /// Takes an object back.
    ///
    /// # Safety
    /// The conditions of [`of`](Self::of), and the program does not use the object any more.
    unsafe fn take<P>(pointer: *mut P) -> Box<Self> {
        // SAFETY: the caller's promise.
        unsafe { Box::from_raw(pointer.cast::<Self>()) }
    }

    #[inline(always)]
    fn enter<R>(&self, inside: impl FnOnce(&mut State, usize) -> R) -> R {
        self.gate.enter(|state| inside(state, self.index))
    }
}

/// The part that every object begins with.
fn fid(fclass: usize, context: *mut c_void, ops: &'static Ops) -> Fid {
    Fid {
        fclass,
        context,
        ops,
    }
}

/// The list that C gives as a pointer and a length.
///
/// # Safety
/// `iov` begins `count` entries that live as long as the result is used.
unsafe fn list<'a>(iov: *const IoVec, count: usize) -> &'a [IoVec] {
    if count == 0 || iov.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(iov, count) }
}

refusals! {
    no_bind(*mut Fid, *mut Fid, u64) = FI_ENOSYS;
    no_control(*mut Fid, c_int, *mut c_void) = FI_ENOSYS;
    no_ops_open(*mut Fid, *const c_char, u64, *mut *mut c_void, *mut c_void) = FI_ENOSYS;
}

/// The operations of every object, with its own `close`.
const fn common_ops(close: unsafe extern "C" fn(*mut Fid) -> c_int) -> Ops {
    Ops {
        close: Some(close),
        bind: Some(no_bind),
        control: Some(no_control),
        ops_open: Some(no_ops_open),
        ..Ops::NONE
    }
}

/// The text of an error number of a queue. The buffer has `length` bytes, or is null.
unsafe extern "C" fn strerror<Queue>(
    _: *mut Queue,
    error: c_int,
    _: *const c_void,
    buffer: *mut c_char,
    length: usize,
) -> *const c_char {
    let text: &std::ffi::CStr = match error {
        FI_ETRUNC => c"message longer than the receive's buffer",
        FI_ECANCELED => c"receive cancelled",
        FI_ENOMSG => c"no message",
        FI_ECONNRESET => c"peer gone",
        FI_EACCES => c"memory not registered for this access",
        _ => c"error",
    };
    if !buffer.is_null() {
        // SAFETY: the program's buffer.
        unsafe { put_text(text.to_bytes(), buffer, length) };
    }
    text.as_ptr()
}

/// Puts as much of a text into the buffer as fits before a zero.
///
/// # Safety
/// The buffer has `length` bytes.
unsafe fn put_text(text: &[u8], buffer: *mut c_char, length: usize) {
    if length > 0 {
        let count = text.len().min(length - 1);
        // SAFETY: `count` bytes and the zero after them fit in the buffer.
        unsafe {
            buffer
                .cast::<u8>()
                .copy_from_nonoverlapping(text.as_ptr(), count);
            buffer.add(count).write(0);
        }
    }
}

/// Enters a domain.
///
/// # Safety
/// A domain of this provider.
#[cfg(test)]
pub(crate) unsafe fn in_domain<R>(
    domain: *mut FidDomain,
    inside: impl FnOnce(&mut State) -> R,
) -> R {
    // SAFETY: the caller's promise.
    unsafe { Object::<FidDomain>::of(domain) }.enter(|state, _| inside(state))
}
