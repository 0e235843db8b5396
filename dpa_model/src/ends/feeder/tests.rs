use super::*;
use crate::{CommId, Hints, Leader, Nic, NicConfig, Options, Order, Selector, SourceSel, TagSel};

const COMM: CommId = CommId(0);
const ANYTHING: Selector = Selector {
    source: SourceSel::Any,
    tag: TagSel::Any,
};

/// Queues of two, and one communicator. Tables are as small as possible, because Miri spends time
/// on every entry.
fn small() -> (Leader, Feeder) {
    let options = Options {
        order: Order::Stamped,
        ..Options::default()
    };
    let config = NicConfig {
        handlers: 2,
        communicators: 2,
        bins: 4,
        receives: 16,
        unexpected: 16,
        unexpected_buffers: 4,
        bounce_buffers: 4,
        completion_ring: 64,
        command_queue: 2,
        completion_queue: 2,
        options,
        ..NicConfig::default()
    };
    let mut nic = Nic::new(&config).expect("a small NIC");
    let mut feeder = Feeder::new(nic.host, nic.sender);
    let create = Operation::Create {
        comm: COMM,
        bins: 1,
        hints: Hints::default(),
    };
    assert_eq!(feeder.try_issue(&create), Ok(true));
    nic.leader.round(1);
    assert_eq!(outcomes(&mut feeder), Ok(Vec::new()));
    (nic.leader, feeder)
}

fn outcomes(feeder: &mut Feeder) -> Result<Vec<Outcome>, FeedError> {
    let mut outcomes = Vec::new();
    feeder
        .collect(|outcome| outcomes.push(outcome))
        .map(|()| outcomes)
}

fn post(recv: u64) -> Operation {
    Operation::Post {
        recv: RecvId(recv),
        comm: COMM,
        selector: ANYTHING,
        bytes: 100,
    }
}

fn arrive(msg: u64, bytes: u32) -> Operation {
    let envelope = Envelope {
        comm: COMM,
        ..Envelope::default()
    };
    Operation::Arrive {
        msg: MsgId(msg),
        envelope,
        bytes,
    }
}

fn probe(take: bool) -> Operation {
    Operation::Probe {
        probe: ProbeId(3),
        comm: COMM,
        selector: ANYTHING,
        take,
    }
}

/// Two receives of one name: a cancel applies to the later, even after the first has ended.
#[test]
fn a_name_that_is_used_again_means_the_later_receive() {
    let (mut leader, mut feeder) = small();
    let mut all = Vec::new();
    for operation in [
        post(9),
        post(9),
        arrive(60, 8),
        Operation::Cancel { recv: RecvId(9) },
    ] {
        assert_eq!(feeder.try_issue(&operation), Ok(true));
        leader.round(1);
        all.extend(outcomes(&mut feeder).expect("a result"));
    }
    let (recv, msg) = (RecvId(9), MsgId(60));
    assert_eq!(
        all,
        [Outcome::Matched { recv, msg }, Outcome::Cancelled { recv }]
    );
}

#[test]
fn outcomes_come_in_the_order_of_the_operations() {
    let (mut leader, mut feeder) = small();
    let cancel = |recv| Operation::Cancel { recv: RecvId(recv) };
    // Short, longer, and by rendezvous.
    let (short, long, remote) = (arrive(60, 8), arrive(61, 90), arrive(62, 9000));
    let operations = [
        [post(9), cancel(9), cancel(9), post(8), short, long],
        [
            remote,
            probe(false),
            probe(true),
            post(7),
            post(6),
            cancel(70),
        ],
    ];
    let (mut all, mut full) = (Vec::new(), 0);
    for operation in operations.as_flattened() {
        while !feeder.try_issue(operation).expect("a possible operation") {
            full += 1;
            leader.round(1);
            all.extend(outcomes(&mut feeder).expect("a result"));
        }
    }
    while !feeder.try_flush() {
        leader.round(1);
    }
    while !feeder.is_settled() {
        leader.round(1);
        all.extend(outcomes(&mut feeder).expect("a result"));
    }
    let (recv, msg) = (RecvId, MsgId);
    let found = |msg| (ProbeId(3), Some(MsgId(msg)));
    let ((probe, probed), (_, taken)) = (found(61), found(61));
    assert_eq!(
        all,
        [
            Outcome::Cancelled { recv: recv(9) },
            Outcome::TooLate { recv: recv(9) },
            Outcome::Matched {
                recv: recv(8),
                msg: msg(60)
            },
            Outcome::Probed { probe, msg: probed },
            Outcome::Mprobed { probe, msg: taken },
            Outcome::Matched {
                recv: recv(7),
                msg: msg(62)
            },
            Outcome::TooLate { recv: recv(70) },
        ]
    );
    assert!(full > 0, "a queue was full");
    assert_eq!(
        (feeder.posted(), feeder.unexpected().count()),
        (alloc::vec![recv(6)], 0)
    );
}

#[test]
fn what_cannot_be_is_noticed() {
    let (mut leader, mut feeder) = small();
    feeder.try_issue(&post(1)).expect("room");
    feeder.try_issue(&arrive(5, 90)).expect("room");
    // Pretends that another message was delivered.
    feeder.messages.insert(0, (MsgId(6), Envelope::default()));
    leader.round(1);
    assert_eq!(outcomes(&mut feeder), Err(FeedError::WrongBytes(MsgId(6))));

    feeder.try_issue(&post(2)).expect("room");
    feeder.try_issue(&arrive(7, 0)).expect("room");
    feeder.messages.remove(1);
    leader.round(1);
    let twice = Err(FeedError::MatchedTwice(Some(RecvId(2)), None));
    assert_eq!(outcomes(&mut feeder), twice);

    feeder.host.cancel(RequestId::NONE, 2).expect("room");
    leader.round(1);
    assert_eq!(outcomes(&mut feeder), Err(FeedError::Unknown("cancel")));
}
