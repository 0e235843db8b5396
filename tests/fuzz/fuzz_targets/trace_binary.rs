//! A DUMPI binary file of any bytes.
#![no_main]

use dpamatch::Rank;
use dpamatch_traces::{BinaryReader, Region};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for salvage in [false, true] {
        let file = Region::memory("fuzz", bytes);
        if let Ok(mut reader) = BinaryReader::new(file, Rank::default(), salvage) {
            dpamatch_fuzz::read_all(&mut reader, salvage);
        }
    }
});
