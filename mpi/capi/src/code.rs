//! Codes and error messages.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use dpamatch::SendError;
use dpamatch::endpoint::{EndpointError, PostError, RecvError, Stopped};

/// Success.
pub const DPAMATCH_OK: i32 = 0;
/// Try again: the receiver is not ready (try_send), or the communicator is in use (comm_free).
pub const DPAMATCH_AGAIN: i32 = 1;
/// An argument is invalid: a null pointer, a handle of another endpoint, a rank or tag out of
/// range.
pub const DPAMATCH_ERR_ARGUMENT: i32 = 2;
/// An option is unknown or has an invalid value, or the options do not fit together.
pub const DPAMATCH_ERR_OPTION: i32 = 3;
/// The system has no thread or no memory left.
pub const DPAMATCH_ERR_SYSTEM: i32 = 4;
/// Another thread is inside a call with this endpoint.
pub const DPAMATCH_ERR_BUSY: i32 = 5;
/// The communicator's hints exclude the wildcard.
pub const DPAMATCH_ERR_WILDCARD: i32 = 6;
/// The message is longer than the buffer, which holds its beginning. The receive is over.
pub const DPAMATCH_ERR_TRUNCATED: i32 = 7;
/// The receive was cancelled. It is over.
pub const DPAMATCH_ERR_CANCELLED: i32 = 8;
/// The message is too long to send.
pub const DPAMATCH_ERR_TOO_LONG: i32 = 9;
/// The thread would wait for itself: it is the one that runs the receiver.
pub const DPAMATCH_ERR_OWN_THREAD: i32 = 10;
/// The receiver dropped the message without receiving it.
pub const DPAMATCH_ERR_NOT_RECEIVED: i32 = 11;
/// The emulated NIC has stopped, or its endpoint is gone.
pub const DPAMATCH_ERR_STOPPED: i32 = 12;
/// A fault of this library.
pub const DPAMATCH_ERR_INTERNAL: i32 = 13;

/// The version of this interface. It rises when programs built with an older header would no longer
/// work.
pub const DPAMATCH_ABI_VERSION: i32 = 1;

/// A code with its message.
#[derive(Debug)]
pub(crate) struct Failure {
    code: i32,
    pub(crate) words: String,
}

impl Failure {
    pub(crate) fn new(code: i32, words: impl Into<String>) -> Self {
        Self {
            code,
            words: words.into(),
        }
    }

    pub(crate) fn argument(words: &str) -> Self {
        Self::new(DPAMATCH_ERR_ARGUMENT, words)
    }

    /// Whether the endpoint has stopped or was destroyed.
    pub(crate) fn is_stopped(&self) -> bool {
        self.code == DPAMATCH_ERR_STOPPED
    }
}

impl From<Stopped> for Failure {
    fn from(error: Stopped) -> Self {
        Self::new(DPAMATCH_ERR_STOPPED, error.to_string())
    }
}

impl From<EndpointError> for Failure {
    fn from(error: EndpointError) -> Self {
        let code = match error {
            EndpointError::Config(_) => DPAMATCH_ERR_OPTION,
            _ => DPAMATCH_ERR_SYSTEM,
        };
        Self::new(code, error.to_string())
    }
}

impl From<&PostError> for Failure {
    fn from(error: &PostError) -> Self {
        let code = match error {
            PostError::WildcardExcluded(_) => DPAMATCH_ERR_WILDCARD,
            PostError::Stopped(_) => DPAMATCH_ERR_STOPPED,
            _ => DPAMATCH_ERR_INTERNAL,
        };
        Self::new(code, error.to_string())
    }
}

impl From<RecvError> for Failure {
    fn from(error: RecvError) -> Self {
        let code = match error {
            RecvError::Truncated { .. } => DPAMATCH_ERR_TRUNCATED,
            RecvError::Cancelled(_) => DPAMATCH_ERR_CANCELLED,
            RecvError::WildcardExcluded(_) => DPAMATCH_ERR_WILDCARD,
            RecvError::Stopped => DPAMATCH_ERR_STOPPED,
            _ => DPAMATCH_ERR_INTERNAL,
        };
        Self::new(code, error.to_string())
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        let code = match error {
            SendError::ReceiverNotReady => DPAMATCH_AGAIN,
            SendError::TooLong { .. } => DPAMATCH_ERR_TOO_LONG,
            SendError::OwnThread => DPAMATCH_ERR_OWN_THREAD,
            SendError::NotReceived => DPAMATCH_ERR_NOT_RECEIVED,
            SendError::Stopped => DPAMATCH_ERR_STOPPED,
            _ => DPAMATCH_ERR_INTERNAL,
        };
        Self::new(code, error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs the body of an interface function and turns its outcome into a code.
pub(crate) fn guarded(inside: impl FnOnce() -> Result<(), Failure>) -> i32 {
    // A panic leaves an endpoint that every further call may use: its checks come before its
    // changes, and an emulated NIC that panics has stopped.
    let failure = match catch_unwind(AssertUnwindSafe(inside)) {
        Ok(Ok(())) => return DPAMATCH_OK,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::new(DPAMATCH_ERR_INTERNAL, words_of(panic.as_ref())),
    };
    let words = failure.words.replace('\0', " ");
    // A thread that is ending cannot store the message any more.
    let _ = LAST.try_with(|last| {
        if let (Ok(mut last), Ok(words)) = (last.try_borrow_mut(), CString::new(words)) {
            *last = words;
        }
    });
    failure.code
}

/// Refuses a length that no message has.
pub(crate) fn check_length(length: usize) -> Result<(), Failure> {
    match u32::try_from(length) {
        Ok(_) => Ok(()),
        Err(_) => {
            let words = format!("{length} bytes, and a message has less than 4 GiB");
            Err(Failure::new(DPAMATCH_ERR_TOO_LONG, words))
        }
    }
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("a fault of this library: {}", text.unwrap_or("unknown"))
}

/// The version of the interface that the library speaks: DPAMATCH_ABI_VERSION of its header.
#[unsafe(no_mangle)]
pub extern "C" fn dpamatch_abi_version() -> i32 {
    DPAMATCH_ABI_VERSION
}

/// A short description of a code. Never null; the text lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn dpamatch_error_text(code: i32) -> *const c_char {
    let text: &CStr = match code {
        DPAMATCH_OK => c"success",
        DPAMATCH_AGAIN => c"try again later",
        DPAMATCH_ERR_ARGUMENT => c"invalid argument",
        DPAMATCH_ERR_OPTION => c"invalid option",
        DPAMATCH_ERR_SYSTEM => c"the system has no thread or no memory left",
        DPAMATCH_ERR_BUSY => c"another thread uses the endpoint",
        DPAMATCH_ERR_WILDCARD => c"the hints exclude the wildcard",
        DPAMATCH_ERR_TRUNCATED => c"the message is longer than the buffer",
        DPAMATCH_ERR_CANCELLED => c"the receive was cancelled",
        DPAMATCH_ERR_TOO_LONG => c"the message is too long to send",
        DPAMATCH_ERR_OWN_THREAD => c"the thread would wait for itself",
        DPAMATCH_ERR_NOT_RECEIVED => c"no receiver takes the message",
        DPAMATCH_ERR_STOPPED => c"the emulated NIC has stopped",
        DPAMATCH_ERR_INTERNAL => c"internal error of the library",
        _ => c"unknown code",
    };
    text.as_ptr()
}

/// The message of the calling thread's last failed call, with names and numbers. Never null; the
/// text lives until the thread's next call.
#[unsafe(no_mangle)]
pub extern "C" fn dpamatch_last_error() -> *const c_char {
    let text = LAST.try_with(|last| last.try_borrow().map_or(c"".as_ptr(), |last| last.as_ptr()));
    text.unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn each_error_has_its_code_and_each_code_its_text() {
        let mut said = String::new();
        for code in -1..=DPAMATCH_ERR_INTERNAL + 1 {
            // SAFETY: a literal.
            let text = unsafe { CStr::from_ptr(dpamatch_error_text(code)) }.to_string_lossy();
            let _ = writeln!(said, "{code} {text}");
        }
        let status = dpamatch::endpoint::Status {
            source: dpamatch::Rank::default(),
            tag: dpamatch::Tag::default(),
            bytes: 3,
            arrival: 0,
        };
        let received = dpamatch::endpoint::Received {
            buffer: vec![0; 3],
            status,
        };
        let bad = dpamatch::NicConfig {
            handlers: 0,
            ..Default::default()
        };
        let bad = bad.validate().expect_err("no NIC has 0 handlers");
        let failures: [Failure; 14] = [
            Stopped.into(),
            EndpointError::Config(bad).into(),
            EndpointError::Thread(std::io::ErrorKind::OutOfMemory.into()).into(),
            (&PostError::Stopped(vec![1])).into(),
            (&PostError::WildcardExcluded(vec![1])).into(),
            RecvError::Truncated { received, sent: 5 }.into(),
            RecvError::Cancelled(vec![1]).into(),
            RecvError::WildcardExcluded(vec![1]).into(),
            RecvError::Stopped.into(),
            SendError::ReceiverNotReady.into(),
            SendError::TooLong {
                length: 7,
                limit: 6,
            }
            .into(),
            SendError::OwnThread.into(),
            SendError::NotReceived.into(),
            SendError::Stopped.into(),
        ];
        for Failure { code, words } in failures {
            let _ = writeln!(said, "{words}: {code}");
        }
        assert_eq!(said, include_str!("codes.txt"));
    }
}
