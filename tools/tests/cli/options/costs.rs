//! Options of `cost`, `trace` and `man`.

use super::*;

/// Options of the machine and of the output; `cost messages` has a row for each.
const OF_THE_MACHINE: &[&str] = &["--profile", "--set", "--format", "--wide", "--out"];

/// One machine as well as another.
fn machine() -> [(&'static str, Seen); 1] {
    [("--set layout.processes_per_node=1 --set layout.sockets_per_node=1", Results)]
}

#[test]
fn every_option_of_cost_messages() {
    // Eight ranks send to one, which sends, too, so that it is the slowest.
    let to_one: String = (1..9).map(|rank| format!("0,{rank},0,100\n")).collect();
    let list = format!("phase,src,dst,bytes\n{to_one}0,0,17,500\n1,0,1,9\n");
    let mut all = rows(
        "-",
        &[
            ("--engine bins", Results),
            ("--posting worst", Results),
            ("--queue bound", Results),
            ("--hops 9", Results),
            ("--per-rank", Results),
            ("--profile /dev/null", Exit(2)),
            ("--set queue.gamma_step_s=1", Results),
            ("--format csv", Results),
            ("--out /dev/null/x", Exit(NO_ROOM)),
        ],
    );
    let lammps = "--trace ../tests/data/traces/recorder/lammps-4.dumpi.tar.xz";
    all.push(("--trace", "-", lammps, Results));
    all.extend(rows("- --per-rank", &[("--wide", Results)]));
    all.extend(rows("- --engine bins", &[("--bins 1", Results)]));
    all.extend(rows("- --posting random", &[("--seed 6", Results)]));
    // Steps of a NIC depend on when messages come, what it refuses does not.
    all.extend(rows("- --engine optimistic", &[("--receives 4000000000", Exit(2))]));
    check_all("cost messages", &all, OF_THE_NIC, list.as_bytes());
}

#[test]
fn every_option_of_cost_ping_pong() {
    // Times are never the same; what was measured is.
    let usual = "--sizes 64 --rounds 1 --engine bins --runs --format json";
    let steps = Json("/results/runs/1/steps");
    let mut all = rows(
        usual,
        &[
            ("--bins 1", steps),
            ("--seed 3", steps),
            ("--bytes 6400", Json("/results/runs/0/bytes")),
        ],
    );
    let list = "--sizes 64 --rounds 1 --engine list --runs --format json";
    all.push(("--engine", usual, list, Json("/results/runs/0/engine")));
    let more = "--sizes 65 --rounds 1 --engine bins --runs --format json";
    all.push(("--sizes", usual, more, Json("/results/runs/0/messages")));
    // How often it was measured is not to be seen.
    let never = "--sizes 64 --rounds 0 --engine bins --runs --format json";
    all.push(("--rounds", usual, never, Exit(2)));
    let both = "--sizes 64,8 --rounds 1 --engine list --format json";
    all.extend(rows(both, &[("--runs", Form)]));
    let nic = "--sizes 64 --rounds 1 --engine optimistic --runs --format json";
    all.extend(rows(nic, &[("--receives 4000000000", Exit(2))]));
    check_all("cost ping-pong", &all, &[OF_THE_NIC, OF_THE_MACHINE].concat(), b"");
}

#[test]
fn every_option_of_cost_of_products() {
    let cube = "--edge 8 --processes 8";
    let mut all = rows(
        cube,
        &[
            ("--coarsest 3", Results),
            ("--product vector", Results),
            ("--engine list", Results),
            ("--posting worst", Results),
            ("--bins 1", Results),
        ],
    );
    all.extend(rows(cube, &machine()));
    all.extend(rows("--edge 16 --processes 27 --posting random", &[("--seed 90", Results)]));
    all.push(("--edge", cube, "--edge 9 --processes 8", Results));
    all.push(("--processes", cube, "--edge 8 --processes 4", Results));
    check_all("cost hierarchy", &all, OF_THE_MACHINE, b"");

    // Every process needs the rows of all others.
    let entries: String = (0..64).map(|at| format!("{} {} 1\n", at / 8 + 1, at % 8 + 1)).collect();
    let matrix = format!("%%MatrixMarket matrix coordinate real general\n8 8 64\n{entries}");
    let two = "- --processes 8";
    let mut all = rows(
        two,
        &[
            ("--product vector", Results),
            ("--engine list", Results),
            ("--posting worst", Results),
            ("--bins 1", Results),
        ],
    );
    all.extend(rows(two, &machine()));
    all.extend(rows("- --processes 8 --posting random", &[("--seed 90", Results)]));
    all.push(("--processes", two, "- --processes 2", Results));
    check_all("cost spmv", &all, OF_THE_MACHINE, matrix.as_bytes());
}

#[test]
fn every_option_of_the_rest_of_cost() {
    let two = "--senders 1,2";
    let mut all = rows(two, &[("--routers 3", Results), ("--sizes 9", Results)]);
    all.push(("--senders", two, "--senders 1,3", Results));
    all.extend(rows(two, &[("--set contention.delta_s_per_byte=1", Results)]));
    check_all("cost contention", &all, OF_THE_MACHINE, b"");
    let all = rows("", &[("--set contention.delta_s_per_byte=1", Results)]);
    check_all("cost profile", &all, OF_THE_MACHINE, b"");
}

#[test]
fn every_option_of_trace() {
    const BROKEN: &str = "../tests/data/traces/truncated/hpcg-0001.bin.xz";
    const TEXT: &str = "../tests/data/traces/lulesh-27/rank-0013.txt.xz";
    for part in ["trace info", "trace check", "trace dump"] {
        let mut all =
            rows(TEXT, &[("--cache /dev/null/x", Exit(NO_ROOM)), ("--format json", Results)]);
        if part == "trace dump" {
            all.extend(rows(TEXT, &[("--rank 7", Exit(2)), ("--limit 5", Results)]));
            all.extend(rows(
                concat!("../tests/data/traces/lulesh-27/rank-0013.txt.xz", " --rank 3"),
                &[("--as-rank 3", Mends(2))],
            ));
        } else {
            all.extend(rows(TEXT, &[("--as-rank 3", Results)]));
        }
        all.extend(rows(BROKEN, &[("--salvage", Mends(2))]));
        let common: &[&str] = if part == "trace check" { &["--wide", "--salvage"] } else { &[] };
        check_all(part, &all, common, b"");
    }
}

#[test]
fn every_option_of_man() {
    check("man", &[("--out", "", "--out /dev/null/x", Exit(NO_ROOM))], b"");
}
