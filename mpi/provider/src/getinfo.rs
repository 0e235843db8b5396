//! The provider's capabilities, and whether they satisfy a program's hints.

use std::ffi::{CStr, c_char, c_int};

use crate::bindings::*;
use crate::core_library::{c_copy, c_copy_bytes};
use crate::wire::{Address, EAGER_MAX};
use crate::{NAME, provider};

/// Capabilities of sending and receiving endpoints alike.
const BOTH: u64 = FI_TAGGED | FI_MSG | FI_RMA;
/// Capabilities of the sending half of an endpoint.
const TX: u64 = BOTH | FI_SEND | FI_READ | FI_WRITE;
/// Capabilities of the receiving half of an endpoint.
const RX: u64 = BOTH
    | FI_RECV
    | FI_REMOTE_READ
    | FI_REMOTE_WRITE
    | FI_MULTI_RECV
    | FI_DIRECTED_RECV
    | FI_SOURCE;
const DOMAIN: u64 = FI_LOCAL_COMM | FI_REMOTE_COMM;
/// All capabilities of the provider.
const CAPS: u64 = TX | RX | DOMAIN;
const MESSAGES: u64 = FI_TAGGED | FI_MSG;
const MR_MODE: c_int = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
/// Most buffers of one operation.
pub(crate) const IOV_MAX: usize = 8;
const COUNT: usize = 256;
/// 32 bits of tag and 32 above: programs that look for fields in it find single bits.
const TAG_FORMAT: u64 = 0xaaaa_aaaa_aaaa_aaaa;
/// A number that no other provider uses.
const PROTOCOL: u32 = 0x8000_4450;

/// The part of the hints that this provider cannot satisfy, if any.
///
/// # Safety
/// The hints' pointers are null or what libfabric says they are.
unsafe fn refusal(hints: &Info) -> Option<&'static str> {
    let sas_only = |order: u64| order & !FI_ORDER_SAS == 0;
    if hints.caps & !CAPS != 0 {
        return Some("capabilities");
    }
    if hints.addr_format != FI_FORMAT_UNSPEC {
        return Some("address format");
    }
    // SAFETY: the caller's promise.
    let (tx, rx, ep, domain, fabric) = unsafe {
        (
            hints.tx_attr.as_ref(),
            hints.rx_attr.as_ref(),
            hints.ep_attr.as_ref(),
            hints.domain_attr.as_ref(),
            hints.fabric_attr.as_ref(),
        )
    };
    if let Some(ep) = ep {
        if ep.kind != FI_EP_UNSPEC && ep.kind != FI_EP_RDM {
            return Some("endpoint type");
        }
        if ep.auth_key_size != 0 && !ep.auth_key.is_null() {
            return Some("authorization key");
        }
        if ep.protocol != 0 && ep.protocol != PROTOCOL {
            return Some("protocol");
        }
    }
    if let Some(tx) = tx
        && (!sas_only(tx.msg_order)
            || tx.comp_order != 0
            || tx.inject_size > EAGER_MAX
            || tx.iov_limit > IOV_MAX
            || tx.op_flags & FI_COMMIT_COMPLETE != 0)
    {
        return Some("transmit attributes");
    }
    if let Some(rx) = rx
        && (!sas_only(rx.msg_order) || rx.comp_order != 0 || rx.iov_limit > IOV_MAX)
    {
        return Some("receive attributes");
    }
    if let Some(domain) = domain {
        if domain.cq_data_size > 8 || domain.mr_key_size > 8 {
            return Some("sizes of the domain");
        }
        if domain.caps & !DOMAIN != 0 {
            return Some("capabilities of the domain");
        }
        // A program that counts on it would wait for ever.
        if [domain.control_progress, domain.data_progress].contains(&FI_PROGRESS_AUTO) {
            return Some("progress without calls");
        }
        // SAFETY: the caller's promise.
        if !unsafe { is_name(domain.name) } {
            return Some("domain name");
        }
    }
    if let Some(fabric) = fabric {
        // SAFETY: the caller's promise.
        if !unsafe { is_name(fabric.name) } {
            return Some("fabric name");
        }
    }
    None
}

/// # Safety
/// Null or a string.
unsafe fn is_name(name: *const c_char) -> bool {
    // SAFETY: the caller's promise.
    name.is_null() || unsafe { CStr::from_ptr(name) } == NAME
}

/// `fi_getinfo` of this provider.
pub(crate) unsafe extern "C" fn getinfo(
    _version: u32,
    node: *const c_char,
    _service: *const c_char,
    flags: u64,
    hints: *const Info,
    out: *mut *mut Info,
) -> c_int {
    // Endpoints have no name by which another process could find them.
    if !node.is_null() && flags & FI_SOURCE == 0 {
        return -FI_ENODATA;
    }
    // SAFETY: null, or what the program asks for.
    let hints = unsafe { hints.as_ref() };
    // SAFETY: hints come from libfabric.
    if let Some(_cause) = hints.and_then(|hints| unsafe { refusal(hints) }) {
        return -FI_ENODATA;
    }
    let Some(core) = provider().core else {
        return -FI_ENODATA;
    };
    let info = core.new_info();
    // SAFETY: a new `fi_info` with all its attributes, or null, and the program's hints; the place
    // for the result is the caller's.
    unsafe {
        if info
            .as_mut()
            .and_then(|info| describe(info, hints))
            .is_none()
        {
            core.free_info(info);
            return -FI_ENOMEM;
        }
        *out = info;
    }
    0
}

/// Fills in what the provider can do for a program with these hints. `None`: an attribute is
/// missing.
///
/// # Safety
/// The pointers of both are null or what libfabric says they are.
unsafe fn describe(all: &mut Info, hints: Option<&Info>) -> Option<()> {
    // SAFETY: the caller's promise.
    let domain_hints = hints.and_then(|hints| unsafe { hints.domain_attr.as_ref() });
    // SAFETY: the caller's promise.
    let attributes = unsafe {
        (
            all.tx_attr.as_mut(),
            all.rx_attr.as_mut(),
            all.ep_attr.as_mut(),
            all.domain_attr.as_mut(),
            all.fabric_attr.as_mut(),
        )
    };
    let (Some(tx), Some(rx), Some(ep), Some(domain), Some(fabric)) = attributes else {
        return None;
    };
    let caps = caps(hints.map_or(0, |hints| hints.caps));
    // The provider chooses addresses and keys of memory, unless the program wants to.
    let asked = domain_hints.map(|hints| hints.mr_mode);
    let mr_mode = match asked {
        _ if caps & FI_RMA == 0 => 0,
        None | Some(FI_MR_BASIC) => MR_MODE,
        Some(asked) => MR_MODE & asked,
    };

    all.caps = caps;
    all.mode = 0;
    all.addr_format = FI_FORMAT_UNSPEC;
    // An address without an endpoint, like a network address without a port. `fi_getname` gives the
    // endpoint's own address.
    all.src_addr = c_copy_bytes(&Address::of_this_host().to_bytes());
    all.src_addrlen = if all.src_addr.is_null() {
        0
    } else {
        Address::LENGTH
    };

    tx.caps = caps & TX;
    tx.msg_order = FI_ORDER_SAS;
    tx.inject_size = EAGER_MAX;
    tx.size = 1024;
    tx.iov_limit = IOV_MAX;
    tx.rma_iov_limit = 1;
    rx.caps = caps & RX;
    rx.msg_order = FI_ORDER_SAS;
    rx.size = 1024;
    rx.iov_limit = IOV_MAX;
    if let Some(hints) = hints {
        // SAFETY: as above.
        unsafe {
            tx.op_flags = hints.tx_attr.as_ref().map_or(0, |hints| hints.op_flags);
            rx.op_flags = hints.rx_attr.as_ref().map_or(0, |hints| hints.op_flags);
        }
    }

    ep.kind = FI_EP_RDM;
    ep.protocol = PROTOCOL;
    ep.protocol_version = 1;
    ep.max_msg_size = isize::MAX as usize;
    ep.mem_tag_format = TAG_FORMAT;
    ep.tx_ctx_cnt = 1;
    ep.rx_ctx_cnt = 1;

    let threading = domain_hints.map_or(FI_THREAD_UNSPEC, |hints| hints.threading);
    let av_type = domain_hints.map_or(FI_AV_UNSPEC, |hints| hints.av_type);
    domain.name = c_copy(NAME);
    domain.threading = if threading == FI_THREAD_UNSPEC {
        FI_THREAD_SAFE
    } else {
        threading
    };
    domain.control_progress = FI_PROGRESS_MANUAL;
    domain.data_progress = FI_PROGRESS_MANUAL;
    domain.resource_mgmt = FI_RM_ENABLED;
    domain.av_type = av_type;
    domain.mr_mode = mr_mode;
    domain.mr_key_size = 8;
    domain.cq_data_size = 8;
    domain.cq_cnt = COUNT;
    domain.ep_cnt = COUNT;
    domain.tx_ctx_cnt = COUNT;
    domain.rx_ctx_cnt = COUNT;
    domain.max_ep_tx_ctx = 1;
    domain.max_ep_rx_ctx = 1;
    domain.cntr_cnt = COUNT;
    domain.mr_iov_limit = 1;
    domain.mr_cnt = 1 << 16;
    domain.caps = DOMAIN;

    fabric.name = c_copy(NAME);
    Some(())
}

/// The capabilities of an endpoint for a program that requests `asked`.
fn caps(asked: u64) -> u64 {
    if asked == 0 {
        return CAPS;
    }
    let mut caps = asked | DOMAIN;
    if caps & MESSAGES != 0 && caps & (FI_SEND | FI_RECV) == 0 {
        caps |= FI_SEND | FI_RECV;
    }
    if caps & FI_RMA != 0 && caps & (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE) == 0 {
        caps |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    }
    caps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hints with all attributes.
    struct RequestedInfo(Info, TxAttr, RxAttr, EpAttr, DomainAttr, FabricAttr);

    /// What is said of hints, after this change to ones that ask for nothing.
    fn refused(change: impl FnOnce(&mut RequestedInfo)) -> Option<&'static str> {
        // SAFETY: zero is a valid value of every field: null, or "whatever there is".
        let mut asked = unsafe { std::mem::zeroed::<RequestedInfo>() };
        change(&mut asked);
        let RequestedInfo(info, tx, rx, ep, domain, fabric) = &mut asked;
        (info.tx_attr, info.rx_attr, info.ep_attr) = (tx, rx, ep);
        (info.domain_attr, info.fabric_attr) = (domain, fabric);
        // SAFETY: attributes that live until the end.
        unsafe { refusal(info) }
    }

    #[test]
    fn only_what_can_be_done_is_offered() {
        let words = [
            FI_TAGGED, FI_MSG, FI_RMA, FI_SEND, FI_RECV, FI_READ, FI_WRITE, CAPS, 0,
        ];
        for one in words
            .into_iter()
            .chain([FI_REMOTE_READ, FI_REMOTE_WRITE, FI_SOURCE])
        {
            assert_eq!(refused(|asked| asked.0.caps = one), None, "{one:x}");
        }
        let other = c"tcp".as_ptr().cast_mut();
        let name = NAME.as_ptr().cast_mut();
        // An attribute, a value that is fine and one that is not, and what is said of that.
        macro_rules! check {
            ($($part:tt.$attribute:ident: $fine:expr, $not:expr, $why:expr;)*) => {$(
                assert_eq!(refused(|asked| asked.$part.$attribute = $fine), None);
                assert_eq!(refused(|asked| asked.$part.$attribute = $not), $why);
            )*};
        }
        let (transmit, receive) = (Some("transmit attributes"), Some("receive attributes"));
        check! {
            0.caps: 0, 1 << 40, Some("capabilities");
            0.addr_format: 0, 1, Some("address format");
            3.kind: 3, 2, Some("endpoint type");
            3.kind: 0, 1, Some("endpoint type");
            3.protocol: 0x8000_4450, 1, Some("protocol");
            3.auth_key_size: 1, 9, None;
            1.msg_order: 256, 257, transmit;
            1.comp_order: 0, 1, transmit;
            1.inject_size: 8192, 8193, transmit;
            1.iov_limit: 8, 9, transmit;
            1.op_flags: 1 << 28, 1 << 30, transmit;
            2.msg_order: 256, 512, receive;
            2.comp_order: 0, 1, receive;
            2.iov_limit: 8, 9, receive;
            4.cq_data_size: 8, 9, Some("sizes of the domain");
            4.mr_key_size: 8, 9, Some("sizes of the domain");
            4.caps: 1 << 51, 4, Some("capabilities of the domain");
            4.control_progress: 2, 1, Some("progress without calls");
            4.data_progress: 2, 1, Some("progress without calls");
            4.name: name, other, Some("domain name");
            5.name: name, other, Some("fabric name");
        }
        let key = refused(|asked| (asked.3.auth_key_size, asked.3.auth_key) = (1, other.cast()));
        assert_eq!(key, Some("authorization key"));
    }

    /// All that a program sees, for no hints and for some.
    #[test]
    fn each_attribute_is_as_promised() {
        let (mut said, mut hints) = (String::new(), None);
        for round in 0..2 {
            // SAFETY: zero is a valid value of every field; the attributes live until the end of
            // the round, and the strings are dropped with the test program.
            unsafe {
                let (mut tx, mut rx, mut ep, mut domain, mut fabric, mut all): (
                    TxAttr,
                    RxAttr,
                    EpAttr,
                    DomainAttr,
                    FabricAttr,
                    Info,
                ) = std::mem::zeroed();
                (all.tx_attr, all.rx_attr, all.ep_attr) = (&raw mut tx, &raw mut rx, &raw mut ep);
                (all.domain_attr, all.fabric_attr) = (&raw mut domain, &raw mut fabric);
                assert_eq!(describe(&mut all, hints.as_ref()), Some(()));
                assert!(
                    [domain.name, fabric.name]
                        .iter()
                        .all(|name| CStr::from_ptr(*name) == NAME)
                );
                let own = std::slice::from_raw_parts(all.src_addr.cast::<u8>(), all.src_addrlen);
                assert_eq!(own, Address::of_this_host().to_bytes());
                all.ep_attr = std::ptr::null_mut();
                assert_eq!(describe(&mut all, None), None, "an attribute is missing");
                (domain.name, fabric.name) = (std::ptr::null_mut(), std::ptr::null_mut());
                for text in [
                    format!("info caps {:#x} mode {}", all.caps, all.mode),
                    format!("{tx:?}"),
                    format!("{rx:?}"),
                    format!("{ep:?}"),
                    format!("{domain:?}"),
                    format!("{fabric:?}"),
                ] {
                    said += &format!("{text}\n");
                }
                if round == 0 {
                    let mut asked: (TxAttr, RxAttr, DomainAttr, Info) = std::mem::zeroed();
                    (asked.0.op_flags, asked.1.op_flags) = (FI_DELIVERY_COMPLETE, FI_MULTI_RECV);
                    asked.2.threading = FI_THREAD_DOMAIN;
                    (asked.2.av_type, asked.2.mr_mode) = (FI_AV_TABLE, FI_MR_VIRT_ADDR);
                    let (tx, rx, domain, mut info) = asked;
                    info.caps = FI_TAGGED | FI_RMA | FI_RECV;
                    info.tx_attr = Box::into_raw(Box::new(tx));
                    info.rx_attr = Box::into_raw(Box::new(rx));
                    info.domain_attr = Box::into_raw(Box::new(domain));
                    hints = Some(info);
                }
            }
        }
        assert_eq!(said, include_str!("getinfo.txt"));
    }

    #[test]
    fn what_belongs_to_a_capability_comes_with_it() {
        assert_eq!(caps(0), CAPS);
        assert_eq!(caps(FI_TAGGED), FI_TAGGED | FI_SEND | FI_RECV | DOMAIN);
        let rma = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
        assert_eq!(caps(FI_RMA), FI_RMA | rma | DOMAIN);
        // A program that names a part gets no more.
        for part in [FI_SEND, FI_RECV] {
            assert_eq!(caps(FI_TAGGED | part), FI_TAGGED | part | DOMAIN);
        }
        for part in [FI_READ, FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE] {
            assert_eq!(caps(FI_RMA | part), FI_RMA | part | DOMAIN);
        }
    }
}
