//! Several blocks: the fence between them (S1), reused descriptors, and changes at the boundary.
#![cfg(dpamatch_loom)]

use dpa_model::{Barrier, NicConfig, Operation, Options};
use loom_tests::model::{Extent, alone_in_full_set, shared, stream};
use loom_tests::stream::{Stream, cancel, paper, post, send, tiny};

const TWO: Extent = Extent::bounded(3, 6);
const THREE: Extent = Extent::bounded(1, 3);

fn of(handlers: usize, receives: usize, steps: &[Operation]) -> Stream {
    Stream::new(NicConfig { receives, ..tiny(handlers, handlers, paper()) }, steps)
}

#[test]
fn equal_keys_over_two_blocks() {
    let steps = [vec![post(0, 7); 4], vec![send(0, 7); 4]].concat();
    stream("blocks/two, equal keys", of(2, 4, &steps), TWO, &["clean", "fast"], &["slow"]);
}

fn on_bitmap(stream: Stream) -> Stream {
    let options = Options { barrier: Barrier::Bitmap, ..stream.config.options };
    Stream { config: NicConfig { options, ..stream.config }, ..stream }
}

#[test]
fn both_bitmaps_take_turns() {
    let steps = [vec![post(0, 7); 4], vec![send(0, 7); 4]].concat();
    let stream = on_bitmap(of(2, 4, &steps));
    shared("blocks/two, equal keys, bitmap", stream, TWO, &["clean", "fast"], &["slow"]);
    let steps = [vec![post(0, 7); 6], vec![send(0, 7); 6]].concat();
    let stream = on_bitmap(of(3, 8, &steps));
    shared("blocks/two of three, bitmap", stream, THREE, &["clean", "fast"], &["slow"]);
}

#[test]
fn a_bitmap_comes_back() {
    // The third block reuses the bits of the first.
    let block = [vec![post(0, 7); 2], vec![send(0, 7); 2]].concat();
    let stream = on_bitmap(of(2, 2, &block.repeat(3)));
    // Each earlier block costs preemptions; a lower bound misses bits that stay set.
    let extent = Extent::bounded(5, 6);
    shared("blocks/three, bitmap", stream, extent, &["clean", "fast"], &["slow"]);
}

#[test]
fn a_bitmap_comes_back_after_a_block_alone() {
    // Two shared blocks around one of a lone leader must not use the same bits.
    let steps = [vec![post(0, 7); 6], vec![send(0, 7); 6]].concat();
    let stream = Stream { switching: true, ..on_bitmap(of(2, 6, &steps)) };
    shared("blocks/switching, bitmap", stream, TWO, &["shared_blocks", "clean", "fast"], &[]);
}

#[test]
fn three_handlers_over_two_blocks() {
    let steps = [vec![post(0, 7); 6], vec![send(0, 7); 6]].concat();
    stream(
        "blocks/two of three, equal keys",
        of(3, 8, &steps),
        THREE,
        &["clean", "fast"],
        &["slow"],
    );
}

#[test]
fn descriptors_come_back_in_the_next_block() {
    // Two descriptors for four receives: the second block reuses those that the first consumed.
    let steps =
        [vec![post(0, 7); 2], vec![send(0, 7); 2], vec![post(0, 7); 2], vec![send(0, 7); 2]]
            .concat();
    stream("blocks/recycling, equal keys", of(2, 2, &steps), TWO, &["clean", "fast"], &["slow"]);
}

#[test]
fn descriptors_come_back_with_other_keys() {
    let steps = [
        post(0, 7),
        post(None, 7),
        send(0, 7),
        send(0, 7),
        post(0, 8),
        post(0, 7),
        send(0, 7),
        send(0, 8),
    ];
    stream("blocks/recycling, mixed keys", of(2, 2, &steps), TWO, &["clean", "slow"], &["fast"]);
}

#[test]
fn descriptors_come_back_twice() {
    let block = [vec![post(0, 7); 2], vec![send(0, 7); 2]].concat();
    stream(
        "blocks/recycling, three blocks",
        of(2, 2, &block.repeat(3)),
        Extent::bounded(2, 4),
        &["clean", "fast"],
        &["slow"],
    );
}

#[test]
fn descriptors_come_back_twice_with_other_keys() {
    // Two descriptors serve six receives of four keys in three blocks; wildcards move them between
    // indexes.
    let steps = [
        [post(0, 7), post(None, 7), send(0, 7), send(0, 7)],
        [post(0, 8), post(0, 7), send(0, 7), send(0, 8)],
        [post(1, None), post(0, 7), send(1, 8), send(0, 7)],
    ]
    .concat();
    alone_in_full_set(
        "blocks/recycling, three blocks, mixed",
        of(2, 2, &steps),
        Extent::bounded(2, 4),
        &["clean", "slow"],
        &["fast"],
    );
}

#[test]
fn unexpected_messages_of_two_blocks_stay_in_order() {
    // Late receives take messages from the store, oldest first, between blocks.
    let steps = [send(0, 7), send(0, 7), post(0, 7), send(0, 7), send(0, 7), post(None, 7)];
    stream(
        "blocks/unexpected, then posts",
        of(2, 4, &steps),
        TWO,
        &["unexpected", "stored", "posts_late"],
        &["clean"],
    );
}

#[test]
fn a_cancel_between_blocks_splits_the_sequence() {
    // Labels 0 to 3 of one sequence, of which 2 is cancelled: the next block must not count over
    // the gap (S11).
    let steps = [
        vec![post(0, 7); 5],
        vec![send(0, 7), send(0, 7), cancel(3)],
        vec![send(0, 7), send(0, 7)],
    ]
    .concat();
    let expected = ["clean", "fast", "slow", "refused_sequence", "cancelled"];
    stream("blocks/cancel in a sequence", of(2, 8, &steps), TWO, &expected, &[]);
}

#[test]
fn a_worker_sits_out_a_short_block() {
    // Blocks of three, one and three messages: the third worker misses the middle one, which the
    // leader runs alone.
    let steps = [
        vec![post(0, 7); 3],
        vec![send(0, 7); 3],
        vec![post(0, 7), send(0, 7)],
        vec![post(0, 7); 2],
        vec![send(0, 7); 2],
    ]
    .concat();
    alone_in_full_set(
        "blocks/short block between",
        of(3, 8, &steps),
        THREE,
        &["clean", "fast", "shared_blocks"],
        &["slow"],
    );
}

#[test]
fn a_late_receive_takes_no_label() {
    // The receive of tag 8 takes a stored message; the two equal ones around it stay one sequence
    // (S10).
    let steps = [post(0, 7), send(0, 8), post(0, 8), post(0, 7), send(0, 7), send(0, 7)];
    stream(
        "blocks/late receive in a sequence",
        of(2, 8, &steps),
        TWO,
        &["clean", "fast", "posts_late"],
        &["slow"],
    );
}

#[test]
fn a_cancelled_receive_is_not_counted() {
    // Labels 0, 2 and 3 remain: the third handler must not take label 2 as the second after label 0
    // (S11).
    let steps = [vec![post(0, 7); 4], vec![cancel(1)], vec![send(0, 7); 3]].concat();
    let expected = ["clean", "slow", "refused_sequence", "cancelled"];
    stream("blocks/cancel in a block's sequence", of(3, 8, &steps), THREE, &expected, &[]);
}

/// The leader shares one block, runs the next alone and shares again, like a pool that tries both
/// ways.
fn switching(name: &str, receives: usize, steps: &[Operation], expected: &[&'static str]) {
    let stream = Stream { switching: true, ..of(2, receives, steps) };
    shared(name, stream, TWO, &[&["shared_blocks"], expected].concat(), &[]);
}

#[test]
fn a_leader_switches_between_both_ways() {
    let steps = [vec![post(0, 7); 6], vec![send(0, 7); 6]].concat();
    switching("blocks/switching, equal keys", 6, &steps, &["clean", "fast"]);
}

#[test]
fn descriptors_come_back_from_the_other_way() {
    // Two descriptors in all: each way reuses those that the other freed.
    let block = [post(0, 7), post(None, 7), send(0, 7), send(0, 7)];
    switching("blocks/switching, recycling", 2, &[block; 3].concat(), &["clean", "slow"]);
}
