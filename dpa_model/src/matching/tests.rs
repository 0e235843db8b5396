//! Compares matching in order with the phases of shared blocks: equal results, counters and tables,
//! on random blocks of every option set.

use alloc::format;
use alloc::vec::Vec;

use crate::descriptor::state;
use crate::number::ReceiveId;
use crate::sync::Relaxed;
use crate::{
    Barrier, BoundaryCounts, CommId, Counts, Domains, Envelope, Event, FastPath, HANDLERS_MAX,
    Hashes, Hints, InlineHashes, Nic, NicConfig, Options, Rank, Removal, Round, Selector,
    SourceSel, Tag, TagSel, UnexpectedFull,
};

/// Numbers from a seed (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

const COMMS: u64 = 3;
const BINS: u32 = 4;

fn nic(options: Options, handlers: usize, overtaking: bool) -> Nic {
    let depth = if cfg!(miri) { 64 } else { 512 };
    let config = NicConfig {
        handlers,
        receives: 64,
        communicators: COMMS as usize,
        bins: BINS as usize,
        completion_queue: depth,
        command_queue: depth,
        completion_ring: 2 * depth,
        unexpected: 32,
        unexpected_buffers: 8,
        // Buffers match the messages' sizes: Miri follows every byte.
        bounce_buffers: depth,
        eager_limit: 64,
        regions: 1,
        options,
        ..NicConfig::default()
    };
    let mut nic = Nic::new(&config).unwrap();
    for comm in 0..COMMS as u32 {
        let hints = Hints {
            allow_overtaking: overtaking && comm == 1,
            ..Hints::default()
        };
        nic.host.create(CommId(comm), BINS, hints, 0).unwrap();
    }
    while nic.leader.round(1) == Round::Worked {}
    nic
}

/// Checks the counters of matching in order, and those on which both ways must agree.
fn check_counts(in_order: &Counts, shared: &Counts, overtaking: bool, context: &str) {
    let boundary = |counts: &Counts| BoundaryCounts {
        shared_blocks: 0,
        conflict_blocks: 0,
        ..counts.boundary
    };
    assert_eq!(boundary(in_order), boundary(shared), "{context}");
    let (ours, theirs) = (&in_order.handlers, &shared.handlers);
    assert_eq!(ours.messages, theirs.messages, "{context}");
    assert_eq!(
        ours.messages,
        ours.in_order + ours.no_candidate,
        "{context}"
    );
    assert!(ours.searched_again <= ours.in_order, "{context}");
    assert_eq!(in_order.boundary.shared_blocks, 0, "{context}");
    let of_the_phases = [ours.bookings, ours.clean, ours.fast, ours.slow, ours.forced];
    assert_eq!(of_the_phases, [0; 5], "{context}");
    assert_eq!(theirs.in_order + theirs.searched_again, 0, "{context}");
    if !overtaking {
        assert_eq!(ours.unexpected, theirs.unexpected, "{context}");
    }
}

/// An event without its NIC's name.
pub(crate) fn told(event: &Event) -> alloc::string::String {
    match event {
        Event::PostForwarded { request } => alloc::format!("forwarded {:?}", request.id()),
        other => alloc::format!("{other:?}"),
    }
}

/// The chains of all bins, by label, and how many descriptors are free.
pub(crate) fn tables(nic: &Nic) -> (Vec<Vec<u64>>, usize) {
    let shared = &nic.leader.shared;
    let chain = |bin: &crate::bin::Bin| {
        let mut labels = Vec::new();
        let mut current = bin.head();
        while current != ReceiveId::NIL {
            let descriptor = &shared.receives[current];
            assert!(
                descriptor.is_posted(),
                "between blocks a chain holds live receives only"
            );
            let booked = shared.bookings().any_below(current, HANDLERS_MAX);
            assert!(
                !booked,
                "what handlers booked is taken (S7), or is of an earlier life"
            );
            // SAFETY: no block is running.
            labels.push(unsafe { descriptor.posted() }.label.0);
            current = descriptor.next.get();
        }
        assert_eq!(bin.length() as usize, labels.len());
        labels
    };
    let free = shared
        .receives
        .iter()
        .filter(|receive| receive.state.load(Relaxed) == state::FREE);
    (shared.bins.iter().map(chain).collect(), free.count())
}

/// Runs a NIC until it has no more work; returns what it reported to the host. All NICs cut the
/// same blocks.
fn rounds_of_whole_blocks(nic: &mut Nic) -> Vec<alloc::string::String> {
    let mut results = Vec::new();
    let round = |nic: &mut Nic| {
        for front in &mut nic.leader.boundary.fronts {
            front.patience = crate::HANDLERS_MAX;
        }
        nic.leader.round(1) == Round::Worked
    };
    while round(nic) {
        while let Some(event) = nic.host.poll() {
            results.push(told(&event));
        }
    }
    results
}

#[test]
fn matching_in_order_and_in_shared_blocks_agree() {
    let mut paths = Counts::default();
    // Few under Miri, which checks every access rather than every path.
    let (seeds, rounds): (u64, _) = if cfg!(miri) { (3, 3) } else { (600, 12) };
    for seed in 1..=seeds {
        let mut random = Random::new(seed);
        let options = Options {
            fast_path: random.pick(&[
                FastPath::Off,
                FastPath::Literal,
                FastPath::Prefix,
                FastPath::Sequence,
            ]),
            early_check: random.below(3) == 0,
            always_book: random.below(2) == 0,
            removal: random.pick(&[Removal::Lazy, Removal::Eager, Removal::Deferred]),
            barrier: random.pick(&[Barrier::Lanes, Barrier::Bitmap]),
            domains: random.pick(&[Domains::Paper, Domains::Keyed]),
            inline_hashes: random.pick(&[
                InlineHashes::Trust,
                InlineHashes::Trust,
                InlineHashes::Verify,
                InlineHashes::Ignore,
            ]),
            unexpected_full: random.pick(&[UnexpectedFull::Demote, UnexpectedFull::BackPressure]),
            log_order: random.below(2) == 0,
            ..Options::default()
        };
        let handlers = random.pick(&[1, 2, 5, 8, 32, 64, 65, 100, 256]);
        let handlers = if cfg!(miri) {
            handlers.min(32)
        } else {
            handlers
        };
        let overtaking = random.below(4) == 0;
        let few = 1 + random.below(4) as u32;
        let wild = random.below(3) == 0;
        let ways = [false, true].map(|always_shared| Options {
            always_shared,
            ..options
        });
        let mut nics = ways.map(|options| nic(options, handlers, overtaking));
        // Fills wide blocks now and then, so that their last handlers have work.
        let most = if handlers > 64 && seed % 2 == 0 {
            300
        } else {
            60
        };
        for _ in 0..rounds {
            for _ in 0..random.below(most) {
                let (comm, number) = (CommId(random.below(COMMS) as u32), random.0 as u32 >> 4);
                let source = Rank::new(number % few).unwrap();
                let tag = Tag::new(number / 16 % few).unwrap();
                let kind = random.below(if wild { 4 } else { 1 });
                let selector = Selector {
                    source: if kind & 1 == 1 {
                        SourceSel::Any
                    } else {
                        source.into()
                    },
                    tag: if kind & 2 == 2 {
                        TagSel::Any
                    } else {
                        TagSel::Tag(tag)
                    },
                };
                let (post, bytes) = (
                    random.below(2) == 0,
                    random.pick(&[0, 7, 8, 8, 8, 16, 24, 40]),
                );
                let capacity = random.pick(&[40, 40, 40, 8, 12]);
                for nic in &mut nics {
                    if post {
                        let _ = nic.host.post(comm, selector, alloc::vec![0; capacity], 0);
                    } else {
                        let envelope = Envelope { comm, source, tag };
                        let _ = nic.sender.try_send(envelope, &[7; 40][..bytes], 0);
                    }
                }
            }
            let results = nics.each_mut().map(rounds_of_whole_blocks);
            assert_eq!(results[0], results[1], "seed {seed}, {options:?}");
            assert_eq!(
                tables(&nics[0]),
                tables(&nics[1]),
                "seed {seed}, {options:?}"
            );
        }
        let [in_order, shared] = nics.each_ref().map(|nic| nic.leader.monitor().counts());
        check_counts(
            &in_order,
            &shared,
            overtaking,
            &format!("seed {seed}, {options:?}"),
        );
        paths.handlers.add(&in_order.handlers);
        paths.handlers.add(&shared.handlers);
        assert_eq!(shared.boundary.shared_blocks, shared.boundary.blocks);
    }
    if cfg!(miri) {
        return;
    }
    let seen = &paths.handlers;
    let kinds = [
        [seen.clean, seen.fast, seen.slow],
        [seen.forced, seen.overtaking, seen.unexpected],
        [
            seen.refused_sequence,
            seen.refused_exhausted,
            seen.refused_mixed,
        ],
        [seen.in_order, seen.searched_again, seen.no_candidate],
    ];
    assert!(
        kinds.as_flattened().iter().all(|&count| count > 100),
        "{seen:?}"
    );
}

fn plain_nic(bins: u32) -> Nic {
    let config = NicConfig {
        bins: bins as usize,
        communicators: 1,
        ..NicConfig::default()
    };
    let mut nic = Nic::new(&config).unwrap();
    nic.host
        .create(CommId(0), bins, Hints::default(), 0)
        .unwrap();
    while nic.leader.round(1) == Round::Worked {}
    assert!(matches!(
        nic.host.poll(),
        Some(Event::Created {
            offloaded: true,
            ..
        })
    ));
    nic
}

/// Two sources whose messages with this tag have equal hashes.
fn sources_of_one_hash(tag: Tag) -> [Rank; 2] {
    let mut seen = alloc::collections::BTreeMap::new();
    let ranks = (0..400_000).map(|source| Rank::new(source).unwrap());
    let found = ranks.into_iter().find_map(|source| {
        let other = seen.insert(Hashes::new(source, tag).both, source)?;
        Some([other, source])
    });
    found.expect("of some 80,000 two are expected")
}

/// Sources distinguish consecutive messages with one tag and one hash. In order, each message but
/// the first of its source loses its candidate to a lower handler.
#[test]
fn messages_with_one_hash_differ_by_their_sources() {
    let tag = Tag::new(7).unwrap();
    let [one, other] = sources_of_one_hash(tag);
    let mut nic = plain_nic(1);
    let order = [one, one, one, other, one];
    let ids = order.map(|source| {
        nic.host
            .post(CommId(0), Selector::new(source, tag), alloc::vec![0; 8], 0)
            .unwrap()
    });
    for (number, source) in order.into_iter().enumerate() {
        let envelope = Envelope {
            comm: CommId(0),
            source,
            tag,
        };
        nic.sender
            .try_send(envelope, &[number as u8; 8], 0)
            .unwrap();
    }
    let mut received = Vec::new();
    while nic.leader.round(1) == Round::Worked {
        while let Some(event) = nic.host.poll() {
            let Event::Received {
                request, buffer, ..
            } = event
            else {
                panic!("{event:?}")
            };
            received.push((request, buffer[0]));
        }
    }
    received.sort_by_key(|&(_, number)| number);
    let expected: Vec<_> = ids.into_iter().zip(0..).collect();
    assert_eq!(received, expected);
    let handlers = nic.leader.monitor().counts().handlers;
    assert_eq!((handlers.in_order, handlers.searched_again), (5, 3));
}

/// Searches count their visits: none in an empty chain, one for a receive that does not fit.
#[test]
fn messages_visit_what_stands_in_their_chain() {
    const BINS: u32 = 4;
    let mut nic = plain_nic(BINS);
    let source = Rank::new(0).unwrap();
    let tag = |number| Tag::new(number).unwrap();
    let bin = |number| crate::hash::reduce(Hashes::new(source, tag(number)).both, BINS);
    nic.host
        .post(
            CommId(0),
            Selector::new(source, tag(0)),
            alloc::vec![0; 8],
            0,
        )
        .unwrap();
    let others = 1..31;
    for number in others.clone() {
        let envelope = Envelope {
            comm: CommId(0),
            source,
            tag: tag(number),
        };
        nic.sender.try_send(envelope, &[1; 8], 0).unwrap();
    }
    while nic.leader.round(1) == Round::Worked {}
    let handlers = nic.leader.monitor().counts().handlers;
    let visits = others
        .clone()
        .filter(|&number| bin(number) == bin(0))
        .count() as u64;
    assert!(visits > 0 && visits < 30);
    assert_eq!((handlers.walked_exact, handlers.no_candidate), (visits, 30));
    assert_eq!((handlers.unexpected, handlers.messages), (30, 30));
}

/// The faults of a sender whose messages carry the hashes of others: `kind` 1 of another message,
/// 2 inconsistent ones, 3 one value for all.
fn lie(random: &mut Random, kind: u64, own: Hashes, other: Hashes) -> Hashes {
    let said = match kind {
        0 => own,
        1 => other,
        2 => Hashes {
            both: random.below(8) as u32,
            tag: other.tag,
            source: own.source,
        },
        _ => Hashes::default(),
    };
    Hashes {
        both: own.both ^ said.both,
        tag: own.tag ^ said.tag,
        source: own.source ^ said.source,
    }
}

/// Hashes of a hostile sender put no two messages that find one receive into two domains: results,
/// chains and free receives are those of a lone worker, whatever classes are posted.
#[test]
fn false_hashes_decide_no_domain() {
    let (seeds, rounds) = if cfg!(miri) { (1, 2) } else { (40, 6) };
    let number = |number: u64| number as u32 % 3;
    for (seed, mix) in (1..=seeds).flat_map(|seed| (1u32..16).map(move |mix| (seed, mix))) {
        let mut random = Random::new(seed * 16 + u64::from(mix));
        let lone = Options::default();
        let keyed = Options {
            domains: Domains::Keyed,
            always_shared: true,
            ..lone
        };
        let mut nics = [lone, keyed].map(|options| nic(options, 32, false));
        for _ in 0..rounds {
            for _ in 0..random.below(60) {
                let comm = CommId(random.below(2) as u32);
                let key = |random: &mut Random| {
                    let (source, tag) = (number(random.below(9)), number(random.below(9)));
                    (Rank::new(source).unwrap(), Tag::new(tag).unwrap())
                };
                let ((source, tag), other) = (key(&mut random), key(&mut random));
                let class = random.below(4) as u32;
                if random.below(2) == 0 && mix & 1 << class != 0 {
                    let selector = Selector {
                        source: if class & 1 == 1 {
                            SourceSel::Any
                        } else {
                            source.into()
                        },
                        tag: if class & 2 == 2 {
                            TagSel::Any
                        } else {
                            TagSel::Tag(tag)
                        },
                    };
                    for nic in &mut nics {
                        let _ = nic.host.post(comm, selector, alloc::vec![0; 8], 0);
                    }
                    continue;
                }
                let (own, other) = (Hashes::new(source, tag), Hashes::new(other.0, other.1));
                let kind = random.below(4);
                let faults = lie(&mut random, kind, own, other);
                for nic in &mut nics {
                    nic.sender.set_hash_faults(faults);
                    let _ = nic
                        .sender
                        .try_send(Envelope { comm, source, tag }, &[7; 8], 0);
                }
            }
            let [lone, keyed] = nics.each_mut().map(rounds_of_whole_blocks);
            assert_eq!(lone, keyed, "seed {seed}, classes {mix:04b}");
            assert_eq!(
                tables(&nics[0]),
                tables(&nics[1]),
                "seed {seed}, classes {mix:04b}"
            );
        }
    }
}
