//! Calls that exist and are not emulated. The table is the headers' own.

use super::{Error, Handle, calls};
use crate::check::{Caller, Fault};
use crate::thread::{current, end_process};
use std::ffi::{CStr, c_char};

macro_rules! refused {
    ($($call:ident)+) => {calls! {$(
        fn $call() { Error::NotSupported.because("the call is not emulated") }
    )+}};
}

/// A refused call whose result is a pointer returns null.
macro_rules! null {
    ($($call:ident)+) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $call() -> Handle {
            let why = "the call is not emulated";
            super::host(stringify!($call), || Error::NotSupported.because(why));
            std::ptr::null_mut()
        }
    )+};
}

include!(concat!(env!("OUT_DIR"), "/refused.rs"));

/// A context is its object: both have one handle.
#[unsafe(no_mangle)]
extern "C" fn doca_rdma_as_ctx(rdma: Handle) -> Handle {
    rdma
}

/// Device code calls what is not there: its process is in an error state, and it never comes back.
pub(super) extern "C" fn by_device(call: *const c_char, caller: Caller) -> u64 {
    let Some(unit) = current() else { return 0 };
    // SAFETY: the header passes a text.
    let call = unsafe { CStr::from_ptr(call) }.to_string_lossy();
    let text = format_args!("{call} is not emulated; the process is in error state 1");
    super::device::fault(unit, caller, Fault::NotPermitted, text);
    drop(call);
    end_process(unit);
    0
}
