//! What `offload` shows.

use super::*;

#[test]
fn does_it_pay_as_people_read() {
    shown("offload $recorder/fan-in-4.dumpi.tar.xz --per rank,communicator --wide")
        .whole(30, "fd26370bfd98649b");
    shown("offload $minife-16/minife-16.dumpi.tar.xz $edge-4-mpich/edge-4-mpich.dumpi.tar.xz \
        --handlers 3 --format csv")
        .is(&["trace,part,messages,steps,freed_us,later_us,worst_percent,gain_percent,best_percent,verdict", "minife-16,application,6048,3.3432539682539684,-17.883999999999787,2.700938506283069,-5.303807118288544,-1.542715122449236,3.882576825853297,indifferent", "edge-4-mpich,application,48,1.3541666666666667,-2.2488,4.198814416666667,-0.2012730443467063,-0.12797718097637703,-0.053580386884072406,indifferent"]);
    shown("offload $recorder/fan-in-4.dumpi.tar.xz --hardware --room 9 --engine bins --wide")
        .whole(39, "7ed446e40fe3a20a");
    shown(
        "offload $recorder/lammps-4.dumpi.tar.xz --hardware --per rank,communicator \
        --format csv",
    )
    .whole(7, "c6614705a74f862f");
    shown(
        "offload $minife-16/minife-16.dumpi.tar.xz --receives 4 --threshold 2 --profile generic \
        --collectives linear --per rank",
    )
    .whole(48, "5588e499493562bc");
    shown(
        "offload $recorder/mpi4py-4.dumpi.tar.xz --per communicator --set memory.l2_ns=300 \
        --handlers 1 --receives 2",
    )
    .whole(32, "b5ece757fbb02109");
    shown("offload $lulesh-27/lulesh-27.dumpi.tar.xz --threshold 0.01")
        .whole(32, "1ab3a218a8a10e6d");
    shown("offload --print-host").whole(28, "ef42c91cc655378a");
    shown_with(
        "offload $recorder/fan-in-4.dumpi.tar.xz --handlers 191",
        2,
        &["dpamatch: --handlers 191: the card has 190 execution units"],
    )
    .whole(0, "cbf29ce484222325");
    shown_with(
        "offload",
        2,
        &["error: the following required arguments were not provided:"],
    )
    .whole(0, "cbf29ce484222325");
}

#[test]
fn host_dpa_and_hardware_have_the_same_room() {
    shown("offload $recorder/fan-in-4.dumpi.tar.xz --hardware --wide")
        .has_lines(&["matcher room on_card_% no_room_% changes card_steps host_steps card_us host_us low_us high_us", "host - 0 0 0 0 433.7 0 19917 2217 94355", "dpa 1,024 100.0 0 - - 0 267.3 432.0 162.0 999.0", "hw-list 1,024 100.0 0 0 433.7 0 - 432.0 162.0 999.0", "portals 1,024 100.0 0 0 433.7 0 - 432.0 162.0 999.0", "alpu 1,024 100.0 0 0 1.000 0 - 432.0 162.0 999.0"])
        .has("behind each full card: list (--behind)");
    shown("offload $recorder/fan-in-4.dumpi.tar.xz --hardware --receives 256 --format json")
        .json("/traces/0/report/matchers/1/room", "256")
        .json("/traces/0/report/matchers/1/no_room", "2343")
        .json("/traces/0/report/matchers/2/room", "256")
        .json("/traces/0/report/matchers/2/card_us", "null");
}

/// Each card has its published room, and the same engine stands behind all of them. Another engine
/// there changes the host's steps, and nothing on the cards.
#[test]
fn cards_have_their_own_room_and_one_engine_behind_all() {
    shown("offload $recorder/fan-in-4.dumpi.tar.xz --hardware --room real --behind ucx --wide")
        .has_lines(&[
            "dpa 1,024 100.0 0 - - 0 267.3 432.0 162.0 999.0",
            "hw-list 1,024 100.0 0 0 433.7 0 - 432.0 162.0 999.0",
            "portals 256 9.481 90.52 1 71.98 1.629 - 336.8 122.0 1062",
            "portals-cassini 16,384 100.0 0 0 433.7 0 - 432.0 162.0 999.0",
            "alpu 256 33.07 71.56 0 1.000 1.253 - 362.5 132.7 1056",
        ])
        .has("behind each full card: ucx (--behind)")
        .has("portals 256 (BXI in UCX), portals-cassini 16384 (Cassini: an engine's pool");
    for (behind, dpa, list, portals, alpu) in [
        ("list", "297.3", "224.8", "361.7", "223.1"),
        ("bins", "0.9500", "0.8204", "1.076", "0.7726"),
    ] {
        let line = format!(
            "offload $recorder/fan-in-4.dumpi.tar.xz --hardware --receives 256 --behind {behind}"
        );
        let rows = [
            format!("dpa 256 18.96 86.78 - - {dpa} 404.1"),
            format!("hw-list 256 28.44 71.56 5 208.9 {list} -"),
            format!("portals 256 9.481 90.52 1 71.98 {portals} -"),
            format!("alpu 256 33.07 71.56 0 1.000 {alpu} -"),
        ];
        let shown = shown(&line);
        for row in &rows {
            shown.has(row);
        }
    }
}

#[test]
fn the_order_can_decide_the_verdict() {
    shown("offload $recorder/fan-in-4.dumpi.tar.xz --format json")
        .json(
            "/traces/0/report/application/verdict/answer",
            r#""depends_on_order""#,
        )
        .json(
            "/traces/0/report/application/verdict/reason/name",
            r#""order""#,
        )
        .json("/traces/0/report/orders/0/order", r#""causal""#)
        .json("/traces/0/report/orders/0/answer", r#""yes""#)
        .json("/traces/0/report/orders/1/order", r#""time""#)
        .json("/traces/0/report/orders/1/answer", r#""yes""#)
        .json("/traces/0/report/orders/2/order", r#""posts-first""#)
        .json("/traces/0/report/orders/2/answer", r#""no""#)
        .json("/traces/0/report/orders/2/steps_per_message", "1.0");
    // Order logs have the real order, and no other one.
    shown("offload tests/run/logs")
        .lacks("Over")
        .has("order recorded:");
}

#[test]
fn receives_and_messages_that_fell_back_are_counted_apart() {
    shown("offload $recorder/fan-in-4.dumpi.tar.xz --receives 16 --format json")
        .json(
            "/traces/0/report/application/service/messages_in_software",
            "2684",
        )
        .json(
            "/traces/0/report/application/service/receives_in_software",
            "2684",
        )
        .json("/traces/0/report/application/service/matched", "16");
}

#[test]
fn probes_are_no_matches() {
    shown("offload $recorder/example-mpich.dumpi.tar.xz --hardware --format json")
        .json("/traces/0/report/matchers/2/name", r#""hw-list""#);
}

#[test]
fn nothing_has_no_verdict() {
    shown("offload $recorder/transpose-8.dumpi.tar.xz --wide")
        .has_lines("transpose-8: no verdict. The trace has no messages with receives; --collectives adds the messages inside collectives.")
        .lacks("break-even")
        .lacks("order causal");
    shown("offload $recorder/transpose-8.dumpi.tar.xz --format json")
        .json("/traces/0/report/application/verdict/answer", r#""none""#)
        .json("/traces/0/report/application/gain", "null")
        .json("/traces/0/report/application/break_even", "null")
        .json("/traces/0/report/length/simulated_us", "null");
    shown("offload $recorder/transpose-8.dumpi.tar.xz --collectives mpich")
        .lacks("no verdict")
        .has("length of the run:");
    shown("offload $counted-by-hand/rank-0001.txt --wide")
        .has_lines("rank-0001: no verdict. The trace has only rank 1, and a verdict needs the ranks that wait for each other.")
        .has("not read: 1 of 2 ranks");
}
