//! The domain: one state, and the objects in it.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::{Object, av, cntr, common_ops, cq, endpoint, fid, mr};
use crate::bindings::*;
use crate::endpoint::State;
use crate::gate::Gate;
use crate::provider;

pub(super) unsafe extern "C" fn open(
    _: *mut FidFabric,
    info: *mut Info,
    out: *mut *mut FidDomain,
    context: *mut c_void,
) -> c_int {
    // SAFETY: see `objects`.
    unsafe {
        let attributes = info.as_ref().and_then(|info| info.domain_attr.as_ref());
        let promised = attributes.is_some_and(|domain| domain.threading == FI_THREAD_DOMAIN);
        let mut state = State::new(provider().options.clone());
        state.common.mr_mode = attributes.map_or(0, |domain| domain.mr_mode);
        let c = FidDomain {
            fid: fid(FI_CLASS_DOMAIN, context, &FID_OPS),
            ops: &OPS,
            mr: &mr::OPS,
        };
        Object {
            c,
            gate: Arc::new(Gate::new(state, promised)),
            index: 0,
        }
        .write_to(out);
    }
    0
}

static FID_OPS: Ops = common_ops(close);
static OPS: OpsDomain = OpsDomain {
    av_open: Some(av::open),
    cq_open: Some(cq::open),
    endpoint: Some(endpoint::open),
    scalable_ep: Some(no_scalable_ep),
    cntr_open: Some(cntr::open),
    stx_ctx: Some(no_context),
    srx_ctx: Some(no_context),
    query_atomic: Some(no_atomic),
    ..OpsDomain::NONE
};

unsafe extern "C" fn close(fid: *mut Fid) -> c_int {
    // SAFETY: see `objects`.
    let domain = unsafe { Object::<FidDomain>::of(fid) };
    // Without an endpoint nobody reaches the regions that are left.
    if domain.enter(|state, _| !state.endpoints.is_empty()) {
        return -FI_EBUSY;
    }
    // SAFETY: see `objects`, and the program is done with it.
    drop(unsafe { Object::<FidDomain>::take(fid) });
    0
}

refusals! {
    no_scalable_ep(*mut FidDomain, *mut Info, *mut *mut FidEp, *mut c_void) = FI_ENOSYS;
    no_context(*mut FidDomain, *mut c_void, *mut *mut c_void, *mut c_void) = FI_ENOSYS;
    no_atomic(*mut FidDomain, c_int, c_int, *mut c_void, u64) = FI_EOPNOTSUPP;
}
