//! A text of `dumpi2ascii` of any bytes.
#![no_main]

use std::io::Cursor;

use dpamatch::Rank;
use dpamatch_traces::TextReader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for salvage in [false, true] {
        let input = Box::new(Cursor::new(bytes.to_vec()));
        let mut reader = TextReader::new("fuzz", input, Rank::default(), salvage);
        dpamatch_fuzz::read_all(&mut reader, salvage);
    }
});
