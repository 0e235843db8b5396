//! Endpoints: opening, binding, options. What they send and receive is in `messages` and `rma`.

use std::ffi::{c_int, c_void};
use std::os::fd::AsFd;

use rustix::event::epoll;

use super::{Object, common_ops, fid, messages, rma};
use crate::bindings::*;
use crate::endpoint::{Endpoint, Side};
use crate::wire::Address;

static FID_OPS: Ops = Ops {
    bind: Some(bind),
    control: Some(control),
    ..common_ops(close)
};
static OPS: OpsEp = OpsEp {
    cancel: Some(cancel),
    getopt: Some(getopt),
    setopt: Some(setopt),
    tx_ctx: Some(no_context),
    rx_ctx: Some(no_context),
    rx_size_left: Some(size_left),
    tx_size_left: Some(size_left),
    ..OpsEp::NONE
};
// Programs call these without a check for null.
static CM: OpsCm = OpsCm {
    setname: Some(no_setname),
    getname: Some(getname),
    getpeer: Some(no_getpeer),
    connect: Some(no_connect),
    listen: Some(no_listen),
    accept: Some(no_accept),
    reject: Some(no_reject),
    shutdown: Some(no_shutdown),
    join: Some(no_join),
    ..OpsCm::NONE
};
static ATOMIC: OpsAtomic = OpsAtomic {
    writevalid: Some(no_atomic),
    readwritevalid: Some(no_atomic),
    compwritevalid: Some(no_atomic),
    ..OpsAtomic::NONE
};

pub(super) unsafe extern "C" fn open(
    domain: *mut FidDomain,
    info: *mut Info,
    out: *mut *mut FidEp,
    context: *mut c_void,
) -> c_int {
    // SAFETY: see `objects`.
    unsafe {
        let domain = Object::<FidDomain>::of(domain);
        let info = info.as_ref();
        let tx_flags = info
            .and_then(|info| info.tx_attr.as_ref())
            .map_or(0, |tx| tx.op_flags);
        let rx_flags = info
            .and_then(|info| info.rx_attr.as_ref())
            .map_or(0, |rx| rx.op_flags);
        let index = domain.enter(|state, _| {
            let mut endpoint = Endpoint::new(&state.common)?;
            endpoint.tx.set(false, tx_flags);
            endpoint.rx.set(false, rx_flags);
            Ok::<_, String>(state.endpoints.insert(endpoint))
        });
        let index = match index {
            Ok(index) => index,
            Err(message) => {
                crate::report(&format!("no endpoint: {message}"));
                return -FI_ENOMEM;
            }
        };
        let c = FidEp {
            fid: fid(FI_CLASS_EP, context, &FID_OPS),
            ops: &OPS,
            cm: &CM,
            msg: &messages::MSG,
            rma: &rma::OPS,
            tagged: &messages::TAGGED,
            atomic: &ATOMIC,
            collective: std::ptr::null(),
        };
        Object {
            c,
            gate: domain.gate.clone(),
            index,
        }
        .write_to(out);
    }
    0
}

unsafe extern "C" fn close(endpoint: *mut Fid) -> c_int {
    // SAFETY: see `objects`.
    let endpoint = unsafe { Object::<FidEp>::take(endpoint) };
    endpoint.enter(|state, index| {
        for (_, queue) in &mut state.common.queues {
            queue.endpoints.retain(|&other| other != index);
        }
        for (_, counter) in &mut state.common.counters {
            counter.endpoints.retain(|&other| other != index);
        }
        if let Some(mut endpoint) = state.endpoints.try_remove(index) {
            endpoint.close(&state.common);
        }
    });
    0
}

unsafe extern "C" fn bind(endpoint: *mut Fid, other: *mut Fid, flags: u64) -> c_int {
    // SAFETY: see `objects`.
    let (endpoint, fclass) = unsafe { (Object::<FidEp>::of(endpoint), (*other).fclass) };
    // SAFETY: an object of this provider. After the C part all kinds that the match on the class
    // below names have one layout.
    let place = unsafe {
        match fclass {
            FI_CLASS_AV => Object::<FidAv>::of(other).index,
            FI_CLASS_CQ => Object::<FidCq>::of(other).index,
            FI_CLASS_CNTR => Object::<FidCntr>::of(other).index,
            FI_CLASS_EQ => return 0,
            _ => return -FI_EINVAL,
        }
    };
    endpoint.enter(|state, index| {
        let endpoint = &mut state.endpoints[index];
        let list = match fclass {
            FI_CLASS_AV => {
                endpoint.vector = Some(place);
                endpoint.forget_source();
                return 0;
            }
            FI_CLASS_CQ => {
                let queue = &mut state.common.queues[place];
                let bind = |side: &mut Side, direction: u64| {
                    if flags & direction != 0 {
                        side.queue = Some(place);
                        side.set(flags & FI_SELECTIVE_COMPLETION != 0, side.op_flags);
                    }
                };
                bind(&mut endpoint.tx, FI_SEND);
                bind(&mut endpoint.rx, FI_RECV);
                if let (Some(wait), false) = (&queue.wait, queue.endpoints.contains(&index)) {
                    let data = epoll::EventData::new_u64(index as u64);
                    let socket = endpoint.wait_fd();
                    if epoll::add(wait.as_fd(), socket, data, epoll::EventFlags::IN).is_err() {
                        return -FI_ENOMEM;
                    }
                }
                &mut queue.endpoints
            }
            _ => {
                if flags & FI_SEND != 0 {
                    endpoint.tx.counter = Some(place);
                }
                if flags & FI_RECV != 0 {
                    endpoint.rx.counter = Some(place);
                }
                if flags & (FI_READ | FI_WRITE) != 0 {
                    endpoint.rma_counter = Some(place);
                }
                &mut state.common.counters[place].endpoints
            }
        };
        if !list.contains(&index) {
            list.push(index);
        }
        0
    })
}

unsafe extern "C" fn control(endpoint: *mut Fid, command: c_int, _: *mut c_void) -> c_int {
    if command != FI_ENABLE {
        return -FI_ENOSYS;
    }
    // SAFETY: see `objects`.
    unsafe { Object::<FidEp>::of(endpoint) }.enter(|state, index| {
        let endpoint = &mut state.endpoints[index];
        if endpoint.vector.is_none() {
            return -FI_ENOAV;
        }
        if endpoint.tx.queue.or(endpoint.rx.queue).is_none()
            && endpoint.tx.counter.or(endpoint.rx.counter).is_none()
        {
            return -FI_ENOCQ;
        }
        match endpoint.enable(&state.common) {
            Ok(()) => 0,
            Err(message) => {
                crate::report(&message);
                -FI_EIO
            }
        }
    })
}

unsafe extern "C" fn cancel(endpoint: *mut Fid, context: *mut c_void) -> isize {
    // SAFETY: see `objects`.
    unsafe { Object::<FidEp>::of(endpoint) }.enter(|state, index| {
        let cancelled = state.endpoints[index].cancel(&mut state.common, context);
        cancelled.err().unwrap_or(0)
    })
}

unsafe extern "C" fn getopt(
    endpoint: *mut Fid,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    length: *mut usize,
) -> c_int {
    if (level, name) != (FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV) {
        return -FI_ENOPROTOOPT;
    }
    // SAFETY: see `objects`.
    let min = unsafe { Object::<FidEp>::of(endpoint) }
        .enter(|state, index| state.endpoints[index].min_multi);
    // SAFETY: the program's place for a number.
    unsafe {
        *value.cast::<usize>() = min;
        *length = size_of::<usize>();
    }
    0
}

unsafe extern "C" fn setopt(
    endpoint: *mut Fid,
    level: c_int,
    name: c_int,
    value: *const c_void,
    length: usize,
) -> c_int {
    if (level, name, length) != (FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, size_of::<usize>()) {
        return -FI_ENOPROTOOPT;
    }
    // SAFETY: see `objects`; a number of the length just checked.
    unsafe {
        let min = *value.cast::<usize>();
        Object::<FidEp>::of(endpoint).enter(|state, index| state.endpoints[index].min_multi = min);
    }
    0
}

unsafe extern "C" fn size_left(_: *mut FidEp) -> isize {
    1024
}

unsafe extern "C" fn getname(endpoint: *mut Fid, buffer: *mut c_void, length: *mut usize) -> c_int {
    // SAFETY: see `objects`.
    let bytes = unsafe { Object::<FidEp>::of(endpoint) }
        .enter(|state, index| state.endpoints[index].address.to_bytes());
    // SAFETY: the program's buffer of `*length` bytes.
    unsafe {
        let room = *length;
        *length = Address::LENGTH;
        if room < Address::LENGTH || buffer.is_null() {
            return -FI_ETOOSMALL;
        }
        buffer
            .cast::<u8>()
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
    }
    0
}

refusals! {
    no_context(*mut FidEp, c_int, *mut c_void, *mut *mut FidEp, *mut c_void) = FI_ENOSYS;
    no_atomic(*mut FidEp, c_int, c_int, *mut usize) = FI_EOPNOTSUPP;
    no_setname(*mut Fid, *mut c_void, usize) = FI_ENOSYS;
    no_getpeer(*mut FidEp, *mut c_void, *mut usize) = FI_ENOSYS;
    no_connect(*mut FidEp, *const c_void, *const c_void, usize) = FI_ENOSYS;
    no_listen(*mut c_void) = FI_ENOSYS;
    no_accept(*mut FidEp, *const c_void, usize) = FI_ENOSYS;
    no_reject(*mut c_void, *mut Fid, *const c_void, usize) = FI_ENOSYS;
    no_shutdown(*mut FidEp, u64) = FI_ENOSYS;
    no_join(*mut FidEp, *const c_void, u64, *mut *mut c_void, *mut c_void) = FI_ENOSYS;
}
