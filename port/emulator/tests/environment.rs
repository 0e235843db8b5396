//! Settings that are wrong end a program with one line and exit code 2.

mod support;

use std::process::Command;
use support::{build, prefix, text};

/// What the program says, and its exit code.
fn answers(name: &str, value: &str) -> (String, String, Option<i32>) {
    let mut command = Command::new(build("answers"));
    command.args(["queues", "4"]);
    let ran = command.env(name, value).output().expect("a program");
    (text(&ran.stdout), text(&ran.stderr), ran.status.code())
}

fn refuses(name: &str, value: &str, why: &str) {
    let right = (String::new(), format!("dpa: {why}\n"), Some(2));
    assert_eq!(answers(name, value), right, "{name}={value}");
}

fn is_taken(name: &str, value: &str) {
    let (_, errors, code) = answers(name, value);
    assert_eq!((errors.as_str(), code), ("", Some(0)), "{name}={value}");
}

#[test]
fn an_unknown_variable_is_refused_with_a_suggestion() {
    refuses(
        "DPA_SEDE",
        "4",
        "DPA_SEDE: no such setting; did you mean DPA_SEED?",
    );
    refuses(
        "DPA_WIRES",
        "loop",
        "DPA_WIRES: no such setting; did you mean DPA_WIRE?",
    );
    refuses(
        "DPA_WORKER",
        "",
        "DPA_WORKER: no such setting; did you mean DPA_WORKERS?",
    );
    let all = "DPA_STRICT: no such setting; there are DPA_DEVICE, DPA_ERRORS, DPA_HEAP_MIB, DPA_LOG, DPA_READ_TURNS, \
               DPA_SEED, DPA_TRACE, DPA_VIRTUAL, DPA_WATCHDOG_S, DPA_WIRE, DPA_WORKERS";
    refuses("DPA_STRICT", "1", all);
    is_taken("DPACC_SEDE", "4");
    is_taken("DPA_EMULATOR_LIBRARY", "x");
}

#[test]
fn a_number_is_one_and_in_its_range() {
    for (name, low, high) in [
        ("DPA_WORKERS", 1_u64, 256),
        ("DPA_HEAP_MIB", 1, 1 << 20),
        ("DPA_VIRTUAL", 0, 1),
    ] {
        let range =
            |value: &str| format!("{name}={value}: a number from {low} to {high} is needed");
        for value in [low.checked_sub(1), Some(high + 1)].into_iter().flatten() {
            refuses(name, &value.to_string(), &range(&value.to_string()));
        }
        is_taken(name, &low.to_string());
        is_taken(name, "");
    }
    for name in [
        "DPA_SEED",
        "DPA_READ_TURNS",
        "DPA_WATCHDOG_S",
        "DPA_WORKERS",
    ] {
        refuses(name, "x", &format!("{name}=x: not a number"));
        refuses(name, "-1", &format!("{name}=-1: not a number"));
    }
    is_taken("DPA_WORKERS", "units");
}

#[test]
fn what_follows_from_an_error_is_known() {
    for errors in [
        "x", "exit", "exit:", "exit:0", "exit:256", "exit:-1", "abort:1", "Count",
    ] {
        let why = "exit:STATUS with a status from 1 to 255, abort or count is needed";
        refuses("DPA_ERRORS", errors, &format!("DPA_ERRORS={errors}: {why}"));
    }
    let why = "DPA_LOG=/: Is a directory (os error 21)";
    refuses("DPA_LOG", "/", why);
    let why = "DPA_LOG=/no/log: No such file or directory (os error 2)";
    refuses("DPA_LOG", "/no/log", why);
}

#[test]
fn a_wire_that_cannot_be_ends_the_program() {
    let kinds = "there are the wires pcap, link, packet, loop and reflect";
    let file = prefix().join("not.pcap");
    std::fs::write(&file, [7; 40]).expect("a file");
    let file = file.display();
    for (wire, why) in [
        ("tap:x", kinds),
        ("link:", "the wire link needs path=FILE or tcp=LIST"),
        (
            "link:tcp=127.0.0.1:1",
            "127.0.0.1:1: from 2 to 16 addresses are needed",
        ),
        (
            "link:tcp=127.0.0.1:1/[::1]:1/127.0.0.1:1",
            "127.0.0.1:1/[::1]:1/127.0.0.1:1: 127.0.0.1:1 is there twice",
        ),
        ("link:tcp=127.0.0.1:1/x", "x: invalid socket address"),
        ("packet:", "the wire packet needs interface=NAME"),
        ("pcap", "the wire pcap needs in=FILE or out=FILE"),
        (
            "pcap:in=/nothing",
            "/nothing: No such file or directory (os error 2)",
        ),
        ("pcap:out=/", "/: Is a directory (os error 21)"),
        ("loop:rules=x", "rules=x: not a number"),
        ("loop:burst=0", "burst=0: at least 1 is needed"),
        ("loop:path=x", "the wire loop has no option path=x"),
        ("loop:rule=1", "the wire loop has no option rule=1"),
        ("loop:repeat=1", "repeat needs in=FILE"),
    ] {
        refuses("DPA_WIRE", wire, &format!("DPA_WIRE={wire}: {why}"));
    }
    let wire = format!("pcap:in={file}");
    let why = "no pcap file with microseconds and little-endian numbers";
    refuses(
        "DPA_WIRE",
        &wire,
        &format!("DPA_WIRE={wire}: {file}: {why}"),
    );
    refuses(
        "DPA_TRACE",
        "/",
        "DPA_TRACE: /: Is a directory (os error 21)",
    );
    is_taken("DPA_WIRE", "loop:burst=1,rules=0,handlers=2");
}

#[test]
fn what_a_file_of_frames_does_not_give_is_said() {
    let frames = std::fs::read(support::frames(3)).expect("frames");
    let file = prefix().join("cut.pcap");
    for (bytes, kept) in [
        (frames.len() - 1, 2),
        (frames.len() - 76, 2),
        (frames.len() - 77, 1),
    ] {
        std::fs::write(&file, &frames[..bytes]).expect("a file");
        let (_, errors, code) = answers("DPA_WIRE", &format!("pcap:in={}", file.display()));
        let line = format!(
            "dpa: DPA_WIRE: {}: the file is cut after {kept} frames\n",
            file.display()
        );
        let right = if bytes == frames.len() - 76 {
            ""
        } else {
            &line
        };
        assert_eq!((errors.as_str(), code), (right, Some(0)));
    }
    let mut other = frames;
    other[20] = 113;
    std::fs::write(&file, other).expect("a file");
    let wire = format!("pcap:in={}", file.display());
    let why = "frames of link type 113, and not of Ethernet";
    refuses(
        "DPA_WIRE",
        &wire,
        &format!("DPA_WIRE={wire}: {}: {why}", file.display()),
    );
}
