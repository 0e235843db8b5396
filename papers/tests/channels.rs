//! Channels that carry messages: three channels, one matcher, and the order of each sender.
#![cfg(target_os = "linux")]

#[path = "../../tests/watchdog/mod.rs"]
mod watchdog;

use dpamatch::endpoint::{LogEntry, replay};
use dpamatch::engine::Oracle;
use dpamatch::{NicConfig, Options, Rank, SourceSel, Tag, TagSel};
use dpamatch_papers::channels::real::{ProgressEngine, RealBursts, Request, discover_by_threads};
use dpamatch_papers::channels::{Channel, PolicySpec, PollCosts};

const THRESHOLD: usize = 512;
/// The longest message that a receive takes.
const ROOM: usize = 700;

fn rank(number: u32) -> Rank {
    Rank::new(number).expect("a rank")
}

fn tag(number: u32) -> Tag {
    Tag::new(number).expect("a tag")
}

fn engine(spec: PolicySpec) -> ProgressEngine {
    let nic = NicConfig {
        // Few bounce buffers, so that the matcher has no room at times.
        bounce_buffers: 16,
        options: Options {
            log_order: true,
            ..Options::default()
        },
        ..NicConfig::default()
    };
    ProgressEngine::new(nic, spec.build(&PollCosts::default())).expect("an engine")
}

/// The message number `i` of a sender: every third from the node is long enough for the kernel.
fn payload(sender: u32, i: u32) -> Vec<u8> {
    let length = match i % 3 {
        0 => THRESHOLD + (i % 300) as usize,
        1 => 8 + (i % 50) as usize,
        _ => 0,
    };
    (0..length as u32)
        .map(|at| (sender + i * 7 + at) as u8)
        .collect()
}

/// Two processes of the node and two of other nodes send by three channels. Each message arrives
/// once, whole or cut to its receive, in the order of its sender; the oracle, fed the order in
/// which the messages came to the matcher, gives the same pairs.
#[test]
fn one_matcher_gets_all_channels_in_the_order_of_each_sender() {
    const MESSAGES: u32 = 300;
    let _watched = watchdog::on("messages by three channels");
    for spec in PolicySpec::USUAL {
        let mut engine = engine(spec);
        let locals = [1, 2].map(|n| (n, engine.add_local(rank(n), Some(THRESHOLD)).expect("one")));
        let remotes = [3, 4].map(|n| (n, engine.add_remote(rank(n)).expect("one")));
        let (seen, log, polls) = std::thread::scope(|scope| {
            // Here, so that a failure ends it, and with it the senders.
            let mut engine = engine;
            let (mut seen, mut log) = ([0_u32; 5], Vec::new());
            for (number, mut peer) in locals {
                scope.spawn(move || {
                    for i in 0..MESSAGES {
                        peer.send(tag(i), payload(number, i)).expect("sent");
                    }
                });
            }
            // One thread for both, since there may be few processors.
            scope.spawn(move || {
                let mut remotes = remotes;
                for i in 0..MESSAGES {
                    for (number, peer) in &mut remotes {
                        peer.send(tag(i), &payload(*number, i)).expect("sent");
                    }
                }
            });
            let mut posted: Vec<(Request, u32)> = Vec::new();
            let (mut posts, mut received) = (0, 0);
            while received < 4 * MESSAGES {
                // Some from anybody, some from one sender, at most seven at a time.
                if posted.len() < 7 && posts < 4 * MESSAGES {
                    let only = (posts % 5) * u32::from(posts < 3 * MESSAGES);
                    let source = match only {
                        0 => SourceSel::Any,
                        number => SourceSel::Rank(rank(number)),
                    };
                    let request = engine.post(source, TagSel::Any, ROOM, Vec::new());
                    posted.push((request.expect("posted"), only));
                    posts += 1;
                }
                if !engine.progress().expect("sound channels") {
                    std::thread::yield_now();
                }
                posted.retain_mut(|(request, only)| {
                    let Some(message) = engine.test(request) else {
                        return true;
                    };
                    let message = message.expect("a message");
                    let number = message.status.source.get();
                    assert!([0, number].contains(only), "{spec}");
                    let sent = payload(number, message.status.tag.get());
                    assert_eq!(message.sent, sent.len(), "{spec}");
                    let length = sent.len().min(ROOM);
                    assert_eq!(message.bytes(), &sent[..length], "{spec}");
                    seen[number as usize] += 1;
                    received += 1;
                    false
                });
                engine.drain_order_log(&mut log);
            }
            (seen, log, engine.polls())
        });
        assert_eq!(seen, [0, MESSAGES, MESSAGES, MESSAGES, MESSAGES], "{spec}");
        let mut next = [0; 5];
        for entry in &log {
            if let LogEntry::Arrive { envelope, .. } = entry {
                let next = &mut next[envelope.source.get() as usize];
                assert_eq!(envelope.tag, tag(*next), "{spec}: {envelope:?}");
                *next += 1;
            }
        }
        assert_eq!(next, seen, "{spec}");
        replay(&mut Oracle::new(), &log).expect("the oracle's pairs");
        let [shared, kernel, network] = polls;
        assert_eq!(
            [shared.messages, kernel.messages, network.messages],
            [2 * 200, 2 * 100, 2 * 300],
            "{spec}"
        );
    }
}

/// Empty polls of shared memory and of the network in `turns` turns.
fn turns(engine: &mut ProgressEngine, turns: u32) -> [u64; 2] {
    let empty = |engine: &ProgressEngine| {
        let [shared, kernel, network] = engine.polls();
        assert_eq!(kernel.all(), 0, "nothing is expected from there");
        [shared.empty, network.empty]
    };
    let before = empty(engine);
    for _ in 0..turns {
        assert!(!engine.progress().expect("sound"));
    }
    let after = empty(engine);
    [after[0] - before[0], after[1] - before[1]]
}

#[test]
fn the_engine_polls_as_its_policy_says() {
    for (spec, polls) in [
        (PolicySpec::RoundRobin, [30, 30]),
        (PolicySpec::Static(3), [45, 15]),
        (PolicySpec::Static(50), [59, 1]),
        (PolicySpec::Dynamic(4), [30, 30]),
    ] {
        let mut engine = engine(spec);
        assert_eq!(turns(&mut engine, 60), polls, "{spec}");
    }
    // Three of four messages by shared memory: from now on 3 / 1 + 1 polls there for each other.
    let mut engine = engine(PolicySpec::Dynamic(4));
    let mut local = engine.add_local(rank(1), None).expect("one");
    let mut remote = engine.add_remote(rank(2)).expect("one");
    for number in 0..3 {
        local.send(tag(number), vec![1; 8]).expect("sent");
    }
    remote.send(tag(0), &[2; 8]).expect("sent");
    while engine.polls().iter().map(|it| it.messages).sum::<u64>() < 4 {
        engine.progress().expect("sound");
    }
    assert_eq!(turns(&mut engine, 50), [40, 10]);
}

#[test]
fn the_kernel_is_left_alone_until_a_message_is_expected_from_it() {
    let mut engine = engine(PolicySpec::RoundRobin);
    let mut peer = engine.add_local(rank(1), Some(THRESHOLD)).expect("one");
    let _other = engine.add_remote(rank(9)).expect("one");
    let long: Vec<u8> = (0..THRESHOLD as u32).map(|at| at as u8).collect();
    let spare = peer.send(tag(0), long.clone()).expect("announced");
    assert!(spare.is_empty(), "the buffer is on loan");
    let mut from_other = engine
        .post(rank(9), TagSel::Any, 8, Vec::new())
        .expect("posted");
    for _ in 0..100 {
        assert!(!engine.progress().expect("sound"));
    }
    assert_eq!(engine.polls()[1].all(), 0);
    // A shorter buffer gets the beginning.
    let mut request = engine
        .post(SourceSel::Any, TagSel::Any, 40, Vec::new())
        .expect("posted");
    while engine.polls()[1].messages == 0 {
        engine.progress().expect("sound");
    }
    let message = engine
        .test(&mut request)
        .expect("it has ended")
        .expect("one");
    assert_eq!((message.sent, message.bytes()), (THRESHOLD, &long[..40]));
    assert!(!engine.expects_kernel() && engine.test(&mut from_other).is_none());
    peer.flush().expect("the receiver has answered");
}

#[test]
fn a_message_that_came_sooner_waits_for_the_one_in_the_kernel() {
    let mut engine = engine(PolicySpec::RunLength);
    let mut peer = engine.add_local(rank(1), Some(THRESHOLD)).expect("one");
    peer.send(tag(1), vec![1; THRESHOLD]).expect("announced");
    peer.send(tag(2), vec![2; 8]).expect("sent");
    assert!(!engine.poll(Channel::SharedMemory).expect("sound"));
    assert_eq!(engine.polls()[0].early, 1);
    // Nothing is posted, but the earlier message must be known first.
    while engine.polls()[0].messages == 0 {
        engine.progress().expect("sound");
    }
    assert_eq!(engine.polls()[1].messages, 1);
    assert!(!engine.expects_kernel());
    for (number, length) in [(1, THRESHOLD), (2, 8)] {
        let mut request = engine
            .post(SourceSel::Any, TagSel::Any, ROOM, Vec::new())
            .expect("posted");
        let message = loop {
            if let Some(message) = engine.test(&mut request) {
                break message.expect("one");
            }
        };
        assert_eq!(message.status.tag, tag(number));
        assert_eq!(message.bytes(), vec![number as u8; length]);
    }
}

/// A message that is too long for its channel is refused, and the next one arrives.
#[test]
fn a_message_has_at_most_16_mib() {
    let mut engine = engine(PolicySpec::RoundRobin);
    let mut near = engine.add_local(rank(1), None).expect("one");
    let mut far = engine.add_remote(rank(3)).expect("one");
    let long = vec![0; (1 << 24) + 1];
    let refused = near.send(tag(0), long.clone()).expect_err("too long");
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
    let refused = far.send(tag(0), &long).expect_err("too long");
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
    near.send(tag(1), vec![7; 3]).expect("sent");
    far.send(tag(1), &[9; 4]).expect("sent");
    for (source, bytes) in [(1, vec![7; 3]), (3, vec![9; 4])] {
        let mut request = engine
            .post(rank(source), tag(1), 8, Vec::new())
            .expect("posted");
        let message = loop {
            engine.progress().expect("progress");
            if let Some(message) = engine.test(&mut request) {
                break message.expect("one");
            }
        };
        assert_eq!(message.bytes(), bytes);
    }
}

#[test]
fn a_sender_may_end_without_reading_the_answers() {
    let mut engine = engine(PolicySpec::RoundRobin);
    let mut peer = engine.add_local(rank(1), Some(THRESHOLD)).expect("one");
    for number in 0..2 {
        peer.send(tag(number), vec![number as u8; THRESHOLD])
            .expect("announced");
    }
    let mut receive = |number: u32| {
        let request = engine.post(SourceSel::Any, TagSel::Any, ROOM, Vec::new());
        let mut request = request.expect("posted");
        loop {
            engine.progress().expect("sound");
            if let Some(message) = engine.test(&mut request) {
                let message = message.expect("one");
                assert_eq!(message.bytes(), vec![number as u8; THRESHOLD]);
                break;
            }
        }
    };
    receive(0);
    drop(peer);
    receive(1);
    for _ in 0..3 {
        assert!(!engine.poll_kernel().expect("no error"));
    }
}

/// A peer whose receiver is gone fails, and does not wait for ever.
#[test]
fn a_sender_without_receiver_fails() {
    let _watched = watchdog::on("a receiver that is gone");
    let mut engine = engine(PolicySpec::RoundRobin);
    let mut local = engine.add_local(rank(1), Some(THRESHOLD)).expect("one");
    let mut remote = engine.add_remote(rank(2)).expect("one");
    local.send(tag(0), vec![0; THRESHOLD]).expect("announced");
    drop(engine);
    assert!(local.send(tag(0), vec![0; 8]).is_err());
    assert!(local.flush().is_err());
    while remote.send(tag(0), &[0; 4096]).is_ok() {}
}

#[test]
fn bursts_are_measured() {
    let _watched = watchdog::on("bursts of messages");
    for spec in PolicySpec::USUAL {
        let bench = RealBursts { burst: 5, pairs: 3 };
        let found = discover_by_threads(spec.build(&PollCosts::default()), bench).expect("a run");
        assert_eq!(found.messages, 30);
        let [shared, kernel, network] = found.polls;
        assert_eq!((shared.messages, network.messages), (15, 15), "{spec}");
        assert_eq!(kernel.all(), 0, "the peer has no kernel copy");
        assert!(found.shared_ns > 0.0 && found.network_ns > 0.0);
        let mean_ns = (found.shared_ns + found.network_ns) / 2.0;
        assert!((found.mean_ns / mean_ns - 1.0).abs() < 1e-9);
    }
}
