use super::*;
use crate::conformance::{check_engine, random_calls};
use crate::engine::{BinCount, BinEngine, Counter, Engine, ListEngine, MsgId, RecvId};
use crate::stream::{Generator, Profile, apply};
use dpamatch_vocabulary::Envelope;

unsafe extern "C" fn list(_: *const Sizes) -> *mut c_void {
    hand_over(ListEngine::new())
}

fn of_bins(sizes: Sizes) -> BinEngine {
    BinEngine::new(BinCount::new(sizes.bins).expect("a number"))
}

unsafe extern "C" fn bins(sizes: *const Sizes) -> *mut c_void {
    // SAFETY: `Plugin::new` passes a valid pointer.
    hand_over(of_bins(unsafe { *sizes }))
}

fn plugin(table: Table, bins: u32) -> Plugin {
    Plugin::new(Box::leak(Box::new(table)), Sizes { bins, processes: 0 }).expect("an engine")
}

#[test]
fn an_exported_engine_gives_the_oracles_results() {
    for seed in 0..20 {
        for &profile in Profile::ALL {
            let engine = plugin(entry(c"b", c"bins", bins), 16);
            check_engine(
                Box::new(engine),
                random_calls(seed, 300, profile).into_iter(),
            )
            .expect("the oracle's");
        }
    }
}

#[test]
fn its_counts_are_those_of_the_engine_inside() {
    for size in [1, 64] {
        let mut inside = of_bins(Sizes {
            bins: size,
            processes: 0,
        });
        let mut outside = plugin(entry(c"b", c"bins", bins), size);
        for event in Generator::new(3, 2000, Profile::Wild) {
            assert_eq!(
                apply(&mut inside, event),
                apply(&mut outside, event),
                "{event}"
            );
        }
        let mut counted = *inside.stats();
        assert!(
            counted.prq.attempts > 500 && counted.memory_bytes > 0,
            "{counted:?}"
        );
        // The interface passes no collisions.
        (counted.prq.collisions, counted.umq.collisions) = (0, 0);
        let got = outside.stats();
        assert_eq!((got.prq, got.umq), (counted.prq, counted.umq));
        assert_eq!(
            (got.cancelled, got.too_late),
            (counted.cancelled, counted.too_late)
        );
        assert_eq!(got.memory_bytes_max, counted.memory_bytes_max);
        assert_eq!(outside.own_counters(), [Counter::new("refused_answers", 0)]);
    }
}

unsafe extern "C" fn always(_: *mut c_void, _: u64, _: *const Key, found: *mut Found) -> bool {
    // SAFETY: the caller passes a valid pointer.
    unsafe {
        found.write(Found {
            id: 7,
            compares: 3,
            hops: 2,
        })
    };
    true
}

#[test]
fn an_entry_of_an_empty_queue_is_refused_and_counted() {
    let mut liar = plugin(
        Table {
            post: always,
            ..entry(c"liar", c"lies", list)
        },
        1,
    );
    let any = Selector::new(SourceSel::Any, TagSel::Any);
    assert_eq!(liar.post(RecvId(1), CommId(0), any), None);
    assert_eq!(liar.own_counters(), [Counter::new("refused_answers", 1)]);
    let tag = Tag::new(5).expect("a tag");
    let source = Rank::new(2).expect("a rank");
    // Its list never got the receive, so the message stays, and one post may take it.
    assert_eq!(
        liar.arrive(
            MsgId(9),
            Envelope {
                comm: CommId(0),
                source,
                tag
            }
        ),
        None
    );
    assert_eq!(liar.post(RecvId(2), CommId(0), any), Some(MsgId(7)));
    assert_eq!(liar.post(RecvId(3), CommId(0), any), None);
    let stats = liar.stats();
    assert_eq!(
        (stats.umq.hits, stats.umq.misses, stats.umq.depth_sum),
        (1, 2, 9)
    );
    assert_eq!(
        (stats.umq.hops, stats.umq.length, stats.prq.length),
        (6, 0, 2)
    );
    assert_eq!(liar.own_counters(), [Counter::new("refused_answers", 2)]);
}
