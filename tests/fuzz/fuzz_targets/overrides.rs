//! Overrides of a profile, one a line: what is taken is also written so that it is read the same.
#![no_main]

use dpamatch_predict::{Profile, override_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(lines) = std::str::from_utf8(bytes) else {
        return;
    };
    let overrides: Vec<String> = lines.lines().map(str::to_owned).collect();
    let text = Profile::text("bluefield3").expect("a built-in profile");
    let changed = override_text(text, &overrides);
    match Profile::read(text, &overrides) {
        Ok(profile) => {
            let again = Profile::read(&changed.expect("it was taken"), &[]).expect("TOML");
            assert_eq!(again.numbers(), profile.numbers());
        }
        Err(error) => {
            assert!(changed.is_err(), "{error}");
            std::hint::black_box(error.to_string());
        }
    }
});
