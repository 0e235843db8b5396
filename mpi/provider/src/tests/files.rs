//! Statistics and order logs of a test's messages.

use std::fs;
use std::path::PathBuf;

use std::ptr::null_mut;

use dpa_model::{Footprint, NicConfig};
use dpamatch::registry::find;

use super::side::{Side, call, pair, pattern};
use crate::bindings::*;
use crate::options::ProviderOptions;

/// The bits that every receive of MPICH ignores.
const IGNORED: u64 = 0x00c0_0000_0000_0000;

/// A folder that goes with this value.
pub(crate) struct Folder(pub(crate) PathBuf, #[expect(dead_code)] tempfile::TempDir);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = tempfile::Builder::new().prefix(name).tempdir();
        let folder = folder.expect("a folder");
        Self(folder.path().into(), folder)
    }

    /// The text of the one file with this ending and these words.
    pub(super) fn only(&self, ending: &str, words: &str) -> String {
        let entries = fs::read_dir(&self.0)
            .expect("a folder")
            .map(|entry| entry.expect("a file"));
        let files = entries.filter(|file| file.file_name().to_string_lossy().ends_with(ending));
        let texts = files.map(|file| fs::read_to_string(file.path()).expect("text"));
        let mut found: Vec<_> = texts.filter(|text| text.contains(words)).collect();
        assert_eq!(found.len(), 1, "{words} in files {ending}");
        found.remove(0)
    }
}

/// The logs of a hanging program are complete, although it closes no endpoint.
#[test]
fn the_log_of_a_program_that_hangs_is_whole() {
    let folder = Folder::new("hangs");
    let (a, b, to_b, to_a) = pair(|options| {
        options.log = Some(folder.0.clone());
        options.matching.nic.options.log_order = true;
    });
    let (mut here, mut never) = ([0; 1], [0; 1]);
    assert_eq!(b.receive(&mut here, to_a, (5, 0), 1), 0);
    a.send_now(b"x", to_b, 5, 0);
    assert_eq!(b.wait(&[&a]).context(), 1);
    assert_eq!(b.receive(&mut never, to_a, (6, 0), 2), 0);
    a.send_now(b"y", to_b, 7, 0);
    (0..200).for_each(|_| b.progress());
    std::thread::sleep(std::time::Duration::from_millis(150));
    (0..200).for_each(|_| b.progress());
    let events = folder.only(".events", "arrive");
    let lines: Vec<_> = events
        .lines()
        .map(|line| line.split(",t=").next())
        .collect();
    for line in [
        "post,0,0,0,5,size=1",
        "arrive,0,0,0,5,bytes=1",
        "post,1,0,0,6,size=1",
    ] {
        assert!(lines.contains(&Some(line)), "no {line} in {events}");
    }
    assert!(
        lines.contains(&Some("arrive,1,0,0,7,bytes=1")) && events.ends_with('\n'),
        "{events}"
    );
    assert!(
        events.contains("# peer 0: ") && events.contains("# communicator 0: "),
        "{events}"
    );
    assert_eq!(folder.only(".results", "matched"), "matched,0,0\n");
    assert_eq!([b.cancel(2), b.cancel(2)], [0, -(FI_ENOENT as isize)]);
    assert_eq!(b.wait(&[]).err, FI_ECANCELED);
}

/// Every number of both ends, from counts that all differ.
#[test]
fn each_number_of_the_statistics_is_exact() {
    let folder = Folder::new("numbers");
    let open = |engine| {
        Side::open(|options| {
            options.stats = Some(folder.0.clone());
            options.read_peers = false;
            options.engine = engine;
        })
    };
    let [a, b, c] = [None, None, find("list")].map(open);
    let [a_to_b, c_to_b] = [&a, &c].map(|side| side.insert(&b.name()));
    b.insert(&a.name());
    let user = |tag: u64| 6 << 31 | tag;
    let long = [pattern(1, 70_000), pattern(2, 80_000)];
    let mut buffers = vec![vec![0; 80_000]; 16];
    let mut buffers = buffers.iter_mut();
    let mut post = |tag: u64, context: usize| {
        let buffer = buffers.next().expect("a buffer");
        assert_eq!(
            b.receive(buffer, FI_ADDR_UNSPEC, (user(tag), IGNORED), context),
            0
        );
    };
    // Five receives wait: three take messages, two are cancelled.
    (0..5).for_each(|context| post(3, context));
    for (context, length) in (0..3).zip([10, 11, 12]) {
        a.send_now(&pattern(context, length), a_to_b, user(3), 0);
        assert_eq!(b.wait(&[&a]).entry.len, length);
    }
    for context in [4, 3] {
        assert_eq!((b.cancel(context), b.wait(&[]).err), (0, FI_ECANCELED));
    }
    // Eight messages wait, one of them at its sender; five are received, two have been seen.
    (0..7).for_each(|at| a.send_now(&pattern(at, 100 + at), a_to_b, user(4), 0));
    c.send_now(&long[0], c_to_b, user(5), 0);
    (0..200).for_each(|_| b.progress());
    for (tag, err) in [
        (9, FI_ENOMSG),
        (4, 0),
        (9, FI_ENOMSG),
        (5, 0),
        (9, FI_ENOMSG),
    ] {
        b.receive_flagged(&mut [], (user(tag), IGNORED), 50, FI_PEEK);
        assert_eq!(b.wait(&[]).err, err);
    }
    for (context, tag) in [(20, 4), (21, 5), (22, 4), (23, 4), (24, 4)] {
        post(tag, context);
        assert_eq!(b.wait(&[&a, &c]).context(), context);
    }
    post(8, 30);
    c.send_now(&long[1], c_to_b, user(8), 0);
    assert_eq!(b.wait(&[&c]).entry.len, 80_000);
    let mut untagged = [0_u8; 9];
    let (start, any) = (untagged.as_mut_ptr().cast(), FI_ADDR_UNSPEC);
    // SAFETY: the buffer lives until the receive is over; an injected one is free on return.
    unsafe {
        assert_eq!(
            call!(b.ep, msg, recv, start, 9, null_mut(), any, 40 as *mut _),
            0
        );
        assert_eq!(
            call!(a.ep, msg, inject, b"untagged!".as_ptr().cast(), 9, a_to_b),
            0
        );
    }
    assert_eq!((b.wait(&[&a]).context(), &untagged), (40, b"untagged!"));
    drop((a, b, c));

    // What depends on the block that a message came in is left out.
    let matched = [
        "messages",
        "posts",
        "posts_late",
        "posts_admitted",
        "cancelled",
    ];
    let numbers = |words: &str| {
        let text = folder.only(".json", words);
        let lines = text
            .lines()
            .map(|line| line.trim().trim_end_matches(',').replace('"', ""));
        let told = lines.filter(|line| {
            let Some((name, value)) = line.split_once(": ") else {
                return false;
            };
            let named = name
                .strip_prefix("matcher_")
                .is_none_or(|name| matched.contains(&name));
            named && value.parse().is_ok_and(|value: u64| value > 0) && name != "pid"
        });
        let told: Vec<_> = told.collect();
        let mut names: Vec<_> = text
            .lines()
            .filter_map(|line| line.split('"').nth(1))
            .collect();
        names.retain(|name| name.starts_with("matcher_"));
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "two counters have one name: {text}");
        let pid = format!("\"pid\": {}", std::process::id());
        assert!(
            text.contains("\"closed\": true") && text.contains(&pid),
            "{text}"
        );
        let engine = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("\"engine\": "));
        format!("{} {}", engine.expect("an engine"), told.join(", "))
    };
    let nic = NicConfig {
        bins: 256,
        ..ProviderOptions::of_nothing().matching.nic
    };
    let nic_name = "\"optimistic\",";
    let memory = format!("nic_memory_bytes: {}", Footprint::new(&nic).nic_bytes());
    let received = "peers: 2, received: 10, received_bytes: 150448, received_untagged: 1, \
                    received_late: 5, transfers_in_pieces: 2, peeks: 5, peeks_empty: 3, \
                    cancels: 2, posted_high: 5, unexpected_high: 8, rule_changes: 1";
    let matched = "contexts: 1, matcher_messages: 12, matcher_posts: 11, matcher_posts_late: 5, \
                   matcher_posts_admitted: 6, matcher_cancelled: 2";
    assert_eq!(
        numbers("\"received\": 10,"),
        format!("{nic_name} {received}, {memory}, {matched}")
    );
    let sent = format!("{nic_name} peers: 1, sent: 11, sent_bytes: 763, {memory}");
    assert_eq!(numbers("\"sent\": 11,"), sent);
    let sent = "\"list\", peers: 1, sent: 2, sent_bytes: 150000, sent_rendezvous: 2";
    assert_eq!(numbers("\"sent\": 2,"), sent);
}

/// A message that a probe has taken waits in no queue: those after it do not make the queue longer
/// than it was.
#[test]
fn a_message_that_a_probe_took_is_in_no_queue() {
    let folder = Folder::new("taken");
    let (a, b, to_b, _) = pair(|options| options.stats = Some(folder.0.clone()));
    let (bits, mut buffer) = (6 << 31 | 5, [0; 1]);
    for round in 0..3 {
        for text in [b"x", b"y"] {
            a.send_now(text, to_b, bits, 0);
        }
        (0..200).for_each(|_| b.progress());
        for text in [b"x", b"y"] {
            for flags in [FI_PEEK | FI_CLAIM, FI_CLAIM] {
                let got = b.receive_flagged(&mut buffer, (bits, IGNORED), 7, flags);
                assert_eq!((got, b.wait(&[]).err), (0, 0), "round {round}");
            }
            assert_eq!(&buffer, text);
        }
    }
    drop((a, b));
    let text = folder.only(".json", "\"received\": 6,");
    let depths = text.matches("\"unexpected_high\": 2").count();
    // Of the endpoint, of the user's communicators, and of the one communicator.
    assert_eq!(
        (depths, text.matches("\"unexpected_high\": 3").count()),
        (3, 0),
        "{text}"
    );
}

/// What waits, entry by entry, the oldest first, and what receives with wildcards took.
#[test]
fn what_waits_is_told() {
    let folder = Folder::new("waits");
    let (a, b, to_b, to_a) = pair(|options| options.stats = Some(folder.0.clone()));
    let (user, collective, any_tag) = (6 << 31, 7 << 31, IGNORED | 0x7fff_ffff);
    let (any, long) = (FI_ADDR_UNSPEC, pattern(1, 70_000));
    let mut buffers = vec![vec![0; 100]; 320];
    let mut buffers = buffers.iter_mut();
    let mut post = |bits: u64, ignore: u64, from: u64, room: usize| {
        let buffer = &mut buffers.next().expect("a buffer")[..room];
        assert_eq!(b.receive(buffer, from, (bits, ignore), room), 0);
    };
    for (ignore, from, tag) in [(IGNORED, any, 1), (any_tag, to_a, 2), (any_tag, any, 3)] {
        post(user | tag, ignore, from, 8);
        a.send_now(b"x", to_b, user | tag, 0);
        assert_eq!(b.wait(&[&a]).context(), 8);
    }
    post(user | 11, IGNORED, to_a, 33);
    // An answer to a synchronous send.
    post(user | 12 | 1 << 51, IGNORED, to_a, 0);
    post(8 << 31, any_tag, any, 44);
    a.send_now(b"five.", to_b, user | 21, 0);
    a.send_now(b"sixth.", to_b, collective | 22, 0);
    assert_eq!(b.send(&long, to_a, user | 31, 9), 0);
    let (start, untagged) = (long.as_ptr().cast(), long.len() - 1);
    // SAFETY: the buffer lives until the end.
    let sent = unsafe {
        call!(
            b.ep,
            msg,
            send,
            start,
            untagged,
            null_mut(),
            to_a,
            8 as *mut _
        )
    };
    assert_eq!(sent, 0);
    (0..200).for_each(|_| b.progress());
    let pause = || std::thread::sleep(std::time::Duration::from_millis(40));
    pause();
    post(user | 13, IGNORED, to_a, 55);
    let probe = |tag| {
        assert_eq!(
            b.receive_flagged(&mut [], (user | tag, IGNORED), 7, FI_PEEK),
            0
        )
    };
    [40, 41].into_iter().for_each(probe);
    pause();
    probe(41);
    pause();
    let ask = |bytes: &str| {
        fs::write(folder.0.join("ask"), bytes).expect("a request");
        (0..300).for_each(|_| b.progress());
        let text = folder.only(".json", "\"received\": 3,");
        let requests = format!("\"requests\": {},", bytes.len());
        assert!(
            text.contains("\"closed\": false") && text.contains(&requests),
            "{text}"
        );
        let files = fs::read_dir(&folder.0).expect("a folder").flatten();
        let mut names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        assert!(names.all(|name| !name.ends_with(".unfinished")));
        text
    };
    let text = ask("?");
    let number = |line: &str, name: &str| -> u64 {
        let rest = line
            .split_once(&format!("\"{name}\": "))
            .expect("a number")
            .1;
        rest.split([' ', ','])
            .next()
            .and_then(|n| n.parse().ok())
            .expect("a number")
    };
    let name = a.name();
    let of_a = format!(
        "{:08x}",
        u32::from_be_bytes([name[28], name[29], name[30], name[31]])
    );
    let (mut ages, mut told) = (Vec::new(), String::new());
    let totals = text.split("\"closed\"").nth(1).expect("totals");
    told += &totals
        .split("\"nic_memory")
        .next()
        .expect("a number")
        .replace('"', "");
    // By kind and by communicator, up to the depths, which have times.
    let counts = text.split("\"library\"").nth(1).expect("a library");
    let counts = counts.split(",\n  \"depth\"").next().expect("depths");
    told += &format!("library{}\n", counts.replace('"', ""));
    for line in text.lines().filter(|line| line.contains("\"age_ms\"")) {
        ages.push(number(line, "age_ms"));
        let (entry, _) = line.trim().split_once(", \"age_ms\"").expect("an age");
        told += &format!("{}\n", entry.replace(&of_a, "a").replace('"', ""));
    }
    assert_eq!(told, include_str!("waits.txt"));
    // The fourth receive came after a pause. The clock goes by steps of 4 ms.
    const STEPS_MS: u64 = 8;
    let idle = number(&text, "idle_ms");
    assert!(idle >= 30 && idle <= ages[3] + STEPS_MS, "{idle}, {ages:?}");
    // Since the first such probe.
    assert!(ages.pop().is_some_and(|age| age + STEPS_MS >= idle + 30));
    let others = ages.iter().enumerate().filter(|(at, _)| *at != 3);
    let older = |(_, age): (usize, &u64)| *age + STEPS_MS >= ages[3] + 30;
    assert!(others.clone().count() == 9 && others.clone().all(older));
    for (name, count) in [("receives", 4), ("messages", 2), ("sends", 1)] {
        assert_eq!(
            number(&text[text.find("waiting").expect("waits")..], name),
            count,
            "{name}"
        );
    }
    // The file lists at most 256 entries. One of them is the answer to a request.
    let (mut posted, mut text) = (4, String::new());
    for (request, receives, told) in [("??", 255, 255), ("???", 256, 256), ("????", 304, 256)] {
        (posted..receives).for_each(|tag| post(user | (100 + tag), IGNORED, to_a, 1));
        posted = receives;
        text = ask(request);
        let entries = text.matches("\"what\": \"receive\"").count();
        assert_eq!(entries, told - 1, "of {receives}, and one answer");
    }
    assert!(
        text.contains("\"waiting\": { \"receives\": 304, "),
        "{text}"
    );
    assert!(text.contains("\"posted_high\": 304,"), "{text}");
    assert!(
        !text.contains("\"probe\", "),
        "who goes on does not wait for it: {text}"
    );
}
