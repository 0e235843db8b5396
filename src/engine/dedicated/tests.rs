//! The whole engine: worked cases of the paper's rules, and its counts.

use dpamatch_vocabulary::Tag;

use super::super::{CollName, ListEngine, words::rank};
use super::*;

const COMM: CommId = CommId(0);

fn mark(name: &str, bytes: u64) -> Collective {
    Collective { name: CollName::new(name).expect("a good name"), bytes: Some(bytes) }
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
        [(1, 1024, 32), (1, 2048, 45), (1, 4096, 64), (2, 512, 44), (8, 1024, 256), (8, 2048, 360)]
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

/// The design's overhead is small against the search, and the engine counts both.
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
    assert_eq!(counter(&engine, "prq_mixed_searches"), 0);
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

/// Before there are dedicated queues, a search costs as much as in a list.
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
