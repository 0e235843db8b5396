//! How calls answer: a status code of the API, and one line of why when they refuse.

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
    pub(crate) status: Status,
    pub(crate) why: String,
}

impl Refusal {
    /// A refusal because the process has ended.
    pub(crate) fn fatal(why: impl Into<String>) -> Self {
        Self {
            status: Status::Fatal,
            why: why.into(),
        }
    }
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self {
            status: Status::Failed,
            why,
        }
    }
}

impl From<&str> for Refusal {
    fn from(why: &str) -> Self {
        why.to_owned().into()
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
            let text = format_args!("{call}: {}", refusal.why);
            crate::check::error(crate::check::Fault::Call, text);
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

/// A pointer as C passes it: null, or good for one `T` during the call. Only C makes one.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Given<T>(*mut T);

impl<T> Given<T> {
    pub(crate) fn pointer(&self) -> *mut T {
        self.0
    }
}

/// Writes a call's result where the host wants it.
pub(crate) fn put<T>(place: Given<T>, found: T) -> Result<(), Refusal> {
    if place.0.is_null() {
        return Err("no place for the result".into());
    }
    // SAFETY: not null, and so good for a `T`. It may lie in other memory of the host's.
    unsafe { place.0.write(found) };
    Ok(())
}

/// The attributes that a host passes, if it does.
pub(crate) fn given<'a, T>(attributes: Given<T>) -> Option<&'a T> {
    // SAFETY: null, or good for a `T`; the call's borrow ends before the host goes on.
    unsafe { attributes.0.as_ref() }
}

/// The attributes that a host has to pass.
pub(crate) fn attributes<'a, T>(attributes: Given<T>) -> Result<&'a T, Refusal> {
    given(attributes).ok_or_else(|| "no attributes".into())
}

/// Calls of the API. Each has its name once. A call without a result answers with a status; one
/// with a result names its value for a refusal.
macro_rules! calls {
    ($(
        $(#[$about:meta])*
        fn $call:ident($($name:ident: $kind:ty),*) $(-> $answer:ty = $none:expr =>)? $work:block
    )+) => {$(
        $(#[$about])*
        #[unsafe(no_mangle)]
        extern "C" fn $call($($name: $kind),*) -> calls!(@answer $($answer)?) {
            calls!(@run $call, || $work $(, $none)?)
        }
    )+};
    (@answer) => { i32 };
    (@answer $answer:ty) => { $answer };
    (@run $call:ident, $work:expr) => { $crate::status::host(stringify!($call), $work) };
    (@run $call:ident, $work:expr, $none:expr) => {
        $crate::status::value(stringify!($call), $none, $work)
    };
}
pub(crate) use calls;
