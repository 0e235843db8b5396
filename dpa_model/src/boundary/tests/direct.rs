//! Immediate operations and operations through the queues, mixed on one NIC: the oracle's results.

use alloc::vec::Vec;

use crate::matching::tests::Random;
use crate::{
    CommId, DirectResult, Envelope, Event, Hints, Nic, NicConfig, Rank, RequestId, Round, Selector,
    SourceSel, Tag, TagSel, TwoLists,
};

const COMM: CommId = CommId(0);

/// A NIC, the oracle, and the names of receives.
struct Both {
    nic: Nic,
    oracle: TwoLists<u32, u64>,
    /// Receives with a request.
    requests: Vec<(RequestId, u32)>,
    arrivals: u64,
    /// Immediate operations that met their partner, waited, or went through the queues.
    counts: [u64; 3],
    /// Maximum number of consecutive messages that took a receive.
    longest_row: usize,
    posts: u64,
}

impl Both {
    fn new() -> Self {
        let config = NicConfig {
            handlers: 4,
            communicators: 1,
            ..NicConfig::default()
        };
        let mut nic = Nic::new(&config).expect("a NIC");
        nic.host
            .create(COMM, 3, Hints::default(), 0)
            .expect("room for a command");
        let (oracle, requests) = (TwoLists::default(), Vec::new());
        let (counts, longest_row) = ([0; 3], 0);
        let mut both = Self {
            nic,
            oracle,
            requests,
            arrivals: 0,
            counts,
            longest_row,
            posts: 0,
        };
        assert_eq!(both.settle(), None);
        both
    }

    fn count<T>(&mut self, now: &DirectResult<T>) {
        let kind = match now {
            DirectResult::Matched(_) => 0,
            DirectResult::Unmatched => 1,
            DirectResult::UseQueues => 2,
        };
        self.counts[kind] += 1;
    }

    /// Runs the NIC. Returns the match that it reports, if any.
    fn settle(&mut self) -> Option<(u32, u64)> {
        while self.nic.leader.round(1) == Round::Worked {}
        let mut found = None;
        while let Some(event) = self.nic.host.poll() {
            if let Event::Received {
                request, message, ..
            } = event
            {
                let of_port = self.requests.iter().find(|(other, _)| *other == request);
                let recv = request
                    .number()
                    .or(of_port.map(|&(_, recv)| recv))
                    .expect("known");
                assert_eq!(
                    found.replace((recv, message.arrival)),
                    None,
                    "one match at a time"
                );
            }
        }
        found
    }

    fn post(&mut self, recv: u32, selector: Selector, at_once: bool) {
        let now = match at_once {
            true => self.nic.leader.post_now(COMM, selector, recv),
            false => DirectResult::UseQueues,
        };
        self.count(&now);
        self.posts += 1;
        let found = match now {
            DirectResult::Matched(arrival) => Some((recv, arrival)),
            DirectResult::Unmatched => None,
            DirectResult::UseQueues => {
                let request = self
                    .nic
                    .host
                    .post(COMM, selector, Vec::new(), 0)
                    .expect("room");
                self.requests.push((request, recv));
                self.settle()
            }
        };
        assert_eq!(found, self.oracle.post(recv, COMM, selector));
    }

    /// Consecutive messages, up to the first that takes no receive.
    fn row(&mut self, envelopes: &[Envelope]) {
        let mut row = self.nic.leader.batch(COMM).expect("the NIC knows it");
        let take = |envelope: &Envelope| match row.take(envelope.source, envelope.tag) {
            DirectResult::Matched(recv) => Some(recv),
            DirectResult::Unmatched | DirectResult::UseQueues => None,
        };
        let taken: Vec<u32> = envelopes.iter().map_while(take).collect();
        assert_eq!(row.taken(), taken.len() as u64);
        drop(row);
        for (&recv, &envelope) in taken.iter().zip(envelopes) {
            assert_eq!(
                self.oracle.arrive(self.arrivals, envelope),
                Some((recv, self.arrivals))
            );
            self.arrivals += 1;
        }
        if let Some(&envelope) = envelopes.get(taken.len()) {
            self.arrive(envelope, true);
        }
        self.longest_row = self.longest_row.max(taken.len());
    }

    fn arrive(&mut self, envelope: Envelope, at_once: bool) {
        let now = match at_once {
            true => self.nic.leader.arrive_now(&envelope),
            false => DirectResult::UseQueues,
        };
        self.count(&now);
        let found = match now {
            DirectResult::Matched(recv) => Some((recv, self.arrivals)),
            DirectResult::Unmatched => None,
            DirectResult::UseQueues => {
                self.nic
                    .sender
                    .try_send(envelope, &[], 0)
                    .expect("room for a message");
                self.settle()
            }
        };
        assert_eq!(found, self.oracle.arrive(self.arrivals, envelope));
        self.arrivals += 1;
    }
}

#[test]
fn both_ways_mix() {
    let (mut all, mut longest_row) = ([0; 3], 0);
    for seed in 1..=if cfg!(miri) { 2 } else { 40 } {
        let mut random = Random::new(seed);
        let mut both = Both::new();
        // How often of 4 an operation is immediate.
        let at_once = random.below(5);
        for recv in 0..if cfg!(miri) { 60 } else { 400 } {
            let source = Rank::new(random.below(2) as u32).expect("small");
            let tag = Tag::new(random.below(3) as u32).expect("small");
            let now = random.below(4) < at_once;
            match random.below(9) {
                0..4 => {
                    let source = random.pick(&[source.into(), source.into(), SourceSel::Any]);
                    let tag = random.pick(&[tag.into(), tag.into(), TagSel::Any]);
                    both.post(recv, Selector { source, tag }, now);
                }
                4..7 => both.arrive(
                    Envelope {
                        comm: COMM,
                        source,
                        tag,
                    },
                    now,
                ),
                7 => {
                    let of = |tag| Envelope {
                        comm: COMM,
                        source,
                        tag,
                    };
                    let tags = [0, 1, 2, 0, 1].map(|tag| Tag::new(tag).expect("small"));
                    both.row(
                        &tags[random.below(5) as usize..]
                            .iter()
                            .copied()
                            .map(of)
                            .collect::<Vec<_>>(),
                    );
                }
                // A receive that was posted immediately, and any other number.
                _ => {
                    let recv = random.below(u64::from(recv) + 1) as u32;
                    let is_port = both.requests.iter().any(|&(_, other)| other == recv);
                    let selectors = [SourceSel::Any, SourceSel::from(source)]
                        .map(|source| [TagSel::Any, tag.into()].map(|tag| (source, tag)));
                    let mut selectors = selectors.iter().flatten();
                    let leader = &mut both.nic.leader;
                    let cancelled = selectors.any(|&(source, tag)| {
                        leader.cancel_now(COMM, Selector { source, tag }, recv)
                    });
                    assert!(!(cancelled && is_port));
                    if cancelled {
                        assert_eq!(both.oracle.cancel(|&other| other == recv), Some(recv));
                    }
                }
            }
        }
        let counts = both.nic.leader.monitor().counts();
        assert_eq!(counts.handlers.messages, both.arrivals);
        assert_eq!(counts.boundary.posts, both.posts);
        longest_row = longest_row.max(both.longest_row);
        all = core::array::from_fn(|kind| all[kind] + both.counts[kind]);
    }
    assert!(cfg!(miri) || longest_row >= 4, "{longest_row}");
    assert!(
        cfg!(miri) || all.iter().all(|&count| count > 1000),
        "{all:?}"
    );
}

/// What does not fit goes through the queues: no tables, no descriptor, no room in the store.
#[test]
fn what_does_not_fit_changes_nothing() {
    let config = NicConfig {
        receives: 1,
        unexpected: 1,
        unexpected_buffers: 0,
        eager_limit: 0,
        communicators: 1,
        ..NicConfig::default()
    };
    let mut nic = Nic::new(&config).expect("a NIC");
    let tag = |tag| Tag::new(tag).expect("small");
    let selector = |number| Selector::new(Rank::default(), tag(number));
    let envelope = |number| Envelope {
        comm: COMM,
        source: Rank::default(),
        tag: tag(number),
    };
    assert_eq!(
        nic.leader.post_now(COMM, selector(1), 1),
        DirectResult::UseQueues,
        "no tables"
    );
    assert_eq!(
        nic.leader.arrive_now(&envelope(1)),
        DirectResult::UseQueues,
        "no tables"
    );
    nic.host
        .create(COMM, 8, Hints::default(), 0)
        .expect("room for a command");
    while nic.leader.round(1) == Round::Worked {}
    assert_eq!(
        nic.leader.post_now(COMM, selector(1), 1),
        DirectResult::Unmatched
    );
    assert_eq!(
        nic.leader.post_now(COMM, selector(2), 2),
        DirectResult::UseQueues,
        "no descriptor"
    );
    assert_eq!(nic.leader.arrive_now(&envelope(2)), DirectResult::Unmatched);
    assert_eq!(
        nic.leader.arrive_now(&envelope(3)),
        DirectResult::UseQueues,
        "no room"
    );
    assert_eq!(
        nic.leader.post_now(COMM, selector(2), 2),
        DirectResult::Matched(0)
    );
    assert_eq!(nic.leader.match_now(&envelope(3)), DirectResult::Unmatched);
    assert_eq!(nic.leader.match_now(&envelope(1)), DirectResult::Matched(1));
    assert_eq!(
        nic.leader.match_now(&Envelope {
            comm: CommId(9),
            ..envelope(1)
        }),
        DirectResult::UseQueues
    );
    let counts = nic.leader.monitor().counts();
    assert_eq!((counts.boundary.posts, counts.handlers.messages), (2, 2));
    assert_eq!((counts.handlers.in_order, counts.handlers.clean), (1, 0));
}

/// Where every block is a shared one, nothing is matched in order.
#[test]
fn shared_blocks_leave_everything_to_the_queues() {
    let mut config = NicConfig::default();
    config.options.always_shared = true;
    let mut nic = Nic::new(&config).expect("a NIC");
    nic.host
        .create(COMM, 8, Hints::default(), 0)
        .expect("room for a command");
    while nic.leader.round(1) == Round::Worked {}
    let selector = Selector::new(Rank::default(), Tag::default());
    assert_eq!(
        nic.leader.post_now(COMM, selector, 1),
        DirectResult::UseQueues
    );
    assert_eq!(
        nic.leader.match_now(&Envelope::default()),
        DirectResult::UseQueues
    );
    assert_eq!(
        nic.leader.arrive_now(&Envelope::default()),
        DirectResult::UseQueues
    );
}
