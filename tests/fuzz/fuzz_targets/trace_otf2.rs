//! An OTF2 archive with one file of any bytes; the first byte chooses the file.
#![no_main]

use std::fs;
use std::path::Path;

use dpamatch_traces::{OpenOptions, open};
use libfuzzer_sys::fuzz_target;

const FILES: [&str; 5] = [
    "three.otf2",
    "three.def",
    "three/70.evt",
    "three/70.def",
    "three/50.evt",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((&chosen, rest)) = bytes.split_first() else {
        return;
    };
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/traces/otf2");
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    fs::create_dir_all(folder.join("three")).expect("a folder");
    for file in FILES {
        fs::copy(archive.join(file), folder.join(file)).expect("a copy");
    }
    fs::write(folder.join(FILES[usize::from(chosen) % FILES.len()]), rest).expect("written");
    for salvage in [false, true] {
        let Ok(trace) = open(
            folder,
            &OpenOptions {
                salvage,
                rank: None,
            },
        ) else {
            continue;
        };
        let readers = trace.ranks().iter().flat_map(|&rank| trace.open(rank));
        readers.for_each(|mut reader| dpamatch_fuzz::read_all(&mut *reader, salvage));
    }
});
