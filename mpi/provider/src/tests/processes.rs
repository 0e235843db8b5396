//! Two processes: the test starts itself a second time.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::side::{Side, pattern};
use crate::bindings::*;
use crate::wire::Address;

/// Set in the process that is started.
const ROLE: &str = "DPAMATCH_TEST_ROLE";
const LONG: usize = 100_000;
/// More than fits in the rings.
const MANY: usize = 3_000;

fn to_hex(name: &[u8]) -> String {
    name.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn of_hex(text: &str) -> [u8; Address::LENGTH] {
    let mut name = [0; Address::LENGTH];
    for (at, byte) in name.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("two digits");
    }
    name
}

/// The other process, and what it prints after its name.
struct Other {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    name: [u8; Address::LENGTH],
}

/// Starts the other process, which gets this side's address and prints its own.
fn other(test: &str, role: &str, mine: &Side) -> Other {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ROLE, format!("{role} {}", to_hex(&mine.name())))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let name = lines.find_map(|line| {
        let line = line.expect("text");
        line.split_once("name ").map(|(_, name)| of_hex(name))
    });
    Other {
        child,
        lines,
        name: name.expect("the other side's name"),
    }
}

/// The other process's task, with its side open and this side known; `None` in this process.
fn role() -> Option<(String, Side, u64)> {
    let text = std::env::var(ROLE).ok()?;
    let (role, name) = text.split_once(' ').expect("role and name");
    let side = Side::open(|_| ());
    let to = side.insert(&of_hex(name));
    println!("\nname {}", to_hex(&side.name()));
    std::io::stdout().flush().expect("a pipe");
    Some((role.to_owned(), side, to))
}

/// Messages of a killed process arrive, its other operations fail, and no call waits for ever.
#[test]
fn another_process_is_killed() {
    if let Some((_, side, to)) = role() {
        side.send_now(b"last", to, 1, 0);
        let long = pattern(1, LONG);
        side.send_now(&long, to, 2, 1);
        println!("sent");
        std::io::stdout().flush().expect("a pipe");
        loop {
            // Neither progress nor an end: it has to be killed.
            std::thread::park();
        }
    }
    let side = Side::open(|options| options.read_peers = false);
    let Other {
        mut child,
        mut lines,
        name,
    } = other("tests::processes::another_process_is_killed", "die", &side);
    let to = side.insert(&name);
    assert!(lines.any(|line| line.expect("text").contains("sent")));
    let (mut last, mut long) = ([0; 4], vec![0; LONG]);
    // The data of this one never come: the other process makes no progress.
    assert_eq!(side.receive(&mut long, to, (2, 0), 2), 0);
    let sent = pattern(3, LONG);
    assert_eq!(side.send(&sent, to, 9, 9), 0);
    side.progress();
    child.kill().expect("a child");
    child.wait().expect("a child");
    assert_eq!(side.receive(&mut last, to, (1, 0), 1), 0);
    let mut ends: Vec<_> = (0..3).map(|_| side.wait(&[])).collect();
    ends.sort_by_key(super::side::Done::context);
    let ends: Vec<_> = ends.iter().map(|done| (done.context(), done.err)).collect();
    assert_eq!(ends, [(1, 0), (2, FI_ECONNRESET), (9, FI_ECONNRESET)]);
    assert_eq!(&last, b"last");
    assert!(side.send(b"x", to, 1, 0) < 0, "there is nobody to send to");
}

/// A receiver that sleeps on its queue is woken by each message. A long one is read from the other
/// process's memory, and the answer arrives.
#[test]
fn a_sleeper_is_woken() {
    if let Some((_, side, to)) = role() {
        for number in 0..MANY {
            side.send_now(&number.to_ne_bytes(), to, 1, 0);
            assert_eq!(side.wait(&[]).context(), 0);
        }
        let (long, mut buffer) = (pattern(1, LONG), [0; 3]);
        side.send_now(&long, to, 2, 1);
        assert_eq!(side.wait(&[]).context(), 1);
        assert_eq!(side.receive(&mut buffer, to, (3, 0), 2), 0);
        assert_eq!((side.wait(&[]).context(), &buffer), (2, b"end"));
        return;
    }
    let side = Side::open_as(|_| (), |_| (), FI_WAIT_FD);
    let Other {
        mut child,
        name,
        lines: _lines,
    } = other("tests::processes::a_sleeper_is_woken", "send", &side);
    let from = side.insert(&name);
    for number in 0..MANY {
        let mut buffer = [0; 8];
        assert_eq!(side.receive(&mut buffer, from, (1, 0), number), 0);
        assert_eq!(side.sleep(60_000), number);
        assert_eq!(usize::from_ne_bytes(buffer), number);
    }
    let mut long = vec![0; LONG];
    assert_eq!(side.receive(&mut long, from, (2, 0), 2), 0);
    assert_eq!(side.sleep(60_000), 2);
    assert!(long == pattern(1, LONG));
    assert_eq!(
        (side.send(b"end", from, 3, 3), side.wait(&[]).context()),
        (0, 3)
    );
    while child.try_wait().expect("a child").is_none() {
        side.progress();
    }
    assert!(child.wait().expect("a child").success());
}
