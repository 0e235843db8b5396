//! Memory regions.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::{Object, common_ops, fid};
use crate::bindings::*;
use crate::endpoint::Region;

pub(super) static OPS: OpsMr = OpsMr {
    reg: Some(reg),
    regv: Some(regv),
    regattr: Some(regattr),
    ..OpsMr::NONE
};
static FID_OPS: Ops = Ops {
    bind: Some(bind),
    control: Some(control),
    ..common_ops(close)
};

/// What is registered.
struct Wanted {
    start: u64,
    length: u64,
    access: u64,
    offset: u64,
    key: u64,
    context: *mut c_void,
}

/// # Safety
/// See `objects`.
unsafe fn register(domain: *mut Fid, wanted: &Wanted, out: *mut *mut FidMr) -> c_int {
    // SAFETY: a domain of this provider; see `objects`.
    unsafe {
        let domain = Object::<FidDomain>::of(domain);
        let key = domain.enter(|state, _| {
            let common = &mut state.common;
            let mode = common.mr_mode;
            let chosen = mode & (FI_MR_PROV_KEY | FI_MR_BASIC) != 0 || wanted.access == 0;
            let key = match chosen {
                true => {
                    common.next_key += 1;
                    // Apart from those that programs choose.
                    1 << 63 | common.next_key
                }
                false => wanted.key,
            };
            let by_address = mode & (FI_MR_VIRT_ADDR | FI_MR_BASIC) != 0;
            let base = if by_address {
                wanted.start
            } else {
                wanted.offset
            };
            let Wanted {
                start,
                length,
                access,
                ..
            } = *wanted;
            if common.regions.contains_key(&key) {
                return None;
            }
            let region = Region {
                start,
                base,
                length,
                access,
            };
            common.regions.insert(key, Arc::new(region));
            Some(key)
        });
        let Some(key) = key else { return -FI_ENOKEY };
        let c = FidMr {
            fid: fid(FI_CLASS_MR, wanted.context, &FID_OPS),
            mem_desc: std::ptr::null_mut(),
            key,
        };
        Object {
            c,
            gate: domain.gate.clone(),
            index: 0,
        }
        .write_to(out);
    }
    0
}

unsafe extern "C" fn reg(
    domain: *mut Fid,
    start: *const c_void,
    length: usize,
    access: u64,
    offset: u64,
    key: u64,
    _: u64,
    out: *mut *mut FidMr,
    context: *mut c_void,
) -> c_int {
    let (start, length) = (start as u64, length as u64);
    // SAFETY: see `objects`.
    unsafe {
        register(
            domain,
            &Wanted {
                start,
                length,
                access,
                offset,
                key,
                context,
            },
            out,
        )
    }
}

unsafe extern "C" fn regv(
    domain: *mut Fid,
    iov: *const IoVec,
    count: usize,
    access: u64,
    offset: u64,
    key: u64,
    flags: u64,
    out: *mut *mut FidMr,
    context: *mut c_void,
) -> c_int {
    if count != 1 {
        return -FI_EINVAL;
    }
    // SAFETY: see `objects`.
    unsafe {
        let one = &*iov;
        reg(
            domain,
            one.iov_base,
            one.iov_len,
            access,
            offset,
            key,
            flags,
            out,
            context,
        )
    }
}

unsafe extern "C" fn regattr(
    domain: *mut Fid,
    attr: *const MrAttr,
    flags: u64,
    out: *mut *mut FidMr,
) -> c_int {
    // SAFETY: see `objects`.
    unsafe {
        let a = &*attr;
        let (offset, key) = (a.offset, a.requested_key);
        regv(
            domain,
            a.mr_iov,
            a.iov_count,
            a.access,
            offset,
            key,
            flags,
            out,
            a.context,
        )
    }
}

unsafe extern "C" fn bind(_: *mut Fid, _: *mut Fid, _: u64) -> c_int {
    0
}

unsafe extern "C" fn control(_: *mut Fid, command: c_int, _: *mut c_void) -> c_int {
    if command == FI_ENABLE { 0 } else { -FI_ENOSYS }
}

unsafe extern "C" fn close(fid: *mut Fid) -> c_int {
    // SAFETY: see `objects`.
    let region = unsafe { Object::<FidMr>::take(fid) };
    let key = region.c.key;
    region.enter(|state, _| state.close_region(key));
    0
}
