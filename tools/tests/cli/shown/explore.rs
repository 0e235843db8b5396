//! What `explore` shows.

use super::*;

#[test]
fn every_worked_example_gives_the_oracles_result() {
    for line in [
        "explore --example x1 --fast-path off --schedules 300",
        "explore --example x1 --fast-path literal --schedules 300",
        "explore --example x1 --fast-path prefix --schedules 300",
        "explore --example x1 --fast-path sequence --schedules 300",
        "explore --example x2 --fast-path off --schedules 300",
        "explore --example x2 --fast-path literal --schedules 300",
        "explore --example x2 --fast-path prefix --schedules 300",
        "explore --example x2 --fast-path sequence --schedules 300",
        "explore --example x3 --fast-path off --schedules 300",
        "explore --example x3 --fast-path literal --schedules 300",
        "explore --example x3 --fast-path prefix --schedules 300",
        "explore --example x3 --fast-path sequence --schedules 300",
        "explore --example x4 --fast-path off --schedules 300",
        "explore --example x4 --fast-path literal --schedules 300",
        "explore --example x4 --fast-path prefix --schedules 300",
        "explore --example x4 --fast-path sequence --schedules 300",
        "explore --example x5 --fast-path off --schedules 300",
        "explore --example x5 --fast-path literal --schedules 300",
        "explore --example x5 --fast-path prefix --schedules 300",
        "explore --example x5 --fast-path sequence --schedules 300",
    ] {
        shown(line).has("300 random schedules gave the oracle's result");
    }
}

#[test]
fn paths_that_only_some_schedules_take_occur_among_a_thousand() {
    shown("explore --example x5 --schedules 1000")
        .has("clean slow slow-none")
        .has("clean clean slow-none");
}

#[test]
fn the_figures_of_the_paper_are_examples() {
    shown("explore --example fig2 --handlers 4 --schedules 500")
        .has("clean clean slow-none forced | clean clean");
    shown("explore --example fig4 --schedules 200").has("clean fast fast fast");
}

/// Only messages that can meet wait.
///
/// With the paper's rule a conflict forces the messages behind it.
#[test]
fn only_messages_that_can_meet_wait() {
    shown("explore --example x6 --schedules 1000 --domains paper")
        .has("% clean slow forced forced");
    // With domains the second message takes the next receive of its run without waiting for the
    // first.
    shown("explore --example x6 --schedules 1000 --domains keyed")
        .has("1000 100.0 % clean fast clean clean");
}

#[test]
fn streams_with_cancels_and_several_blocks_agree() {
    shown("explore --handlers 2 --schedules 300 --removal eager @explored")
        .has("300 random schedules gave the oracle's result");
    // The most frequent paths come first, and the others are counted.
    shown("explore --handlers 2 --schedules 300 @five-blocks")
        .has_lines(&[
            "paths, handler by handler; blocks are separated by |",
            "27 9.0 % clean fast | clean fast | clean fast | clean fast | clean fast",
        ])
        .has_lines("and 12 more combinations")
        .lines(24);
}

/// A missing rule is noticed.
///
/// Without it some schedule of some worked example goes wrong, in seconds.
#[test]
fn a_missing_rule_is_noticed() {
    for line in [
        "explore --example x5 --fault forcing-ignored --schedules 20000",
        "explore --example x1 --fault barrier-missing --schedules 20000",
        "explore --example x4 --fault slow-previous-only --schedules 20000",
        "explore --example x4 --fault fast-ignores-sequence --schedules 20000",
        "explore --example x3 --fault unexpected-reversed --schedules 20000",
    ] {
        shown_with(line, 3, &["dpamatch:"]).has("broke the rules; the shortest, turns");
    }
}

#[test]
fn every_schedule_is_counted() {
    shown("explore --example x5 --handlers 3 --bound 1")
        .has_lines("2 with at most 0 preemptions: all there are")
        .has("with at most 1 preemption: all there are");
    shown("explore --example x5 --handlers 3 --bound 1 --schedules 5").has("more were left out");
}

#[test]
fn a_block_of_a_recorded_rank_is_explored() {
    shown(
        "explore --trace $minife-16/minife-16.dumpi.tar.xz --rank 3 --handlers 8 --schedules 50 \
        --html @traced.html",
    )
    .file("@traced.html")
    .has("of rank 3 of minife-16")
    .count(1, r#""kind":"block""#);
}

#[test]
fn the_schedule_of_a_seed_step_by_step() {
    shown("explore --example x1 --story 7").whole(30, "fe7a662d674fe031");
    shown("explore --example x2 --story 3 --fast-path prefix").whole(33, "3685d11b1a7bbf26");
    shown("explore --example x3 --story 5 --fast-path literal").whole(31, "59cafad60a1c4115");
    shown("explore --example x4 --story 2 --early-check").whole(30, "a81c978b64dc1a1a");
    shown("explore --example x6 --story 4 --domains keyed").whole(24, "8d637a299a1768cd");
    shown("explore --example fig2 --story 9 --removal eager --bins 1")
        .whole(45, "5efc1ee57dc39620");
    shown("explore --example fig4 --story 1 --handlers 3 --fast-path off")
        .whole(33, "525bd58dd0fea89c");
    shown("explore --handlers 3 --story 8 --bins 2 @explored").whole(38, "2de7c16504785d1d");
    shown("explore --trace $minife-16/minife-16.dumpi.tar.xz --rank 3 --handlers 4 --story 2")
        .whole(30, "3aabf9682ff28fa8");
    shown(
        "explore --trace $minife-16/minife-16.dumpi.tar.xz --handlers 4 --story 2 --block 7 \
        --order posts-first",
    )
    .whole(28, "4bbb77b0dc1ebebe");
    shown(
        "explore --trace $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --rank 2 --story 6 --order \
        arrivals-first",
    )
    .whole(20, "decb1d6192446008");
}

#[test]
fn turns_and_the_schedule_as_a_test() {
    shown_with(
        "explore --example x5 --story 1x12,0x3",
        2,
        &["dpamatch: --story: `1x12,0x3` is no turn; a turn is WORKERxTIMES, such as 1x12"],
    )
    .whole(0, "cbf29ce484222325");
    shown("explore --example x5 --story 1x40").is(&[
        "turns 1x40:",
        "1 receives 0 and 1 are posted",
        "2 block: messages 0 to 2",
        "3 handler 0 searches and finds receive 0",
        "4 handler 0 books receive 0",
        "5 handler 0 is at the barrier",
        "6 handler 0 passes the barrier: no conflict up to here",
        "7 handler 0 is clean and takes receive 0",
        "8 handler 0 takes receive 0 out of its chain",
        "9 handler 1 searches and finds receive 1",
        "10 handler 1 books receive 1",
        "11 handler 1 is at the barrier",
        "12 handler 1 passes the barrier: no conflict up to here",
        "13 handler 1 is clean and takes receive 1",
        "14 handler 1 takes receive 1 out of its chain",
        "15 handler 2 searches and finds nothing",
        "16 handler 2 is at the barrier",
        "17 handler 2 passes the barrier: no conflict up to here",
        "18 handler 2 has no receive: message 2 is unexpected",
        "19 message 2 is stored as unexpected",
        "the schedule gave the oracle's result",
    ]);
    shown("explore --example x5 --story 2x50 --handlers 3 --test").whole(51, "b644d2fd3ea59fdb");
    shown("explore --example x5 --story 0x12 --fault barrier-missing --test")
        .whole(55, "8fef6fbb156ab8a4");
    shown("explore --fault list").whole(66, "e575c61f08d24ca6");
}

#[test]
fn what_cannot_be_explored() {
    shown_with("explore --example x1 --fault forcing-ignore", 2, &["dpamatch: no rule forcing-ignore; did you mean forcing-ignored?; --fault list names them"])
        .whole(0, "cbf29ce484222325");
    shown_with(
        "explore --example x1 --handlers 5 --bound 2",
        2,
        &["dpamatch: --bound goes with 2 to 4 handlers"],
    )
    .whole(0, "cbf29ce484222325");
    shown_with(
        "explore --trace $minife-16/minife-16.dumpi.tar.xz --rank 16",
        2,
        &["dpamatch: ../tests/data/traces/minife-16/minife-16.dumpi.tar.xz: no trace of this rank"],
    )
    .whole(0, "cbf29ce484222325");
    shown_with(
        "explore --trace $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --rank 2 --block 999",
        2,
        &["dpamatch: --block 999: the last block is 4"],
    )
    .whole(0, "cbf29ce484222325");
    shown_with(
        "explore --trace $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --rank 2 --block 16 --story 1",
        2,
        &["dpamatch: --block 16: the last block is 4"],
    )
    .whole(0, "cbf29ce484222325");
    shown_with(
        "explore @probing",
        2,
        &["probing:2: probe,4,0,3,8: probes cannot be explored, only posts, arrivals and cancels"],
    )
    .whole(0, "cbf29ce484222325");
}

#[test]
fn counts_of_many_schedules_and_the_shortest_that_breaks_a_rule() {
    shown("explore --example x1 --schedules 90 --seed 4").part(
        "paths, handler by handler; blocks are separated by |",
        5,
        "2e938100ec48d12b",
    );
    shown("explore --handlers 2 --schedules 70 --seed 9 @explored").part(
        "paths, handler by handler; blocks are separated by |",
        4,
        "a9f92ff5b80b3d7c",
    );
    shown_with(
        "explore --example x5 --schedules 500 --fault forcing-ignored",
        3,
        &["dpamatch: a schedule gave another result than the oracle"],
    )
    .part(
        "paths, handler by handler; blocks are separated by |",
        27,
        "39d13a05a333d17c",
    );
    shown_with(
        "explore --example x3 --schedules 500 --fault unexpected-reversed --test",
        3,
        &["dpamatch: a schedule gave another result than the oracle"],
    )
    .part(
        "paths, handler by handler; blocks are separated by |",
        63,
        "3926f3320e2a98fe",
    );
    shown("explore --example x6 --handlers 2 --bound 1").part(
        "1 with at most 0 preemptions: all there are",
        6,
        "635b66ce483b82e8",
    );
}

#[test]
fn a_broken_rule_and_the_same_turns() {
    shown_with(
        "explore --example x3 --fault unexpected-reversed --story 0x1",
        3,
        &["dpamatch: a schedule gave another result than the oracle"],
    )
    .whole(29, "9dcbac1bf1c3c684");
    shown("explore --example x3 --story 0x1").whole(25, "2740739584cba8e8");
    shown_with("explore --example x5 --schedules 500 --fault forcing-ignored --html @x5.html", 3, &["dpamatch: a schedule gave another result than the oracle"])
        .part("paths, handler by handler; blocks are separated by |", 27, "39d13a05a333d17c")
        .file("@x5.html")
        .has(r#""title":"A block, step by step: example x5""#)
        .has(r##""stories":[{"title":"Without the rule: forcing-ignored. Only a handler with its own conflict resolves (O14).","verdict":"an assertion of the handlers failed: receive 1 was consumed twice","broken":true,"turns":"0x12 1x1","test":"#[test]\nfn forcing_ignored_is_noticed() {\n use dpamatch_explore::*;\n assert!(break_rule(\"forcing-ignored\"));\n let setup = Setup {\n operations: vec![\n post(0, 0, 0, 7),\n post(1, 0, None, 7),\n arrive(0, 0, 0, 7),\n arrive(1, 0, 0, 7),\n arrive(2, 0, 1, 7),\n ],\n handlers: 4,\n bins: 4,\n fast_path: FastPath::Sequence,\n early_check: false,\n removal: Removal::Lazy,\n domains: Domains::Paper,\n barrier: Barrier::Lanes,\n };\n let expected = Ending {\n matches: vec![(0, 0), (1, 1)],\n posted: vec![],\n unexpected: vec![2],\n };\n let turns = \"0x12 1x1\";\n let run = replay(&setup, &turns.parse().expect(\"a schedule\"));\n assert_ne!(run.result, Ok(expected), \"{}\", tell(&run.story(&setup)));\n}\n","receives":[{"name":0,"accepts":"source 0, tag 7","index":"exact"},{"name":1,"accepts":"any source, tag 7","index":"any source"}],"messages":[{"name":0,"carries":"source 0, tag 7"},{"name":1,"carries":"source 0, tag 7"},{"name":2,"carries":"source 1, tag 7"}],"handlers":3,"moments":[{"kind":"boundary","handler":null,"text":"receives 0 and 1 are posted","at":null},{"kind":"block","handler":null,"text":"block: messages 0 to 2","at":null},{"kind":"search","handler":1,"text":"handler 1 searches and finds receive 0","at":null},{"kind":"book","handler":1,"text":"handler 1 books receive 0","at":null},{"kind":"arrive","handler":1,"text":"handler 1 is at the barrier","at":null},{"kind":"search","handler":2,"text":"handler 2 searches and finds receive 1","at":null},{"kind":"book","handler":2,"text":"handler 2 books receive 1","at":null},{"kind":"arrive","handler":2,"text":"handler 2 is at the barrier","at":null},{"kind":"search","handler":0,"text":"handler 0 searches and finds receive 0","at":null},{"kind":"book","handler":0,"text":"handler 0 books receive 0","at":null},{"kind":"arrive","handler":0,"text":"handler 0 is at the barrier","at":null},{"kind":"pass","handler":0,"text":"handler 0 passes the barrier: no conflict up to here","at":null},{"kind":"take","handler":0,"text":"handler 0 is clean and takes receive 0","at":null},{"kind":"unlink","handler":0,"text":"handler 0 takes receive 0 out of its chain","at":null},{"kind":"pass","handler":1,"text":"handler 1 passes the barrier: a lower handler booked the same receive as handler 1","at":null},{"kind":"left-out","handler":1,"text":"handler 1: here the rule is left out","at":null},{"kind":"wait","handler":1,"text":"handler 1 takes the slow path and waits for all lower handlers","at":null},{"kind":"search","handler":1,"text":"handler 1 lost its choice, searches again and finds receive 1","at":null},{"kind":"take","handler":1,"text":"handler 1 takes receive 1","at":null},{"kind":"unlink","handler":1,"text":"handler 1 takes receive 1 out of its chain","at":null},{"kind":"pass","handler":2,"text":"handler 2 passes the barrier: forced, because handler 1 is in conflict","at":null},{"kind":"left-out","handler":2,"text":"handler 2: here the rule is left out","at":null},{"kind":"take","handler":2,"text":"handler 2 is clean and takes receive 1","at":null}],"scenes":[{"lanes":[],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"searching","walked":[],"candidate":null,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"searching","walked":[0,1],"candidate":null,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"idle","walked":[],"candidate":null,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"searching","walked":[],"candidate":null,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"booked","walked":[0,1],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"idle","walked":[],"candidate":null,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"searching","walked":[],"candidate":null,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"booked","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"idle","walked":[],"candidate":null,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"searching","walked":[],"candidate":null,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"searching","walked":[1],"candidate":null,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"searching","walked":[],"candidate":null,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"booked","walked":[1],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"searching","walked":[],"candidate":null,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"booked","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"searching","walked":[0,1],"candidate":null,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"booked","walked":[0,1],"candidate":0,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"booked","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[0,1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[0,1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"past","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[0,1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":0,"booked_by":[0,1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"past","walked":[],"candidate":0,"conflict":1,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"past","walked":[0],"candidate":0,"conflict":1,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"waiting","walked":[1],"candidate":0,"conflict":1,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"past","walked":[1],"candidate":0,"conflict":1,"took":null,"way":"slow"},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":1,"took":1,"way":"slow"},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":1,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":1,"took":1,"way":"slow"},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":1,"took":1,"way":"slow"},{"message":2,"domain":0,"phase":"past","walked":[],"candidate":1,"conflict":1,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":1,"took":1,"way":"slow"},{"message":2,"domain":0,"phase":"past","walked":[],"candidate":1,"conflict":1,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":1,"took":1,"way":"slow"},{"message":2,"domain":0,"phase":"done","walked":[],"candidate":1,"conflict":1,"took":1,"way":"clean"}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[]}],"unexpected":[]}]},{"title":"The same turns with the rule","verdict":"This is the oracle's result.","broken":false,"turns":"0x12 1x1","test":"","receives":[{"name":0,"accepts":"source 0, tag 7","index":"exact"},{"name":1,"accepts":"any source, tag 7","index":"any source"}],"messages":[{"name":0,"carries":"source 0, tag 7"},{"name":1,"carries":"source 0, tag 7"},{"name":2,"carries":"source 1, tag 7"}],"handlers":3,"moments":[{"kind":"boundary","handler":null,"text":"receives 0 and 1 are posted","at":null},{"kind":"block","handler":null,"text":"block: messages 0 to 2","at":null},{"kind":"search","handler":1,"text":"handler 1 searches and finds receive 0","at":null},{"kind":"book","handler":1,"text":"handler 1 books receive 0","at":null},{"kind":"arrive","handler":1,"text":"handler 1 is at the barrier","at":null},{"kind":"search","handler":2,"text":"handler 2 searches and finds receive 1","at":null},{"kind":"book","handler":2,"text":"handler 2 books receive 1","at":null},{"kind":"arrive","handler":2,"text":"handler 2 is at the barrier","at":null},{"kind":"search","handler":0,"text":"handler 0 searches and finds receive 0","at":null},{"kind":"book","handler":0,"text":"handler 0 books receive 0","at":null},{"kind":"arrive","handler":0,"text":"handler 0 is at the barrier","at":null},{"kind":"pass","handler":0,"text":"handler 0 passes the barrier: no conflict up to here","at":null},{"kind":"take","handler":0,"text":"handler 0 is clean and takes receive 0","at":null},{"kind":"unlink","handler":0,"text":"handler 0 takes receive 0 out of its chain","at":null},{"kind":"pass","handler":1,"text":"handler 1 passes the barrier: a lower handler booked the same receive as handler 1","at":null},{"kind":"wait","handler":1,"text":"handler 1 takes the slow path and waits for all lower handlers","at":null},{"kind":"search","handler":1,"text":"handler 1 lost its choice, searches again and finds receive 1","at":null},{"kind":"take","handler":1,"text":"handler 1 takes receive 1","at":null},{"kind":"unlink","handler":1,"text":"handler 1 takes receive 1 out of its chain","at":null},{"kind":"pass","handler":2,"text":"handler 2 passes the barrier: forced, because handler 1 is in conflict","at":null},{"kind":"wait","handler":2,"text":"handler 2 takes the slow path and waits for all lower handlers","at":null},{"kind":"search","handler":2,"text":"handler 2 lost its choice, searches again and finds nothing","at":null},{"kind":"take","handler":2,"text":"handler 2 has no receive: message 2 is unexpected","at":null},{"kind":"boundary","handler":null,"text":"message 2 is stored as unexpected","at":null}],"scenes":[{"lanes":[],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"searching","walked":[],"candidate":null,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"searching","walked":[0,1],"candidate":null,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"idle","walked":[],"candidate":null,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"searching","walked":[],"candidate":null,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"booked","walked":[0,1],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"idle","walked":[],"candidate":null,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"searching","walked":[],"candidate":null,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"booked","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"idle","walked":[],"candidate":null,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"searching","walked":[],"candidate":null,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"searching","walked":[1],"candidate":null,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"searching","walked":[],"candidate":null,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"booked","walked":[1],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"searching","walked":[],"candidate":null,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"booked","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"searching","walked":[0,1],"candidate":null,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"booked","walked":[0,1],"candidate":0,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"booked","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[0,1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[0,1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"past","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":null,"booked_by":[0,1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[{"receive":0,"taken_by":0,"booked_by":[0,1]}]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"at-barrier","walked":[],"candidate":0,"conflict":null,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"past","walked":[0],"candidate":0,"conflict":1,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"waiting","walked":[1],"candidate":0,"conflict":1,"took":null,"way":null},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"past","walked":[1],"candidate":0,"conflict":1,"took":null,"way":"slow"},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":null,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":1,"took":1,"way":"slow"},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[{"receive":1,"taken_by":1,"booked_by":[2]}]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":1,"took":1,"way":"slow"},{"message":2,"domain":0,"phase":"at-barrier","walked":[],"candidate":1,"conflict":null,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":1,"took":1,"way":"slow"},{"message":2,"domain":0,"phase":"past","walked":[],"candidate":1,"conflict":1,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":1,"took":1,"way":"slow"},{"message":2,"domain":0,"phase":"waiting","walked":[],"candidate":1,"conflict":1,"took":null,"way":null}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":1,"took":1,"way":"slow"},{"message":2,"domain":0,"phase":"past","walked":[],"candidate":1,"conflict":1,"took":null,"way":"slow"}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":1,"took":1,"way":"slow"},{"message":2,"domain":0,"phase":"done","walked":[],"candidate":1,"conflict":1,"took":null,"way":"unexpected"}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[]}],"unexpected":[]},{"lanes":[{"message":0,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":null,"took":0,"way":"clean"},{"message":1,"domain":0,"phase":"done","walked":[],"candidate":0,"conflict":1,"took":1,"way":"slow"},{"message":2,"domain":0,"phase":"done","walked":[],"candidate":1,"conflict":1,"took":null,"way":"unexpected"}],"bins":[{"bin":0,"index":"exact","links":[]},{"bin":4,"index":"any source","links":[]}],"unexpected":[2]}]}]}</script>"##);
}

#[test]
fn the_report_for_programs() {
    shown("explore --example x5 --schedules 1000 --format json")
        .json("/schedules", "1000")
        .json("/violations", "0")
        .json("/violation", "null")
        .json("/cut_short", "false")
        .json("/schedules_by_preemptions", "[]")
        .json("/paths", r#"[{"path":"clean clean none","schedules":3},{"path":"clean clean slow-none","schedules":195},{"path":"clean slow slow-none","schedules":802}]"#);
    shown("explore --example x5 --handlers 3 --bound 1 --schedules 5 --format json")
        .json("/cut_short", "true")
        .json("/schedules_by_preemptions", "[2,3]");
    shown_with(
        "explore --example x3 --schedules 300 --format json --fault unexpected-reversed",
        3,
        &["dpamatch: a schedule gave another result than the oracle"],
    )
    .json("/violations", "1")
    .json("/violation/seed", "1")
    .json(
        "/violation/what",
        r#""unexpected messages are [3, 2], must be [2, 3]""#,
    );
}
