//! Sends, and how endpoints, communicators and handles begin and end.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dpa_model::UnexpectedFull;
use dpamatch::endpoint::{
    BusyReason, Drive, Endpoint, EndpointConfig, FreeError, LogEntry, PostError, Received,
    RecvError, Status, Stopped,
};
use dpamatch::engine::MsgId;
use dpamatch::{NicConfig, Selector, SendError, SourceSel, TagSel};
use dpamatch_vocabulary::Envelope;

use super::{logged, on_all_sizes, open, rank, small, tag, watchdog, world};

#[test]
fn sends_hand_their_buffer_back() {
    on_all_sizes(|endpoint| {
        let world = world(endpoint);
        let mut peer = endpoint.sender(&world, rank(0));
        assert_eq!(peer.eager_limit(), 64);
        assert_eq!(endpoint.eager_limit(), 64);
        let mut eager = peer.try_isend(tag(0), vec![1; 64]).expect("sent");
        assert_eq!((eager.test(), eager.test()), (Some(Ok(vec![1; 64])), None));
        assert_eq!(eager.wait(), Ok(Vec::new()), "handed out");
        let mut exposed = peer.try_isend(tag(0), vec![2; 65]).expect("sent");
        let mut synchronous = peer.try_issend(tag(0), vec![3; 2]).expect("sent");
        peer.try_send(tag(0), &[4; 200]).expect("sent");
        assert_eq!(exposed.test(), None, "nobody has received it");
        for byte in 1..=4 {
            let received = endpoint
                .recv(&world, rank(0), tag(0), vec![0; 200])
                .expect("received");
            assert!(received.bytes().iter().all(|&found| found == byte));
        }
        assert_eq!(endpoint.wait_send(exposed).expect("read"), [2; 65]);
        assert_eq!(synchronous.test(), Some(Ok(vec![3; 2])));
        assert_eq!(synchronous.test(), None, "handed out");
    });
}

/// A message may wait for room for ever: then freeing gives up.
#[test]
fn a_communicator_whose_messages_find_no_room_is_not_freed() {
    let _dog = watchdog::on("an endpoint: a communicator whose messages find no room");
    let mut nic = NicConfig {
        unexpected: 1,
        unexpected_buffers: 1,
        ..small()
    };
    nic.options.unexpected_full = UnexpectedFull::BackPressure;
    let (mut endpoint, mut comm) = open(nic, Drive::Caller);
    let mut peer = endpoint.sender(&comm, rank(0));
    for text in [b"stored", b"waits!"] {
        peer.send(tag(0), text).expect("sent");
    }
    drop(peer);
    for text in [b"stored", b"waits!"] {
        // The second time no message arrives.
        for _ in 0..2 {
            comm = match endpoint.free_comm(comm) {
                Err(FreeError::Busy {
                    comm,
                    reason: BusyReason::Messages,
                }) => comm,
                other => panic!("messages are left, and yet {other:?}"),
            };
        }
        let received = endpoint
            .recv(&comm, rank(0), tag(0), vec![0; 6])
            .expect("received");
        assert_eq!(received.bytes(), text);
    }
    endpoint.free_comm(comm).expect("nothing is left");
}

#[test]
fn an_endpoint_may_end_at_any_moment() {
    let _dog = watchdog::on("an endpoint: an endpoint may end at any moment");
    for moment in 0..40 {
        let drive = if moment % 2 == 0 {
            Drive::Caller
        } else {
            Drive::threads()
        };
        let (mut endpoint, comm) = open(
            NicConfig {
                workers: 2,
                ..small()
            },
            drive,
        );
        let mut threads = Vec::new();
        for source in 0..2 {
            let mut peer = endpoint.sender(&comm, rank(source));
            threads.push(std::thread::spawn(move || {
                for number in 0.. {
                    if let Err(error) = peer.send(tag(number), b"whatever") {
                        return error;
                    }
                    match peer
                        .issend(tag(number), vec![1; 100])
                        .map(|request| request.wait())
                    {
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
    let nic = NicConfig {
        workers: 4,
        ..small()
    };
    let drive = Drive::Threads {
        pin_to: vec![0, 100_000],
    };
    let config = EndpointConfig { nic, drive };
    let mut endpoint = Endpoint::new(&config).expect("a NIC can be built");
    let failures = endpoint.pin_failures();
    let of = |processor| {
        let of = failures
            .iter()
            .filter(|failure| failure.processor == processor);
        let mut workers: Vec<_> = of.map(|failure| failure.worker).collect();
        workers.sort_unstable();
        workers
    };
    assert_eq!(of(100_000), [1, 3], "processors are taken in turn");
    for failure in failures {
        let text = format!(
            "worker {} is not pinned to processor 100000: ",
            failure.worker
        );
        assert_eq!(failure.to_string(), text + &failure.reason);
    }
    let comm = world(&mut endpoint);
    let mut peer = endpoint.sender(&comm, rank(0));
    peer.send(tag(0), b"runs").expect("sent");
    assert_eq!(
        endpoint
            .recv(&comm, rank(0), tag(0), vec![0; 4])
            .expect("received")
            .buffer,
        b"runs"
    );
}

#[test]
fn errors_say_what_is_wrong() {
    let status = Status {
        source: rank(0),
        tag: tag(0),
        bytes: 3,
        arrival: 0,
    };
    let received = Received {
        buffer: vec![0; 3],
        status,
    };
    let truncated = RecvError::Truncated {
        received: received.clone(),
        sent: 5,
    };
    assert_eq!(truncated.into_buffer(), [0; 3]);
    for error in [RecvError::Cancelled, RecvError::WildcardExcluded] {
        assert_eq!(error(vec![4, 5]).into_buffer(), [4, 5]);
    }
    let errors: [&dyn std::fmt::Display; 12] = [
        &RecvError::Truncated { received, sent: 5 },
        &RecvError::Cancelled(Vec::new()),
        &RecvError::WildcardExcluded(Vec::new()),
        &RecvError::Stopped,
        &PostError::WildcardExcluded(Vec::new()),
        &PostError::Stopped(Vec::new()),
        &BusyReason::Handles,
        &BusyReason::Receives(2),
        &BusyReason::Messages,
        &FreeError::Busy {
            comm: (),
            reason: BusyReason::Handles,
        },
        &FreeError::<()>::Stopped,
        &Stopped,
    ];
    let told = errors.map(|error| format!("{error}\n")).concat();
    assert_eq!(told, include_str!("errors.txt"));
}

/// A program may catch the panic for the wrong endpoint: its receive is unchanged.
#[test]
fn a_persistent_receive_outlives_a_wait_on_another_endpoint() {
    let _dog = watchdog::on("an endpoint: a persistent receive outlives a wait on another one");
    let new = || Endpoint::new(&EndpointConfig::default()).expect("a NIC can be built");
    let (mut own, mut other) = (new(), new());
    let comm = world(&mut own);
    let mut receive = own
        .recv_init(&comm, rank(0), tag(1), vec![0; 3])
        .expect("allowed");
    receive.start(&mut own).expect("the NIC runs");
    let waited = catch_unwind(AssertUnwindSafe(|| receive.wait(&mut other)));
    assert!(waited.is_err() && receive.is_active());
    let mut peer = own.sender(&comm, rank(0));
    own.send(&mut peer, tag(1), b"abc").expect("the NIC runs");
    assert_eq!(
        receive.wait(&mut own).map(|ended| ended.is_ok()),
        Some(true)
    );
    assert_eq!(receive.buffer(), b"abc");
}

/// Every kind of entry, with the names of its receive and message. What was drained stays drained.
#[test]
fn the_order_log_names_each_event() {
    let _dog = watchdog::on("an endpoint: the order log names each event");
    let (mut endpoint, world) = open(logged(small()), Drive::Caller);
    let (mut peer, comm) = (endpoint.sender(&world, rank(4)), world.id());
    let [five, all] = [TagSel::Tag(tag(5)), TagSel::Any].map(|tag| Selector::new(rank(4), tag));
    assert_eq!(endpoint.iprobe(&world, rank(4), tag(5)), Ok(None));
    let cancelled = endpoint
        .post_recv(&world, rank(4), TagSel::Any, vec![0])
        .expect("posted");
    let first = endpoint
        .post_recv(&world, rank(4), tag(5), vec![0])
        .expect("posted");
    endpoint.cancel(&cancelled).expect("asked");
    assert!(endpoint.wait(cancelled).is_err());
    endpoint.send(&mut peer, tag(5), b"a").expect("sent");
    endpoint.wait(first).expect("received");
    let mut log = Vec::new();
    endpoint.drain_order_log(&mut log);
    for number in [6, 5] {
        endpoint.send(&mut peer, tag(number), b"b").expect("sent");
    }
    while endpoint.progress() {}
    endpoint.probe(&world, rank(4), tag(5)).expect("there");
    let matched = endpoint
        .mprobe(&world, rank(4), TagSel::Any)
        .expect("there");
    let taken = endpoint.imrecv(matched, vec![0]).expect("asked");
    endpoint.cancel(&taken).expect("asked");
    endpoint.wait(taken).expect("it is too late to cancel it");
    endpoint
        .recv(&world, rank(4), tag(5), vec![0])
        .expect("received");
    endpoint.drain_order_log(&mut log);
    // The names of the receives that the log itself tells.
    let mut recvs = Vec::new();
    for entry in &log {
        let (LogEntry::Post { recv, .. } | LogEntry::Cancel { recv, .. }) = *entry else {
            continue;
        };
        if !recvs.contains(&recv) {
            recvs.push(recv);
        }
    }
    let [cancelled, first, taken, last] = recvs[..] else {
        panic!("four receives: {log:?}")
    };
    let post = |recv, selector, matched| LogEntry::Post {
        recv,
        comm,
        selector,
        matched,
    };
    let cancel = |recv, cancelled| LogEntry::Cancel { recv, cancelled };
    let probe = |selector, take, found| LogEntry::Probe {
        comm,
        selector,
        take,
        found,
    };
    let arrive = |msg, number, matched| {
        let envelope = Envelope {
            comm,
            source: rank(4),
            tag: tag(number),
        };
        LogEntry::Arrive {
            msg: MsgId(msg),
            envelope,
            matched,
        }
    };
    let told = [
        probe(five, false, None),
        post(cancelled, all, None),
        post(first, five, None),
        cancel(cancelled, true),
        arrive(0, 5, Some(first)),
        arrive(1, 6, None),
        arrive(2, 5, None),
        probe(five, false, Some(MsgId(2))),
        probe(all, true, Some(MsgId(1))),
        cancel(taken, false),
        post(last, five, Some(MsgId(2))),
    ];
    assert_eq!(log, told);
}
