//! Many rounds with tables that fit exactly. A leak would soon exhaust them, and the fallback to
//! software would hide that, so its counters must stay 0.

use dpa_model::NicConfig;
use dpamatch::endpoint::{Communicator, Drive, Endpoint, EndpointConfig};
use dpamatch::{Hints, Rank, SourceSel, TagSel};

use super::{open, tag, watchdog};

const ROUNDS: usize = 200;

/// Room for two of everything.
fn exact() -> NicConfig {
    NicConfig {
        receives: 2,
        bins: 4,
        communicators: 2,
        eager_limit: 64,
        unexpected: 2,
        unexpected_buffers: 2,
        regions: 2,
        ..NicConfig::default()
    }
}

fn round(endpoint: &mut Endpoint, world: &Communicator, length: usize) {
    let mut peer = endpoint.sender(world, Rank::default());
    let bytes = vec![5; length];
    let mut send = |endpoint: &mut Endpoint| {
        endpoint.send(&mut peer, tag(1), &bytes).expect("sent");
    };
    let post = |endpoint: &mut Endpoint| {
        endpoint
            .post_recv(world, SourceSel::Any, TagSel::Any, vec![0; length])
            .expect("posted")
    };
    // Expected, cancelled.
    let requests = [post(endpoint), post(endpoint)];
    send(endpoint);
    endpoint.cancel(&requests[1]).expect("asked");
    let mut results = endpoint.wait_all(requests).into_iter();
    assert_eq!(
        results.next().expect("two").expect("received").bytes(),
        bytes
    );
    assert!(results.next().expect("two").is_err());
    // Unexpected, and taken by a probe: the store holds both at once.
    send(endpoint);
    send(endpoint);
    let matched = endpoint
        .mprobe(world, SourceSel::Any, tag(1))
        .expect("there");
    let late = post(endpoint);
    assert_eq!(endpoint.wait(late).expect("received").bytes(), bytes);
    assert_eq!(
        endpoint
            .mrecv(matched, vec![0; length])
            .expect("received")
            .bytes(),
        bytes
    );
    // A send whose request is dropped: before the message is read, and after.
    let mut peer = endpoint.sender(world, Rank::default());
    for before in [true, false] {
        let mut sent = Some(peer.try_issend(tag(2), bytes.clone()).expect("sent"));
        sent.take_if(|_| before);
        let received = endpoint.recv(world, SourceSel::Any, tag(2), vec![0; length]);
        assert_eq!(received.expect("received").bytes(), bytes);
    }
}

#[test]
fn nothing_leaks() {
    let _dog = watchdog::on("an endpoint: nothing leaks");
    for drive in [Drive::Caller, Drive::threads()] {
        let config = EndpointConfig {
            nic: exact(),
            drive,
        };
        let mut endpoint = Endpoint::new(&config).expect("a NIC can be built");
        // Payloads in the entry, in a buffer, at the sender.
        for number in 0..ROUNDS {
            let world = endpoint
                .create_comm(Hints::default())
                .expect("the NIC runs");
            assert!(world.is_offloaded());
            round(&mut endpoint, &world, [8, 60, 200][number % 3]);
            endpoint.free_comm(world).expect("nothing is left");
        }
        let (counts, software) = endpoint.counts();
        let fallbacks = counts.boundary.fallback_receives
            + counts.boundary.fallback_unexpected
            + counts.boundary.fallback_tables;
        assert_eq!((fallbacks, counts.regions_added), (0, 0), "{counts:?}");
        assert_eq!((software.posts, software.arrivals), (0, 0), "{software:?}");
        assert_eq!(counts.boundary.unexpected_bytes_high, 2 * 60, "{counts:?}");
    }
}

#[test]
fn wait_any_takes_the_first_that_has_ended() {
    let _dog = watchdog::on("an endpoint: wait any takes the first that has ended");
    let (mut endpoint, world) = open(NicConfig::default(), Drive::Caller);
    let mut peer = endpoint.sender(&world, Rank::default());
    let post = |endpoint: &mut Endpoint, number| {
        Some(
            endpoint
                .post_recv(&world, SourceSel::Any, tag(number), vec![0; 4])
                .expect("posted"),
        )
    };
    let mut requests: Vec<_> = (0..4).map(|number| post(&mut endpoint, number)).collect();
    for number in [3, 1, 2] {
        endpoint
            .send(&mut peer, tag(number), b"some")
            .expect("sent");
    }
    while endpoint.progress() {}
    for place in [1, 2, 3] {
        assert_eq!(
            endpoint.wait_any(&mut requests).map(|(place, _)| place),
            Some(place)
        );
    }
    assert!(requests[0].is_some());
}
