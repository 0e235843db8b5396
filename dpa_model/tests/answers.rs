//! What the NIC answers at its limits, and what it counts of answers that changed nothing.

use dpa_model::{
    CommId, Envelope, Event, ForwardedRequest, Hints, Nic, NicConfig, Rank, Round, Selector,
    SendResult, SourceSel, Tag, TagSel,
};

const WORLD: CommId = CommId(0);
const OTHER: CommId = CommId(1);

/// A NIC without communicators, small enough that Miri builds it in seconds.
fn nic(receives: usize) -> Nic {
    let config = NicConfig {
        receives,
        bins: 4,
        communicators: 2,
        completion_queue: 32,
        bounce_buffers: 4,
        eager_limit: 64,
        unexpected: 4,
        unexpected_buffers: 4,
        completion_ring: 32,
        regions: 4,
        ..NicConfig::default()
    };
    Nic::new(&config).expect("a sound configuration")
}

fn events(nic: &mut Nic) -> Vec<Event> {
    while nic.leader.round(1) == Round::Worked {}
    std::iter::from_fn(|| nic.host.poll()).collect()
}

fn create(nic: &mut Nic, comm: CommId, hints: Hints) {
    nic.host.create(comm, 2, hints, 0).expect("room");
    let answer = events(nic);
    let [Event::Created { offloaded, .. }] = answer[..] else {
        panic!("{answer:?}");
    };
    assert!(offloaded);
}

fn envelope(comm: CommId, tag: u32) -> Envelope {
    Envelope {
        comm,
        source: Rank::new(3).expect("a rank"),
        tag: Tag::new(tag).expect("a tag"),
    }
}

fn exact(tag: u32) -> Selector {
    let Envelope { source, tag, .. } = envelope(WORLD, tag);
    Selector::new(source, tag)
}

/// The NIC's answer to an offer.
fn is_taken_back(nic: &mut Nic, comm: CommId, seen: u64, all: &mut Vec<ForwardedRequest>) -> bool {
    nic.host.hand_back(comm, seen, all).expect("room");
    let mut answer = events(nic);
    match answer.pop() {
        Some(Event::Resumed { comm: of }) if answer.is_empty() => {
            assert_eq!(of, comm);
            true
        }
        Some(Event::Declined { comm: of, receives }) if answer.is_empty() => {
            assert_eq!(of, comm);
            *all = receives;
            false
        }
        other => panic!("{answer:?} {other:?}"),
    }
}

/// A communicator returns with its receives if the NIC then has one descriptor left.
#[test]
fn an_offer_needs_room_for_one_receive_more() {
    let mut nic = nic(4);
    create(&mut nic, WORLD, Hints::default());
    for tag in 0..6 {
        nic.host
            .post(WORLD, exact(tag), vec![0; 8], 0)
            .expect("room");
    }
    let mut offered: Vec<ForwardedRequest> = events(&mut nic)
        .into_iter()
        .map(|event| match event {
            Event::PostForwarded { request } => request,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(offered.len(), 2);
    for (free, taken) in [(0, false), (1, false), (2, false), (3, true)] {
        if free > 0 {
            let sent = nic.sender.try_send(envelope(WORLD, free - 1), &[1], 0);
            sent.expect("room");
            assert_eq!(events(&mut nic).len(), 1);
        }
        let is_taken = is_taken_back(&mut nic, WORLD, 2, &mut offered);
        assert_eq!((is_taken, free), (taken, free));
    }
    assert_eq!(nic.host.monitor().counts().boundary.resumed, 1);
}

/// The NIC counts what it sent on of a number before a communicator had it, and takes the
/// communicator back from a host that has seen all of it.
#[test]
fn what_came_before_a_communicator_must_be_seen_before_it_returns() {
    let mut nic = nic(4);
    create(&mut nic, OTHER, Hints::default());
    nic.sender
        .try_send(envelope(WORLD, 7), &[9], 0)
        .expect("room");
    let request = nic.host.post(WORLD, exact(1), vec![0; 2], 0).expect("room");
    let answer = events(&mut nic);
    assert!(
        matches!(
            answer[..],
            [Event::ArrivalForwarded { .. }, Event::PostForwarded { .. }]
                | [Event::PostForwarded { .. }, Event::ArrivalForwarded { .. }]
        ),
        "{answer:?}"
    );
    nic.host.cancel(request, 0).expect("room");
    let answer = events(&mut nic);
    assert!(
        matches!(answer[..], [Event::CancelForwarded { comm: WORLD, .. }]),
        "{answer:?}"
    );
    create(&mut nic, WORLD, Hints::default());
    for seen in [0, 2, 4] {
        assert!(
            !is_taken_back(&mut nic, WORLD, seen, &mut Vec::new()),
            "{seen}"
        );
    }
    assert!(is_taken_back(&mut nic, WORLD, 3, &mut Vec::new()));
}

/// A communicator that takes the number of a freed one begins in software if something of the
/// number was sent on, and returns to the NIC only for that count.
#[test]
fn a_number_that_is_used_again_keeps_its_count() {
    let mut nic = nic(1);
    create(&mut nic, WORLD, Hints::default());
    let held = nic.host.post(WORLD, exact(1), vec![0; 2], 0).expect("room");
    nic.host.post(WORLD, exact(2), vec![0; 3], 0).expect("room");
    let answer = events(&mut nic);
    assert!(
        matches!(answer[..], [Event::PostForwarded { .. }]),
        "{answer:?}"
    );
    nic.host.cancel(held, 0).expect("room");
    let answer = events(&mut nic);
    let [Event::Cancelled { buffer, .. }] = &answer[..] else {
        panic!("{answer:?}");
    };
    assert_eq!(buffer, &[0; 2]);
    nic.host.free(WORLD, 0).expect("room");
    let answer = events(&mut nic);
    assert!(
        matches!(answer[..], [Event::Freed { busy: false, .. }]),
        "{answer:?}"
    );
    // Another communicator has another count: it never left the NIC.
    create(&mut nic, OTHER, Hints::default());
    create(&mut nic, WORLD, Hints::default());
    for (comm, seen) in [(WORLD, 0), (WORLD, 2), (OTHER, 0), (OTHER, 1)] {
        let is_taken = is_taken_back(&mut nic, comm, seen, &mut Vec::new());
        assert!(!is_taken, "{comm:?} {seen}");
    }
    assert!(is_taken_back(&mut nic, WORLD, 1, &mut Vec::new()));
    assert_eq!(nic.host.monitor().counts().boundary.resumed, 1);
}

/// A cancel that software must answer is sent on, and counts.
#[test]
fn a_cancel_of_a_receive_in_software_is_counted() {
    let mut nic = nic(1);
    create(&mut nic, WORLD, Hints::default());
    let held = nic.host.post(WORLD, exact(1), vec![0; 2], 0);
    let held = held.expect("room");
    let far = nic.host.post(WORLD, exact(2), vec![0; 3], 0).expect("room");
    let answer = events(&mut nic);
    assert!(
        matches!(answer[..], [Event::PostForwarded { .. }]),
        "{answer:?}"
    );
    nic.host.cancel(far, 0).expect("room");
    let answer = events(&mut nic);
    assert!(
        matches!(answer[..], [Event::CancelForwarded { comm: WORLD, .. }]),
        "{answer:?}"
    );
    // What the NIC itself cancels is not sent on.
    nic.host.cancel(held, 0).expect("room");
    let answer = events(&mut nic);
    assert!(
        matches!(answer[..], [Event::Cancelled { .. }]),
        "{answer:?}"
    );
    for (seen, taken) in [(0, false), (1, false), (3, false), (2, true)] {
        let is_taken = is_taken_back(&mut nic, WORLD, seen, &mut Vec::new());
        assert_eq!(is_taken, taken, "{seen}");
    }
}

/// A refused receive counts as posted, and as nothing else; its buffer comes back as it was.
#[test]
fn a_refused_receive_is_counted_once() {
    let mut nic = nic(4);
    let hints = Hints {
        no_any_tag: true,
        ..Hints::default()
    };
    create(&mut nic, WORLD, hints);
    let before = nic.host.monitor().counts().boundary;
    let any_tag = Selector::new(envelope(WORLD, 0).source, TagSel::Any);
    let any_source = Selector::new(SourceSel::Any, envelope(WORLD, 0).tag);
    let refused = nic.host.post(WORLD, any_tag, vec![5; 3], 0).expect("room");
    nic.host
        .post(WORLD, any_source, vec![6; 3], 0)
        .expect("room");
    let answer = events(&mut nic);
    let [Event::Refused { request, buffer }] = &answer[..] else {
        panic!("{answer:?}");
    };
    assert_eq!((*request, &buffer[..]), (refused, &[5; 3][..]));
    let counts = nic.host.monitor().counts().boundary;
    let mut expected = before;
    expected.commands += 2;
    expected.posts = 2;
    expected.posts_admitted = 1;
    expected.posted_high = 1;
    assert_eq!(counts, expected);
}

/// The data of a long unexpected message stay with its sender: the store has no bytes of it, before
/// and after the message is received.
#[test]
fn a_long_message_takes_no_bytes_of_the_store() {
    let mut nic = nic(4);
    create(&mut nic, WORLD, Hints::default());
    let long: Vec<u8> = (0..100).collect();
    let sent = nic
        .sender
        .try_send_rendezvous(envelope(WORLD, 1), long.clone(), 0);
    let mut sent = sent.expect("room");
    assert!(events(&mut nic).is_empty());
    let bytes = |nic: &Nic| nic.host.monitor().counts().boundary.unexpected_bytes_high;
    assert_eq!(bytes(&nic), 0);
    let eager = nic.sender.try_send(envelope(WORLD, 2), &[1; 30], 0);
    eager.expect("room");
    assert!(events(&mut nic).is_empty());
    assert_eq!(bytes(&nic), 30);
    nic.host
        .post(WORLD, exact(1), vec![0; 128], 0)
        .expect("room");
    let answer = events(&mut nic);
    let [
        Event::Received {
            buffer,
            message,
            late: true,
            ..
        },
    ] = &answer[..]
    else {
        panic!("{answer:?}");
    };
    assert_eq!((&buffer[..100], message.length), (&long[..], 100));
    assert_eq!(sent.test(), Some(SendResult::Ok(long)));
    let eager = nic.sender.try_send(envelope(WORLD, 2), &[1; 40], 0);
    eager.expect("room");
    assert!(events(&mut nic).is_empty());
    assert_eq!(bytes(&nic), 70);
}
