//! What `run` shows.

use super::*;

/// A run is reported.
///
/// The program stands for an MPI program: it writes what two ranks of one wrote. The messages of
/// the ranks are those of the kinds, of the communicators and of the moments.
#[test]
fn a_run_is_reported() {
    shown("run --provider tests/run --format csv -- tests/run/program.sh")
        .whole(38, "13e8cd5a693b3ed9");
}

/// Statistics and logs are one document.
///
/// The NICs and the logs count equal numbers of messages.
#[test]
fn statistics_and_logs_are_one_document() {
    shown("run --provider tests/run --log --format csv --save @run-saved -- tests/run/program.sh")
        .has("ranks,0,59,")
        .has("logs_applications,")
        .file("@run-saved")
        .json("/traces/0/processes", "2")
        .json("/traces/0/order/name", r#""recorded""#)
        .json("/traces/0/application/agreement/same", "113")
        .json("/traces/0/application/agreement/other", "0")
        .json("/traces/0/application/agreement/missing", "0")
        .json("/ranks/0/messages", "59")
        .json("/ranks/1/messages", "54")
        .json("/logs_applications/0/messages", "113");
}

/// The files of a run replace those of an earlier one.
///
/// What the NICs counted stands beside the model's numbers; logs know no calls and no hints.
#[test]
fn the_files_of_a_run_replace_those_of_an_earlier_one() {
    shown_with(
        "run --provider tests/run --out @run-out -- tests/run/program.sh rubbish",
        2,
        &["rank-0-1.json: missing field"],
    );
    shown("run --provider tests/run --log --out @run-out -- tests/run/program.sh")
        .has("order: recorded (order logs)")
        .has("480 user")
        .file("@run-out/measured_ranks.csv")
        .has("0,59,21156,")
        .file("@run-out/report.html")
        .has("Measured by the run")
        .has("Modelled from the order logs")
        .lacks("Calls by class")
        .lacks("calls:")
        .lacks("mpi_assert_")
        .lacks("Call sites");
}

/// Other commands read the logs.
///
/// The results are those that the NICs logged.
#[test]
fn other_commands_read_the_logs() {
    shown("match --engine oracle tests/run/logs/rank-0-1e7e75b9.0.events")
        .whole(88, "518e3e448193682c");
    shown("match --engine oracle tests/run/logs/rank-1-68bfde11.0.events")
        .whole(93, "b5518541edec4f74");
    shown("analyze tests/run/logs --check --engine all").has("checked: all pairs obey MPI's rules");
    shown("offload tests/run/logs --per rank --format csv").lines(4);
    for line in [
        "predict --trace tests/run/logs --times fast --handlers 2",
        "predict --trace tests/run/logs --times recorded --handlers 2",
    ] {
        shown(line).has("rank 0 of logs");
    }
}

#[test]
fn what_is_wrong_is_said() {
    shown_with(
        "run --provider tests/run -- tests/run/program.sh fail",
        3,
        &["exit status: 3"],
    );
    shown_with(
        "run --provider tests/run -- tests/run/program.sh open",
        0,
        &[
            "1 of 2 endpoints did not reach MPI_Finalize; their statistics lack the last second or more",
        ],
    );
    shown_with(
        "run --provider tests/run -- tests/run/program.sh begun",
        0,
        &["1 of 2 endpoints did not reach MPI_Finalize; they have no statistics"],
    )
    .has("1 endpoint, matched by optimistic; library: mpich");
    shown_with("run --provider tests/run -- tests/run/program.sh begun open", 0, &["none of 2 endpoints reached MPI_Finalize; 1 have no statistics, and those of 1 lack the last second or more"])
        .has("1 endpoint, matched by optimistic; library: mpich");
    shown_with(
        "run --provider tests/run -- tests/run/program.sh begun alone",
        1,
        &["none of 1 endpoint reached MPI_Finalize; they have no statistics"],
    );
    shown_with(
        "run --provider tests/run -- tests/run/program.sh full",
        1,
        &["could not be written: is the disk full?"],
    );
    shown_with(
        "run --provider tests/run -- tests/run/program.sh early",
        7,
        &["no process reached MPI_Init"],
    );
    shown_with(
        "run --provider tests/run -- tests/run/program.sh silent",
        1,
        &["no process used the emulated NIC"],
    );
    shown_with(
        "run --provider tests/run -- tests/run/program.sh killed",
        137,
        &["signal: 9"],
    );
    shown_with(
        "run --provider tests/run -- tests/run/program.sh rubbish",
        2,
        &["rank-0-1.json: missing field"],
    );
}
