//! One block: handlers search, book, meet at the partial barrier and resolve conflicts. Each
//! scenario is named for its race.
//!
//! X1 to X5 are the worked examples of the papers; "form" numbers the entry rules of the fast path
//! (S8).
#![cfg(dpamatch_loom)]

use dpa_model::{Barrier, FastPath, Hints, NicConfig, Operation, Options, Removal};
use loom_tests::model::{Extent, Names, alone, shared, stream};
use loom_tests::stream::{Stream, paper, post, post_in, send, send_in, tiny};

const TWO: Extent = Extent::EXHAUSTIVE;
/// Three workers and their conflict, with and without receives that leave the chain meanwhile.
const THREE: Extent = Extent::bounded(3, 4);
const THREE_REMOVING: Extent = Extent::bounded(1, 3);
/// Three workers and a removal.
const REMOVAL: Extent = Extent::bounded(2, 4);
/// Four workers and a removal.
const FOUR: Extent = Extent::bounded(2, 3);
const FOUR_REMOVING: Extent = Extent::bounded(1, 2);

fn with(fast_path: FastPath) -> Options {
    Options { fast_path, ..paper() }
}

/// Barrier as one bitmap, with removal left to the boundary.
fn bitmap(fast_path: FastPath) -> Options {
    Options { barrier: Barrier::Bitmap, removal: Removal::Deferred, ..with(fast_path) }
}

/// Workers that meet at a bitmap. A lone leader has no such barrier.
fn meeting(name: &str, stream: Stream, extent: Extent, expected: Names<'_>, never: Names<'_>) {
    shared(&format!("{name}, bitmap"), stream, extent, expected, never);
}

fn of(handlers: usize, options: Options, steps: &[Operation]) -> Stream {
    let receives =
        steps.iter().filter(|step| matches!(step, Operation::Post { .. })).count().max(1);
    Stream::new(NicConfig { receives, ..tiny(handlers, handlers, options) }, steps)
}

/// Three handlers, twice: removal at the boundary, to explore conflict and resolution deeply, and
/// removal under the bins' locks during the block.
fn three(name: &str, options: Options, steps: &[Operation], expected: Names<'_>, never: Names<'_>) {
    let deferred = Options { removal: Removal::Deferred, ..options };
    stream(&format!("{name}, deferred"), of(3, deferred, steps), THREE, expected, never);
    stream(name, of(3, options, steps), THREE_REMOVING, expected, never);
}

fn four(name: &str, options: Options, steps: &[Operation], expected: Names<'_>, never: Names<'_>) {
    let deferred = Options { removal: Removal::Deferred, ..options };
    stream(&format!("{name}, deferred"), of(4, deferred, steps), FOUR, expected, never);
    stream(name, of(4, options, steps), FOUR_REMOVING, expected, never);
}

/// Two handlers, every interleaving.
fn two(name: &str, options: Options, steps: &[Operation], expected: Names<'_>, never: Names<'_>) {
    stream(name, of(2, options, steps), TWO, expected, never);
}

/// Equal receives for equal messages, one per handler.
fn equal(count: usize) -> Vec<Operation> {
    [vec![post(0, 7); count], vec![send(0, 7); count]].concat()
}

/// Receives and messages of three keys, so that nothing conflicts.
fn distinct_three() -> [Operation; 6] {
    [post(0, 7), post(0, 8), post(0, 9), send(0, 9), send(0, 8), send(0, 7)]
}

/// The first and the third handler meet, the second one does not.
fn over_a_neighbour() -> [Operation; 6] {
    [post(0, 7), post(1, 9), post(0, 7), send(0, 7), send(1, 9), send(0, 7)]
}

/// The third handler books an uncontested receive and must give it up (O14).
fn to_be_forced() -> [Operation; 5] {
    [post(0, 7), post(None, 7), send(0, 7), send(0, 7), send(1, 7)]
}

fn early() -> Options {
    Options { early_check: true, ..paper() }
}

fn eager() -> Options {
    Options { removal: Removal::Eager, ..paper() }
}

fn deferred() -> Options {
    Options { removal: Removal::Deferred, ..paper() }
}

/// Declares a test for each scenario.
macro_rules! scenarios {
    ($($(#[$meta:meta])* $test:ident { $($body:tt)+ })+) => {
        $($(#[$meta])* #[test] fn $test() { $($body)+ })+
    };
}

/// Handlers whose candidates changed while they searched are refused the fast path.
const REFUSED: [&str; 4] = ["clean", "fast", "slow", "refused_mixed"];
const CLEAN: [&str; 1] = ["clean"];
const CLEAN_FAST: [&str; 2] = ["clean", "fast"];
const CLEAN_SLOW: [&str; 2] = ["clean", "slow"];
const NO_FAST: [&str; 1] = ["fast"];
const NO_SLOW: [&str; 1] = ["slow"];
const NO_CONFLICT: [&str; 2] = ["fast", "slow"];

scenarios! {
    clean_two {
        let steps = [post(0, 7), post(0, 8), send(0, 7), send(0, 8)];
        two("block/clean two", paper(), &steps, &CLEAN, &NO_CONFLICT);
        let stream = of(2, bitmap(FastPath::Sequence), &steps);
        meeting("block/clean two", stream, TWO, &CLEAN, &NO_CONFLICT);
    }
    clean_three {
        three("block/clean three", paper(), &distinct_three(), &CLEAN, &NO_CONFLICT);
        let stream = of(3, bitmap(FastPath::Sequence), &distinct_three());
        meeting("block/clean three", stream, THREE, &CLEAN, &NO_CONFLICT);
    }
    clean_four {
        let posts = [post(0, 7), post(0, 8), post(0, 9), post(0, 6)];
        let steps = [posts, [send(0, 6), send(0, 9), send(0, 8), send(0, 7)]].concat();
        four("block/clean four", paper(), &steps, &CLEAN, &NO_CONFLICT);
    }
    form_c_two {
        two("block/form c, two", paper(), &equal(2), &CLEAN_FAST, &NO_SLOW);
    }
    form_c_three {
        three("block/form c, three", paper(), &equal(3), &CLEAN_FAST, &NO_SLOW);
    }
    form_c_four {
        four("block/form c, four", paper(), &equal(4), &CLEAN_FAST, &NO_SLOW);
    }
    form_c_bitmap {
        for (handlers, extent) in [(2, TWO), (3, THREE), (4, FOUR)] {
            let stream = of(handlers, bitmap(FastPath::Sequence), &equal(handlers));
            let name = format!("block/form c, {handlers}");
            meeting(&name, stream, extent, &CLEAN_FAST, &NO_SLOW);
        }
    }
    form_b_two {
        two("block/form b, two", with(FastPath::Prefix), &equal(2), &CLEAN_FAST, &NO_SLOW);
    }
    form_b_three {
        three("block/form b, three", with(FastPath::Prefix), &equal(3), &REFUSED, &[]);
    }
    form_b_four {
        four("block/form b, four", with(FastPath::Prefix), &equal(4), &REFUSED, &[]);
    }
    form_a_two {
        two("block/form a, two", with(FastPath::Literal), &equal(2), &CLEAN_FAST, &NO_SLOW);
    }
    form_a_three {
        three("block/form a, three", with(FastPath::Literal), &equal(3), &REFUSED, &[]);
    }
    form_a_four {
        four("block/form a, four", with(FastPath::Literal), &equal(4), &REFUSED, &[]);
    }
    form_a_never_in_a_partial_block {
        // Two messages for three handlers: not all N bits can be set (S8).
        let partial = Stream::new(tiny(3, 2, with(FastPath::Literal)), &equal(2));
        alone("block/form a, partial", partial.clone(), &CLEAN, &NO_FAST);
        shared("block/form a, partial", partial, TWO, &CLEAN_SLOW, &NO_FAST);
    }
    slow_two {
        two("block/slow two", with(FastPath::Off), &equal(2), &CLEAN_SLOW, &NO_FAST);
    }
    slow_chain_three {
        three("block/slow chain, three", with(FastPath::Off), &equal(3), &CLEAN_SLOW, &NO_FAST);
    }
    slow_chain_four {
        four("block/slow chain, four", with(FastPath::Off), &equal(4), &CLEAN_SLOW, &NO_FAST);
    }
    slow_bitmap {
        for (handlers, extent) in [(2, TWO), (3, THREE), (4, FOUR)] {
            let stream = of(handlers, bitmap(FastPath::Off), &equal(handlers));
            meeting(&format!("block/slow, {handlers}"), stream, extent, &CLEAN_SLOW, &NO_FAST);
        }
    }
    slow_search_passes_marked_receives {
        // The first two handlers meet at the bin's lock, so the second one's receive may stay
        // linked. The third must not take it.
        let steps = [post(0, 9), post(0, 7), post(0, 7), send(0, 9), send(0, 7), send(0, 7)];
        let stream = of(3, with(FastPath::Off), &steps);
        let expected = ["clean", "slow", "lock_missed"];
        self::stream("block/slow search, marked", stream, REMOVAL, &expected, &NO_FAST);
    }
    a_conflict_with_another_than_the_neighbour {
        let (name, expected) =
            ("block/conflict over a neighbour", ["clean", "slow", "refused_mixed"]);
        three(name, paper(), &over_a_neighbour(), &expected, &NO_FAST);
        let stream = of(3, bitmap(FastPath::Sequence), &over_a_neighbour());
        meeting(name, stream, THREE, &expected, &NO_FAST);
    }
    a_message_without_receive_between_equal_ones {
        // The third handler is the second of its key: it must not count the one between (S8).
        let steps = [post(0, 7), post(0, 7), post(0, 7), send(0, 7), send(1, 9), send(0, 7)];
        let expected = ["clean", "slow", "refused_mixed", "stored"];
        three("block/fast path needs all lower", paper(), &steps, &expected, &NO_FAST);
    }
    sequence_break_two {
        // The next receive accepts any source and is in another chain, so the fast path reaches its
        // chain's end.
        let steps = [post(0, 7), post(None, 7), send(0, 7), send(0, 7)];
        let expected = ["clean", "slow", "refused_exhausted"];
        two("block/sequence break, two", paper(), &steps, &expected, &[]);
    }
    sequence_break_in_one_chain_three {
        // Receives of one key around one of another: the chain holds three sequences.
        let steps = [post(0, 7), post(0, 8), post(0, 7), send(0, 7), send(0, 7), send(0, 8)];
        let expected = ["clean", "slow", "refused_sequence"];
        three("block/sequence break, three", paper(), &steps, &expected, &NO_FAST);
    }
    sequence_break_in_one_chain_four {
        let posts = [post(0, 7), post(0, 8), post(0, 7), post(0, 7)];
        let steps = [posts, [send(0, 7), send(0, 7), send(0, 7), send(0, 8)]].concat();
        let expected = ["clean", "slow", "refused_sequence"];
        four("block/sequence break, four", paper(), &steps, &expected, &NO_FAST);
    }
    x2_wildcard_between_compatible_receives {
        let steps = [post(0, 7), post(0, 7), post(None, 7), send(0, 7), send(0, 7), send(0, 7)];
        three("block/X2 wildcard after two", paper(), &steps, &["clean", "fast", "slow"], &[]);
    }
    x2_wildcard_in_the_middle {
        let steps = [post(0, 7), post(None, 7), post(0, 7), send(0, 7), send(0, 7), send(0, 7)];
        three("block/X2 wildcard between", paper(), &steps, &CLEAN_SLOW, &NO_FAST);
    }
    x3_too_few_receives {
        let steps = [post(0, 7), send(0, 7), send(0, 7)];
        let expected = ["clean", "slow", "refused_exhausted", "unexpected", "stored"];
        two("block/X3 one of two", paper(), &steps, &expected, &[]);
    }
    x3_unexpected_in_arrival_order {
        let steps = [post(0, 7), send(0, 7), send(0, 7), send(0, 7)];
        let expected = ["clean", "slow", "unexpected", "stored"];
        three("block/X3 one of three", paper(), &steps, &expected, &NO_FAST);
    }
    a_message_whose_chain_is_empty {
        let steps = [post(0, 7), post(0, 7), send(1, 9), send(0, 7), send(0, 7)];
        let mut stream = of(3, paper(), &steps);
        stream.config.bins = 64;
        alone("block/an empty chain", stream, &CLEAN_FAST, &[]);
    }
    x4_mixed_keys {
        let posts = [post(0, 7), post(1, 9), post(None, None)];
        let steps = [&posts[..], &[send(0, 7), send(0, 7), send(1, 9), send(0, 7)]].concat();
        four("block/X4 mixed keys", paper(), &steps, &["clean", "slow", "unexpected"], &NO_FAST);
    }
    x4_a_forced_handler_keeps_its_candidate {
        let steps = [post(0, 7), post(0, 7), post(1, 9), send(0, 7), send(0, 7), send(1, 9)];
        let expected = ["clean", "fast", "forced", "refused_mixed"];
        three("block/X4 forced, unchanged", paper(), &steps, &expected, &[]);
    }
    x5_forcing_rule {
        let (name, expected) = ("block/X5 forcing rule", ["clean", "slow", "unexpected"]);
        three(name, paper(), &to_be_forced(), &expected, &NO_FAST);
        let stream = of(3, bitmap(FastPath::Sequence), &to_be_forced());
        meeting(name, stream, THREE, &expected, &NO_FAST);
    }
    x5_forcing_rule_four {
        let steps = [&to_be_forced()[..], &[send(1, 7)]].concat();
        let expected = ["clean", "slow", "unexpected"];
        four("block/X5 forcing rule, four", paper(), &steps, &expected, &NO_FAST);
    }
    nothing_posted {
        let steps = [send(0, 7), send(0, 8), send(0, 7)];
        three("block/unexpected only", paper(), &steps, &["unexpected", "stored"], &CLEAN);
    }
    early_check_two {
        // The second handler sometimes skips the booked receive without a conflict, and sometimes
        // looks too early to see the bit.
        two("block/early check, two", early(), &equal(2), &CLEAN_FAST, &NO_SLOW);
    }
    early_check_three {
        let steps = [post(0, 7), post(None, 7), post(0, 7), send(0, 7), send(0, 7), send(1, 7)];
        three("block/early check, three", early(), &steps, &CLEAN_SLOW, &[]);
    }
    lazy_removal_of_neighbours {
        // One chain of three keys: two handlers unlink neighbours while the third walks past them.
        let steps = [post(0, 7), post(0, 8), post(0, 9), send(0, 7), send(0, 8), send(0, 9)];
        let expected = ["clean", "lock_missed"];
        stream("block/lazy removal", of(3, paper(), &steps), REMOVAL, &expected, &NO_CONFLICT);
    }
    eager_removal_of_neighbours {
        let steps = [post(0, 7), post(0, 8), post(0, 9), send(0, 7), send(0, 8), send(0, 9)];
        let never = ["fast", "slow", "lock_missed"];
        stream("block/eager removal", of(3, eager(), &steps), THREE_REMOVING, &CLEAN, &never);
        // Two, so that the second also waits for the lock.
        let steps = [post(0, 7), post(0, 8), send(0, 7), send(0, 8)];
        two("block/eager removal, two", eager(), &steps, &CLEAN, &["lock_missed"]);
    }
    fast_path_walks_over_unlinked_receives {
        // Labels, not hops (S9): the receives between may have left the chain.
        let steps = [vec![post(0, 7); 4], vec![send(0, 7); 3]].concat();
        three("block/labels, not hops", paper(), &steps, &CLEAN_FAST, &NO_SLOW);
    }
    slices_of_two {
        let slices = Stream::new(tiny(4, 2, paper()), &equal(4));
        stream("block/slices of two, fast", slices, REMOVAL, &CLEAN_FAST, &NO_SLOW);
    }
    slices_of_two_slow {
        let posts = [post(0, 7), post(None, 7), post(1, 9)];
        let steps = [&posts[..], &[send(0, 7), send(0, 7), send(1, 9), send(0, 7)]].concat();
        let slices = Stream::new(tiny(4, 2, paper()), &steps);
        let expected = ["clean", "slow", "unexpected"];
        stream("block/slices of two, slow", slices, REMOVAL, &expected, &[]);
    }
    communicators_share_a_block {
        // S25: the shift of the fast path counts handlers of the same communicator.
        let posts = [post_in(0, 0, 7), post_in(1, 0, 7), post_in(1, 0, 7)];
        let steps = [posts, [send_in(1, 0, 7), send_in(0, 0, 7), send_in(1, 0, 7)]].concat();
        let config = NicConfig { receives: 3, communicators: 2, ..tiny(3, 3, deferred()) };
        let both = Stream::new(config, &steps);
        stream("block/two communicators", both, THREE, &CLEAN_FAST, &NO_SLOW);
    }
    overtaking_claims {
        let hints = Hints { allow_overtaking: true, ..Hints::default() };
        let never = ["clean", "fast", "slow"];
        let claims = Stream { hints, ..of(2, paper(), &equal(2)) };
        stream("block/overtaking, two", claims, TWO, &["overtaking"], &never);
        let expected = ["overtaking", "unexpected"];
        let claims = [post(None, 7), send(0, 7), send(1, 7)];
        let claims = Stream { hints, ..of(2, paper(), &claims) };
        stream("block/overtaking, one of two", claims, TWO, &expected, &never);
        let claims = [post(0, 7), post(None, 7), send(0, 7), send(1, 7), send(0, 7)];
        let claims = Stream { hints, ..of(3, deferred(), &claims) };
        stream("block/overtaking, two of three", claims, THREE, &expected, &never);
    }
}
