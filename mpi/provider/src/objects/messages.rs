//! Tagged and untagged messages.

use std::ffi::c_void;

use super::{Object, list};
use crate::bindings::*;
use crate::endpoint::{Endpoint, Receive, SendRequest};
use crate::getinfo::IOV_MAX;

pub(super) static TAGGED: OpsTagged = OpsTagged {
    size: size_of::<OpsTagged>(),
    recv: Some(trecv),
    recvv: Some(trecvv),
    recvmsg: Some(trecvmsg),
    send: Some(tsend),
    sendv: Some(tsendv),
    sendmsg: Some(tsendmsg),
    inject: Some(tinject),
    senddata: Some(tsenddata),
    injectdata: Some(tinjectdata),
};
pub(super) static MSG: OpsMsg = OpsMsg {
    size: size_of::<OpsMsg>(),
    recv: Some(recv),
    recvv: Some(recvv),
    recvmsg: Some(recvmsg),
    send: Some(send),
    sendv: Some(sendv),
    sendmsg: Some(sendmsg),
    inject: Some(inject),
    senddata: Some(senddata),
    injectdata: Some(injectdata),
};

/// What decides over a completion: the call's flags, or those of the endpoint.
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
    let completes = !endpoint.tx.selective || flags & FI_COMPLETION != 0;
    let send = SendRequest { flags, completes: completes && !silent, ..send };
    // SAFETY: the program's buffers.
    unsafe { endpoint.send(&mut held.state.common, &send) }.err().unwrap_or(0)
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
    let flags = match flags {
        Flags::Call(flags) => flags,
        Flags::Endpoint => endpoint.rx.op_flags & (FI_COMPLETION | FI_MULTI_RECV),
    };
    let completes = !endpoint.rx.selective || flags & FI_COMPLETION != 0;
    let receive = Receive { flags, completes, ..receive };
    // SAFETY: the program's buffers.
    unsafe { endpoint.receive(&mut held.state.common, &receive) }.err().unwrap_or(0)
}

/// An argument that comes on the stack, read by itself. Two that lie side by side are else read
/// together, and the processor waits until both have reached the cache, behind all stores before
/// them: that was a seventh of a receive's time.
#[inline(always)]
fn apart(argument: *mut c_void) -> *mut c_void {
    std::hint::black_box(argument)
}

#[inline(always)]
fn one(start: *const c_void, length: usize) -> [IoVec; 1] {
    [IoVec { iov_base: start.cast_mut(), iov_len: length }]
}

#[inline(always)]
fn to_send<'a>(
    iov: &'a [IoVec],
    to: u64,
    tag: Option<u64>,
    context: *mut c_void,
) -> SendRequest<'a> {
    SendRequest { iov, to, tag, data: None, context, flags: 0, completes: true }
}

/// A send whose buffer is the program's again when the call returns, and that nobody hears of.
#[inline(always)]
fn to_inject<'a>(iov: &'a [IoVec], to: u64, tag: Option<u64>) -> SendRequest<'a> {
    SendRequest { flags: FI_INJECT, ..to_send(iov, to, tag, std::ptr::null_mut()) }
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
    Receive { iov, from, tagged, tag, ignore, context, flags: 0, completes: true }
}

unsafe extern "C" fn trecv(
    ep: *mut FidEp,
    start: *mut c_void,
    length: usize,
    _: *mut c_void,
    from: FiAddr,
    tag: u64,
    ignore: u64,
    context: *mut c_void,
) -> isize {
    let iov = one(start, length);
    let context = apart(context);
    // SAFETY: see `objects`.
    unsafe { do_receive(ep, Flags::Endpoint, to_receive(&iov, from, Some((tag, ignore)), context)) }
}

unsafe extern "C" fn trecvv(
    ep: *mut FidEp,
    iov: *const IoVec,
    _: *mut *mut c_void,
    count: usize,
    from: FiAddr,
    tag: u64,
    ignore: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: see `objects`.
    unsafe {
        let receive = to_receive(list(iov, count), from, Some((tag, ignore)), context);
        do_receive(ep, Flags::Endpoint, receive)
    }
}

unsafe extern "C" fn trecvmsg(ep: *mut FidEp, msg: *const MsgTagged, flags: u64) -> isize {
    // SAFETY: see `objects`.
    unsafe {
        let m = &*msg;
        let iov = list(m.msg_iov, m.iov_count);
        let receive = to_receive(iov, m.addr, Some((m.tag, m.ignore)), m.context);
        do_receive(ep, Flags::Call(flags), receive)
    }
}

unsafe extern "C" fn tsend(
    ep: *mut FidEp,
    start: *const c_void,
    length: usize,
    _: *mut c_void,
    to: FiAddr,
    tag: u64,
    context: *mut c_void,
) -> isize {
    let iov = one(start, length);
    // SAFETY: see `objects`.
    unsafe { do_send(ep, Flags::Endpoint, to_send(&iov, to, Some(tag), context)) }
}

unsafe extern "C" fn tsendv(
    ep: *mut FidEp,
    iov: *const IoVec,
    _: *mut *mut c_void,
    count: usize,
    to: FiAddr,
    tag: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: see `objects`.
    unsafe { do_send(ep, Flags::Endpoint, to_send(list(iov, count), to, Some(tag), context)) }
}

unsafe extern "C" fn tsendmsg(ep: *mut FidEp, msg: *const MsgTagged, flags: u64) -> isize {
    // SAFETY: see `objects`.
    unsafe {
        let m = &*msg;
        let send = to_send(list(m.msg_iov, m.iov_count), m.addr, Some(m.tag), m.context);
        let data = (flags & FI_REMOTE_CQ_DATA != 0).then_some(m.data);
        do_send(ep, Flags::Call(flags), SendRequest { data, ..send })
    }
}

unsafe extern "C" fn tinject(
    ep: *mut FidEp,
    start: *const c_void,
    length: usize,
    to: FiAddr,
    tag: u64,
) -> isize {
    let iov = one(start, length);
    // SAFETY: see `objects`.
    unsafe { do_send(ep, Flags::Call(FI_INJECT), to_inject(&iov, to, Some(tag))) }
}

unsafe extern "C" fn tsenddata(
    ep: *mut FidEp,
    start: *const c_void,
    length: usize,
    _: *mut c_void,
    data: u64,
    to: FiAddr,
    tag: u64,
    context: *mut c_void,
) -> isize {
    let iov = one(start, length);
    let context = apart(context);
    let send = SendRequest { data: Some(data), ..to_send(&iov, to, Some(tag), context) };
    // SAFETY: see `objects`.
    unsafe { do_send(ep, Flags::Endpoint, send) }
}

unsafe extern "C" fn tinjectdata(
    ep: *mut FidEp,
    start: *const c_void,
    length: usize,
    data: u64,
    to: FiAddr,
    tag: u64,
) -> isize {
    let iov = one(start, length);
    let send = SendRequest { data: Some(data), ..to_inject(&iov, to, Some(tag)) };
    // SAFETY: see `objects`.
    unsafe { do_send(ep, Flags::Call(FI_INJECT), send) }
}

unsafe extern "C" fn recv(
    ep: *mut FidEp,
    start: *mut c_void,
    length: usize,
    _: *mut c_void,
    from: FiAddr,
    context: *mut c_void,
) -> isize {
    let iov = one(start, length);
    // SAFETY: see `objects`.
    unsafe { do_receive(ep, Flags::Endpoint, to_receive(&iov, from, None, context)) }
}

unsafe extern "C" fn recvv(
    ep: *mut FidEp,
    iov: *const IoVec,
    _: *mut *mut c_void,
    count: usize,
    from: FiAddr,
    context: *mut c_void,
) -> isize {
    // SAFETY: see `objects`.
    unsafe { do_receive(ep, Flags::Endpoint, to_receive(list(iov, count), from, None, context)) }
}

unsafe extern "C" fn recvmsg(ep: *mut FidEp, msg: *const Msg, flags: u64) -> isize {
    // SAFETY: see `objects`.
    unsafe {
        let m = &*msg;
        let receive = to_receive(list(m.msg_iov, m.iov_count), m.addr, None, m.context);
        do_receive(ep, Flags::Call(flags), receive)
    }
}

unsafe extern "C" fn send(
    ep: *mut FidEp,
    start: *const c_void,
    length: usize,
    _: *mut c_void,
    to: FiAddr,
    context: *mut c_void,
) -> isize {
    let iov = one(start, length);
    // SAFETY: see `objects`.
    unsafe { do_send(ep, Flags::Endpoint, to_send(&iov, to, None, context)) }
}

unsafe extern "C" fn sendv(
    ep: *mut FidEp,
    iov: *const IoVec,
    _: *mut *mut c_void,
    count: usize,
    to: FiAddr,
    context: *mut c_void,
) -> isize {
    // SAFETY: see `objects`.
    unsafe { do_send(ep, Flags::Endpoint, to_send(list(iov, count), to, None, context)) }
}

unsafe extern "C" fn sendmsg(ep: *mut FidEp, msg: *const Msg, flags: u64) -> isize {
    // SAFETY: see `objects`.
    unsafe {
        let m = &*msg;
        let send = to_send(list(m.msg_iov, m.iov_count), m.addr, None, m.context);
        let data = (flags & FI_REMOTE_CQ_DATA != 0).then_some(m.data);
        do_send(ep, Flags::Call(flags), SendRequest { data, ..send })
    }
}

unsafe extern "C" fn inject(
    ep: *mut FidEp,
    start: *const c_void,
    length: usize,
    to: FiAddr,
) -> isize {
    let iov = one(start, length);
    // SAFETY: see `objects`.
    unsafe { do_send(ep, Flags::Call(FI_INJECT), to_inject(&iov, to, None)) }
}

unsafe extern "C" fn senddata(
    ep: *mut FidEp,
    start: *const c_void,
    length: usize,
    _: *mut c_void,
    data: u64,
    to: FiAddr,
    context: *mut c_void,
) -> isize {
    let iov = one(start, length);
    let send = SendRequest { data: Some(data), ..to_send(&iov, to, None, context) };
    // SAFETY: see `objects`.
    unsafe { do_send(ep, Flags::Endpoint, send) }
}

unsafe extern "C" fn injectdata(
    ep: *mut FidEp,
    start: *const c_void,
    length: usize,
    data: u64,
    to: FiAddr,
) -> isize {
    let iov = one(start, length);
    let send = SendRequest { data: Some(data), ..to_inject(&iov, to, None) };
    // SAFETY: see `objects`.
    unsafe { do_send(ep, Flags::Call(FI_INJECT), send) }
}
