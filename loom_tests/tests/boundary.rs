//! Posts, cancels and arrivals race to the block boundary: the NIC decides the order and loses no
//! message (S12).
#![cfg(dpamatch_loom)]

use dpa_model::{
    CommId, Event, NicConfig, Options, Payload, Round, TwoLists, UnexpectedFull, Wait,
};
use loom_tests::race::{
    Ends, Role, act, build, build_as, lead, lead_until, model, post_one, run, send_one, work,
};
use loom_tests::stream::{envelope, payload, selector, tiny};

fn config(receives: usize) -> NicConfig {
    NicConfig {
        receives,
        ..tiny(1, 1, Options::default())
    }
}

/// Posts receives of tag 7 for these sources, and cancels the first on request.
fn post(
    host: std::mem::ManuallyDrop<dpa_model::HostPort>,
    sources: &'static [Option<u32>],
    cancel: bool,
) -> Role {
    Box::new(move || {
        let mut host = host;
        let mut posted = Vec::new();
        for &source in sources {
            posted.push(post_one(&mut host, selector(source, Some(7))));
        }
        if cancel {
            host.cancel(posted[0].0, 0).expect("room for a command");
        }
        Ends {
            host: Some(host),
            posted,
            ..Ends::default()
        }
    })
}

fn send(sender: std::mem::ManuallyDrop<dpa_model::Sender>, sources: &'static [u32]) -> Role {
    act(move || {
        let mut sender = sender;
        for (number, &source) in (0..).zip(sources) {
            sender
                .send(envelope(0, source, 7), &payload(number, 8))
                .expect("the NIC runs");
        }
    })
}

/// Posts of tag 7 for these sources race to the boundary against messages from these.
fn meet(
    name: &str,
    bound: usize,
    expected: &[&'static str],
    never: &[&'static str],
    config: NicConfig,
    sources: &'static [Option<u32>],
    messages: &'static [u32],
) {
    model(
        name,
        3,
        Some(bound),
        expected,
        never,
        move |rotation, paths| {
            let parts = build(config);
            let roles = vec![
                lead_until(parts.leader, 1, sources.len() as u64, messages.len() as u64),
                post(parts.host, sources, false),
                send(parts.sender, messages),
            ];
            let kept = run(roles, rotation).replay(paths);
            assert_eq!(
                kept,
                (sources.len() - messages.len(), 0),
                "receives and messages left"
            );
        },
    );
}

#[test]
fn a_post_meets_an_arrival() {
    meet(
        "boundary/post against arrival",
        3,
        &["posts_late", "in_order"],
        &[],
        config(4),
        &[Some(0)],
        &[0],
    );
}

#[test]
fn two_posts_meet_two_arrivals() {
    meet(
        "boundary/posts against arrivals",
        2,
        &["posts_late", "in_order", "arrivals_stored"],
        &[],
        config(4),
        &[None, Some(0)],
        &[1, 0],
    );
}

#[test]
fn fallback_keeps_the_order() {
    // One descriptor: the second post goes to the host, and so do later posts and the messages that
    // they would match (S20).
    meet(
        "boundary/fallback",
        2,
        &[
            "fallback_receives",
            "posts_forwarded",
            "arrivals_forwarded",
            "in_order",
        ],
        &[],
        config(1),
        &[Some(0), Some(1), Some(0)],
        &[0, 0],
    );
}

#[test]
fn a_full_store_pushes_back() {
    // Room for one unexpected message and a queue of two, for three messages: senders wait, and no
    // message is lost (S21).
    let options = Options {
        unexpected_full: UnexpectedFull::BackPressure,
        ..Options::default()
    };
    let config = NicConfig {
        unexpected: 1,
        completion_queue: 2,
        options,
        ..config(3)
    };
    meet(
        "boundary/back-pressure",
        2,
        &[
            "unexpected_full",
            "send_queue_full",
            "posts_late",
            "in_order",
        ],
        &["fallback_unexpected", "arrivals_forwarded"],
        config,
        &[Some(0); 3],
        &[0; 3],
    );
}

#[test]
fn a_cancel_meets_an_arrival() {
    let expected = ["cancelled in time", "cancelled too late"];
    model(
        "boundary/cancel against arrival",
        3,
        Some(3),
        &expected,
        &[],
        |rotation, paths| {
            let parts = build(config(4));
            let roles = vec![
                lead(parts.leader, 1, |counts| {
                    counts.boundary.commands == 3 && counts.handlers.messages == 1
                }),
                post(parts.host, &[Some(0)], true),
                send(parts.sender, &[0]),
            ];
            run(roles, rotation).replay(paths);
        },
    );
}

#[test]
fn what_was_posted_before_a_message_was_sent_waits_for_it() {
    // One thread posts, then sends: the receive must never find the message unexpected.
    model(
        "boundary/post, then send",
        2,
        None,
        &["in_order"],
        &["posts_late"],
        |rotation, paths| {
            let parts = build(config(4));
            let (mut host, mut sender) = (parts.host, parts.sender);
            let both: Role = Box::new(move || {
                let posted = vec![post_one(&mut host, selector(Some(0), Some(7)))];
                sender
                    .send(envelope(0, 0, 7), &payload(0, 8))
                    .expect("the NIC runs");
                Ends {
                    host: Some(host),
                    posted,
                    ..Ends::default()
                }
            });
            let roles = vec![lead_until(parts.leader, 1, 1, 1), both];
            run(roles, rotation).replay(paths);
        },
    );
}

#[test]
fn a_receive_is_waited_for_at_the_ring() {
    // The host takes the next result while the leader writes it.
    let expected = ["posts_late", "in_order"];
    model(
        "boundary/post, then wait",
        3,
        Some(2),
        &expected,
        &[],
        |rotation, paths| {
            let parts = build(config(4));
            let mut host = parts.host;
            let post_and_wait: Role = Box::new(move || {
                host.hold_slots();
                let (request, _) = post_one(&mut host, selector(Some(0), Some(7)));
                let mut wait = Wait::new();
                let (buffer, message) = loop {
                    if let Some(taken) = host.take_next(request.slot()) {
                        break taken;
                    }
                    match host.poll() {
                        Some(Event::Received {
                            buffer, message, ..
                        }) => break (buffer, message),
                        Some(_) => wait = Wait::new(),
                        None => wait.pause(),
                    }
                };
                assert_eq!((&buffer[..8], message.arrival), (&payload(0, 8)[..], 0));
                Ends {
                    host: Some(host),
                    ..Ends::default()
                }
            });
            let roles = vec![
                lead_until(parts.leader, 1, 1, 1),
                post_and_wait,
                send(parts.sender, &[0]),
            ];
            assert_eq!(run(roles, rotation).replay(paths), (0, 0));
        },
    );
}

#[test]
fn a_post_during_a_block_waits_for_its_end() {
    // Two workers run a block whose second message walks the whole chain, while the host posts the
    // receive that it looks for.
    let expected = ["posts_late", "arrivals_stored", "shared_blocks"];
    model(
        "boundary/post during a block",
        3,
        Some(2),
        &expected,
        &[],
        |rotation, paths| {
            let mut parts = build(tiny(2, 2, Options::default()));
            let first = post_one(&mut parts.host, selector(Some(0), Some(7)));
            parts.leader.round(1);
            for (arrival, source) in [(0, 0), (1, 1)] {
                send_one(&mut parts.sender, source, arrival);
            }
            let worker = parts.workers.pop().expect("a second worker");
            let roles = vec![
                lead_until(parts.leader, 2, 2, 2),
                work(worker),
                post(parts.host, &[Some(1)], false),
            ];
            let mut ends = run(roles, rotation);
            ends.posted.insert(0, first);
            assert_eq!(ends.replay(paths), (0, 0), "the lost message");
        },
    );
}

#[test]
fn a_fallback_ends_while_messages_arrive() {
    // The host has matched all that the NIC forwarded, offers the communicator back and posts. A
    // message arrives before, between or after; if the NIC forwards it, the offer is void (S20).
    let expected = [
        "resumed",
        "offer void",
        "posts_late",
        "in_order",
        "arrivals_forwarded",
    ];
    model(
        "boundary/end of a fallback",
        3,
        Some(3),
        &expected,
        &[],
        |rotation, paths| {
            let mut parts = build(config(1));
            let one = selector(Some(0), Some(7));
            let posted = [(); 2].map(|()| post_one(&mut parts.host, one));
            parts.leader.round(1);
            for arrival in 0..2 {
                send_one(&mut parts.sender, 0, arrival);
                parts.leader.round(1);
            }
            let mut before = Vec::new();
            while let Some(event) = parts.host.poll() {
                before.push(event);
            }
            let sent_on = |event: &&Event| {
                matches!(
                    event,
                    Event::PostForwarded { .. } | Event::ArrivalForwarded { .. }
                )
            };
            assert_eq!(
                before.iter().filter(sent_on).count(),
                2,
                "the second receive and its message"
            );

            let mut host = parts.host;
            let offer: Role = Box::new(move || {
                host.hand_back(CommId(0), 2, &mut Vec::new())
                    .expect("room for a command");
                let posted = vec![post_one(&mut host, one)];
                Ends {
                    host: Some(host),
                    posted,
                    ..Ends::default()
                }
            });
            let roles = vec![
                lead_until(parts.leader, 1, 3, 3),
                offer,
                send(parts.sender, &[0]),
            ];
            let mut ends = run(roles, rotation);
            ends.read();
            ends.posted.splice(0..0, posted);
            ends.events.splice(0..0, before);
            // The host's lists are empty again in any case, so the next offer counts.
            if !ends
                .events
                .iter()
                .any(|event| matches!(event, Event::Resumed { .. }))
            {
                paths.note("offer void");
                let sent_on = ends.events.iter().filter(sent_on).count() as u64;
                let (host, leader) = (ends.host.as_mut(), ends.leader.as_mut());
                host.expect("the host's role ended")
                    .hand_back(CommId(0), sent_on, &mut Vec::new())
                    .expect("room for a command");
                assert_eq!(
                    leader.expect("the leader's role ended").round(1),
                    Round::Worked
                );
                ends.read();
                assert!(
                    matches!(ends.events.last(), Some(Event::Resumed { .. })),
                    "the fallback never ends"
                );
            }
            assert_eq!(ends.replay(paths), (0, 0));
        },
    );
}

#[test]
fn probes_meet_arrivals() {
    // A matched probe, then a receive, against two messages. The receive must not get the probe's
    // message, and the rest stays in order.
    let expected = [
        "probe found",
        "probe missed",
        "posts_late",
        "in_order",
        "arrivals_stored",
    ];
    model(
        "boundary/probes against arrivals",
        3,
        Some(2),
        &expected,
        &[],
        |rotation, paths| {
            let parts = build(config(2));
            let any = selector(None, Some(7));
            let mut host = parts.host;
            let probe: Role = Box::new(move || {
                let look = host
                    .probe(CommId(0), any, false, 0)
                    .expect("room for a command");
                let take = host
                    .probe(CommId(0), any, true, 0)
                    .expect("room for a command");
                let posted = vec![post_one(&mut host, any)];
                let probed = vec![(look, any, false), (take, any, true)];
                Ends {
                    host: Some(host),
                    posted,
                    probed,
                    ..Ends::default()
                }
            });
            let roles = vec![
                lead(parts.leader, 1, |counts| {
                    counts.boundary.commands == 4 && counts.handlers.messages == 2
                }),
                probe,
                send(parts.sender, &[0, 1]),
            ];
            let mut ends = run(roles, rotation);
            ends.read();
            let taken = ends.events.iter_mut().find_map(|event| match event {
                Event::Probed {
                    found: Some(found),
                    taken,
                    ..
                } => Some((found.arrival, taken.take()?)),
                _ => None,
            });
            if let Some((arrival, message)) = taken {
                let (host, leader) = (ends.host.as_mut(), ends.leader.as_mut());
                let host = host.expect("the host's role ended");
                host.receive(message, vec![0xFF; 64], 0)
                    .expect("room for a command");
                assert_eq!(
                    leader.expect("the leader's role ended").round(1),
                    Round::Worked
                );
                match host.poll() {
                    Some(Event::Received {
                        buffer, message, ..
                    }) => {
                        assert_eq!(message.arrival, arrival, "another message than the probe's");
                        assert_eq!(buffer[..8], payload(arrival, 8), "another message's data");
                    }
                    other => panic!("unexpected event {other:?}"),
                }
            }
            ends.replay(paths);
        },
    );
}

#[test]
fn a_command_that_waits_for_the_host_holds_the_messages_back() {
    // The completion ring is full. One thread posts, sends, then reads the ring. Whenever the NIC
    // finds room again, the receive must not find the message unexpected.
    let (expected, never) = (["ring_full", "in_order"], ["posts_late", "arrivals_stored"]);
    model(
        "boundary/post, then send, full ring",
        2,
        None,
        &expected,
        &never,
        |rotation, paths| {
            let mut parts = build(NicConfig {
                completion_ring: 2,
                ..config(4)
            });
            assert!(parts.host.poll().is_none());
            let never_sent = selector(Some(0), Some(8));
            let mut posted = Vec::from([(); 2].map(|()| post_one(&mut parts.host, never_sent)));
            assert_eq!(parts.leader.round(1), Round::Worked);
            let (mut host, mut sender) = (parts.host, parts.sender);
            let all: Role = Box::new(move || {
                posted.push(post_one(&mut host, selector(Some(0), Some(7))));
                sender
                    .send(envelope(0, 0, 7), &payload(0, 8))
                    .expect("the NIC runs");
                let (mut events, mut wait) = (Vec::new(), Wait::new());
                while events.len() < 4 {
                    match host.poll() {
                        Some(event) => events.push(event),
                        None => wait.pause(),
                    }
                }
                Ends {
                    host: Some(host),
                    posted,
                    events,
                    ..Ends::default()
                }
            });
            let roles = vec![lead_until(parts.leader, 1, 3, 1), all];
            assert_eq!(run(roles, rotation).replay(paths), (2, 0));
        },
    );
}

#[test]
fn an_offer_carries_a_receive() {
    // The host offers the communicator back with a receive that it still has, and posts another.
    // Two messages arrive before, between or after; the offered receive gets the first (S20).
    let expected = ["resumed", "declined"];
    model(
        "boundary/offer with a receive",
        3,
        Some(2),
        &expected,
        &[],
        |rotation, paths| {
            let mut parts = build(config(2));
            let one = selector(Some(0), Some(7));
            for arrival in 0..3 {
                post_one(&mut parts.host, one);
                parts.leader.round(1);
                if arrival > 0 {
                    send_one(&mut parts.sender, 0, arrival);
                }
            }
            while parts.leader.round(1) == Round::Worked {}
            let mut kept =
                std::iter::from_fn(|| parts.host.poll()).filter_map(|event| match event {
                    Event::PostForwarded { request } => Some(request),
                    _ => None,
                });
            let offered = kept.next().expect("no room for the third receive");
            assert!(kept.next().is_none());
            let name = offered.id().as_u64();
            let mut host = parts.host;
            let offer: Role = Box::new(move || {
                host.hand_back(CommId(0), 1, &mut vec![offered])
                    .expect("room for commands");
                let posted = vec![post_one(&mut host, one)];
                Ends {
                    host: Some(host),
                    posted,
                    ..Ends::default()
                }
            });
            let roles = vec![
                lead_until(parts.leader, 1, 4, 4),
                offer,
                send(parts.sender, &[0, 0]),
            ];
            let mut ends = run(roles, rotation);
            ends.read();
            let names = [name, ends.posted[0].0.as_u64()];
            let mut software = TwoLists::default();
            software.post(names[0], CommId(0), one);
            let mut pairs = Vec::new();
            for event in ends.events.drain(..) {
                match event {
                    Event::Resumed { .. } => {
                        assert!(software.cancel(|&name| name == names[0]).is_some());
                        assert!(
                            software.unexpected().is_empty(),
                            "software still has messages"
                        );
                        paths.note("resumed");
                    }
                    Event::Declined { receives, .. } => {
                        assert_eq!(receives.len(), 1, "it comes back");
                        std::mem::forget(receives);
                        paths.note("declined");
                    }
                    Event::Received {
                        request, message, ..
                    } => {
                        pairs.push((request.as_u64(), message.arrival));
                    }
                    Event::PostForwarded { request } => {
                        let name = request.id().as_u64();
                        pairs.extend(software.post(name, CommId(0), one));
                    }
                    Event::ArrivalForwarded { message, .. } => {
                        pairs.extend(software.arrive(message.arrival, message.envelope));
                    }
                    _ => {}
                }
            }
            assert_eq!(
                pairs,
                [(names[0], 2), (names[1], 3)],
                "the offered receive is older"
            );
        },
    );
}

#[test]
fn longer_messages_without_a_receive() {
    longer_messages("boundary/longer messages stored", true);
}

/// Without reports of stored messages a lone leader stores them one after another.
#[test]
fn longer_messages_in_a_row() {
    longer_messages("boundary/longer messages in a row", false);
}

fn longer_messages(name: &str, log_order: bool) {
    // One bounce buffer, one unexpected buffer, two results: each is used again while the other
    // side may still read it.
    let expected = [
        "arrivals_stored",
        "arrivals_forwarded",
        "send_no_bounce_buffer",
    ];
    model(name, 3, Some(2), &expected, &[], move |rotation, paths| {
        let NicConfig { options, .. } = config(1);
        let mut parts = build_as(NicConfig {
            unexpected: 1,
            completion_queue: 2,
            completion_ring: 2,
            options: Options {
                log_order,
                ..options
            },
            ..config(1)
        });
        assert!(parts.host.poll().is_none());
        let mut sender = parts.sender;
        let send = act(move || {
            for number in 0..4 {
                sender
                    .send(envelope(0, 0, 7), &payload(number, 32))
                    .expect("the NIC runs");
            }
        });
        let mut host = parts.host;
        let read: Role = Box::new(move || {
            let (mut next, mut wait) = (u64::from(!log_order), Wait::new());
            while next < 4 {
                match host.poll() {
                    Some(Event::Unexpected { message }) => assert_eq!(message.arrival, 0),
                    Some(Event::ArrivalForwarded {
                        message,
                        payload: Payload::Eager(bytes),
                    }) => {
                        assert_eq!((message.arrival, bytes), (next, payload(next, 32)));
                    }
                    Some(other) => panic!("unexpected event {other:?}"),
                    None => {
                        wait.pause();
                        continue;
                    }
                }
                next += 1;
            }
            Ends {
                host: Some(host),
                ..Ends::default()
            }
        });
        let roles = vec![
            lead(parts.leader, 1, |counts| counts.handlers.messages == 4),
            read,
            send,
        ];
        let ends = run(roles, rotation);
        let (mut leader, mut host) = (ends.leader.expect("its role"), ends.host.expect("its role"));
        paths.add(&leader.monitor().counts());
        post_one(&mut host, selector(Some(0), Some(7)));
        leader.round(1);
        match host.poll() {
            Some(Event::Received {
                buffer, late: true, ..
            }) => {
                assert_eq!(buffer[..32], payload(0, 32), "another message's data");
            }
            other => panic!("unexpected event {other:?}"),
        }
    });
}

#[test]
fn buffers_are_kept_in_their_slots() {
    // The first receive has ended, its buffer waits in its slot, and the host posts another.
    model(
        "boundary/kept buffers",
        3,
        Some(2),
        &["in_order"],
        &[],
        |rotation, paths| {
            let parts = build(config(4));
            let mut host = parts.host;
            let post: Role = Box::new(move || {
                host.hold_slots();
                let any = selector(Some(0), Some(7));
                let mut slots = Vec::new();
                for _ in 0..2 {
                    let (request, _) = post_one(&mut host, any);
                    let (mut wait, mut ended) = (Wait::new(), false);
                    while !ended {
                        let event = host.drain_kept(|other, _| {
                            ended = other == request;
                            !ended
                        });
                        if !ended && event.is_none() {
                            wait.pause();
                        }
                    }
                    slots.push(request.slot());
                }
                let buffers: Vec<_> = slots.iter().map(|&slot| host.free_slot(slot)).collect();
                for (number, buffer) in (0..).zip(buffers) {
                    let buffer = buffer.expect("it is kept");
                    assert_eq!(
                        buffer[..8],
                        payload(number, 8),
                        "the buffer of another receive"
                    );
                }
                Ends {
                    host: Some(host),
                    ..Ends::default()
                }
            });
            let roles = vec![
                lead_until(parts.leader, 1, 2, 2),
                post,
                send(parts.sender, &[0, 0]),
            ];
            let ends = run(roles, rotation);
            paths.add(
                &ends
                    .leader
                    .as_ref()
                    .expect("its role ended")
                    .monitor()
                    .counts(),
            );
        },
    );
}

#[test]
fn messages_and_results_come_two_at_a_time() {
    // In free order: the leader cuts what has arrived, and the host reads what has ended.
    let expected = ["in_order", "two blocks", "one block"];
    model(
        "boundary/two at a time",
        3,
        Some(2),
        &expected,
        &[],
        |rotation, paths| {
            let mut parts = build(tiny(2, 1, Options::default()));
            for _ in 0..2 {
                post_one(&mut parts.host, selector(None, Some(7)));
            }
            parts.leader.round(1);
            while parts.host.poll().is_some() {}
            let mut host = parts.host;
            let read: Role = Box::new(move || {
                let (mut next, mut wait) = (0, Wait::new());
                while next < 2 {
                    let other = host.drain(|_, buffer, message, _| {
                        assert_eq!(
                            (message.arrival, &buffer[..8]),
                            (next, &payload(next, 8)[..])
                        );
                        next += 1;
                        true
                    });
                    assert!(other.is_none());
                    if next < 2 {
                        wait.pause();
                    }
                }
                Ends {
                    host: Some(host),
                    ..Ends::default()
                }
            });
            let roles = vec![
                lead(parts.leader, 1, |counts| counts.handlers.messages == 2),
                read,
                send(parts.sender, &[1, 0]),
            ];
            let ends = run(roles, rotation);
            let counts = ends
                .leader
                .as_ref()
                .expect("its role ended")
                .monitor()
                .counts();
            paths.note(if counts.boundary.blocks == 1 {
                "one block"
            } else {
                "two blocks"
            });
            paths.add(&counts);
        },
    );
}
