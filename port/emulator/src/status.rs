//! How calls answer: a status code of the API, and one line of why when they refuse.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Status {
    Success = 0,
    Failed = 1,
    Fatal = 3,
}

#[derive(Debug)]
pub(crate) struct Refusal {
    status: Status,
    why: String,
}

impl Refusal {
    /// A refusal because the process has ended.
    pub(crate) fn fatal(why: impl Into<String>) -> Self {
        Self { status: Status::Fatal, why: why.into() }
    }
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self { status: Status::Failed, why }
    }
}

impl From<&str> for Refusal {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// Runs a host's call: a refusal becomes a status and one line.
pub(crate) fn host(call: &str, work: impl FnOnce() -> Result<(), Refusal>) -> i32 {
    // A panic must not cross the border to C. What it leaves behind is behind locks.
    let result = catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err("the emulator itself failed".into()));
    match result {
        Ok(()) => Status::Success as i32,
        Err(refusal) => {
            crate::check::line(format_args!("{call}: {refusal}"));
            refusal.status as i32
        }
    }
}

/// Runs a host's call that answers with a value, or with `none` and one line.
pub(crate) fn value<T>(call: &str, none: T, work: impl FnOnce() -> Result<T, Refusal>) -> T {
    let mut found = none;
    host(call, || {
        found = work()?;
        Ok(())
    });
    found
}

/// Writes a call's result where the host wants it.
///
/// # Safety
///
/// `place` is null or points to a place for a `T`, as the API demands of its callers.
pub(crate) unsafe fn put<T>(place: *mut T, found: T) -> Result<(), Refusal> {
    if place.is_null() {
        return Err("no place for the result".into());
    }
    // SAFETY: not null, and the caller's promise.
    unsafe { place.write(found) };
    Ok(())
}

/// The attributes that a host passes.
///
/// # Safety
///
/// `attributes` is null or points to a `T`, as the API demands of its callers.
pub(crate) unsafe fn attributes<'a, T>(attributes: *const T) -> Result<&'a T, Refusal> {
    // SAFETY: the caller's promise; the call's borrow ends before the host goes on.
    unsafe { attributes.as_ref() }.ok_or_else(|| "no attributes".into())
}
