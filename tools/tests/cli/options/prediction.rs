//! Options of the commands that predict.

use super::*;

/// Options of the card and of the output; `predict` has a row for each.
const OF_THE_CARD: &[&str] = &[
    "--profile",
    "--set",
    "--bins",
    "--like",
    "--fast-path",
    "--removal",
    "--repost",
    "--receives",
    "--eager-limit",
    "--early-check",
    "--no-inline-hashes",
    "--seed",
    "--format",
    "--save",
    "--wide",
    "--out",
];
/// And those of a recorded program.
const OF_A_TRACE: &[&str] =
    &["--trace", "--rank", "--order", "--salvage", "--times", "--free-posts"];
const TRACE: &str = "--threads 4 --trace ../tests/data/traces/recorder/lammps-4.dumpi.tar.xz";

fn common() -> Vec<&'static str> {
    [OF_THE_CARD, OF_A_TRACE].concat()
}

#[test]
fn every_option_of_predict() {
    let nc = "--threads 4 --workload nc";
    let mut all = rows(
        nc,
        &[
            ("--window 7", Results),
            ("--stream", Results),
            ("--bytes 99", Results),
            ("--profile generic", Results),
            ("--set memory.l2_ns=90", Results),
            ("--bins 2", Results),
            ("--like prototype", Results),
            ("--removal eager", Results),
            ("--repost handlers", Results),
            ("--receives 8", Results),
            ("--no-inline-hashes", Results),
            ("--format csv", Results),
            ("--save /dev/null/x", Exit(NO_ROOM)),
            ("--out /dev/null/x", Exit(NO_ROOM)),
            ("--wide", Results),
        ],
    );
    let mixed = "--threads 4 --workload mixed:50";
    all.extend(rows(mixed, &[("--seed 4", Results), ("--early-check", Results)]));
    all.extend(rows("--threads 4 --workload wc-fp", &[("--fast-path off", Results)]));
    all.extend(rows("--threads 4 --workload nc --bytes 2000", &[("--eager-limit 1000", Results)]));
    all.push(("--threads", nc, "--threads 2 --workload nc", Results));
    all.push(("--workload", nc, "--threads 4 --workload wc-sp", Results));
    all.push(("--trace", nc, TRACE, Results));
    all.extend(rows(
        TRACE,
        &[
            ("--rank 1", Results),
            ("--order posts-first", Results),
            ("--times recorded", Results),
            ("--free-posts", Results),
        ],
    ));
    let broken = "--threads 1 --trace ../tests/data/traces/truncated/hpcg-0001.bin.xz";
    all.extend(rows(broken, &[("--salvage", Mends(2))]));
    check("predict", &all, b"");
}

#[test]
fn every_option_of_its_parts() {
    let nc = "--handlers 2 --workload nc";
    let mut all = rows(
        nc,
        &[
            ("--chrome /dev/null/x", Exit(NO_ROOM)),
            ("--html /dev/null/x", Exit(NO_ROOM)),
            ("--set memory.l2_ns=90", Results),
        ],
    );
    all.push(("--handlers", nc, "--handlers 3 --workload nc", Results));
    all.push(("--workload", nc, "--handlers 2 --workload wc-sp", Results));
    all.extend(rows("--handlers 2 --chrome /dev/stdout", &[("--spans 2", Results)]));
    all.extend(rows("--handlers 2 --html /dev/null", &[("--block 1000000", Exit(2))]));
    check_all("predict handlers", &all, &common(), b"");

    let one = "--handlers 2";
    let mut all = rows(
        one,
        &[
            ("--free-posts", Results),
            ("--chrome /dev/null/x", Exit(NO_ROOM)),
            ("--set memory.l2_ns=90", Results),
        ],
    );
    all.push(("--handlers", one, "--handlers 1", Results));
    all.extend(rows("--handlers 2 --chrome /dev/stdout", &[("--spans 2", Results)]));
    let stream = "post,0,0,*,7\narrive,0,0,3,7\narrive,1,0,3,8\npost,1,0,3,9\n";
    check_all("predict stream", &all, OF_THE_CARD, stream.as_bytes());

    let all = [("--threads", "--threads 1", "--threads 2", Results)];
    let all = [&all[..], &rows("--threads 1", &[("--set memory.l2_ns=90", Results)])].concat();
    check_all("predict what-if", &all, &common(), b"");
    let set = rows("", &[("--set memory.l2_ns=90", Results)]);
    check_all("predict accuracy", &set, OF_THE_CARD, b"");
    check_all("predict profile", &set, OF_THE_CARD, b"");
    // The sweep over all numbers takes a minute here.
    let known: BTreeSet<String> = OF_THE_CARD.iter().map(|&option| option.to_owned()).collect();
    assert_eq!(options("predict sensitivity"), known);
}

#[test]
fn every_option_of_calibrate() {
    let mut all = rows(
        "-",
        &[
            ("--write /dev/null/x", Exit(NO_ROOM)),
            ("--profile generic", Results),
            ("--bins 2", Results),
        ],
    );
    all.extend(rows("-", &[("--set driver.window=50", Results)]));
    check_all("calibrate", &all, OF_THE_CARD, b"series,threads,rate\nNC,1,0.4\nNC,2,0.75\n");
}
