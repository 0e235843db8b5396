//! Device code that crashes: the line says where, its process is over, and the host's program is
//! not.

mod support;

use std::process::Command;
use support::{build, run, text};

/// The line of this function in the device part.
fn place(function: &str) -> String {
    let mark = format!("/* HERE {function} */");
    let source = include_str!("crashes/device.c");
    let line = source.lines().position(|line| line.contains(&mark));
    format!(
        "{function} at crashes/device.c:{}",
        1 + line.expect("a mark")
    )
}

/// Addresses that differ from run to run: those of code and of the host's memory.
fn plain(line: &str) -> String {
    let word = |word: &str| {
        let is_far = word.len() == 14 && word.starts_with("0x7");
        if is_far { "ADDRESS" } else { word }.to_owned()
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Calls the function. Its errors have to be these, without the begin of their lines, and then come
/// those of the calls that fail.
fn crashes(function: &str, argument: &str, wanted: &[String]) {
    let mut command = Command::new(build("crashes"));
    let ran = run(command.args([function, argument]).env("DPA_HEAP_MIB", "1"));
    let folder = format!("{}/tests/", env!("CARGO_MANIFEST_DIR"));
    let errors = text(&ran.stderr).replace(&folder, "");
    let begin = format!("process 1, thread 0 ({function}), activation 1: ");
    let wanted = wanted.iter().map(|line| format!("dpa: {begin}{line}"));
    let over = [
        format!("dpa: flexio_process_call: the process ended in or before {function}"),
        "dpa: flexio_process_call: the process has ended".to_owned(),
    ];
    let errors: Vec<_> = errors.lines().map(plain).collect();
    assert_eq!(errors, wanted.chain(over).collect::<Vec<_>>());
    // The status of a call of a process that is over is 3, and the error state of a crash is 1. A
    // new process runs.
    let said = "status 3, result 0, ended 1\nagain: status 3\nnew: result 5\n";
    assert_eq!(text(&ran.stdout), said);
}

/// The line of a crash, and before it the line of the access, if that is announced.
fn crash(what: &str, function: &str) -> String {
    format!(
        "{what} at {}; the process is in error state 1",
        place(function)
    )
}

fn read(bytes: u32, address: &str, function: &str) -> String {
    let place = place(function);
    format!("reads {bytes} bytes at {address} of the host, outside of its windows, at {place}")
}

#[test]
fn an_access_without_memory_is_a_line_and_a_crash() {
    // The heap of the first process begins here, and has 1 MiB.
    let end = format!("{:#x}", 0x2000_0000_0000_u64 + (1 << 20));
    for (function, argument, address, bytes) in [
        ("load", "heap-end", end.as_str(), Some(8)),
        ("copy", "64", "0x40", Some(64)),
        // Nothing announces accesses of the C library.
        ("length", "64", "0x40", None),
    ] {
        let mut wanted = vec![crash(&format!("bad access to {address}"), function)];
        if let Some(bytes) = bytes {
            wanted.insert(0, read(bytes, address, function));
        }
        crashes(function, argument, &wanted);
    }
    let wanted = [
        read(8, "ADDRESS", "load"),
        crash("bad address ADDRESS", "load"),
    ];
    crashes("load", "file-end", &wanted);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn an_instruction_that_fails_is_a_crash() {
    crashes(
        "divide",
        "0",
        &[crash("bad arithmetic in ADDRESS", "divide")],
    );
    crashes("trap", "0", &[crash("bad instruction in ADDRESS", "trap")]);
}
