//! Accesses of memory, right and wrong. Exact results, and exact lines with their source lines.

mod races;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const DEVICE: &str = include_str!("device.c");

fn run(command: &mut Command) -> (String, String) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [said, errors] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(
        output.status.success(),
        "{command:?}: {}\n{errors}",
        output.status
    );
    (said, errors)
}

/// Where the emulator is installed, once for all tests.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let prefix = temporary.join("emulator-memory");
        let target = temporary.parent().expect("the target folder");
        let mut install = Command::new(folder.join("install.sh"));
        install.arg(&prefix).env("CARGO", env!("CARGO"));
        install.env("CARGO_PROFILE", "dev");
        run(install.env("CARGO_TARGET_DIR", target));
        prefix
    })
}

/// Builds a program of a folder, with checks of accesses or without.
fn build(name: &str, folder: &str, checks: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut build = Command::new(root.join("build.sh"));
    build.arg(prefix()).arg(name).arg(root.join(folder));
    run(build.env("DPACC_CHECK", checks));
    prefix().join(name)
}

/// The program with checks of accesses and without, built once for all tests.
fn programs() -> &'static [PathBuf; 2] {
    static PROGRAMS: OnceLock<[PathBuf; 2]> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let [built, unchecked] = ["memory", "unchecked"].map(|name| prefix().join(name));
        build("memory", "tests/memory", "0");
        std::fs::rename(&built, &unchecked).expect("a program");
        build("memory", "tests/memory", "1");
        [unchecked, built]
    })
}

fn program() -> &'static Path {
    &programs()[1]
}

/// The source line that has the mark `HERE name`.
fn line_of(name: &str) -> usize {
    let mark = format!("/* HERE {name} */");
    let at = DEVICE.lines().position(|line| line.contains(&mark));
    1 + at.unwrap_or_else(|| panic!("no line is marked with {name}"))
}

/// A line without addresses and without the folder of the source.
fn plain(line: &str) -> String {
    let word = |word: &str| match word.rsplit_once('/') {
        Some((_, place)) if place.starts_with("device.c:") => place.to_owned(),
        _ if word.starts_with("0x") && word.ends_with(',') => "ADDRESS,".to_owned(),
        _ if word.starts_with("0x") => "ADDRESS".to_owned(),
        _ => word.to_owned(),
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// What a device function returns, and the lines about it.
fn call(name: &str, act: &str) -> (String, Vec<String>) {
    let (said, errors) = run(Command::new(program()).args([name, act]));
    (said, errors.lines().map(plain).collect())
}

/// The function returns this, and there is no line.
fn is_right(name: &str, result: u64) {
    is_right_while(name, "nothing", result);
}

fn is_right_while(name: &str, act: &str, result: u64) {
    let right = (format!("status 0, result {result}\n"), Vec::new());
    assert_eq!(call(name, act), right, "{name} {act}");
}

/// There is one line, with this text, in this function at the marked line.
fn has_line(name: &str, function: &str, text: &str) {
    has_line_while(name, "nothing", function, text);
}

fn has_line_while(name: &str, act: &str, function: &str, text: &str) {
    let (said, lines) = call(name, act);
    let line = line_of(name);
    let wanted = format!(
        "dpa: process 1, thread 0 ({name}), activation 1: {text}, at {function} at device.c:{line}"
    );
    assert_eq!(lines, [wanted], "{said}");
    assert!(said.starts_with("status 0, "), "{said}");
}

/// There is one line about a depth within this range, in this function at the marked line.
fn is_deep(name: &str, function: &str, depths: std::ops::Range<usize>) {
    let (said, lines) = call(name, "nothing");
    assert!(said.starts_with("status 0, "), "{said}");
    let depth = lines
        .first()
        .and_then(|line| line.split("the stack has ").nth(1)?.split(' ').next());
    let depth: usize = depth
        .and_then(|depth| depth.parse().ok())
        .unwrap_or_else(|| panic!("{name}: {lines:?}"));
    assert!(depths.contains(&depth), "{lines:?}");
    let line = line_of(name);
    let wanted = format!(
        "dpa: process 1, thread 0 ({name}), activation 1: the stack has {depth} bytes here, and on \
         a DPA at most 8184, at {function} at device.c:{line}"
    );
    assert_eq!(lines, [wanted]);
}

/// Frames of this machine's code are some bytes larger than what they hold.
const FRAME: usize = 300;

#[test]
fn a_stack_is_measured_at_functions_and_accesses() {
    is_right("leaf_7900", 11);
    is_right(
        "late_7900",
        u64::from((7900_u32 - 1 - 7900 / 3).wrapping_mul(7900) as u8),
    );
    is_right(
        "callee_7800",
        (0..7800_u64).step_by(61).map(|at| at % 256).sum(),
    );
    is_deep("leaf_9000", "leaf", 9000..9000 + FRAME);
    is_deep("ends_12000", "ends", 12_000..12_000 + FRAME);
    is_deep("callee_9000", "filled", 9000..9000 + FRAME);
    // The first element that is written is the highest, and the array is above the bound at first.
    is_deep("late_9000", "late", 8185..8186);
    // The frame that passes the bound.
    is_deep("recursion", "down", 8185..8185 + 16 * 8 + FRAME);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_last_byte_of_a_stack_is_known() {
    is_right("depth_within", 15);
    is_deep("depth_above", "depth_above", 8185..8186);
}

/// A stack pointer is a multiple of 16 where a function begins, and the bound is none: the last
/// that fits has 8,176 bytes.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_function_begins_within_the_bound() {
    is_right("begins_8160", 8160);
    is_right("begins_8176", 8176);
    is_deep("begins_8192", "stack_here", 8192..8193);
}

/// Both end the process, as on a card, and the host goes on.
#[test]
fn a_stack_that_this_machine_has_no_room_for_ends_the_process() {
    let (said, lines) = call("endless_recursion", "nothing");
    assert!(said.starts_with("status 3, "), "{said}");
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].contains(", and on a DPA at most 8184, at for_ever at device.c:"));
    assert!(
        lines[1].contains("(endless_recursion), activation 1: the stack has "),
        "{lines:?}"
    );
    let end = ", and the emulator has room for no more; the process is in error state 1";
    assert!(
        lines[1].contains(" bytes at for_ever at device.c:"),
        "{lines:?}"
    );
    assert!(lines[1].ends_with(end), "{lines:?}");
    let last = "dpa: flexio_process_call: the process ended in or before endless_recursion";
    assert_eq!(lines[2], last);
    let (said, lines) = call("huge_array", "nothing");
    assert!(said.starts_with("status 3, "), "{said}");
    let first = "dpa: process 1, thread 0 (huge_array), activation 1: no room for a stack to \
                 ADDRESS at huge at device.c:";
    assert!(lines[0].starts_with(first), "{lines:?}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_frame_that_is_gone_is_found() {
    let text =
        "reads 8 bytes at ADDRESS of the stack, in the frame of a function that has returned";
    has_line("dead_frame", "dead_frame_body", text);
}

#[test]
fn a_block_of_the_heap_ends_at_its_last_byte() {
    is_right("heap_ends", 1);
    for (name, text) in [
        (
            "heap_write_behind",
            "writes 1 bytes at ADDRESS in no block of the heap: at byte 200 of one of 200 bytes",
        ),
        (
            "heap_read_behind",
            "reads 1 bytes at ADDRESS in no block of the heap: at byte 200 of one of 200 bytes",
        ),
        (
            "heap_write_before",
            "writes 1 bytes at ADDRESS in no block of the heap: 1 byte before one of 76 bytes",
        ),
        (
            "heap_read_before",
            "reads 1 bytes at ADDRESS in no block of the heap: 1 byte before one of 200 bytes",
        ),
        (
            "heap_loop",
            "writes 8 bytes at ADDRESS in no block of the heap: at byte 72 of one of 76 bytes",
        ),
        (
            "heap_copy",
            "writes 77 bytes at ADDRESS in no block of the heap: at byte 0 of one of 76 bytes",
        ),
        (
            "heap_freed",
            "reads 1 bytes at ADDRESS in no block of the heap: in one of 48 bytes that was freed",
        ),
    ] {
        has_line(
            name,
            &format!("{name}_body"),
            &text.replace("ADDRESS", "ADDRESS,"),
        );
    }
    let text = "reads 8 bytes at ADDRESS of another process's heap";
    has_line("heap_foreign", "heap_foreign_body", text);
}

#[test]
fn a_block_that_is_freed_twice_is_refused_and_its_neighbours_are_not() {
    let (said, lines) = call("heap_ends", "free_twice");
    assert_eq!(said, "status 0, result 1\n");
    assert_eq!(
        lines,
        ["dpa: flexio_buf_dev_free: ADDRESS is a block that was freed before"]
    );
}

#[test]
fn a_window_pointer_is_right_as_long_as_its_key_translates_it() {
    is_right("window_same_key", 11 + 11 + 41);
    is_right("window_switches", (10..16).sum::<u64>() + 21_000);
    is_right("window_larger_key", 11);
    is_right_while("window_kept", "nothing", 22);
    let anew = "8 bytes at ADDRESS through a window that was configured anew";
    has_line(
        "window_other_key",
        "window_other_key_body",
        &format!("reads {anew}"),
    );
    has_line(
        "window_other_key_write",
        "window_other_key_write_body",
        &format!("reads {anew}"),
    );
    has_line(
        "window_other_entity",
        "window_other_entity_body",
        &format!("reads {anew}"),
    );
    let no_pointer =
        "reads 8 bytes at ADDRESS of the host, for which no window pointer was acquired";
    has_line("window_no_pointer", "window_no_pointer_body", no_pointer);
}

#[test]
fn what_the_host_takes_back_is_not_reached_any_more() {
    let gone = "reads 8 bytes at ADDRESS through a window whose memory is not registered any more";
    has_line_while(
        "window_deregistered",
        "deregister",
        "window_deregistered_body",
        gone,
    );
    let gone = "reads 8 bytes at ADDRESS through a window that was destroyed";
    has_line_while("window_destroyed", "destroy", "window_destroyed_body", gone);
    let begin = |name: &str| format!("dpa: process 1, thread 0 ({name}), activation 1: ");
    for name in ["window_acquired_late", "window_configured_late"] {
        let wanted = [begin(name) + "window 0: it was destroyed"];
        assert_eq!(
            call(name, "destroy"),
            ("status 0, result 5\n".to_owned(), wanted.to_vec())
        );
        is_right_while(name, "nothing", 6);
    }
    // Memory that is not there: the access crashes.
    let (said, lines) = call("window_unmapped", "unmap");
    assert!(said.starts_with("status 3, "), "{said}");
    let line = line_of("window_unmapped");
    let wanted = format!(
        "{}reads 8 bytes at ADDRESS through a window whose memory is not registered any more, at \
         window_unmapped_body at device.c:{line}",
        begin("window_unmapped")
    );
    assert_eq!(lines[0], wanted);
    let wanted = format!(
        "{}bad access to ADDRESS at window_unmapped_body at device.c:{line}; the process is in \
         error state 1",
        begin("window_unmapped")
    );
    assert_eq!(lines[1], wanted);
}

#[test]
fn a_loop_that_never_ends_has_a_line() {
    let [unchecked, checked] = programs();
    let line_at = |program: &Path, name: &str| {
        let mut command = Command::new(program);
        command.args([name, "leave"]).env("DPA_WATCHDOG_S", "1");
        let (said, errors) = run(&mut command);
        assert_eq!((said.as_str(), errors.lines().count()), ("", 1), "{errors}");
        let begin = format!(
            "dpa: process 1, thread 0 ({name}), activation 1: the activation takes more than 1 s \
             (DPA_WATCHDOG_S), at "
        );
        let line = plain(errors.trim_end());
        let place = line.strip_prefix(&begin);
        place.unwrap_or_else(|| panic!("{line}")).to_owned()
    };
    let wanted = |name: &str| format!("{name}_body at device.c:{}", line_of(name));
    let is_there = |program: &Path, name: &str| assert_eq!(line_at(program, name), wanted(name));
    // They wait most of the time.
    std::thread::scope(|scope| {
        for program in [unchecked, checked] {
            scope.spawn(move || is_there(program, "endless_loop"));
            scope.spawn(move || is_there(program, "endless_flag"));
        }
        scope.spawn(|| is_there(unchecked, "endless_poll"));
        // It is in the function, or in the loop that calls it.
        let place = line_at(unchecked, "endless_calls");
        let functions = ["next_state", "endless_calls_body"];
        let is_in = |function: &&str| place.starts_with(&format!("{function} at device.c:"));
        assert!(functions.iter().any(is_in), "{place}");
    });
}
