//! The shared library's own name, so that programs find it under each of its file names, and the
//! calls that are not emulated, by the table in their header.

const TABLE: &str = "include/dpa_doca_refused.h";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={TABLE}");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libdpamatch_emulator.so");
    let table = std::fs::read_to_string(TABLE).expect(TABLE);
    let calls = |kind: &str| {
        let call = |line: &str| Some(line.strip_prefix(kind)?.strip_suffix(')')?.to_owned());
        table.lines().filter_map(call).collect::<Vec<_>>().join(" ")
    };
    let [refused, null] = ["DPA_REFUSED(", "DPA_NULL("].map(calls);
    let out = std::env::var("OUT_DIR").expect("cargo's folder");
    let macros = format!("refused! {{ {refused} }}\nnull! {{ {null} }}\n");
    std::fs::write(format!("{out}/refused.rs"), macros).expect("a file");
}
