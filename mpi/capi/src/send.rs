//! Senders, which stand for other processes and may be used from any thread.

use std::ffi::c_void;

use dpamatch::SendError;
use dpamatch::endpoint::{CommSender, SendRequest as InnerRequest};

use crate::code::{Failure, check_length, guarded};
use crate::communicator::{Comm, of};
use crate::endpoint::{Endpoint, Inside, Name, with};
use crate::status::{forget, rank_of, tag_of};

/// A process that sends to an endpoint: its rank in one communicator. One thread at a time uses a
/// sender; dpamatch_sender_clone makes one for another thread. The messages of one sender arrive in
/// the order sent.
#[derive(Debug)]
pub struct Sender {
    home: Name,
    inner: CommSender,
}

/// A message in flight.
#[derive(Debug)]
pub struct SendRequest {
    home: Name,
    inner: InnerRequest,
}

/// The bytes of a message.
///
/// # Safety
/// `bytes` is null or begins `length` bytes that live and do not change during the call.
unsafe fn bytes_of<'a>(bytes: *const c_void, length: usize) -> Result<&'a [u8], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    if bytes.is_null() {
        return Err(Failure::argument("the message is null"));
    }
    check_length(length)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(bytes.cast(), length) })
}

/// # Safety
/// `sender` is null or alive, and no other thread uses it.
unsafe fn sender_of<'a>(sender: *mut Sender) -> Result<&'a mut Sender, Failure> {
    // SAFETY: the caller's promise.
    let sender = unsafe { sender.as_mut() };
    sender.ok_or_else(|| Failure::argument("the sender is null"))
}

/// Creates a sender of rank `rank` in a communicator. It outlives the endpoint, and then gets
/// DPAMATCH_ERR_STOPPED.
///
/// Errors: ARGUMENT, BUSY.
///
/// # Safety
/// Endpoint and communicator are alive; `sender` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_sender_create(
    endpoint: *mut Endpoint,
    comm: *const Comm,
    rank: u32,
    sender: *mut *mut Sender,
) -> i32 {
    guarded(|| {
        if sender.is_null() {
            return Err(Failure::argument("no place for the sender"));
        }
        let rank = rank_of(rank)?;
        // SAFETY: the caller's promise.
        let comm = unsafe { of(comm, endpoint) }?;
        // SAFETY: the caller's promise.
        let inner = unsafe { with(endpoint, |inside| Ok(inside.endpoint.sender(comm, rank))) }?;
        // SAFETY: the caller's promise.
        let home = unsafe { Name::of(endpoint) }?;
        // SAFETY: the caller's promise.
        unsafe { sender.write(Box::into_raw(Box::new(Sender { home, inner }))) };
        Ok(())
    })
}

/// Makes another sender of the same rank, for another thread.
///
/// Errors: ARGUMENT.
///
/// # Safety
/// `sender` is alive; `copy` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_sender_clone(
    sender: *const Sender,
    copy: *mut *mut Sender,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let sender = unsafe { sender.as_ref() };
        let sender = sender.ok_or_else(|| Failure::argument("the sender is null"))?;
        if copy.is_null() {
            return Err(Failure::argument("no place for the sender"));
        }
        let another = Sender {
            home: sender.home,
            inner: sender.inner.clone(),
        };
        // SAFETY: the caller's promise.
        unsafe { copy.write(Box::into_raw(Box::new(another))) };
        Ok(())
    })
}

/// Ends a sender and sets it to null. Its messages are still delivered.
///
/// # Safety
/// `sender` is null, points to null, or points to a sender that no thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_sender_destroy(sender: *mut *mut Sender) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        unsafe { forget(sender) };
        Ok(())
    })
}

/// Sends if the receiver is ready; else returns DPAMATCH_AGAIN. The program may reuse the bytes at
/// once: a message above the eager limit is copied and goes by rendezvous.
///
/// Errors: ARGUMENT, TOO_LONG, STOPPED.
///
/// # Safety
/// The sender is alive and no other thread uses it; `bytes` begins `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_try_send(
    sender: *mut Sender,
    tag: u32,
    bytes: *const c_void,
    length: usize,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (sender, bytes) = unsafe { (sender_of(sender)?, bytes_of(bytes, length)?) };
        Ok(sender.inner.try_send(tag_of(tag)?, bytes)?)
    })
}

/// Sends, and waits while the receiver is not ready, but never for a receive. The thread that uses
/// the endpoint passes it, so that it makes progress meanwhile; other threads pass null. If the
/// receiver does not become ready, which only this thread could change, the call ends with
/// OWN_THREAD after some seconds; the message is not sent.
///
/// Errors: ARGUMENT, also for a sender to another endpoint; BUSY, TOO_LONG, OWN_THREAD, STOPPED.
///
/// # Safety
/// The conditions of dpamatch_try_send; the endpoint is alive or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_send(
    endpoint: *mut Endpoint,
    sender: *mut Sender,
    tag: u32,
    bytes: *const c_void,
    length: usize,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (sender, bytes) = unsafe { (sender_of(sender)?, bytes_of(bytes, length)?) };
        let tag = tag_of(tag)?;
        if endpoint.is_null() {
            return Ok(sender.inner.send(tag, bytes)?);
        }
        // SAFETY: the caller's promise.
        unsafe { sender.home.check(endpoint) }?;
        let send = |inside: &mut Inside| Ok(inside.endpoint.send(&mut sender.inner, tag, bytes)?);
        // SAFETY: the caller's promise.
        unsafe { with(endpoint, send) }
    })
}

/// Sends a copy of the bytes by rendezvous, whatever their length, if the receiver is ready; else
/// returns DPAMATCH_AGAIN. `request` is over when a receive has taken the message.
///
/// Errors: ARGUMENT, TOO_LONG, STOPPED.
///
/// # Safety
/// The conditions of dpamatch_try_send; `request` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_try_issend(
    sender: *mut Sender,
    tag: u32,
    bytes: *const c_void,
    length: usize,
    request: *mut *mut SendRequest,
) -> i32 {
    guarded(|| {
        if request.is_null() {
            return Err(Failure::argument("no place for the request"));
        }
        // SAFETY: the caller's promise.
        let (sender, bytes) = unsafe { (sender_of(sender)?, bytes_of(bytes, length)?) };
        let sent = sender.inner.try_issend(tag_of(tag)?, bytes.to_vec());
        let sent = SendRequest {
            home: sender.home,
            inner: sent.map_err(|(error, _)| Failure::from(error))?,
        };
        // SAFETY: the caller's promise.
        unsafe { request.write(Box::into_raw(Box::new(sent))) };
        Ok(())
    })
}

/// Tests whether a receive has taken the message. If so, the call sets `done`, and frees the
/// request and sets it to null. A null request is over.
///
/// Errors: STOPPED and NOT_RECEIVED, with `done` set and the request freed; ARGUMENT.
///
/// # Safety
/// `request` points to null or to a request that no other thread uses; `done` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_send_test(
    request: *mut *mut SendRequest,
    done: *mut bool,
) -> i32 {
    guarded(|| {
        if request.is_null() || done.is_null() {
            return Err(Failure::argument("no request, or no place for the answer"));
        }
        // SAFETY: the caller's promise.
        let handle = unsafe { request.read().as_mut() };
        let result = match handle {
            None => Some(Ok(())),
            Some(handle) => handle
                .inner
                .test()
                .map(|sent| sent.map(drop).map_err(|(e, _)| e)),
        };
        // SAFETY: the caller's promise.
        unsafe { done.write(result.is_some()) };
        if result.is_some() {
            // SAFETY: the caller's promise.
            unsafe { forget(request) };
        }
        Ok(result.unwrap_or(Ok(()))?)
    })
}

/// Waits until a receive has taken the message, and frees the request. The thread that uses the
/// endpoint passes it; other threads pass null.
///
/// Errors: STOPPED and NOT_RECEIVED, with the request freed; ARGUMENT, also for a message to
/// another endpoint, BUSY, and OWN_THREAD if the thread that uses the endpoint passes null, with
/// the request as it was.
///
/// # Safety
/// The conditions of dpamatch_send_test; the endpoint is alive or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_send_wait(
    endpoint: *mut Endpoint,
    request: *mut *mut SendRequest,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        if request.is_null() || unsafe { request.read() }.is_null() {
            return Ok(());
        }
        // SAFETY: the caller's promise; checked for null.
        let handle = unsafe { &mut *request.read() };
        // SAFETY: the caller's promise.
        unsafe { handle.home.check_unless_null(endpoint) }?;
        let result = if endpoint.is_null() {
            handle.inner.wait_mut()
        } else {
            let wait = |inside: &mut Inside| {
                // SAFETY: it came from a box; its place is set to null.
                let owned = unsafe { Box::from_raw(request.replace(std::ptr::null_mut())) };
                Ok(inside.endpoint.wait_send(owned.inner))
            };
            // SAFETY: the caller's promise; `handle` is not used any more.
            let waited = unsafe { with(endpoint, wait) };
            if waited.as_ref().is_err_and(Failure::is_stopped) {
                // SAFETY: the caller's promise.
                unsafe { forget(request) };
            }
            waited?
        };
        if !matches!(result, Err((SendError::OwnThread, _))) {
            // SAFETY: the caller's promise; null if the endpoint took it.
            unsafe { forget(request) };
        }
        result.map(drop).map_err(|(error, _)| error.into())
    })
}

/// Releases a request and sets it to null; the message is still delivered.
///
/// # Safety
/// `request` is null, points to null, or points to a request that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_send_free(request: *mut *mut SendRequest) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        unsafe { forget(request) };
        Ok(())
    })
}
