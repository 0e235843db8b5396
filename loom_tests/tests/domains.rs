//! One block with conflict domains (`Domains::Keyed`): handlers wait only for lower handlers whose
//! messages a posted receive could match as well as their own. Everything else of a block is in
//! `block.rs`.
#![cfg(dpamatch_loom)]

use dpa_model::{FastPath, Hints, NicConfig, Operation, Options, Removal};
use loom_tests::model::{Extent, shared};
use loom_tests::stream::{Stream, cancel, post, post_in, send, send_in, tiny};

/// Two workers, by default and where one may wait; three without and with receives that leave
/// their chain meanwhile.
const TWO: Extent = Extent::EXHAUSTIVE;
const TWO_SLOW: Extent = Extent::bounded_usually(3);
const THREE: Extent = Extent::bounded(2, 4);
const REMOVAL: Extent = Extent::bounded(1, 3);
/// Two blocks.
const BLOCKS: Extent = Extent::bounded(3, 6);

fn keyed() -> Options {
    Options::default()
}

fn of(handlers: usize, options: Options, steps: &[Operation]) -> Stream {
    let receives = steps.iter().filter(|step| matches!(step, Operation::Post { .. })).count();
    let comms = steps.iter().map(|step| match step {
        Operation::Post { comm, .. } => comm.0 as usize + 1,
        _ => 1,
    });
    let communicators = comms.max().unwrap_or(1);
    let config = tiny(handlers, handlers, options);
    Stream::new(NicConfig { receives: receives.max(1), communicators, ..config }, steps)
}

/// Two handlers, with every schedule unless one waits.
fn two(name: &str, steps: &[Operation], expected: &[&str], never: &[&str]) {
    let extent = if expected.contains(&"slow") { TWO_SLOW } else { TWO };
    shared(&format!("domains/{name}"), of(2, keyed(), steps), extent, expected, never);
}

/// Three handlers, twice: removal at the boundary, and under the bins' locks.
fn three(name: &str, steps: &[Operation], expected: &[&str], never: &[&str]) {
    let deferred = Options { removal: Removal::Deferred, ..keyed() };
    let name = format!("domains/{name}");
    shared(&format!("{name}, deferred"), of(3, deferred, steps), THREE, expected, never);
    shared(&name, of(3, keyed(), steps), REMOVAL, expected, never);
}

#[test]
fn two_domains_in_one_chain() {
    // The higher handler may end before the lower one has begun, and unlinks what that one passes.
    let steps = [post(0, 7), post(0, 8), send(0, 8), send(0, 7)];
    two("two in one chain", &steps, &["clean"], &["fast", "slow"]);
}

#[test]
fn one_domain_of_two() {
    let steps = [post(0, 7), post(0, 7), send(0, 7), send(0, 7)];
    two("one of two", &steps, &["clean", "fast"], &["slow"]);
}

#[test]
fn a_conflict_forces_no_other_domain() {
    // In the paper's block the second and the third would wait.
    let steps = [post(0, 7), post(0, 7), post(0, 8), send(0, 7), send(0, 7), send(0, 8)];
    three("a conflict beside", &steps, &["clean", "fast"], &["slow"]);
}

#[test]
fn ranks_count_the_domain() {
    // The third handler is the second of its domain. The receives are one sequence of three.
    let sends = [send(0, 7), send(1, 9), send(0, 7)];
    let steps = [[post(0, 7); 3], sends].concat();
    three("rank", &steps, &["clean", "fast", "stored"], &["slow"]);
}

#[test]
fn the_slow_path_waits_for_the_domain() {
    // Another receive between the two of a key ends their sequence.
    let steps = [post(0, 7), post(0, 8), post(0, 7), send(0, 8), send(0, 7), send(0, 7)];
    three("slow", &steps, &["clean", "slow"], &["fast"]);
}

/// Without a fast path a handler waits for the nearest lower one with a candidate.
fn chain(handlers: usize, name: &str, steps: &[Operation]) {
    let options = Options { fast_path: FastPath::Off, removal: Removal::Deferred, ..keyed() };
    let name = format!("domains/{name}");
    let extent = if handlers == 2 { TWO_SLOW } else { THREE };
    shared(&name, of(handlers, options, steps), extent, &["clean", "slow"], &["fast"]);
}

#[test]
fn without_a_fast_path_the_nearest_has_waited() {
    chain(2, "chain of two", &[[post(0, 7); 2], [send(0, 7); 2]].concat());
    chain(3, "chain of three", &[[post(0, 7); 3], [send(0, 7); 3]].concat());
}

#[test]
fn a_handler_without_a_candidate_has_not_waited() {
    // Any source is posted, so the messages are one domain; the second finds nothing.
    let posts = [post(None, 8), post(0, 7), post(0, 7)];
    let steps = [posts, [send(0, 7), send(1, 7), send(0, 7)]].concat();
    chain(3, "chain with a gap", &steps);
}

#[test]
fn a_handler_on_the_fast_path_has_not_waited() {
    // The run of the first two ends before the third receive.
    let posts = [post(0, 7), post(0, 7), post(0, 8), post(0, 7)];
    let steps = [posts.as_slice(), &[send(0, 7); 3]].concat();
    let stream = of(3, Options { removal: Removal::Deferred, ..keyed() }, &steps);
    shared("domains/behind a fast one", stream, THREE, &["clean", "fast", "slow"], &[]);
}

#[test]
fn domain_of_three() {
    // One receive more, which a handler that counts wrongly would take.
    let steps = [[post(0, 7); 4].as_slice(), &[send(0, 7); 3]].concat();
    three("three of one", &steps, &["clean", "fast"], &["slow"]);
}

#[test]
fn a_run_may_lie_apart() {
    // The chain of the other tag is another one, so the receives of a run are no neighbours in the
    // table.
    let posts = [post(0, 7), post(0, 8), post(0, 7), post(0, 7)];
    let steps = [posts.as_slice(), &[send(0, 7), send(0, 8), send(0, 7)]].concat();
    let stream = of(3, keyed(), &steps);
    let stream = Stream { config: NicConfig { bins: 4, ..stream.config }, ..stream };
    shared("domains/run apart", stream, REMOVAL, &["clean", "fast"], &["slow"]);
}

#[test]
fn receives_of_another_class_stand_between_those_of_a_run() {
    let posts = [post(None, 7), post(0, 7), post(None, 7)];
    let steps = [posts.as_slice(), &[send(0, 7), send(0, 7)]].concat();
    two("class between", &steps, &["clean", "slow"], &["fast"]);
}

#[test]
fn any_source_joins_all_sources_of_a_tag() {
    let steps = [post(None, 7), post(0, 7), send(0, 7), send(1, 7)];
    two("any source", &steps, &["clean", "slow", "stored"], &["fast"]);
    let sends = [send(2, 7), send(0, 8), send(1, 7)];
    let steps = [[post(None, 7); 2].as_slice(), &[post(0, 8)], &sends].concat();
    three("any source, three", &steps, &["clean", "fast"], &["slow"]);
}

#[test]
fn any_tag_joins_all_tags_of_a_source() {
    let steps = [post(0, None), post(0, 7), send(0, 8), send(0, 7)];
    two("any tag", &steps, &["clean", "slow"], &["fast"]);
    let sends = [send(0, 7), send(1, 7), send(0, 8)];
    let steps = [[post(0, None); 2].as_slice(), &[post(1, 7)], &sends].concat();
    three("any tag, three", &steps, &["clean", "fast"], &["slow"]);
}

#[test]
fn both_kinds_of_wildcard_join_all() {
    // The first two share no field, but the receives of the third chain them together.
    let steps = [post(None, 7), post(1, None), post(1, 8), send(1, 7), send(0, 7), send(1, 8)];
    three("both wildcards", &steps, &["clean", "slow"], &["fast"]);
    let steps = [post(None, None), post(0, 7), send(1, 8), send(0, 7)];
    two("any source and tag", &steps, &["clean", "slow"], &["fast"]);
}

#[test]
fn communicators_have_domains_of_their_own() {
    let posts = [post_in(0, 0, 7), post_in(0, 0, 7), post_in(0, 0, 7), post_in(1, 0, 7)];
    let sends = [send_in(0, 0, 7), send_in(1, 0, 7), send_in(0, 0, 7)];
    let steps = [posts.as_slice(), &sends].concat();
    three("two communicators", &steps, &["clean", "fast"], &["slow"]);
}

#[test]
fn a_wildcard_before_the_second_block_changes_the_domains() {
    let first = [post(0, 7), post(1, 7), send(0, 7), send(1, 7)];
    let second = [post(None, 7), post(0, 7), send(0, 7), send(1, 7)];
    let stream = of(2, keyed(), &[first, second].concat());
    shared("domains/wildcard later", stream, BLOCKS, &["clean", "slow"], &["fast"]);
}

#[test]
fn keys_of_an_earlier_block_are_not_believed() {
    // Both handlers change their keys.
    let first = [post(0, 7), post(0, 8), send(0, 7), send(0, 8)];
    let second = [post(0, 8), post(0, 8), send(0, 8), send(0, 8)];
    let stream = of(2, keyed(), &[first, second].concat());
    shared("domains/old keys", stream, BLOCKS, &["clean", "fast"], &["slow"]);
}

#[test]
fn keys_come_round() {
    // The second handler has no message in the second block. In a model the third block has the
    // number of the first in its keys.
    let first = [post(0, 7), post(0, 8), post(0, 9), send(0, 7), send(0, 8), send(0, 9)];
    let second = [post(0, 7), send(0, 7)];
    let third = [post(0, 7), post(0, 9), post(0, 9), send(0, 7), send(0, 9), send(0, 9)];
    let options = Options { always_shared: true, removal: Removal::Deferred, ..keyed() };
    let stream = of(3, options, &[first.as_slice(), &second, &third].concat());
    let config = NicConfig { bins: 4, ..stream.config };
    let stream = Stream { config, ..stream };
    shared("domains/keys come round", stream, Extent::bounded(1, 2), &["clean", "fast"], &["slow"]);
}

#[test]
fn a_cancelled_wildcard_is_no_class() {
    let posts = [post(None, 9), post(0, 7), post(1, 7), cancel(0)];
    let steps = [posts.as_slice(), &[send(1, 7), send(0, 7)]].concat();
    two("cancelled wildcard", &steps, &["clean"], &["fast", "slow"]);
}

#[test]
fn false_hashes_change_no_domain() {
    // With one bin a message with wrong hashes finds the receives of its fields.
    let steps = [post(0, 7), post(0, 7), send(0, 7), send(0, 7)];
    let lying = Stream { false_hashes: true, ..of(2, keyed(), &steps) };
    shared("domains/false hashes", lying, TWO_SLOW, &["clean", "fast"], &["slow"]);
}

#[test]
fn overtaking_messages_have_no_domain() {
    let hints = Hints { allow_overtaking: true, ..Hints::default() };
    let steps = [post(0, 7), post(0, 7), send(0, 7), send(0, 7)];
    let stream = Stream { hints, ..of(2, keyed(), &steps) };
    shared("domains/overtaking", stream, TWO, &["overtaking"], &["clean", "fast", "slow"]);
}

#[test]
fn every_form_and_the_early_check() {
    for fast_path in FastPath::ALL.iter().copied() {
        let options = Options { fast_path, ..keyed() };
        let steps = [[post(0, 7); 2], [send(0, 7); 2]].concat();
        let name = format!("domains/{fast_path}");
        shared(&name, of(2, options, &steps), TWO_SLOW, &["clean"], &[]);
    }
    let options = Options { early_check: true, ..keyed() };
    let steps = [[post(0, 7); 2], [send(0, 7); 2]].concat();
    shared("domains/early check", of(2, options, &steps), TWO_SLOW, &["clean"], &[]);
}

#[test]
fn slices_of_two() {
    let posts = [post(0, 7), post(0, 7), post(0, 8), post(0, 8)];
    let sends = [send(0, 7), send(0, 8), send(0, 8), send(0, 7)];
    let config = NicConfig { receives: 4, ..tiny(4, 2, keyed()) };
    let stream = Stream::new(config, &[posts, sends].concat());
    shared("domains/slices of two", stream, Extent::bounded(2, 4), &["clean", "fast"], &["slow"]);
}
