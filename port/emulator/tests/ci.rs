//! The emulator as a check in CI: exit status, log, summary, leaks, and the build files of the
//! example.

// A file of the repository's, so that the manifest names nothing outside of this folder.
#[allow(dead_code, unreachable_pub, reason = "a crate elsewhere")]
#[path = "../../../tests/needs/src/lib.rs"]
mod needs;
mod support;

use needs::Need;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{build, dpacc, prefix, run, text};

fn misuse(name: &str, settings: &[(&str, &str)]) -> Output {
    let mut command = Command::new(build("misuse"));
    command.args([name, "0"]).envs(settings.iter().copied());
    command.output().expect("a program")
}

/// The line of a send queue that belongs to another process, up to its place.
const LINE: &str = "dpa: process 1, thread 2 (ring_other), activation 1: send queue 0x103 belongs \
                    to process 2, at ring_other at ";
const SUMMARY: &str = "dpa: summary: calls 1, activations 0, completions 0, other lines 0, ";

/// Lines, with the place of the first left out.
fn lines(errors: &[u8]) -> Vec<String> {
    let errors = text(errors);
    let cut = |line: &str| {
        let begin = line.strip_prefix(LINE).map(|_| LINE);
        begin.unwrap_or(line).to_owned()
    };
    errors.lines().map(cut).collect()
}

#[test]
fn an_error_leads_to_what_the_variable_says() {
    let summary = format!("{SUMMARY}errors 1: foreign 1");
    let wanted = |errors: &str, is_summed_up: bool, code: Option<i32>, signal: Option<i32>| {
        let ran = misuse("ring_other", &[("DPA_ERRORS", errors)]);
        let mut right = vec![LINE.to_owned()];
        right.extend(is_summed_up.then(|| summary.clone()));
        assert_eq!(lines(&ran.stderr), right, "{errors}");
        let status = (ran.status.code(), ran.status.signal());
        assert_eq!(status, (code, signal), "{errors}");
        // An exit flushes what the host part has printed; an abort does not.
        let said = if signal.is_some() { "" } else { "result 0\n" };
        assert_eq!(text(&ran.stdout), said, "{errors}");
    };
    wanted("", false, Some(0), None);
    wanted("count", true, Some(0), None);
    wanted("exit:66", true, Some(66), None);
    wanted("exit:1", true, Some(1), None);
    wanted("exit:255", true, Some(255), None);
    wanted("abort", false, None, Some(6));
}

/// The status of a program that does nothing wrong is its own, whatever an error would lead to.
#[test]
fn without_an_error_the_status_is_the_program_s() {
    let summary = "dpa: summary: calls 1, activations 0, completions 0, other lines 0, errors 0\n";
    for (errors, right) in [("exit:66", summary), ("abort", summary), ("", "")] {
        let mut command = Command::new(support::example("hello"));
        let ran = run(command.env("DPA_ERRORS", errors));
        assert_eq!(text(&ran.stderr), right, "{errors}");
        assert_eq!(text(&ran.stdout), "3 + 39 = 42\nstatus 0, result 42\n");
    }
}

/// Two handlers answer each other 20 times: a completion for each answer, and one that begins. The
/// calls ask for the end, so their number differs.
#[test]
fn the_summary_counts_activations_and_completions() {
    let mut command = Command::new(build("answers"));
    command.args(["queues", "20"]).env("DPA_ERRORS", "count");
    let errors = text(&run(&mut command).stderr);
    let counts = errors.strip_prefix("dpa: summary: calls ");
    let (calls, others) = counts
        .and_then(|rest| rest.split_once(", "))
        .expect(&errors);
    assert!(calls.parse().is_ok_and(|calls: u64| calls >= 2), "{errors}");
    let right = "activations 2, completions 41, other lines 0, errors 0\n";
    assert_eq!(others, right);
}

/// A refused call and a crash are errors of their kinds: the call that crashes, by an access of
/// host memory, and the next one are refused. A cut file of frames is another line.
#[test]
fn the_summary_names_kinds() {
    let ran = misuse("thread_of_other", &[("DPA_ERRORS", "exit:7")]);
    let summary = "dpa: summary: calls 0, activations 0, completions 0, other lines 0, errors 1: \
                   refused-call 1";
    assert_eq!(lines(&ran.stderr)[1..], [summary]);
    assert_eq!(ran.status.code(), Some(7));
    let mut crash = Command::new(support::example("hello"));
    let ran = crash.arg("crash").env("DPA_ERRORS", "exit:7").output();
    let ran = ran.expect("a program");
    assert_eq!(ran.status.code(), Some(7));
    let errors = text(&ran.stderr);
    assert!(
        errors.ends_with("errors 4: host-memory 1, refused-call 2, crash 1\n"),
        "{errors}"
    );
    let file = prefix().join("cut.pcap");
    let frames = std::fs::read(support::frames(3)).expect("frames");
    std::fs::write(&file, &frames[..frames.len() - 1]).expect("a file");
    let wire = format!("pcap:in={}", file.display());
    let ran = misuse(
        "ring_other",
        &[("DPA_ERRORS", "exit:7"), ("DPA_WIRE", &wire)],
    );
    let errors = text(&ran.stderr);
    assert!(
        errors.ends_with("other lines 1, errors 1: foreign 1\n"),
        "{errors}"
    );
}

/// Programs that run together append to one log, which has no line of a refused setting.
#[test]
fn a_log_has_the_lines() {
    let log = prefix().join("the log");
    let _ = std::fs::remove_file(&log);
    let path = log.to_str().expect("a name");
    for count in 1..=2 {
        let ran = misuse("ring_other", &[("DPA_LOG", path)]);
        assert_eq!(
            (text(&ran.stderr).as_str(), ran.status.code()),
            ("", Some(0))
        );
        let one = [LINE.to_owned(), format!("{SUMMARY}errors 1: foreign 1")];
        let log = std::fs::read(&log).expect("a log");
        assert_eq!(lines(&log), vec![one; count].concat());
    }
    let before = std::fs::read(&log).expect("a log");
    let ran = misuse("ring_other", &[("DPA_LOG", path), ("DPA_SEED", "x")]);
    let why = "dpa: DPA_SEED=x: not a number\n";
    assert_eq!(
        (text(&ran.stderr).as_str(), ran.status.code()),
        (why, Some(2))
    );
    assert_eq!(std::fs::read(&log).expect("a log"), before);
}

/// A program whose host part has address and leak sanitizers, and that gives all back, ends well.
/// One that keeps memory does not: the sanitizer is there.
#[test]
fn sanitizers_find_no_leaks_of_the_emulator() {
    let folder = prefix().join("sanitized");
    std::fs::create_dir_all(&folder).expect("a folder");
    let probe = folder.join("probe.c");
    std::fs::write(
        &probe,
        "#include <stdlib.h>\nint main(void) { return !malloc(7); }\n",
    )
    .expect("a file");
    let sanitize = "-fsanitize=address,leak";
    let probed = folder.join("probe");
    let mut compile = Command::new("cc");
    let compiled = compile
        .args([sanitize, "-O0", "-o"])
        .arg(&probed)
        .arg(&probe)
        .output();
    let has_sanitizers = compiled.is_ok_and(|ran| ran.status.success());
    if !Need::Sanitizers.require(has_sanitizers) {
        return;
    }
    let leaks = Command::new(&probed).output().expect("a program");
    assert!(
        text(&leaks.stderr).contains("7 byte(s) leaked"),
        "{}",
        text(&leaks.stderr)
    );
    let sanitized = |place: &str, name: &str, words: &[&str], more: &[(&str, &str)]| {
        let archive = folder.join(format!("{name}.a"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(place).join(name);
        run(dpacc()
            .arg(source.join("device.c"))
            .arg("-o")
            .arg(&archive)
            .args(["--app-name", name]));
        let program = folder.join(name);
        let mut compile = Command::new("cc");
        compile
            .arg(sanitize)
            .arg(source.join("host.c"))
            .arg(&archive);
        compile.args(support::libraries()).arg("-o").arg(&program);
        run(&mut compile);
        let mut command = Command::new(program);
        let ran = command
            .args(words)
            .envs(more.iter().copied())
            .output()
            .expect("a program");
        let errors = text(&ran.stderr);
        (text(&ran.stdout), errors, ran.status.code())
    };
    let (said, errors, code) = sanitized("examples", "hello", &[], &[]);
    assert_eq!(errors, "");
    assert_eq!(
        (said.as_str(), code),
        ("3 + 39 = 42\nstatus 0, result 42\n", Some(0))
    );
    let wire = format!("pcap:in={}", support::frames(300).display());
    let wire = [("DPA_WIRE", wire.as_str()), ("DPA_WORKERS", "2")];
    let (said, errors, code) = sanitized("examples", "counter", &["300"], &wire);
    assert_eq!(errors, "");
    assert_eq!(
        (said.as_str(), code),
        ("300 frames, 18000 bytes\n", Some(0))
    );
}

/// gdb stops where a program does wrong, and shows the device part's function and line.
#[test]
#[cfg(feature = "more-tools")]
fn a_debugger_stops_at_an_error() {
    if !Need::Debugger.require(exists("gdb")) {
        return;
    }
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-ex", "run", "-ex", "bt", "--args"]);
    gdb.arg(build("misuse"))
        .args(["ring_other", "0"])
        .env("DPA_ERRORS", "abort");
    let said = text(&run(&mut gdb).stdout);
    let source = include_str!("misuse/device.c").lines();
    let line = source
        .take_while(|line| !line.contains("ERROR ring_other"))
        .count()
        + 1;
    let is_wanted = |frame: &str| {
        frame.contains("ring_other (") && frame.ends_with(&format!("device.c:{line}"))
    };
    assert!(said.lines().any(is_wanted), "{said}");
}

/// A copy of the example, apart from all else of the emulator's sources.
fn copy(name: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/counter");
    let to = prefix().join(name);
    let _ = std::fs::remove_dir_all(&to);
    run(Command::new("cp").arg("-R").args([&from, &to]));
    to
}

/// A prefix without spaces, which pkg-config needs.
fn plain_prefix() -> PathBuf {
    let plain = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("emulator-ci");
    support::install(&plain);
    plain
}

/// What 500 frames of `frames.sh` have: five times lengths from 60 to 149, and once 60 to 109.
fn said() -> String {
    let bytes: usize = 5 * (60..150).sum::<usize>() + (60..110).sum::<usize>();
    format!("500 frames, {bytes} bytes\n")
}

#[cfg(feature = "more-tools")]
fn exists(tool: &str) -> bool {
    Command::new(tool)
        .arg("--version")
        .output()
        .is_ok_and(|ran| ran.status.success())
}

#[test]
fn make_builds_and_checks_the_example() {
    let folder = copy("made");
    let prefix = format!("PREFIX={}", plain_prefix().display());
    let mut make = Command::new("make");
    let ran = run(make.args(["-s", "check", &prefix]).current_dir(&folder));
    assert_eq!(text(&ran.stdout), said());
}

#[test]
#[cfg(feature = "more-tools")]
fn cmake_builds_and_checks_the_example() {
    if !Need::CMake.require(exists("cmake")) {
        return;
    }
    let folder = copy("with cmake");
    let packages = plain_prefix().join("lib/pkgconfig");
    for words in [
        &["cmake", "-S", ".", "-B", "built"][..],
        &["cmake", "--build", "built"],
        &["ctest", "--test-dir", "built", "--output-on-failure"],
    ] {
        let mut command = Command::new(words[0]);
        run(command
            .args(&words[1..])
            .current_dir(&folder)
            .env("PKG_CONFIG_PATH", &packages));
    }
    let log = std::fs::read(folder.join("built/Testing/Temporary/LastTest.log")).expect("a log");
    assert!(text(&log).contains(&said()), "{}", text(&log));
}

#[test]
#[cfg(feature = "more-tools")]
fn meson_builds_and_checks_the_example() {
    if !Need::Meson.require(exists("meson") && exists("ninja")) {
        return;
    }
    let folder = copy("with meson");
    let packages = plain_prefix().join("lib/pkgconfig");
    for words in [
        &["setup", "built"][..],
        &["compile", "-C", "built"],
        &["test", "-C", "built"],
    ] {
        let mut meson = Command::new("meson");
        run(meson
            .args(words)
            .current_dir(&folder)
            .env("PKG_CONFIG_PATH", &packages));
    }
    let log = std::fs::read(folder.join("built/meson-logs/testlog.txt")).expect("a log");
    assert!(text(&log).contains(&said()), "{}", text(&log));
}
