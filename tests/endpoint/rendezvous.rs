//! Rendezvous messages: a send never waits for a receive, and its buffer comes back however the
//! message ends.

use dpa_model::{
    CommId, Envelope, Event, Nic, NicConfig, Payload, RemoteData, SendError, SendRequest,
    SendResult,
};
use dpamatch::endpoint::{Communicator, Drive, Endpoint, MatchedMessage};
use dpamatch::{SourceSel, TagSel};

use super::{open, rank, tag, watchdog};

/// A NIC with one region and no communicator, so that it forwards everything to the host.
fn nic() -> Nic {
    Nic::new(&NicConfig {
        regions: 1,
        ..NicConfig::default()
    })
    .expect("a NIC can be built")
}

fn send(nic: &mut Nic, byte: u8) -> SendRequest {
    let envelope = Envelope {
        comm: CommId(0),
        ..Envelope::default()
    };
    nic.sender
        .try_send_rendezvous(envelope, vec![byte; 100], 0)
        .expect("room in the queue")
}

fn forwarded(nic: &mut Nic) -> RemoteData {
    nic.leader.round(1);
    match nic.host.poll() {
        Some(Event::ArrivalForwarded {
            payload: Payload::Rendezvous(data),
            ..
        }) => data,
        other => panic!("a rendezvous message for the host, not {other:?}"),
    }
}

fn stopped(byte: u8) -> Option<SendResult> {
    Some(Err((SendError::Stopped, vec![byte; 100])))
}

#[test]
fn senders_see_the_nics_end_while_the_host_still_has_its_port() {
    let _dog =
        watchdog::on("an endpoint: senders see the nics end while the host still has its port");
    let mut nic = nic();
    let mut in_the_queue = send(&mut nic, 1);
    assert_eq!(in_the_queue.test(), None);
    drop(nic.leader);
    let (error, back) = nic
        .sender
        .try_send_rendezvous(Envelope::default(), vec![2; 100], 0)
        .expect_err("there is no receiver");
    assert_eq!((error, back), (SendError::Stopped, vec![2; 100]));
    assert_eq!(in_the_queue.test(), stopped(1));
    assert_eq!(in_the_queue.test(), None, "handed out");
    assert_eq!(in_the_queue.wait(), Ok(Vec::new()), "handed out");
    assert!(nic.host.poll().is_none());
}

#[test]
fn after_the_nics_end_sender_or_host_has_the_data_but_not_both() {
    let _dog =
        watchdog::on("an endpoint: after the nics end sender or host has the data but not both");
    for host_first in [false, true] {
        let mut nic = nic();
        let mut request = send(&mut nic, 3);
        let data = forwarded(&mut nic);
        drop(nic.leader);
        let mut target = [0; 200];
        if host_first {
            assert_eq!(
                (data.read(&mut target), &target[..100]),
                (Some(100), &[3; 100][..])
            );
            assert_eq!(request.test(), Some(Ok(vec![3; 100])));
        } else {
            assert_eq!(request.test(), stopped(3));
            assert_eq!((data.read(&mut target), target), (None, [0; 200]));
        }
    }
}

fn endpoint(nic: NicConfig) -> (Endpoint, Communicator) {
    let nic = NicConfig {
        eager_limit: 64,
        ..nic
    };
    open(nic, Drive::Caller)
}

/// MPI 4.1, section 3.5: a message without a receive holds up neither its sender nor others.
#[test]
fn a_send_never_waits_for_a_receive() {
    let _dog = watchdog::on("an endpoint: a send never waits for a receive");
    const EACH: u32 = 300;
    let (mut endpoint, world) = endpoint(NicConfig {
        regions: 4,
        ..NicConfig::default()
    });
    let mut requests = Vec::new();
    for number in 0..EACH {
        for source in 0..2 {
            let mut peer = endpoint.sender(&world, rank(source));
            let sent = peer.try_isend(tag(number), vec![number as u8; 65]);
            requests.push(sent.expect("a start is local"));
        }
        endpoint.progress();
    }
    let posted = endpoint
        .post_recv(&world, rank(2), tag(0), vec![0; 65])
        .expect("posted");
    let mut third = endpoint.sender(&world, rank(2));
    let mut sent = third
        .try_issend(tag(0), vec![9; 65])
        .expect("the others do not matter");
    assert_eq!(endpoint.wait(posted).expect("received").bytes(), [9; 65]);
    assert_eq!(sent.test(), Some(Ok(vec![9; 65])));
    assert!(requests.iter_mut().all(|request| request.test().is_none()));
    for number in 0..EACH {
        for source in 0..2 {
            let received = endpoint.recv(&world, rank(source), tag(number), vec![0; 65]);
            assert_eq!(received.expect("received").bytes(), [number as u8; 65]);
        }
    }
    for (number, mut request) in (0..).zip(requests) {
        assert_eq!(request.test(), Some(Ok(vec![(number / 2) as u8; 65])));
    }
    let added = endpoint.counts().0.regions_added;
    assert!((2 * u64::from(EACH) - 4..2048).contains(&added), "{added}");
}

/// The first poll sends the command, the second lets the NIC execute it.
fn drop_and_poll(endpoint: &mut Endpoint, matched: MatchedMessage) {
    drop(matched);
    endpoint.progress();
    endpoint.progress();
}

#[test]
fn a_matched_message_that_is_dropped_gives_its_memory_back() {
    let _dog = watchdog::on("an endpoint: a matched message that is dropped gives its memory back");
    // One on the NIC, the others in software.
    let nic = NicConfig {
        unexpected: 1,
        unexpected_buffers: 1,
        regions: 2,
        ..NicConfig::default()
    };
    let (mut endpoint, world) = endpoint(nic);
    let mut peer = endpoint.sender(&world, rank(0));
    for length in [1, 40, 65] {
        let bytes = vec![7; length];
        for round in 0..20 {
            let mut synchronous = peer.try_issend(tag(1), bytes.clone()).expect("sent");
            let matched = endpoint
                .mprobe(&world, SourceSel::Any, TagSel::Any)
                .expect("there");
            drop_and_poll(&mut endpoint, matched);
            let lost = Some(Err((SendError::NotReceived, bytes.clone())));
            assert_eq!(synchronous.test(), lost, "round {round}, {length} bytes");
            endpoint.send(&mut peer, tag(2), &bytes).expect("sent");
            let matched = endpoint
                .mprobe(&world, SourceSel::Any, TagSel::Any)
                .expect("there");
            drop_and_poll(&mut endpoint, matched);
        }
    }
    let (counts, software) = endpoint.counts();
    assert_eq!(
        (counts.boundary.fallback_unexpected, software.arrivals),
        (0, 0)
    );
    assert_eq!(counts.regions_added, 0);
    // In software.
    let mut sent = [1, 2].map(|byte| peer.try_issend(tag(byte), vec![0; 65]).expect("sent"));
    drop(
        endpoint
            .mprobe(&world, SourceSel::Any, tag(2))
            .expect("there"),
    );
    assert_eq!(endpoint.counts().1.arrivals, 1);
    assert_eq!(
        sent[1].test(),
        Some(Err((SendError::NotReceived, vec![0; 65])))
    );
    assert_eq!(sent[0].test(), None);
}
