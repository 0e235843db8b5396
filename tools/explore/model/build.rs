//! Chooses the scheduler's arm of `dpa_model::sync` for this package alone.
fn main() {
    println!("cargo::rustc-cfg=dpamatch_shuttle");
    println!("cargo::rerun-if-changed=build.rs");
}
