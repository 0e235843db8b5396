//! Tagged and untagged messages.

use std::ffi::c_void;

use super::{Object, list};
use crate::bindings::*;
use crate::endpoint::{Endpoint, Receive, SendRequest};
use crate::getinfo::IOV_MAX;

/// The flags that decide whether an operation gets a completion.
#[derive(Clone, Copy)]
enum Flags {
    Call(u64),
    Endpoint,
}

/// # Safety
/// See `objects`.
#[inline(always)]
unsafe fn do_send(endpoint: *mut FidEp, flags: Flags, send: SendRequest<'_>) -> isize {
    if send.iov.len() > IOV_MAX {
        return -(FI_EINVAL as isize);
    }
    // SAFETY: see `objects`; nothing here enters again.
    let object = unsafe { Object::<FidEp>::of(endpoint) };
    // SAFETY: as above.
    let held = unsafe { object.gate.hold() };
    let endpoint: &mut Endpoint = &mut held.state.endpoints[object.index];
    let flags = match flags {
        Flags::Call(flags) => flags,
        Flags::Endpoint => send.flags | endpoint.tx.op_flags,
    };
    let silent = send.flags & FI_INJECT != 0 && send.context.is_null();
    let completes = endpoint.tx.completes_with(flags);
    let send = SendRequest {
        flags,
        completes: completes && !silent,
        ..send
    };
    // SAFETY: the program's buffers.
    unsafe { endpoint.send(&mut held.state.common, &send) }
        .err()
        .unwrap_or(0)
}

/// # Safety
/// See `objects`.
#[inline(always)]
unsafe fn do_receive(endpoint: *mut FidEp, flags: Flags, receive: Receive<'_>) -> isize {
    if receive.iov.len() > IOV_MAX {
        return -(FI_EINVAL as isize);
    }
    // SAFETY: see `objects`; nothing here enters again.
    let object = unsafe { Object::<FidEp>::of(endpoint) };
    // SAFETY: as above.
    let held = unsafe { object.gate.hold() };
    let endpoint: &mut Endpoint = &mut held.state.endpoints[object.index];
    let (flags, completes) = match flags {
        Flags::Call(flags) => (flags, endpoint.rx.completes_with(flags)),
        Flags::Endpoint => (endpoint.rx.op_flags & FI_MULTI_RECV, endpoint.rx.completes),
    };
    let receive = Receive {
        flags,
        completes,
        ..receive
    };
    // SAFETY: the program's buffers.
    unsafe { endpoint.receive(&mut held.state.common, &receive) }
        .err()
        .unwrap_or(0)
}

/// Reads one argument from the stack. The compiler would read two adjacent ones together, and the
/// processor would wait until both have left the store buffer: a seventh of a receive's time.
#[inline(always)]
fn opaque(mut argument: *mut c_void) -> *mut c_void {
    // SAFETY: it has no instruction, which the compiler does not know.
    unsafe {
        std::arch::asm!("/*{0}*/", inout(reg) argument, options(pure, readonly, nostack));
    }
    argument
}

/// The one buffer of an operation.
#[inline(always)]
pub(super) fn one(start: *const c_void, length: usize) -> [IoVec; 1] {
    [IoVec {
        iov_base: start.cast_mut(),
        iov_len: length,
    }]
}

#[inline(always)]
fn to_send<'a>(
    iov: &'a [IoVec],
    to: u64,
    tag: Option<u64>,
    context: *mut c_void,
) -> SendRequest<'a> {
    SendRequest {
        iov,
        to,
        tag,
        data: None,
        context,
        flags: 0,
        completes: true,
    }
}

/// A send without a completion, whose buffer is free when the call returns.
#[inline(always)]
fn to_inject<'a>(iov: &'a [IoVec], to: u64, tag: Option<u64>) -> SendRequest<'a> {
    SendRequest {
        flags: FI_INJECT,
        ..to_send(iov, to, tag, std::ptr::null_mut())
    }
}

#[inline(always)]
fn to_receive<'a>(
    iov: &'a [IoVec],
    from: u64,
    tag: Option<(u64, u64)>,
    context: *mut c_void,
) -> Receive<'a> {
    let tagged = tag.is_some();
    let (tag, ignore) = tag.unwrap_or((0, 0));
    Receive {
        iov,
        from,
        tagged,
        tag,
        ignore,
        context,
        flags: 0,
        completes: true,
    }
}

/// A table of operations, tagged or not.
macro_rules! operations {
    ($table:ident: $ops:ident, $msg:ident, ($($tag:ident, $ignore:ident)?)) => {
        pub(super) static $table: $ops = {
            unsafe extern "C" fn recv(
                ep: *mut FidEp,
                start: *mut c_void,
                length: usize,
                _: *mut c_void,
                from: FiAddr,
                $($tag: u64, $ignore: u64,)?
                context: *mut c_void,
            ) -> isize {
                let (iov, context) = (one(start, length), opaque(context));
                let receive = to_receive(&iov, from, optional!($(($tag, $ignore))?), context);
                // SAFETY: see `objects`.
                unsafe { do_receive(ep, Flags::Endpoint, receive) }
            }

            unsafe extern "C" fn recvv(
                ep: *mut FidEp,
                iov: *const IoVec,
                _: *mut *mut c_void,
                count: usize,
                from: FiAddr,
                $($tag: u64, $ignore: u64,)?
                context: *mut c_void,
            ) -> isize {
                // SAFETY: see `objects`.
                unsafe {
                    let tag = optional!($(($tag, $ignore))?);
                    let receive = to_receive(list(iov, count), from, tag, context);
                    do_receive(ep, Flags::Endpoint, receive)
                }
            }

            unsafe extern "C" fn recvmsg(ep: *mut FidEp, msg: *const $msg, flags: u64) -> isize {
                // SAFETY: see `objects`.
                unsafe {
                    let m = &*msg;
                    let iov = list(m.msg_iov, m.iov_count);
                    let tag = optional!($((m.$tag, m.$ignore))?);
                    do_receive(ep, Flags::Call(flags), to_receive(iov, m.addr, tag, m.context))
                }
            }

            unsafe extern "C" fn send(
                ep: *mut FidEp,
                start: *const c_void,
                length: usize,
                _: *mut c_void,
                to: FiAddr,
                $($tag: u64,)?
                context: *mut c_void,
            ) -> isize {
                let iov = one(start, length);
                let send = to_send(&iov, to, optional!($($tag)?), context);
                // SAFETY: see `objects`.
                unsafe { do_send(ep, Flags::Endpoint, send) }
            }

            unsafe extern "C" fn sendv(
                ep: *mut FidEp,
                iov: *const IoVec,
                _: *mut *mut c_void,
                count: usize,
                to: FiAddr,
                $($tag: u64,)?
                context: *mut c_void,
            ) -> isize {
                // SAFETY: see `objects`.
                unsafe {
                    let send = to_send(list(iov, count), to, optional!($($tag)?), context);
                    do_send(ep, Flags::Endpoint, send)
                }
            }

            unsafe extern "C" fn sendmsg(ep: *mut FidEp, msg: *const $msg, flags: u64) -> isize {
                // SAFETY: see `objects`.
                unsafe {
                    let m = &*msg;
                    let iov = list(m.msg_iov, m.iov_count);
                    let send = to_send(iov, m.addr, optional!($(m.$tag)?), m.context);
                    let data = (flags & FI_REMOTE_CQ_DATA != 0).then_some(m.data);
                    do_send(ep, Flags::Call(flags), SendRequest { data, ..send })
                }
            }

            unsafe extern "C" fn inject(
                ep: *mut FidEp,
                start: *const c_void,
                length: usize,
                to: FiAddr,
                $($tag: u64,)?
            ) -> isize {
                let iov = one(start, length);
                let send = to_inject(&iov, to, optional!($($tag)?));
                // SAFETY: see `objects`.
                unsafe { do_send(ep, Flags::Call(FI_INJECT), send) }
            }

            unsafe extern "C" fn senddata(
                ep: *mut FidEp,
                start: *const c_void,
                length: usize,
                _: *mut c_void,
                data: u64,
                to: FiAddr,
                $($tag: u64,)?
                context: *mut c_void,
            ) -> isize {
                let (iov, context) = (one(start, length), opaque(context));
                let send = to_send(&iov, to, optional!($($tag)?), context);
                // SAFETY: see `objects`.
                unsafe {
                    do_send(ep, Flags::Endpoint, SendRequest { data: Some(data), ..send })
                }
            }

            unsafe extern "C" fn injectdata(
                ep: *mut FidEp,
                start: *const c_void,
                length: usize,
                data: u64,
                to: FiAddr,
                $($tag: u64,)?
            ) -> isize {
                let iov = one(start, length);
                let send = to_inject(&iov, to, optional!($($tag)?));
                // SAFETY: see `objects`.
                unsafe {
                    do_send(ep, Flags::Call(FI_INJECT), SendRequest { data: Some(data), ..send })
                }
            }

            $ops {
                recv: Some(recv),
                recvv: Some(recvv),
                recvmsg: Some(recvmsg),
                send: Some(send),
                sendv: Some(sendv),
                sendmsg: Some(sendmsg),
                inject: Some(inject),
                senddata: Some(senddata),
                injectdata: Some(injectdata),
                ..$ops::NONE
            }
        };
    };
}

operations!(TAGGED: OpsTagged, MsgTagged, (tag, ignore));
operations!(MSG: OpsMsg, Msg, ());
