//! Counters.

use std::ffi::{c_int, c_void};
use std::time::Duration;

use super::clock::{Clock, System, Wait};
use super::{Object, common_ops, fid};
use crate::bindings::*;
use crate::endpoint::Counter;

static FID_OPS: Ops = common_ops(close);
static OPS: OpsCntr = OpsCntr {
    read: Some(read),
    readerr: Some(readerr),
    add: Some(add),
    set: Some(set),
    wait: Some(wait),
    adderr: Some(adderr),
    seterr: Some(seterr),
    ..OpsCntr::NONE
};

pub(super) unsafe extern "C" fn open(
    domain: *mut FidDomain,
    attr: *mut CntrAttr,
    out: *mut *mut FidCntr,
    context: *mut c_void,
) -> c_int {
    // SAFETY: see `objects`.
    unsafe {
        let wait = attr.as_ref().map_or(FI_WAIT_NONE, |attr| attr.wait_obj);
        let bytes = attr.as_ref().is_some_and(|attr| attr.events != 0);
        if !matches!(wait, FI_WAIT_NONE | FI_WAIT_UNSPEC | FI_WAIT_YIELD) || bytes {
            return -FI_ENOSYS;
        }
        let domain = Object::<FidDomain>::of(domain);
        let index = domain.enter(|state, _| state.common.counters.insert(Counter::default()));
        let c = FidCntr {
            fid: fid(FI_CLASS_CNTR, context, &FID_OPS),
            ops: &OPS,
        };
        Object {
            c,
            gate: domain.gate.clone(),
            index,
        }
        .write_to(out);
    }
    0
}

unsafe extern "C" fn close(counter: *mut Fid) -> c_int {
    // SAFETY: see `objects`.
    let counter = unsafe { Object::<FidCntr>::take(counter) };
    counter.enter(|state, index| {
        state.common.counters.try_remove(index);
        // A later counter may get its number.
        for (_, endpoint) in &mut state.endpoints {
            endpoint.forget_counter(index);
        }
    });
    0
}

/// Makes progress and reads the counter.
///
/// # Safety
/// A counter of this provider.
unsafe fn progress_and_read<R>(counter: *mut FidCntr, inside: impl FnOnce(&mut Counter) -> R) -> R {
    // SAFETY: the caller's promise.
    unsafe { Object::<FidCntr>::of(counter) }.enter(|state, index| {
        let endpoints = std::mem::take(&mut state.common.counters[index].endpoints);
        state.progress(&endpoints);
        let counter = &mut state.common.counters[index];
        counter.endpoints = endpoints;
        inside(counter)
    })
}

/// Operations that read a number of the counter, and operations that change one.
macro_rules! numbers {
    ($($read:ident, $add:ident, $set:ident: $number:ident;)*) => {$(
        unsafe extern "C" fn $read(counter: *mut FidCntr) -> u64 {
            // SAFETY: see `objects`.
            unsafe { progress_and_read(counter, |counter| counter.$number) }
        }

        unsafe extern "C" fn $add(counter: *mut FidCntr, value: u64) -> c_int {
            let add = |counter: &mut Counter| counter.$number = counter.$number.wrapping_add(value);
            // SAFETY: see `objects`.
            unsafe { progress_and_read(counter, add) };
            0
        }

        unsafe extern "C" fn $set(counter: *mut FidCntr, value: u64) -> c_int {
            // SAFETY: see `objects`.
            unsafe { progress_and_read(counter, |counter| counter.$number = value) };
            0
        }
    )*};
}

numbers! {
    read, add, set: value;
    readerr, adderr, seterr: errors;
}

unsafe extern "C" fn wait(counter: *mut FidCntr, threshold: u64, timeout: c_int) -> c_int {
    // SAFETY: the conditions of this call.
    unsafe { wait_by(&mut System, counter, threshold, timeout) }
}

/// [`wait`] by this clock.
///
/// # Safety
/// The caller keeps the conditions that libfabric states for the call.
pub(crate) unsafe fn wait_by(
    clock: &mut impl Clock,
    counter: *mut FidCntr,
    threshold: u64,
    timeout: c_int,
) -> c_int {
    let mut wait = Wait::new(clock, timeout);
    // SAFETY: see `objects`.
    let errors = unsafe { progress_and_read(counter, |counter| counter.errors) };
    loop {
        // SAFETY: see `objects`.
        let (value, now) =
            unsafe { progress_and_read(counter, |counter| (counter.value, counter.errors)) };
        if value >= threshold {
            return 0;
        }
        if now != errors {
            return -FI_EAVAIL;
        }
        if wait.left(Duration::MAX).is_none() {
            return -FI_ETIMEDOUT;
        }
    }
}
