//! Every call of the host API, with the NIC run by the caller and by threads.

mod watchdog;

use dpamatch::endpoint::{
    BusyReason, Communicator, Drive, Endpoint, EndpointConfig, FreeError, LogEntry, PersistentRecv,
    PostError, RecvError, replay,
};
use dpamatch::engine::Oracle;
use dpamatch::registry::Fallback;
use dpamatch::{Hints, NicConfig, Rank, SendError, SourceSel, Tag, TagSel, Wait};

fn rank(number: u32) -> Rank {
    Rank::new(number).expect("a small rank")
}

fn tag(number: u32) -> Tag {
    Tag::new(number).expect("a small tag")
}

fn logged(nic: NicConfig) -> NicConfig {
    let mut nic = nic;
    nic.options.log_order = true;
    nic
}

/// One endpoint per way to run its NIC; at the end the order log must agree with the oracle.
fn everywhere(nic: NicConfig, test: impl Fn(&mut Endpoint)) {
    let drives = [Drive::Caller, Drive::threads(), Drive::Threads { pin_to: vec![0] }];
    for drive in drives {
        for fallback in [Fallback::Bins, Fallback::List] {
            let nic = NicConfig { workers: 2, slice_min: 1, ..logged(nic) };
            let config = EndpointConfig { nic, drive: drive.clone(), fallback };
            let mut endpoint = Endpoint::new(&config).expect("a NIC can be built");
            test(&mut endpoint);
            let mut log = Vec::new();
            endpoint.drain_order_log(&mut log);
            replay(&mut Oracle::new(), &log).unwrap_or_else(|error| panic!("{drive:?}: {error}"));
        }
    }
}

/// Room for two receives and one unexpected message: almost everything is matched by software.
fn tiny() -> NicConfig {
    NicConfig {
        receives: 2,
        unexpected: 1,
        unexpected_buffers: 1,
        command_queue: 2,
        completion_ring: 32,
        bins: 4,
        eager_limit: 64,
        ..NicConfig::default()
    }
}

/// No tables at all.
fn no_tables() -> NicConfig {
    NicConfig { index_bins: 1, eager_limit: 64, ..NicConfig::default() }
}

fn small() -> NicConfig {
    NicConfig { eager_limit: 64, ..NicConfig::default() }
}

fn world(endpoint: &mut Endpoint) -> Communicator {
    endpoint.create_comm(Hints::default()).expect("the NIC runs")
}

fn on_all_sizes(test: impl Fn(&mut Endpoint)) {
    for nic in [small(), tiny(), no_tables()] {
        everywhere(nic, &test);
    }
}

#[test]
fn receives_of_every_kind_get_their_messages() {
    let _dog = watchdog::on("an endpoint: receives of every kind get their messages");
    on_all_sizes(|endpoint| {
        let world = world(endpoint);
        let mut peer = endpoint.sender(&world, rank(4));
        assert_eq!(peer.rank(), rank(4));
        let selectors = [
            (SourceSel::Rank(rank(4)), TagSel::Tag(tag(9))),
            (SourceSel::Any, TagSel::Tag(tag(9))),
            (SourceSel::Rank(rank(4)), TagSel::Any),
            (SourceSel::Any, TagSel::Any),
        ];
        for length in [0, 1, 8, 24, 25, 64, 65, 5000] {
            let bytes: Vec<u8> = (0..length).map(|index| index as u8).collect();
            for (source, wanted) in selectors {
                // Posted first, then unexpected.
                let request =
                    endpoint.post_recv(&world, source, wanted, vec![0; 5000]).expect("posted");
                endpoint.send(&mut peer, tag(9), &bytes).expect("sent");
                let received = endpoint.wait(request).expect("received");
                assert_eq!(received.bytes(), bytes);
                assert_eq!(received.buffer.len(), 5000);
                assert_eq!((received.status.source, received.status.tag), (rank(4), tag(9)));
                endpoint.send(&mut peer, tag(9), &bytes).expect("sent");
                let received =
                    endpoint.recv(&world, source, wanted, vec![0; 5000]).expect("received");
                assert_eq!(received.bytes(), bytes);
            }
        }
    });
}

#[test]
fn the_earliest_receive_and_the_oldest_message_come_first() {
    let _dog = watchdog::on("an endpoint: the earliest receive and the oldest message come first");
    on_all_sizes(|endpoint| {
        let world = world(endpoint);
        let mut peer = endpoint.sender(&world, rank(0));
        let first =
            endpoint.post_recv(&world, SourceSel::Any, TagSel::Any, vec![0; 8]).expect("posted");
        let second = endpoint.post_recv(&world, rank(0), tag(1), vec![0; 8]).expect("posted");
        for byte in 0..4 {
            endpoint.send(&mut peer, tag(1), &[byte]).expect("sent");
        }
        let third = endpoint.post_recv(&world, SourceSel::Any, tag(1), vec![0; 8]).expect("posted");
        let fourth = endpoint.post_recv(&world, rank(0), TagSel::Any, vec![0; 8]).expect("posted");
        let results = endpoint.wait_all([first, second, third, fourth]);
        for (index, result) in results.into_iter().enumerate() {
            let received = result.expect("received");
            assert_eq!(received.bytes(), [index as u8]);
            assert_eq!(received.status.arrival, index as u64);
        }
    });
}

#[test]
fn communicators_do_not_mix() {
    let _dog = watchdog::on("an endpoint: communicators do not mix");
    on_all_sizes(|endpoint| {
        let (one, two) = (world(endpoint), world(endpoint));
        assert_ne!(one.id(), two.id());
        let (mut to_one, mut to_two) =
            (endpoint.sender(&one, rank(0)), endpoint.sender(&two, rank(0)));
        let on_one =
            endpoint.post_recv(&one, SourceSel::Any, TagSel::Any, vec![0; 8]).expect("posted");
        let on_two =
            endpoint.post_recv(&two, SourceSel::Any, TagSel::Any, vec![0; 8]).expect("posted");
        endpoint.send(&mut to_two, tag(0), b"two").expect("sent");
        endpoint.send(&mut to_one, tag(0), b"one").expect("sent");
        assert_eq!(endpoint.wait(on_one).expect("received").bytes(), b"one");
        assert_eq!(endpoint.wait(on_two).expect("received").bytes(), b"two");
    });
}

#[test]
fn truncation_hands_the_beginning_back() {
    let _dog = watchdog::on("an endpoint: truncation hands the beginning back");
    on_all_sizes(|endpoint| {
        let world = world(endpoint);
        let mut peer = endpoint.sender(&world, rank(0));
        for length in [20, 60, 5000] {
            let bytes: Vec<u8> = (0..length).map(|index| index as u8).collect();
            for unexpected in [false, true] {
                let post = |endpoint: &mut Endpoint| {
                    endpoint.post_recv(&world, rank(0), tag(0), vec![7; 10])
                };
                let early = if unexpected { None } else { Some(post(endpoint).expect("posted")) };
                endpoint.send(&mut peer, tag(0), &bytes).expect("sent");
                if unexpected {
                    assert_eq!(
                        endpoint.probe(&world, rank(0), tag(0)).expect("there").bytes,
                        length
                    );
                }
                let request = early.unwrap_or_else(|| post(endpoint).expect("posted"));
                let Err(RecvError::Truncated { received, sent }) = endpoint.wait(request) else {
                    panic!("{length} bytes do not fit into 10")
                };
                assert_eq!((received.buffer.as_slice(), sent), (&bytes[..10], length));
                assert_eq!(received.status.bytes, 10);
            }
        }
    });
}

#[test]
fn a_cancelled_receive_ends_once() {
    let _dog = watchdog::on("an endpoint: a cancelled receive ends once");
    on_all_sizes(|endpoint| {
        let world = world(endpoint);
        let mut peer = endpoint.sender(&world, rank(0));
        for _ in 0..20 {
            let requests: Vec<_> = (0..4)
                .map(|_| endpoint.post_recv(&world, rank(0), tag(0), vec![1; 4]).expect("posted"))
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
            let request = endpoint.post_recv(&world, rank(0), tag(0), vec![1; 4]).expect("posted");
            endpoint.send(&mut peer, tag(0), b"c").expect("sent");
            while !endpoint_has_received(endpoint, &mut peer, &world) {}
            endpoint.cancel(&request).expect("asked");
            assert_eq!(endpoint.wait(request).expect("received").bytes(), b"c");
        }
    });
}

/// Sends a message behind all others and takes it: whatever was sent before has then been matched.
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
    let _dog = watchdog::on("an endpoint: test and the calls for several requests");
    on_all_sizes(|endpoint| {
        let world = world(endpoint);
        let mut peer = endpoint.sender(&world, rank(0));
        let post = |endpoint: &mut Endpoint, number| {
            Some(endpoint.post_recv(&world, rank(0), tag(number), vec![0; 4]).expect("posted"))
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
            assert_eq!(result.expect("received").bytes(), place.to_string().as_bytes());
        }
        assert_eq!(endpoint.wait_some(&mut requests, &mut Vec::new()), 0);
        assert_eq!(endpoint.test_some(&mut requests, &mut Vec::new()), 0);
        assert!(endpoint.wait_any(&mut requests).is_none());
        assert!(endpoint.wait_all([]).is_empty());
    });
}

#[test]
fn probes_look_and_matched_probes_take() {
    let _dog = watchdog::on("an endpoint: probes look and matched probes take");
    on_all_sizes(|endpoint| {
        let world = world(endpoint);
        let mut peer = endpoint.sender(&world, rank(2));
        assert_eq!(endpoint.iprobe(&world, SourceSel::Any, TagSel::Any), Ok(None));
        assert!(endpoint.improbe(&world, SourceSel::Any, TagSel::Any).expect("answered").is_none());
        let long = vec![3; 1000];
        for bytes in [&b"first"[..], &[2; 50], &long] {
            endpoint.send(&mut peer, tag(1), bytes).expect("sent");
        }
        for _ in 0..2 {
            let status = endpoint.probe(&world, rank(2), TagSel::Any).expect("there");
            assert_eq!((status.source, status.tag, status.bytes), (rank(2), tag(1), 5));
        }
        assert_eq!(endpoint.iprobe(&world, rank(1), TagSel::Any), Ok(None));
        let first = endpoint.mprobe(&world, SourceSel::Any, tag(1)).expect("there");
        assert_eq!(first.status().bytes, 5);
        let second = endpoint.mprobe(&world, rank(2), tag(1)).expect("there");
        let third = endpoint.mprobe(&world, rank(2), tag(1)).expect("there");
        assert_eq!(endpoint.iprobe(&world, SourceSel::Any, TagSel::Any), Ok(None));
        // A taken message is out of matching: the next one goes to this receive.
        let posted =
            endpoint.post_recv(&world, SourceSel::Any, TagSel::Any, vec![0; 8]).expect("posted");
        endpoint.send(&mut peer, tag(1), b"next").expect("sent");
        assert_eq!(endpoint.wait(posted).expect("received").bytes(), b"next");
        assert_eq!(endpoint.mrecv(third, vec![0; 1000]).expect("received").buffer, long);
        let request = endpoint.imrecv(first, vec![0; 8]).expect("asked");
        endpoint.cancel(&request).expect("asked");
        assert_eq!(
            endpoint.wait(request).expect("a taken message cannot be cancelled").bytes(),
            b"first"
        );
        let Err(RecvError::Truncated { received, sent: 50 }) = endpoint.mrecv(second, vec![0; 8])
        else {
            panic!("50 bytes do not fit into 8")
        };
        assert_eq!(received.buffer, [2; 8]);
    });
}

#[test]
fn persistent_receives_match_anew_at_each_start() {
    let _dog = watchdog::on("an endpoint: persistent receives match anew at each start");
    on_all_sizes(|endpoint| {
        let world = world(endpoint);
        let mut peer = endpoint.sender(&world, rank(0));
        let mut receives: Vec<PersistentRecv> = (0..3)
            .map(|number| {
                endpoint.recv_init(&world, rank(0), tag(number), vec![0; 4]).expect("allowed")
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
            assert_eq!(receives[0].wait(endpoint).expect("active").expect("received").bytes, 1);
            assert_eq!(receives[0].buffer()[..1], [round]);
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
        drop((receives, peer));
        endpoint.free_comm(world).expect("nothing is left");
    });
}

#[test]
fn sends_hand_their_buffer_back() {
    let _dog = watchdog::on("an endpoint: sends hand their buffer back");
    on_all_sizes(|endpoint| {
        let world = world(endpoint);
        let mut peer = endpoint.sender(&world, rank(0));
        assert_eq!(peer.eager_limit(), 64);
        assert_eq!(endpoint.eager_limit(), 64);
        let eager = peer.try_isend(tag(0), vec![1; 64]).expect("sent");
        assert_eq!(eager.wait().expect("copied"), [1; 64]);
        let mut exposed = peer.try_isend(tag(0), vec![2; 65]).expect("sent");
        let mut synchronous = peer.try_issend(tag(0), vec![3; 2]).expect("sent");
        peer.try_send(tag(0), &[4; 200]).expect("sent");
        assert_eq!(exposed.test(), None, "nobody has received it");
        for byte in 1..=4 {
            let received = endpoint.recv(&world, rank(0), tag(0), vec![0; 200]).expect("received");
            assert!(received.bytes().iter().all(|&found| found == byte));
        }
        assert_eq!(endpoint.wait_send(exposed).expect("read"), [2; 65]);
        assert_eq!(synchronous.test(), Some(Ok(vec![3; 2])));
        assert_eq!(synchronous.test(), None, "handed out");
    });
}

#[test]
fn senders_wait_in_their_own_threads() {
    let _dog = watchdog::on("an endpoint: senders wait in their own threads");
    let nic = NicConfig { completion_queue: 32, regions: 3, bounce_buffers: 1, ..small() };
    everywhere(nic, |endpoint| {
        let world = world(endpoint);
        std::thread::scope(|scope| {
            for source in 0..3 {
                let mut peer = endpoint.sender(&world, rank(source));
                scope.spawn(move || {
                    for number in 0..100u8 {
                        peer.send(tag(0), &[number]).expect("sent");
                        peer.send(tag(1), &[number; 30]).expect("sent");
                        let request = peer.isend(tag(2), vec![number; 100]).expect("sent");
                        assert_eq!(request.wait().expect("read"), [number; 100]);
                        peer.issend(tag(3), vec![number; 3]).expect("sent").wait().expect("read");
                    }
                });
            }
            for number in 0..100u8 {
                for (source, wanted) in
                    (0..3).flat_map(|source| (0..4).map(move |wanted| (source, wanted)))
                {
                    let received = endpoint
                        .recv(&world, rank(source), tag(wanted), vec![0; 100])
                        .expect("received");
                    assert!(received.bytes().iter().all(|&byte| byte == number));
                }
            }
        });
    });
}

#[test]
fn hints_exclude_wildcards() {
    let _dog = watchdog::on("an endpoint: hints exclude wildcards");
    on_all_sizes(|endpoint| {
        let hints = Hints { no_any_source: true, ..Hints::default() };
        let comm = endpoint.create_comm(hints).expect("the NIC runs");
        assert_eq!(comm.hints(), hints);
        let refused = endpoint.post_recv(&comm, SourceSel::Any, tag(0), vec![5; 3]);
        assert_eq!(refused.map_err(PostError::into_buffer), Err(vec![5; 3]));
        let refused = endpoint.iprobe(&comm, SourceSel::Any, TagSel::Any);
        assert_eq!(refused, Err(RecvError::WildcardExcluded(Vec::new())));
        assert!(endpoint.recv_init(&comm, SourceSel::Any, tag(0), Vec::new()).is_err());
        let request = endpoint.post_recv(&comm, rank(0), TagSel::Any, vec![0; 3]).expect("allowed");
        endpoint.send(&mut endpoint.sender(&comm, rank(0)), tag(8), b"ok").expect("sent");
        assert_eq!(endpoint.wait(request).expect("received").bytes(), b"ok");
    });
}

#[test]
fn a_communicator_is_freed_when_nothing_is_left() {
    let _dog = watchdog::on("an endpoint: a communicator is freed when nothing is left");
    on_all_sizes(|endpoint| {
        let comm = world(endpoint);
        let busy = |result: Result<(), FreeError>| match result {
            Err(FreeError::Busy { comm, reason }) => (comm, reason),
            other => panic!("busy was expected: {other:?}"),
        };
        let mut peer = endpoint.sender(&comm, rank(0));
        let (comm, reason) = busy(endpoint.free_comm(comm));
        assert_eq!(reason, BusyReason::Handles);
        let request = endpoint.post_recv(&comm, rank(0), tag(0), vec![0; 4]).expect("posted");
        let (comm, reason) = busy(endpoint.free_comm(comm));
        assert_eq!(reason, BusyReason::Receives(1));
        endpoint.cancel(&request).expect("asked");
        assert_eq!(endpoint.wait(request), Err(RecvError::Cancelled(vec![0; 4])));
        peer.try_send(tag(0), b"left").expect("sent");
        drop(peer);
        let (comm, reason) = busy(endpoint.free_comm(comm));
        assert_eq!(reason, BusyReason::Messages);
        assert_eq!(
            endpoint.recv(&comm, rank(0), tag(0), vec![0; 4]).expect("received").buffer,
            b"left"
        );
        let id = comm.id();
        endpoint.free_comm(comm).expect("nothing is left");
        let again = world(endpoint);
        assert_eq!(again.id(), id, "the number is used again");
        assert_eq!(endpoint.iprobe(&again, SourceSel::Any, TagSel::Any), Ok(None));
        let mut peer = endpoint.sender(&again, rank(1));
        endpoint.send(&mut peer, tag(1), b"new").expect("sent");
        assert_eq!(
            endpoint.recv(&again, rank(1), tag(1), vec![0; 4]).expect("received").bytes(),
            b"new"
        );
    });
}

#[test]
fn what_does_not_fit_is_matched_by_software() {
    let _dog = watchdog::on("an endpoint: what does not fit is matched by software");
    everywhere(NicConfig { communicators: 2, ..small() }, |endpoint| {
        let comms: Vec<_> = (0..4).map(|_| world(endpoint)).collect();
        let offloaded: Vec<_> = comms.iter().map(Communicator::is_offloaded).collect();
        assert_eq!(offloaded, [true, true, false, false]);
        let too_many =
            endpoint.create_comm_with_bins(Hints::default(), u32::MAX).expect("the NIC runs");
        assert!(!too_many.is_offloaded());
        for comm in comms.into_iter().chain([too_many]) {
            let mut peer = endpoint.sender(&comm, rank(0));
            endpoint.send(&mut peer, tag(0), b"here").expect("sent");
            assert_eq!(
                endpoint.recv(&comm, rank(0), tag(0), vec![0; 4]).expect("received").bytes(),
                b"here"
            );
            drop(peer);
            endpoint.free_comm(comm).expect("nothing is left");
        }
        assert!(world(endpoint).is_offloaded(), "there is room again");
        let (counts, software) = endpoint.counts();
        assert_eq!(counts.boundary.fallback_tables, 3);
        assert_eq!(software.matches, 3);
    });
}

#[test]
fn a_released_request_frees_itself() {
    let _dog = watchdog::on("an endpoint: a released request frees itself");
    on_all_sizes(|endpoint| {
        let comm = world(endpoint);
        let mut peer = endpoint.sender(&comm, rank(0));
        for number in [0, 1] {
            let request = endpoint.post_recv(&comm, rank(0), tag(0), vec![0; 4]).expect("posted");
            if number == 0 {
                endpoint.release(request);
                endpoint.send(&mut peer, tag(0), b"gone").expect("sent");
                assert!(endpoint_has_received(endpoint, &mut peer, &comm));
            } else {
                endpoint.send(&mut peer, tag(0), b"gone").expect("sent");
                assert!(endpoint_has_received(endpoint, &mut peer, &comm));
                endpoint.release(request);
            }
        }
        drop(peer);
        endpoint.free_comm(comm).expect("nothing is left");
    });
}

#[test]
fn an_endpoint_may_end_at_any_moment() {
    let _dog = watchdog::on("an endpoint: an endpoint may end at any moment");
    for moment in 0..40 {
        let drive = if moment % 2 == 0 { Drive::Caller } else { Drive::threads() };
        let config = EndpointConfig {
            nic: NicConfig { workers: 2, ..small() },
            drive,
            ..Default::default()
        };
        let mut endpoint = Endpoint::new(&config).expect("a NIC can be built");
        let comm = world(&mut endpoint);
        let mut threads = Vec::new();
        for source in 0..2 {
            let mut peer = endpoint.sender(&comm, rank(source));
            threads.push(std::thread::spawn(move || {
                for number in 0.. {
                    if let Err(error) = peer.send(tag(number), b"whatever") {
                        return error;
                    }
                    match peer.issend(tag(number), vec![1; 100]).map(|request| request.wait()) {
                        Ok(Ok(buffer)) => assert_eq!(buffer, [1; 100]),
                        Ok(Err((error, buffer))) | Err((error, buffer)) => {
                            assert_eq!(buffer, [1; 100], "the buffer comes back");
                            return error;
                        }
                    }
                }
                unreachable!("numbers do not end")
            }));
        }
        for number in 0..moment * 4 {
            let request = endpoint.post_recv(&comm, SourceSel::Any, tag(number % 7), vec![0; 100]);
            drop(request.expect("posted"));
        }
        drop(endpoint);
        for thread in threads {
            assert_eq!(thread.join().expect("the sender ends"), SendError::Stopped);
        }
    }
}

#[test]
fn refused_pinning_is_only_reported() {
    let _dog = watchdog::on("an endpoint: refused pinning is only reported");
    let nic = NicConfig { workers: 2, ..small() };
    let drive = Drive::Threads { pin_to: vec![0, 100_000] };
    let config = EndpointConfig { nic, drive, ..Default::default() };
    let mut endpoint = Endpoint::new(&config).expect("a NIC can be built");
    let failures = endpoint.pin_failures();
    assert!(failures.iter().any(|failure| (failure.worker, failure.processor) == (1, 100_000)));
    assert!(failures[0].to_string().contains("is not pinned"), "{}", failures[0]);
    let comm = world(&mut endpoint);
    let mut peer = endpoint.sender(&comm, rank(0));
    peer.send(tag(0), b"runs").expect("sent");
    assert_eq!(
        endpoint.recv(&comm, rank(0), tag(0), vec![0; 4]).expect("received").buffer,
        b"runs"
    );
}

#[test]
fn the_order_log_is_empty_unless_asked_for() {
    let _dog = watchdog::on("an endpoint: the order log is empty unless asked for");
    for nic in [small(), tiny()] {
        let mut endpoint =
            Endpoint::new(&EndpointConfig { nic, ..Default::default() }).expect("built");
        let comm = world(&mut endpoint);
        let mut peer = endpoint.sender(&comm, rank(0));
        for _ in 0..10 {
            endpoint.send(&mut peer, tag(0), b"").expect("sent");
        }
        endpoint.probe(&comm, rank(0), tag(0)).expect("there");
        let mut log: Vec<LogEntry> = Vec::new();
        endpoint.drain_order_log(&mut log);
        assert!(log.is_empty());
    }
}

#[test]
#[should_panic(expected = "belongs to another endpoint")]
fn handles_of_another_endpoint_are_not_accepted() {
    let new = || Endpoint::new(&EndpointConfig::default()).expect("a NIC can be built");
    let (mut one, mut two) = (new(), new());
    let comm = world(&mut one);
    let _ = two.post_recv(&comm, SourceSel::Any, TagSel::Any, Vec::new());
}

#[test]
fn impossible_configurations_are_refused() {
    let _dog = watchdog::on("an endpoint: impossible configurations are refused");
    let nic = NicConfig { handlers: 257, ..NicConfig::default() };
    let error =
        Endpoint::new(&EndpointConfig { nic, ..Default::default() }).expect_err("257 handlers");
    assert_eq!(error.to_string(), "handlers is 257, must be 1 to 256");
}

#[test]
fn an_endpoint_may_move_between_threads() {
    let _dog = watchdog::on("an endpoint: an endpoint may move between threads");
    fn moves<T: Send + 'static>() {}
    moves::<Endpoint>();
    moves::<Communicator>();
    moves::<dpamatch::endpoint::CommSender>();
    moves::<dpamatch::endpoint::RecvRequest>();
    moves::<dpamatch::endpoint::SendRequest>();
    moves::<PersistentRecv>();
}
