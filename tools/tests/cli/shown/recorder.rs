//! What `recorder` shows.

use super::*;

/// Footers count the records.
///
/// The files are whole. Only the halo programs make no calls that are just counted.
#[test]
fn footers_count_the_records() {
    shown("trace check $recorder/example-openmpi.dumpi.tar.xz").is(&[
        "Calls, and what the footers say",
        "rank calls left out result",
        "0 61 244,204 agrees with the footer",
        "1 57 237,068 agrees with the footer",
        "118 calls; call counts agree with the footers: 2 of 2 ranks",
    ]);
    shown("trace check $recorder/example-mpich.dumpi.tar.xz").whole(5, "13244cf0d597eeb9");
    shown("trace check $recorder/lammps-4.dumpi.tar.xz").whole(7, "e53e5ba3ea3e4cc8");
    shown("trace check $recorder/halo-2.dumpi.tar.xz").whole(5, "7d56db71392862bc");
    shown("trace check $recorder/halo-fortran-2.dumpi.tar.xz").whole(5, "7d56db71392862bc");
    shown("trace check $recorder/mpi4py-4.dumpi.tar.xz").whole(7, "860936e7f00ddb75");
    shown("trace info $recorder/halo-2.dumpi.tar.xz")
        .has_lines("DUMPI binary 13.0.0: 2 ranks")
        .has_lines("MPI_Finalize 2 0")
        .has_lines("1450 calls");
}

/// Receives are what the program posted, and pair with the sends.
///
/// Wildcards, MPI_PROC_NULL and cancels are told apart, in the traces of both libraries alike:
/// traffic counts receives without wildcard, with any source, any tag and both. Every message
/// finds its receive and has the bytes of its status: the pairs are known (truth). The examples
/// wait for an MPI_Ibarrier, which the format does not have (oddities). All bytes are known: no
/// length is unknown (hints). The list gives the recorded pairs, in whatever order (agreement).
#[test]
fn receives_are_what_the_program_posted_and_pair_with_the_sends() {
    shown("analyze $recorder/example-openmpi.dumpi.tar.xz --order posts-first --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/traffic", r#"{"bytes_sent": 120, "cancelled": 2, "expected": 25, "messages_left": 0, "probes": 2, "receives": [12, 12, 2, 3], "receives_left": 0, "sends": 27, "to_null": 6, "unexpected": 2}"#)
        .json("/traces/0/source/truth", r#"{"assumed": 0, "bytes_differ": 0, "bytes_equal": 27, "eliminated": 0, "left": 0, "pairs": 27, "taken_for_null": 0, "without_message": 0}"#)
        .json("/traces/0/source/oddities", r#"{"contradictions": 0, "long_receives": 0, "unknown_requests": 2, "unknown_starts": 0}"#)
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 27, "missing": 0, "more": 0, "other": 0, "same": 27}"#)
        .json("/traces/0/application/hints/exact_length/unknown", "0");
    shown("analyze $recorder/example-mpich.dumpi.tar.xz --order posts-first --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/traffic", r#"{"bytes_sent": 120, "cancelled": 2, "expected": 25, "messages_left": 0, "probes": 2, "receives": [12, 12, 2, 3], "receives_left": 0, "sends": 27, "to_null": 6, "unexpected": 2}"#)
        .json("/traces/0/source/truth", r#"{"assumed": 0, "bytes_differ": 0, "bytes_equal": 27, "eliminated": 0, "left": 0, "pairs": 27, "taken_for_null": 0, "without_message": 0}"#)
        .json("/traces/0/source/oddities", r#"{"contradictions": 0, "long_receives": 0, "unknown_requests": 2, "unknown_starts": 0}"#)
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 27, "missing": 0, "more": 0, "other": 0, "same": 27}"#)
        .json("/traces/0/application/hints/exact_length/unknown", "0");
    shown("analyze $recorder/lammps-4.dumpi.tar.xz --order posts-first --sweep 4 --bins 1 --format \
        json")
        .json("/traces/0/application/traffic", r#"{"bytes_sent": 10513232, "cancelled": 0, "expected": 1472, "messages_left": 0, "probes": 0, "receives": [1472, 0, 0, 0], "receives_left": 0, "sends": 1472, "to_null": 0, "unexpected": 0}"#)
        .json("/traces/0/source/truth", r#"{"assumed": 0, "bytes_differ": 0, "bytes_equal": 1472, "eliminated": 0, "left": 0, "pairs": 1472, "taken_for_null": 0, "without_message": 0}"#)
        .json("/traces/0/source/oddities", r#"{"contradictions": 0, "long_receives": 0, "unknown_requests": 0, "unknown_starts": 0}"#)
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 1472, "missing": 0, "more": 0, "other": 0, "same": 1472}"#)
        .json("/traces/0/application/hints/exact_length/unknown", "0");
    shown("analyze $recorder/halo-2.dumpi.tar.xz --order posts-first --sweep 4 --bins 1 --format \
        json")
        .json("/traces/0/application/traffic", r#"{"bytes_sent": 2560, "cancelled": 0, "expected": 640, "messages_left": 0, "probes": 0, "receives": [640, 0, 0, 0], "receives_left": 0, "sends": 640, "to_null": 0, "unexpected": 0}"#)
        .json("/traces/0/source/truth", r#"{"assumed": 0, "bytes_differ": 0, "bytes_equal": 640, "eliminated": 0, "left": 0, "pairs": 640, "taken_for_null": 0, "without_message": 0}"#)
        .json("/traces/0/source/oddities", r#"{"contradictions": 0, "long_receives": 0, "unknown_requests": 0, "unknown_starts": 0}"#)
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 640, "missing": 0, "more": 0, "other": 0, "same": 640}"#)
        .json("/traces/0/application/hints/exact_length/unknown", "0");
    shown("analyze $recorder/halo-fortran-2.dumpi.tar.xz --order posts-first --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/traffic", r#"{"bytes_sent": 2560, "cancelled": 0, "expected": 640, "messages_left": 0, "probes": 0, "receives": [640, 0, 0, 0], "receives_left": 0, "sends": 640, "to_null": 0, "unexpected": 0}"#)
        .json("/traces/0/source/truth", r#"{"assumed": 0, "bytes_differ": 0, "bytes_equal": 640, "eliminated": 0, "left": 0, "pairs": 640, "taken_for_null": 0, "without_message": 0}"#)
        .json("/traces/0/source/oddities", r#"{"contradictions": 0, "long_receives": 0, "unknown_requests": 0, "unknown_starts": 0}"#)
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 640, "missing": 0, "more": 0, "other": 0, "same": 640}"#)
        .json("/traces/0/application/hints/exact_length/unknown", "0");
    shown("analyze $recorder/mpi4py-4.dumpi.tar.xz --order posts-first --sweep 4 --bins 1 --format \
        json")
        .json("/traces/0/application/traffic", r#"{"bytes_sent": 1224, "cancelled": 0, "expected": 106, "messages_left": 0, "probes": 0, "receives": [0, 20, 43, 43], "receives_left": 0, "sends": 106, "to_null": 0, "unexpected": 0}"#)
        .json("/traces/0/source/truth", r#"{"assumed": 0, "bytes_differ": 0, "bytes_equal": 106, "eliminated": 0, "left": 0, "pairs": 106, "taken_for_null": 0, "without_message": 0}"#)
        .json("/traces/0/source/oddities", r#"{"contradictions": 0, "long_receives": 0, "unknown_requests": 0, "unknown_starts": 0}"#)
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 106, "missing": 0, "more": 0, "other": 0, "same": 106}"#)
        .json("/traces/0/application/hints/exact_length/unknown", "0");
    shown("analyze $recorder/example-openmpi.dumpi.tar.xz --order arrivals-first --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 27, "missing": 0, "more": 0, "other": 0, "same": 27}"#);
    shown("analyze $recorder/example-mpich.dumpi.tar.xz --order arrivals-first --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 27, "missing": 0, "more": 0, "other": 0, "same": 27}"#);
    shown("analyze $recorder/lammps-4.dumpi.tar.xz --order arrivals-first --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 1472, "missing": 0, "more": 0, "other": 0, "same": 1472}"#);
    shown("analyze $recorder/halo-2.dumpi.tar.xz --order arrivals-first --sweep 4 --bins 1 --format \
        json")
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 640, "missing": 0, "more": 0, "other": 0, "same": 640}"#);
    shown("analyze $recorder/halo-fortran-2.dumpi.tar.xz --order arrivals-first --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 640, "missing": 0, "more": 0, "other": 0, "same": 640}"#);
    shown("analyze $recorder/mpi4py-4.dumpi.tar.xz --order arrivals-first --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 106, "missing": 0, "more": 0, "other": 0, "same": 106}"#);
    shown("analyze $recorder/example-openmpi.dumpi.tar.xz --order random --seed 4 --sweep 4 --bins \
        1 --format json")
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 27, "missing": 0, "more": 0, "other": 0, "same": 27}"#);
    shown("analyze $recorder/example-mpich.dumpi.tar.xz --order random --seed 4 --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 27, "missing": 0, "more": 0, "other": 0, "same": 27}"#);
    shown("analyze $recorder/lammps-4.dumpi.tar.xz --order random --seed 4 --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 1472, "missing": 0, "more": 0, "other": 0, "same": 1472}"#);
    shown("analyze $recorder/halo-2.dumpi.tar.xz --order random --seed 4 --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 640, "missing": 0, "more": 0, "other": 0, "same": 640}"#);
    shown("analyze $recorder/halo-fortran-2.dumpi.tar.xz --order random --seed 4 --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 640, "missing": 0, "more": 0, "other": 0, "same": 640}"#);
    shown("analyze $recorder/mpi4py-4.dumpi.tar.xz --order random --seed 4 --sweep 4 --bins 1 \
        --format json")
        .json("/traces/0/application/agreement", r#"{"bytes_differ": 0, "bytes_equal": 106, "missing": 0, "more": 0, "other": 0, "same": 106}"#);
}

/// The place that posts late is found.
///
/// The good exchange and the bad one are told apart: 2 ranks, 20 rounds, 8 messages each. In C
/// one place sends for both; in Fortran each has its own. The programs are not here: addresses
/// have to do.
#[test]
fn the_place_that_posts_late_is_found() {
    shown("analyze $recorder/halo-2.dumpi.tar.xz --set latency=0 --out @halo-2")
        .file("@halo-2/sites.csv")
        .whole(4, "58fcf689e168f233");
    shown("analyze $recorder/halo-fortran-2.dumpi.tar.xz --set latency=0 --out @halo-fortran-2")
        .file("@halo-fortran-2/sites.csv")
        .whole(5, "9a37dbed3ebef5f0");
    shown("analyze $recorder/halo-2.dumpi.tar.xz --set latency=0 --wide")
        .has("makes the unexpected queue grow")
        .has("320 of its 320 messages came first, and up to 8 waited at once")
        .has("The MPI_Irecv at halo+0x");
    shown("analyze $recorder/fan-in-4.dumpi.tar.xz --wide")
        .lacks("Call sites")
        .lacks("sites:");
}
