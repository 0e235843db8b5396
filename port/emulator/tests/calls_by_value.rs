//! Calls of the host with arguments of all kinds.

mod support;

use std::process::Command;
use support::{build, run, text};

/// The text with X for each address.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let after = part.trim_start_matches(|letter: char| letter.is_ascii_hexdigit());
        all = all + "X" + after;
    }
    all
}

/// In each result, every argument has its own digits. Elsewhere only integers are passed.
#[cfg(target_arch = "x86_64")]
#[test]
fn arguments_of_all_kinds_come_to_their_places() {
    let mut command = Command::new("sh");
    let ran = run(command
        .args(["-c", "exec \"$0\" 2>&1"])
        .arg(build("values")));
    let refused = |name: &str, why: &str| {
        format!(
            "dpa: flexio_process_call: the arguments of {name} cannot be passed: {why}\n{name} 1 5\n"
        )
    };
    let beyond = format!(
        "dpa: process 1, thread 6 (beyond_its_end), activation 1: reads 8 bytes at X of the stack, \
         beyond the frame of the entry point, at sum_of at {}/tests/values/device.c:47\n",
        env!("CARGO_MANIFEST_DIR")
    );
    let result = "its result is no integer of up to 64 bits";
    let right = [
        "in_registers 0 654321\nof_floats 0 54321\nmany_floats 0 21987654321\n".to_owned(),
        "around_the_last 0 987654321\nin_memory 0 1987654321\nby_its_address 0 664\n".to_owned(),
        beyond,
        "beyond_its_end 0 75\ntwo_long_ones 0 54321\n".to_owned(),
        "mixed 0 987654321\naligned_ones 0 654321\nnarrow 0 62002123\n".to_owned(),
        "narrow_result 0 -6\nno_result 0 0\nnothing 0 99\n".to_owned(),
        refused("variable", "it takes a variable number of arguments"),
        refused("fraction", result),
        refused("pair", result),
        refused("complex", "it takes a complex number"),
        "of_this_file 0 789\nnothing 0 99\n".to_owned(),
    ];
    assert_eq!(without_addresses(&text(&ran.stdout)), right.concat());
}

/// Without debug information nobody knows what a function takes.
#[test]
fn a_call_without_a_known_prototype_is_refused() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = support::prefix().join("hello");
    let mut build = Command::new(root.join("build.sh"));
    build.arg(support::prefix()).arg("hello");
    run(build
        .arg(root.join("examples/hello"))
        .env("DPACC_FLAGS", "-g0"));
    let ran = Command::new(&program).output().expect("a program");
    let why = "dpa: flexio_process_call: the arguments of add cannot be passed: the device part has \
               no debug information of it (-g)\n";
    assert_eq!(text(&ran.stderr).split_inclusive('\n').next(), Some(why));
    assert!(!text(&ran.stdout).contains("42"), "{}", text(&ran.stdout));
}
