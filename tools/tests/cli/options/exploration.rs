//! Options of `explore`.

use super::*;

/// A block of a recorded program.
macro_rules! traced {
    ($more:literal) => {
        concat!(
            "--schedules 50 --trace ../tests/data/traces/recorder/lammps-4.dumpi.tar.xz ",
            $more
        )
    };
}

#[test]
fn every_option_of_explore() {
    const TRACE: &str = traced!("");
    let rows: &[Row] = &[
        ("--schedules", "--example x5 --schedules 50", "--example x5 --schedules 51", Results),
        (
            "--seed",
            "--example x5 --schedules 300",
            "--example x5 --schedules 300 --seed 12345",
            Results,
        ),
        ("--format", "--schedules 50", "--schedules 50 --format json", Form),
        ("--story", "--example x5 --story 3", "--example x5 --story 4", Results),
        ("--handlers", "--example x5 --story 3", "--example x5 --story 3 --handlers 1", Results),
        ("--bins", "--schedules 300", "--schedules 300 --bins 1", Results),
        (
            "--fast-path",
            "--example x1 --story 3",
            "--example x1 --story 3 --fast-path off",
            Results,
        ),
        (
            "--early-check",
            "--example x1 --story 3",
            "--example x1 --story 3 --early-check",
            Results,
        ),
        (
            "--eager-removal",
            "--example x1 --story 3",
            "--example x1 --story 3 --eager-removal",
            Results,
        ),
        ("--fault", "--example x5", "--example x5 --fault forcing-ignored", Exit(3)),
        ("--example", "--schedules 50", "--schedules 50 --example x2", Results),
        ("--turns", "--example x5 --story 3", "--example x5 --turns 0x9", Results),
        ("--exhaustive", "--example x5", "--example x5 --exhaustive --bound 0", Results),
        (
            "--bound",
            "--example x5 --exhaustive --bound 0",
            "--example x5 --exhaustive --bound 1",
            Results,
        ),
        ("--html", "--example x5 --story 3", "--example x5 --story 3 --html /dev/null/x", Exit(2)),
        ("--test", "--example x5 --story 3", "--example x5 --story 3 --test", Results),
        ("--trace", "--schedules 50", TRACE, Results),
        ("--rank", TRACE, traced!("--rank 1"), Results),
        ("--block", TRACE, traced!("--block 0"), Results),
        ("--order", TRACE, traced!("--order arrivals-first"), Results),
        // Without it the command refuses the broken file; a row needs a first run that succeeds.
        (
            "--salvage",
            TRACE,
            "--schedules 50 --salvage --trace ../tests/data/traces/truncated/hpcg-0001.bin.xz",
            Results,
        ),
    ];
    let stream = "post,0,0,*,7\npost,1,0,3,8\npost,2,0,3,9\npost,3,0,3,7\npost,4,0,3,6\n\
                  arrive,0,0,3,7\narrive,1,0,3,8\narrive,2,0,3,9\narrive,3,0,3,7\narrive,4,0,3,6\n";
    check("explore", rows, stream.as_bytes());
}
