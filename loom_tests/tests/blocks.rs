//! Several blocks: the fence between them (S1), reused descriptors, and changes at the boundary.
#![cfg(dpamatch_loom)]

loom_tests::scenarios! { "blocks":
    equal_keys_over_two_blocks both_bitmaps_take_turns a_bitmap_comes_back
    a_bitmap_comes_back_after_a_block_alone three_handlers_over_two_blocks
    descriptors_come_back_in_the_next_block descriptors_come_back_with_other_keys
    descriptors_come_back_twice descriptors_come_back_twice_with_other_keys
    unexpected_messages_of_two_blocks_stay_in_order a_cancel_between_blocks_splits_the_sequence
    a_worker_sits_out_a_short_block a_late_receive_takes_no_label a_cancelled_receive_is_not_counted
    a_leader_switches_between_both_ways descriptors_come_back_from_the_other_way
    in_order_descriptors_come_back
}
