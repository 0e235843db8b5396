//! Options of the commands that read traces or compare engines.

use super::*;

const LAMMPS: &str = "../tests/data/traces/recorder/lammps-4.dumpi.tar.xz";
const FAN_IN: &str = "../tests/data/traces/recorder/fan-in-4.dumpi.tar.xz";
const BROKEN: &str = "../tests/data/traces/truncated/hpcg-0001.bin.xz";
const SINGLE: &str = "../tests/data/traces/lulesh-27/rank-0013.txt.xz";

#[test]
fn every_option_of_analyze() {
    let mut all = rows(
        LAMMPS,
        &[
            ("--bins 8", Results),
            ("--order posts-first", Results),
            ("--engine list", Results),
            ("--sweep 4", Results),
            ("--pairs /dev/null/x", Exit(NO_ROOM)),
            ("--out /dev/null/x", Exit(NO_ROOM)),
            ("--against ../tests/data/traces/edge-4-mpich/edge-4-mpich.dumpi.tar.xz", Results),
            ("--format csv", Results),
            ("--save /dev/null/x", Exit(NO_ROOM)),
            ("--wide", Results),
            ("--check", Results),
            ("--cache /dev/null/x", Exit(NO_ROOM)),
            ("--latency 0", Results),
            ("--bandwidth 1", Results),
            ("--jitter 900000", Results),
            ("--compute 0", Results),
            ("--handlers 4", Results),
            ("--receives 4", Results),
        ],
    );
    all.extend(rows(
        concat!("--order random ", "../tests/data/traces/recorder/lammps-4.dumpi.tar.xz"),
        &[("--seed 3", Results)],
    ));
    all.extend(rows(SINGLE, &[("--rank 3", Results)]));
    all.extend(rows(BROKEN, &[("--salvage", Mends(2))]));
    check_all("analyze", &all, OF_THE_NIC, b"");
}

#[test]
fn every_option_of_offload() {
    let mut all = rows(
        FAN_IN,
        &[
            ("--ranks", Results),
            ("--communicators", Results),
            ("--engine bins", Results),
            ("--host /dev/null", Exit(2)),
            ("--print-host", Results),
            ("--profile generic", Results),
            ("--set memory.l2_ns=90", Results),
            ("--handlers 2", Results),
            ("--receives 2", Results),
            ("--worth 99", Results),
            ("--format csv", Results),
            ("--save /dev/null/x", Exit(NO_ROOM)),
            ("--wide", Results),
        ],
    );
    all.extend(rows(BROKEN, &[("--salvage", Mends(2))]));
    check("offload", &all, b"");
}

#[test]
fn every_option_of_compare() {
    let search = "search --ranks 64 --rounds 0";
    let mut all = rows(
        search,
        &[
            ("--pending 3", Results),
            ("--bins 3", Results),
            ("--engine list", Results),
            ("--format csv", Results),
            ("--wide", Results),
            ("--out /dev/null/x", Exit(NO_ROOM)),
            ("--save /dev/null/x", Exit(NO_ROOM)),
        ],
    );
    all.extend(rows(
        "any --ranks 128 --pending 4 --rounds 0 --engine col-pnp",
        &[("--theta 5", Results), ("--k 3", Results)],
    ));
    let depth = "depth --depths 40 --engine 4d --rounds 0";
    all.extend(rows(depth, &[("--threshold 9", Results)]));
    all.extend(rows("any --ranks 64 --rounds 0 --engine 4d", &[("--seed 3", Results)]));
    let overhead = "overhead --ranks 16 --rounds 0";
    all.push(("--rounds", overhead, "overhead --ranks 16 --rounds 1", Results));
    all.push(("--depths", depth, "depth --depths 41 --engine 4d --rounds 0", Results));
    all.push(("--ranks", search, "search --ranks 81 --rounds 0", Results));
    all.push(("--all", search, "search --all", Exit(2)));
    check("compare", &all, b"");
}

#[test]
fn every_option_of_channels() {
    let discovery = "--only discovery --bursts 1,8 --pairs 4";
    let mut all = rows(
        discovery,
        &[
            ("--policy static:7", Results),
            ("--gap 900", Results),
            ("--kind geometric", Results),
            ("--handle 900", Results),
            ("--set network_start_ns=900", Results),
            ("--format csv", Results),
            ("--wide", Results),
            ("--out /dev/null/x", Exit(NO_ROOM)),
        ],
    );
    all.extend(rows("--only discovery --bursts 8 --gap 900", &[("--random-gap", Results)]));
    let drawn = "--only discovery --bursts 8 --kind geometric --pairs 4";
    all.extend(rows(drawn, &[("--seed 3", Results)]));
    all.push(("--pairs", discovery, "--only discovery --bursts 1,8 --pairs 9", Results));
    all.push(("--bursts", discovery, "--only discovery --bursts 1,9 --pairs 4", Results));
    all.push(("--only", discovery, "--only thresholds --bursts 1,8 --pairs 4", Results));
    all.extend(rows("--only thresholds", &[("--compute 90", Results)]));
    // Threads, so that times are never the same.
    let real = "--only real --messages 50 --format json";
    let (other, first) = ("--only real --messages 51 --format json", "/results/real/0/messages");
    all.push(("--messages", real, other, Json(first)));
    all.extend(rows("--only real --messages 50", &[("--engine list", Line("Real"))]));
    check("channels", &all, b"");
}
