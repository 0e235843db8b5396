//! What a provider offers and a program asks for: `fi_info` and its attributes.

use std::ffi::{c_char, c_int, c_void};

structures! {
    INFO:
    TxAttr = "fi_tx_attr" {
        caps, mode, op_flags, msg_order, comp_order: u64;
        inject_size, size, iov_limit, rma_iov_limit: usize;
        tclass: u32;
    }
    RxAttr = "fi_rx_attr" {
        caps, mode, op_flags, msg_order, comp_order: u64;
        total_buffered_recv, size, iov_limit: usize;
    }
    EpAttr = "fi_ep_attr" {
        kind: c_int;
        protocol, protocol_version: u32;
        max_msg_size, msg_prefix_size, max_order_raw_size, max_order_war_size,
            max_order_waw_size: usize;
        mem_tag_format: u64;
        tx_ctx_cnt, rx_ctx_cnt, auth_key_size: usize;
        auth_key: *mut u8;
    }
    /// Without what came after 1.17.
    DomainAttr = "fi_domain_attr" {
        domain: *mut c_void;
        name: *mut c_char;
        threading, control_progress, data_progress, resource_mgmt, av_type, mr_mode: c_int;
        mr_key_size, cq_data_size, cq_cnt, ep_cnt, tx_ctx_cnt, rx_ctx_cnt, max_ep_tx_ctx,
            max_ep_rx_ctx, max_ep_stx_ctx, max_ep_srx_ctx, cntr_cnt, mr_iov_limit: usize;
        caps, mode: u64;
        auth_key: *mut u8;
        auth_key_size, max_err_data, mr_cnt: usize;
        tclass: u32;
    }
    FabricAttr = "fi_fabric_attr" {
        fabric: *mut c_void;
        name, prov_name: *mut c_char;
        prov_version, api_version: u32;
    }
    Info = "fi_info" {
        next: *mut Info;
        caps, mode: u64;
        addr_format: u32;
        src_addrlen, dest_addrlen: usize;
        src_addr, dest_addr, handle: *mut c_void;
        tx_attr: *mut TxAttr;
        rx_attr: *mut RxAttr;
        ep_attr: *mut EpAttr;
        domain_attr: *mut DomainAttr;
        fabric_attr: *mut FabricAttr;
        nic: *mut c_void;
    }
    /// `context` belongs to libfabric.
    Provider = "fi_provider" {
        version, fi_version: u32;
        context: [*mut c_void; 4];
        name: *const c_char;
        getinfo: Option<unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const Info,
            *mut *mut Info) -> c_int>;
        fabric: Option<unsafe extern "C" fn(*mut FabricAttr, *mut *mut super::FidFabric,
            *mut c_void) -> c_int>;
        cleanup: Option<unsafe extern "C" fn()>;
    }
}
