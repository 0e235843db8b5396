//! What `trace` shows.

use super::*;

/// Calls by class and function.
///
/// 6,048 sends and as many receives.
#[test]
fn calls_by_class_and_function() {
    shown("trace info $minife-16").is(&[
        "16 of 16 ranks",
        "DUMPI binary 13.0.0: 16 ranks",
        "recorded on vm",
        "started 2026-11-21 07:58:42 UTC",
        "",
        "Calls by class",
        "class calls %",
        "p2p 12,096 57.58",
        "collective 1,840 8.759",
        "one-sided 0 0",
        "progress 6,048 28.79",
        "other 1,024 4.874",
        "",
        "Calls by function",
        "function calls left out",
        "MPI_Send 6,048 0",
        "MPI_Irecv 6,048 0",
        "MPI_Wait 6,048 0",
        "MPI_Bcast 32 0",
        "MPI_Allgather 48 0",
        "MPI_Reduce 32 0",
        "MPI_Allreduce 1,728 0",
        "MPI_Comm_size 768 0",
        "MPI_Comm_rank 192 0",
        "MPI_Init 16 0",
        "MPI_Finalize 16 0",
        "MPI_Initialized 32 0",
        "",
        "21008 calls",
    ]);
    shown("trace info --format json $minife-16")
        .json("/processes", "16")
        .json("/calls", "21008")
        .json(
            "/formats",
            r#"[{"format": "DUMPI binary 13.0.0", "ranks": 16}]"#,
        )
        .json("/by_class/0/calls", "12096")
        .json("/by_class/2/calls", "0");
}

#[test]
fn what_is_consistent_and_what_is_not() {
    shown("trace check $edge-4-mpich/edge-4-mpich.dumpi.tar.xz").whole(7, "40cdf4c411e32ec9");
    shown_with(
        "trace check $truncated",
        2,
        &[
            "truncated/hpcg-0001.bin.xz: byte 30003: truncated: there is no index at the end",
            "; --salvage reads the intact part",
        ],
    )
    .has("0 calls; call counts agree with the footers: 0 of 1 rank");
    shown("trace check --salvage $truncated")
        .has("1 634 - salvaged:")
        .has("634 calls; read without a footer to compare with: 1 rank");
}

#[test]
fn a_call_a_line() {
    shown("trace dump $edge-4-openmpi/rank-0000.txt.xz --limit 9").whole(9, "8d2cccd4254967b3");
    shown("trace dump $edge-4-openmpi/rank-0000.txt.xz").lines(56);
    shown("trace dump $edge-4-openmpi/rank-0000.txt.xz --format jsonl --limit 8")
        .has(r#""call":7,"#)
        .lines(8);
    shown("trace dump $edge-4-openmpi/rank-0000.txt.xz --format json --limit 8")
        .json("/calls/7", r#"{"arguments": {"count": 2, "requests": [2, 2], "statuses": [{"bytes": 0, "cancelled": false, "error": 0, "source": -2, "tag": -1}, {"bytes": 0, "cancelled": false, "error": 0, "source": -2, "tag": -1}]}, "byte": 1870, "call": 7, "class": "progress", "cpu_ns": [31488855, 31491565], "function": "MPI_Waitall", "thread": 0, "wall_ns": [3274613966054, 3274613968766]}"#);
}

#[test]
fn footers_count_the_records_whatever_the_version_and_the_form() {
    shown("trace check $edge-4-openmpi/edge-4-openmpi.dumpi.tar.xz").whole(7, "40cdf4c411e32ec9");
    shown("trace check $minife-16/minife-16.dumpi.tar.xz").whole(19, "d6ffe3b38c04c318");
    shown("trace check $lulesh-27/lulesh-27.dumpi.tar.xz").whole(30, "c7652584fe1d2f0f");
    shown("trace check $old-versions/testtrace-1.0.0-0000.bin").whole(4, "689448837c81d1f7");
    shown("trace check $old-versions/testtrace-1.0.0-0000.txt.xz").whole(4, "689448837c81d1f7");
    shown("trace check $old-versions/testbgp-1.1.0-0003.bin.xz").whole(4, "9eb9fd75c6b5c90a");
    shown("trace check $old-versions/naive-all-to-all-8.1.0-0002.bin.xz")
        .whole(4, "a52a4581f6a2ca59");
}

/// A timeline has a track for each rank and a flow for each message.
///
/// Rank 0 sends at 40 to 100 ns; rank 1 completes receives A to C in a call at 105, D, E and
/// others later.
#[test]
fn a_timeline_has_a_track_for_each_rank_and_a_flow_for_each_message() {
    shown("trace timeline $counted-by-hand").whole(42, "be2950e411332147");
}

/// An OTF2 archive.
///
/// Its arguments are not recorded; the operation stands in their place.
#[test]
fn an_otf2_archive() {
    shown_with(
        "trace dump --rank 1 --limit 4 $otf2/three.otf2",
        0,
        &["note: OTF2 keeps no wildcards: each receive names the source and tag of its message"],
    )
    .whole(4, "e4ecd58543fc3de2");
    shown_with(
        "analyze $otf2",
        0,
        &["note: OTF2 keeps no wildcards: each receive names the source and tag of its message"],
    )
    .has_lines("messages: 7 expected, 1 unexpected (12.5 %); left: 0 receives, 0 messages");
}
