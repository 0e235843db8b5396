//! Address vectors.

use std::ffi::{c_char, c_int, c_void};

use super::{Object, common_ops, eq, fid, put_text};
use crate::bindings::*;
use crate::endpoint::Vector;
use crate::wire::Address;

static FID_OPS: Ops = Ops {
    bind: Some(bind),
    ..common_ops(close)
};
static OPS: OpsAv = OpsAv {
    insert: Some(insert),
    insertsvc: Some(no_insertsvc),
    insertsym: Some(no_insertsym),
    remove: Some(remove),
    lookup: Some(lookup),
    straddr: Some(straddr),
    ..OpsAv::NONE
};

/// Insertions complete within the call, so this flag only requests an event.
const ASYNCHRONOUS: u64 = FI_COMPLETION;

pub(super) unsafe extern "C" fn open(
    domain: *mut FidDomain,
    attr: *mut AvAttr,
    out: *mut *mut FidAv,
    context: *mut c_void,
) -> c_int {
    // SAFETY: see `objects`.
    unsafe {
        let attr = &mut *attr;
        if !attr.name.is_null() || attr.flags & !ASYNCHRONOUS != 0 {
            return -FI_ENOSYS;
        }
        match attr.kind {
            FI_AV_UNSPEC => attr.kind = FI_AV_TABLE,
            FI_AV_MAP | FI_AV_TABLE => {}
            _ => return -FI_EINVAL,
        }
        let domain = Object::<FidDomain>::of(domain);
        let index = domain.enter(|state, _| state.common.vectors.insert(Vector::default()));
        let c = FidAv {
            fid: fid(FI_CLASS_AV, context, &FID_OPS),
            ops: &OPS,
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

unsafe extern "C" fn close(fid: *mut Fid) -> c_int {
    // SAFETY: see `objects`.
    let vector = unsafe { Object::<FidAv>::of(fid) };
    let busy = vector.enter(|state, index| {
        let mut endpoints = state.endpoints.iter();
        endpoints.any(|(_, endpoint)| endpoint.vector == Some(index))
    });
    if busy {
        return -FI_EBUSY;
    }
    // SAFETY: see `objects`, and the program is done with it.
    let vector = unsafe { Object::<FidAv>::take(fid) };
    vector.enter(|state, index| state.common.vectors.try_remove(index));
    0
}

unsafe extern "C" fn bind(vector: *mut Fid, queue: *mut Fid, _: u64) -> c_int {
    // SAFETY: see `objects`.
    unsafe {
        if (*queue).fclass != FI_CLASS_EQ {
            return -FI_EINVAL;
        }
        Object::<FidAv>::of(vector).enter(|state, index| {
            state.common.vectors[index].events = Some(eq::shared(queue));
        });
    }
    0
}

unsafe extern "C" fn insert(
    vector: *mut FidAv,
    addresses: *const c_void,
    count: usize,
    out: *mut FiAddr,
    _: u64,
    context: *mut c_void,
) -> c_int {
    // SAFETY: see `objects`.
    let object = unsafe { Object::<FidAv>::of(vector) };
    object.enter(|state, index| {
        let common = &mut state.common;
        let mut inserted: c_int = 0;
        for entry in 0..count {
            let mut bytes = [0; Address::LENGTH];
            // SAFETY: the program gives `count` addresses, each as long as `fi_getname` said.
            unsafe {
                let start = addresses.cast::<u8>().add(entry * Address::LENGTH);
                start.copy_to_nonoverlapping(bytes.as_mut_ptr(), Address::LENGTH);
            }
            let row = match Address::from_bytes(&bytes) {
                Some(address) => {
                    inserted += 1;
                    let peer = common.peers.number(&address);
                    common.vectors[index].insert(peer)
                }
                None => FI_ADDR_UNSPEC,
            };
            if !out.is_null() {
                // SAFETY: a place for each result.
                unsafe { *out.add(entry) = row };
            }
        }
        if let Some(events) = &common.vectors[index].events {
            let data = u64::try_from(inserted).unwrap_or(0);
            events.put(
                FI_AV_COMPLETE,
                EqEntry {
                    fid: vector.cast(),
                    context,
                    data,
                },
            );
            return 0;
        }
        inserted
    })
}

refusals! {
    no_insertsvc(*mut FidAv, *const c_char, *const c_char, *mut FiAddr, u64, *mut c_void)
        = FI_ENOSYS;
    no_insertsym(*mut FidAv, *const c_char, usize, *const c_char, usize, *mut FiAddr, u64,
        *mut c_void) = FI_ENOSYS;
}

unsafe extern "C" fn remove(vector: *mut FidAv, rows: *mut FiAddr, count: usize, _: u64) -> c_int {
    // SAFETY: see `objects`.
    let object = unsafe { Object::<FidAv>::of(vector) };
    object.enter(|state, index| {
        state
            .endpoints
            .iter_mut()
            .for_each(|(_, endpoint)| endpoint.forget_source());
        let vector = &mut state.common.vectors[index];
        let mut all = true;
        for at in 0..count {
            // SAFETY: `count` entries of the program's.
            all &= vector.remove(unsafe { *rows.add(at) });
        }
        if all { 0 } else { -FI_EINVAL }
    })
}

unsafe extern "C" fn lookup(
    vector: *mut FidAv,
    row: FiAddr,
    out: *mut c_void,
    length: *mut usize,
) -> c_int {
    // SAFETY: see `objects`.
    let object = unsafe { Object::<FidAv>::of(vector) };
    object.enter(|state, index| {
        let common = &state.common;
        let Some(peer) = common.vectors[index].peer(row) else {
            return -FI_EINVAL;
        };
        let bytes = common.peers.address(peer).to_bytes();
        // SAFETY: the program's buffer of `*length` bytes.
        unsafe {
            let count = bytes.len().min(*length);
            out.cast::<u8>()
                .copy_from_nonoverlapping(bytes.as_ptr(), count);
            *length = bytes.len();
        }
        0
    })
}

unsafe extern "C" fn straddr(
    _: *mut FidAv,
    address: *const c_void,
    buffer: *mut c_char,
    length: *mut usize,
) -> *const c_char {
    let mut bytes = [0; Address::LENGTH];
    // SAFETY: an address as `fi_getname` gives it, and a buffer of `*length` bytes.
    unsafe {
        address
            .cast::<u8>()
            .copy_to_nonoverlapping(bytes.as_mut_ptr(), Address::LENGTH);
        let text = match Address::from_bytes(&bytes) {
            Some(address) => format!("dpamatch://{:032x}", address.identity),
            None => "no address of dpamatch".to_owned(),
        };
        put_text(text.as_bytes(), buffer, *length);
        *length = text.len() + 1;
    }
    buffer
}
