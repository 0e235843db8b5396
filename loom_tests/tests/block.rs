//! One block: handlers search, book, meet at the partial barrier and resolve conflicts. Each
//! scenario is named for its race. "form" numbers the entry rules of the fast path (S8), and X1 to
//! X6 are the worked examples of the papers.
#![cfg(dpamatch_loom)]

use dpa_model::{Barrier, FastPath, Removal};
use loom_tests::model::{Extent, Model};
use loom_tests::stream::{ANY, post, post_in, send, send_in};

/// Booking, partial barrier and detection, which every model here has: clean handlers, with
/// disjoint receives; the barrier as one bitmap.
#[test]
fn clean_two() {
    let steps = [post(0, 7), post(0, 8), send(0, 7), send(0, 8)];
    Model::paper("block/clean two", 2)
        .takes(&["clean"])
        .never(&["fast", "slow"])
        .explore(&steps);
    Model::paper("block/clean two, bitmap", 2)
        .barrier(Barrier::Bitmap)
        .removal(Removal::Deferred)
        .takes(&["clean"])
        .never(&["fast", "slow"])
        .explore(&steps);
}

#[test]
fn clean_three() {
    let steps = [
        post(0, 7),
        post(0, 8),
        post(0, 9),
        send(0, 9),
        send(0, 8),
        send(0, 7),
    ];
    Model::paper("block/clean three", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .takes(&["clean"])
        .never(&["fast", "slow"])
        .explore(&steps);
    Model::paper("block/clean three, bitmap", 3)
        .extent(Extent::bounded(3, 4))
        .barrier(Barrier::Bitmap)
        .removal(Removal::Deferred)
        .takes(&["clean"])
        .never(&["fast", "slow"])
        .explore(&steps);
}

#[test]
fn clean_four() {
    Model::paper("block/clean four", 4)
        .in_both_removals(Extent::bounded(2, 3), Extent::bounded(1, 2))
        .takes(&["clean"])
        .never(&["fast", "slow"])
        .explore(&[
            post(0, 7),
            post(0, 8),
            post(0, 9),
            post(0, 6),
            send(0, 6),
            send(0, 9),
            send(0, 8),
            send(0, 7),
        ]);
}

/// "form" numbers the entry rules of the fast path (S8). Handlers whose candidates changed while
/// they searched are refused it.
#[test]
fn form_c_two() {
    Model::paper("block/form c, two", 2)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 2], [send(0, 7); 2]].concat());
}

#[test]
fn form_c_three() {
    Model::paper("block/form c, three", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 3], [send(0, 7); 3]].concat());
}

#[test]
fn form_c_four() {
    Model::paper("block/form c, four", 4)
        .in_both_removals(Extent::bounded(2, 3), Extent::bounded(1, 2))
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 4], [send(0, 7); 4]].concat());
}

#[test]
fn form_c_bitmap() {
    Model::paper("block/form c, 2, bitmap", 2)
        .barrier(Barrier::Bitmap)
        .removal(Removal::Deferred)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 2], [send(0, 7); 2]].concat());
    Model::paper("block/form c, 3, bitmap", 3)
        .extent(Extent::bounded(3, 4))
        .barrier(Barrier::Bitmap)
        .removal(Removal::Deferred)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 3], [send(0, 7); 3]].concat());
    Model::paper("block/form c, 4, bitmap", 4)
        .extent(Extent::bounded(2, 3))
        .barrier(Barrier::Bitmap)
        .removal(Removal::Deferred)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 4], [send(0, 7); 4]].concat());
}

#[test]
fn form_b_two() {
    Model::paper("block/form b, two", 2)
        .fast_path(FastPath::Prefix)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 2], [send(0, 7); 2]].concat());
}

#[test]
fn form_b_three() {
    Model::paper("block/form b, three", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .fast_path(FastPath::Prefix)
        .takes(&["clean", "fast", "slow", "refused_mixed"])
        .explore(&[[post(0, 7); 3], [send(0, 7); 3]].concat());
}

#[test]
fn form_b_four() {
    Model::paper("block/form b, four", 4)
        .in_both_removals(Extent::bounded(2, 3), Extent::bounded(1, 2))
        .fast_path(FastPath::Prefix)
        .takes(&["clean", "fast", "slow", "refused_mixed"])
        .explore(&[[post(0, 7); 4], [send(0, 7); 4]].concat());
}

#[test]
fn form_a_two() {
    Model::paper("block/form a, two", 2)
        .fast_path(FastPath::Literal)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 2], [send(0, 7); 2]].concat());
}

#[test]
fn form_a_three() {
    Model::paper("block/form a, three", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .fast_path(FastPath::Literal)
        .takes(&["clean", "fast", "slow", "refused_mixed"])
        .explore(&[[post(0, 7); 3], [send(0, 7); 3]].concat());
}

#[test]
fn form_a_four() {
    Model::paper("block/form a, four", 4)
        .in_both_removals(Extent::bounded(2, 3), Extent::bounded(1, 2))
        .fast_path(FastPath::Literal)
        .takes(&["clean", "fast", "slow", "refused_mixed"])
        .explore(&[[post(0, 7); 4], [send(0, 7); 4]].concat());
}

/// Two messages for three handlers: not all N bits can be set (S8).
#[test]
fn form_a_never_in_a_partial_block() {
    Model::paper("block/form a, partial", 3)
        .extent(Extent::usually(3))
        .workers(2)
        .receives(8)
        .fast_path(FastPath::Literal)
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[[post(0, 7); 2], [send(0, 7); 2]].concat());
}

/// The slow path waits for all lower handlers; there is no early check in it.
#[test]
fn slow_two() {
    Model::paper("block/slow two", 2)
        .fast_path(FastPath::Off)
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[[post(0, 7); 2], [send(0, 7); 2]].concat());
}

#[test]
fn slow_chain_three() {
    Model::paper("block/slow chain, three", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .fast_path(FastPath::Off)
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[[post(0, 7); 3], [send(0, 7); 3]].concat());
}

#[test]
fn slow_chain_four() {
    Model::paper("block/slow chain, four", 4)
        .in_both_removals(Extent::bounded(2, 3), Extent::bounded(1, 2))
        .fast_path(FastPath::Off)
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[[post(0, 7); 4], [send(0, 7); 4]].concat());
}

#[test]
fn slow_bitmap() {
    Model::paper("block/slow, 2, bitmap", 2)
        .fast_path(FastPath::Off)
        .barrier(Barrier::Bitmap)
        .removal(Removal::Deferred)
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[[post(0, 7); 2], [send(0, 7); 2]].concat());
    Model::paper("block/slow, 3, bitmap", 3)
        .extent(Extent::bounded(3, 4))
        .fast_path(FastPath::Off)
        .barrier(Barrier::Bitmap)
        .removal(Removal::Deferred)
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[[post(0, 7); 3], [send(0, 7); 3]].concat());
    Model::paper("block/slow, 4, bitmap", 4)
        .extent(Extent::bounded(2, 3))
        .fast_path(FastPath::Off)
        .barrier(Barrier::Bitmap)
        .removal(Removal::Deferred)
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[[post(0, 7); 4], [send(0, 7); 4]].concat());
}

/// The first two handlers meet at the bin's lock, so the second one's receive may stay linked. The
/// third must not take it.
#[test]
fn slow_search_passes_marked_receives() {
    Model::paper("block/slow search, marked", 3)
        .extent(Extent::bounded(2, 4))
        .fast_path(FastPath::Off)
        .takes(&["clean", "slow", "lock_missed"])
        .never(&["fast"])
        .explore(&[
            post(0, 9),
            post(0, 7),
            post(0, 7),
            send(0, 9),
            send(0, 7),
            send(0, 7),
        ]);
}

/// Detection: the first and the third handler meet, the second one does not.
#[test]
fn a_conflict_with_another_than_the_neighbour() {
    let steps = [
        post(0, 7),
        post(1, 9),
        post(0, 7),
        send(0, 7),
        send(1, 9),
        send(0, 7),
    ];
    Model::paper("block/conflict over a neighbour", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .takes(&["clean", "slow", "refused_mixed"])
        .never(&["fast"])
        .explore(&steps);
    Model::paper("block/conflict over a neighbour, bitmap", 3)
        .extent(Extent::bounded(3, 4))
        .barrier(Barrier::Bitmap)
        .removal(Removal::Deferred)
        .takes(&["clean", "slow", "refused_mixed"])
        .never(&["fast"])
        .explore(&steps);
}

/// The fast path goes by labels inside one sequence. The third handler is the second of its key: it
/// must not count the one between (S8).
#[test]
fn a_message_without_receive_between_equal_ones() {
    Model::paper("block/fast path needs all lower", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .takes(&["clean", "slow", "refused_mixed", "arrivals_stored"])
        .never(&["fast"])
        .explore(&[
            post(0, 7),
            post(0, 7),
            post(0, 7),
            send(0, 7),
            send(1, 9),
            send(0, 7),
        ]);
}

/// The next receive accepts any source and is in another chain, so the fast path reaches its
/// chain's end.
#[test]
fn sequence_break_two() {
    Model::paper("block/sequence break, two", 2)
        .takes(&["clean", "slow", "refused_exhausted"])
        .explore(&[post(0, 7), post(ANY, 7), send(0, 7), send(0, 7)]);
}

/// Receives of one key around one of another: the chain holds three sequences.
#[test]
fn sequence_break_in_one_chain_three() {
    Model::paper("block/sequence break, three", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .takes(&["clean", "slow", "refused_sequence"])
        .never(&["fast"])
        .explore(&[
            post(0, 7),
            post(0, 8),
            post(0, 7),
            send(0, 7),
            send(0, 7),
            send(0, 8),
        ]);
}

#[test]
fn sequence_break_in_one_chain_four() {
    Model::paper("block/sequence break, four", 4)
        .in_both_removals(Extent::bounded(2, 3), Extent::bounded(1, 2))
        .takes(&["clean", "slow", "refused_sequence"])
        .never(&["fast"])
        .explore(&[
            post(0, 7),
            post(0, 8),
            post(0, 7),
            post(0, 7),
            send(0, 7),
            send(0, 7),
            send(0, 7),
            send(0, 8),
        ]);
}

/// X1 to X5 are the worked examples of the papers: the end of a sequence, unexpected messages in
/// arrival order, the forcing rule.
#[test]
fn x2_wildcard_between_compatible_receives() {
    Model::paper("block/X2 wildcard after two", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .takes(&["clean", "fast", "slow"])
        .explore(&[
            post(0, 7),
            post(0, 7),
            post(ANY, 7),
            send(0, 7),
            send(0, 7),
            send(0, 7),
        ]);
}

#[test]
fn x2_wildcard_in_the_middle() {
    Model::paper("block/X2 wildcard between", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[
            post(0, 7),
            post(ANY, 7),
            post(0, 7),
            send(0, 7),
            send(0, 7),
            send(0, 7),
        ]);
}

#[test]
fn x3_too_few_receives() {
    Model::paper("block/X3 one of two", 2)
        .extent(Extent::usually(3))
        .takes(&[
            "clean",
            "slow",
            "refused_exhausted",
            "unexpected",
            "arrivals_stored",
        ])
        .explore(&[post(0, 7), send(0, 7), send(0, 7)]);
}

#[test]
fn x3_unexpected_in_arrival_order() {
    Model::paper("block/X3 one of three", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .takes(&["clean", "slow", "unexpected", "arrivals_stored"])
        .never(&["fast"])
        .explore(&[post(0, 7), send(0, 7), send(0, 7), send(0, 7)]);
}

#[test]
fn x4_mixed_keys() {
    Model::paper("block/X4 mixed keys", 4)
        .in_both_removals(Extent::bounded(2, 3), Extent::bounded(1, 2))
        .takes(&["clean", "slow", "unexpected"])
        .never(&["fast"])
        .explore(&[
            post(0, 7),
            post(1, 9),
            post(ANY, ANY),
            send(0, 7),
            send(0, 7),
            send(1, 9),
            send(0, 7),
        ]);
}

#[test]
fn x4_a_forced_handler_keeps_its_candidate() {
    Model::paper("block/X4 forced, unchanged", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .takes(&["clean", "fast", "forced", "refused_mixed"])
        .explore(&[
            post(0, 7),
            post(0, 7),
            post(1, 9),
            send(0, 7),
            send(0, 7),
            send(1, 9),
        ]);
}

/// The third handler books an uncontested receive and must give it up (O14).
#[test]
fn x5_forcing_rule() {
    let steps = [post(0, 7), post(ANY, 7), send(0, 7), send(0, 7), send(1, 7)];
    Model::paper("block/X5 forcing rule", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .takes(&["clean", "slow", "unexpected"])
        .never(&["fast"])
        .explore(&steps);
    Model::paper("block/X5 forcing rule, bitmap", 3)
        .extent(Extent::bounded(3, 4))
        .barrier(Barrier::Bitmap)
        .removal(Removal::Deferred)
        .takes(&["clean", "slow", "unexpected"])
        .never(&["fast"])
        .explore(&steps);
}

#[test]
fn x5_forcing_rule_four() {
    Model::paper("block/X5 forcing rule, four", 4)
        .in_both_removals(Extent::bounded(2, 3), Extent::bounded(1, 2))
        .takes(&["clean", "slow", "unexpected"])
        .never(&["fast"])
        .explore(&[
            post(0, 7),
            post(ANY, 7),
            send(0, 7),
            send(0, 7),
            send(1, 7),
            send(1, 7),
        ]);
}

#[test]
fn nothing_posted() {
    Model::paper("block/unexpected only", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .takes(&["unexpected", "arrivals_stored"])
        .never(&["clean"])
        .explore(&[send(0, 7), send(0, 8), send(0, 7)]);
}

/// The early booking check. The second handler sometimes skips the booked receive without a
/// conflict, and sometimes looks too early to see the bit.
#[test]
fn early_check_two() {
    Model::paper("block/early check, two", 2)
        .early_check()
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 2], [send(0, 7); 2]].concat());
}

#[test]
fn early_check_three() {
    Model::paper("block/early check, three", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .early_check()
        .takes(&["clean", "slow"])
        .explore(&[
            post(0, 7),
            post(ANY, 7),
            post(0, 7),
            send(0, 7),
            send(0, 7),
            send(1, 7),
        ]);
}

/// Removal under the locks. One chain of three keys: two handlers unlink neighbours while the third
/// walks past them.
#[test]
fn lazy_removal_of_neighbours() {
    Model::paper("block/lazy removal", 3)
        .extent(Extent::bounded(2, 4))
        .takes(&["clean", "lock_missed"])
        .never(&["fast", "slow"])
        .explore(&[
            post(0, 7),
            post(0, 8),
            post(0, 9),
            send(0, 7),
            send(0, 8),
            send(0, 9),
        ]);
}

#[test]
fn eager_removal_of_neighbours() {
    Model::paper("block/eager removal", 3)
        .extent(Extent::bounded(1, 3))
        .removal(Removal::Eager)
        .takes(&["clean"])
        .never(&["fast", "slow", "lock_missed"])
        .explore(&[
            post(0, 7),
            post(0, 8),
            post(0, 9),
            send(0, 7),
            send(0, 8),
            send(0, 9),
        ]);
    // Two, so that the second also waits for the lock.
    Model::paper("block/eager removal, two", 2)
        .removal(Removal::Eager)
        .takes(&["clean"])
        .never(&["lock_missed"])
        .explore(&[post(0, 7), post(0, 8), send(0, 7), send(0, 8)]);
}

/// Labels, not hops (S9): the receives between may have left the chain.
#[test]
fn fast_path_walks_over_unlinked_receives() {
    Model::paper("block/labels, not hops", 3)
        .in_both_removals(Extent::bounded(3, 4), Extent::bounded(1, 3))
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[
            post(0, 7),
            post(0, 7),
            post(0, 7),
            post(0, 7),
            send(0, 7),
            send(0, 7),
            send(0, 7),
        ]);
}

/// Slices of several handlers.
#[test]
fn slices_of_two() {
    Model::paper("block/slices of two, fast", 4)
        .extent(Extent::bounded(2, 4))
        .workers(2)
        .receives(8)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 4], [send(0, 7); 4]].concat());
}

#[test]
fn slices_of_two_slow() {
    Model::paper("block/slices of two, slow", 4)
        .extent(Extent::bounded(2, 4))
        .workers(2)
        .receives(8)
        .takes(&["clean", "slow", "unexpected"])
        .explore(&[
            post(0, 7),
            post(ANY, 7),
            post(1, 9),
            send(0, 7),
            send(0, 7),
            send(1, 9),
            send(0, 7),
        ]);
}

/// S25: the shift of the fast path counts handlers of the same communicator.
#[test]
fn communicators_share_a_block() {
    Model::paper("block/two communicators", 3)
        .extent(Extent::bounded(3, 4))
        .removal(Removal::Deferred)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[
            post(0, 7),
            post_in(1, 0, 7),
            post_in(1, 0, 7),
            send_in(1, 0, 7),
            send(0, 7),
            send_in(1, 0, 7),
        ]);
}

/// Overtaking claims.
#[test]
fn overtaking_claims() {
    Model::paper("block/overtaking, two", 2)
        .overtaking()
        .takes(&["overtaking"])
        .never(&["clean", "fast", "slow"])
        .explore(&[[post(0, 7); 2], [send(0, 7); 2]].concat());
    Model::paper("block/overtaking, one of two", 2)
        .overtaking()
        .takes(&["overtaking", "unexpected"])
        .never(&["clean", "fast", "slow"])
        .explore(&[post(ANY, 7), send(0, 7), send(1, 7)]);
    Model::paper("block/overtaking, two of three", 3)
        .extent(Extent::bounded(3, 4))
        .removal(Removal::Deferred)
        .overtaking()
        .takes(&["overtaking", "unexpected"])
        .never(&["clean", "fast", "slow"])
        .explore(&[post(0, 7), post(ANY, 7), send(0, 7), send(1, 7), send(0, 7)]);
}

/// Blocks that the leader runs in order: all handlers search, then each takes its candidate or
/// searches again. A block has the messages that have arrived, one or more.
#[test]
fn in_order_conflict() {
    Model::paper("block/in order, equal keys", 3)
        .extent(Extent::bounded(1, 2))
        .alone()
        .takes(&["in_order", "searched_again"])
        .never(&["clean", "fast", "slow"])
        .explore(&[[post(0, 7); 3], [send(0, 7); 3]].concat());
}

#[test]
fn in_order_wildcards() {
    Model::paper("block/in order, X2", 3)
        .extent(Extent::bounded(1, 2))
        .alone()
        .takes(&["in_order", "searched_again"])
        .explore(&[
            post(0, 7),
            post(ANY, 7),
            post(0, 7),
            send(0, 7),
            send(0, 7),
            send(0, 7),
        ]);
    Model::paper("block/in order, X5", 3)
        .extent(Extent::bounded(1, 2))
        .alone()
        .takes(&[
            "in_order",
            "searched_again",
            "unexpected",
            "arrivals_stored",
        ])
        .explore(&[post(0, 7), post(ANY, 7), send(0, 7), send(0, 7), send(1, 7)]);
    Model::paper("block/in order, any tag", 3)
        .extent(Extent::bounded(1, 2))
        .alone()
        .takes(&["in_order", "arrivals_stored"])
        .explore(&[post(0, ANY), post(0, 7), send(0, 8), send(0, 7), send(0, 7)]);
}

#[test]
fn in_order_without_receives() {
    Model::paper("block/in order, an empty chain", 3)
        .extent(Extent::bounded(1, 2))
        .bins(64)
        .alone()
        .takes(&["in_order", "searched_again", "arrivals_stored"])
        .explore(&[post(0, 7), post(0, 7), send(1, 9), send(0, 7), send(0, 7)]);
    Model::paper("block/in order, nothing posted", 3)
        .extent(Extent::bounded(1, 2))
        .alone()
        .takes(&["arrivals_stored"])
        .never(&["in_order"])
        .explore(&[send(0, 7), send(0, 8), send(0, 7)]);
}

#[test]
fn in_order_neighbours() {
    Model::paper("block/in order, one chain from its end", 3)
        .extent(Extent::bounded(1, 2))
        .alone()
        .takes(&["in_order"])
        .never(&["searched_again"])
        .explore(&[
            post(0, 7),
            post(0, 8),
            post(0, 9),
            send(0, 9),
            send(0, 8),
            send(0, 7),
        ]);
}

#[test]
fn in_order_communicators() {
    Model::paper("block/in order, two communicators", 3)
        .extent(Extent::bounded(1, 2))
        .alone()
        .takes(&["in_order"])
        .explore(&[
            post(0, 7),
            post_in(1, 0, 7),
            post_in(1, 0, 7),
            send_in(1, 0, 7),
            send(0, 7),
            send_in(1, 0, 7),
        ]);
}

#[test]
fn in_order_overtaking() {
    Model::paper("block/in order, overtaking", 3)
        .extent(Extent::bounded(1, 2))
        .overtaking()
        .alone()
        .takes(&["in_order"])
        .never(&["overtaking"])
        .explore(&[post(0, 7), post(ANY, 7), send(0, 7), send(1, 7), send(0, 7)]);
}
