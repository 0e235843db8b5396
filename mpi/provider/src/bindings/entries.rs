//! What is handed over with a call: messages, completions, attributes of the smaller objects.

use std::ffi::{c_char, c_int, c_void};

use super::FiAddr;

pub(crate) use libc::iovec as IoVec;

/// `struct fi_msg`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Msg {
    pub(crate) msg_iov: *const IoVec,
    pub(crate) desc: *mut *mut c_void,
    pub(crate) iov_count: usize,
    pub(crate) addr: FiAddr,
    pub(crate) context: *mut c_void,
    pub(crate) data: u64,
}

/// `struct fi_msg_tagged`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct MsgTagged {
    pub(crate) msg_iov: *const IoVec,
    pub(crate) desc: *mut *mut c_void,
    pub(crate) iov_count: usize,
    pub(crate) addr: FiAddr,
    pub(crate) tag: u64,
    pub(crate) ignore: u64,
    pub(crate) context: *mut c_void,
    pub(crate) data: u64,
}

/// `struct fi_rma_iov`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct RmaIov {
    pub(crate) addr: u64,
    pub(crate) len: usize,
    pub(crate) key: u64,
}

/// `struct fi_msg_rma`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct MsgRma {
    pub(crate) msg_iov: *const IoVec,
    pub(crate) desc: *mut *mut c_void,
    pub(crate) iov_count: usize,
    pub(crate) addr: FiAddr,
    pub(crate) rma_iov: *const RmaIov,
    pub(crate) rma_iov_count: usize,
    pub(crate) context: *mut c_void,
    pub(crate) data: u64,
}

/// `struct fi_cq_tagged_entry`; the other formats are its beginnings.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct CqTaggedEntry {
    pub(crate) op_context: *mut c_void,
    pub(crate) flags: u64,
    pub(crate) len: usize,
    pub(crate) buf: *mut c_void,
    pub(crate) data: u64,
    pub(crate) tag: u64,
}

/// `struct fi_cq_err_entry` as far as `err_data_size`; the address after it is newer.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct CqErrEntry {
    pub(crate) entry: CqTaggedEntry,
    pub(crate) olen: usize,
    pub(crate) err: c_int,
    pub(crate) prov_errno: c_int,
    pub(crate) err_data: *mut c_void,
    pub(crate) err_data_size: usize,
}

/// `struct fi_cq_attr`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct CqAttr {
    pub(crate) size: usize,
    pub(crate) flags: u64,
    pub(crate) format: c_int,
    pub(crate) wait_obj: c_int,
    pub(crate) signaling_vector: c_int,
    pub(crate) wait_cond: c_int,
    pub(crate) wait_set: *mut c_void,
}

/// `struct fi_cntr_attr`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct CntrAttr {
    pub(crate) events: c_int,
    pub(crate) wait_obj: c_int,
    pub(crate) wait_set: *mut c_void,
    pub(crate) flags: u64,
}

/// `struct fi_eq_attr`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct EqAttr {
    pub(crate) size: usize,
    pub(crate) flags: u64,
    pub(crate) wait_obj: c_int,
    pub(crate) signaling_vector: c_int,
    pub(crate) wait_set: *mut c_void,
}

/// `struct fi_eq_entry`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct EqEntry {
    pub(crate) fid: *mut super::Fid,
    pub(crate) context: *mut c_void,
    pub(crate) data: u64,
}

/// `struct fi_eq_err_entry`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct EqErrEntry {
    pub(crate) fid: *mut super::Fid,
    pub(crate) context: *mut c_void,
    pub(crate) data: u64,
    pub(crate) err: c_int,
    pub(crate) prov_errno: c_int,
    pub(crate) err_data: *mut c_void,
    pub(crate) err_data_size: usize,
}

/// `struct fi_av_attr`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct AvAttr {
    pub(crate) kind: c_int,
    pub(crate) rx_ctx_bits: c_int,
    pub(crate) count: usize,
    pub(crate) ep_per_node: usize,
    pub(crate) name: *const c_char,
    pub(crate) map_addr: *mut c_void,
    pub(crate) flags: u64,
}

/// `struct fi_mr_attr`, without what came after 1.17.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct MrAttr {
    pub(crate) mr_iov: *const IoVec,
    pub(crate) iov_count: usize,
    pub(crate) access: u64,
    pub(crate) offset: u64,
    pub(crate) requested_key: u64,
    pub(crate) context: *mut c_void,
    pub(crate) auth_key_size: usize,
    pub(crate) auth_key: *mut u8,
}
