//! What `diff` shows.

use super::*;

#[test]
fn what_moved_is_shown_with_its_interval_and_an_exit_code() {
    shown_with(
        "diff @diff-before @diff-worse --wide",
        1,
        &["dpamatch: worse by more than 5 %: 1 of 2 figures"],
    )
    .whole(4, "13c7f24c47006c00");
    shown("diff @diff-before @diff-worse --wide --threshold 60").whole(4, "13c7f24c47006c00");
    shown("diff @diff-before @diff-better").is(&[
        "2 figures compared: 1 better, 1 no change.",
        "verdict figure after change % from % to % of",
        "better rate_msgs_per_s 64,000,000 100.0 82.35 119.4 rates: near, optimistic, handlers 32,",
        "NC, window 100, size bytes 8",
        "with --wide also: before",
        "1 of 2 figures with intervals moved; by chance alone about 0.1 would",
    ]);
    shown("diff @diff-before @diff-before").is("No change: 2 figures compared.");
    shown("diff @diff-before @diff-few").is(&[
        "2 figures compared: 1 unclear, 1 no change.",
        "unclear: too few rounds, see bench --rounds",
    ]);
    // Programs get all figures.
    shown_with("diff @diff-before @diff-worse --format csv", 1, &["dpamatch: worse by more than 5 %: 1 of 2 figures"])
        .is(&["table,row,figure,before,after,change_percent,from_percent,to_percent,verdict", r#"rates,"near, optimistic, handlers 32, NC, window 100, size bytes 8",rate_msgs_per_s,32000000,16000000,-50,-54.41176470588236,-45.16129032258065,worse"#, r#"rates,"near, bins, handlers 32, NC, window 100, size bytes 8",rate_msgs_per_s,5.2,5.2,0,-5.55555555555557,5.882352941176494,no change"#]);
    shown_with("diff @diff-before @diff-worse --format json", 1, &["worse by more than 5 %: 1 of 2 figures"])
        .json("/changes/0", r#"{"after": 16000000, "before": 32000000, "change_percent": -50.0, "figure": "rate_msgs_per_s", "from_percent": -54.41176470588236, "row": "near, optimistic, handlers 32, NC, window 100, size bytes 8", "table": "rates", "to_percent": -45.16129032258065, "verdict": "worse"}"#)
        .json("/changes/1", r#"{"after": 5.2, "before": 5.2, "change_percent": 0.0, "figure": "rate_msgs_per_s", "from_percent": -5.55555555555557, "row": "near, bins, handlers 32, NC, window 100, size bytes 8", "table": "rates", "to_percent": 5.882352941176494, "verdict": "no change"}"#)
        .json("/worse_beyond_threshold", "1")
        .json("/verdicts", r#"{"better": 0, "changed": 0, "no_change": 1, "unclear": 0, "worse": 1}"#);
}

/// Rows of other placements are compared, and no threshold holds for them.
#[test]
fn rows_of_other_placements_are_compared_and_no_threshold_holds() {
    shown_with(
        "diff @diff-before @diff-far --wide",
        2,
        &["dpamatch: nothing could be compared: each figure is unclear or of two placements"],
    )
    .whole(5, "42646e7850b152fb");
    // A row of the same placement counts.
    shown("diff @diff-before @diff-both --wide")
        .is(&["No change: 2 figures compared.", "1 row measured near, then far-slowed: the change may come from the placement, so the threshold does not hold for it", "not compared: 0 rows only before, 1 only after; 1 of them for another placement"]);
    shown("diff @diff-both @diff-before --format json")
        .json("/rows_only_before", "1")
        .json("/rows_only_after", "0")
        .json("/rows_of_another_placement", "[1, 0]")
        .json(
            "/rows_over_placements",
            r#"[{"before": "far-slowed", "after": "near", "rows": 1}]"#,
        )
        .json("/figures_only_before", "0");
}

#[test]
fn predictions_are_compared_and_the_options_that_differ_are_shown() {
    for line in [
        "predict --handlers 8 --scenario nc,wc-fp --receives 2000 --save @diff-one",
        "predict --handlers 8 --scenario nc,wc-fp --receives 2001 --save @diff-two",
        "predict --handlers 8 --scenario nc,wc-fp --set memory.l2_ns=200 --save @diff-slow",
    ] {
        shown(line);
    }
    shown("diff @diff-one @diff-two")
        .has("No change:")
        .has("receives: 2000, then 2001");
    shown_with("diff @diff-one @diff-slow", 1, &["worse by more than 5 %"])
        .has(r#"set: [], then ["memory.l2_ns=200"]"#);
    shown("diff @diff-slow @diff-one").has("figures compared:");
}

#[test]
fn steps_are_compared_and_times_only_where_both_documents_have_them() {
    for line in [
        "compare search --ranks 16 --pending 2 --engine bins --rounds 4 --save @diff-timed",
        "compare search --ranks 16 --pending 2 --engine bins,simd --rounds 0 --save @diff-counted",
    ] {
        shown(line);
    }
    shown("diff @diff-timed @diff-counted --format json")
        .json("/rows_only_before", "0")
        .json("/verdicts/worse", "0")
        .json("/verdicts/better", "0")
        .json("/verdicts/changed", "0")
        .json("/verdicts/unclear", "0");
    shown("diff @diff-timed @diff-timed --all")
        .has("No change:")
        .has("ns_per_match");
}

#[test]
fn analyses_are_compared() {
    for line in [
        "analyze $edge-4-openmpi/edge-4-openmpi.dumpi.tar.xz --sweep 4 --bins 1,32 --save \
        @diff-causal",
        "analyze $edge-4-openmpi/edge-4-openmpi.dumpi.tar.xz --sweep 4 --bins 1,32 --order \
        posts-first --save @diff-posts",
    ] {
        shown(line);
    }
    shown("diff @diff-causal @diff-causal").is("No change: 90 figures compared.");
    shown_with(
        "diff @diff-causal @diff-posts --wide",
        1,
        &["dpamatch: worse by more than 5 %: 6 of 90 figures"],
    )
    .whole(43, "a2a7517222fd2a2a");
}

/// Two runs of an application stand side by side.
///
/// Two MPI libraries ran the program.
#[test]
fn two_runs_of_an_application_stand_side_by_side() {
    shown(
        "analyze $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --sweep 4 --against \
        $edge-4-openmpi/edge-4-openmpi.dumpi.tar.xz --wide",
    )
    .part(
        "edge-4-mpich and edge-4-openmpi differ in 18 of 102 figures",
        20,
        "04caec78c1ff7ab3",
    )
    .has("offload edge-4-mpich:")
    .has("offload edge-4-openmpi:");
    shown(
        "analyze $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --sweep 4 --against \
        $edge-4-openmpi/edge-4-openmpi.dumpi.tar.xz --format json",
    )
    .json(
        "/applications_compared",
        r#"["edge-4-mpich", "edge-4-openmpi"]"#,
    )
    .json("/rows_only_first", "0")
    .json("/rows_only_second", "0")
    .json("/offload/1/application", r#""edge-4-openmpi""#)
    .json("/offload/1/advice/verdict/answer", r#""no""#);
    shown(
        "analyze $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --sweep 4 --against \
        $edge-4-mpich/edge-4-mpich.dumpi.tar.xz",
    )
    .has("edge-4-mpich (1) and edge-4-mpich (2) do not differ:");
}

/// Rounds give an interval and a verdict.
///
/// The interval of 1.01 holds 1. The fourth is certainly worse, but perhaps by less than 5 %.
#[test]
fn rounds_give_an_interval_and_a_verdict() {
    shown("diff @doc-five @doc-five --format csv")
        .is(&["table,row,figure,before,after,change_percent,from_percent,to_percent,verdict", r#"rates,"NC, window 8",rate_per_s,102,102,0,-2.8846153846153855,2.970297029702973,no change"#]);
    shown("diff @doc-five @doc-five-101 --format csv")
        .is(&["table,row,figure,before,after,change_percent,from_percent,to_percent,verdict", r#"rates,"NC, window 8",rate_per_s,102,103.02,1.0000000000000009,-1.913461538461536,4.0000000000000036,no change"#]);
    shown_with("diff @doc-five-101 @doc-five-050 --format csv", 1, &["dpamatch: worse by more than 5 %: 1 of 1 figure"])
        .is(&["table,row,figure,before,after,change_percent,from_percent,to_percent,verdict", r#"rates,"NC, window 8",rate_per_s,103.02,51,-50.495049504950494,-51.92307692307693,-49.02460543084012,worse"#]);
    shown("diff @doc-five @doc-five-094 --format csv")
        .is(&["table,row,figure,before,after,change_percent,from_percent,to_percent,verdict", r#"rates,"NC, window 8",rate_per_s,102,95.88,-6.000000000000005,-8.71153846153846,-3.2079207920791997,worse"#]);
    shown_with("diff @doc-five @doc-five-050 --format csv", 1, &["dpamatch: worse by more than 5 %: 1 of 1 figure"])
        .is(&["table,row,figure,before,after,change_percent,from_percent,to_percent,verdict", r#"rates,"NC, window 8",rate_per_s,102,51,-50,-51.442307692307686,-48.51485148514851,worse"#]);
}

#[test]
fn too_few_rounds_are_unclear() {
    shown_with(
        "diff @doc-three @doc-three-less --format csv",
        2,
        &["dpamatch: nothing could be compared: each figure is unclear or of two placements"],
    )
    .is(&[
        "table,row,figure,before,after,change_percent,from_percent,to_percent,verdict",
        r#"rates,"NC, window 8",rate_per_s,101,2,-98.01980198019803,,,unclear"#,
    ]);
    shown_with(
        "diff @doc-five @doc-zeros --format csv",
        2,
        &["dpamatch: nothing could be compared: each figure is unclear or of two placements"],
    )
    .is(&[
        "table,row,figure,before,after,change_percent,from_percent,to_percent,verdict",
        r#"rates,"NC, window 8",rate_per_s,102,1,,,,unclear"#,
    ]);
}

/// Counts need no interval.
///
/// The last one grows from nothing.
#[test]
fn counts_need_no_interval() {
    shown("diff @doc-counts @doc-counts --format csv").is(&[
        "table,row,figure,before,after,change_percent,from_percent,to_percent,verdict",
        "rates,NC,steps,100,100,0,,,no change",
        "rates,NC,messages,7,7,0,,,no change",
    ]);
    shown("diff @doc-counts @doc-counts-99 --format csv").is(&[
        "table,row,figure,before,after,change_percent,from_percent,to_percent,verdict",
        "rates,NC,steps,100,99,-1.0000000000000009,,,better",
        "rates,NC,messages,7,8,14.28571428571428,,,changed",
    ]);
    shown("diff @doc-counts @doc-counts-104 --format csv").is(&[
        "table,row,figure,before,after,change_percent,from_percent,to_percent,verdict",
        "rates,NC,steps,100,104,4.0000000000000036,,,worse",
        "rates,NC,messages,7,7,0,,,no change",
    ]);
    shown_with(
        "diff @doc-counts @doc-counts-106 --format csv",
        1,
        &["dpamatch: worse by more than 5 %: 1 of 2 figures"],
    )
    .is(&[
        "table,row,figure,before,after,change_percent,from_percent,to_percent,verdict",
        "rates,NC,steps,100,106,6.000000000000005,,,worse",
        "rates,NC,messages,7,7,0,,,no change",
    ]);
    shown_with(
        "diff @doc-counts-0 @doc-counts-1 --format csv",
        1,
        &["dpamatch: worse by more than 5 %: 1 of 2 figures"],
    )
    .is(&[
        "table,row,figure,before,after,change_percent,from_percent,to_percent,verdict",
        "rates,NC,steps,0,1,,,,worse",
        "rates,NC,messages,7,7,0,,,no change",
    ]);
}

/// Only rows of equal keys meet.
///
/// Equal rows are numbered.
#[test]
fn only_rows_of_equal_keys_meet() {
    shown("diff @doc-rows @doc-rows-other --format csv").is(&[
        "table,row,figure,before,after,change_percent,from_percent,to_percent,verdict",
        r#"rates,"NC, window 1",steps,1,1,0,,,no change"#,
        r#"rates,"NC, window 1",steps,2,2,0,,,no change"#,
    ]);
    shown("diff @doc-rows @doc-rows-other").is(&[
        "No change: 2 figures compared.",
        "not compared: 1 row only before, 2 only after",
    ]);
    shown_with(
        "diff @doc-rows-none @doc-rows-other --format csv",
        2,
        &["dpamatch: there is no row that both have: other scenarios, options or placements"],
    )
    .whole(0, "cbf29ce484222325");
}

#[test]
fn other_documents_are_not_compared() {
    shown_with(
        "diff @doc-five @doc-of-predict --format csv",
        2,
        &["dpamatch: results of `bench` and of `predict` cannot be compared"],
    )
    .whole(0, "cbf29ce484222325");
    shown_with(
        "diff @doc-no-tables @doc-no-tables --format csv",
        2,
        &["dpamatch: results of `bench` have no figures to compare"],
    )
    .whole(0, "cbf29ce484222325");
}

#[test]
fn other_differences_are_named() {
    shown("diff @doc-five @doc-elsewhere").whole(5, "c43c849a09c1c87e");
}
