//! The shared library's own name, so that programs find it under each of its file names.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libdpamatch_emulator.so");
}
