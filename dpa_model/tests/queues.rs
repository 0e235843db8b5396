//! Several senders, each with a completion queue: every queue gets its turn, and a blocked queue
//! does not block the others.

use dpa_model::{
    CommId, Envelope, Event, Hints, Nic, NicConfig, Options, Rank, Round, Selector, Sender,
    SourceSel, Tag, TagSel, UnexpectedFull,
};

const WORLD: CommId = CommId(0);

/// A NIC small enough that Miri builds it in seconds.
fn nic(config: NicConfig) -> Nic {
    let config = NicConfig {
        receives: 64,
        bins: 64,
        completion_queue: config.completion_queue.min(64),
        bounce_buffers: 64,
        eager_limit: 64,
        unexpected: config.unexpected.min(64),
        unexpected_buffers: config.unexpected_buffers.min(64),
        completion_ring: 64,
        regions: 1,
        ..config
    };
    let mut nic = Nic::new(&config).expect("a NIC can be built");
    nic.host
        .create(WORLD, 64, Hints::default(), 0)
        .expect("room for a command");
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

fn post(nic: &mut Nic, count: usize) {
    for _ in 0..count {
        let any = Selector::new(SourceSel::Any, TagSel::Any);
        nic.host
            .post(WORLD, any, vec![0; 8], 0)
            .expect("room for a command");
    }
}

/// Sends a message of this source, if the receiver is ready.
fn send(sender: &mut Sender, source: u32) -> bool {
    let source = Rank::new(source).expect("a small rank");
    sender
        .try_send(
            Envelope {
                comm: WORLD,
                source,
                tag: Tag::default(),
            },
            &[],
            0,
        )
        .is_ok()
}

/// Sources and numbers of the messages received so far.
fn received(nic: &mut Nic) -> Vec<(u32, u64)> {
    let mut all = Vec::new();
    while let Some(event) = nic.host.poll() {
        if let Event::Received { message, .. } = event {
            all.push((message.envelope.source.get(), message.arrival));
        }
    }
    all
}

#[test]
fn queues_take_turns() {
    let config = NicConfig {
        handlers: 2,
        completion_queue: 8,
        ..NicConfig::default()
    };
    let mut nic = nic(config);
    let (mut second, mut third) = (nic.sender.clone(), nic.sender.clone());
    post(&mut nic, 40);
    let mut sent = 0;
    for _ in 0..8 {
        // Fills the queue.
        while send(&mut nic.sender, 0) {}
        sent += u32::from(send(&mut second, 1)) + u32::from(send(&mut third, 2));
        assert_eq!(nic.leader.round(1), Round::Worked);
    }
    assert_eq!(sent, 16);
    let all = received(&mut nic);
    assert!(
        all.iter()
            .map(|&(_, arrival)| arrival)
            .eq(0..all.len() as u64),
        "numbers of all"
    );
    let of = |source| all.iter().filter(|message| message.0 == source).count();
    assert_eq!(
        [of(0), of(1), of(2)],
        [4, 5, 6],
        "at most two each, in turn from the second on"
    );
}

#[test]
fn a_message_that_has_to_wait_holds_up_its_queue_only() {
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
    let mut nic = nic(config);
    let mut second = nic.sender.clone();
    // The first takes the one place for an unexpected message, so the others must wait.
    assert!((0..3).all(|_| send(&mut nic.sender, 0)));
    while nic.leader.round(1) == Round::Worked {}
    let envelope = Envelope {
        comm: CommId(1),
        ..Envelope::default()
    };
    // The second round begins with the blocked queue.
    for _ in 0..2 {
        second
            .try_send(envelope, b"not the NIC's", 0)
            .expect("room");
        assert_eq!(nic.leader.round(1), Round::Worked);
        let event = nic.host.poll();
        assert!(
            matches!(event, Some(Event::ArrivalForwarded { .. })),
            "{event:?}"
        );
    }
    assert_eq!(nic.leader.round(1), Round::Idle);
    post(&mut nic, 3);
    while nic.leader.round(1) == Round::Worked {}
    assert_eq!(received(&mut nic), [(0, 0), (0, 3), (0, 4)]);
}

#[test]
fn what_was_sent_has_arrived_when_each_queue_says_so() {
    let mut nic = nic(NicConfig::default());
    let mut second = nic.sender.clone();
    post(&mut nic, 8);
    assert!(send(&mut second, 1));
    assert_eq!(nic.leader.round(1), Round::Worked);
    assert!(send(&mut second, 1));
    drop(second);
    let sent = nic.host.sent();
    // The NIC consumes a later message of another queue first.
    assert!(send(&mut nic.sender, 0));
    assert_eq!(nic.leader.round(1), Round::Worked);
    assert_eq!(received(&mut nic), [(1, 0), (0, 1)]);
    assert!(!nic.host.have_arrived(&sent));
    // The queue has a new sender; its message does not count here.
    assert!(send(&mut nic.sender.clone(), 2));
    assert_eq!(nic.leader.round(1), Round::Worked);
    assert!(nic.host.have_arrived(&sent));
    while nic.leader.round(1) == Round::Worked {}
    assert_eq!(nic.host.arrivals(), (4, 4));
    assert!(nic.host.is_settled());
}

#[test]
fn a_sender_goes_on_where_the_last_one_of_its_queue_stopped() {
    let config = NicConfig {
        completion_queues: 2,
        completion_queue: 32,
        ..NicConfig::default()
    };
    let mut nic = nic(config);
    let mut next = 0;
    for source in 0..20 {
        let mut sender = nic.host.sender();
        post(&mut nic, 5);
        assert!((0..5).all(|_| send(&mut sender, source)));
        while nic.leader.round(1) == Round::Worked {}
        let expected: Vec<_> = (next..next + 5).map(|arrival| (source, arrival)).collect();
        assert_eq!(received(&mut nic), expected);
        next += 5;
    }
}
