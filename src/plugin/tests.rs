use super::*;
use crate::conformance::{Pair, check_engine, random_calls};
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
    let library = Library {
        table,
        path: "./libtest.so".to_owned(),
        name: "test".to_owned(),
    };
    Plugin::new(Box::leak(Box::new(library)), Sizes { bins, processes: 0 }).expect("an engine")
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

/// A search that finds this, whatever there is.
macro_rules! finds {
    ($id:expr, $compares:expr, $hops:expr) => {{
        unsafe extern "C" fn lies(
            _: *mut c_void,
            _: u64,
            _: *const Key,
            found: *mut Found,
        ) -> bool {
            let answer = Found {
                id: $id,
                compares: $compares,
                hops: $hops,
            };
            // SAFETY: the caller passes a valid pointer.
            unsafe { found.write(answer) };
            true
        }
        lies
    }};
}

/// A probe that finds message 7.
unsafe extern "C" fn looks(_: *mut c_void, _: *const Key, found: *mut Found) -> bool {
    // SAFETY: the caller passes a valid pointer.
    unsafe { (*found).id = 7 };
    true
}

macro_rules! says {
    ($answer:expr; $($argument:ident: $type:ty),*) => {{
        unsafe extern "C" fn lies(_: *mut c_void, $($argument: $type),*) -> bool {
            $(let _ = $argument;)*
            $answer
        }
        lies
    }};
}

/// A list with this id in every place.
macro_rules! lists {
    ($id:expr, $count:expr) => {{
        unsafe extern "C" fn lies(_: *mut c_void, ids: *mut u64, room: usize) -> usize {
            // SAFETY: the caller passes as much room as it states.
            (0..room).for_each(|at| unsafe { ids.add(at).write($id) });
            let count: fn(usize) -> usize = $count;
            count(room)
        }
        lies
    }};
}

unsafe extern "C" fn too_many_bytes(_: *mut c_void) -> u64 {
    1 << 63
}

/// Receives 3 and 4 in communicators 5 and 6, and the messages 8 and 9, which none of them takes.
fn filled(table: Table) -> Plugin {
    let mut engine = plugin(table, 1);
    let only = |tag| Selector::new(SourceSel::Any, Tag::new(tag).expect("a tag"));
    engine.post(RecvId(3), CommId(5), only(1));
    engine.post(RecvId(4), CommId(6), only(1));
    for id in [8, 9] {
        engine.arrive(MsgId(id), message(2));
    }
    engine
}

fn message(tag: u32) -> Envelope {
    Envelope {
        comm: CommId(5),
        source: Rank::default(),
        tag: Tag::new(tag).expect("a tag"),
    }
}

#[test]
fn each_lie_is_named_with_its_call() {
    let honest = entry(c"test", c"a list", list);
    let any = Selector::new(SourceSel::Any, TagSel::Any);
    type Use = fn(&mut Plugin, Selector);
    let cases: Vec<(Table, Use, &str)> = vec![
        (
            Table {
                post: finds!(7, 0, 0),
                ..honest
            },
            |_, _| (),
            "post returned message 7, which is not unexpected",
        ),
        (
            Table {
                post: finds!(0, FAILED, 0),
                ..honest
            },
            |_, _| (),
            "post failed inside the library",
        ),
        (
            Table {
                post: finds!(0, 1 << 41, 3),
                ..honest
            },
            |_, _| (),
            "post took 2199023255552 compares and 3 hops",
        ),
        (
            // As many steps as an answer may have.
            Table {
                post: finds!(7, 1 << 40, 1 << 40),
                ..honest
            },
            |_, _| (),
            "post returned message 7, which is not unexpected",
        ),
        (
            Table {
                post: finds!(7, (1 << 40) + 1, 1 << 40),
                ..honest
            },
            |_, _| (),
            "post took 1099511627777 compares and 1099511627776 hops",
        ),
        (
            Table {
                post: finds!(7, 1 << 40, (1 << 40) + 1),
                ..honest
            },
            |_, _| (),
            "post took 1099511627776 compares and 1099511627777 hops",
        ),
        (
            Table {
                arrive: finds!(u64::MAX, 1, 1),
                ..honest
            },
            |_, _| (),
            "arrive returned receive 18446744073709551615, which is not posted",
        ),
        (
            // The receive was taken before.
            Table {
                arrive: finds!(3, 1, 1),
                ..honest
            },
            |_, _| (),
            "arrive returned receive 3, which is not posted",
        ),
        (
            Table {
                arrive: finds!(3, 2, u64::MAX),
                ..honest
            },
            |_, _| (),
            "arrive took 2 compares and 18446744073709551615 hops",
        ),
        (
            Table {
                probe: looks,
                ..honest
            },
            |engine, any| assert_eq!(engine.probe(CommId(5), any), None),
            "probe returned message 7, which is not unexpected",
        ),
        (
            Table {
                mprobe: looks,
                ..honest
            },
            |engine, any| assert_eq!(engine.mprobe(CommId(5), any), None),
            "mprobe returned message 7, which is not unexpected",
        ),
        (
            Table {
                cancel: says!(true; _id: u64),
                ..honest
            },
            |engine, _| assert!(!engine.cancel(RecvId(99))),
            "cancel returned true for receive 99, which is not posted",
        ),
        (
            Table {
                cancel: says!(false; _id: u64),
                ..honest
            },
            |engine, _| assert!(engine.cancel(RecvId(3))),
            "cancel returned false for receive 3, which is posted",
        ),
        (
            Table {
                free_comm: says!(true; _comm: u32),
                ..honest
            },
            |engine, _| assert!(!engine.free_comm(CommId(5))),
            "free_comm returned true for communicator 5, which has entries",
        ),
        (
            Table {
                is_empty: says!(false; _comm: u32),
                ..honest
            },
            |engine, _| assert!(engine.is_empty(CommId(7))),
            "is_empty returned false for communicator 7, which has no entry",
        ),
        (
            Table {
                posted: lists!(3, |room| room),
                ..honest
            },
            |engine, _| assert_eq!(engine.posted(), []),
            "posted returned receive 3 twice",
        ),
        (
            Table {
                posted: lists!(8, |room| room),
                ..honest
            },
            |engine, _| assert_eq!(engine.posted(), []),
            "posted returned receive 8, which is not posted",
        ),
        (
            Table {
                posted: lists!(3, |room| room - 1),
                ..honest
            },
            |engine, _| assert_eq!(engine.posted(), []),
            "posted returned 1 receives, and 2 are posted",
        ),
        (
            Table {
                unexpected: lists!(8, |room| room + 1),
                ..honest
            },
            |engine, _| assert_eq!(engine.unexpected(), []),
            "unexpected returned 3 messages, and 2 are unexpected",
        ),
        (
            Table {
                unexpected: lists!(8, |_| usize::MAX),
                ..honest
            },
            |engine, _| assert_eq!(engine.unexpected(), []),
            "unexpected failed inside the library",
        ),
        (
            Table {
                bytes: Some(too_many_bytes),
                ..honest
            },
            |_, _| (),
            "bytes returned 9223372036854775808",
        ),
    ];
    for (table, use_it, words) in cases {
        let mut engine = filled(table);
        use_it(&mut engine, any);
        let expected = format!("./libtest.so: the engine test is wrong: {words}");
        assert_eq!(engine.fault(), Some(expected.clone()));
        assert_eq!(engine.own_counters(), [Counter::new("refused_answers", 1)]);
        assert!(fault().is_some(), "the process knows of one");
        // It finds nothing any more, keeps count, and the first lie stays.
        let length = engine.stats().prq.length;
        assert_eq!(engine.post(RecvId(20), CommId(5), any), None);
        assert!(engine.cancel(RecvId(20)) && !engine.cancel(RecvId(20)));
        assert_eq!(engine.stats().prq.length, length);
        assert_eq!(engine.mprobe(CommId(5), any), None);
        assert_eq!(engine.fault(), Some(expected.clone()));
        // The suite reports it, and a run of a stream ends with it.
        let told = Pair::new(Box::new(engine))
            .compare()
            .expect_err("a difference");
        assert!(told.to_string().contains(&expected), "{told}");
    }
}

/// An engine whose every call panics once its first receive is posted.
struct Bomb(ListEngine);

impl Engine for Bomb {
    fn post(&mut self, recv: RecvId, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.0.post(recv, comm, selector)
    }
    fn arrive(&mut self, _: MsgId, _: Envelope) -> Option<RecvId> {
        panic!("this panic is part of the test")
    }
    fn cancel(&mut self, _: RecvId) -> bool {
        panic!("this panic is part of the test")
    }
    fn probe(&mut self, _: CommId, _: Selector) -> Option<MsgId> {
        panic!("this panic is part of the test")
    }
    fn mprobe(&mut self, _: CommId, _: Selector) -> Option<MsgId> {
        panic!("this panic is part of the test")
    }
    fn free_comm(&mut self, _: CommId) -> bool {
        panic!("this panic is part of the test")
    }
    fn posted(&self) -> Vec<RecvId> {
        panic!("this panic is part of the test")
    }
    fn unexpected(&self) -> Vec<MsgId> {
        panic!("this panic is part of the test")
    }
    fn is_empty(&self, _: CommId) -> bool {
        panic!("this panic is part of the test")
    }
    fn stats(&self) -> &crate::engine::Stats {
        self.0.stats()
    }
    fn memory_bound(&self, _: &crate::engine::Load) -> u64 {
        u64::MAX
    }
}

unsafe extern "C" fn bomb(_: *const Sizes) -> *mut c_void {
    hand_over(Bomb(ListEngine::new()))
}

#[test]
fn a_panic_inside_ends_the_use_of_the_engine() {
    let any = Selector::new(SourceSel::Any, TagSel::Any);
    let table = entry(c"test", c"panics", bomb);
    type Use = fn(&mut Plugin, Selector);
    let cases: [(Use, &str); 8] = [
        (
            |engine, _| assert_eq!(engine.arrive(MsgId(1), message(2)), None),
            "arrive failed inside the library",
        ),
        (
            |engine, any| assert_eq!(engine.probe(CommId(0), any), None),
            "probe failed inside the library",
        ),
        (
            |engine, any| assert_eq!(engine.mprobe(CommId(0), any), None),
            "mprobe failed inside the library",
        ),
        (
            |engine, _| assert!(engine.cancel(RecvId(3))),
            "cancel returned false for receive 3, which is posted",
        ),
        (
            |engine, _| assert!(engine.free_comm(CommId(1))),
            "free_comm returned false for communicator 1, which has no entry",
        ),
        (
            |engine, _| assert!(engine.is_empty(CommId(1))),
            "is_empty returned false for communicator 1, which has no entry",
        ),
        (
            |engine, _| assert_eq!(engine.posted(), []),
            "posted failed inside the library",
        ),
        (
            |engine, _| assert_eq!(engine.unexpected(), []),
            "unexpected failed inside the library",
        ),
    ];
    for (use_it, words) in cases {
        let mut engine = plugin(table, 1);
        assert_eq!(engine.post(RecvId(3), CommId(0), any), None);
        assert_eq!(engine.fault(), None);
        use_it(&mut engine, any);
        let expected = format!("./libtest.so: the engine test is wrong: {words}");
        assert_eq!(engine.fault(), Some(expected));
    }
    assert!(made(|| panic!("this panic is part of the test")).is_null());
}

#[test]
fn a_stream_ends_at_the_first_lie() {
    let honest = entry(c"test", c"a list", list);
    let mut liar = plugin(
        Table {
            arrive: finds!(77, 1, 1),
            ..honest
        },
        1,
    );
    let text = "post,0,0,0,0\ncancel,0\narrive,0,0,0,0\npost,1,0,0,0\n";
    let mut events = crate::stream::Reader::new(text.as_bytes()).map(|event| event.expect("good"));
    let mut results = 0;
    let ended = crate::stream::StreamMatcher::run(&mut liar, &mut events, &mut |_| results += 1);
    let said = ended.expect_err("a lie").to_string();
    let words = "arrive returned receive 77, which is not posted";
    assert_eq!(
        said,
        format!("./libtest.so: the engine test is wrong: {words}")
    );
    assert_eq!((results, events.count()), (1, 1));
}
