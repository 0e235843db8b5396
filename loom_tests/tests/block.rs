//! One block: handlers search, book, meet at the partial barrier and resolve conflicts. Each
//! scenario is named for its race. `block.txt` has the models.
#![cfg(dpamatch_loom)]

loom_tests::scenarios! { "block":
    clean_two clean_three clean_four form_c_two form_c_three form_c_four form_c_bitmap form_b_two
    form_b_three form_b_four form_a_two form_a_three form_a_four form_a_never_in_a_partial_block
    slow_two slow_chain_three slow_chain_four slow_bitmap slow_search_passes_marked_receives
    a_conflict_with_another_than_the_neighbour a_message_without_receive_between_equal_ones
    sequence_break_two sequence_break_in_one_chain_three sequence_break_in_one_chain_four
    x2_wildcard_between_compatible_receives x2_wildcard_in_the_middle x3_too_few_receives
    x3_unexpected_in_arrival_order x4_mixed_keys
    x4_a_forced_handler_keeps_its_candidate x5_forcing_rule x5_forcing_rule_four nothing_posted
    early_check_two early_check_three lazy_removal_of_neighbours eager_removal_of_neighbours
    fast_path_walks_over_unlinked_receives slices_of_two slices_of_two_slow
    communicators_share_a_block overtaking_claims in_order_conflict in_order_wildcards
    in_order_without_receives in_order_neighbours in_order_communicators in_order_overtaking
}
