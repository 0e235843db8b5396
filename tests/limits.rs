//! Tables that are filled to their last entry, and one entry further: software takes over where the
//! NIC has no room, nothing is lost, and the NIC takes over again.

use dpa_model::{CommId, Event, Hints, Nic, NicConfig};
use dpamatch::endpoint::{CommSender, Communicator, Drive, Endpoint, EndpointConfig};
use dpamatch_vocabulary::{Rank, Tag};

/// The most bins of a communicator, as `docs` and command line say it.
const BINS_MAX: u32 = 1_048_576;

/// Whether the NIC has tables for a new communicator with these bins.
fn is_offloaded(nic: &mut Nic, bins: u32) -> bool {
    let comm = CommId(0);
    let hints = Hints::default();
    nic.host.create(comm, bins, hints, 0).expect("room");
    nic.leader.round(1);
    let Some(Event::Created { offloaded, .. }) = nic.host.poll() else {
        panic!("an answer")
    };
    nic.host.free(comm, 0).expect("room");
    nic.leader.round(1);
    let freed = nic.host.poll();
    assert!(
        matches!(freed, Some(Event::Freed { busy: false, .. })),
        "{freed:?}"
    );
    offloaded
}

/// There is room for more, so that the limit alone refuses. What was refused takes no room.
#[test]
fn a_communicator_has_one_to_a_million_bins() {
    let config = NicConfig {
        bins: 1,
        index_bins: 3 * (BINS_MAX as usize + 1) + 1,
        ..NicConfig::default()
    };
    let mut nic = Nic::new(&config).expect("a NIC can be built");
    for (bins, fits) in [
        (0, false),
        (1, true),
        (2, true),
        (u32::MAX, false),
        (BINS_MAX + 1, false),
        (BINS_MAX, true),
        (BINS_MAX - 1, true),
    ] {
        assert_eq!(is_offloaded(&mut nic, bins), fits, "{bins}");
    }
}

/// A communicator fits whose bins fill the NIC's memory for bins, and not one with one bin more.
#[test]
fn bins_of_all_communicators_have_a_room() {
    for bins in [1, 2, 100] {
        let config = NicConfig {
            index_bins: 3 * bins + 1,
            ..NicConfig::default()
        };
        let mut nic = Nic::new(&config).expect("a NIC can be built");
        for (more, fits) in [(1, false), (0, true), (1, false), (0, true)] {
            assert_eq!(
                is_offloaded(&mut nic, bins as u32 + more),
                fits,
                "{bins} + {more}"
            );
        }
    }
}

struct World {
    endpoint: Endpoint,
    comm: Communicator,
    sender: CommSender,
}

fn tag(number: usize) -> Tag {
    Tag::new(number as u32).expect("a small tag")
}

impl World {
    fn new(nic: NicConfig) -> Self {
        let drive = Drive::Caller;
        let mut endpoint = Endpoint::new(&EndpointConfig { nic, drive }).expect("built");
        let comm = endpoint.create_comm(Hints::default()).expect("it runs");
        let sender = endpoint.sender(&comm, Rank::default());
        Self {
            endpoint,
            comm,
            sender,
        }
    }

    fn settle(&mut self) {
        while self.endpoint.progress() {}
    }

    fn send(&mut self, number: usize) {
        let text = [number as u8; 3];
        self.endpoint
            .send(&mut self.sender, tag(number), &text)
            .expect("sent");
        self.settle();
    }

    fn post(&mut self, number: usize) -> dpamatch::endpoint::RecvRequest {
        let (source, buffer) = (Rank::default(), vec![0; 4]);
        let posted = self
            .endpoint
            .post_recv(&self.comm, source, tag(number), buffer);
        self.settle();
        posted.expect("posted")
    }

    fn ends(&mut self, request: dpamatch::endpoint::RecvRequest, number: usize) {
        let received = self.endpoint.wait(request).expect("received");
        assert_eq!(received.bytes(), [number as u8; 3]);
    }

    /// Receives and messages that found no room on the NIC, and returns of the communicator to it.
    fn fallbacks(&self) -> [u64; 3] {
        let boundary = self.endpoint.counts().0.boundary;
        [
            boundary.fallback_receives,
            boundary.fallback_unexpected,
            boundary.resumed,
        ]
    }

    /// The NIC matches again, and its tables are free: they take as much as at first.
    fn is_as_new(&mut self, beyond: bool) {
        self.settle();
        assert_eq!(self.fallbacks()[2], u64::from(beyond), "it returns");
        let before = self.endpoint.counts();
        let request = self.post(90);
        self.send(90);
        self.ends(request, 90);
        let after = self.endpoint.counts();
        assert_eq!(after.1.posts, before.1.posts, "software gets nothing");
        let admitted = |it: dpa_model::Counts| it.boundary.posts_admitted;
        assert_eq!(admitted(after.0), admitted(before.0) + 1);
    }
}

#[test]
fn a_table_of_receives_is_filled_to_its_last_entry() {
    for depth in [1, 2, 5] {
        for posts in [depth - 1, depth, depth + 1] {
            let mut world = World::new(NicConfig {
                receives: depth,
                bins: 2,
                ..NicConfig::default()
            });
            let beyond = posts > depth;
            for _ in 0..2 {
                let before = world.fallbacks();
                let requests: Vec<_> = (0..posts).map(|number| world.post(number)).collect();
                let [receives, messages, _] = world.fallbacks();
                assert_eq!(
                    (receives - before[0], messages - before[1]),
                    (u64::from(beyond), 0),
                    "{posts} of {depth}"
                );
                // In falling order.
                (0..posts).rev().for_each(|number| world.send(number));
                for (number, request) in requests.into_iter().enumerate() {
                    world.ends(request, number);
                }
                world.settle();
            }
            assert_eq!(world.fallbacks()[2], 2 * u64::from(beyond));
        }
    }
}

#[test]
fn a_store_of_messages_is_filled_to_its_last_entry() {
    for depth in [1, 2, 5] {
        for messages in [depth - 1, depth, depth + 1] {
            let mut world = World::new(NicConfig {
                unexpected: depth,
                unexpected_buffers: depth,
                bins: 2,
                ..NicConfig::default()
            });
            (0..messages).for_each(|number| world.send(number));
            let beyond = messages > depth;
            assert_eq!(
                world.fallbacks()[..2],
                [0, u64::from(beyond)],
                "{messages} of {depth}"
            );
            for number in (0..messages).rev() {
                let request = world.post(number);
                world.ends(request, number);
            }
            world.is_as_new(beyond);
        }
    }
}
