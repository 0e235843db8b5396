//! Compares offsets and numbers of the bindings with `layout.txt`, and that file with the C headers
//! where they are installed.
//!
//! Another folder of headers is given with `CPATH`, as for any C compiler.

use std::fmt::Write as _;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use super::entries::ENTRIES;
use super::info::INFO;
use super::objects::{OBJECTS, TABLES};
use super::*;

/// A C structure: its name, and its fields with their places.
pub(super) type Structure = (&'static str, fn() -> Vec<(&'static str, usize)>);

/// One line per field, size and number, as these bindings have them.
fn ours() -> String {
    let mut text = String::new();
    for (structure, offsets) in [INFO, ENTRIES, OBJECTS, TABLES].into_iter().flatten() {
        // What C has instead of the entry is in the structure `fi_cq_tagged_entry`, too.
        for (field, offset) in offsets().into_iter().filter(|&(field, _)| field != "entry") {
            let field = if field == "kind" { "type" } else { field };
            let _ = writeln!(text, "offset {structure} {field} {offset}");
        }
    }
    // Programs have arrays of them.
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
    let folder = tempfile::tempdir().expect("a folder for the C program");
    let compiled = |body: &str| -> Option<std::path::PathBuf> {
        let source = folder.path().join("layout.c");
        let program = folder.path().join("layout");
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
            ["size", structure, _] => (
                format!("size {structure}"),
                format!("sizeof(struct {structure})"),
            ),
            ["number", name, _] => (format!("number {name}"), name.to_owned()),
            _ => panic!("a line that is none: {line}"),
        };
        let _ = writeln!(
            body,
            "printf(\"{label} %llu\\n\", (unsigned long long) ({value}));"
        );
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
