//! Calls that exist and are not emulated.

use super::{Error, calls};

macro_rules! refused {
    ($($call:ident)+) => {calls! {$(
        fn $call() { Error::NotSupported.because("the call is not emulated") }
    )+}};
}

refused! {
    doca_sync_event_add_publisher_location_remote_pci
    doca_sync_event_add_publisher_location_gpu
    doca_sync_event_add_subscriber_location_remote_pci
    doca_sync_event_add_subscriber_location_gpu
    doca_buf_chain_list
    doca_devinfo_rep_create_list
    doca_devinfo_rep_destroy_list
    doca_devinfo_rep_get_vuid
    doca_devinfo_rep_is_equal_pci_addr
    doca_dev_rep_open
    doca_dpa_async_ops_create
    doca_dpa_trace_file_set_path
}

/// A context is its object: both have one handle.
#[unsafe(no_mangle)]
extern "C" fn doca_rdma_as_ctx(rdma: crate::handle::Handle) -> crate::handle::Handle {
    rdma
}
