//! One block: handlers search, book, meet at the partial barrier and resolve conflicts. Each
//! scenario is named for its race.
//!
//! X1 to X5 are the worked examples of the papers; "form" numbers the entry rules of the fast path
//! (S8).
#![cfg(dpamatch_loom)]

use dpa_model::{Barrier, FastPath, Hints, NicConfig, Operation, Options, Removal};
use loom_tests::model::{Extent, alone, shared, stream};
use loom_tests::stream::{Stream, post, post_in, send, send_in, tiny};

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
    Options { fast_path, ..Options::default() }
}

/// Barrier as one bitmap, with removal left to the boundary.
fn bitmap(fast_path: FastPath) -> Options {
    Options { barrier: Barrier::Bitmap, removal: Removal::Deferred, ..with(fast_path) }
}

/// Workers that meet at a bitmap. A lone leader has no such barrier.
fn meeting(
    name: &str,
    stream: Stream,
    extent: Extent,
    expected: &[&'static str],
    never: &[&'static str],
) {
    shared(&format!("{name}, bitmap"), stream, extent, expected, never);
}

fn of(handlers: usize, options: Options, steps: &[Operation]) -> Stream {
    let receives =
        steps.iter().filter(|step| matches!(step, Operation::Post { .. })).count().max(1);
    Stream::new(NicConfig { receives, ..tiny(handlers, handlers, options) }, steps)
}

/// Three handlers, twice: removal at the boundary, to explore conflict and resolution deeply, and
/// removal under the bins' locks during the block.
fn three(
    name: &str,
    options: Options,
    steps: &[Operation],
    expected: &[&'static str],
    never: &[&'static str],
) {
    let deferred = Options { removal: Removal::Deferred, ..options };
    stream(&format!("{name}, deferred"), of(3, deferred, steps), THREE, expected, never);
    stream(name, of(3, options, steps), THREE_REMOVING, expected, never);
}

fn four(
    name: &str,
    options: Options,
    steps: &[Operation],
    expected: &[&'static str],
    never: &[&'static str],
) {
    let deferred = Options { removal: Removal::Deferred, ..options };
    stream(&format!("{name}, deferred"), of(4, deferred, steps), FOUR, expected, never);
    stream(name, of(4, options, steps), FOUR_REMOVING, expected, never);
}

/// Equal receives for equal messages, one per handler.
fn equal(count: usize) -> Vec<Operation> {
    [vec![post(0, 7); count], vec![send(0, 7); count]].concat()
}

#[test]
fn clean_two() {
    let steps = [post(0, 7), post(0, 8), send(0, 7), send(0, 8)];
    stream(
        "block/clean two",
        of(2, Options::default(), &steps),
        Extent::EXHAUSTIVE,
        &["clean"],
        &["fast", "slow"],
    );
}

#[test]
fn clean_two_bitmap() {
    let steps = [post(0, 7), post(0, 8), send(0, 7), send(0, 8)];
    let stream = of(2, bitmap(FastPath::Sequence), &steps);
    meeting("block/clean two", stream, TWO, &["clean"], &["fast", "slow"]);
}

#[test]
fn clean_three_bitmap() {
    let steps = [post(0, 7), post(0, 8), post(0, 9), send(0, 9), send(0, 8), send(0, 7)];
    let stream = of(3, bitmap(FastPath::Sequence), &steps);
    meeting("block/clean three", stream, THREE, &["clean"], &["fast", "slow"]);
}

#[test]
fn clean_three() {
    let steps = [post(0, 7), post(0, 8), post(0, 9), send(0, 9), send(0, 8), send(0, 7)];
    three("block/clean three", Options::default(), &steps, &["clean"], &["fast", "slow"]);
}

#[test]
fn clean_four() {
    let posts = [post(0, 7), post(0, 8), post(0, 9), post(0, 6)];
    let steps = [posts, [send(0, 6), send(0, 9), send(0, 8), send(0, 7)]].concat();
    four("block/clean four", Options::default(), &steps, &["clean"], &["fast", "slow"]);
}

#[test]
fn form_c_two() {
    stream(
        "block/form c, two",
        of(2, Options::default(), &equal(2)),
        TWO,
        &["clean", "fast"],
        &["slow"],
    );
}

#[test]
fn form_c_bitmap() {
    for (handlers, extent) in [(2, TWO), (3, THREE), (4, FOUR)] {
        let stream = of(handlers, bitmap(FastPath::Sequence), &equal(handlers));
        let name = format!("block/form c, {handlers}");
        meeting(&name, stream, extent, &["clean", "fast"], &["slow"]);
    }
}

#[test]
fn form_c_three() {
    three("block/form c, three", Options::default(), &equal(3), &["clean", "fast"], &["slow"]);
}

#[test]
fn form_c_four() {
    four("block/form c, four", Options::default(), &equal(4), &["clean", "fast"], &["slow"]);
}

#[test]
fn form_b_two() {
    stream(
        "block/form b, two",
        of(2, with(FastPath::Prefix), &equal(2)),
        TWO,
        &["clean", "fast"],
        &["slow"],
    );
}

#[test]
fn form_b_three() {
    // A handler that searched after a lower one had consumed chose another receive: refused, slow.
    let expected = ["clean", "fast", "slow", "refused_mixed"];
    three("block/form b, three", with(FastPath::Prefix), &equal(3), &expected, &[]);
}

#[test]
fn form_a_two() {
    stream(
        "block/form a, two",
        of(2, with(FastPath::Literal), &equal(2)),
        TWO,
        &["clean", "fast"],
        &["slow"],
    );
}

#[test]
fn form_a_three() {
    let expected = ["clean", "fast", "slow", "refused_mixed"];
    three("block/form a, three", with(FastPath::Literal), &equal(3), &expected, &[]);
}

#[test]
fn form_b_four() {
    let expected = ["clean", "fast", "slow", "refused_mixed"];
    four("block/form b, four", with(FastPath::Prefix), &equal(4), &expected, &[]);
}

#[test]
fn form_a_four() {
    let expected = ["clean", "fast", "slow", "refused_mixed"];
    four("block/form a, four", with(FastPath::Literal), &equal(4), &expected, &[]);
}

#[test]
fn form_a_never_in_a_partial_block() {
    // Two messages for three handlers: not all N bits can be set (S8).
    let config = tiny(3, 2, with(FastPath::Literal));
    let partial = Stream::new(config, &equal(2));
    alone("block/form a, partial", partial.clone(), &["clean"], &["fast"]);
    shared("block/form a, partial", partial, TWO, &["clean", "slow"], &["fast"]);
}

#[test]
fn slow_two() {
    stream(
        "block/slow two",
        of(2, with(FastPath::Off), &equal(2)),
        TWO,
        &["clean", "slow"],
        &["fast"],
    );
}

#[test]
fn slow_bitmap() {
    for (handlers, extent) in [(2, TWO), (3, THREE), (4, FOUR)] {
        let stream = of(handlers, bitmap(FastPath::Off), &equal(handlers));
        let name = format!("block/slow, {handlers}");
        meeting(&name, stream, extent, &["clean", "slow"], &["fast"]);
    }
}

#[test]
fn slow_chain_three() {
    three("block/slow chain, three", with(FastPath::Off), &equal(3), &["clean", "slow"], &["fast"]);
}

#[test]
fn slow_chain_four() {
    four("block/slow chain, four", with(FastPath::Off), &equal(4), &["clean", "slow"], &["fast"]);
}

#[test]
fn slow_search_passes_marked_receives() {
    // The first two handlers meet at the bin's lock, so the second one's receive may stay linked.
    // The third must not take it.
    let steps = [post(0, 9), post(0, 7), post(0, 7), send(0, 9), send(0, 7), send(0, 7)];
    let expected = ["clean", "slow", "lock_missed"];
    stream(
        "block/slow search, marked",
        of(3, with(FastPath::Off), &steps),
        REMOVAL,
        &expected,
        &["fast"],
    );
}

#[test]
fn a_conflict_with_another_than_the_neighbour() {
    let steps = [post(0, 7), post(1, 9), post(0, 7), send(0, 7), send(1, 9), send(0, 7)];
    let expected = ["clean", "slow", "refused_mixed"];
    three("block/conflict over a neighbour", Options::default(), &steps, &expected, &["fast"]);
}

#[test]
fn a_conflict_with_another_than_the_neighbour_bitmap() {
    let steps = [post(0, 7), post(1, 9), post(0, 7), send(0, 7), send(1, 9), send(0, 7)];
    let stream = of(3, bitmap(FastPath::Sequence), &steps);
    let expected = ["clean", "slow", "refused_mixed"];
    meeting("block/conflict over a neighbour", stream, THREE, &expected, &["fast"]);
}

#[test]
fn a_message_without_receive_between_equal_ones() {
    // The third handler is the second of its key: it must not count the one between (S8).
    let steps = [post(0, 7), post(0, 7), post(0, 7), send(0, 7), send(1, 9), send(0, 7)];
    let expected = ["clean", "slow", "refused_mixed", "stored"];
    three("block/fast path needs all lower", Options::default(), &steps, &expected, &["fast"]);
}

#[test]
fn sequence_break_two() {
    // The next receive accepts any source and is in another chain, so the fast path reaches its
    // chain's end.
    let steps = [post(0, 7), post(None, 7), send(0, 7), send(0, 7)];
    let expected = ["clean", "slow", "refused_exhausted"];
    stream("block/sequence break, two", of(2, Options::default(), &steps), TWO, &expected, &[]);
}

#[test]
fn sequence_break_in_one_chain_three() {
    // Receives of one key around one of another: the chain holds three sequences.
    let steps = [post(0, 7), post(0, 8), post(0, 7), send(0, 7), send(0, 7), send(0, 8)];
    let expected = ["clean", "slow", "refused_sequence"];
    three("block/sequence break, three", Options::default(), &steps, &expected, &["fast"]);
}

#[test]
fn sequence_break_in_one_chain_four() {
    let posts = [post(0, 7), post(0, 8), post(0, 7), post(0, 7)];
    let steps = [posts, [send(0, 7), send(0, 7), send(0, 7), send(0, 8)]].concat();
    let expected = ["clean", "slow", "refused_sequence"];
    four("block/sequence break, four", Options::default(), &steps, &expected, &["fast"]);
}

#[test]
fn x2_wildcard_between_compatible_receives() {
    let steps = [post(0, 7), post(0, 7), post(None, 7), send(0, 7), send(0, 7), send(0, 7)];
    let expected = ["clean", "fast", "slow"];
    three("block/X2 wildcard after two", Options::default(), &steps, &expected, &[]);
}

#[test]
fn x2_wildcard_in_the_middle() {
    let steps = [post(0, 7), post(None, 7), post(0, 7), send(0, 7), send(0, 7), send(0, 7)];
    three("block/X2 wildcard between", Options::default(), &steps, &["clean", "slow"], &["fast"]);
}

#[test]
fn x3_too_few_receives() {
    let steps = [post(0, 7), send(0, 7), send(0, 7)];
    let expected = ["clean", "slow", "refused_exhausted", "unexpected", "stored"];
    stream("block/X3 one of two", of(2, Options::default(), &steps), TWO, &expected, &[]);
}

#[test]
fn x3_unexpected_in_arrival_order() {
    let steps = [post(0, 7), send(0, 7), send(0, 7), send(0, 7)];
    let expected = ["clean", "slow", "unexpected", "stored"];
    three("block/X3 one of three", Options::default(), &steps, &expected, &["fast"]);
}

#[test]
fn x4_mixed_keys() {
    let steps =
        [post(0, 7), post(1, 9), post(None, None), send(0, 7), send(0, 7), send(1, 9), send(0, 7)];
    let expected = ["clean", "slow", "unexpected"];
    four("block/X4 mixed keys", Options::default(), &steps, &expected, &["fast"]);
}

#[test]
fn x4_a_forced_handler_keeps_its_candidate() {
    let steps = [post(0, 7), post(0, 7), post(1, 9), send(0, 7), send(0, 7), send(1, 9)];
    let expected = ["clean", "fast", "forced", "refused_mixed"];
    three("block/X4 forced, unchanged", Options::default(), &steps, &expected, &[]);
}

#[test]
fn x5_forcing_rule() {
    // The third handler books an uncontested receive and must give it up (O14).
    let steps = [post(0, 7), post(None, 7), send(0, 7), send(0, 7), send(1, 7)];
    let expected = ["clean", "slow", "unexpected"];
    three("block/X5 forcing rule", Options::default(), &steps, &expected, &["fast"]);
}

#[test]
fn x5_forcing_rule_bitmap() {
    let steps = [post(0, 7), post(None, 7), send(0, 7), send(0, 7), send(1, 7)];
    let stream = of(3, bitmap(FastPath::Sequence), &steps);
    let expected = ["clean", "slow", "unexpected"];
    meeting("block/X5 forcing rule", stream, THREE, &expected, &["fast"]);
}

#[test]
fn x5_forcing_rule_four() {
    let steps = [post(0, 7), post(None, 7), send(0, 7), send(0, 7), send(1, 7), send(1, 7)];
    let expected = ["clean", "slow", "unexpected"];
    four("block/X5 forcing rule, four", Options::default(), &steps, &expected, &["fast"]);
}

#[test]
fn nothing_posted() {
    let steps = [send(0, 7), send(0, 8), send(0, 7)];
    three(
        "block/unexpected only",
        Options::default(),
        &steps,
        &["unexpected", "stored"],
        &["clean"],
    );
}

#[test]
fn early_check_two() {
    // The second handler sometimes skips the booked receive without a conflict, and sometimes looks
    // too early to see the bit.
    let options = Options { early_check: true, ..Options::default() };
    stream("block/early check, two", of(2, options, &equal(2)), TWO, &["clean", "fast"], &["slow"]);
}

#[test]
fn early_check_three() {
    let options = Options { early_check: true, ..Options::default() };
    let steps = [post(0, 7), post(None, 7), post(0, 7), send(0, 7), send(0, 7), send(1, 7)];
    three("block/early check, three", options, &steps, &["clean", "slow"], &[]);
}

#[test]
fn lazy_removal_of_neighbours() {
    // One chain of three keys: two handlers unlink neighbours while the third walks past them.
    let steps = [post(0, 7), post(0, 8), post(0, 9), send(0, 7), send(0, 8), send(0, 9)];
    let expected = ["clean", "lock_missed"];
    stream(
        "block/lazy removal",
        of(3, Options::default(), &steps),
        REMOVAL,
        &expected,
        &["fast", "slow"],
    );
}

#[test]
fn eager_removal_of_neighbours() {
    let options = Options { removal: Removal::Eager, ..Options::default() };
    let steps = [post(0, 7), post(0, 8), post(0, 9), send(0, 7), send(0, 8), send(0, 9)];
    stream(
        "block/eager removal",
        of(3, options, &steps),
        THREE_REMOVING,
        &["clean"],
        &["fast", "slow", "lock_missed"],
    );
    // Two, so that the second also waits for the lock.
    let two = [post(0, 7), post(0, 8), send(0, 7), send(0, 8)];
    let name = "block/eager removal, two";
    stream(name, of(2, options, &two), TWO, &["clean"], &["lock_missed"]);
}

#[test]
fn fast_path_walks_over_unlinked_receives() {
    // Labels, not hops (S9): the receives between may have left the chain.
    let steps = [vec![post(0, 7); 4], vec![send(0, 7); 3]].concat();
    three("block/labels, not hops", Options::default(), &steps, &["clean", "fast"], &["slow"]);
}

#[test]
fn slices_of_two() {
    let steps = equal(4);
    let config = tiny(4, 2, Options::default());
    stream(
        "block/slices of two, fast",
        Stream::new(config, &steps),
        Extent::bounded(2, 4),
        &["clean", "fast"],
        &["slow"],
    );
}

#[test]
fn slices_of_two_slow() {
    let steps =
        [post(0, 7), post(None, 7), post(1, 9), send(0, 7), send(0, 7), send(1, 9), send(0, 7)];
    let config = tiny(4, 2, Options::default());
    stream(
        "block/slices of two, slow",
        Stream::new(config, &steps),
        Extent::bounded(2, 4),
        &["clean", "slow", "unexpected"],
        &[],
    );
}

#[test]
fn communicators_share_a_block() {
    // S25: the shift of the fast path counts handlers of the same communicator.
    let steps = [
        post_in(0, 0, 7),
        post_in(1, 0, 7),
        post_in(1, 0, 7),
        send_in(1, 0, 7),
        send_in(0, 0, 7),
        send_in(1, 0, 7),
    ];
    let options = Options { removal: Removal::Deferred, ..Options::default() };
    let config = NicConfig { receives: 3, communicators: 2, ..tiny(3, 3, options) };
    stream(
        "block/two communicators",
        Stream::new(config, &steps),
        THREE,
        &["clean", "fast"],
        &["slow"],
    );
}

#[test]
fn overtaking_claims() {
    let hints = Hints { allow_overtaking: true, ..Hints::default() };
    let claims = Stream { hints, ..of(2, Options::default(), &equal(2)) };
    stream("block/overtaking, two", claims, TWO, &["overtaking"], &["clean", "fast", "slow"]);
}

#[test]
fn overtaking_claims_of_too_few() {
    let hints = Hints { allow_overtaking: true, ..Hints::default() };
    let claims =
        Stream { hints, ..of(2, Options::default(), &[post(None, 7), send(0, 7), send(1, 7)]) };
    let expected = ["overtaking", "unexpected"];
    stream("block/overtaking, one of two", claims, TWO, &expected, &["clean", "fast", "slow"]);
}

#[test]
fn overtaking_claims_of_three() {
    let hints = Hints { allow_overtaking: true, ..Hints::default() };
    let options = Options { removal: Removal::Deferred, ..Options::default() };
    let steps = [post(0, 7), post(None, 7), send(0, 7), send(1, 7), send(0, 7)];
    let claims = Stream { hints, ..of(3, options, &steps) };
    let expected = ["overtaking", "unexpected"];
    stream("block/overtaking, two of three", claims, THREE, &expected, &["clean", "fast", "slow"]);
}
