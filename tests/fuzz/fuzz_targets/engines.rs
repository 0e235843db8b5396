//! All engines of the registry against the oracle: the first byte fixes the options, the rest are
//! calls.

#![no_main]

use dpamatch::conformance::{calls_from_bytes, check_calls, seed_options};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else {
        return;
    };
    if let Err(difference) = check_calls(&calls_from_bytes(rest), &seed_options(first.into())) {
        panic!("{difference}");
    }
});
