//! Objects and their tables of operations.
//!
//! An operation that is null is one that libfabric checks for before it calls.

use std::ffi::{c_char, c_int, c_void};

use super::{
    AvAttr, CntrAttr, CqAttr, CqErrEntry, EqAttr, EqErrEntry, FiAddr, Info, IoVec, MrAttr, Msg,
    MsgRma, MsgTagged,
};

/// `struct fid`: what every object begins with.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Fid {
    pub(crate) fclass: usize,
    pub(crate) context: *mut c_void,
    pub(crate) ops: *const Ops,
}

macro_rules! table {
    // Not all of its operations are there: what is not named is null.
    (partial $(#[$about:meta])* $name:ident {
        $($op:ident: fn($($arg:ty),*) $(-> $result:ty)?;)*
    }) => {
        table! { $(#[$about])* $name { $($op: fn($($arg),*) $(-> $result)?;)* } }
        impl $name {
            /// A table without operations.
            pub(crate) const NONE: Self = Self { size: size_of::<Self>(), $($op: None),* };
        }
    };
    ($(#[$about:meta])* $name:ident { $($op:ident: fn($($arg:ty),*) $(-> $result:ty)?;)* }) => {
        $(#[$about])*
        #[repr(C)]
        #[derive(Debug)]
        pub(crate) struct $name {
            pub(crate) size: usize,
            $(pub(crate) $op: Option<unsafe extern "C" fn($($arg),*) $(-> $result)?>,)*
        }
        #[cfg(test)]
        impl super::layout::Layout for $name {
            fn offsets() -> Vec<(&'static str, usize)> {
                let size = ("size", std::mem::offset_of!($name, size));
                vec![size, $((stringify!($op), std::mem::offset_of!($name, $op))),*]
            }
        }
    };
}

macro_rules! object {
    ($(#[$about:meta])* $name:ident { $($table:ident: $kind:ty),* }) => {
        $(#[$about])*
        #[repr(C)]
        #[derive(Debug)]
        pub(crate) struct $name {
            pub(crate) fid: Fid,
            $(pub(crate) $table: *const $kind,)*
        }
        #[cfg(test)]
        impl super::layout::Layout for $name {
            fn offsets() -> Vec<(&'static str, usize)> {
                let fid = ("fid", std::mem::offset_of!($name, fid));
                vec![fid, $((stringify!($table), std::mem::offset_of!($name, $table))),*]
            }
        }
    };
}

table! {
    partial
    /// `struct fi_ops`.
    Ops {
        close: fn(*mut Fid) -> c_int;
        bind: fn(*mut Fid, *mut Fid, u64) -> c_int;
        control: fn(*mut Fid, c_int, *mut c_void) -> c_int;
        ops_open: fn(*mut Fid, *const c_char, u64, *mut *mut c_void, *mut c_void) -> c_int;
        tostr: fn(*const Fid, *mut c_char, usize) -> c_int;
        ops_set: fn(*mut Fid, *const c_char, u64, *mut c_void, *mut c_void) -> c_int;
    }
}

table! {
    partial
    /// `struct fi_ops_fabric`.
    OpsFabric {
        domain: fn(*mut FidFabric, *mut Info, *mut *mut FidDomain, *mut c_void) -> c_int;
        passive_ep: fn(*mut FidFabric, *mut Info, *mut *mut c_void, *mut c_void) -> c_int;
        eq_open: fn(*mut FidFabric, *mut EqAttr, *mut *mut FidEq, *mut c_void) -> c_int;
        wait_open: fn(*mut FidFabric, *mut c_void, *mut *mut c_void) -> c_int;
        trywait: fn(*mut FidFabric, *mut *mut Fid, c_int) -> c_int;
    }
}

/// `struct fid_fabric`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct FidFabric {
    pub(crate) fid: Fid,
    pub(crate) ops: *const OpsFabric,
    pub(crate) api_version: u32,
}

table! {
    partial
    /// `struct fi_ops_domain`.
    OpsDomain {
        av_open: fn(*mut FidDomain, *mut AvAttr, *mut *mut FidAv, *mut c_void) -> c_int;
        cq_open: fn(*mut FidDomain, *mut CqAttr, *mut *mut FidCq, *mut c_void) -> c_int;
        endpoint: fn(*mut FidDomain, *mut Info, *mut *mut FidEp, *mut c_void) -> c_int;
        scalable_ep: fn(*mut FidDomain, *mut Info, *mut *mut FidEp, *mut c_void) -> c_int;
        cntr_open: fn(*mut FidDomain, *mut CntrAttr, *mut *mut FidCntr, *mut c_void) -> c_int;
        poll_open: fn(*mut FidDomain, *mut c_void, *mut *mut c_void) -> c_int;
        stx_ctx: fn(*mut FidDomain, *mut c_void, *mut *mut c_void, *mut c_void) -> c_int;
        srx_ctx: fn(*mut FidDomain, *mut c_void, *mut *mut c_void, *mut c_void) -> c_int;
        query_atomic: fn(*mut FidDomain, c_int, c_int, *mut c_void, u64) -> c_int;
        query_collective: fn(*mut FidDomain, c_int, *mut c_void, u64) -> c_int;
    }
}

table! {
    partial
    /// `struct fi_ops_mr`.
    OpsMr {
        reg: fn(*mut Fid, *const c_void, usize, u64, u64, u64, u64, *mut *mut FidMr, *mut c_void)
            -> c_int;
        regv: fn(*mut Fid, *const IoVec, usize, u64, u64, u64, u64, *mut *mut FidMr, *mut c_void)
            -> c_int;
        regattr: fn(*mut Fid, *const MrAttr, u64, *mut *mut FidMr) -> c_int;
    }
}

object! {
    /// `struct fid_domain`.
    FidDomain { ops: OpsDomain, mr: OpsMr }
}

/// `struct fid_mr`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct FidMr {
    pub(crate) fid: Fid,
    pub(crate) mem_desc: *mut c_void,
    pub(crate) key: u64,
}

table! {
    partial
    /// `struct fi_ops_av`.
    OpsAv {
        insert: fn(*mut FidAv, *const c_void, usize, *mut FiAddr, u64, *mut c_void) -> c_int;
        insertsvc: fn(*mut FidAv, *const c_char, *const c_char, *mut FiAddr, u64, *mut c_void)
            -> c_int;
        insertsym: fn(*mut FidAv, *const c_char, usize, *const c_char, usize, *mut FiAddr, u64,
            *mut c_void) -> c_int;
        remove: fn(*mut FidAv, *mut FiAddr, usize, u64) -> c_int;
        lookup: fn(*mut FidAv, FiAddr, *mut c_void, *mut usize) -> c_int;
        straddr: fn(*mut FidAv, *const c_void, *mut c_char, *mut usize) -> *const c_char;
    }
}

object! {
    /// `struct fid_av`.
    FidAv { ops: OpsAv }
}

table! {
    partial
    /// `struct fi_ops_eq`.
    OpsEq {
        read: fn(*mut FidEq, *mut u32, *mut c_void, usize, u64) -> isize;
        readerr: fn(*mut FidEq, *mut EqErrEntry, u64) -> isize;
        write: fn(*mut FidEq, u32, *const c_void, usize, u64) -> isize;
        sread: fn(*mut FidEq, *mut u32, *mut c_void, usize, c_int, u64) -> isize;
        strerror: fn(*mut FidEq, c_int, *const c_void, *mut c_char, usize) -> *const c_char;
    }
}

object! {
    /// `struct fid_eq`.
    FidEq { ops: OpsEq }
}

table! {
    partial
    /// `struct fi_ops_cq`.
    OpsCq {
        read: fn(*mut FidCq, *mut c_void, usize) -> isize;
        readfrom: fn(*mut FidCq, *mut c_void, usize, *mut FiAddr) -> isize;
        readerr: fn(*mut FidCq, *mut CqErrEntry, u64) -> isize;
        sread: fn(*mut FidCq, *mut c_void, usize, *const c_void, c_int) -> isize;
        sreadfrom: fn(*mut FidCq, *mut c_void, usize, *mut FiAddr, *const c_void, c_int) -> isize;
        signal: fn(*mut FidCq) -> c_int;
        strerror: fn(*mut FidCq, c_int, *const c_void, *mut c_char, usize) -> *const c_char;
    }
}

object! {
    /// `struct fid_cq`.
    FidCq { ops: OpsCq }
}

table! {
    partial
    /// `struct fi_ops_cntr`.
    OpsCntr {
        read: fn(*mut FidCntr) -> u64;
        readerr: fn(*mut FidCntr) -> u64;
        add: fn(*mut FidCntr, u64) -> c_int;
        set: fn(*mut FidCntr, u64) -> c_int;
        wait: fn(*mut FidCntr, u64, c_int) -> c_int;
        adderr: fn(*mut FidCntr, u64) -> c_int;
        seterr: fn(*mut FidCntr, u64) -> c_int;
    }
}

object! {
    /// `struct fid_cntr`.
    FidCntr { ops: OpsCntr }
}

table! {
    partial
    /// `struct fi_ops_ep`.
    OpsEp {
        cancel: fn(*mut Fid, *mut c_void) -> isize;
        getopt: fn(*mut Fid, c_int, c_int, *mut c_void, *mut usize) -> c_int;
        setopt: fn(*mut Fid, c_int, c_int, *const c_void, usize) -> c_int;
        tx_ctx: fn(*mut FidEp, c_int, *mut c_void, *mut *mut FidEp, *mut c_void) -> c_int;
        rx_ctx: fn(*mut FidEp, c_int, *mut c_void, *mut *mut FidEp, *mut c_void) -> c_int;
        rx_size_left: fn(*mut FidEp) -> isize;
        tx_size_left: fn(*mut FidEp) -> isize;
    }
}

table! {
    /// `struct fi_ops_cm`.
    OpsCm {
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
}

table! {
    /// `struct fi_ops_msg`.
    OpsMsg {
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
}

table! {
    /// `struct fi_ops_tagged`.
    OpsTagged {
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
}

table! {
    /// `struct fi_ops_rma`.
    OpsRma {
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
}

table! {
    partial
    /// `struct fi_ops_atomic`; only the questions at its end have answers.
    OpsAtomic {
        write: fn();
        writev: fn();
        writemsg: fn();
        inject: fn();
        readwrite: fn();
        readwritev: fn();
        readwritemsg: fn();
        compwrite: fn();
        compwritev: fn();
        compwritemsg: fn();
        writevalid: fn(*mut FidEp, c_int, c_int, *mut usize) -> c_int;
        readwritevalid: fn(*mut FidEp, c_int, c_int, *mut usize) -> c_int;
        compwritevalid: fn(*mut FidEp, c_int, c_int, *mut usize) -> c_int;
    }
}

object! {
    /// `struct fid_ep`.
    FidEp {
        ops: OpsEp, cm: OpsCm, msg: OpsMsg, rma: OpsRma, tagged: OpsTagged, atomic: OpsAtomic,
        collective: c_void
    }
}
