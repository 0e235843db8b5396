//! Posting, testing, waiting for and cancelling receives.
//!
//! The NIC writes into a buffer of this library, and the test or wait that ends the receive copies
//! the message to the program's memory. So only the thread that tests or waits touches that memory.
//! A receive that is cancelled, released or lost with its endpoint never writes to it.

use std::ffi::c_void;

use dpamatch::endpoint::{Received, RecvError, RecvRequest};

use crate::code::{DPAMATCH_ERR_STOPPED, DPAMATCH_ERR_TRUNCATED, Failure, check_length, guarded};
use crate::communicator::{Comm, of};
use crate::endpoint::{Endpoint, Inside, Name, with};
use crate::status::{Status, forget, source_of, tag_or_any, tell};

/// A posted receive whose end the program has not seen.
#[derive(Debug)]
pub struct Request {
    home: Name,
    inner: Option<RecvRequest>,
    target: *mut u8,
}

impl Request {
    /// Puts a handle for a receive of this endpoint into `place`.
    ///
    /// # Safety
    /// The endpoint is alive; `place` can be written.
    pub(crate) unsafe fn give(
        place: *mut *mut Self,
        endpoint: *const Endpoint,
        inner: RecvRequest,
        target: *mut c_void,
    ) -> Result<(), Failure> {
        // SAFETY: the caller's promise.
        let home = unsafe { Name::of(endpoint) }?;
        let request = Self {
            home,
            inner: Some(inner),
            target: target.cast(),
        };
        // SAFETY: the caller's promise.
        unsafe { place.write(Box::into_raw(Box::new(request))) };
        Ok(())
    }
}

/// Checks memory for a message.
pub(crate) fn check_buffer(buffer: *mut c_void, length: usize) -> Result<(), Failure> {
    if buffer.is_null() && length > 0 {
        return Err(Failure::argument("the buffer is null"));
    }
    check_length(length)
}

/// Posts a receive for messages of `source` with `tag` (or DPAMATCH_ANY_SOURCE, DPAMATCH_ANY_TAG).
/// The dpamatch_test or dpamatch_wait that ends the receive writes the message to `buffer`; no
/// other call does.
///
/// Errors: ARGUMENT, SYSTEM, BUSY, WILDCARD, STOPPED; TOO_LONG for a buffer of 4 GiB or more, which
/// no message fills.
///
/// # Safety
/// Endpoint and communicator are alive; `request` can be written; `buffer` can be written until the
/// receive is over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_post(
    endpoint: *mut Endpoint,
    comm: *const Comm,
    source: i64,
    tag: i64,
    buffer: *mut c_void,
    length: usize,
    request: *mut *mut Request,
) -> i32 {
    guarded(|| {
        if request.is_null() {
            return Err(Failure::argument("no place for the request"));
        }
        check_buffer(buffer, length)?;
        let (source, tag) = (source_of(source)?, tag_or_any(tag)?);
        // SAFETY: the caller's promise.
        let comm = unsafe { of(comm, endpoint) }?;
        let post = |inside: &mut Inside| {
            let own = inside.buffer(length)?;
            let posted = inside.endpoint.post_recv(comm, source, tag, own);
            posted.map_err(|error| inside.refused(error))
        };
        // SAFETY: the caller's promise.
        let inner = unsafe { with(endpoint, post) }?;
        // SAFETY: the caller's promise.
        unsafe { Request::give(request, endpoint, inner, buffer) }
    })
}

/// A request of this endpoint that has not ended.
///
/// # Safety
/// `request` is null, points to null, or points to a request that has not ended; the endpoint is
/// null or alive.
unsafe fn request_of<'a>(
    request: *const *mut Request,
    endpoint: *const Endpoint,
) -> Result<&'a mut Request, Failure> {
    // SAFETY: the caller's promise.
    let handle = unsafe { request.as_ref() }
        .copied()
        .unwrap_or(std::ptr::null_mut());
    // SAFETY: the caller's promise.
    let handle = unsafe { handle.as_mut() };
    let handle = handle.ok_or_else(|| Failure::argument("the request is null"))?;
    // SAFETY: the caller's promise.
    unsafe { handle.home.check(endpoint) }?;
    Ok(handle)
}

/// Ends a receive: copies the message, fills the status, frees the handle.
///
/// # Safety
/// `place` points to a request; its target and `status` can be written.
unsafe fn end(
    inside: &mut Inside,
    place: *mut *mut Request,
    result: Result<Received, RecvError>,
    status: *mut Status,
) -> Result<(), Failure> {
    // SAFETY: the request came from a box; its place is set to null.
    let request = unsafe { Box::from_raw(place.replace(std::ptr::null_mut())) };
    let (received, sent) = match result {
        Ok(received) => {
            let bytes = received.status.bytes;
            (received, bytes)
        }
        Err(RecvError::Truncated { received, sent }) => (received, sent),
        Err(error) => {
            let failure = Failure::from(error.clone());
            inside.keep(error.into_buffer());
            return Err(failure);
        }
    };
    let bytes = received.bytes();
    if !bytes.is_empty() {
        // SAFETY: the target holds as many bytes as were posted, and they are no more.
        unsafe {
            request
                .target
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
        };
    }
    let got = bytes.len();
    // SAFETY: the caller's promise.
    unsafe { tell(status, Status::new(received.status, sent)) };
    inside.keep(received.buffer);
    if got < sent {
        let words = format!("the message has {sent} bytes, the buffer holds {got}");
        return Err(Failure::new(DPAMATCH_ERR_TRUNCATED, words));
    }
    Ok(())
}

/// Tests whether a receive is over. If so, the call sets `done`, fills `status` (unless null),
/// copies the message to the buffer, and frees the request and sets it to null. A null request is
/// over.
///
/// Errors: TRUNCATED and CANCELLED, with `done` set and the request freed; STOPPED, likewise;
/// ARGUMENT, BUSY, with the request as it was.
///
/// # Safety
/// The endpoint is alive; `request` points to null or to a request; `done` can be written; `status`
/// is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_test(
    endpoint: *mut Endpoint,
    request: *mut *mut Request,
    done: *mut bool,
    status: *mut Status,
) -> i32 {
    guarded(|| {
        if request.is_null() || done.is_null() {
            return Err(Failure::argument("no request, or no place for the answer"));
        }
        // SAFETY: the caller's promise.
        let none = unsafe { request.read() }.is_null();
        // SAFETY: the caller's promise.
        unsafe { done.write(none) };
        if none {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        let handle = unsafe { request_of(request, endpoint) }?;
        let test = |inside: &mut Inside| {
            let Some(result) = inside.endpoint.test(&mut handle.inner) else {
                return Ok(());
            };
            // SAFETY: the caller's promise; `handle` is not used any more.
            unsafe {
                done.write(true);
                end(inside, request, result, status)
            }
        };
        // SAFETY: the caller's promise.
        let outcome = unsafe { with(endpoint, test) };
        if outcome.as_ref().is_err_and(Failure::is_stopped) {
            // SAFETY: the caller's promise; the request is null if `end` freed it.
            unsafe {
                done.write(true);
                forget(request);
            }
        }
        outcome
    })
}

/// Waits for the end of a receive; for results and errors see dpamatch_test.
///
/// # Safety
/// The conditions of dpamatch_test.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_wait(
    endpoint: *mut Endpoint,
    request: *mut *mut Request,
    status: *mut Status,
) -> i32 {
    guarded(|| {
        if request.is_null() {
            return Err(Failure::argument("no request"));
        }
        // SAFETY: the caller's promise.
        if unsafe { request.read() }.is_null() {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        let handle = unsafe { request_of(request, endpoint) }?;
        let wait = |inside: &mut Inside| {
            let result = match handle.inner.take() {
                Some(inner) => inside.endpoint.wait(inner),
                None => Err(RecvError::Stopped),
            };
            // SAFETY: the caller's promise; `handle` is not used any more.
            unsafe { end(inside, request, result, status) }
        };
        // SAFETY: the caller's promise.
        let outcome = unsafe { with(endpoint, wait) };
        if outcome.as_ref().is_err_and(Failure::is_stopped) {
            // SAFETY: the caller's promise; the request is null if `end` freed it.
            unsafe { forget(request) };
        }
        outcome
    })
}

/// Cancels a receive, which must still be tested or waited for. It ends with
/// DPAMATCH_ERR_CANCELLED, or with a message that came first.
///
/// Errors: ARGUMENT, BUSY, STOPPED.
///
/// # Safety
/// Endpoint and request are alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_cancel(endpoint: *mut Endpoint, request: *mut Request) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { request_of(&request, endpoint) }?;
        let cancel = |inside: &mut Inside| match &handle.inner {
            Some(inner) => Ok(inside.endpoint.cancel(inner)?),
            None => Err(Failure::new(DPAMATCH_ERR_STOPPED, "the receive is over")),
        };
        // SAFETY: the caller's promise.
        unsafe { with(endpoint, cancel) }
    })
}

/// Releases a request and sets it to null. Its receive stays posted and takes a message, which is
/// then lost; the library does not write to the program's memory. After the endpoint was destroyed,
/// call it with a null endpoint to free the handle.
///
/// Errors: ARGUMENT, BUSY.
///
/// # Safety
/// The endpoint is alive or null; `request` points to null or to a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_request_free(
    endpoint: *mut Endpoint,
    request: *mut *mut Request,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        if request.is_null() || unsafe { request.read() }.is_null() {
            return Ok(());
        }
        if !endpoint.is_null() {
            // SAFETY: the caller's promise.
            let handle = unsafe { request_of(request, endpoint) }?;
            let release = |inside: &mut Inside| {
                if let Some(inner) = handle.inner.take() {
                    inside.endpoint.release(inner);
                }
                Ok(())
            };
            // SAFETY: the caller's promise.
            let released = unsafe { with(endpoint, release) };
            // A receive ends with its endpoint, so the handle alone is left.
            released.or_else(|failure| match failure.is_stopped() {
                true => Ok(()),
                false => Err(failure),
            })?;
        }
        // SAFETY: it came from a box; its place is set to null.
        drop(unsafe { Box::from_raw(request.replace(std::ptr::null_mut())) });
        Ok(())
    })
}
