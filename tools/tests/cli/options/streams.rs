//! Options of the commands for streams of events.

use super::*;

fn stream(profile: &str) -> Vec<u8> {
    dpamatch(&["gen", "--seed", "7", "--events", "1000", "--profile", profile], b"").stdout
}

#[test]
fn every_option_of_match() {
    let usual = "--workers 0 --bins 64 --stats";
    let rows: &[Row] = &[
        ("--engine", "--stats", "--stats --engine list", Messages),
        ("--bins", "--workers 0 --stats", "--workers 0 --stats --bins 64", Counter("bins")),
        ("--handlers", usual, "--workers 0 --bins 64 --stats --handlers 8", Counter("blocks")),
        ("--workers", usual, "--bins 64 --stats --workers 2", Counter("workers")),
        ("--slice-min", usual, "--workers 0 --bins 64 --stats --slice-min 3", Counter("slice_min")),
        (
            "--receives",
            usual,
            "--workers 0 --bins 64 --stats --receives 8",
            Counter("fallback_receives"),
        ),
        (
            "--communicators",
            usual,
            "--workers 0 --bins 64 --stats --communicators 1",
            Counter("fallback_tables"),
        ),
        (
            "--unexpected",
            usual,
            "--workers 0 --bins 64 --stats --unexpected 9",
            Counter("fallback_unexpected"),
        ),
        (
            "--unexpected-buffers",
            usual,
            "--workers 0 --bins 64 --stats --unexpected-buffers 2",
            Counter("fallback_unexpected"),
        ),
        (
            "--eager-limit",
            usual,
            "--workers 0 --bins 64 --stats --eager-limit 64",
            Counter("unexpected_bytes_high"),
        ),
        ("--fast-path", usual, "--workers 0 --bins 64 --stats --fast-path off", Counter("fast")),
        (
            "--early-check",
            usual,
            "--workers 0 --bins 64 --stats --early-check",
            Counter("conflict_blocks"),
        ),
        ("--removal", usual, "--workers 0 --bins 64 --stats --removal eager", Counter("removal")),
        (
            "--removal",
            usual,
            "--workers 0 --bins 64 --stats --removal deferred",
            Counter("removal"),
        ),
        ("--repost", usual, "--workers 0 --bins 64 --stats --repost handlers", Counter("repost")),
        ("--hashes", usual, "--workers 0 --bins 64 --stats --hashes verify", Counter("hashes")),
        ("--hashes", usual, "--workers 0 --bins 64 --stats --hashes ignore", Counter("hashes")),
        (
            "--hashes",
            usual,
            "--workers 0 --bins 64 --stats --hashes absent",
            Counter("inline_hashes"),
        ),
        ("--hint", usual, "--workers 0 --bins 64 --stats --hint no-any-source", Exit(1)),
        ("--hint", usual, "--workers 0 --bins 64 --stats --hint no-any-tag", Exit(1)),
        (
            "--hint",
            usual,
            "--workers 0 --bins 64 --stats --hint allow-overtaking",
            Counter("overtaking"),
        ),
        ("--stats", "--workers 0", "--workers 0 --stats", Messages),
        ("--format", "--workers 0", "--workers 0 --format json", Results),
        (
            "--comm-size",
            "--stats --engine rank-array",
            "--stats --engine rank-array --comm-size 5000",
            Counter("memory_bytes_max"),
        ),
    ];
    check("match", rows, &stream("mixed"));
}

#[test]
fn every_option_of_gen() {
    let amr = "--pattern amr --ranks 64 --rounds 2";
    let rows: &[Row] = &[
        ("--seed", "--events 100", "--events 100 --seed 2", Results),
        ("--format", "--events 100", "--events 100 --format json", Form),
        ("--format", "--events 100", "--events 100 --format jsonl", Results),
        ("--seed", amr, "--pattern amr --ranks 64 --rounds 2 --seed 2", Results),
        ("--events", "--events 100", "--events 101", Results),
        ("--profile", "--events 100", "--events 100 --profile hot", Results),
        ("--pattern", "--events 100", "--pattern gather --ranks 8", Results),
        ("--ranks", "--pattern gather --ranks 8", "--pattern gather --ranks 9", Results),
        ("--rounds", amr, "--pattern amr --ranks 64 --rounds 3", Results),
        ("--pending", amr, "--pattern amr --ranks 64 --rounds 2 --pending 7", Results),
        ("--comms", amr, "--pattern amr --ranks 64 --rounds 2 --comms 3", Results),
        ("--any", amr, "--pattern amr --ranks 64 --rounds 2 --any 50", Results),
        ("--early", amr, "--pattern amr --ranks 64 --rounds 2 --early 90", Results),
        ("--order", amr, "--pattern amr --ranks 64 --rounds 2 --order reverse", Results),
        ("--bytes", amr, "--pattern amr --ranks 64 --rounds 2 --bytes 77", Results),
    ];
    check("gen", rows, b"");
}
