//! What `compare` shows.

use super::*;

#[test]
fn receives_from_any_source_take_the_gain_away() {
    shown("compare any --pending 2 --engine rank-array --rounds 0 --format csv")
        .whole(29, "861c790be07e2ee6");
}

/// Where a formula is exact, so are the steps; where it is an average over hash values, they are
/// near.
#[test]
fn where_a_formula_is_exact_so_are_the_steps_where() {
    shown("compare complexity --engine rank-array,4d,bins,ucx,optimistic-seq --rounds 0 --format \
        csv")
        .part("table,case,engine,compares,formula,ratio,hops,exponent,formula_is,n,matches,prq_attempts,prq_hops,umq_attempts,umq_hops,steps,steps_per_match,prq_depth_max,umq_depth_max,prq_length_max,umq_length_max,conversions,memory_bytes_max,fewer_steps_than_list,ns_per_match,faster_than_list", 31, "e2b9dd0326ce291f");
}

#[test]
fn every_form_without_times() {
    shown("compare depth --engine bins --depths 7 --rounds 0 --format csv")
        .whole(9, "118862437d0a6924");
    shown(
        "compare depth patterns overhead --ranks 64 --engine list,4d,col-pnp,simd --depths 1,100 \
        --rounds 0 --format table",
    )
    .whole(48, "9e6e211f2a1de050");
    shown(
        "compare depth patterns overhead --ranks 64 --engine list,4d,col-pnp,simd --depths 1,100 \
        --rounds 0 --format markdown",
    )
    .whole(59, "bc49041e1f0cf119");
}

/// The parameters k, theta and the threshold of 4D's list are those asked for.
#[test]
fn the_parameters_k_theta_and_the_threshold_of_4ds_list_are_those() {
    shown("compare queues --ranks 64 --k 3,5 --rounds 0 --format csv").whole(7, "d3f37ec9307a51cf");
    shown(
        "compare search --pending 10 --engine 4d --threshold 600 --ranks 64 --rounds 0 --format \
        csv",
    )
    .whole(9, "ab7da7d015b3f014");
    shown(
        "compare search --pending 10 --engine 4d --threshold 700 --ranks 64 --rounds 0 --format \
        csv",
    )
    .whole(9, "522f8a9cfbdc35d7");
    shown("compare patterns --engine ll-pnp --theta 20 --ranks 64 --rounds 0 --format csv")
        .whole(23, "d23dc0b72ccffb78");
    shown("compare patterns --engine ll-pnp --theta 100000 --ranks 64 --rounds 0 --format csv")
        .whole(23, "c5c3c0175061d3fa");
}

#[test]
fn all_experiments_end_with_who_wins_where() {
    shown("compare --all --ranks 16 --pending 2 --depths 4 --k 8 --engine list,bins,4d --rounds 0")
        .has_lines(&[
            "Who wins where: steps per message, or bytes",
            "situation best value list worst its value",
            "long queue, in order list, bins 1.000 1.000 4d 4.000",
            "long queue, many senders, reverse bins 1.246 4096 list 4096",
            "long queue, one sender, reverse bins 1.252 4096 4d 4100",
            "a tenth of receives from any source bins 1.033 15.50 list 15.50",
            "all receives from any source bins 1.000 15.50 4d 15.50",
            "unexpected, reverse, largest job bins 1.067 15.50 list 15.50",
            "behind the deepest entries that stay bins 1.000 5.000 4d 5.000",
            "gather at a root bins 1.000 4.480 4d 4.480",
            "halo exchange bins 1.117 26.36 list 26.36",
            "bytes: one request, a million ranks list 576.0 576.0 bins 2912",
        ]);
}

#[test]
fn a_folder_gets_tables_and_figures() {
    shown("compare depth spans --engine bins --depths 1,16 --rounds 0 --out @compared")
        .whole(29, "729c6f5d38ec901d")
        .file("@compared/report.txt")
        .whole(29, "729c6f5d38ec901d")
        .file("@compared/depth.csv")
        .has("queue,senders,")
        .file("@compared/spans-example.csv")
        .has("rank,")
        .file("@compared/figure-depth.svg")
        .has(">list<")
        .has(">bins<")
        .has(">PRQ, one sender<")
        .has(">UMQ, many senders<")
        .file("@compared/figure-depth.csv")
        .lines(17);
}

#[test]
fn what_is_compared_as_people_read() {
    shown("compare depth --engine list,bins,4d,simd --depths 1,30 --rounds 0")
        .whole(11, "0d6ed180c5dcf1b8");
    shown(
        "compare search --ranks 49 --pending 5 --engine list,4d,rank-array,bins --rounds 0 --wide",
    )
    .whole(7, "436c400e7e6766e9");
    shown("compare any --ranks 36 --pending 3 --k 3 --theta 4 --rounds 0")
        .whole(20, "d772d4c2585b7a1d");
    shown("compare queues --ranks 64 --k 2,6 --rounds 0").whole(14, "f37850043fb20a29");
    shown_with(
        "compare rate --engine nothing",
        2,
        &["error: invalid value 'nothing' for '--engine <NAME,..>'"],
    )
    .whole(0, "cbf29ce484222325");
    shown("compare applications --ranks 27 --rounds 0 --engine list,rank-array,4d,alpu --room 6")
        .whole(73, "a49e28f1e7562585");
    shown("compare complexity --engine list,4d,simd,ll-pnp --rounds 0")
        .whole(26, "c479a007a03f3656");
    shown(
        "compare patterns --engine list,ll-pnp,col-pnp,bins --ranks 36 --theta 9 --rounds 0 \
        --seed 4",
    )
    .whole(27, "aa1f8dc70bdab484");
    shown("compare overhead --ranks 25 --rounds 0 --format csv").whole(5, "640af1a7d8b246ca");
    shown("compare spans --format csv").whole(10, "7eadf61d4a19428f");
}

/// The same engine stands behind every full card: with bins the NIC and the unit take few steps,
/// and the lists on cards stay lists.
#[test]
fn one_engine_stands_behind_all_cards() {
    for (behind, row) in [
        ("list", "PRQ reverse 10 704 1.000 1.370 1.000 1.000 1.369"),
        ("bins", "PRQ reverse 10 704 1.000 2165 3.699 3.699 1630"),
    ] {
        let line = format!(
            "compare search --ranks 704 --pending 10 --rounds 0 --engine \
             optimistic,hw-list,portals,alpu --room 1024 --behind {behind} --wide"
        );
        shown(&line)
            .has_lines(&[row])
            .has(&format!("and behind it {behind}"));
    }
}
