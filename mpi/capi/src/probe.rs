//! Probes, and receives of messages that a probe took.

use std::ffi::c_void;

use dpamatch::endpoint::MatchedMessage;

use crate::code::{Failure, guarded};
use crate::communicator::{Comm, of};
use crate::endpoint::{Endpoint, Inside, Name, with};
use crate::receive::{Request, check_buffer};
use crate::status::{Status, forget, source_of, tag_or_any, tell};

/// A message that a probe took out of matching.
#[derive(Debug)]
pub struct Message {
    home: Name,
    inner: MatchedMessage,
}

/// Looks for the oldest unexpected message that a receive with this source and tag would take. The
/// message stays. Sets `found` to whether there is one; if so, fills `status`, unless null.
///
/// Errors: ARGUMENT, BUSY, WILDCARD, STOPPED.
///
/// # Safety
/// Endpoint and communicator are alive; `found` can be written; `status` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_iprobe(
    endpoint: *mut Endpoint,
    comm: *const Comm,
    source: i64,
    tag: i64,
    found: *mut bool,
    status: *mut Status,
) -> i32 {
    guarded(|| {
        if found.is_null() {
            return Err(Failure::argument("no place for the answer"));
        }
        let (source, tag) = (source_of(source)?, tag_or_any(tag)?);
        // SAFETY: the caller's promise.
        let comm = unsafe { of(comm, endpoint) }?;
        let look = |inside: &mut Inside| Ok(inside.endpoint.iprobe(comm, source, tag)?);
        // SAFETY: the caller's promise.
        let seen = unsafe { with(endpoint, look) }?;
        // SAFETY: the caller's promise.
        unsafe {
            found.write(seen.is_some());
            if let Some(seen) = seen {
                tell(status, Status::new(seen, seen.bytes));
            }
        }
        Ok(())
    })
}

/// Takes the oldest unexpected message that a receive with this source and tag would take out of
/// matching. Sets `message` to it, or to null if there is none. Receive it with dpamatch_imrecv or
/// drop it with dpamatch_message_free.
///
/// Errors: ARGUMENT, BUSY, WILDCARD, STOPPED.
///
/// # Safety
/// Endpoint and communicator are alive; `message` can be written; `status` is null or can be
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_improbe(
    endpoint: *mut Endpoint,
    comm: *const Comm,
    source: i64,
    tag: i64,
    message: *mut *mut Message,
    status: *mut Status,
) -> i32 {
    guarded(|| {
        if message.is_null() {
            return Err(Failure::argument("no place for the message"));
        }
        let (source, tag) = (source_of(source)?, tag_or_any(tag)?);
        // SAFETY: the caller's promise.
        let comm = unsafe { of(comm, endpoint) }?;
        let look = |inside: &mut Inside| Ok(inside.endpoint.improbe(comm, source, tag)?);
        // SAFETY: the caller's promise.
        let taken = unsafe { with(endpoint, look) }?;
        // SAFETY: the caller's promise.
        let home = unsafe { Name::of(endpoint) }?;
        let handle = taken.map_or(std::ptr::null_mut(), |inner| {
            let seen = inner.status();
            // SAFETY: the caller's promise.
            unsafe { tell(status, Status::new(seen, seen.bytes)) };
            Box::into_raw(Box::new(Message { home, inner }))
        });
        // SAFETY: the caller's promise.
        unsafe { message.write(handle) };
        Ok(())
    })
}

/// Receives a message that dpamatch_improbe took. Sets `message` to null, and `request` to a
/// receive as dpamatch_post does.
///
/// Errors: ARGUMENT, SYSTEM, BUSY, TOO_LONG; STOPPED, with the message lost.
///
/// # Safety
/// The conditions of dpamatch_post; `message` points to a message that was not received.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_imrecv(
    endpoint: *mut Endpoint,
    message: *mut *mut Message,
    buffer: *mut c_void,
    length: usize,
    request: *mut *mut Request,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        if request.is_null() || message.is_null() || unsafe { message.read() }.is_null() {
            return Err(Failure::argument("no message, or no place for the request"));
        }
        check_buffer(buffer, length)?;
        // SAFETY: the caller's promise; checked for null.
        unsafe { (*message.read()).home.check(endpoint) }?;
        let receive = |inside: &mut Inside| {
            let own = inside.buffer(length)?;
            // SAFETY: it came from a box; its place is set to null.
            let taken = unsafe { Box::from_raw(message.replace(std::ptr::null_mut())) };
            let posted = inside.endpoint.imrecv(taken.inner, own);
            posted.map_err(|error| inside.refused(error))
        };
        // SAFETY: the caller's promise.
        let received = unsafe { with(endpoint, receive) };
        if received.as_ref().is_err_and(Failure::is_stopped) {
            // SAFETY: the caller's promise; the message is null if the receive took it.
            unsafe { forget(message) };
        }
        // SAFETY: the caller's promise.
        unsafe { Request::give(request, endpoint, received?, buffer) }
    })
}

/// Drops a message that dpamatch_improbe took, and sets it to null. A sender that waits for it gets
/// DPAMATCH_ERR_NOT_RECEIVED.
///
/// # Safety
/// `message` is null, points to null, or points to a message that was not received.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_message_free(message: *mut *mut Message) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        unsafe { forget(message) };
        Ok(())
    })
}
