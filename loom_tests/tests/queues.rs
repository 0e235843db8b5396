//! The three rings by themselves, full and empty: completion queue (O20), completion ring, command
//! queue.
#![cfg(dpamatch_loom)]

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use dpa_model::{CommId, Data, Drain, Event, NicConfig, Options, SendError, Sender, Wait};
use loom_tests::race::{Ends, Parts, Role, act, build, lead, model, post_one, run, send_one};
use loom_tests::stream::{envelope, payload, selector, tiny};

const LENGTH: usize = 8;

/// One handler and one queue for all senders.
fn alone(completion_queue: usize) -> NicConfig {
    let tiny = tiny(1, 1, Options::default());
    NicConfig {
        completion_queues: 1,
        completion_queue,
        completion_ring: 16,
        ..tiny
    }
}

/// Posts receives for any source before the other roles start.
fn post_first(parts: &mut Parts, count: usize) -> Ends {
    let any = selector(None, Some(7));
    let posted = (0..count).map(|_| post_one(&mut parts.host, any)).collect();
    parts.leader.round(1);
    Ends {
        posted,
        ..Ends::default()
    }
}

/// Sends `count` numbered messages from this source, then leaves.
fn send(sender: ManuallyDrop<Sender>, source: u32, count: u64, length: usize) -> Role {
    act(move || {
        let mut sender = sender;
        for number in 0..count {
            sender
                .send(envelope(0, source, 7), &payload(number, length))
                .expect("the NIC runs");
        }
        drop(ManuallyDrop::into_inner(sender));
    })
}

/// Checks that each source's messages arrived complete and in order.
fn in_order(events: &[Event], sources: usize, each: u64) {
    let mut next = vec![0; sources];
    for event in events {
        if let Event::Received {
            buffer, message, ..
        } = event
        {
            let next = &mut next[message.envelope.source.get() as usize];
            let length = message.length as usize;
            assert_eq!(
                buffer[..length],
                payload(*next, length),
                "lost, doubled or overtaken"
            );
            *next += 1;
        }
    }
    assert_eq!(next, vec![each; sources]);
}

fn finish(
    mut ends: Ends,
    host: ManuallyDrop<dpa_model::HostPort>,
    setup: Ends,
    paths: &loom_tests::paths::Paths,
) -> Ends {
    ends.host = Some(host);
    ends.posted = setup.posted;
    ends.read();
    if let Some(leader) = &ends.leader {
        paths.add(&leader.monitor().counts());
    }
    ends
}

/// One sender, and more messages than its queue holds.
fn goes_round(name: &str, bound: usize, config: NicConfig, length: usize) {
    model(
        name,
        2,
        Some(bound),
        &["send_queue_full", "in_order"],
        &[],
        move |rotation, paths| {
            let mut parts = build(config);
            let setup = post_first(&mut parts, 5);
            let roles = vec![
                lead(parts.leader, 1, |counts| counts.handlers.messages == 5),
                send(parts.sender, 0, 5, length),
            ];
            let ends = finish(run(roles, rotation), parts.host, setup, paths);
            in_order(&ends.events, 1, 5);
        },
    );
}

#[test]
fn completion_queue_goes_round() {
    goes_round("queues/completion queue, wrap-around", 4, alone(2), LENGTH);
}

/// This many queues; further senders share the last.
fn several(completion_queues: usize) -> NicConfig {
    NicConfig {
        completion_queues,
        ..alone(2)
    }
}

#[test]
fn an_own_queue_goes_round() {
    goes_round("queues/own queue, wrap-around", 3, several(2), LENGTH);
}

/// Copied in the sender's loop: into the entry in two parts, and into a bounce buffer.
#[test]
fn an_own_queue_carries_longer_messages() {
    goes_round("queues/own queue, parts of an entry", 2, several(2), 12);
    let config = NicConfig {
        handlers: 2,
        bounce_buffers: 2,
        ..several(2)
    };
    goes_round("queues/own queue, bounce buffers", 2, config, 30);
}

fn received_in(events: &[Event]) -> usize {
    events
        .iter()
        .filter(|event| matches!(event, Event::Received { .. }))
        .count()
}

/// What the host reads as consumed it can poll, and what was sent before a snapshot is in it.
#[test]
fn the_host_sees_how_far_the_nic_is() {
    let expected = ["none received", "one received", "both received"];
    model(
        "queues/how far the NIC is",
        3,
        Some(1),
        &expected,
        &[],
        move |rotation, paths| {
            let mut parts = build(several(2));
            let setup = post_first(&mut parts, 2);
            let mut host = parts.host;
            let look: Role = Box::new(move || {
                let (mut wait, mut events) = (Wait::new(), Vec::new());
                let (sent, dealt_with) = host.arrivals();
                let snapshot = host.sent();
                assert!(dealt_with <= sent && sent <= 2, "{dealt_with} of {sent}");
                while !host.have_arrived(&snapshot) {
                    wait.pause();
                }
                let later = host.arrivals().0;
                let least = if host.is_settled() { later } else { sent };
                while let Some(event) = host.poll() {
                    events.push(event);
                }
                assert!(
                    received_in(&events) as u64 >= least,
                    "consumed, but not to be polled"
                );
                Ends {
                    host: Some(host),
                    events,
                    ..Ends::default()
                }
            });
            let roles = vec![
                lead(parts.leader, 1, |counts| counts.handlers.messages == 2),
                send(parts.sender, 0, 2, LENGTH),
                look,
            ];
            let mut ends = run(roles, rotation);
            paths.note(expected[received_in(&ends.events)]);
            ends.posted = setup.posted;
            ends.read();
            in_order(&ends.events, 1, 2);
        },
    );
}

fn two_senders(name: &str, config: NicConfig, expected: &[&'static str]) {
    model(name, 3, Some(2), expected, &[], move |rotation, paths| {
        let mut parts = build(config);
        let setup = post_first(&mut parts, 4);
        let second = ManuallyDrop::new((*parts.sender).clone());
        let roles = vec![
            lead(parts.leader, 1, |counts| counts.handlers.messages == 4),
            send(parts.sender, 0, 2, LENGTH),
            send(second, 1, 2, LENGTH),
        ];
        let ends = finish(run(roles, rotation), parts.host, setup, paths);
        in_order(&ends.events, 2, 2);
        let first = ends.events.iter().find_map(|event| match event {
            Event::Received { message, .. } => Some(message),
            _ => None,
        });
        let first = first.expect("four messages");
        assert_eq!(
            first.arrival, 0,
            "arrival numbers count the messages of all queues"
        );
        paths.note(FIRST[first.envelope.source.get() as usize]);
    });
}

const FIRST: [&str; 2] = ["the first sender's first", "the second sender's first"];

#[test]
fn two_senders_share_the_queue() {
    two_senders(
        "queues/two senders",
        alone(2),
        &["send_queue_full", FIRST[0], FIRST[1]],
    );
}

#[test]
fn each_sender_has_a_queue() {
    two_senders("queues/a queue for each", several(2), &FIRST);
}

/// Sends a message from a new clone of an idle sender.
fn begin(of: ManuallyDrop<Sender>, source: u32) -> Role {
    Box::new(move || {
        let sender = ManuallyDrop::new((*of).clone());
        send(sender, source, 1, LENGTH)()
    })
}

#[test]
fn a_queue_changes_hands() {
    let expected = ["the left queue", "the shared queue"];
    model(
        "queues/a queue changes hands",
        2,
        None,
        &expected,
        &[],
        move |rotation, paths| {
            let mut parts = build(NicConfig {
                completion_queue: 4,
                ..several(2)
            });
            let setup = post_first(&mut parts, 3);
            let second = ManuallyDrop::new((*parts.sender).clone());
            let roles = vec![send(parts.sender, 0, 2, LENGTH), begin(second, 1)];
            let mut ends = run(roles, rotation);
            while parts.leader.round(1) == dpa_model::Round::Worked {}
            paths.note(expected[usize::from(parts.host.sender().dealt_with() < 3)]);
            ends.leader = Some(parts.leader);
            let ends = finish(ends, parts.host, setup, paths);
            received(&ends, [2, 1]);
        },
    );
}

#[test]
fn two_senders_begin() {
    model(
        "queues/two begin",
        2,
        None,
        &["in_order"],
        &[],
        |rotation, paths| {
            let mut parts = build(NicConfig {
                completion_queue: 4,
                ..several(3)
            });
            let setup = post_first(&mut parts, 2);
            // The second of three senders leaves.
            let second = (*parts.sender).clone();
            let third = ManuallyDrop::new((*parts.sender).clone());
            drop(second);
            let roles = vec![begin(parts.sender, 0), begin(third, 1)];
            let mut ends = run(roles, rotation);
            while parts.leader.round(1) == dpa_model::Round::Worked {}
            ends.leader = Some(parts.leader);
            let ends = finish(ends, parts.host, setup, paths);
            received(&ends, [1, 1]);
        },
    );
}

/// Checks the number of messages per source.
fn received(ends: &Ends, expected: [usize; 2]) {
    let mut each = [0; 2];
    for event in &ends.events {
        if let Event::Received { message, .. } = event {
            each[message.envelope.source.get() as usize] += 1;
        }
    }
    assert_eq!(each, expected, "two senders claimed one position");
}

#[test]
fn bounce_buffers_come_back() {
    model(
        "queues/bounce buffers",
        2,
        None,
        &["send_no_bounce_buffer"],
        &[],
        |rotation, paths| {
            let mut parts = build(alone(2));
            let setup = post_first(&mut parts, 3);
            let roles = vec![
                lead(parts.leader, 1, |counts| counts.handlers.messages == 3),
                send(parts.sender, 0, 3, 32),
            ];
            let ends = finish(run(roles, rotation), parts.host, setup, paths);
            in_order(&ends.events, 1, 3);
        },
    );
}

#[test]
fn completion_ring_full_and_empty() {
    model(
        "queues/completion ring",
        2,
        None,
        &["ring_full"],
        &[],
        |rotation, paths| {
            let mut parts = build(NicConfig {
                completion_ring: 2,
                ..alone(4)
            });
            let mut posted = 0;
            while posted < 4 {
                // One at a time, since the small ring holds each answer.
                posted += post_first(&mut parts, 1).posted.len();
                while parts.host.poll().is_some() {}
            }
            for number in 0..4 {
                send_one(&mut parts.sender, 0, number);
            }
            let mut host = parts.host;
            let read: Role = Box::new(move || {
                let mut events = Vec::new();
                let mut wait = Wait::new();
                while events.len() < 4 {
                    match host.poll() {
                        Some(event @ Event::Received { .. }) => events.push(event),
                        Some(other) => panic!("unexpected event {other:?}"),
                        None => wait.pause(),
                    }
                }
                Ends {
                    host: Some(host),
                    events,
                    ..Ends::default()
                }
            });
            let ends = run(
                vec![
                    lead(parts.leader, 1, |counts| counts.handlers.messages == 4),
                    read,
                ],
                rotation,
            );
            paths.add(
                &ends
                    .leader
                    .as_ref()
                    .expect("the leader ended")
                    .monitor()
                    .counts(),
            );
            in_order(&ends.events, 1, 4);
        },
    );
}

#[test]
fn command_queue_full_and_empty() {
    let expected = ["command queue full", "posts_admitted"];
    model(
        "queues/command queue",
        2,
        None,
        &expected,
        &[],
        |rotation, paths| {
            let parts = build(NicConfig {
                command_queue: 2,
                ..alone(2)
            });
            let mut host = parts.host;
            let full = Arc::new(AtomicBool::new(false));
            let note = Arc::clone(&full);
            let post: Role = Box::new(move || {
                let mut posted = Vec::new();
                for tag in 0..4 {
                    let selector = selector(Some(0), Some(tag));
                    let mut buffer = vec![0xFF; 64];
                    let mut wait = Wait::new();
                    loop {
                        match host.post(CommId(0), selector, buffer, 0) {
                            Ok(request) => break posted.push((request, selector)),
                            Err((_, back)) => {
                                note.store(true, Relaxed);
                                buffer = back;
                                wait.pause();
                            }
                        }
                    }
                }
                Ends {
                    host: Some(host),
                    posted,
                    ..Ends::default()
                }
            });
            let roles = vec![
                lead(parts.leader, 1, |counts| counts.boundary.posts == 4),
                post,
            ];
            let ends = run(roles, rotation);
            if full.load(Relaxed) {
                paths.note("command queue full");
            }
            assert_eq!(ends.replay(paths), (4, 0));
        },
    );
}

/// A sender learns that the drain is gone, and what the drain has not taken stays untaken.
#[test]
fn a_drain_ends() {
    let expected = ["none sent", "one sent", "two sent"];
    model(
        "queues/a drain's end",
        2,
        None,
        &expected,
        &[],
        move |rotation, paths| {
            let parts = build(alone(2));
            let mut drain = Drain::new(*ManuallyDrop::into_inner(parts.leader));
            let end = act(move || {
                let taken = drain.next(|envelope, _| envelope.source.get());
                assert!(taken.is_none_or(|source| source == 0));
                drop(drain);
            });
            let sent = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&sent);
            let mut sender = parts.sender;
            let send = act(move || {
                let mut number = 0;
                let error = loop {
                    match sender.send(envelope(0, 0, 7), &payload(number, LENGTH)) {
                        Ok(()) => number += 1,
                        Err(error) => break error,
                    }
                };
                assert_eq!(error, SendError::Stopped);
                count.store(number as usize, Relaxed);
            });
            run(vec![end, send], rotation);
            paths.note(expected[sent.load(Relaxed).min(2)]);
        },
    );
}

#[test]
fn a_drain_empties_the_queue() {
    let expected = ["the sender waited"];
    model(
        "queues/drain",
        2,
        None,
        &expected,
        &[],
        move |rotation, paths| {
            let parts = build(NicConfig {
                eager_limit: 32,
                ..alone(2)
            });
            let monitor = parts.leader.monitor();
            let mut drain = Drain::new(*ManuallyDrop::into_inner(parts.leader));
            let take = act(move || {
                let (mut next, mut wait) = (0, Wait::new());
                while next < 3 {
                    let taken = drain.next(|envelope, data| {
                        let Data::Eager(bytes) = data else {
                            panic!("sent eagerly")
                        };
                        assert_eq!((envelope.tag.get(), bytes), (7, &payload(next, 32)[..]));
                    });
                    match taken {
                        Some(()) => next += 1,
                        None => wait.pause(),
                    }
                }
                std::mem::forget(drain);
            });
            run(vec![take, send(parts.sender, 0, 3, 32)], rotation);
            if monitor.counts().send_no_bounce_buffer > 0 {
                paths.note(expected[0]);
            }
        },
    );
}
