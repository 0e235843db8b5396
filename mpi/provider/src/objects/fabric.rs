//! The fabric, which makes domains and event queues.

use std::ffi::{c_int, c_void};

use super::{Object, common_ops, cq, domain, eq, fid};
use crate::bindings::*;

/// `fi_fabric` of this provider.
pub(crate) unsafe extern "C" fn fabric(
    attr: *mut FabricAttr,
    out: *mut *mut FidFabric,
    context: *mut c_void,
) -> c_int {
    // SAFETY: see `objects`.
    unsafe {
        let api_version = attr.as_ref().map_or(0, |attr| attr.api_version);
        let fid = fid(FI_CLASS_FABRIC, context, &FID_OPS);
        *out = Box::into_raw(Box::new(FidFabric {
            fid,
            ops: &OPS,
            api_version,
        }));
    }
    0
}

static FID_OPS: Ops = common_ops(close);
static OPS: OpsFabric = OpsFabric {
    domain: Some(domain::open),
    passive_ep: Some(no_passive_ep),
    eq_open: Some(eq::open),
    wait_open: Some(no_wait_open),
    trywait: Some(trywait),
    ..OpsFabric::NONE
};

unsafe extern "C" fn close(fid: *mut Fid) -> c_int {
    // SAFETY: made by `fabric`.
    drop(unsafe { Box::from_raw(fid.cast::<FidFabric>()) });
    0
}

refusals! {
    no_passive_ep(*mut FidFabric, *mut Info, *mut *mut c_void, *mut c_void) = FI_ENOSYS;
    no_wait_open(*mut FidFabric, *mut c_void, *mut *mut c_void) = FI_ENOSYS;
}

/// Whether a program may sleep on these objects' descriptors.
unsafe extern "C" fn trywait(_: *mut FidFabric, fids: *mut *mut Fid, count: c_int) -> c_int {
    let count = usize::try_from(count).unwrap_or(0);
    for index in 0..count {
        // SAFETY: see `objects`.
        let (object, fclass) = unsafe {
            let object = *fids.add(index);
            (object, (*object).fclass)
        };
        if fclass == FI_CLASS_CQ {
            // SAFETY: a completion queue of this provider.
            let queue = unsafe { Object::<FidCq>::of(object) };
            if !cq::fall_asleep(queue) {
                return -FI_EAGAIN;
            }
        }
    }
    0
}
