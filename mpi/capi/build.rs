//! Gives the shared library its SONAME, with the version of the interface in the header.

use std::{env, fs};

fn main() {
    let header = "include/dpamatch.h";
    println!("cargo::rerun-if-changed={header}");
    let text = fs::read_to_string(header).expect("the header");
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("#define DPAMATCH_ABI_VERSION "));
    let version = version.expect("the version of the interface");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libdpamatch.so.{version}");
    }
}
