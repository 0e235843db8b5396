//! Offsets and numbers of these bindings, compared with `layout.txt`; and that file with the C
//! headers, where there are some.
//!
//! Another folder of headers is given with `CPATH`, as for any C compiler.

use std::fmt::Write as _;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use super::*;

/// Fields of a C structure and where they are.
pub(super) trait Layout {
    fn offsets() -> Vec<(&'static str, usize)>;
}

macro_rules! fields {
    ($($kind:ty { $($field:ident $(as $c:literal)?),* })*) => {
        $(impl Layout for $kind {
            fn offsets() -> Vec<(&'static str, usize)> {
                vec![$((
                    [stringify!($field), $($c)?].iter().last().copied().unwrap_or_default(),
                    offset_of!($kind, $field),
                )),*]
            }
        })*
    };
}

fields! {
    TxAttr { caps, mode, op_flags, msg_order, comp_order, inject_size, size, iov_limit,
        rma_iov_limit, tclass }
    RxAttr { caps, mode, op_flags, msg_order, comp_order, total_buffered_recv, size, iov_limit }
    EpAttr { kind as "type", protocol, protocol_version, max_msg_size, msg_prefix_size,
        max_order_raw_size, max_order_war_size, max_order_waw_size, mem_tag_format, tx_ctx_cnt,
        rx_ctx_cnt, auth_key_size, auth_key }
    DomainAttr { domain, name, threading, control_progress, data_progress, resource_mgmt, av_type,
        mr_mode, mr_key_size, cq_data_size, cq_cnt, ep_cnt, tx_ctx_cnt, rx_ctx_cnt, max_ep_tx_ctx,
        max_ep_rx_ctx, max_ep_stx_ctx, max_ep_srx_ctx, cntr_cnt, mr_iov_limit, caps, mode, auth_key,
        auth_key_size, max_err_data, mr_cnt, tclass }
    FabricAttr { fabric, name, prov_name, prov_version, api_version }
    Info { next, caps, mode, addr_format, src_addrlen, dest_addrlen, src_addr, dest_addr, handle,
        tx_attr, rx_attr, ep_attr, domain_attr, fabric_attr, nic }
    Provider { version, fi_version, context, name, getinfo, fabric, cleanup }
    Msg { msg_iov, desc, iov_count, addr, context, data }
    MsgTagged { msg_iov, desc, iov_count, addr, tag, ignore, context, data }
    RmaIov { addr, len, key }
    MsgRma { msg_iov, desc, iov_count, addr, rma_iov, rma_iov_count, context, data }
    CqTaggedEntry { op_context, flags, len, buf, data, tag }
    CqErrEntry { olen, err, prov_errno, err_data, err_data_size }
    CqAttr { size, flags, format, wait_obj, signaling_vector, wait_cond, wait_set }
    CntrAttr { events, wait_obj, wait_set, flags }
    EqAttr { size, flags, wait_obj, signaling_vector, wait_set }
    EqEntry { fid, context, data }
    EqErrEntry { fid, context, data, err, prov_errno, err_data, err_data_size }
    AvAttr { kind as "type", rx_ctx_bits, count, ep_per_node, name, map_addr, flags }
    MrAttr { mr_iov, iov_count, access, offset, requested_key, context, auth_key_size, auth_key }
    Fid { fclass, context, ops }
    FidFabric { fid, ops, api_version }
    FidMr { fid, mem_desc, key }
}

/// One line per field, size and number, as these bindings have them.
fn ours() -> String {
    let mut text = String::new();
    let mut fields = |structure: &str, offsets: Vec<(&str, usize)>| {
        for (field, offset) in offsets {
            let _ = writeln!(text, "offset {structure} {field} {offset}");
        }
    };
    fields("fi_tx_attr", TxAttr::offsets());
    fields("fi_rx_attr", RxAttr::offsets());
    fields("fi_ep_attr", EpAttr::offsets());
    fields("fi_domain_attr", DomainAttr::offsets());
    fields("fi_fabric_attr", FabricAttr::offsets());
    fields("fi_info", Info::offsets());
    fields("fi_provider", Provider::offsets());
    fields("fi_msg", Msg::offsets());
    fields("fi_msg_tagged", MsgTagged::offsets());
    fields("fi_rma_iov", RmaIov::offsets());
    fields("fi_msg_rma", MsgRma::offsets());
    fields("fi_cq_tagged_entry", CqTaggedEntry::offsets());
    fields("fi_cq_err_entry", CqErrEntry::offsets());
    fields("fi_cq_attr", CqAttr::offsets());
    fields("fi_cntr_attr", CntrAttr::offsets());
    fields("fi_eq_attr", EqAttr::offsets());
    fields("fi_eq_entry", EqEntry::offsets());
    fields("fi_eq_err_entry", EqErrEntry::offsets());
    fields("fi_av_attr", AvAttr::offsets());
    fields("fi_mr_attr", MrAttr::offsets());
    fields("fid", Fid::offsets());
    fields("fid_fabric", FidFabric::offsets());
    fields("fid_mr", FidMr::offsets());
    fields("fid_domain", FidDomain::offsets());
    fields("fid_av", FidAv::offsets());
    fields("fid_eq", FidEq::offsets());
    fields("fid_cq", FidCq::offsets());
    fields("fid_cntr", FidCntr::offsets());
    fields("fid_ep", FidEp::offsets());
    fields("fi_ops", Ops::offsets());
    fields("fi_ops_fabric", OpsFabric::offsets());
    fields("fi_ops_domain", OpsDomain::offsets());
    fields("fi_ops_mr", OpsMr::offsets());
    fields("fi_ops_av", OpsAv::offsets());
    fields("fi_ops_eq", OpsEq::offsets());
    fields("fi_ops_cq", OpsCq::offsets());
    fields("fi_ops_cntr", OpsCntr::offsets());
    fields("fi_ops_ep", OpsEp::offsets());
    fields("fi_ops_cm", OpsCm::offsets());
    fields("fi_ops_msg", OpsMsg::offsets());
    fields("fi_ops_tagged", OpsTagged::offsets());
    fields("fi_ops_rma", OpsRma::offsets());
    fields("fi_ops_atomic", OpsAtomic::offsets());
    // Those that stand in arrays of the program's.
    for (structure, size) in [
        ("iovec", size_of::<IoVec>()),
        ("fi_rma_iov", size_of::<RmaIov>()),
        ("fi_cq_tagged_entry", size_of::<CqTaggedEntry>()),
        ("fi_cq_data_entry", offset_of!(CqTaggedEntry, tag)),
        ("fi_cq_msg_entry", offset_of!(CqTaggedEntry, buf)),
        ("fi_cq_entry", offset_of!(CqTaggedEntry, flags)),
        ("fi_eq_entry", size_of::<EqEntry>()),
    ] {
        let _ = writeln!(text, "size {structure} {size}");
    }
    for (name, value) in numbers::FLAGS.iter().chain(numbers::NUMBERS) {
        let _ = writeln!(text, "number {name} {value}");
    }
    text
}

const LAYOUT: &str = include_str!("layout.txt");

#[test]
fn the_bindings_are_as_the_file_says() {
    let ours = ours();
    for (ours, file) in ours.lines().zip(LAYOUT.lines()) {
        assert_eq!(ours, file);
    }
    assert_eq!(ours.lines().count(), LAYOUT.lines().count());
}

/// Where this finds no C compiler or no headers, it says so and has nothing to compare.
#[test]
fn the_file_is_as_the_headers_say() {
    let headers = "#include <rdma/fabric.h>\n#include <rdma/fi_domain.h>\n\
        #include <rdma/fi_endpoint.h>\n#include <rdma/fi_eq.h>\n#include <rdma/fi_cm.h>\n\
        #include <rdma/fi_tagged.h>\n#include <rdma/fi_rma.h>\n#include <rdma/fi_atomic.h>\n\
        #include <rdma/fi_errno.h>\n#include <rdma/providers/fi_prov.h>\n\
        #include <stddef.h>\n#include <stdio.h>\n#include <sys/uio.h>\n";
    let folder = std::env::temp_dir().join(format!("dpamatch-layout-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the C program");
    let compiled = |body: &str| -> Option<std::path::PathBuf> {
        let (source, program) = (folder.join("layout.c"), folder.join("layout"));
        let text = format!("{headers}int main(void) {{\n{body}return 0;\n}}\n");
        std::fs::write(&source, text).expect("the C program");
        let mut compiler = Command::new("cc");
        compiler.arg("-w").arg("-o").arg(&program).arg(&source);
        let output = compiler.output().ok()?;
        output.status.success().then_some(program)
    };
    if compiled("").is_none() {
        eprintln!("no C compiler, or no headers of libfabric: layout.txt is not compared");
    } else {
        let program = compiled(&c_lines()).expect("the headers have every name");
        compare(&program);
    }
    std::fs::remove_dir_all(&folder).expect("the folder to go");
}

fn c_lines() -> String {
    let mut body = String::new();
    for line in LAYOUT.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let (label, value) = match words[..] {
            ["offset", structure, field, _] => (
                format!("offset {structure} {field}"),
                format!("offsetof(struct {structure}, {field})"),
            ),
            ["size", structure, _] => {
                (format!("size {structure}"), format!("sizeof(struct {structure})"))
            }
            ["number", name, _] => (format!("number {name}"), name.to_owned()),
            _ => panic!("a line that is none: {line}"),
        };
        let _ = writeln!(body, "printf(\"{label} %llu\\n\", (unsigned long long) ({value}));");
    }
    body
}

fn compare(program: &Path) {
    let output = Command::new(program).output().expect("the C program runs");
    let theirs = String::from_utf8(output.stdout).expect("its lines are text");
    for (file, header) in LAYOUT.lines().zip(theirs.lines()) {
        assert_eq!(file, header, "layout.txt and the C headers differ");
    }
    assert_eq!(LAYOUT.lines().count(), theirs.lines().count());
}
