//! Back-pressure (S21): the NIC stops at a message that it can neither match nor store, and at no
//! other.

use dpa_model::{
    CommId, Envelope, Event, Hints, Nic, NicConfig, Options, Rank, Round, Selector, Tag,
    UnexpectedFull,
};

const WORLD: CommId = CommId(0);

fn envelope(comm: CommId, tag: u32) -> Envelope {
    Envelope {
        comm,
        source: Rank::default(),
        tag: Tag::new(tag).expect("a small tag"),
    }
}

fn exactly(tag: u32) -> Selector {
    Selector::new(Rank::default(), Tag::new(tag).expect("a small tag"))
}

/// A NIC whose one place for an unexpected message is taken.
fn full() -> Nic {
    let options = Options {
        unexpected_full: UnexpectedFull::BackPressure,
        ..Options::default()
    };
    let config = NicConfig {
        unexpected: 1,
        unexpected_buffers: 1,
        options,
        ..NicConfig::default()
    };
    let mut nic = Nic::new(&config).expect("a NIC can be built");
    nic.host
        .create(WORLD, 64, Hints::default(), 0)
        .expect("room for a command");
    nic.sender
        .try_send(envelope(WORLD, 0), b"stored", 0)
        .expect("room for a message");
    assert_eq!(nic.leader.round(1), Round::Worked);
    assert!(matches!(
        nic.host.poll(),
        Some(Event::Created {
            offloaded: true,
            ..
        })
    ));
    nic
}

fn post(nic: &mut Nic, tag: u32) {
    nic.host
        .post(WORLD, exactly(tag), vec![0; 8], 0)
        .expect("room for a command");
}

#[test]
fn a_message_with_wrong_hashes_waits_for_room_like_any_that_no_receive_takes() {
    let mut nic = full();
    post(&mut nic, 7);
    nic.leader.round(1);
    nic.sender.set_hash_fault(0x5555_5555);
    nic.sender
        .try_send(envelope(WORLD, 7), b"lost key", 0)
        .expect("room for a message");
    for _ in 0..3 {
        assert_eq!(nic.leader.round(1), Round::Idle);
    }
    let counts = nic.leader.monitor().counts().boundary;
    assert_eq!(
        (counts.fallback_unexpected, counts.arrivals_forwarded),
        (0, 0)
    );
    post(&mut nic, 0);
    assert_eq!(nic.leader.round(1), Round::Worked);
    assert_eq!(
        nic.host.arrivals(),
        (2, 2),
        "it took the place of the one received"
    );
}

/// There are places for two messages, but a buffer for one only.
#[test]
fn a_message_that_needs_a_buffer_waits_for_one() {
    let options = Options {
        unexpected_full: UnexpectedFull::BackPressure,
        ..Options::default()
    };
    let config = NicConfig {
        unexpected: 2,
        unexpected_buffers: 1,
        eager_limit: 60,
        options,
        ..NicConfig::default()
    };
    let mut nic = Nic::new(&config).expect("a NIC can be built");
    nic.host
        .create(WORLD, 64, Hints::default(), 0)
        .expect("room for a command");
    for tag in 0..2 {
        nic.sender
            .try_send(envelope(WORLD, tag), &[7; 60], 0)
            .expect("room for a message");
    }
    while nic.leader.round(1) == Round::Worked {}
    assert!(matches!(
        nic.host.poll(),
        Some(Event::Created {
            offloaded: true,
            ..
        })
    ));
    assert!(nic.host.poll().is_none());
    assert_eq!(nic.host.arrivals(), (1, 1), "the second is held");
    post(&mut nic, 0);
    while nic.leader.round(1) == Round::Worked {}
    assert!(matches!(
        nic.host.poll(),
        Some(Event::Received { late: true, .. })
    ));
    assert_eq!(
        nic.host.arrivals(),
        (2, 2),
        "it has the first one's buffer now"
    );
    let counts = nic.leader.monitor().counts().boundary;
    assert_eq!(
        (counts.fallback_unexpected, counts.arrivals_forwarded),
        (0, 0)
    );
}

/// Messages forwarded before a communicator was created are older than its later receives.
#[test]
fn create_remembers_what_was_sent_on() {
    let mut nic = Nic::new(&NicConfig::default()).expect("a NIC can be built");
    nic.sender
        .try_send(envelope(WORLD, 0), b"early", 0)
        .expect("room for a message");
    nic.leader.round(1);
    nic.host
        .create(WORLD, 64, Hints::default(), 0)
        .expect("room for a command");
    post(&mut nic, 0);
    nic.leader.round(1);
    let [arrival, created, posted] = [(); 3].map(|()| nic.host.poll().expect("an event"));
    assert!(matches!(arrival, Event::ArrivalForwarded { .. }));
    assert!(matches!(
        created,
        Event::Created {
            offloaded: true,
            ..
        }
    ));
    assert!(
        matches!(posted, Event::PostForwarded { .. }),
        "the host has its message: {posted:?}"
    );
}
