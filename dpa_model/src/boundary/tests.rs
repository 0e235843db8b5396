//! The boundary's counters, and data that moves whole.

mod batches;
mod direct;

use alloc::vec::Vec;

use crate::{
    CommId, Envelope, Event, Hints, Nic, NicConfig, Rank, Round, Selector, SourceSel, Tag, TagSel,
};

const COMM: CommId = CommId(0);

#[test]
fn messages_without_a_receive_are_counted_once() {
    let config = NicConfig {
        bins: 1,
        communicators: 1,
        ..NicConfig::default()
    };
    let mut nic = Nic::new(&config).expect("a NIC");
    nic.host
        .create(COMM, 1, Hints::default(), 0)
        .expect("room for a command");
    let envelope = Envelope {
        comm: COMM,
        ..Envelope::default()
    };
    let any = Selector {
        source: SourceSel::Any,
        tag: TagSel::Any,
    };
    // Blocks of two messages, of three, and of one after two were received.
    for (messages, received) in [(2, 0), (3, 2), (1, 1)] {
        for _ in 0..messages {
            nic.sender
                .try_send(envelope, &[1; 8], 0)
                .expect("room for a message");
        }
        nic.leader.round(1);
        for _ in 0..received {
            nic.host
                .post(COMM, any, vec![0; 8], 0)
                .expect("room for a command");
        }
        nic.leader.round(1);
    }
    let counts = nic.leader.monitor().counts().boundary;
    assert_eq!(
        (counts.arrivals_stored, counts.posts, counts.posts_late),
        (6, 3, 3)
    );
    assert_eq!(
        (counts.unexpected_high, counts.unexpected_bytes_high),
        (5, 40)
    );
    assert_eq!((counts.posts_admitted, counts.blocks), (0, 3));
}

/// Messages of every short length, to buffers of equal, smaller and larger size: no byte is lost,
/// and no byte is written past the message or the buffer.
#[test]
fn every_length_arrives_whole() {
    const UNTOUCHED: u8 = 0xee;
    let kinds: Vec<(usize, usize)> = (0..=40)
        .flat_map(|length: usize| {
            [length, length + 3, length.saturating_sub(1), 8].map(|room| (length, room))
        })
        .collect();
    let sent = |number: usize, length: usize| -> Vec<u8> {
        (0..length)
            .map(|place| (number * 7 + place) as u8 % 200)
            .collect()
    };
    for late in [false, true] {
        let config = NicConfig {
            communicators: 1,
            ..NicConfig::default()
        };
        let mut nic = Nic::new(&config).expect("a NIC");
        nic.host
            .create(COMM, 64, Hints::default(), 0)
            .expect("room for a command");
        while nic.leader.round(1) == Round::Worked {}
        assert!(matches!(
            nic.host.poll(),
            Some(Event::Created {
                offloaded: true,
                ..
            })
        ));
        let tag = |number: usize| Tag::new(number as u32).expect("small");
        let source = Rank::new(1).expect("small");
        let mut requests = Vec::new();
        for messages in [late, !late] {
            for (number, &(length, room)) in kinds.iter().enumerate() {
                if messages {
                    let envelope = Envelope {
                        comm: COMM,
                        source,
                        tag: tag(number),
                    };
                    let payload = sent(number, length);
                    nic.sender
                        .try_send(envelope, &payload, 0)
                        .expect("room for a message");
                } else {
                    let (selector, buffer) = (
                        Selector::new(source, tag(number)),
                        alloc::vec![UNTOUCHED; room],
                    );
                    let request = nic.host.post(COMM, selector, buffer, 0);
                    requests.push(request.expect("room for a command"));
                }
            }
            while messages == late && nic.leader.round(1) == Round::Worked {}
        }
        let mut received = 0;
        while nic.leader.round(1) == Round::Worked {
            while let Some(event) = nic.host.poll() {
                let Event::Received {
                    request,
                    buffer,
                    message,
                    late: was_late,
                } = event
                else {
                    panic!("{event:?}")
                };
                let number = requests.iter().position(|&other| other == request);
                let number = number.expect("one of ours");
                let (length, room) = kinds[number];
                let mut expected = sent(number, length);
                expected.truncate(room);
                expected.resize(room, UNTOUCHED);
                assert_eq!(
                    (&buffer, message.length as usize),
                    (&expected, length),
                    "late: {late}"
                );
                assert_eq!(was_late, late);
                received += 1;
            }
        }
        assert_eq!(received, kinds.len());
    }
}
