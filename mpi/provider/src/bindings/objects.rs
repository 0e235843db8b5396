//! Objects and their tables of operations.
//!
//! An operation that is null is one that libfabric checks for before it calls.

use std::ffi::{c_char, c_int, c_void};

use super::{
    AvAttr, CntrAttr, CqAttr, CqErrEntry, EqAttr, EqErrEntry, FiAddr, Info, IoVec, MrAttr, Msg,
    MsgRma, MsgTagged,
};

structures! {
    OBJECTS:
    /// Every object begins with it.
    Fid = "fid" {
        fclass: usize;
        context: *mut c_void;
        ops: *const Ops;
    }
    FidFabric = "fid_fabric" {
        fid: Fid;
        ops: *const OpsFabric;
        api_version: u32;
    }
    FidDomain = "fid_domain" {
        fid: Fid;
        ops: *const OpsDomain;
        mr: *const OpsMr;
    }
    FidMr = "fid_mr" {
        fid: Fid;
        mem_desc: *mut c_void;
        key: u64;
    }
    FidAv = "fid_av" {
        fid: Fid;
        ops: *const OpsAv;
    }
    FidEq = "fid_eq" {
        fid: Fid;
        ops: *const OpsEq;
    }
    FidCq = "fid_cq" {
        fid: Fid;
        ops: *const OpsCq;
    }
    FidCntr = "fid_cntr" {
        fid: Fid;
        ops: *const OpsCntr;
    }
    FidEp = "fid_ep" {
        fid: Fid;
        ops: *const OpsEp;
        cm: *const OpsCm;
        msg: *const OpsMsg;
        rma: *const OpsRma;
        tagged: *const OpsTagged;
        atomic: *const OpsAtomic;
        collective: *const c_void;
    }
}

/// Tables of operations: the name here and in C, then the operations.
macro_rules! tables {
    ($(
        $name:ident = $c:literal { $($($op:ident),+: fn($($arg:ty),*) $(-> $result:ty)?;)* }
    )*) => {
        structures! { TABLES: $(
            $name = $c {
                size: usize;
                $($($op),+: Option<unsafe extern "C" fn($($arg),*) $(-> $result)?>;)*
            }
        )*}
        $(impl $name {
            /// A table without operations.
            pub(crate) const NONE: Self = Self { size: size_of::<Self>(), $($($op: None,)+)* };
        })*
    };
}

tables! {
    Ops = "fi_ops" {
        close: fn(*mut Fid) -> c_int;
        bind: fn(*mut Fid, *mut Fid, u64) -> c_int;
        control: fn(*mut Fid, c_int, *mut c_void) -> c_int;
        ops_open: fn(*mut Fid, *const c_char, u64, *mut *mut c_void, *mut c_void) -> c_int;
        tostr: fn(*const Fid, *mut c_char, usize) -> c_int;
        ops_set: fn(*mut Fid, *const c_char, u64, *mut c_void, *mut c_void) -> c_int;
    }
    OpsFabric = "fi_ops_fabric" {
        domain: fn(*mut FidFabric, *mut Info, *mut *mut FidDomain, *mut c_void) -> c_int;
        passive_ep: fn(*mut FidFabric, *mut Info, *mut *mut c_void, *mut c_void) -> c_int;
        eq_open: fn(*mut FidFabric, *mut EqAttr, *mut *mut FidEq, *mut c_void) -> c_int;
        wait_open: fn(*mut FidFabric, *mut c_void, *mut *mut c_void) -> c_int;
        trywait: fn(*mut FidFabric, *mut *mut Fid, c_int) -> c_int;
    }
    OpsDomain = "fi_ops_domain" {
        av_open: fn(*mut FidDomain, *mut AvAttr, *mut *mut FidAv, *mut c_void) -> c_int;
        cq_open: fn(*mut FidDomain, *mut CqAttr, *mut *mut FidCq, *mut c_void) -> c_int;
        endpoint, scalable_ep: fn(*mut FidDomain, *mut Info, *mut *mut FidEp, *mut c_void) -> c_int;
        cntr_open: fn(*mut FidDomain, *mut CntrAttr, *mut *mut FidCntr, *mut c_void) -> c_int;
        poll_open: fn(*mut FidDomain, *mut c_void, *mut *mut c_void) -> c_int;
        stx_ctx, srx_ctx: fn(*mut FidDomain, *mut c_void, *mut *mut c_void, *mut c_void) -> c_int;
        query_atomic: fn(*mut FidDomain, c_int, c_int, *mut c_void, u64) -> c_int;
        query_collective: fn(*mut FidDomain, c_int, *mut c_void, u64) -> c_int;
    }
    OpsMr = "fi_ops_mr" {
        reg: fn(*mut Fid, *const c_void, usize, u64, u64, u64, u64, *mut *mut FidMr, *mut c_void)
            -> c_int;
        regv: fn(*mut Fid, *const IoVec, usize, u64, u64, u64, u64, *mut *mut FidMr, *mut c_void)
            -> c_int;
        regattr: fn(*mut Fid, *const MrAttr, u64, *mut *mut FidMr) -> c_int;
    }
    OpsAv = "fi_ops_av" {
        insert: fn(*mut FidAv, *const c_void, usize, *mut FiAddr, u64, *mut c_void) -> c_int;
        insertsvc: fn(*mut FidAv, *const c_char, *const c_char, *mut FiAddr, u64, *mut c_void)
            -> c_int;
        insertsym: fn(*mut FidAv, *const c_char, usize, *const c_char, usize, *mut FiAddr, u64,
            *mut c_void) -> c_int;
        remove: fn(*mut FidAv, *mut FiAddr, usize, u64) -> c_int;
        lookup: fn(*mut FidAv, FiAddr, *mut c_void, *mut usize) -> c_int;
        straddr: fn(*mut FidAv, *const c_void, *mut c_char, *mut usize) -> *const c_char;
    }
    OpsEq = "fi_ops_eq" {
        read: fn(*mut FidEq, *mut u32, *mut c_void, usize, u64) -> isize;
        readerr: fn(*mut FidEq, *mut EqErrEntry, u64) -> isize;
        write: fn(*mut FidEq, u32, *const c_void, usize, u64) -> isize;
        sread: fn(*mut FidEq, *mut u32, *mut c_void, usize, c_int, u64) -> isize;
        strerror: fn(*mut FidEq, c_int, *const c_void, *mut c_char, usize) -> *const c_char;
    }
    OpsCq = "fi_ops_cq" {
        read: fn(*mut FidCq, *mut c_void, usize) -> isize;
        readfrom: fn(*mut FidCq, *mut c_void, usize, *mut FiAddr) -> isize;
        readerr: fn(*mut FidCq, *mut CqErrEntry, u64) -> isize;
        sread: fn(*mut FidCq, *mut c_void, usize, *const c_void, c_int) -> isize;
        sreadfrom: fn(*mut FidCq, *mut c_void, usize, *mut FiAddr, *const c_void, c_int) -> isize;
        signal: fn(*mut FidCq) -> c_int;
        strerror: fn(*mut FidCq, c_int, *const c_void, *mut c_char, usize) -> *const c_char;
    }
    OpsCntr = "fi_ops_cntr" {
        read, readerr: fn(*mut FidCntr) -> u64;
        add, set: fn(*mut FidCntr, u64) -> c_int;
        wait: fn(*mut FidCntr, u64, c_int) -> c_int;
        adderr, seterr: fn(*mut FidCntr, u64) -> c_int;
    }
    OpsEp = "fi_ops_ep" {
        cancel: fn(*mut Fid, *mut c_void) -> isize;
        getopt: fn(*mut Fid, c_int, c_int, *mut c_void, *mut usize) -> c_int;
        setopt: fn(*mut Fid, c_int, c_int, *const c_void, usize) -> c_int;
        tx_ctx, rx_ctx: fn(*mut FidEp, c_int, *mut c_void, *mut *mut FidEp, *mut c_void) -> c_int;
        rx_size_left, tx_size_left: fn(*mut FidEp) -> isize;
    }
    OpsCm = "fi_ops_cm" {
        setname: fn(*mut Fid, *mut c_void, usize) -> c_int;
        getname: fn(*mut Fid, *mut c_void, *mut usize) -> c_int;
        getpeer: fn(*mut FidEp, *mut c_void, *mut usize) -> c_int;
        connect: fn(*mut FidEp, *const c_void, *const c_void, usize) -> c_int;
        listen: fn(*mut c_void) -> c_int;
        accept: fn(*mut FidEp, *const c_void, usize) -> c_int;
        reject: fn(*mut c_void, *mut Fid, *const c_void, usize) -> c_int;
        shutdown: fn(*mut FidEp, u64) -> c_int;
        join: fn(*mut FidEp, *const c_void, u64, *mut *mut c_void, *mut c_void) -> c_int;
    }
    OpsMsg = "fi_ops_msg" {
        recv: fn(*mut FidEp, *mut c_void, usize, *mut c_void, FiAddr, *mut c_void) -> isize;
        recvv: fn(*mut FidEp, *const IoVec, *mut *mut c_void, usize, FiAddr, *mut c_void) -> isize;
        recvmsg: fn(*mut FidEp, *const Msg, u64) -> isize;
        send: fn(*mut FidEp, *const c_void, usize, *mut c_void, FiAddr, *mut c_void) -> isize;
        sendv: fn(*mut FidEp, *const IoVec, *mut *mut c_void, usize, FiAddr, *mut c_void) -> isize;
        sendmsg: fn(*mut FidEp, *const Msg, u64) -> isize;
        inject: fn(*mut FidEp, *const c_void, usize, FiAddr) -> isize;
        senddata: fn(*mut FidEp, *const c_void, usize, *mut c_void, u64, FiAddr, *mut c_void)
            -> isize;
        injectdata: fn(*mut FidEp, *const c_void, usize, u64, FiAddr) -> isize;
    }
    OpsTagged = "fi_ops_tagged" {
        recv: fn(*mut FidEp, *mut c_void, usize, *mut c_void, FiAddr, u64, u64, *mut c_void)
            -> isize;
        recvv: fn(*mut FidEp, *const IoVec, *mut *mut c_void, usize, FiAddr, u64, u64,
            *mut c_void) -> isize;
        recvmsg: fn(*mut FidEp, *const MsgTagged, u64) -> isize;
        send: fn(*mut FidEp, *const c_void, usize, *mut c_void, FiAddr, u64, *mut c_void) -> isize;
        sendv: fn(*mut FidEp, *const IoVec, *mut *mut c_void, usize, FiAddr, u64, *mut c_void)
            -> isize;
        sendmsg: fn(*mut FidEp, *const MsgTagged, u64) -> isize;
        inject: fn(*mut FidEp, *const c_void, usize, FiAddr, u64) -> isize;
        senddata: fn(*mut FidEp, *const c_void, usize, *mut c_void, u64, FiAddr, u64,
            *mut c_void) -> isize;
        injectdata: fn(*mut FidEp, *const c_void, usize, u64, FiAddr, u64) -> isize;
    }
    OpsRma = "fi_ops_rma" {
        read: fn(*mut FidEp, *mut c_void, usize, *mut c_void, FiAddr, u64, u64, *mut c_void)
            -> isize;
        readv: fn(*mut FidEp, *const IoVec, *mut *mut c_void, usize, FiAddr, u64, u64,
            *mut c_void) -> isize;
        readmsg: fn(*mut FidEp, *const MsgRma, u64) -> isize;
        write: fn(*mut FidEp, *const c_void, usize, *mut c_void, FiAddr, u64, u64, *mut c_void)
            -> isize;
        writev: fn(*mut FidEp, *const IoVec, *mut *mut c_void, usize, FiAddr, u64, u64,
            *mut c_void) -> isize;
        writemsg: fn(*mut FidEp, *const MsgRma, u64) -> isize;
        inject: fn(*mut FidEp, *const c_void, usize, FiAddr, u64, u64) -> isize;
        writedata: fn(*mut FidEp, *const c_void, usize, *mut c_void, u64, FiAddr, u64, u64,
            *mut c_void) -> isize;
        injectdata: fn(*mut FidEp, *const c_void, usize, u64, FiAddr, u64, u64) -> isize;
    }
    // Only the questions at its end have answers.
    OpsAtomic = "fi_ops_atomic" {
        write, writev, writemsg, inject, readwrite, readwritev, readwritemsg, compwrite: fn();
        compwritev, compwritemsg: fn();
        writevalid, readwritevalid: fn(*mut FidEp, c_int, c_int, *mut usize) -> c_int;
        compwritevalid: fn(*mut FidEp, c_int, c_int, *mut usize) -> c_int;
    }
}
