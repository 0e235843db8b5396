//! The examples, built as users build them. Exact counts, and all bytes of all answers.

#[allow(dead_code, unreachable_pub, reason = "a crate elsewhere")]
#[path = "../../../tests/needs/src/lib.rs"]
mod needs;

use needs::Need;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};

fn run(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{errors}",
        output.status
    );
    output
}

fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let prefix = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("emulator");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .parent()
            .expect("the target folder");
        let mut install = Command::new(folder.join("install.sh"));
        install
            .arg(&prefix)
            .env("CARGO", env!("CARGO"))
            .env("CARGO_PROFILE", "dev");
        run(install.env("CARGO_TARGET_DIR", target));
        prefix
    })
}

/// Builds a program, once for all tests.
fn build(place: &str, name: &str) -> PathBuf {
    static BUILT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let prefix = prefix();
    let program = prefix.join(name);
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if built.contains(&program) {
        return program;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut build = Command::new(root.join("build.sh"));
    run(build.arg(prefix).arg(name).arg(root.join(place).join(name)));
    built.push(program.clone());
    program
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_call_has_its_result() {
    let ran = run(&mut Command::new(build("examples", "hello")));
    let said = (text(&ran.stdout), text(&ran.stderr));
    assert_eq!(
        said,
        (
            "3 + 39 = 42\nstatus 0, result 42\n".to_owned(),
            String::new()
        )
    );
}

#[test]
fn a_kernel_has_its_threads() {
    let ran = run(&mut Command::new(build("examples", "launch")));
    let said = (text(&ran.stdout), text(&ran.stderr));
    assert_eq!(said.0, "16 threads, sum of squares 1240\n");
    assert_eq!(said.1, "");
}

/// A frame whose bytes and length depend on its number.
fn frame(number: usize, swapped: bool) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..60 + number % 90)
        .map(|at| (at * 7 + number * 3) as u8)
        .collect();
    if swapped {
        let (left, right) = frame.split_at_mut(6);
        left.swap_with_slice(&mut right[..6]);
    }
    frame
}

fn file(frames: &[Vec<u8>]) -> Vec<u8> {
    let word = |number: u32| number.to_le_bytes();
    let head = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 1 << 14, 1]
        .map(word)
        .concat();
    let entry = |frame: &Vec<u8>| {
        let length = frame.len() as u32;
        [[0, 0, length, length].map(word).concat(), frame.clone()].concat()
    };
    [head, frames.iter().flat_map(entry).collect()].concat()
}

/// A file of the test that runs.
fn place(name: &str) -> PathBuf {
    prefix().join(format!(
        "{}.{name}",
        std::thread::current().name().unwrap_or_default()
    ))
}

/// The wire with frames to play and a file for answers.
fn wire(wire: &str, frames: &[Vec<u8>]) -> String {
    let [input, output] = ["in", "out"].map(place);
    std::fs::write(&input, file(frames)).expect("a file of frames");
    format!("{wire},in={},out={}", input.display(), output.display())
}

/// Plays frames to a program. Answers what it said and sent.
fn play(command: &mut Command, options: &str, frames: &[Vec<u8>]) -> (String, String, Vec<u8>) {
    let ran = run(command.env("DPA_WIRE", wire(options, frames)));
    (
        text(&ran.stdout),
        text(&ran.stderr),
        std::fs::read(place("out")).expect("answers"),
    )
}

#[test]
fn every_frame_is_counted_and_answered() {
    let program = build("examples", "counter");
    for (seed, count) in [(0, 1), (0, 9), (0, 500), (7, 500)] {
        let frames: Vec<_> = (0..count).map(|number| frame(number, false)).collect();
        let mut command = Command::new(&program);
        command
            .arg(count.to_string())
            .env("DPA_SEED", seed.to_string());
        let (said, errors, sent) = play(&mut command, "pcap:", &frames);
        let bytes: usize = frames.iter().map(Vec::len).sum();
        assert_eq!(said, format!("{count} frames, {bytes} bytes\n"));
        let answers: Vec<_> = (0..count).map(|number| frame(number, true)).collect();
        assert!(sent == file(&answers), "{count} answers");
        assert_eq!(errors, "");
    }
}

/// The handler swaps a frame's addresses and sends it. A loop brings it back so, and `reflect`
/// swaps them again. Neither does before as many handlers run as the wire waits for.
#[test]
fn what_is_sent_comes_back() {
    let program = build("examples", "counter");
    let first = frame(3, false);
    for (kind, count, swaps) in [
        ("loop:handlers=1", 5, [true, false, true, false, true]),
        ("reflect:handlers=1", 5, [true; 5]),
        ("reflect:handlers=2", 0, [true; 5]),
    ] {
        let mut command = Command::new(&program);
        let (said, errors, sent) = play(command.arg("5"), kind, std::slice::from_ref(&first));
        // The handler goes on while the host part reads its counts.
        let found = said
            .split(' ')
            .next()
            .and_then(|word| word.parse::<usize>().ok());
        assert!(
            found.is_some_and(|found| found.min(5) == count),
            "{kind}: {said}"
        );
        assert_eq!(errors, "", "{kind}");
        let answers = swaps[..count].iter().map(|&swapped| frame(3, swapped));
        assert!(
            sent.starts_with(&file(&answers.collect::<Vec<_>>())),
            "{kind}"
        );
        assert!(count > 0 || sent.len() == file(&[]).len(), "{kind}");
    }
}

/// A frame has at most 16,384 bytes. The rest of a longer one is cut, and a frame that the file has
/// no longer whole does not come.
#[test]
fn long_frames_are_cut() {
    const LONGEST: usize = 16_384;
    let program = build("tests", "longframes");
    let long = |number: usize, length: usize| {
        let byte = |at| (at * 7 + number) as u8;
        (0..length).map(byte).collect::<Vec<u8>>()
    };
    let lengths = [60, LONGEST - 1, LONGEST, LONGEST + 1, LONGEST + 500, 61];
    let frames = lengths
        .iter()
        .enumerate()
        .map(|(number, &length)| long(number, length));
    let frames: Vec<_> = frames.collect();
    let input = place("in");
    let mut bytes = file(&[&frames[..], &[long(9, 70)]].concat());
    bytes.pop();
    std::fs::write(&input, bytes).expect("a file of frames");
    let wire = format!("pcap:in={},out={}", input.display(), place("out").display());
    let ran = run(Command::new(&program).arg("6").env("DPA_WIRE", wire));
    let path = input.display();
    let errors = format!(
        "dpa: DPA_WIRE: {path}: the file is cut after 6 frames\n\
         dpa: DPA_WIRE: {path}: 2 of 6 frames have more than {LONGEST} bytes, which are cut\n"
    );
    assert_eq!(text(&ran.stderr), errors);
    let sum: usize = lengths.iter().map(|&length| length.min(LONGEST)).sum();
    assert_eq!(text(&ran.stdout), format!("6 frames, {sum} bytes\n"));
    let answer = |frame: &Vec<u8>| {
        let mut answer = frame[..frame.len().min(LONGEST)].to_vec();
        answer[..12].rotate_left(6);
        answer
    };
    let answers: Vec<_> = frames.iter().map(answer).collect();
    assert!(std::fs::read(place("out")).expect("answers") == file(&answers));
}

/// 24 keys for 16 slots: puts, gets, other operations and short frames in no order.
#[test]
fn a_table_answers_as_a_map_does() {
    let program = build("examples", "keyvalue");
    let (mut requests, mut replies, mut map) = (Vec::new(), Vec::new(), HashMap::new());
    for number in 0..400_u64 {
        let drawn = number.wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(23);
        let (key, value) = (drawn % 24 * 0x0101_0101_0107, drawn ^ number);
        let (mut request, operation) = (frame(number as usize, false), (drawn >> 40) % 5);
        let operation = if operation > 3 { 1 } else { operation };
        request[14] = operation as u8;
        request[16..24].copy_from_slice(&key.to_le_bytes());
        request[24..32].copy_from_slice(&value.to_le_bytes());
        request.truncate(if drawn >> 60 == 0 { 31 } else { 150 });
        let mut reply = request.clone();
        reply[..12].rotate_left(6);
        reply[15] = match (operation, request.len()) {
            (_, 31) | (0 | 3, _) => 3,
            (1, _) if map.len() == 16 && !map.contains_key(&key) => 2,
            (1, _) => {
                map.insert(key, value);
                0
            }
            _ => map.get(&key).map_or(1, |value| {
                reply[24..32].copy_from_slice(&u64::to_le_bytes(*value));
                0
            }),
        };
        requests.push(request);
        replies.push(reply);
    }
    assert!((0..4).all(|answer| replies.iter().any(|reply| reply[15] == answer)));
    let (said, errors, sent) = play(Command::new(&program).arg("400"), "pcap:", &requests);
    assert_eq!(
        (said.as_str(), errors.as_str()),
        ("400 requests, 16 keys\n", "")
    );
    assert!(sent == file(&replies));
}

/// The line of the faulty program that an error names.
fn line_of(name: &str) -> usize {
    let source = include_str!("faults/device.c");
    let mark = format!("ERROR {name} ");
    let mut lines = source.lines().enumerate();
    let (at, line) = lines
        .find(|(_, line)| line.contains(&mark))
        .expect("a marked line");
    1 + at + usize::from(line.contains("in the line below"))
}

#[test]
fn each_error_of_a_program_becomes_a_line() {
    let program = build("tests", "faults");
    let wire = wire(
        "pcap:burst=1",
        &[1, 2, 3, 4, 5].map(|number| frame(number, false)),
    );
    let errors = |name: &str, limit: &str| {
        let mut command = Command::new(&program);
        text(
            &run(command
                .arg(name)
                .env("DPA_WATCHDOG_S", limit)
                .env("DPA_WIRE", &wire))
            .stderr,
        )
    };
    assert_eq!(errors("all_is_well", "0"), "");
    let has_lines = Command::new("addr2line").arg("--version").output().is_ok();
    for line in include_str!("faults/errors.txt").lines() {
        let (name, what) = line.split_once(": ").expect("a name");
        let errors = errors(name, "0");
        let begin = format!("({name}), activation 1: ");
        assert!(
            errors.starts_with("dpa: process 1, thread ") && errors.contains(&begin),
            "{errors}"
        );
        assert!(errors.contains(what), "{name}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{name}: {errors}");
        let line = format!("faults/device.c:{}", line_of(name));
        assert!(
            !has_lines || errors.trim_end().ends_with(&line),
            "{line}: {errors}"
        );
    }
    let deep = errors("deep_stack", "0");
    let depth = deep
        .split("the stack has ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let depth: usize = depth.and_then(|depth| depth.parse().ok()).expect("a depth");
    assert!((8185..8185 + 1500).contains(&depth), "{deep}");
    assert!(!has_lines || deep.contains(", at deep at "), "{deep}");
    let keeps = errors("keeps", "0");
    assert!(
        keeps.contains("a frame comes and no buffer was given back"),
        "{keeps}"
    );
    assert_eq!(keeps.lines().count(), 1, "{keeps}");
    // Its host part waits for the first line.
    let log = place("log");
    let _ = std::fs::remove_file(&log);
    let mut waits = Command::new(&program);
    waits.arg("waits").env("DPA_WATCHDOG_S", "1");
    run(waits.env("DPA_WIRE", &wire).env("DPA_LOG", &log));
    let waits = std::fs::read_to_string(&log).expect("lines");
    let (lines, summary) = waits.split_once("dpa: summary: ").expect("a summary");
    assert!(
        summary.ends_with("errors 2: returned 1, long-activation 1\n"),
        "{waits}"
    );
    let lines: Vec<_> = lines
        .lines()
        .map(|line| line.split(": ").last().unwrap_or(""))
        .collect();
    let late = "the activation takes more than 1 s (DPA_WATCHDOG_S)";
    assert_eq!(
        lines,
        [late, "the handler returned without a reschedule; it ends"],
        "{waits}"
    );
}

/// Does one list of calls, which compares what each returns and prints.
fn calls(name: &str, settings: &[(&str, &str)]) {
    let mut command = Command::new(build("tests", "calls"));
    let ran = run(command.arg(name).envs(settings.iter().copied()));
    let said = text(&ran.stdout) + &text(&ran.stderr);
    assert_eq!(said, "", "{name}");
}

#[test]
fn accesses_of_the_heap_are_checked() {
    calls("access", &[("DPA_HEAP_MIB", "1")]);
}

#[test]
fn frames_leave_and_come_back() {
    calls("frames", &[("DPA_WIRE", "loop")]);
}

#[test]
fn pairs_of_queues_have_states_and_move_messages() {
    calls("pairs", &[("DPA_READ_TURNS", "3")]);
}

#[test]
fn programs_processes_and_their_memory_have_ends() {
    let name = "a_card_of_a_long_name_that_has_more_letters_than_a_place_of_sixty_four";
    calls("process", &[("DPA_HEAP_MIB", "1"), ("DPA_DEVICE", name)]);
}

#[test]
fn queues_wake_their_handlers() {
    calls("queues", &[]);
}

#[test]
fn rules_lead_frames_to_queues() {
    calls("steering", &[("DPA_WIRE", "loop:rules=2")]);
}

#[test]
fn two_of_each_object_share_nothing() {
    calls("two", &[]);
}

#[test]
fn calls_of_several_versions_work() {
    calls("versions", &[("DPA_WIRE", "loop")]);
}

#[test]
fn windows_lead_to_memory_of_the_host() {
    calls("windows", &[]);
}

/// The events of a timeline in their order: phase, process, track, name, members.
fn timeline(command: &mut Command, file: &Path) -> Vec<String> {
    let begin = std::time::Instant::now();
    run(command.env("DPA_TRACE", file));
    let bytes = std::fs::read(file).expect("a timeline");
    let events: Vec<serde_json::Value> = serde_json::from_slice(&bytes).expect("an array");
    assert!(
        events.is_sorted_by_key(|event| event["ts"].as_f64()),
        "{events:?}"
    );
    let last = events
        .last()
        .and_then(|event| event["ts"].as_f64())
        .expect("a time");
    assert!(
        last > 1.0 && last < begin.elapsed().as_secs_f64() * 1e6,
        "{last} microseconds"
    );
    let text = |event: &serde_json::Value| {
        let [phase, name] = ["ph", "name"].map(|member| event[member].as_str().expect("a text"));
        format!(
            "{phase} {} {} {name} {}",
            event["pid"], event["tid"], event["args"]
        )
    };
    events.iter().map(text).collect()
}

#[test]
fn a_timeline_has_each_activation_doorbell_and_completion() {
    let trace = place("json");
    let events = timeline(
        Command::new(build("examples", "hello")).arg("crash"),
        &trace,
    );
    // A call after the crash does not begin.
    let calls = [(0, "add"), (1, "crash")].map(|(thread, name)| {
        let name = format!("M 1 {thread} thread_name {{\"name\":\"{name}\"}}");
        let [begin, end] = ["B", "E"].map(|phase| format!("{phase} 1 {thread} activation 1 null"));
        [name, begin, end]
    });
    assert_eq!(events, calls.as_flattened());
    let frames: Vec<_> = (0..9).map(|number| frame(number, false)).collect();
    let mut counter = Command::new(build("examples", "counter"));
    counter.arg("9").env("DPA_WIRE", wire("pcap:", &frames));
    let events = timeline(&mut counter, &trace);
    let of = |begin: &str| -> Vec<_> {
        events
            .iter()
            .filter(|event| event.starts_with(begin))
            .map(String::as_str)
            .collect()
    };
    let ring = |at: usize| format!("i 1 0 ring 0x101 {{\"index\":{at}}}");
    assert_eq!(of("i 1 0 ring"), (1..10).map(ring).collect::<Vec<_>>());
    let completion = |frame: &Vec<u8>| {
        let bytes = frame.len();
        format!("i 0 1024 completion of queue 0x400 {{\"bytes\":{bytes},\"opcode\":2}}")
    };
    assert_eq!(
        of("i 0 "),
        frames.iter().map(completion).collect::<Vec<_>>()
    );
    assert_eq!(of("M 1 0 "), ["M 1 0 thread_name {\"name\":\"count\"}"]);
    // An activation of the handler arms its queue; the last one at the last frame.
    let arms = of("i 1 0 arm 0x400");
    assert_eq!(arms.last(), Some(&"i 1 0 arm 0x400 {\"index\":9}"));
    assert_eq!(
        [of("B 1 0 ").len(), of("E 1 0 ").len()],
        [arms.len(); 2],
        "{events:?}"
    );
}

/// Three frames go to and fro between two programs until one has counted 50 of them.
#[test]
fn two_programs_answer_each_other() {
    let program = build("examples", "counter");
    let [socket, other] = ["link", "other"].map(place);
    // A socket that a program left there when it ended, and no answers of an earlier run.
    let _ = [&socket, &other].map(std::fs::remove_file);
    drop(std::os::unix::net::UnixListener::bind(&socket).expect("a socket"));
    let link = format!("link:path={}", socket.display());
    let mut second = Command::new(&program);
    second
        .arg("1000000")
        .env("DPA_WIRE", format!("{link},out={}", other.display()));
    let mut second = second.spawn().expect("a program");
    // Until it listens.
    let listens = || {
        let own = std::os::unix::net::UnixDatagram::unbound();
        own.and_then(|own| own.connect(&socket)).is_ok()
    };
    while !listens() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let frames = [1, 2, 3].map(|number| frame(number, false));
    let (said, _, sent) = play(Command::new(&program).arg("50"), &link, &frames);
    second.kill().and_then(|()| second.wait()).expect("its end");
    went_to_and_fro(&said, &sent, &other);
    let mut command = Command::new(&program);
    let wire = format!("link:path={}", other.display());
    let refused = command.arg("0").env("DPA_WIRE", wire).status();
    assert_eq!(refused.expect("a program").code(), Some(2));
    assert!(
        other.is_file(),
        "only a socket may be left of another program"
    );
}

/// 50 frames or more went from one program to the other and back.
fn went_to_and_fro(said: &str, sent: &[u8], other: &Path) {
    let count: usize = said
        .split(' ')
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0);
    assert!(count >= 50, "{said}");
    let answers = std::fs::read(other).expect("answers");
    for (sent, swapped) in [(sent, true), (&answers, false)] {
        let right: Vec<_> = (0..45).map(|at| frame(1 + at % 3, swapped)).collect();
        assert!(sent.starts_with(&file(&right)));
    }
}

/// Two programs exchange frames over a veth pair. The test makes it in its own network namespace.
#[test]
fn two_programs_answer_each_other_through_interfaces() {
    const PAIR: &str = "ip link add v0 type veth peer name v1 && \
        ip link set v0 addrgenmode none up && ip link set v1 addrgenmode none up";
    // Until a program has a packet socket there.
    const LISTENS: &str = "until [ $(wc -l < /proc/net/packet) -gt 1 ]; do sleep 0.05; done";
    let apart = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-rn", "sh", "-c", script]);
        command
    };
    let makes_networks = apart(PAIR)
        .output()
        .is_ok_and(|output| output.status.success());
    if !Need::Namespaces.require(makes_networks) {
        return;
    }
    let program = build("examples", "counter");
    let other = place("other");
    let script = format!(
        "{PAIR} && {{ DPA_WIRE=packet:interface=v1,out={} \"$0\" 1000000 & }} && {LISTENS} && \
         \"$0\" 50; status=$?; kill $!; exit $status",
        other.display()
    );
    let frames = [1, 2, 3].map(|number| frame(number, false));
    let (said, _, sent) = play(apart(&script).arg(&program), "packet:interface=v0", &frames);
    went_to_and_fro(&said, &sent, &other);
    // What else this machine sends through the interface, as when it comes up, is not for us.
    let script = format!(
        "{PAIR} && ip link set v0 down addrgenmode eui64 && {{ \"$0\" 1 & }} && {LISTENS} && \
         ip link set v0 up && sleep 0.5 && kill $! && wait $!; test $? = 143"
    );
    run(apart(&script)
        .arg(&program)
        .env("DPA_WIRE", "packet:interface=v0"));
    let mut command = apart("DPA_WIRE=packet:interface=no \"$0\" 0; test $? = 2");
    let errors = text(&run(command.arg(&program)).stderr);
    let why = "dpa: DPA_WIRE=packet:interface=no: no: No such device (os error 19)\n";
    assert_eq!(errors, why);
}

/// Both sides of a comparison answer as many frames, from a file that repeats.
#[test]
fn a_handler_and_a_loop_by_hand_are_timed() {
    let program = build("examples", "rates");
    let frames = [frame(1, false), frame(2, false)];
    let mut command = Command::new(&program);
    let command = command.args(["300", "4", "1"]);
    let (said, errors, answers) = play(command, "pcap:repeat=1", &frames);
    let times: Vec<f64> = said.split_whitespace().flat_map(str::parse).collect();
    assert!(
        times.len() == 2 && times.iter().all(|&time| time > 0.0),
        "{said}"
    );
    assert_eq!(errors, "");
    // The handler goes on while the loop begins.
    let right: Vec<_> = (0..300).map(|at| frame(1 + at % 2, true)).collect();
    assert!(
        answers.starts_with(&file(&right)),
        "answers in the file's order"
    );
    assert!(
        answers.len() >= 2 * file(&right).len() - 24,
        "{}",
        answers.len()
    );
}

/// The page's commands, with a prefix and a file of frames.
#[test]
fn the_page_s_commands_count_its_frames() {
    let page = include_str!("../../../docs/flexio.md");
    let lines = page
        .lines()
        .skip_while(|line| *line != "## A handler that counts packets");
    let block = lines.skip_while(|line| !line.starts_with("    "));
    let block: Vec<_> = block.take_while(|line| line.starts_with("    ")).collect();
    let folder = prefix().join("page");
    std::fs::create_dir_all(&folder).expect("a folder");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("the target folder");
    // The commands name files of the repository and of the reader's folder.
    let script = block.join("\n").replace(
        "port/emulator",
        &format!("{}/port/emulator", root.display()),
    );
    let script = script.replace("PREFIX", &folder.join("prefix").display().to_string());
    let mut shell = Command::new("sh");
    shell
        .args(["-euc", &script])
        .current_dir(&folder)
        .env("CARGO", env!("CARGO"));
    let ran = run(shell
        .env("CARGO_PROFILE", "dev")
        .env("CARGO_TARGET_DIR", target));
    // Number N has 60 + N % 90 bytes, and its number behind addresses and type.
    let frame = |number: usize, (to, from): (u8, u8)| {
        let mut frame = [[2, 0, 0, 0, 0, to], [2, 0, 0, 0, 0, from]].concat();
        frame.extend([0x88, 0xb5]);
        frame.extend(format!("{number:08}").as_bytes());
        frame.resize(60 + number % 90, b'0');
        frame
    };
    let frames = |ends| {
        file(
            &(0..500)
                .map(|number| frame(number, ends))
                .collect::<Vec<_>>(),
        )
    };
    let bytes: usize = (0..500).map(|number| 60 + number % 90).sum();
    assert_eq!(text(&ran.stdout), format!("500 frames, {bytes} bytes\n"));
    let read = |name: &str| std::fs::read(folder.join(name)).expect("a file of frames");
    assert!(read("frames.pcap") == frames((1, 2)));
    assert!(read("answers.pcap") == frames((2, 1)));
}
