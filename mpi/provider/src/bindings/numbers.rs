//! Flags, error numbers and enumerations.

/// A version as libfabric writes it.
pub(crate) const fn version(major: u32, minor: u32) -> u32 {
    major << 16 | minor
}

macro_rules! bits {
    ($($name:ident = $bit:literal;)*) => {
        $(pub(crate) const $name: u64 = 1 << $bit;)*
        #[cfg(test)]
        pub(super) const FLAGS: &[(&str, u64)] = &[$((stringify!($name), $name)),*];
    };
}

macro_rules! numbers {
    ($($name:ident: $kind:ty = $value:expr;)*) => {
        $(pub(crate) const $name: $kind = $value;)*
        #[cfg(test)]
        pub(super) const NUMBERS: &[(&str, u64)] = &[$((stringify!($name), $name as u64)),*];
    };
}

bits! {
    FI_MSG = 1;
    FI_RMA = 2;
    FI_TAGGED = 3;
    FI_READ = 8;
    FI_WRITE = 9;
    FI_RECV = 10;
    FI_SEND = 11;
    FI_REMOTE_READ = 12;
    FI_REMOTE_WRITE = 13;
    FI_MULTI_RECV = 16;
    FI_REMOTE_CQ_DATA = 17;
    FI_PEEK = 19;
    FI_COMPLETION = 24;
    FI_INJECT = 25;
    FI_DELIVERY_COMPLETE = 28;
    FI_COMMIT_COMPLETE = 30;
    FI_LOCAL_COMM = 51;
    FI_REMOTE_COMM = 52;
    FI_SOURCE = 57;
    FI_DIRECTED_RECV = 59;
    FI_CLAIM = 59;
    FI_DISCARD = 58;
    FI_SELECTIVE_COMPLETION = 59;
    FI_ORDER_SAS = 8;
    FI_CONTEXT = 59;
    FI_CONTEXT2 = 52;
}

numbers! {
    FI_CLASS_FABRIC: usize = 1;
    FI_CLASS_DOMAIN: usize = 2;
    FI_CLASS_EP: usize = 3;
    FI_CLASS_AV: usize = 11;
    FI_CLASS_MR: usize = 12;
    FI_CLASS_EQ: usize = 13;
    FI_CLASS_CQ: usize = 14;
    FI_CLASS_CNTR: usize = 15;
    FI_AV_UNSPEC: i32 = 0;
    FI_AV_MAP: i32 = 1;
    FI_AV_TABLE: i32 = 2;
    FI_MR_BASIC: i32 = 1;
    FI_MR_LOCAL: i32 = 1 << 2;
    FI_MR_VIRT_ADDR: i32 = 1 << 4;
    FI_MR_ALLOCATED: i32 = 1 << 5;
    FI_MR_PROV_KEY: i32 = 1 << 6;
    FI_PROGRESS_AUTO: i32 = 1;
    FI_PROGRESS_MANUAL: i32 = 2;
    FI_THREAD_UNSPEC: i32 = 0;
    FI_THREAD_SAFE: i32 = 1;
    FI_THREAD_DOMAIN: i32 = 3;
    FI_RM_ENABLED: i32 = 2;
    FI_EP_UNSPEC: i32 = 0;
    FI_EP_RDM: i32 = 3;
    FI_FORMAT_UNSPEC: u32 = 0;
    FI_GETWAIT: i32 = 5;
    FI_ENABLE: i32 = 6;
    FI_GETWAITOBJ: i32 = 16;
    FI_OPT_ENDPOINT: i32 = 0;
    FI_OPT_MIN_MULTI_RECV: i32 = 0;
    FI_WAIT_NONE: i32 = 0;
    FI_WAIT_UNSPEC: i32 = 1;
    FI_WAIT_FD: i32 = 3;
    FI_WAIT_YIELD: i32 = 5;
    FI_CQ_FORMAT_UNSPEC: i32 = 0;
    FI_CQ_FORMAT_CONTEXT: i32 = 1;
    FI_CQ_FORMAT_MSG: i32 = 2;
    FI_CQ_FORMAT_DATA: i32 = 3;
    FI_CQ_FORMAT_TAGGED: i32 = 4;
    FI_AV_COMPLETE: u32 = 5;
    FI_ENOENT: i32 = 2;
    FI_EIO: i32 = 5;
    FI_EAGAIN: i32 = 11;
    FI_ENOMEM: i32 = 12;
    FI_EACCES: i32 = 13;
    FI_EBUSY: i32 = 16;
    FI_EINVAL: i32 = 22;
    FI_EMFILE: i32 = 24;
    FI_ENOSYS: i32 = 38;
    FI_ENOMSG: i32 = 42;
    FI_ENODATA: i32 = 61;
    FI_EMSGSIZE: i32 = 90;
    FI_ENOPROTOOPT: i32 = 92;
    FI_EOPNOTSUPP: i32 = 95;
    FI_ECONNRESET: i32 = 104;
    FI_ETIMEDOUT: i32 = 110;
    FI_EHOSTUNREACH: i32 = 113;
    FI_ECANCELED: i32 = 125;
    FI_ETOOSMALL: i32 = 257;
    FI_EOPBADSTATE: i32 = 258;
    FI_EAVAIL: i32 = 259;
    FI_ENOCQ: i32 = 263;
    FI_ETRUNC: i32 = 265;
    FI_ENOKEY: i32 = 266;
    FI_ENOAV: i32 = 267;
}

/// No address: a receive from any source, or a sender that is not in the vector.
pub(crate) const FI_ADDR_UNSPEC: u64 = u64::MAX;
