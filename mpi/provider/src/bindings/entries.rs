//! What is handed over with a call: messages, completions, attributes of the smaller objects.

use std::ffi::{c_char, c_int, c_void};

use super::FiAddr;

pub(crate) use libc::iovec as IoVec;

structures! {
    ENTRIES:
    Msg = "fi_msg" {
        msg_iov: *const IoVec;
        desc: *mut *mut c_void;
        iov_count: usize;
        addr: FiAddr;
        context: *mut c_void;
        data: u64;
    }
    MsgTagged = "fi_msg_tagged" {
        msg_iov: *const IoVec;
        desc: *mut *mut c_void;
        iov_count: usize;
        addr: FiAddr;
        tag, ignore: u64;
        context: *mut c_void;
        data: u64;
    }
    #[derive(Clone, Copy)]
    RmaIov = "fi_rma_iov" {
        addr: u64;
        len: usize;
        key: u64;
    }
    MsgRma = "fi_msg_rma" {
        msg_iov: *const IoVec;
        desc: *mut *mut c_void;
        iov_count: usize;
        addr: FiAddr;
        rma_iov: *const RmaIov;
        rma_iov_count: usize;
        context: *mut c_void;
        data: u64;
    }
    /// The other formats are its beginnings.
    #[derive(Clone, Copy)]
    CqTaggedEntry = "fi_cq_tagged_entry" {
        op_context: *mut c_void;
        flags: u64;
        len: usize;
        buf: *mut c_void;
        data, tag: u64;
    }
    /// Ends with `err_data_size`; the address after it is newer than 1.17.
    CqErrEntry = "fi_cq_err_entry" {
        entry: CqTaggedEntry;
        olen: usize;
        err, prov_errno: c_int;
        err_data: *mut c_void;
        err_data_size: usize;
    }
    CqAttr = "fi_cq_attr" {
        size: usize;
        flags: u64;
        format, wait_obj, signaling_vector, wait_cond: c_int;
        wait_set: *mut c_void;
    }
    CntrAttr = "fi_cntr_attr" {
        events, wait_obj: c_int;
        wait_set: *mut c_void;
        flags: u64;
    }
    EqAttr = "fi_eq_attr" {
        size: usize;
        flags: u64;
        wait_obj, signaling_vector: c_int;
        wait_set: *mut c_void;
    }
    #[derive(Clone, Copy)]
    EqEntry = "fi_eq_entry" {
        fid: *mut super::Fid;
        context: *mut c_void;
        data: u64;
    }
    EqErrEntry = "fi_eq_err_entry" {
        fid: *mut super::Fid;
        context: *mut c_void;
        data: u64;
        err, prov_errno: c_int;
        err_data: *mut c_void;
        err_data_size: usize;
    }
    AvAttr = "fi_av_attr" {
        kind, rx_ctx_bits: c_int;
        count, ep_per_node: usize;
        name: *const c_char;
        map_addr: *mut c_void;
        flags: u64;
    }
    /// Without what came after 1.17.
    MrAttr = "fi_mr_attr" {
        mr_iov: *const IoVec;
        iov_count: usize;
        access, offset, requested_key: u64;
        context: *mut c_void;
        auth_key_size: usize;
        auth_key: *mut u8;
    }
}
