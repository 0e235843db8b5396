//! Receives, probes, cancels, and the calls that wait for them.

use dpa_model::InlineHashes;
use dpamatch::endpoint::{
    BusyReason, Communicator, Drive, Endpoint, FreeError, PersistentRecv, PostError, RecvError,
};
use dpamatch::{Hints, NicConfig, Offload, SourceSel, TagSel, Wait};

use super::{on_all_sizes, open, rank, small, tag, watchdog, world};

#[test]
fn a_cancelled_receive_ends_once() {
    on_all_sizes(|endpoint| {
        let world = world(endpoint);
        let mut peer = endpoint.sender(&world, rank(0));
        for _ in 0..20 {
            let requests: Vec<_> = (0..4)
                .map(|_| {
                    endpoint
                        .post_recv(&world, rank(0), tag(0), vec![1; 4])
                        .expect("posted")
                })
                .collect();
            endpoint.cancel(&requests[1]).expect("asked");
            endpoint.cancel(&requests[1]).expect("asked twice");
            endpoint.send(&mut peer, tag(0), b"a").expect("sent");
            endpoint.send(&mut peer, tag(0), b"b").expect("sent");
            endpoint.cancel(&requests[3]).expect("asked");
            let mut results = endpoint.wait_all(requests).into_iter();
            let mut next = || results.next().expect("four results");
            assert_eq!(next().expect("the first message").bytes(), b"a");
            assert_eq!(next(), Err(RecvError::Cancelled(vec![1; 4])));
            assert_eq!(next().expect("the second message").bytes(), b"b");
            assert_eq!(next(), Err(RecvError::Cancelled(vec![1; 4])));
            // Too late: the message has come.
            let request = endpoint
                .post_recv(&world, rank(0), tag(0), vec![1; 4])
                .expect("posted");
            endpoint.send(&mut peer, tag(0), b"c").expect("sent");
            while !endpoint_has_received(endpoint, &mut peer, &world) {}
            endpoint.cancel(&request).expect("asked");
            assert_eq!(endpoint.wait(request).expect("received").bytes(), b"c");
        }
    });
}

/// Sends a message after all others and receives it: all earlier messages are matched by then.
fn endpoint_has_received(
    endpoint: &mut Endpoint,
    peer: &mut dpamatch::endpoint::CommSender,
    world: &Communicator,
) -> bool {
    endpoint.send(peer, tag(99), b"").expect("sent");
    endpoint.recv(world, rank(0), tag(99), Vec::new()).is_ok()
}

#[test]
fn test_and_the_calls_for_several_requests() {
    on_all_sizes(|endpoint| {
        let world = world(endpoint);
        let mut peer = endpoint.sender(&world, rank(0));
        let post = |endpoint: &mut Endpoint, number| {
            Some(
                endpoint
                    .post_recv(&world, rank(0), tag(number), vec![0; 4])
                    .expect("posted"),
            )
        };
        assert_eq!(endpoint.test(&mut None), None);
        let mut request = post(endpoint, 5);
        assert_eq!(endpoint.test(&mut request), None);
        assert!(request.is_some());
        endpoint.send(&mut peer, tag(5), b"x").expect("sent");
        let mut wait = Wait::new();
        let received = loop {
            if let Some(result) = endpoint.test(&mut request) {
                break result.expect("received");
            }
            wait.pause();
        };
        assert_eq!(received.bytes(), b"x");
        assert_eq!(request, None);

        let mut requests: Vec<_> = (0..3).map(|number| post(endpoint, number)).collect();
        requests.push(None);
        endpoint.send(&mut peer, tag(2), b"2").expect("sent");
        let (place, result) = endpoint.wait_any(&mut requests).expect("three are left");
        assert_eq!((place, result.expect("received").bytes()), (2, &b"2"[..]));
        assert_eq!(requests[2], None);
        endpoint.send(&mut peer, tag(1), b"1").expect("sent");
        endpoint.send(&mut peer, tag(0), b"0").expect("sent");
        let mut results = Vec::new();
        while results.len() < 2 {
            assert!(endpoint.wait_some(&mut requests, &mut results) > 0);
        }
        let mut places: Vec<_> = results.iter().map(|(place, _)| *place).collect();
        places.sort_unstable();
        assert_eq!(places, [0, 1]);
        for (place, result) in results {
            assert_eq!(
                result.expect("received").bytes(),
                place.to_string().as_bytes()
            );
        }
        assert_eq!(endpoint.wait_some(&mut requests, &mut Vec::new()), 0);
        assert_eq!(endpoint.test_some(&mut requests, &mut Vec::new()), 0);
        assert!(endpoint.wait_any(&mut requests).is_none());
        assert!(endpoint.wait_all([]).is_empty());
    });
}

#[test]
fn probes_look_and_matched_probes_take() {
    on_all_sizes(|endpoint| {
        let world = world(endpoint);
        let mut peer = endpoint.sender(&world, rank(2));
        assert_eq!(
            endpoint.iprobe(&world, SourceSel::Any, TagSel::Any),
            Ok(None)
        );
        assert!(
            endpoint
                .improbe(&world, SourceSel::Any, TagSel::Any)
                .expect("answered")
                .is_none()
        );
        let long = vec![3; 1000];
        for bytes in [&b"first"[..], &[2; 50], &long] {
            endpoint.send(&mut peer, tag(1), bytes).expect("sent");
        }
        for _ in 0..2 {
            let status = endpoint.probe(&world, rank(2), TagSel::Any).expect("there");
            assert_eq!(
                (status.source, status.tag, status.bytes),
                (rank(2), tag(1), 5)
            );
        }
        assert_eq!(endpoint.iprobe(&world, rank(1), TagSel::Any), Ok(None));
        let first = endpoint
            .mprobe(&world, SourceSel::Any, tag(1))
            .expect("there");
        assert_eq!(first.status().bytes, 5);
        let second = endpoint.mprobe(&world, rank(2), tag(1)).expect("there");
        let third = endpoint.mprobe(&world, rank(2), tag(1)).expect("there");
        assert_eq!(
            endpoint.iprobe(&world, SourceSel::Any, TagSel::Any),
            Ok(None)
        );
        // A taken message is out of matching: the next one goes to this receive.
        let posted = endpoint
            .post_recv(&world, SourceSel::Any, TagSel::Any, vec![0; 8])
            .expect("posted");
        endpoint.send(&mut peer, tag(1), b"next").expect("sent");
        assert_eq!(endpoint.wait(posted).expect("received").bytes(), b"next");
        assert_eq!(
            endpoint
                .mrecv(third, vec![0; 1000])
                .expect("received")
                .buffer,
            long
        );
        let request = endpoint.imrecv(first, vec![0; 8]).expect("asked");
        endpoint.cancel(&request).expect("asked");
        assert_eq!(
            endpoint
                .wait(request)
                .expect("a taken message cannot be cancelled")
                .bytes(),
            b"first"
        );
        let Err(RecvError::Truncated { received, sent: 50 }) = endpoint.mrecv(second, vec![0; 8])
        else {
            panic!("50 bytes do not fit into 8")
        };
        assert_eq!(received.buffer, [2; 8]);
    });
}

/// A receive of a message that a probe took keeps its own communicator, and no other.
#[test]
fn a_matched_receive_keeps_its_communicator() {
    on_all_sizes(|endpoint| {
        // Not the first one, which has number 0.
        let (mut first, mut comm) = (world(endpoint), world(endpoint));
        for bytes in [&b"eager"[..], &[2; 1000]] {
            let mut peer = endpoint.sender(&comm, rank(1));
            endpoint.send(&mut peer, tag(1), bytes).expect("sent");
            drop(peer);
            let message = endpoint
                .mprobe(&comm, SourceSel::Any, TagSel::Any)
                .expect("there");
            let request = endpoint.imrecv(message, vec![0; 1000]).expect("asked");
            let Err(FreeError::Busy { comm: back, reason }) = endpoint.free_comm(comm) else {
                panic!("its receive is not collected");
            };
            assert_eq!(reason, BusyReason::Receives(1));
            comm = back;
            endpoint.free_comm(first).expect("nothing is in it");
            first = world(endpoint);
            assert_eq!(endpoint.wait(request).expect("received").bytes(), bytes);
        }
        for comm in [first, comm] {
            endpoint.free_comm(comm).expect("nothing is left");
        }
    });
}

/// Each message has its own block, and the probe comes before the NIC has handled any.
#[test]
fn a_probe_sees_what_was_sent_before() {
    let _dog = watchdog::on("an endpoint: a probe sees what was sent before");
    let nic = NicConfig {
        handlers: 1,
        ..small()
    };
    let (mut endpoint, comm) = open(nic, Drive::Caller);
    let mut peer = endpoint.sender(&comm, rank(0));
    for number in 0..60 {
        peer.send(tag(number), b"").expect("sent");
    }
    let status = endpoint
        .iprobe(&comm, rank(0), tag(59))
        .expect("the NIC runs");
    assert_eq!(status.map(|status| status.tag), Some(tag(59)));
    for number in 60..120 {
        peer.send(tag(number), b"").expect("sent");
    }
    let matched = endpoint
        .improbe(&comm, rank(0), tag(119))
        .expect("the NIC runs");
    assert!(matched.is_some());
}

/// A sender's changes to the hashes in its messages' headers.
#[test]
fn hashes_in_headers_may_be_wrong_or_missing() {
    let _dog = watchdog::on("an endpoint: hashes in headers");
    for (inline_hashes, wrong) in [(InlineHashes::Verify, 1), (InlineHashes::Ignore, 0)] {
        let mut nic = small();
        nic.options.inline_hashes = inline_hashes;
        let (mut endpoint, comm) = open(nic, Drive::Caller);
        let mut peer = endpoint.sender(&comm, rank(0));
        let mut mismatches = |fault, inline| {
            peer.set_hash_fault(fault);
            peer.set_inline_hashes(inline);
            let before = endpoint.counts().0.handlers.hash_mismatch;
            let request = endpoint
                .post_recv(&comm, rank(0), tag(7), vec![0; 4])
                .expect("posted");
            endpoint.send(&mut peer, tag(7), b"sent").expect("sent");
            assert_eq!(endpoint.wait(request).expect("received").bytes(), b"sent");
            endpoint.counts().0.handlers.hash_mismatch - before
        };
        assert_eq!(mismatches(0, true), 0);
        assert_eq!(mismatches(0x5555_5555, true), wrong);
        assert_eq!(
            mismatches(0x5555_5555, false),
            0,
            "the NIC computes them itself"
        );
        assert_eq!(mismatches(0, true), 0);
    }
}

#[test]
fn persistent_receives_match_anew_at_each_start() {
    on_all_sizes(|endpoint| {
        let world = world(endpoint);
        let mut peer = endpoint.sender(&world, rank(0));
        let mut receives: Vec<PersistentRecv> = (0..3)
            .map(|number| {
                endpoint
                    .recv_init(&world, rank(0), tag(number), vec![0; 4])
                    .expect("allowed")
            })
            .collect();
        assert!(receives[0].wait(endpoint).is_none(), "inactive");
        assert!(receives[0].test(endpoint).is_none(), "inactive");
        for round in 0..5u8 {
            PersistentRecv::start_all(&mut receives, endpoint).expect("started");
            receives[0].start(endpoint).expect("active already");
            assert!(receives.iter().all(PersistentRecv::is_active));
            endpoint.send(&mut peer, tag(0), &[round]).expect("sent");
            endpoint.send(&mut peer, tag(1), &[round; 6]).expect("sent");
            receives[2].cancel(endpoint).expect("asked");
            assert_eq!(
                receives[0]
                    .wait(endpoint)
                    .expect("active")
                    .expect("received")
                    .bytes,
                1
            );
            assert_eq!(
                (receives[0].buffer()[0], receives[0].buffer().len()),
                (round, 4)
            );
            let truncated = receives[1].wait(endpoint).expect("active");
            assert!(
                matches!(truncated, Err(RecvError::Truncated { sent: 6, .. })),
                "{truncated:?}"
            );
            assert_eq!(receives[1].buffer(), [round; 4]);
            let mut wait = Wait::new();
            let cancelled = loop {
                if let Some(result) = receives[2].test(endpoint) {
                    break result;
                }
                wait.pause();
            };
            assert_eq!(cancelled, Err(RecvError::Cancelled(Vec::new())));
            assert_eq!(receives[2].buffer().len(), 4);
        }
        // Those that want the same are started in their order.
        let mut alike = [5, 6, 7].map(|room| {
            endpoint
                .recv_init(&world, rank(0), tag(9), vec![0; room])
                .expect("allowed")
        });
        PersistentRecv::start_all(&mut alike, endpoint).expect("started");
        for byte in [3, 2, 1] {
            endpoint.send(&mut peer, tag(9), &[byte]).expect("sent");
        }
        let ended = alike
            .each_mut()
            .map(|receive| receive.wait(endpoint).map(|one| one.is_ok()));
        assert_eq!(ended, [Some(true); 3]);
        assert_eq!(
            alike.each_ref().map(|receive| receive.buffer()[0]),
            [3, 2, 1]
        );
        drop((receives, alike, peer));
        endpoint.free_comm(world).expect("nothing is left");
    });
}

#[test]
fn hints_exclude_wildcards() {
    on_all_sizes(|endpoint| {
        for [no_any_source, no_any_tag] in [[true, false], [false, true], [true, true]] {
            let offload = if no_any_tag {
                Offload::Never
            } else {
                Offload::IfItFits
            };
            let hints = Hints {
                no_any_source,
                no_any_tag,
                offload,
                ..Hints::default()
            };
            let comm = endpoint.create_comm(hints).expect("the NIC runs");
            assert_eq!(comm.hints(), hints);
            let (sources, tags) = (
                [SourceSel::Any, rank(0).into()],
                [TagSel::Any, tag(8).into()],
            );
            for (source, wanted) in sources
                .into_iter()
                .flat_map(|one| tags.map(|tag| (one, tag)))
            {
                let refused = no_any_source && source == SourceSel::Any
                    || no_any_tag && wanted == TagSel::Any;
                let receive = endpoint.recv_init(&comm, source, wanted, vec![4]);
                assert_eq!(
                    receive.map(drop).map_err(PostError::into_buffer).is_err(),
                    refused
                );
                if refused {
                    let excluded = |buffer| Err(RecvError::WildcardExcluded(buffer));
                    let posted = endpoint.post_recv(&comm, source, wanted, vec![5; 3]);
                    assert_eq!(posted.map_err(PostError::into_buffer), Err(vec![5; 3]));
                    let received = endpoint.recv(&comm, source, wanted, vec![6; 2]).map(drop);
                    assert_eq!(received, excluded(vec![6; 2]));
                    let matched = endpoint.mprobe(&comm, source, wanted).map(drop);
                    assert_eq!(matched, excluded(Vec::new()));
                    let probed = endpoint.iprobe(&comm, source, wanted).map(drop);
                    assert_eq!(probed, excluded(Vec::new()));
                    continue;
                }
                let request = endpoint.post_recv(&comm, source, wanted, vec![0; 3]);
                let mut peer = endpoint.sender(&comm, rank(0));
                endpoint.send(&mut peer, tag(8), b"ok").expect("sent");
                let received = endpoint.wait(request.expect("allowed")).expect("received");
                assert_eq!(received.bytes(), b"ok");
            }
        }
    });
}

/// The smallest number that is free comes first, whatever the order in which they became free.
#[test]
fn communicators_take_the_smallest_number() {
    let (mut endpoint, _world) = open(
        NicConfig {
            communicators: 8,
            ..small()
        },
        Drive::Caller,
    );
    let hints = |number| {
        let offload = if number % 2 == 0 {
            Offload::Never
        } else {
            Offload::IfItFits
        };
        Hints {
            offload,
            ..Hints::default()
        }
    };
    let mut comms: Vec<_> = (0..10)
        .map(|number| endpoint.create_comm(hints(number)).expect("it runs"))
        .collect();
    let ids = |comms: &[Communicator]| comms.iter().map(|comm| comm.id().0).collect::<Vec<_>>();
    assert_eq!(ids(&comms), [8, 1, 9, 2, 10, 3, 11, 4, 12, 5]);
    for place in [8, 7, 4, 3, 1, 0] {
        endpoint
            .free_comm(comms.remove(place))
            .expect("nothing is on it");
    }
    let again = (0..12).map(|number| endpoint.create_comm(hints(number)).expect("it runs"));
    let again: Vec<_> = again.collect();
    assert_eq!(ids(&again), [8, 1, 10, 2, 12, 4, 13, 6, 14, 7, 15, 16]);
    let offloaded = |comm: &Communicator| comm.is_offloaded() == (comm.id().0 < 8);
    assert!(
        again.iter().all(offloaded),
        "one more was asked for than there is room"
    );
    assert_eq!(endpoint.counts().0.boundary.fallback_tables, 1);
}
