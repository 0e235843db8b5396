//! Chooses the virtual-time arm of `dpa_model::sync` for this package alone.
fn main() {
    println!("cargo::rustc-cfg=dpamatch_virtual");
    println!("cargo::rerun-if-changed=build.rs");
}
