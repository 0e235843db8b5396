//! Several blocks: the fence between them (S1), reused descriptors, and changes at the boundary.
#![cfg(dpamatch_loom)]

use dpa_model::Barrier;
use loom_tests::model::{Extent, Model};
use loom_tests::stream::{ANY, cancel, post, send};

/// The fence between blocks (S1), and the bits of the barrier.
#[test]
fn equal_keys_over_two_blocks() {
    Model::paper("blocks/two, equal keys", 2)
        .extent(Extent::bounded(3, 6))
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 4], [send(0, 7); 4]].concat());
}

#[test]
fn both_bitmaps_take_turns() {
    Model::paper("blocks/two, equal keys, bitmap", 2)
        .extent(Extent::bounded(3, 6))
        .barrier(Barrier::Bitmap)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 4], [send(0, 7); 4]].concat());
    Model::paper("blocks/two of three, bitmap", 3)
        .extent(Extent::bounded(1, 3))
        .receives(8)
        .barrier(Barrier::Bitmap)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 6], [send(0, 7); 6]].concat());
}

/// The third block reuses the bits of the first. Each earlier block costs preemptions; a lower
/// bound misses bits that stay set.
#[test]
fn a_bitmap_comes_back() {
    Model::paper("blocks/three, bitmap", 2)
        .extent(Extent::bounded(5, 6))
        .receives(2)
        .barrier(Barrier::Bitmap)
        .repeat(3)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 2], [send(0, 7); 2]].concat());
}

/// Two shared blocks around one of a lone leader must not use the same bits.
#[test]
fn a_bitmap_comes_back_after_a_block_alone() {
    Model::paper("blocks/switching, bitmap", 2)
        .extent(Extent::bounded(3, 6))
        .barrier(Barrier::Bitmap)
        .switching()
        .takes(&["shared_blocks", "clean", "fast"])
        .explore(&[[post(0, 7); 6], [send(0, 7); 6]].concat());
}

#[test]
fn three_handlers_over_two_blocks() {
    Model::paper("blocks/two of three, equal keys", 3)
        .extent(Extent::bounded(1, 3))
        .receives(8)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 6], [send(0, 7); 6]].concat());
}

/// Two descriptors for four receives: the second block reuses those that the first consumed.
#[test]
fn descriptors_come_back_in_the_next_block() {
    Model::paper("blocks/recycling, equal keys", 2)
        .extent(Extent::bounded(3, 6))
        .receives(2)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[
            post(0, 7),
            post(0, 7),
            send(0, 7),
            send(0, 7),
            post(0, 7),
            post(0, 7),
            send(0, 7),
            send(0, 7),
        ]);
}

#[test]
fn descriptors_come_back_with_other_keys() {
    Model::paper("blocks/recycling, mixed keys", 2)
        .extent(Extent::bounded(3, 6))
        .receives(2)
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[
            post(0, 7),
            post(ANY, 7),
            send(0, 7),
            send(0, 7),
            post(0, 8),
            post(0, 7),
            send(0, 7),
            send(0, 8),
        ]);
}

#[test]
fn descriptors_come_back_twice() {
    Model::paper("blocks/recycling, three blocks", 2)
        .extent(Extent::bounded(2, 4))
        .receives(2)
        .repeat(3)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 2], [send(0, 7); 2]].concat());
}

/// Two descriptors serve six receives of four keys in three blocks; wildcards move them between
/// indexes.
#[test]
fn descriptors_come_back_twice_with_other_keys() {
    Model::paper("blocks/recycling, three blocks, mixed", 2)
        .extent(Extent::bounded(2, 4))
        .receives(2)
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[
            post(0, 7),
            post(ANY, 7),
            send(0, 7),
            send(0, 7),
            post(0, 8),
            post(0, 7),
            send(0, 7),
            send(0, 8),
            post(1, ANY),
            post(0, 7),
            send(1, 8),
            send(0, 7),
        ]);
}

/// Labels, sequences, cancels. Late receives take messages from the store, oldest first, between
/// blocks.
#[test]
fn unexpected_messages_of_two_blocks_stay_in_order() {
    Model::paper("blocks/unexpected, then posts", 2)
        .extent(Extent::bounded(3, 6))
        .receives(4)
        .takes(&["unexpected", "arrivals_stored", "posts_late"])
        .never(&["clean"])
        .explore(&[
            send(0, 7),
            send(0, 7),
            post(0, 7),
            send(0, 7),
            send(0, 7),
            post(ANY, 7),
        ]);
}

/// Labels 0 to 3 of one sequence, of which 2 is cancelled: the next block must not count over the
/// gap (S11).
#[test]
fn a_cancel_between_blocks_splits_the_sequence() {
    Model::paper("blocks/cancel in a sequence", 2)
        .extent(Extent::bounded(3, 6))
        .receives(8)
        .takes(&["clean", "fast", "slow", "refused_sequence", "cancelled"])
        .explore(&[
            post(0, 7),
            post(0, 7),
            post(0, 7),
            post(0, 7),
            post(0, 7),
            send(0, 7),
            send(0, 7),
            cancel(3),
            send(0, 7),
            send(0, 7),
        ]);
}

/// Blocks of three, one and three messages: the third worker misses the middle one, which the
/// leader runs in order.
#[test]
fn a_worker_sits_out_a_short_block() {
    Model::paper("blocks/short block between", 3)
        .extent(Extent::bounded(1, 3))
        .receives(8)
        .takes(&["clean", "fast", "shared_blocks"])
        .never(&["slow"])
        .explore(&[
            post(0, 7),
            post(0, 7),
            post(0, 7),
            send(0, 7),
            send(0, 7),
            send(0, 7),
            post(0, 7),
            send(0, 7),
            post(0, 7),
            post(0, 7),
            send(0, 7),
            send(0, 7),
        ]);
}

/// The receive of tag 8 takes a stored message; the two equal ones around it stay one sequence
/// (S10).
#[test]
fn a_late_receive_takes_no_label() {
    Model::paper("blocks/late receive in a sequence", 2)
        .extent(Extent::bounded(3, 6))
        .receives(8)
        .takes(&["clean", "fast", "posts_late"])
        .never(&["slow"])
        .explore(&[
            post(0, 7),
            send(0, 8),
            post(0, 8),
            post(0, 7),
            send(0, 7),
            send(0, 7),
        ]);
}

/// Labels 0, 2 and 3 remain: the third handler must not take label 2 as the second after label 0
/// (S11).
#[test]
fn a_cancelled_receive_is_not_counted() {
    Model::paper("blocks/cancel in a block's sequence", 3)
        .extent(Extent::bounded(1, 3))
        .receives(8)
        .takes(&["clean", "slow", "refused_sequence", "cancelled"])
        .explore(&[
            post(0, 7),
            post(0, 7),
            post(0, 7),
            post(0, 7),
            cancel(1),
            send(0, 7),
            send(0, 7),
            send(0, 7),
        ]);
}

/// The leader shares one block, runs the next alone and shares again, like a pool that tries both
/// ways.
#[test]
fn a_leader_switches_between_both_ways() {
    Model::paper("blocks/switching, equal keys", 2)
        .extent(Extent::bounded(3, 6))
        .switching()
        .takes(&["shared_blocks", "clean", "fast"])
        .explore(&[[post(0, 7); 6], [send(0, 7); 6]].concat());
}

/// Two descriptors in all: each way reuses those that the other freed.
#[test]
fn descriptors_come_back_from_the_other_way() {
    Model::paper("blocks/switching, recycling", 2)
        .extent(Extent::bounded(3, 6))
        .receives(2)
        .switching()
        .repeat(3)
        .takes(&["shared_blocks", "clean", "slow"])
        .explore(&[post(0, 7), post(ANY, 7), send(0, 7), send(0, 7)]);
}

/// Two descriptors serve six receives of four keys, and the leader runs all blocks in order.
#[test]
fn in_order_descriptors_come_back() {
    Model::paper("blocks/in order, recycling", 2)
        .extent(Extent::bounded(1, 2))
        .receives(2)
        .alone()
        .takes(&["in_order"])
        .explore(&[
            post(0, 7),
            post(ANY, 7),
            send(0, 7),
            send(0, 7),
            post(0, 8),
            post(0, 7),
            send(0, 7),
            send(0, 8),
            post(1, ANY),
            post(0, 7),
            send(1, 8),
            send(0, 7),
        ]);
}
