//! Order logs of two ranks: any bytes, split into the four files by zeros.
#![no_main]

use std::fs;

use dpamatch_tools::analyze::Run;
use libfuzzer_sys::fuzz_target;

const FILES: [&str; 4] = [
    "rank-1-b.0.events",
    "rank-1-b.0.results",
    "rank-0-a.0.events",
    "rank-0-a.0.results",
];

fuzz_target!(|bytes: &[u8]| {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    let mut parts = bytes.split(|&byte| byte == 0);
    for name in FILES {
        fs::write(folder.join(name), parts.next().unwrap_or_default()).expect("written");
    }
    match Run::of_logs(folder) {
        Ok(run) => drop(std::hint::black_box(run)),
        Err(error) => drop(std::hint::black_box(error.to_string())),
    }
});
