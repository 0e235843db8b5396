//! Two processes: the test starts itself a second time.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::regions::{close, register, transfer};
use super::rogue::still_works;
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

/// Where the data of [`a_number_that_another_program_has`] are, in every program.
const PLACE: usize = 0x3a00_0000_0000;
/// Set in the program that takes over the process.
const IMPOSTOR: &str = "DPAMATCH_TEST_IMPOSTOR";

/// Maps memory at [`PLACE`] and fills it.
fn fill_place(byte: u8) -> &'static [u8] {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: new memory, where nothing else is.
    unsafe {
        let start = libc::mmap(PLACE as *mut _, LONG, access, flags, -1, 0);
        assert_eq!(start as usize, PLACE);
        start.cast::<u8>().write_bytes(byte, LONG);
        std::slice::from_raw_parts(start.cast(), LONG)
    }
}

/// A process that has this number, and other data at the same place. Only root can choose the
/// number.
fn impostor(pid: i32) -> Option<libc::pid_t> {
    let mut tids = [pid];
    // SAFETY: zero is a valid value of every field.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    (args.set_tid, args.set_tid_size) = (tids.as_mut_ptr() as u64, 1);
    args.exit_signal = libc::SIGCHLD as u64;
    // SAFETY: like `fork`. The child maps memory, waits to be killed, and calls nothing else.
    match unsafe { libc::syscall(libc::SYS_clone3, &raw mut args, size_of_val(&args)) } {
        0 => {
            fill_place(0xee);
            loop {
                // SAFETY: no memory is involved.
                unsafe { libc::pause() };
            }
        }
        child => libc::pid_t::try_from(child).ok().filter(|&child| child > 0),
    }
}

/// A sender's process executes another program, or ends, and its number goes to another process.
/// Both have other data where the sender had announced some.
#[test]
fn a_number_that_another_program_has() {
    const TEST: &str = "tests::processes::a_number_that_another_program_has";
    if std::env::var(IMPOSTOR).is_ok() {
        fill_place(0xee);
        println!("\nhere");
        std::io::stdout().flush().expect("a pipe");
        let _ = std::io::stdin().read_line(&mut String::new());
        return;
    }
    if let Some((role, side, to)) = role() {
        side.send_now(fill_place(0x11), to, 2, 1);
        println!("sent");
        std::io::stdout().flush().expect("a pipe");
        let _ = std::io::stdin().read_line(&mut String::new());
        assert_eq!(role, "exec");
        let program = std::env::current_exe().expect("this program");
        let error = Command::new(program)
            .args(["--exact", TEST, "--nocapture", "--test-threads=1"])
            .env(IMPOSTOR, "")
            .exec();
        panic!("{error}");
    }
    for role in ["exec", "end"] {
        let (side, third) = (Side::open(|_| ()), Side::open(|_| ()));
        let to_side = third.insert(&side.name());
        let Other {
            mut child,
            mut lines,
            name,
        } = other(TEST, role, &side);
        let from = side.insert(&name);
        assert!(lines.any(|line| line.expect("text").contains("sent")));
        (0..100).for_each(|_| side.progress());
        let pid = child.id() as i32;
        let mut taken = None;
        if role == "exec" {
            let mut input = child.stdin.take().expect("a pipe");
            input.write_all(b"go\n").expect("a pipe");
            assert!(lines.any(|line| line.expect("text").contains("here")));
        } else {
            child.kill().expect("a child");
            child.wait().expect("a child");
            taken = impostor(pid);
            assert!(taken.is_none_or(|taken| taken == pid));
            // It fills its memory.
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut got = vec![0; LONG];
        assert_eq!(side.receive(&mut got, from, (2, 0), 5), 0);
        let done = side.wait(&[]);
        assert_eq!((done.context(), done.err), (5, FI_ECONNRESET), "{role}");
        assert!(!got.contains(&0xee), "{role}: the data of another program");
        still_works(&third, &side, to_side);
        let _ = child.kill();
        let _ = child.wait();
        if let Some(taken) = taken {
            // SAFETY: a child of this test, which it ends and whose end it takes.
            unsafe {
                libc::kill(taken, libc::SIGKILL);
                libc::waitpid(taken, std::ptr::null_mut(), 0);
            }
        }
    }
}

/// A reader is stopped in the middle of its copies. Its peer closes the region, and then its
/// endpoint, without waiting for it, and uses the memory again.
#[test]
fn a_stopped_reader_delays_no_close() {
    const TEST: &str = "tests::processes::a_stopped_reader_delays_no_close";
    const LENGTH: usize = 8 << 20;
    const ROUNDS: usize = 6;
    const AGAIN: u8 = 0xee;
    if let Some((_, side, to)) = role() {
        let mut buffer = vec![0; LENGTH];
        for _ in 0..ROUNDS {
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).expect("a pipe");
            let mut words = line.split_whitespace().map(|word| word.parse::<u64>());
            let mut next = || words.next().expect("a word").expect("a number");
            let (address, key) = (next(), next());
            loop {
                transfer(&side, false, &mut buffer, to, address, key);
                match side.wait(&[]).err {
                    0 => assert!(!buffer.contains(&AGAIN), "memory that was closed"),
                    error => break assert_eq!(error, FI_EACCES),
                }
            }
            side.send_now(b"next", to, 8, 1);
            assert_eq!(side.wait(&[]).context(), 1);
        }
        loop {
            assert_eq!(side.receive(&mut buffer, to, (3, 0), 3), 0);
            match side.wait(&[]).err {
                0 => assert!(!buffer.contains(&AGAIN), "memory that was closed"),
                error => break assert_eq!(error, FI_ECONNRESET),
            }
        }
        return;
    }
    let (side, third) = (Side::open(|_| ()), Side::open(|_| ()));
    let third_name = third.name();
    let (to_side, to_third) = (third.insert(&side.name()), side.insert(&third_name));
    let Other {
        mut child,
        name,
        lines: _lines,
    } = other(TEST, "read", &side);
    let to = side.insert(&name);
    let mut input = child.stdin.take().expect("a pipe");
    let pid = child.id() as libc::pid_t;
    // SAFETY: a signal for the child of this test.
    let signal = |signal| assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
    let mut memory = vec![1; LENGTH];
    // A machine may be busy, but nothing here waits for the child.
    let quick = |begun: Instant| assert!(begun.elapsed() < Duration::from_millis(1_500));
    for round in 0..ROUNDS {
        memory.fill(round as u8);
        let (region, key) = register(&side, &mut memory, FI_REMOTE_READ);
        writeln!(input, "{} {key}", memory.as_ptr() as u64).expect("a pipe");
        let end = Instant::now() + Duration::from_micros(40_000 + 700 * round as u64);
        while Instant::now() < end {
            side.progress();
        }
        signal(libc::SIGSTOP);
        let begun = Instant::now();
        close(region);
        quick(begun);
        memory.fill(AGAIN);
        still_works(&third, &side, to_side);
        still_works(&side, &third, to_third);
        signal(libc::SIGCONT);
        let mut next = [0; 4];
        assert_eq!(side.receive(&mut next, to, (8, 0), 8), 0);
        assert_eq!((side.wait(&[]).context(), &next), (8, b"next"));
    }
    memory.fill(7);
    let end = Instant::now() + Duration::from_millis(60);
    while Instant::now() < end {
        if side.send(&memory, to, 3, 3) == 0 {
            assert_eq!(side.wait(&[]).err, 0);
        }
        side.progress();
    }
    assert_eq!(side.send(&memory, to, 3, 3), 0);
    signal(libc::SIGSTOP);
    let begun = Instant::now();
    drop(side);
    quick(begun);
    memory.fill(AGAIN);
    signal(libc::SIGCONT);
    assert!(child.wait().expect("a child").success());
}
