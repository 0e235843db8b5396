//! One block with conflict domains (`Domains::Keyed`): handlers wait only for lower handlers whose
//! messages a posted receive could match as well as their own. Everything else of a block is in
//! `block.rs`.
#![cfg(dpamatch_loom)]

loom_tests::scenarios! { "domains":
    two_domains_in_one_chain one_domain_of_two a_conflict_forces_no_other_domain
    ranks_count_the_domain the_slow_path_waits_for_the_domain
    without_a_fast_path_the_nearest_has_waited a_handler_without_a_candidate_has_not_waited
    a_handler_on_the_fast_path_has_not_waited domain_of_three a_run_may_lie_apart
    receives_of_another_class_stand_between_those_of_a_run any_source_joins_all_sources_of_a_tag
    any_tag_joins_all_tags_of_a_source both_kinds_of_wildcard_join_all
    communicators_have_domains_of_their_own a_wildcard_before_the_second_block_changes_the_domains
    keys_of_an_earlier_block_are_not_believed keys_come_round a_cancelled_wildcard_is_no_class
    false_hashes_change_no_domain overtaking_messages_have_no_domain every_form_and_the_early_check
    slices_of_two
}
