//! The whole engine: which calls of a collective are of one kind.

use dpamatch_vocabulary::Tag;

use super::super::{CollName, words::rank};
use super::*;

const COMM: CommId = CommId(0);

fn mark(name: &str, bytes: u64) -> Collective {
    Collective {
        name: CollName::new(name).expect("a good name"),
        bytes: Some(bytes),
    }
}

fn envelope(source: u32) -> Envelope {
    Envelope {
        comm: COMM,
        source: rank(source),
        tag: Tag::default(),
    }
}

fn from(source: u32) -> Selector {
    Selector::new(rank(source), Tag::default())
}

fn counter(engine: &dyn Engine, name: &str) -> u64 {
    let found = engine
        .own_counters()
        .into_iter()
        .find(|counter| counter.name == name);
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
        assert_eq!(
            engine.arrive_collective(MsgId(id), envelope(source), &coll),
            Some(RecvId(id))
        );
    }
}

/// The size of the communicator is a parameter of a collective, so a call in one of another
/// size is the first of its kind.
#[test]
fn calls_in_communicators_of_other_sizes_are_others() {
    let config = DedicatedConfig {
        k_collective: Some(1),
        ..DedicatedConfig::COL_LL
    };
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

/// Each kind has its own cap: collectives do not get what point-to-point elements leave.
#[test]
fn caps_are_apart() {
    let config = DedicatedConfig {
        k_collective: Some(1),
        ..DedicatedConfig::COL_PNP
    };
    let mut engine = DedicatedEngine::new(config);
    engine.set_comm_size(COMM, 1024);
    for first in [0, 2000] {
        gather(&mut engine, 1024, 8, first);
    }
    let counters = ["collective_queues", "collective_cap", "partner_cap"];
    let counters = counters.map(|name| counter(&engine, &format!("prq_{name}")));
    assert_eq!(counters, [32, 32, 256]);
}
