//! Reads and writes of registered memory.

use std::ffi::c_void;

use super::{Object, list};
use crate::bindings::*;
use crate::endpoint::{Endpoint, Remote};
use crate::getinfo::IOV_MAX;

pub(super) static OPS: OpsRma = OpsRma {
    size: size_of::<OpsRma>(),
    read: Some(read),
    readv: Some(readv),
    readmsg: Some(readmsg),
    write: Some(write),
    writev: Some(writev),
    writemsg: Some(writemsg),
    inject: Some(inject),
    writedata: Some(writedata),
    injectdata: Some(injectdata),
};

/// # Safety
/// See `objects`. `flags`: `None` for those of the endpoint.
unsafe fn begin(ep: *mut FidEp, flags: Option<u64>, remote: Remote<'_>) -> isize {
    if remote.iov.len() > IOV_MAX {
        return -(FI_EINVAL as isize);
    }
    // SAFETY: see `objects`.
    unsafe { Object::<FidEp>::of(ep) }.enter(|state, index| {
        let endpoint: &mut Endpoint = &mut state.endpoints[index];
        let flags = flags.unwrap_or(endpoint.tx.op_flags);
        let silent = flags & FI_INJECT != 0 && remote.context.is_null();
        let completes = (!endpoint.tx.selective || flags & FI_COMPLETION != 0) && !silent;
        let remote = Remote { flags, completes, ..remote };
        // SAFETY: the program's buffers.
        unsafe { endpoint.begin_remote(&mut state.common, &remote) }.err().unwrap_or(0)
    })
}

fn remote<'a>(
    write: bool,
    iov: &'a [IoVec],
    to: u64,
    at: (u64, u64),
    context: *mut c_void,
) -> Remote<'a> {
    let (address, key) = at;
    Remote { write, iov, to, address, key, data: None, context, flags: 0, completes: true }
}

fn one(start: *const c_void, length: usize) -> [IoVec; 1] {
    [IoVec { iov_base: start.cast_mut(), iov_len: length }]
}

/// # Safety
/// See `objects`.
unsafe fn begin_msg(ep: *mut FidEp, msg: *const MsgRma, flags: u64, write: bool) -> isize {
    // SAFETY: see `objects`.
    unsafe {
        let m = &*msg;
        if m.rma_iov_count != 1 {
            return -(FI_EINVAL as isize);
        }
        let at = (*m.rma_iov).addr;
        let key = (*m.rma_iov).key;
        let all = remote(write, list(m.msg_iov, m.iov_count), m.addr, (at, key), m.context);
        let data = (write && flags & FI_REMOTE_CQ_DATA != 0).then_some(m.data);
        begin(ep, Some(flags), Remote { data, ..all })
    }
}

unsafe extern "C" fn read(
    ep: *mut FidEp,
    start: *mut c_void,
    length: usize,
    _: *mut c_void,
    from: FiAddr,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let iov = one(start, length);
    // SAFETY: see `objects`.
    unsafe { begin(ep, None, remote(false, &iov, from, (address, key), context)) }
}

unsafe extern "C" fn readv(
    ep: *mut FidEp,
    iov: *const IoVec,
    _: *mut *mut c_void,
    count: usize,
    from: FiAddr,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: see `objects`.
    unsafe { begin(ep, None, remote(false, list(iov, count), from, (address, key), context)) }
}

unsafe extern "C" fn readmsg(ep: *mut FidEp, msg: *const MsgRma, flags: u64) -> isize {
    // SAFETY: see `objects`.
    unsafe { begin_msg(ep, msg, flags, false) }
}

unsafe extern "C" fn write(
    ep: *mut FidEp,
    start: *const c_void,
    length: usize,
    _: *mut c_void,
    to: FiAddr,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let iov = one(start, length);
    // SAFETY: see `objects`.
    unsafe { begin(ep, None, remote(true, &iov, to, (address, key), context)) }
}

unsafe extern "C" fn writev(
    ep: *mut FidEp,
    iov: *const IoVec,
    _: *mut *mut c_void,
    count: usize,
    to: FiAddr,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: see `objects`.
    unsafe { begin(ep, None, remote(true, list(iov, count), to, (address, key), context)) }
}

unsafe extern "C" fn writemsg(ep: *mut FidEp, msg: *const MsgRma, flags: u64) -> isize {
    // SAFETY: see `objects`.
    unsafe { begin_msg(ep, msg, flags, true) }
}

unsafe extern "C" fn inject(
    ep: *mut FidEp,
    start: *const c_void,
    length: usize,
    to: FiAddr,
    address: u64,
    key: u64,
) -> isize {
    let iov = one(start, length);
    let remote = remote(true, &iov, to, (address, key), std::ptr::null_mut());
    // SAFETY: see `objects`.
    unsafe { begin(ep, Some(FI_INJECT), remote) }
}

unsafe extern "C" fn writedata(
    ep: *mut FidEp,
    start: *const c_void,
    length: usize,
    _: *mut c_void,
    data: u64,
    to: FiAddr,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let iov = one(start, length);
    let remote = remote(true, &iov, to, (address, key), context);
    // SAFETY: see `objects`.
    unsafe { begin(ep, None, Remote { data: Some(data), ..remote }) }
}

unsafe extern "C" fn injectdata(
    ep: *mut FidEp,
    start: *const c_void,
    length: usize,
    data: u64,
    to: FiAddr,
    address: u64,
    key: u64,
) -> isize {
    let iov = one(start, length);
    let remote = remote(true, &iov, to, (address, key), std::ptr::null_mut());
    // SAFETY: see `objects`.
    unsafe { begin(ep, Some(FI_INJECT), Remote { data: Some(data), ..remote }) }
}
