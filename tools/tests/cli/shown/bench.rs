//! What `bench` shows.

use super::*;

/// The sequential engines search what was asked for: the number of bins, and receives in front.
#[test]
fn the_sequential_engines_search_what_was_asked_for_the_number() {
    shown(
        "bench --matching optimistic --reps 3 --rounds 1 --keep disturbed,placements \
        --windows 100 --scenario NC-REV --baseline list --format json",
    )
    .json("/rates/1/samples/0/steps_per_message", "50.5");
    shown(
        "bench --matching optimistic --reps 3 --rounds 1 --keep disturbed,placements \
        --windows 100 --scenario DEPTH-64 --baseline list --format json",
    )
    .json("/rates/1/samples/0/steps_per_message", "65.0");
    shown(
        "bench --matching optimistic --reps 3 --rounds 1 --keep disturbed,placements \
        --windows 100 --scenario NC-REV --baseline bins --bins 1 --format json",
    )
    .json("/rates/1/samples/0/steps_per_message", "50.5");
    shown(
        "bench --matching optimistic --reps 3 --rounds 1 --keep disturbed,placements \
        --windows 100 --scenario NC-REV --baseline bins --format json",
    )
    .json("/rates/1/samples/0/steps_per_message", "1.01");
}

/// Order and payloads are checked, in 20 windows before each measurement.
#[test]
fn order_and_payloads_are_checked_in_20_windows_before_each() {
    shown(
        "bench --matching optimistic --reps 3 --rounds 1 --keep disturbed,placements \
        --scenario NC-REV,WC --windows 16,20 --baseline list --format json",
    )
    .json("/payloads_checked", "2880")
    .json("/rates/0/samples/0/checked", "320")
    .json("/rates/1/samples/0/checked", "320")
    .json("/rates/2/samples/0/checked", "400")
    .json("/rates/3/samples/0/checked", "400")
    .json("/rates/4/samples/0/checked", "320")
    .json("/rates/5/samples/0/checked", "320")
    .json("/rates/6/samples/0/checked", "400")
    .json("/rates/7/samples/0/checked", "400");
}

#[test]
fn both_ways_to_match_are_rows_of_their_own_unless_one_is_chosen() {
    shown(
        "bench --reps 3 --rounds 1 --keep disturbed,placements --scenario WC --windows 64 \
        --handlers 8 --baseline none --format json",
    )
    .json("/rates/0/engine", r#""optimistic""#)
    .json("/rates/0/samples/0/paths/in_order", "0.0")
    .json("/rates/1/engine", r#""in-order""#)
    .json("/rates/1/samples/0/paths/in_order", "1.0")
    .json("/rates/1/samples/0/paths/fast", "0.0")
    .json("/rates/2", "null");
    shown(
        "bench --reps 3 --rounds 1 --keep disturbed,placements --matching in-order \
        --scenario WC --windows 64 --baseline none --format json",
    )
    .json("/rates/0/engine", r#""in-order""#)
    .json("/rates/1", "null");
}

#[test]
fn shares_are_set_by_options() {
    shown(
        "bench --matching optimistic --reps 3 --rounds 1 --keep disturbed,placements \
        --scenario MIX,MANY-3,HOT-50 --wild 30 --conflicts 25 --late 50 --windows 40 --baseline \
        list --format json",
    )
    .json("/rates/0/scenario", r#""MIX-30-25-50""#)
    .json("/rates/1/scenario", r#""MIX-30-25-50""#)
    .json("/rates/2/scenario", r#""MANY-3""#)
    .json("/rates/3/scenario", r#""MANY-3""#)
    .json("/rates/4/scenario", r#""HOT-50""#)
    .json("/rates/5/scenario", r#""HOT-50""#)
    .json("/rates/0/samples/0/checked", "800")
    .json("/rates/1/samples/0/checked", "800")
    .json("/rates/2/samples/0/checked", "800")
    .json("/rates/3/samples/0/checked", "800")
    .json("/rates/4/samples/0/checked", "800")
    .json("/rates/5/samples/0/checked", "800")
    .json("/rates/0/samples/0/paths/unexpected", "0.4878048780487805");
}

#[test]
fn the_table_names_scenario_and_version() {
    shown(
        "bench --matching optimistic --reps 3 --rounds 1 --keep disturbed,placements \
        --scenario NC-REV-S7 --windows 8",
    )
    .has("dpamatch 0")
    .has("NC-REV-S7 ");
}

#[test]
fn without_a_compiler_the_peers_say_what_is_missing() {
    shown_with(
        "bench --matching optimistic --reps 3 --rounds 1 --keep disturbed,placements --peers \
        --scenario NC",
        1,
        &[
            "cannot run the compiler /nonexistent/cc",
            "libucx-dev",
            "DPAMATCH_UCX",
        ],
    )
    .lines(0);
}

#[test]
fn a_recorded_rank_is_a_load_and_every_message_finds_its_receive() {
    shown("bench --trace $lulesh-27/lulesh-27.dumpi.tar.xz --rank 13 --rounds 1 --budget 1 --format \
        csv")
        .has("engine,rank,messages,events,size_bytes,rate_msgs_per_s,rate_min_msgs_per_s,rate_max_msgs_per_s,pairs,per_block,")
        .has("optimistic,13,566,1132,8,")
        .lines(3);
    shown(
        "bench --trace $lulesh-27/lulesh-27.dumpi.tar.xz --rank 13 --rounds 1 --budget 1 --format \
        json",
    )
    .json("/rank", "13")
    .json("/messages", "566")
    .json("/events", "1132")
    .json("/rates/0/engine", r#""optimistic""#)
    .json("/rates/0/pairs", "566")
    .json("/rates/1/engine", r#""bins""#)
    .json("/rates/1/pairs", "566");
}

#[test]
fn a_row_for_each_engine_and_window() {
    shown("bench --matching optimistic --reps 3 --rounds 1 --keep disturbed,placements \
        --scenario NC,UNEXP --windows 16 --format csv")
        .has("placement,engine,handlers,scenario,calibrated,window,size_bytes,version,rate_msgs_per_s,rate_min_msgs_per_s,rate_max_msgs_per_s,rounds,post_ns,receive_ns,to_endpoint,to_no_matching,to_memcpy,to_bins,to_list,to_ucx,nic_receives,software,software_posts,latency_p50_ns,latency_p90_ns,latency_p99_ns,latency_p99_9_ns,latency_p99_99_ns,latency_max_ns,latency_messages")
        .has("any,optimistic,32,NC,false,16,8,0.")
        .has("any,no-matching,,NC,false,16,8,0.")
        .has("any,bins,,NC,false,16,8,0.")
        .has("any,optimistic,32,UNEXP,false,16,8,0.")
        .has("any,bins,,UNEXP,false,16,8,0.")
        .count(2, ",1024,0,0,,,,,,,")
        .count(5, ",,,,,,,")
        .lines(6);
    shown(
        "bench --matching optimistic --reps 3 --rounds 1 --keep disturbed,placements \
        --scenario WC --windows 64 --sweep 4,64 --seed 9 --fast-path off --bins 64 --format json",
    )
    .json("/nic/bins", "64")
    .json("/rates/0/handlers", "4")
    .json("/rates/0/nic/receives", "1024")
    .json("/rates/0/samples/0/paths/fast", "0.0")
    .json("/rates/0/receive_ns", "null")
    .json("/rates/1/handlers", "64")
    .json("/rates/2/handlers", "null")
    .json("/rates/3/engine", r#""bins""#)
    .json("/rates/3/to_bins", "1.0");
}

/// Rounds, repetitions and budget; ten windows are made even if there is no time for them.
#[test]
fn rounds_repetitions_and_budget_ten_windows_are_made_even_if() {
    shown(
        "bench --matching optimistic --scenario NC --windows 4 --keep disturbed,placements \
        --rounds 2 --reps 13 --budget 1000000 --baseline memcpy,bins --format json",
    )
    .json("/rates/0/samples/0/time_ns/count", "13")
    .json("/rates/1/samples/1/time_ns/count", "13")
    .json("/rates/2/samples/1/time_ns/count", "13")
    .json("/rates/2/samples/2", "null");
    shown(
        "bench --matching optimistic --scenario NC --windows 4 --keep disturbed,placements \
        --rounds 1 --reps 100 --budget 0 --baseline memcpy --format json",
    )
    .json("/rates/0/samples/0/time_ns/count", "10")
    .json("/rates/1/samples/0/time_ns/count", "10");
}

/// A folder gets the results, and the figures that they suffice for.
///
/// The calibrated rate has no value if a window of 128 was not slower than one of 1, so only the
/// panels of plain windows are sure to have all lines: three scenarios and two limits at two
/// numbers of handlers.
#[test]
fn a_folder_gets_the_results_and_the_figures_that_they_suffice() {
    shown(
        "bench --matching optimistic --reps 3 --rounds 1 --keep disturbed,placements \
        --windows 1,128 --sweep 1,2 --out @bench-out",
    )
    .has("dpamatch")
    .file("@bench-out/results.csv")
    .has("placement,engine,handlers,scenario,")
    .file("@bench-out/results.json")
    .has(r#""schema": "dpamatch-results-1""#)
    .file("@bench-out/handlers.svg")
    .has(">NC<")
    .has(">WC-FP<")
    .has(">WC-SP<")
    .has(">no-matching<")
    .has(">bins<")
    .file("@bench-out/handlers.csv")
    .count(10, "window 1,")
    .count(10, "window 128,");
}
