//! One block with conflict domains (`Domains::Keyed`): handlers wait only for lower handlers whose
//! messages a posted receive could match as well as their own. Everything else of a block is in
//! `block.rs`.
#![cfg(dpamatch_loom)]

use dpa_model::{FastPath, Removal};
use loom_tests::model::{Extent, Model};
use loom_tests::stream::{ANY, cancel, post, post_in, send, send_in};

/// The higher handler may end before the lower one has begun, and unlinks what that one passes.
#[test]
fn two_domains_in_one_chain() {
    Model::keyed("domains/two in one chain", 2)
        .takes(&["clean"])
        .never(&["fast", "slow"])
        .explore(&[post(0, 7), post(0, 8), send(0, 8), send(0, 7)]);
}

#[test]
fn one_domain_of_two() {
    Model::keyed("domains/one of two", 2)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 2], [send(0, 7); 2]].concat());
}

/// In the paper's block the second and the third would wait.
#[test]
fn a_conflict_forces_no_other_domain() {
    Model::keyed("domains/a conflict beside", 3)
        .in_both_removals(Extent::bounded(2, 4), Extent::bounded(1, 3))
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[
            post(0, 7),
            post(0, 7),
            post(0, 8),
            send(0, 7),
            send(0, 7),
            send(0, 8),
        ]);
}

/// The third handler is the second of its domain. The receives are one sequence of three.
#[test]
fn ranks_count_the_domain() {
    Model::keyed("domains/rank", 3)
        .in_both_removals(Extent::bounded(2, 4), Extent::bounded(1, 3))
        .takes(&["clean", "fast", "arrivals_stored"])
        .never(&["slow"])
        .explore(&[
            post(0, 7),
            post(0, 7),
            post(0, 7),
            send(0, 7),
            send(1, 9),
            send(0, 7),
        ]);
}

/// Another receive between the two of a key ends their sequence.
#[test]
fn the_slow_path_waits_for_the_domain() {
    Model::keyed("domains/slow", 3)
        .in_both_removals(Extent::bounded(2, 4), Extent::bounded(1, 3))
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[
            post(0, 7),
            post(0, 8),
            post(0, 7),
            send(0, 8),
            send(0, 7),
            send(0, 7),
        ]);
}

/// Without a fast path a handler waits for the nearest lower one with a candidate.
#[test]
fn without_a_fast_path_the_nearest_has_waited() {
    Model::keyed("domains/chain of two", 2)
        .extent(Extent::usually(3))
        .fast_path(FastPath::Off)
        .removal(Removal::Deferred)
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[[post(0, 7); 2], [send(0, 7); 2]].concat());
    Model::keyed("domains/chain of three", 3)
        .extent(Extent::bounded(2, 4))
        .fast_path(FastPath::Off)
        .removal(Removal::Deferred)
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[[post(0, 7); 3], [send(0, 7); 3]].concat());
}

/// Any source is posted, so the messages are one domain; the second finds nothing.
#[test]
fn a_handler_without_a_candidate_has_not_waited() {
    Model::keyed("domains/chain with a gap", 3)
        .extent(Extent::bounded(2, 4))
        .fast_path(FastPath::Off)
        .removal(Removal::Deferred)
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[
            post(ANY, 8),
            post(0, 7),
            post(0, 7),
            send(0, 7),
            send(1, 7),
            send(0, 7),
        ]);
}

/// The run of the first two ends before the third receive.
#[test]
fn a_handler_on_the_fast_path_has_not_waited() {
    Model::keyed("domains/behind a fast one", 3)
        .extent(Extent::bounded(2, 4))
        .removal(Removal::Deferred)
        .takes(&["clean", "fast", "slow"])
        .explore(&[
            post(0, 7),
            post(0, 7),
            post(0, 8),
            post(0, 7),
            send(0, 7),
            send(0, 7),
            send(0, 7),
        ]);
}

/// One receive more, which a handler that counts wrongly would take.
#[test]
fn domain_of_three() {
    Model::keyed("domains/three of one", 3)
        .in_both_removals(Extent::bounded(2, 4), Extent::bounded(1, 3))
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

/// The chain of the other tag is another one, so the receives of a run are no neighbours in the
/// table.
#[test]
fn a_run_may_lie_apart() {
    Model::keyed("domains/run apart", 3)
        .extent(Extent::bounded(1, 3))
        .bins(4)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[
            post(0, 7),
            post(0, 8),
            post(0, 7),
            post(0, 7),
            send(0, 7),
            send(0, 8),
            send(0, 7),
        ]);
}

#[test]
fn receives_of_another_class_stand_between_those_of_a_run() {
    Model::keyed("domains/class between", 2)
        .extent(Extent::usually(3))
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[
            post(ANY, 7),
            post(0, 7),
            post(ANY, 7),
            send(0, 7),
            send(0, 7),
        ]);
}

#[test]
fn any_source_joins_all_sources_of_a_tag() {
    Model::keyed("domains/any source", 2)
        .extent(Extent::usually(3))
        .takes(&["clean", "slow", "arrivals_stored"])
        .never(&["fast"])
        .explore(&[post(ANY, 7), post(0, 7), send(0, 7), send(1, 7)]);
    Model::keyed("domains/any source, three", 3)
        .in_both_removals(Extent::bounded(2, 4), Extent::bounded(1, 3))
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[
            post(ANY, 7),
            post(ANY, 7),
            post(0, 8),
            send(2, 7),
            send(0, 8),
            send(1, 7),
        ]);
}

#[test]
fn any_tag_joins_all_tags_of_a_source() {
    Model::keyed("domains/any tag", 2)
        .extent(Extent::usually(3))
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[post(0, ANY), post(0, 7), send(0, 8), send(0, 7)]);
    Model::keyed("domains/any tag, three", 3)
        .in_both_removals(Extent::bounded(2, 4), Extent::bounded(1, 3))
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[
            post(0, ANY),
            post(0, ANY),
            post(1, 7),
            send(0, 7),
            send(1, 7),
            send(0, 8),
        ]);
}

/// The first two share no field, but the receives of the third chain them together.
#[test]
fn both_kinds_of_wildcard_join_all() {
    Model::keyed("domains/both wildcards", 3)
        .in_both_removals(Extent::bounded(2, 4), Extent::bounded(1, 3))
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[
            post(ANY, 7),
            post(1, ANY),
            post(1, 8),
            send(1, 7),
            send(0, 7),
            send(1, 8),
        ]);
    Model::keyed("domains/any source and tag", 2)
        .extent(Extent::usually(3))
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[post(ANY, ANY), post(0, 7), send(1, 8), send(0, 7)]);
}

#[test]
fn communicators_have_domains_of_their_own() {
    Model::keyed("domains/two communicators", 3)
        .in_both_removals(Extent::bounded(2, 4), Extent::bounded(1, 3))
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[
            post(0, 7),
            post(0, 7),
            post(0, 7),
            post_in(1, 0, 7),
            send(0, 7),
            send_in(1, 0, 7),
            send(0, 7),
        ]);
}

#[test]
fn a_wildcard_before_the_second_block_changes_the_domains() {
    Model::keyed("domains/wildcard later", 2)
        .extent(Extent::bounded(3, 6))
        .takes(&["clean", "slow"])
        .never(&["fast"])
        .explore(&[
            post(0, 7),
            post(1, 7),
            send(0, 7),
            send(1, 7),
            post(ANY, 7),
            post(0, 7),
            send(0, 7),
            send(1, 7),
        ]);
}

/// Both handlers change their keys.
#[test]
fn keys_of_an_earlier_block_are_not_believed() {
    Model::keyed("domains/old keys", 2)
        .extent(Extent::bounded(3, 6))
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[
            post(0, 7),
            post(0, 8),
            send(0, 7),
            send(0, 8),
            post(0, 8),
            post(0, 8),
            send(0, 8),
            send(0, 8),
        ]);
}

/// The second handler has no message in the second block. In a model the third block has the number
/// of the first in its keys.
#[test]
fn keys_come_round() {
    Model::keyed("domains/keys come round", 3)
        .extent(Extent::bounded(1, 2))
        .bins(4)
        .always_shared()
        .removal(Removal::Deferred)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[
            post(0, 7),
            post(0, 8),
            post(0, 9),
            send(0, 7),
            send(0, 8),
            send(0, 9),
            post(0, 7),
            send(0, 7),
            post(0, 7),
            post(0, 9),
            post(0, 9),
            send(0, 7),
            send(0, 9),
            send(0, 9),
        ]);
}

#[test]
fn a_cancelled_wildcard_is_no_class() {
    Model::keyed("domains/cancelled wildcard", 2)
        .takes(&["clean"])
        .never(&["fast", "slow"])
        .explore(&[
            post(ANY, 9),
            post(0, 7),
            post(1, 7),
            cancel(0),
            send(1, 7),
            send(0, 7),
        ]);
}

/// With one bin a message with wrong hashes finds the receives of its fields.
#[test]
fn false_hashes_change_no_domain() {
    Model::keyed("domains/false hashes", 2)
        .extent(Extent::usually(3))
        .false_hashes()
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[[post(0, 7); 2], [send(0, 7); 2]].concat());
}

#[test]
fn overtaking_messages_have_no_domain() {
    Model::keyed("domains/overtaking", 2)
        .overtaking()
        .takes(&["overtaking"])
        .never(&["clean", "fast", "slow"])
        .explore(&[[post(0, 7); 2], [send(0, 7); 2]].concat());
}

#[test]
fn every_form_and_the_early_check() {
    let steps = [[post(0, 7); 2], [send(0, 7); 2]].concat();
    Model::keyed("domains/off", 2)
        .extent(Extent::usually(3))
        .fast_path(FastPath::Off)
        .takes(&["clean"])
        .explore(&steps);
    Model::keyed("domains/literal", 2)
        .extent(Extent::usually(3))
        .fast_path(FastPath::Literal)
        .takes(&["clean"])
        .explore(&steps);
    Model::keyed("domains/prefix", 2)
        .extent(Extent::usually(3))
        .fast_path(FastPath::Prefix)
        .takes(&["clean"])
        .explore(&steps);
    Model::keyed("domains/sequence", 2)
        .extent(Extent::usually(3))
        .fast_path(FastPath::Sequence)
        .takes(&["clean"])
        .explore(&steps);
    Model::keyed("domains/early check", 2)
        .extent(Extent::usually(3))
        .early_check()
        .takes(&["clean"])
        .explore(&steps);
}

#[test]
fn slices_of_two() {
    Model::keyed("domains/slices of two", 4)
        .extent(Extent::bounded(2, 4))
        .workers(2)
        .takes(&["clean", "fast"])
        .never(&["slow"])
        .explore(&[
            post(0, 7),
            post(0, 7),
            post(0, 8),
            post(0, 8),
            send(0, 7),
            send(0, 8),
            send(0, 8),
            send(0, 7),
        ]);
}
