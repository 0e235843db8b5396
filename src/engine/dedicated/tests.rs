//! The whole engine: worked cases of the paper's rules, and its counts.

use dpamatch_vocabulary::{Rank, Tag, TagSel};

use super::super::{CollName, ListEngine};
use super::*;

const COMM: CommId = CommId(0);

fn mark(name: &str, bytes: u64) -> Collective {
    Collective { name: CollName::new(name).expect("a good name"), bytes: Some(bytes) }
}

fn rank(number: u32) -> Rank {
    Rank::new(number).expect("a small rank")
}

fn envelope(source: u32) -> Envelope {
    Envelope { comm: COMM, source: rank(source), tag: Tag::default() }
}

fn from(source: u32) -> Selector {
    Selector::new(rank(source), Tag::default())
}

fn counter(engine: &dyn Engine, name: &str) -> u64 {
    let found = engine.own_counters().into_iter().find(|counter| counter.name == name);
    found.unwrap_or_else(|| panic!("no counter {name}")).value
}

/// One MPI_Gather at the root: everything is posted, then arrives in reverse order. Ids from
/// `first` on.
fn gather(engine: &mut dyn Engine, processes: u32, bytes: u64, first: u64) {
    let coll = mark("gather", bytes);
    for source in 1..processes {
        assert_eq!(
            engine.post_collective(RecvId(first + u64::from(source)), COMM, from(source), &coll),
            None
        );
    }
    for source in (1..processes).rev() {
        let id = first + u64::from(source);
        assert_eq!(engine.arrive_collective(MsgId(id), envelope(source), &coll), Some(RecvId(id)));
    }
}

/// The second gather runs on as many queues as the cap allows, and its search is
/// shorter by that factor.
#[test]
fn gather_at_the_root_reaches_the_cap() {
    for (k, processes, queues) in
        [(1, 1024, 32), (1, 2048, 45), (1, 4096, 64), (2, 512, 44), (8, 1024, 256)]
    {
        let config = DedicatedConfig { k_collective: Some(k), ..DedicatedConfig::COL_LL };
        let mut engine = DedicatedEngine::new(config);
        engine.set_comm_size(COMM, processes);
        gather(&mut engine, processes, 8, 0);
        let n = u64::from(processes - 1);
        assert_eq!(
            engine.stats().prq.attempts,
            n * (n + 1) / 2,
            "the first call is searched like a list"
        );
        assert_eq!(counter(&engine, "prq_collective_queues"), 0);
        gather(&mut engine, processes, 8, u64::from(processes));
        assert_eq!(counter(&engine, "prq_collective_queues"), queues, "k = {k}, n = {processes}");
        assert_eq!(counter(&engine, "prq_queue_cap"), queues);
        let second = engine.stats().prq.attempts - n * (n + 1) / 2;
        let ideal = n * (n / queues + 1) / 2;
        assert!(second <= ideal + n, "{second} compares, {ideal} in {queues} queues");
        assert_eq!(counter(&engine, "umq_collective_queues"), 0, "nothing was unexpected");
    }
}

/// The size of the communicator is a parameter of a collective, so a call in one of another
/// size is the first of its kind.
#[test]
fn calls_in_communicators_of_other_sizes_are_others() {
    let config = DedicatedConfig { k_collective: Some(1), ..DedicatedConfig::COL_LL };
    let mut engine = DedicatedEngine::new(config);
    let queues = [1024, 512, 512].map(|size| {
        engine.set_comm_size(COMM, size);
        let first = engine.stats().prq.attempts;
        gather(&mut engine, 256, 8, first);
        counter(&engine, "prq_collective_queues")
    });
    assert_eq!(queues[..2], [0, 0], "no call is a second one");
    assert!(queues[2] > 1, "the third is: {queues:?}");
}

/// What the design adds is small against the search, and both are counted.
#[test]
fn overhead_is_a_small_part_of_the_search() {
    let mut engine =
        DedicatedEngine::new(DedicatedConfig { timed: true, ..DedicatedConfig::COL_PNP });
    for call in 0..8 {
        gather(&mut engine, 512, 8, call * 512);
    }
    let steps = engine.stats().prq.attempts + engine.stats().prq.hops;
    let overhead = counter(&engine, "prq_overhead_steps");
    assert!(overhead >= 511 && overhead * 20 < steps, "{overhead} of {steps} steps");
    assert!(counter(&engine, "prq_search_ns") > 0 && counter(&engine, "prq_overhead_ns") > 0);
    assert_eq!(counter(&engine, "prq_collective_attempts"), engine.stats().prq.attempts);
    assert_eq!(counter(&engine, "prq_mixed_searches"), 0);
}

/// An element of a later parameter set, in its first call, stands in the profiling queue,
/// which the paper's search looks into before the levels; the older element in a level must win.
#[test]
fn profiling_queue_does_not_overtake_a_level() {
    let mut engine = DedicatedEngine::new(DedicatedConfig::COL_PNP);
    gather(&mut engine, 64, 8, 0);
    let (old, new) = (mark("gather", 8), mark("gather", 1024));
    engine.post_collective(RecvId(100), COMM, from(1), &old);
    engine.post_collective(RecvId(101), COMM, from(1), &new);
    assert_eq!(counter(&engine, "prq_collective_levels"), 1, "the old set has a level");
    assert_eq!(engine.arrive_collective(MsgId(100), envelope(1), &old), Some(RecvId(100)));
    assert_eq!(engine.arrive_collective(MsgId(101), envelope(1), &old), Some(RecvId(101)));
    // The same in the UMQ, after a call in which all messages were early.
    for source in 1..64 {
        engine.arrive_collective(MsgId(200 + u64::from(source)), envelope(source), &old);
    }
    for source in (1..64).rev() {
        let taken = engine.post_collective(RecvId(200), COMM, from(source), &old);
        assert_eq!(taken, Some(MsgId(200 + u64::from(source))));
    }
    engine.arrive_collective(MsgId(300), envelope(1), &old);
    engine.arrive_collective(MsgId(301), envelope(1), &new);
    assert_eq!(counter(&engine, "umq_collective_levels"), 1);
    assert_eq!(engine.post_collective(RecvId(300), COMM, from(1), &new), Some(MsgId(300)));
}

/// Posts so many receives of rank 1 and as many of others that rank 1 becomes a partner.
fn with_partner(theta: u32) -> DedicatedEngine {
    let mut engine = DedicatedEngine::new(DedicatedConfig { theta, ..DedicatedConfig::LL_PNP });
    engine.set_comm_size(COMM, 64);
    for number in 0..u64::from(theta) {
        let source = if number % 2 == 0 { 1 } else { 2 + number as u32 };
        engine.post(RecvId(number), COMM, from(source));
    }
    assert_eq!(counter(&engine, "prq_partner_queues"), 1);
    engine
}

/// Older elements of a partner are in the base queue and are found first.
#[test]
fn elements_from_before_the_partnership_come_first() {
    let mut engine = with_partner(10);
    engine.post(RecvId(50), COMM, from(1));
    for (number, expected) in [0, 2, 4, 6, 8, 50].into_iter().enumerate() {
        assert_eq!(engine.arrive(MsgId(number as u64), envelope(1)), Some(RecvId(expected)));
    }
}

/// A receive from any source competes by age with those in dedicated queues, and a search for
/// any source finds the oldest message wherever it is.
#[test]
fn any_source_keeps_the_order() {
    let mut engine = with_partner(10);
    let any = Selector::new(SourceSel::Any, TagSel::Any);
    engine.post(RecvId(50), COMM, any);
    engine.post(RecvId(51), COMM, from(1));
    for number in 0..5 {
        assert_eq!(engine.arrive(MsgId(number), envelope(1)), Some(RecvId(2 * number)));
    }
    assert_eq!(engine.arrive(MsgId(5), envelope(1)), Some(RecvId(50)));
    assert_eq!(engine.arrive(MsgId(6), envelope(1)), Some(RecvId(51)));
    // 100 messages, every second of rank 1, which becomes a partner in the UMQ, too.
    for number in 0..100 {
        engine.arrive(
            MsgId(100 + number),
            envelope(if number % 2 == 0 { 1 } else { 100 + number as u32 }),
        );
    }
    assert!(counter(&engine, "umq_partner_queues") >= 1);
    for number in 0..100 {
        assert_eq!(engine.post(RecvId(100), COMM, any), Some(MsgId(100 + number)));
    }
}

/// A list takes the place of the half that is left out.
#[test]
fn forms_leave_out_one_half() {
    let mut no_partners = DedicatedEngine::new(DedicatedConfig::COL_LL);
    let mut no_levels = DedicatedEngine::new(DedicatedConfig::LL_PNP);
    for engine in [&mut no_partners, &mut no_levels] {
        for call in 0..2 {
            gather(engine, 256, 8, call * 256);
        }
        for number in 0..200_u32 {
            engine.post(RecvId(u64::from(number)), CommId(1), from(number % 2 * number));
        }
    }
    assert_eq!(counter(&no_partners, "prq_partner_queues"), 0);
    assert!(counter(&no_partners, "prq_collective_queues") > 100);
    assert!(counter(&no_levels, "prq_partner_queues") > 0);
    assert_eq!(counter(&no_levels, "prq_collective_queues"), 0);
}

/// A stream may mix both kinds in one context, which is matched like any other.
#[test]
fn kinds_may_meet_in_one_context() {
    let mut engine = DedicatedEngine::new(DedicatedConfig::COL_PNP);
    gather(&mut engine, 64, 8, 0);
    engine.arrive_collective(MsgId(100), envelope(5), &mark("gather", 8));
    engine.arrive(MsgId(101), envelope(5));
    assert_eq!(engine.probe(COMM, from(5)), Some(MsgId(100)));
    assert_eq!(engine.post(RecvId(100), COMM, from(5)), Some(MsgId(100)));
    assert_eq!(
        engine.post_collective(RecvId(101), COMM, from(5), &mark("bcast", 1)),
        Some(MsgId(101))
    );
    assert_eq!(counter(&engine, "umq_mixed_searches"), 2);
}

/// A great rank does not bring about a great table, and freed entries are given back.
#[test]
fn memory_stays_within_its_bound() {
    let mut engine = DedicatedEngine::new(DedicatedConfig { theta: 4, ..DedicatedConfig::COL_PNP });
    for number in 0..5_000_u32 {
        engine.post(
            RecvId(u64::from(number)),
            CommId(number),
            from(dpa_model::RANK_MAX - number % 7),
        );
    }
    let load = Load { posted: 5_000, unexpected: 0, comms: 5_000, comm_size: 0 };
    assert!(engine.stats().memory_bytes_max <= engine.memory_bound(&load));
    let full = engine.stats().memory_bytes;
    for number in 0..5_000_u32 {
        assert!(engine.cancel(RecvId(u64::from(number))) && engine.free_comm(CommId(number)));
    }
    assert!(
        engine.stats().memory_bytes * 10 < full,
        "{} of {full} bytes left",
        engine.stats().memory_bytes
    );
}

/// Without dedicated queues yet, a search costs what a list's costs.
#[test]
fn before_theta_it_is_a_list() {
    let mut engine = DedicatedEngine::new(DedicatedConfig::COL_PNP);
    let mut list = ListEngine::new();
    for engine in [&mut engine as &mut dyn Engine, &mut list] {
        (0..99).for_each(|number| _ = engine.post(RecvId(number), COMM, from(number as u32)));
        (0..99).rev().for_each(|number| _ = engine.arrive(MsgId(number), envelope(number as u32)));
    }
    assert_eq!(engine.stats().prq.attempts, list.stats().prq.attempts);
}
