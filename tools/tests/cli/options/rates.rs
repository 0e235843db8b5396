//! Options of `bench`.

use super::*;

/// One window of a few messages, once.
macro_rules! quick {
    ($more:literal) => {
        concat!(
            "--reps 1 --rounds 1 --budget 0 --any-placement --format json ",
            "--baseline list --windows 20 ",
            $more
        )
    };
}

#[test]
fn every_option_of_bench() {
    const STEPS: Seen = Json("/results/rates/1/samples/0/steps_per_message");
    const NC: &str = quick!("--scenario NC");
    let (first, round) = ("/results/rates/0/scenario", "/results/rates/0/samples/0/time_ns/count");
    let trace = "--rounds 1 --budget 0 --baseline none --format json --trace \
                 ../tests/data/traces/recorder/lammps-4.dumpi.tar.xz";
    let rank: &str = &format!("{trace} --rank 2");
    let rank: &'static str = rank.to_owned().leak();
    let overview = "--scenario NC --windows 1 --reps 1 --rounds 1 --budget 0 --baseline none \
                    --any-placement";
    let wide = "--scenario NC --windows 1 --reps 1 --rounds 1 --budget 0 --baseline none \
                --any-placement --wide";
    let rows: &[Row] = &[
        ("--scenario", NC, quick!("--scenario WC"), Json(first)),
        (
            "--windows",
            NC,
            "--reps 1 --rounds 1 --budget 0 --any-placement --format json \
             --baseline list --scenario NC --windows 21",
            Json("/results/rates/0/window"),
        ),
        ("--sizes", NC, quick!("--scenario NC --sizes 9"), Json("/results/rates/0/size_bytes")),
        (
            "--reps",
            NC,
            "--rounds 1 --budget 0 --any-placement --format json \
             --baseline list --windows 20 --scenario NC --reps 2",
            Json(round),
        ),
        (
            "--rounds",
            NC,
            "--reps 1 --budget 0 --any-placement --format json \
             --baseline list --windows 20 --scenario NC --rounds 2",
            Json("/results/rounds"),
        ),
        (
            "--budget",
            "--reps 12 --rounds 1 --any-placement --format json \
             --windows 2 --scenario NC --budget 0",
            "--reps 12 --rounds 1 --any-placement --format json \
             --windows 2 --scenario NC --budget 1000000",
            Json(round),
        ),
        (
            "--any-placement",
            "--reps 1 --rounds 1 --budget 0 --format json \
             --baseline list --windows 20 --scenario NC",
            NC,
            Json("/results/by_placement"),
        ),
        ("--cpus", NC, quick!("--scenario NC --cpus 0"), Exit(2)),
        ("--sweep", NC, quick!("--scenario NC --sweep 4"), Json("/results/rates/0/handlers")),
        ("--wild", quick!("--scenario MIX"), quick!("--scenario MIX --wild 50"), Json(first)),
        (
            "--conflicts",
            quick!("--scenario MIX"),
            quick!("--scenario MIX --conflicts 50"),
            Json(first),
        ),
        ("--late", quick!("--scenario MIX"), quick!("--scenario MIX --late 50"), Json(first)),
        (
            "--baseline",
            NC,
            "--reps 1 --rounds 1 --budget 0 --any-placement --format json \
             --windows 20 --scenario NC --baseline bins",
            Json("/results/rates/1/engine"),
        ),
        ("--peers", NC, quick!("--scenario NC --peers"), Exit(1)),
        ("--seed", quick!("--scenario NC-RND"), quick!("--scenario NC-RND --seed 2"), STEPS),
        (
            "--format",
            "--trace ../tests/data/traces/recorder/lammps-4.dumpi.tar.xz --rounds 1 --budget 0 \
             --baseline none",
            trace,
            Form,
        ),
        ("--out", NC, quick!("--scenario NC --out /dev/null/nothing"), Exit(2)),
        ("--wide", overview, wide, Column("scenario", " per block ")),
        ("--save", NC, quick!("--scenario NC --save /dev/null/nothing"), Exit(2)),
        ("--trace", NC, trace, Form),
        ("--rank", trace, rank, Json("/results/rank")),
        (
            "--bins",
            quick!("--scenario NC-REV --baseline bins"),
            quick!("--scenario NC-REV --baseline bins --bins 1"),
            Json("/results/rates/2/samples/0/steps_per_message"),
        ),
        ("--handlers", NC, quick!("--scenario NC --handlers 5"), Json("/results/rates/0/handlers")),
        ("--workers", NC, quick!("--scenario NC --workers 1"), Json("/results/runner")),
        ("--slice-min", NC, quick!("--scenario NC --slice-min 3"), Json("/results/nic/slice_min")),
        ("--receives", NC, quick!("--scenario NC --receives 99"), Json("/results/nic/receives")),
        (
            "--communicators",
            NC,
            quick!("--scenario NC --communicators 9"),
            Json("/results/nic/communicators"),
        ),
        (
            "--unexpected",
            NC,
            quick!("--scenario NC --unexpected 9"),
            Json("/results/nic/unexpected_messages"),
        ),
        (
            "--unexpected-buffers",
            NC,
            quick!("--scenario NC --unexpected-buffers 9"),
            Json("/results/nic/unexpected_buffers"),
        ),
        (
            "--eager-limit",
            NC,
            quick!("--scenario NC --eager-limit 99"),
            Json("/results/nic/eager_limit"),
        ),
        (
            "--fast-path",
            NC,
            quick!("--scenario NC --fast-path prefix"),
            Json("/results/nic/fast_path"),
        ),
        (
            "--early-check",
            NC,
            quick!("--scenario NC --early-check"),
            Json("/results/nic/early_check"),
        ),
        ("--removal", NC, quick!("--scenario NC --removal deferred"), Json("/results/nic/removal")),
        ("--repost", NC, quick!("--scenario NC --repost handlers"), Json("/results/nic/repost")),
        ("--hashes", NC, quick!("--scenario NC --hashes verify"), Json("/results/nic/hashes")),
        (
            "--hint",
            quick!("--scenario ANYSRC"),
            quick!("--scenario ANYSRC --hint no-any-source"),
            Exit(2),
        ),
        (
            "--scaling",
            NC,
            "--scaling --windows 4 --reps 2 --rounds 1 --format json",
            Json("/tables/0/name"),
        ),
    ];
    check("bench", rows, b"");
}
