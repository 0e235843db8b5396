//! Reads and writes of registered memory.

use std::ffi::c_void;

use super::messages::one;
use super::{Object, list};
use crate::bindings::*;
use crate::endpoint::{Endpoint, Remote};
use crate::getinfo::IOV_MAX;

pub(super) static OPS: OpsRma = OpsRma {
    read: Some(read),
    readv: Some(vector::<false>),
    readmsg: Some(message::<false>),
    write: Some(write),
    writev: Some(vector::<true>),
    writemsg: Some(message::<true>),
    inject: Some(inject),
    writedata: Some(writedata),
    injectdata: Some(injectdata),
    ..OpsRma::NONE
};

/// # Safety
/// See `objects`. `flags`: `None` for the endpoint's own.
unsafe fn begin(ep: *mut FidEp, flags: Option<u64>, remote: Remote<'_>) -> isize {
    if remote.iov.len() > IOV_MAX {
        return -(FI_EINVAL as isize);
    }
    // SAFETY: see `objects`.
    unsafe { Object::<FidEp>::of(ep) }.enter(|state, index| {
        let endpoint: &mut Endpoint = &mut state.endpoints[index];
        let flags = flags.unwrap_or(endpoint.tx.op_flags);
        let silent = flags & FI_INJECT != 0 && remote.context.is_null();
        let completes = endpoint.tx.completes_with(flags) && !silent;
        let remote = Remote {
            flags,
            completes,
            ..remote
        };
        // SAFETY: the program's buffers.
        unsafe { endpoint.begin_remote(&mut state.common, &remote) }
            .err()
            .unwrap_or(0)
    })
}

fn remote<'a>(
    write: bool,
    iov: &'a [IoVec],
    to: u64,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> Remote<'a> {
    Remote {
        write,
        iov,
        to,
        address,
        key,
        data: None,
        context,
        flags: 0,
        completes: true,
    }
}

/// `readv` and `writev`.
unsafe extern "C" fn vector<const WRITE: bool>(
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
    unsafe {
        begin(
            ep,
            None,
            remote(WRITE, list(iov, count), to, address, key, context),
        )
    }
}

/// `readmsg` and `writemsg`.
unsafe extern "C" fn message<const WRITE: bool>(
    ep: *mut FidEp,
    msg: *const MsgRma,
    flags: u64,
) -> isize {
    // SAFETY: see `objects`.
    unsafe {
        let m = &*msg;
        if m.rma_iov_count != 1 {
            return -(FI_EINVAL as isize);
        }
        let (address, key) = ((*m.rma_iov).addr, (*m.rma_iov).key);
        let iov = list(m.msg_iov, m.iov_count);
        let all = remote(WRITE, iov, m.addr, address, key, m.context);
        let data = (WRITE && flags & FI_REMOTE_CQ_DATA != 0).then_some(m.data);
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
    unsafe { begin(ep, None, remote(false, &iov, from, address, key, context)) }
}

/// A write and an injected write, with or without completion data.
macro_rules! writes {
    ($write:ident, $inject:ident $(, $data:ident)?) => {
        unsafe extern "C" fn $write(
            ep: *mut FidEp,
            start: *const c_void,
            length: usize,
            _: *mut c_void,
            $($data: u64,)?
            to: FiAddr,
            address: u64,
            key: u64,
            context: *mut c_void,
        ) -> isize {
            let iov = one(start, length);
            let remote = remote(true, &iov, to, address, key, context);
            // SAFETY: see `objects`.
            unsafe { begin(ep, None, Remote { data: optional!($($data)?), ..remote }) }
        }

        unsafe extern "C" fn $inject(
            ep: *mut FidEp,
            start: *const c_void,
            length: usize,
            $($data: u64,)?
            to: FiAddr,
            address: u64,
            key: u64,
        ) -> isize {
            let iov = one(start, length);
            let remote = remote(true, &iov, to, address, key, std::ptr::null_mut());
            // SAFETY: see `objects`.
            unsafe { begin(ep, Some(FI_INJECT), Remote { data: optional!($($data)?), ..remote }) }
        }
    };
}

writes!(write, inject);
writes!(writedata, injectdata, data);
