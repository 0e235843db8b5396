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
    // SAFETY: as above.
    let domain_hints = hints.and_then(|hints| unsafe { hints.domain_attr.as_ref() });
    let Some(core) = provider().core else { return -FI_ENODATA };
    let info = core.new_info();
    // SAFETY: a new `fi_info` with all its attributes, or null.
    let Some(all) = (unsafe { info.as_mut() }) else { return -FI_ENOMEM };
    // SAFETY: as above.
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
        // SAFETY: made above.
        unsafe { core.free_info(info) };
        return -FI_ENOMEM;
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
    all.src_addrlen = if all.src_addr.is_null() { 0 } else { Address::LENGTH };

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
    domain.threading = if threading == FI_THREAD_UNSPEC { FI_THREAD_SAFE } else { threading };
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
    // SAFETY: the caller's place for the result.
    unsafe { *out = info };
    0
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

    /// What is said of hints, after this change to ones that ask for nothing.
    fn refused(change: impl FnOnce(&mut Info, &mut DomainAttr)) -> Option<&'static str> {
        // SAFETY: zero is a valid value of every field: null, or "whatever there is".
        let (mut hints, mut domain) =
            unsafe { (std::mem::zeroed::<Info>(), std::mem::zeroed::<DomainAttr>()) };
        change(&mut hints, &mut domain);
        hints.domain_attr = &raw mut domain;
        // SAFETY: null, or a domain's attributes that live until the end.
        unsafe { refusal(&hints) }
    }

    #[test]
    fn only_what_can_be_done_is_offered() {
        assert_eq!(refused(|_, _| ()), None);
        assert_eq!(refused(|hints, _| hints.caps = CAPS), None);
        let words = [FI_TAGGED, FI_MSG, FI_RMA, FI_SEND, FI_RECV, FI_READ, FI_WRITE];
        for one in words.into_iter().chain([FI_REMOTE_READ, FI_REMOTE_WRITE, FI_SOURCE]) {
            assert_eq!(refused(|hints, _| hints.caps = one), None, "{one:x}");
        }
        assert_eq!(refused(|hints, _| hints.caps = 1 << 63), Some("capabilities"));
        assert_eq!(refused(|_, domain| domain.caps = FI_RMA), Some("capabilities of the domain"));
        let manual = |_: &mut Info, domain: &mut DomainAttr| {
            (domain.control_progress, domain.data_progress) =
                (FI_PROGRESS_MANUAL, FI_PROGRESS_MANUAL);
        };
        assert_eq!(refused(manual), None);
        let without_calls = Some("progress without calls");
        assert_eq!(refused(|_, domain| domain.data_progress = FI_PROGRESS_AUTO), without_calls);
        assert_eq!(refused(|_, domain| domain.control_progress = FI_PROGRESS_AUTO), without_calls);
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
