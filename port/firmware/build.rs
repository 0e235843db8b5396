//! Passes the linker script.

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo::rustc-link-arg-bins=-T{folder}/memory.ld");
    println!("cargo::rerun-if-changed=memory.ld");
}
