//! Shards keep a communicator with any source on one shard, and never hold each other up.

use dpamatch::endpoint::{Drive, EndpointConfig, FreeError, PostError, SOURCES_DEALT, Shards};
use dpamatch::{Hints, NicConfig, SourceSel, TagSel};

use crate::{rank, tag, tiny, watchdog};

fn spread() -> Hints {
    Hints {
        no_any_source: true,
        ..Hints::default()
    }
}

fn shards(nic: NicConfig, number: usize) -> Shards {
    let config = EndpointConfig {
        nic,
        ..EndpointConfig::default()
    };
    Shards::new(&config, number).expect("small NICs")
}

#[test]
fn sources_are_spread_only_where_none_may_be_any() {
    let mut shards = shards(NicConfig::default(), 3);
    let world = shards.create_comm(spread()).expect("it runs");
    // In the order of their first use.
    assert_eq!(
        [8, 2, 6, 4, 0].map(|source| world.shard(rank(source))),
        [0, 1, 2, 0, 1]
    );
    assert_eq!(
        [0, 2, 4, 6, 8].map(|source| world.shard(rank(source))),
        [1, 1, 0, 2, 0]
    );
    let far = SOURCES_DEALT as u32;
    assert_eq!(
        [far, far + 2, far].map(|source| world.shard(rank(source)) as u32),
        { [far % 3, (far + 2) % 3, far % 3] }
    );
    assert_eq!(
        world.shard(rank(far - 1)),
        2,
        "those by number are not dealt out"
    );
    assert!((0..3).all(|shard| world.part(shard).is_some()) && world.part(3).is_none());
    let refused = shards.post_recv(&world, SourceSel::Any, tag(1), vec![0; 4]);
    assert!(matches!(refused, Err(PostError::WildcardExcluded(buffer)) if buffer.len() == 4));
    // Communicators that are not spread take turns.
    for home in [0, 1, 2, 0] {
        let comm = shards.create_comm(Hints::default()).expect("it runs");
        assert!(!comm.is_spread());
        assert_eq!([0, 1, 5].map(|source| comm.shard(rank(source))), [home; 3]);
        let on = [0, 1, 2].map(|shard| comm.part(shard).is_some());
        assert_eq!(on, [0, 1, 2].map(|shard| shard == home));
        let request = shards.post_recv(&comm, SourceSel::Any, TagSel::Any, vec![0; 2]);
        shards
            .sender(&comm, rank(5))
            .send(tag(3), b"hi")
            .expect("it runs");
        assert_eq!(
            shards
                .wait(request.expect("it runs"))
                .expect("it runs")
                .bytes(),
            b"hi"
        );
        shards.free_comm(comm).expect("nothing is left of it");
    }
}

#[test]
fn threads_agree_where_a_source_is() {
    let mut shards = shards(NicConfig::default(), 4);
    for _ in 0..50 {
        let world = shards.create_comm(spread()).expect("it runs");
        let begin = std::sync::Barrier::new(2);
        let ask = || {
            begin.wait();
            // A thread that is behind finds sources already dealt, catches up, and then deals some
            // itself.
            let sources = 0..SOURCES_DEALT as u32;
            sources
                .map(|source| world.shard(rank(source)))
                .collect::<Vec<_>>()
        };
        let [one, other] = std::thread::scope(|scope| {
            let threads = [scope.spawn(ask), scope.spawn(ask)];
            threads.map(|thread| thread.join().expect("it asks"))
        });
        assert_eq!(one, other);
        shards.free_comm(world).expect("nothing is on it");
    }
}

/// A communicator that cannot be freed comes back whole, whichever of its parts is in use.
#[test]
fn a_communicator_in_use_keeps_all_its_parts() {
    const SHARDS: u32 = 4;
    for busy in 0..SHARDS {
        let mut shards = shards(NicConfig::default(), SHARDS as usize);
        let world = shards.create_comm(spread()).expect("it runs");
        let places: Vec<_> = (0..SHARDS)
            .map(|source| world.shard(rank(source)))
            .collect();
        assert_eq!(places, [0, 1, 2, 3]);
        let mut left = shards.sender(&world, rank(busy));
        left.send(tag(1), b"left").expect("it runs");
        drop(left);
        while shards.progress() {}
        let Err(FreeError::Busy { comm: world, .. }) = shards.free_comm(world) else {
            panic!("a message waits on shard {busy}");
        };
        let parts = (0..=SHARDS as usize).map(|shard| world.part(shard).is_some());
        assert!(parts.eq([true, true, true, true, false]), "{busy}");
        for source in [3, 0, 2, 1] {
            assert_eq!(world.shard(rank(source)), source as usize);
            let sent: &[&[u8]] = if source == busy {
                &[b"left", b"good"]
            } else {
                &[b"good"]
            };
            let mut sender = shards.sender(&world, rank(source));
            sender.send(tag(1), b"good").expect("it runs");
            for text in sent {
                let request = shards.post_recv(&world, rank(source), tag(1), vec![0; 8]);
                let received = shards.wait(request.expect("it runs")).expect("it runs");
                assert_eq!(received.bytes(), *text, "{busy} {source}");
            }
        }
        shards.free_comm(world).expect("nothing is left");
    }
}

#[test]
fn progress_says_whether_any_shard_had_work() {
    let mut shards = shards(NicConfig::default(), 2);
    let world = shards.create_comm(spread()).expect("it runs");
    while shards.progress() {}
    for busy in [vec![0], vec![1], vec![0, 1]] {
        for &source in &busy {
            shards
                .sender(&world, rank(source))
                .send(tag(1), b"")
                .expect("it runs");
        }
        assert!(shards.progress(), "messages wait on the shards of {busy:?}");
        while shards.progress() {}
    }
}

/// A call about one shard that finds nothing lets each shard's NIC handle its message.
#[test]
fn calls_that_find_nothing_serve_all_shards() {
    let mut shards = shards(NicConfig::default(), 3);
    let world = shards.create_comm(spread()).expect("it runs");
    let places = [0, 1, 2].map(|source| world.shard(rank(source)));
    assert_eq!(places, [0, 1, 2]);
    let handled = |shards: &mut Shards| {
        let each = shards.endpoints().iter();
        each.map(|one| one.counts().0.handlers.messages)
            .collect::<Vec<_>>()
    };
    for (turn, call) in (0..9).map(|turn| (turn, turn % 3)) {
        let asked = rank(turn as u32 / 3);
        let request = shards.post_recv(&world, asked, tag(5), vec![0; 1]);
        let mut request = Some(request.expect("it runs"));
        while shards.progress() {}
        let before = handled(&mut shards);
        for source in 0..3 {
            let mut sender = shards.sender(&world, rank(source));
            sender.send(tag(9), b"x").expect("it runs");
        }
        let none = match call {
            0 => shards
                .iprobe(&world, asked, tag(7))
                .expect("it runs")
                .is_none(),
            1 => shards
                .improbe(&world, asked, tag(7))
                .expect("it runs")
                .is_none(),
            _ => shards.test(&mut request).is_none(),
        };
        let after: Vec<_> = before.iter().map(|count| count + 1).collect();
        assert_eq!((none, handled(&mut shards)), (true, after), "turn {turn}");
        let request = request.expect("it waits");
        shards.cancel(&request).expect("it runs");
        assert!(shards.wait(request).is_err());
        for source in 0..3 {
            let request = shards.post_recv(&world, rank(source), tag(9), vec![0; 1]);
            shards.wait(request.expect("it runs")).expect("received");
        }
    }
    shards.free_comm(world).expect("nothing is left");
}

#[test]
fn results_come_in_the_order_of_the_requests() {
    let mut shards = shards(NicConfig::default(), 2);
    let world = shards.create_comm(spread()).expect("it runs");
    let sources = [1, 0, 1];
    let requests = sources.map(|source| {
        shards
            .post_recv(&world, rank(source), tag(1), vec![0; 1])
            .expect("it runs")
    });
    for (number, &source) in sources.iter().enumerate() {
        shards
            .sender(&world, rank(source))
            .send(tag(1), &[number as u8])
            .expect("it runs");
    }
    let results = shards.wait_all(requests);
    let bytes = results
        .into_iter()
        .map(|result| result.expect("received").buffer);
    assert_eq!(bytes.collect::<Vec<_>>(), [[0], [1], [2]]);
}

#[test]
fn workers_of_all_shards_are_pinned_in_turn() {
    let pin_to = (90_001..90_006).collect();
    let config = EndpointConfig {
        nic: NicConfig {
            workers: 2,
            ..tiny()
        },
        drive: Drive::Threads { pin_to },
    };
    let mut shards = Shards::new(&config, 3).expect("small NICs");
    let asked = shards.endpoints().iter().map(|endpoint| {
        let mut failures = endpoint.pin_failures().to_vec();
        failures.sort_by_key(|failure| failure.worker);
        failures
            .iter()
            .map(|failure| failure.processor - 90_000)
            .collect::<Vec<_>>()
    });
    assert_eq!(asked.collect::<Vec<_>>(), [[1, 2], [3, 4], [5, 1]]);
}

/// A wait or a test on one shard drives the others, too: another shard holds up the sender.
#[test]
fn who_waits_for_one_source_serves_all() {
    let _dog = watchdog::on("shards: a wait serves all");
    let nic = NicConfig {
        handlers: 2,
        completion_queue: 4,
        bounce_buffers: 4,
        ..tiny()
    };
    for (drive, tests) in [
        (Drive::Caller, false),
        (Drive::Caller, true),
        (Drive::threads(), true),
    ] {
        let config = EndpointConfig { nic, drive };
        let mut shards = Shards::new(&config, 2).expect("small NICs");
        let world = shards.create_comm(spread()).expect("it runs");
        let (mut even, mut odd) = (
            shards.sender(&world, rank(0)),
            shards.sender(&world, rank(1)),
        );
        let sending = std::thread::spawn(move || {
            (0..64u8).for_each(|number| even.send(tag(1), &[number]).expect("it runs"));
            odd.send(tag(1), &[99]).expect("it runs");
        });
        let request = shards
            .post_recv(&world, rank(1), tag(1), vec![0; 1])
            .expect("it runs");
        let received = if tests {
            let mut request = Some(request);
            std::iter::from_fn(|| Some(shards.test(&mut request))).find_map(|ended| ended)
        } else {
            Some(shards.wait(request))
        };
        assert_eq!(received.expect("it ends").expect("it runs").bytes(), [99]);
        sending.join().expect("all was sent");
        for number in 0..64 {
            let request = shards
                .post_recv(&world, rank(0), tag(1), vec![0; 1])
                .expect("it runs");
            assert_eq!(shards.wait(request).expect("it runs").bytes(), [number]);
        }
    }
}

#[test]
fn each_shard_may_have_a_thread_of_its_own() {
    let _dog = watchdog::on("shards: a thread each");
    let mut shards = shards(NicConfig::default(), 2);
    let world = shards.create_comm(spread()).expect("it runs");
    let senders = [0, 1].map(|source| shards.sender(&world, rank(source)));
    std::thread::scope(|scope| {
        let pairs = shards.endpoints().iter_mut().zip(senders).enumerate();
        for (shard, (endpoint, mut sender)) in pairs {
            let part = world.part(shard).expect("it is spread");
            scope.spawn(move || {
                for number in 0..500u32 {
                    let request = endpoint.post_recv(part, sender.rank(), tag(number), vec![0; 4]);
                    sender
                        .send(tag(number), &number.to_le_bytes())
                        .expect("it runs");
                    let received = endpoint.wait(request.expect("it runs")).expect("it runs");
                    assert_eq!(received.bytes(), number.to_le_bytes());
                }
            });
        }
    });
}

#[test]
#[should_panic(expected = "the handle belongs to other shards")]
fn a_request_of_other_shards_is_refused() {
    let (mut own, mut others) = (shards(tiny(), 1), shards(tiny(), 1));
    let comm = others.create_comm(Hints::default()).expect("it runs");
    let request = others
        .post_recv(&comm, rank(0), tag(0), vec![])
        .expect("it runs");
    let _ = own.wait(request);
}
