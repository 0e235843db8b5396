//! What `match` shows.

use super::*;

/// All engines print the same results, from a file and from standard input.
#[test]
fn all_engines_print_the_same_results_from_a_file() {
    for line in [
        "match --engine list < @everything",
        "match --engine bins < @everything",
        "match --engine bins --bins 1 < @everything",
        "match --engine bins --bins=65536 < @everything",
        "match --engine oracle < @everything",
        "match - < @everything",
        "match @everything",
        "match @everything-crlf",
    ] {
        shown(line).is(&[
            "probed,1,none",
            "matched,10,20",
            "probed,2,21",
            "mprobed,3,22",
            "matched,11,21",
            "cancelled,12",
            "too-late,12",
            "posted,13",
            "unexpected,23",
        ]);
    }
}

/// A stream without events prints an empty line, as the reference program does.
#[test]
fn a_stream_without_events_prints_an_empty_line_as_the_reference() {
    shown_with(
        "match < @nothing",
        0,
        &["note: <stdin>: the stream is empty"],
    )
    .lines(1);
    shown_with(
        "match --format jsonl < @nothing",
        0,
        &["note: <stdin>: the stream is empty"],
    )
    .lines(0);
}

#[test]
fn results_as_json() {
    shown("match --format jsonl < @everything").whole(9, "02493df6f11cc593");
    // The document has the same objects, and the counters.
    shown("match --format json --engine list < @everything")
        .json("/outcomes", r#"[{"result":"probed","id":1,"msg":null},{"result":"matched","recv":10,"msg":20},{"result":"probed","id":2,"msg":21},{"result":"mprobed","id":3,"msg":22},{"result":"matched","recv":11,"msg":21},{"result":"cancelled","recv":12},{"result":"too-late","recv":12},{"result":"posted","recv":13},{"result":"unexpected","msg":23}]"#)
        .json("/engine", r#""list""#)
        .json("/complete", "true")
        .json("/counters/prq_attempts", "2");
    // A stream cut off leaves a whole document that says so.
    shown_with("match --format json < @soup", 2, &["soup"]).json("/complete", "false");
}

#[test]
fn counters_go_to_standard_error() {
    shown_with(
        "match --engine list --stats < @everything",
        0,
        &[
            "prq_hits 1",
            "umq_hits 3",
            "cancelled 1",
            "umq_length_max 2",
            "memory_bytes_max",
        ],
    )
    .lines(9);
}

#[test]
fn a_wrong_line_ends_the_stream_and_nothing_is_left_over() {
    shown_with("match < @cut", 2, &["dpamatch: <stdin>:3:"]).lines(0);
    shown_with(
        "match < @third",
        2,
        &["dpamatch: <stdin>:3: cancel needs the field RECV"],
    )
    .lines(0);
}

/// Engines know the size of communicators.
///
/// The threshold of 4d depends on it.
#[test]
fn engines_know_the_size_of_communicators() {
    for line in [
        "match --engine 4d --ranks 64 --stats < @sixty",
        "match --engine 4d --ranks 4096 --stats < @sixty",
    ] {
        shown_with(line, 0, &["conversions 1"]);
    }
    shown_with(
        "match --engine 4d --ranks 4097 --stats < @sixty",
        0,
        &["conversions 0"],
    );
}

#[test]
fn options_of_the_nic_are_known_by_name() {
    shown_with(
        "match --nic handlers=8,bins=64,early-check=off --nic=removal=eager --nic early-check=on \
        --stats < @everything",
        0,
        &["handlers 8", "removal Eager", "early_check true"],
    );
    shown_with(
        "match --nic early-check=off --stats < @everything",
        0,
        &["early_check false"],
    );
}

#[test]
fn a_stream_names_the_command_that_makes_it_again_with_every_number() {
    for line in [
        "gen --pattern halo3d --ranks 512 --rounds 3 --wild 10",
        "gen --pattern halo3d --ranks 512 --rounds 3 --pending 4 --communicators 1 --wild 10 \
        --late 25 --order shuffled --bytes 8 --seed 1",
    ] {
        shown(line)
            .lines(625)
            .has_lines(&["# dpamatch gen --pattern halo3d --ranks 512 --rounds 3 --pending 4 --communicators 1 --wild 10 --late 25 --order shuffled --bytes 8 --seed 1", "arrive,0,0,193,20,bytes=8", "arrive,1,0,192,18,bytes=8"])
            .has_lines(&["arrive,309,0,199,13,bytes=8", "arrive,310,0,265,66,bytes=8", "arrive,311,0,271,59,bytes=8"]);
    }
}

#[test]
fn a_stream_names_its_options() {
    shown("gen --kind hot --events 3")
        .has("# dpamatch gen --seed 1 --events 3 --kind hot")
        .lines(4);
    shown("gen --pattern ring --ranks 4 --communicators 2").has("--communicators 2 --wild 0");
}

#[test]
fn engines_are_listed_one_a_line() {
    shown("engines")
        .has("list two linked lists")
        .has("bins hash bins")
        .has("oracle");
}

#[test]
fn help_has_examples() {
    for line in ["--help", "match --help", "gen --help", "engines --help"] {
        shown(line).has("Examples:").has("dpamatch");
    }
}

#[test]
fn a_wrong_line_is_named_after_the_results_of_the_lines_before() {
    for line in [
        "match --engine list @wrong",
        "match --engine bins @wrong",
        "match --engine oracle @wrong",
    ] {
        shown_with(
            line,
            2,
            &[r#"/wrong:2: unknown event "send" (known: post, arrive, cancel, probe, mprobe)"#],
        )
        .is("too-late,8");
    }
}
