//! Makes the table of MPI functions.

mod functions;

use std::fs;
use std::path::PathBuf;

/// Writes the table where `src/function/table.rs` includes it.
fn main() {
    let folder = |name: &str| PathBuf::from(std::env::var_os(name).expect("cargo sets it"));
    let source = folder("CARGO_MANIFEST_DIR").join("src/function/functions.txt");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=functions.rs");
    println!("cargo:rerun-if-changed={}", source.display());
    let text = fs::read_to_string(&source).expect("the table of functions is readable");
    let out = folder("OUT_DIR").join("functions.rs");
    fs::write(out, functions::table(&text)).expect("OUT_DIR is writable");
}
