//! DOCA DPA: a program with the calls of the samples, and its errors, each in the line of its mark.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use support::{build, prefix, run, text};

const DEVICE: &str = include_str!("doca/device.c");

/// The program, with attributes that lack notifications if `lacks` says so.
fn program(lacks: bool) -> PathBuf {
    if !lacks {
        return build("doca");
    }
    static LACKING: OnceLock<PathBuf> = OnceLock::new();
    let made = LACKING.get_or_init(|| {
        build("doca");
        // Another folder, so that both programs stay.
        let folder = prefix().join("lacking");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        std::fs::create_dir_all(&folder).expect("a folder");
        let parts = ["bin", "lib", "include"].map(|part| prefix().join(part));
        run(Command::new("cp").arg("-R").args(parts).arg(&folder));
        let [yaml, blob] = ["none.yaml", "none.blob"].map(|name| folder.join(name));
        std::fs::write(
            &yaml,
            " Feature_list:\n  Generating_Empty_CQE: false # none\n",
        )
        .expect("a file");
        run(Command::new(root.join("dpa-app-attributes2blob")).args([&yaml, &blob]));
        assert_eq!(std::fs::read(&blob).expect("a blob"), [0; 8]);
        std::fs::write(&yaml, "Generating_Empty_CQE: true\n").expect("a file");
        run(Command::new(root.join("dpa-app-attributes2blob"))
            .args([&yaml, &folder.join("all.blob")]));
        let all = std::fs::read(folder.join("all.blob")).expect("a blob");
        assert_eq!(all, [1, 0, 0, 0, 0, 0, 0, 0]);
        let mut build = Command::new(root.join("build.sh"));
        build.arg(&folder).arg("doca").arg(root.join("tests/doca"));
        run(build.env("ATTRIBUTES", &blob));
        folder.join("doca")
    });
    made.clone()
}

/// What a scene says: standard output, and standard error without folders.
fn scene(words: &[&str], lacks: bool, wire: &str) -> (String, String) {
    let mut command = Command::new(program(lacks));
    let ran = run(command.arg("--scene").args(words).env("DPA_WIRE", wire));
    let folder = format!("{}/tests/", env!("CARGO_MANIFEST_DIR"));
    (text(&ran.stdout), text(&ran.stderr).replace(&folder, ""))
}

/// The lines of the device part.
fn lines(errors: &str) -> Vec<&str> {
    let of_device = |line: &&str| line.starts_with("dpa: process ");
    errors.lines().filter(of_device).collect()
}

#[test]
fn scenes_of_the_samples_are_right() {
    let counts = "12 messages: values 78, immediates 7800, connections 12, types 36, bytes 96\n\
                  read 471111\n";
    let ends = "DOCA_ERROR_IN_USE\nDOCA_ERROR_BAD_STATE\n";
    let invalid = "DOCA_ERROR_INVALID_VALUE\n";
    for (words, wire, wanted) in [
        (
            &["kernels"][..],
            "loop",
            format!("before 0\ndone 12, sums 21048 16069, total 2258744\n{invalid}{invalid}"),
        ),
        (
            &["events"],
            "loop",
            format!("was 4, answer 1966140\nDOCA_ERROR_BAD_STATE\nDOCA_ERROR_BAD_STATE\n{invalid}"),
        ),
        (
            &["groups"],
            "loop",
            format!(
                "DOCA_ERROR_ALREADY_EXIST\n{invalid}5 notified: 405 305 205 105 5\n\
                 DOCA_ERROR_IN_USE\n"
            ),
        ),
        (
            &["counts"],
            "loop",
            format!("{counts}external 33, 34\n{ends}"),
        ),
        (
            &["extended"],
            "loop",
            format!("{counts}{ends}DOCA_ERROR_IN_USE\n"),
        ),
        (
            &["ping_pong", "--number=500"],
            "loop",
            "begun with 41, 500 each\n".to_owned(),
        ),
        (
            &["verbs"],
            "loop",
            "types 3111, words 4711 4711 4711\nDOCA_ERROR_IN_USE\n".to_owned(),
        ),
        (
            &["ethernet"],
            "loop",
            format!(
                "DOCA_ERROR_NOT_SUPPORTED\n{invalid}{invalid}DOCA_ERROR_NOT_SUPPORTED\n\
                 DOCA_ERROR_NOT_SUPPORTED\nresult 49841664, 32 frames alike\n{invalid}\
                 DOCA_ERROR_IN_USE\nDOCA_ERROR_IN_USE\n"
            ),
        ),
    ] {
        let (said, errors) = scene(words, false, wire);
        assert_eq!(said, wanted, "{words:?}: {errors}");
        assert!(lines(&errors).is_empty(), "{words:?}: {errors}");
    }
}

/// The wire that joins the programs of a test.
fn link(name: &str) -> String {
    let socket = prefix().join(name);
    // What an earlier run has left.
    let _ = std::fs::remove_file(&socket);
    format!("link:path={}", socket.display())
}

/// The settings of both wires, by sockets and by TCP, for this number of programs.
fn links(name: &str, programs: usize) -> [String; 2] {
    let port = |_| std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let ports: Vec<_> = (0..programs).map(port).collect();
    let address = |port: &std::net::TcpListener| port.local_addr().expect("it").to_string();
    let list: Vec<_> = ports.iter().map(address).collect();
    [link(name), format!("link:tcp={}", list.join("/"))]
}

/// Messages, their immediates, writes and reads go from one program to another.
#[test]
fn two_programs_have_connections() {
    for wire in links("between", 2) {
        have_connections(&wire);
    }
}

fn have_connections(wire: &str) {
    let (said, errors) = scene(&["between"], false, wire);
    let mut lines: Vec<_> = said.lines().collect();
    // Two programs say it.
    lines.sort_unstable();
    let right = [
        "100000 bytes there and back",
        "12 messages: values 78, immediates 7800, connections 12, types 36, bytes 96",
        "DOCA_ERROR_INVALID_VALUE",
        "read 471111 of 100000 bytes",
    ];
    assert_eq!(lines, right, "{errors}");
    let refused = "dpa: doca_mmap_create_from_export: 31 bytes are no export of a map\n";
    assert_eq!(errors, refused);
}

/// Each of four programs writes to all others, adds to a word of theirs, tries to be first at
/// another word, sends a message and signals an event.
#[test]
fn four_programs_meet() {
    for wire in links("together", 4) {
        meet(&wire);
    }
}

fn meet(wire: &str) {
    let (said, errors) = scene(&["together"], false, wire);
    let mut lines: Vec<_> = said.lines().collect();
    lines.sort_unstable();
    let right = [
        "first at 4 of 4",
        "program 0: written 0 101 102 103, added 9, heard 9",
        "program 1: written 100 0 102 103, added 8, heard 8",
        "program 2: written 100 101 0 103, added 7, heard 7",
        "program 3: written 100 101 102 0, added 6, heard 6",
    ];
    assert_eq!(lines, right, "{errors}");
    assert_eq!(errors, "");
}

/// A pair whose peer's program has ended completes with an error and a line.
#[test]
fn a_program_that_has_ended_does_not_answer() {
    for wire in links("peer_ends", 2) {
        does_not_answer(&wire);
    }
}

fn does_not_answer(wire: &str) {
    let (said, errors) = scene(&["peer_ends"], false, wire);
    assert_eq!(
        said, "DOCA_ERROR_INVALID_VALUE\ncompletion 13\n",
        "{errors}"
    );
    let found = errors.lines().nth(1).unwrap_or_default();
    let why = "does not answer: its program is not there";
    assert!(found.starts_with("dpa: send queue 0x"), "{errors}");
    assert!(
        found.ends_with(why) && errors.lines().count() == 2,
        "{errors}"
    );
}

/// Without a link, a peer in another program is refused.
#[test]
fn programs_that_no_link_joins_have_no_connection() {
    let mut command = Command::new(program(false));
    command.args(["--scene", "between"]).env("DPA_WIRE", "loop");
    let ran = command.output().expect("a program");
    let errors = text(&ran.stderr);
    let why = "the map is of a program that no link joins to this one: DPA_WIRE=link:path=FILE of \
               both does";
    assert!(errors.contains(why), "{errors}");
    assert_eq!(ran.status.code(), Some(1), "{errors}");
}

/// The number of the line with a mark.
fn line_of(name: &str) -> usize {
    let mark = format!("/* ERROR {name} */");
    let at = DEVICE.lines().position(|line| line.contains(&mark));
    1 + at.unwrap_or_else(|| panic!("no {mark}"))
}

fn has_lines() -> bool {
    Command::new("addr2line").arg("--version").output().is_ok()
}

#[test]
fn each_error_has_a_line_with_its_place() {
    for (name, mark, what) in [
        (
            "no_request",
            "no_request",
            "without a request for notification",
        ),
        (
            "not_flushed",
            "not_flushed",
            "that were posted without FLUSH or a commit",
        ),
        (
            "not_reposted",
            "no_request",
            "its thread has consumed all completions and given none",
        ),
        ("after_ack", "after_ack", "an element is read after its ack"),
        (
            "too_many_acks",
            "too_many_acks",
            "an ack of 3, more than were read",
        ),
        (
            "not_fenced",
            "not_fenced",
            "had not fenced when it updated an event",
        ),
        (
            "window_not_fenced",
            "window_not_fenced",
            "without a window writeback",
        ),
        ("no_device", "no_device", "is not of the current device"),
        ("unaligned", "unaligned", "not aligned to 64"),
        ("of_the_sf", "of_the_sf", "of another device"),
        ("no_connection", "no_connection", "no connection 9"),
        (
            "reads_first",
            "reads_first",
            "of a block that nobody has written yet",
        ),
        (
            "reschedules",
            "reschedules",
            "is for threads, not for kernels and calls",
        ),
        ("old_event", "old_event", "is no started sync event"),
        (
            "two_waiters",
            "second_waiter",
            "more than one waiter: this thread, and thread 0",
        ),
        (
            "no_attribute",
            "no_attribute",
            "attributes lack Generating_Empty_CQE",
        ),
    ] {
        let (said, errors) = scene(&[name], name == "no_attribute", "loop");
        let found = lines(&errors);
        assert_eq!(found.len(), 1, "{name}: {said}{errors}");
        assert!(found[0].contains(what), "{name}: {errors}");
        let place = format!("doca/device.c:{}", line_of(mark));
        assert!(
            !has_lines() || found[0].ends_with(&place),
            "{place}: {errors}"
        );
    }
}

/// Each call that is wrong answers, and says why in one line. The program goes on.
#[test]
fn wrong_handles_and_states_are_refused() {
    let (said, errors) = scene(&["wrong"], false, "loop");
    let found: Vec<_> = said.lines().zip(errors.lines()).collect();
    assert_eq!(said.lines().count(), errors.lines().count(), "{errors}");
    let all: Vec<_> = found
        .iter()
        .map(|(error, line)| {
            let error = error.strip_prefix("DOCA_ERROR_").expect("an error");
            let line = line.strip_prefix("dpa: doca_").expect("a line");
            let address = line.split_whitespace().find(|word| word.starts_with("0x7"));
            format!("{error} {}", line.replace(address.unwrap_or("none"), "X"))
        })
        .collect();
    let wanted: Vec<_> = include_str!("doca/wrong.txt").lines().collect();
    assert_eq!(all, wanted);
}

#[test]
fn a_crash_ends_waits_and_the_host_goes_on() {
    let (said, errors) = scene(&["crash"], false, "loop");
    let fatal = "DOCA_ERROR_DEVICE_FATAL_ERROR\n".repeat(5);
    assert_eq!(said, format!("DOCA_SUCCESS\n{fatal}"), "{errors}");
    let place = format!(
        "bad access to 0x0 at crashes at doca/device.c:{}",
        line_of("crash")
    );
    assert!(!has_lines() || errors.contains(&place), "{errors}");
    // One line for each call that refuses, but for the question.
    assert_eq!(
        errors.matches("the DPA's process has ended").count(),
        4,
        "{errors}"
    );
}

#[test]
fn arguments_of_the_command_line_are_checked() {
    let said = |words: &[&str]| {
        let ran = Command::new(program(false)).args(words).output();
        let ran = ran.expect("a program");
        assert_eq!(ran.status.code(), Some(1), "{words:?}");
        text(&ran.stderr)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let lines = [
        said(&[]),
        said(&["scene"]),
        said(&["--scene"]),
        said(&["-s", "none", "--other", "1"]),
        said(&["-s", "none", "--number", "x"]),
        said(&["-s", "none", "--number=-1"]),
    ];
    let wanted = [
        "--scene is mandatory",
        "scene: not an option",
        "--scene: it takes a value",
        "--other: no such option (--help)",
        "--number: x is not a number",
        "--number: the program refuses -1 (DOCA_ERROR_INVALID_VALUE)",
    ];
    assert_eq!(
        lines,
        wanted.map(|line| format!("dpa: doca_argp_start: {line}"))
    );
    let help = run(Command::new(program(false)).arg("--help"));
    assert!(
        text(&help.stdout).contains("-s, --scene"),
        "{}",
        text(&help.stdout)
    );
}
