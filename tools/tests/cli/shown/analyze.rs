//! What `analyze` shows.

use super::*;

/// A run of three ranks, number by number.
///
/// Rank 0 sends to rank 1 and once to rank 2. The events at rank 1, in nanoseconds after the
/// first second, with the steps of each search in one bin and the length of the queue that it
/// meets:
///
/// | time | event | posted queue | unexpected queue |
/// |---|---|---|---|
/// | 10, 20, 30 | receives A, B (tag 1), C (tag 2) are posted | | 0 of 0 each |
/// | 40 | tag 2 finds C, behind A and B | 3 of 3 | |
/// | 50 | tag 1 finds A | 1 of 2 | |
/// | 60, 70 | tag 3, twice: both wait | 1 of 1 each | |
/// | 75 | a probe for tag 3 | | 1 of 2 |
/// | 80 | receive D (tag 3) finds the first | | 1 of 2 |
/// | 90 | receive E (any source, tag 3) the other | | 1 of 1 |
/// | 100 | tag 1 finds B | 1 of 1 | |
/// | 110, 111 | receive F (tag 2) is posted and cancelled | | 0 of 0 |
/// | 120 | receive G (tag 9) is posted, and is left | | 0 of 0 |
/// | 130 | tag 7 waits, and is left | 1 of 1 | |
///
/// Rank 2 posts its receive at 0 and finds the message at 45: 1 of 1. In all 9 steps in 7
/// searches that saw 10 entries, and 3 steps in 9 searches that saw 5. With 64 bins only A and B
/// share one, and no search meets another key. A sample of the tables precedes each of the 15
/// events of rank 1 and the 2 of rank 2: chains of 0, 1, 2, 3, 2, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1 in
/// one bin. E finds its message at once, so it never waits. D's capacity exceeds its message, and
/// the size for E is unknown. A and D had a choice of partners; E has a wildcard. A column of
/// depths is 1.3 ns wide.
#[test]
fn a_run_of_three_ranks_number_by_number() {
    shown("analyze $counted-by-hand --order time --bins 1,64 --sweep 4 --engine list --check --wide \
        --out @counted")
        .part("counted-by-hand: 3 of at least 3 ranks, 25 calls in 6.08 KiB", 82, "a31619a7fd24c0a3")
        .file("@counted/calls.csv")
        .whole(5, "02062343b72e63fd")
        .file("@counted/sizes.csv")
        .whole(11, "d26dc8f72b279119")
        .file("@counted/traffic.csv")
        .whole(5, "9963f7feb41955b8")
        .file("@counted/orders.csv")
        .whole(8, "03317044ab56f14a")
        .file("@counted/queues.csv")
        .whole(17, "8b414213fcc418a3")
        .file("@counted/tables.csv")
        .whole(25, "9ea37a2bc417bdf7")
        .file("@counted/lifetime.csv")
        .is(&["bins,depth_average,depth_max,depth_mean,collisions_no_wildcard,collisions_any_source,collisions_any_tag,list_max", "1,1,2,0.6666666666666666,3,0,0,0", "64,0.5,1,0.3333333333333333,1,0,0,0"])
        .file("@counted/paths.csv")
        .whole(5, "17454f75efc0b81a")
        .file("@counted/shards.csv")
        .whole(13, "a23c8b38a610413f")
        .file("@counted/keys.csv")
        .whole(9, "415b71607f80056f")
        .file("@counted/needs.csv")
        .whole(5, "5571278ca848e8cf")
        .file("@counted/depth.csv")
        .whole(401, "59bd936d3d8aced7")
        .file("@counted/communicators.csv")
        .is(&["application,communicator,name,id,processes,translation,sends,sent_bytes,receives,wildcards,any_source,any_tag,any_source_and_tag,probes,cancelled,expected,unexpected,receives_left,messages_left,posted_max,unexpected_max,sequences,sequence_length_mean,sequence_length_max,searches,steps_per_search,steps_per_search_max,length_mean,unexpected_searches,unexpected_steps_per_search,unexpected_steps_per_search_max,unexpected_length_mean", "counted-by-hand,2,world,0,3,exact,7,122,8,1,1,0,0,1,1,4,3,1,1,3,2,7,1.1428571428571428,2,7,1.2857142857142858,1.3333333333333333,1.4285714285714286,9,0.3333333333333333,0.375,0.5555555555555556"])
        .file("@counted/hints.csv")
        .whole(5, "907f5769cd0c50c2")
        .file("@counted/engines.csv")
        .is(&["application,engine,pairs_as_recorded,other_pairs,bytes_equal,bytes_differ,ranks_that_differ,posted_steps,unexpected_steps,memory_bytes_max", "counted-by-hand,list,6,0,5,0,0,9,3,704"])
        .file("@counted/unmatched.csv")
        .is(&["rank,what,call,envelope,reason", r#"1,receive,10,"communicator 2, source 0, tag 9","no call completes it; the nearest unmatched message is from rank 0 (communicator 2, source 0, tag 7) and differs in tag""#, r#"1,message,6,"from rank 0: communicator 2, source 0, tag 7","no receive accepts it; the nearest waiting receive is of call 10 (communicator 2, source 0, tag 9) and differs in tag""#])
        .file("@counted/figure-bins.csv")
        .whole(7, "64765d12e2296b1f")
        .file("@counted/figure-calls.csv")
        .whole(9, "59db1251dc8ae0a2")
        .file("@counted/figure-depth.csv")
        .whole(401, "dbadbb8174fc10ca")
        .file("@counted/figure-messages.csv")
        .whole(6, "4ce68bdfa9fe526a")
        .file("@counted/figure-paths.csv")
        .whole(5, "c151525d1c58129f")
        .file("@counted/figure-ranks.csv")
        .whole(151, "413442b4cd40d701")
        .file("@counted/figure-tables.csv")
        .whole(9, "866201ed1a61dac2")
        .file("@counted/report.json")
        .has(r#""processes": 3"#);
}

#[test]
fn the_summary_has_the_main_numbers() {
    shown("analyze $lulesh-27/lulesh-27.dumpi.tar.xz --engine optimistic --wide")
        .has("lulesh-27: 27 of 27 ranks, 26490 calls in 1.71 MiB")
        .has("calls: 14600 point-to-point, 351 collective, 0 one-sided (97.7 / 2.3 / 0.0 %); 8299 progress, 3240 other")
        .has("582 distinct (source, tag) pairs in 7300 receives (7.97 %), at most 1 pending per pair")
        .has("hints: Set mpi_assert_no_any_source on communicator 2 (world): this run never violates it.")
        .has("room: Everything fits on the NIC. dpamatch offload shows whether offloading pays.");
    // A file of one rank does not say how many ranks there are.
    shown("analyze $counted-by-hand/rank-0001.txt").has("rank-0001: 1 of at least 2 ranks,");
}

#[test]
fn a_nic_that_is_too_small_is_named_with_the_place_and_the_reason() {
    shown(
        "analyze $lulesh-27/lulesh-27.dumpi.tar.xz --receives 16 --engine optimistic --order \
        posts-first --wide",
    )
    .has("with too few receive descriptors (--receives)")
    .has("The NIC is too small: rank 0 falls");
}

/// Time stands by function and call site, sizes by how the NIC gets them.
#[test]
fn time_stands_by_function_and_call_site_sizes_by_how_the_nic_gets() {
    shown("analyze $recorder/halo-fortran-2.dumpi.tar.xz --order time --wide")
        .has_lines(&["function place calls total ms % of run mean us longest ms worst rank its ms", "MPI_Init - 2 576.967 47.905 288483.447 290.666 0 290.666", "MPI_Barrier - 80 231.703 19.238 2896.288 18.527 1 133.340", "MPI_Waitall - 80 99.424 8.255 1242.802 15.322 0 58.091", "MPI_Reduce - 2 11.252 0.934 5626.022 11.237 0 11.237", "MPI_Recv halo_fortran+0x1409 320 0.174 0.014 0.544 0.008 0 0.089"])
        .has_lines(&["and 3 more", "in communication calls: 28.5 % of the run; most: rank 1 29.4 %, rank 0 27.6 %; least: rank 0 27.6 %"]);
    shown("analyze $lulesh-27/lulesh-27.dumpi.tar.xz --eager-limit 300 --wide").has_lines(&[
        "256 B eager 2,160 29.59 435.38 KiB 26.81",
        "512 B rendezvous 1,296 17.75 486.00 KiB 29.93",
        "1.00 KiB rendezvous 648 8.877 486.00 KiB 29.93",
    ]);
}

#[test]
fn pairs_are_written() {
    shown("analyze $minife-16/minife-16.dumpi.tar.xz --order random --seed 3 --pairs @pairs.csv")
        .file("@pairs.csv")
        .lines(6049)
        .has_lines("comm,recv_rank,recv_op,send_rank,send_op,tag,bytes,posted_src,posted_tag");
}

#[test]
fn several_traces_are_compared() {
    shown(
        "analyze $edge-4-openmpi/edge-4-openmpi.dumpi.tar.xz \
        $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --bins 1,8 --wide",
    )
    .part(
        "Calls and depth of posted receives by bins (Figures 6 and 7)",
        5,
        "cf805ae109d272f1",
    )
    .part(
        "Depth as the published analyzer counts it: nothing is matched",
        6,
        "b372a0a96bd1a069",
    );
    shown(
        "analyze $minife-16/minife-16.dumpi.tar.xz $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --bins \
        1",
    )
    .has_lines(&[
        "minife-16 86.80 13.20 0 3.629 10",
        "MiniFe of 1152, published 93.50 6.500 0 - -",
    ]);
}

#[test]
fn communicators_stand_in_falling_order_of_their_operations() {
    shown("analyze $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --wide").has_lines(&[
        "communicator name size ranks sends receives wildcards unexpected posted_max ASL AQL",
        "4 duplicate of world 4 exact 36 36 24 27 2 0.3333 0.3333",
        "2 world 4 exact 12 12 4 2 2 1.167 1.167",
    ]);
}

#[test]
fn json_holds_the_report() {
    shown("analyze $edge-4-openmpi/edge-4-openmpi.dumpi.tar.xz --format json --sweep 4")
        .json("/traces/0/processes", "4")
        .json("/traces/0/application/traffic/receives", "[20, 8, 4, 16]")
        .json("/traces/0/application/blocks/0/handlers", "4")
        .json("/traces/0/ranks/3/rank", "3");
}

/// Engines are compared by their steps, inner nodes included.
///
/// 6,048 compares of the list, one for each message. Handlers in conflict search again.
#[test]
fn engines_are_compared_by_their_steps_inner_nodes_included() {
    shown("analyze $minife-16/minife-16.dumpi.tar.xz --order posts-first --engine \
        list,4d,optimistic --wide")
        .has("Of the engines that count steps in both queues, list takes the fewest steps and 4d the most.")
        .has("list 6,048 0 6,048 0 6,048 0")
        .has("4d 6,048 0 6,048 0 32,007 22,584");
}

/// The bytes of the statuses prove the pairs.
///
/// The edge cases wait for an MPI_Ibarrier, which is no call of a trace: an unknown request at
/// each rank. Four of their receives have no status: elimination finds what they got. MPICH
/// writes MPI_PROC_NULL as any source; the statuses show it.
#[test]
fn the_bytes_of_the_statuses_prove_the_pairs() {
    shown("analyze $edge-4-openmpi/edge-4-openmpi.dumpi.tar.xz --order posts-first --sweep 4 --bins \
        1 --format json")
        .json("/applications/0/wildcards_percent", "58.333333333333336")
        .json("/applications/0/unexpected_percent", "16.666666666666668")
        .json("/paths/0/conflict_blocks_percent", "50.0")
        .json("/traces/0/application/traffic", r#"{"bytes_sent": 192, "cancelled": 4, "expected": 40, "messages_left": 4, "probes": 4, "receives": [20, 8, 4, 16], "receives_left": 0, "sends": 48, "to_null": 12, "unexpected": 8}"#)
        .json("/traces/0/source/truth", r#"{"assumed": 0, "bytes_differ": 0, "bytes_equal": 36, "eliminated": 4, "left": 4, "pairs": 40, "taken_for_null": 0, "without_message": 0}"#)
        .json("/traces/0/source/oddities", r#"{"contradictions": 0, "long_receives": 0, "unknown_requests": 4, "unknown_starts": 0}"#);
    shown("analyze $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --order posts-first --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/traffic", r#"{"bytes_sent": 192, "cancelled": 4, "expected": 40, "messages_left": 4, "probes": 4, "receives": [20, 8, 4, 16], "receives_left": 0, "sends": 48, "to_null": 12, "unexpected": 8}"#)
        .json("/traces/0/source/truth", r#"{"assumed": 0, "bytes_differ": 0, "bytes_equal": 36, "eliminated": 4, "left": 4, "pairs": 40, "taken_for_null": 0, "without_message": 0}"#)
        .json("/traces/0/source/oddities", r#"{"contradictions": 0, "long_receives": 0, "unknown_requests": 4, "unknown_starts": 0}"#);
    shown("analyze $minife-16/minife-16.dumpi.tar.xz --order posts-first --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/traffic", r#"{"bytes_sent": 657800, "cancelled": 0, "expected": 6048, "messages_left": 0, "probes": 0, "receives": [5904, 144, 0, 0], "receives_left": 0, "sends": 6048, "to_null": 0, "unexpected": 0}"#)
        .json("/traces/0/source/truth", r#"{"assumed": 0, "bytes_differ": 0, "bytes_equal": 6048, "eliminated": 0, "left": 0, "pairs": 6048, "taken_for_null": 0, "without_message": 0}"#)
        .json("/traces/0/source/oddities", r#"{"contradictions": 0, "long_receives": 0, "unknown_requests": 0, "unknown_starts": 0}"#);
    shown("analyze $lulesh-27/lulesh-27.dumpi.tar.xz --order posts-first --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/traffic", r#"{"bytes_sent": 1662848, "cancelled": 0, "expected": 7300, "messages_left": 0, "probes": 0, "receives": [7300, 0, 0, 0], "receives_left": 0, "sends": 7300, "to_null": 0, "unexpected": 0}"#)
        .json("/traces/0/source/truth", r#"{"assumed": 0, "bytes_differ": 0, "bytes_equal": 7300, "eliminated": 0, "left": 0, "pairs": 7300, "taken_for_null": 0, "without_message": 0}"#)
        .json("/traces/0/source/oddities", r#"{"contradictions": 0, "long_receives": 0, "unknown_requests": 0, "unknown_starts": 0}"#);
}
