//! Shards give the oracle's result on streams, keep a communicator with any source on one shard,
//! and never hold each other up.

use std::collections::{BTreeMap, BTreeSet};

use dpamatch::endpoint::{
    BusyReason, CommSender, Drive, EndpointConfig, FreeError, PostError, RecvError, RecvRequest,
    SOURCES_DEALT, ShardedCommunicator, Shards,
};
use dpamatch::engine::{Engine, MsgId, Oracle, RecvId};
use dpamatch::stream::{Event, Generator, Profile};
use dpamatch::{CommId, Hints, NicConfig, SourceSel, TagSel};

use crate::{no_tables, rank, tag, tiny, watchdog};

/// Events of a stream: few, so that many streams run, but enough for queues.
const EVENTS: u64 = 150;

fn spread() -> Hints {
    Hints { no_any_source: true, ..Hints::default() }
}

fn shards(nic: NicConfig, number: usize) -> Shards {
    let config = EndpointConfig { nic, ..EndpointConfig::default() };
    Shards::new(&config, number).expect("small NICs")
}

/// Plays a stream, one event after the other, and compares every result with the oracle's.
struct Play {
    shards: Shards,
    oracle: Oracle,
    comms: BTreeMap<CommId, ShardedCommunicator>,
    senders: BTreeMap<(CommId, u32), CommSender>,
    requests: BTreeMap<RecvId, Option<RecvRequest>>,
    /// Receives that matched in the oracle and not yet on the shards.
    expected: BTreeMap<RecvId, MsgId>,
}

impl Play {
    fn new(nic: NicConfig, number: usize, events: &[Event]) -> Self {
        let mut shards = shards(nic, number);
        let wild: BTreeSet<CommId> = events.iter().filter_map(asks_for_any_source).collect();
        let comms: BTreeSet<CommId> =
            events.iter().filter_map(|event| event.operation(8, 8).comm()).collect();
        let create = |&comm| {
            let hints = if wild.contains(&comm) { Hints::default() } else { spread() };
            let created = shards.create_comm(hints).expect("it runs");
            assert_eq!(created.is_spread(), hints.no_any_source && number > 1);
            (comm, created)
        };
        let comms = comms.iter().map(create).collect();
        Self {
            shards,
            oracle: Oracle::new(),
            comms,
            senders: BTreeMap::new(),
            requests: BTreeMap::new(),
            expected: BTreeMap::new(),
        }
    }

    fn event(&mut self, event: &Event) {
        match *event {
            Event::Post { recv, comm, selector, .. } => {
                let posted = self.shards.post_recv(
                    &self.comms[&comm],
                    selector.source,
                    selector.tag,
                    vec![0; 8],
                );
                self.requests.insert(recv, Some(posted.expect("it runs")));
                if let Some(msg) = self.oracle.post(recv, comm, selector) {
                    self.expected.insert(recv, msg);
                }
            }
            Event::Arrive { msg, envelope, .. } => {
                let source = envelope.source;
                let comm = &self.comms[&envelope.comm];
                let sender = || self.shards.sender(comm, source);
                let key = (envelope.comm, source.get());
                let sender = self.senders.entry(key).or_insert_with(sender);
                sender.send(envelope.tag, &msg.0.to_le_bytes()).expect("it runs");
                if let Some(recv) = self.oracle.arrive(msg, envelope) {
                    self.expected.insert(recv, msg);
                }
            }
            Event::Cancel { recv } => {
                let cancelled = self.oracle.cancel(recv);
                let Some(Some(request)) = self.requests.get(&recv) else {
                    return assert!(!cancelled);
                };
                self.shards.cancel(request).expect("it runs");
                if cancelled {
                    let request = self.requests.insert(recv, None).flatten().expect("just seen");
                    let ended = self.shards.wait(request);
                    assert!(matches!(ended, Err(RecvError::Cancelled(_))), "{ended:?}");
                }
            }
            Event::Probe { comm, selector, .. } => {
                let comm_of = &self.comms[&comm];
                let found = self.shards.iprobe(comm_of, selector.source, selector.tag);
                let found = found.expect("it runs").is_some();
                assert_eq!(found, self.oracle.probe(comm, selector).is_some(), "{event:?}");
            }
            Event::Mprobe { comm, selector, .. } => {
                let comm_of = &self.comms[&comm];
                let found = self.shards.improbe(comm_of, selector.source, selector.tag);
                let found = found.expect("it runs").map(|message| {
                    number(self.shards.mrecv(message, vec![0; 8]).expect("it runs").bytes())
                });
                assert_eq!(found, self.oracle.mprobe(comm, selector), "{event:?}");
            }
        }
        // Each event ends before the next one begins, so there is only one correct result.
        while self.shards.progress() {}
        for (recv, msg) in std::mem::take(&mut self.expected) {
            let request = self.requests.get_mut(&recv).expect("a receive that was posted");
            let received = self.shards.test(request).expect("the oracle's has ended");
            assert_eq!(number(received.expect("it runs").bytes()), msg, "{recv:?}");
        }
    }
}

fn number(bytes: &[u8]) -> MsgId {
    MsgId(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
}

fn asks_for_any_source(event: &Event) -> Option<CommId> {
    match *event {
        Event::Post { comm, selector, .. }
        | Event::Probe { comm, selector, .. }
        | Event::Mprobe { comm, selector, .. } => {
            (selector.source == SourceSel::Any).then_some(comm)
        }
        _ => None,
    }
}

#[test]
fn streams_are_matched_as_by_the_oracle() {
    let _dog = watchdog::on("streams through shards");
    for number in [1, 2, 3, 7] {
        for (seed, nic) in
            (0..).zip([NicConfig { bins: 16, ..NicConfig::default() }, tiny(), no_tables()])
        {
            for &profile in Profile::ALL {
                let events: Vec<_> = Generator::new(seed, EVENTS, profile).collect();
                let mut play = Play::new(nic, number, &events);
                events.iter().for_each(|event| play.event(event));
                let left = play.requests.values().flatten().count();
                assert_eq!(left, play.oracle.posted().len(), "{number} shards, {profile}");
            }
        }
    }
}

#[test]
fn sources_are_spread_only_where_none_may_be_any() {
    let mut shards = shards(NicConfig::default(), 3);
    let world = shards.create_comm(spread()).expect("it runs");
    // In the order of their first use.
    assert_eq!([8, 2, 6, 4, 0].map(|source| world.shard(rank(source))), [0, 1, 2, 0, 1]);
    assert_eq!([0, 2, 4, 6, 8].map(|source| world.shard(rank(source))), [1, 1, 0, 2, 0]);
    let far = SOURCES_DEALT as u32;
    assert_eq!([far, far + 2, far].map(|source| world.shard(rank(source)) as u32), {
        [far % 3, (far + 2) % 3, far % 3]
    });
    assert_eq!(world.shard(rank(far - 1)), 2, "those by number are not dealt out");
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
        shards.sender(&comm, rank(5)).send(tag(3), b"hi").expect("it runs");
        assert_eq!(shards.wait(request.expect("it runs")).expect("it runs").bytes(), b"hi");
        shards.free_comm(comm).expect("nothing is left of it");
    }
}

#[test]
fn a_communicator_is_freed_on_all_shards_or_on_none() {
    let mut shards = shards(NicConfig::default(), 2);
    let world = shards.create_comm(spread()).expect("it runs");
    // On shard 0, which is polled last.
    let request = shards.post_recv(&world, rank(0), tag(1), vec![0; 2]).expect("it runs");
    let Err(FreeError::Busy { comm: world, reason }) = shards.free_comm(world) else {
        panic!("a receive is left");
    };
    assert_eq!(reason, BusyReason::Receives(1));
    assert!(world.is_spread(), "it is on all shards again");
    for source in [0, 1] {
        shards.sender(&world, rank(source)).send(tag(1), &[source as u8]).expect("it runs");
    }
    assert_eq!(shards.wait(request).expect("it runs").bytes(), [0]);
    let request = shards.post_recv(&world, rank(1), tag(1), vec![0; 2]).expect("it runs");
    assert_eq!(shards.wait(request).expect("it runs").bytes(), [1]);
    shards.free_comm(world).expect("nothing is left of it");
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
            sources.map(|source| world.shard(rank(source))).collect::<Vec<_>>()
        };
        let [one, other] = std::thread::scope(|scope| {
            let threads = [scope.spawn(ask), scope.spawn(ask)];
            threads.map(|thread| thread.join().expect("it asks"))
        });
        assert_eq!(one, other);
        shards.free_comm(world).expect("nothing is on it");
    }
}

#[test]
fn progress_says_whether_any_shard_had_work() {
    let mut shards = shards(NicConfig::default(), 2);
    let world = shards.create_comm(spread()).expect("it runs");
    while shards.progress() {}
    for busy in [vec![0], vec![1], vec![0, 1]] {
        for &source in &busy {
            shards.sender(&world, rank(source)).send(tag(1), b"").expect("it runs");
        }
        assert!(shards.progress(), "messages wait on the shards of {busy:?}");
        while shards.progress() {}
    }
}

#[test]
fn results_come_in_the_order_of_the_requests() {
    let mut shards = shards(NicConfig::default(), 2);
    let world = shards.create_comm(spread()).expect("it runs");
    let sources = [1, 0, 1];
    let requests = sources
        .map(|source| shards.post_recv(&world, rank(source), tag(1), vec![0; 1]).expect("it runs"));
    for (number, &source) in sources.iter().enumerate() {
        shards.sender(&world, rank(source)).send(tag(1), &[number as u8]).expect("it runs");
    }
    let results = shards.wait_all(requests);
    let bytes = results.into_iter().map(|result| result.expect("received").buffer);
    assert_eq!(bytes.collect::<Vec<_>>(), [[0], [1], [2]]);
}

/// A wait on one shard drives the others, too: another shard holds up the sender.
#[test]
fn who_waits_for_one_source_serves_all() {
    let _dog = watchdog::on("shards: a wait serves all");
    let nic = NicConfig { handlers: 2, completion_queue: 4, bounce_buffers: 4, ..tiny() };
    for drive in [Drive::Caller, Drive::threads()] {
        let config = EndpointConfig { nic, drive };
        let mut shards = Shards::new(&config, 2).expect("small NICs");
        let world = shards.create_comm(spread()).expect("it runs");
        let (mut even, mut odd) = (shards.sender(&world, rank(0)), shards.sender(&world, rank(1)));
        let sending = std::thread::spawn(move || {
            (0..64u8).for_each(|number| even.send(tag(1), &[number]).expect("it runs"));
            odd.send(tag(1), &[99]).expect("it runs");
        });
        let request = shards.post_recv(&world, rank(1), tag(1), vec![0; 1]).expect("it runs");
        assert_eq!(shards.wait(request).expect("it runs").bytes(), [99]);
        sending.join().expect("all was sent");
        for number in 0..64 {
            let request = shards.post_recv(&world, rank(0), tag(1), vec![0; 1]).expect("it runs");
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
                    sender.send(tag(number), &number.to_le_bytes()).expect("it runs");
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
    let request = others.post_recv(&comm, rank(0), tag(0), vec![]).expect("it runs");
    let _ = own.wait(request);
}
