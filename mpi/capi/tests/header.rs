//! `include/dpamatch.h` is what cbindgen makes of the sources. To make it anew:
//! `DPAMATCH_WRITE_HEADER=1 cargo test -p dpamatch_capi --test header`.

use std::path::Path;
use std::{env, fs};

#[test]
fn the_header_is_that_of_the_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("settings");
    let sources = [
        "code",
        "status",
        "endpoint",
        "communicator",
        "receive",
        "probe",
        "send",
    ];
    let builder = sources.iter().fold(
        cbindgen::Builder::new().with_config(config),
        |builder, name| builder.with_src(folder.join("src").join(format!("{name}.rs"))),
    );
    let mut made = Vec::new();
    builder.generate().expect("a header").write(&mut made);
    let made = String::from_utf8(made).expect("text");
    let path = folder.join("include/dpamatch.h");
    if env::var_os("DPAMATCH_WRITE_HEADER").is_some() {
        fs::write(&path, &made).expect("the header can be written");
    }
    let there = fs::read_to_string(&path).expect("the header");
    assert!(
        there == made,
        "include/dpamatch.h is old; made anew it is\n{made}"
    );
}
