//! What `predict` shows.

use super::*;

#[test]
fn a_stream() {
    shown("predict stream --handlers 4 --format json < @calls")
        .json("/stream/0/messages", "3")
        .json("/stream/0/matched", "2")
        .json("/stream/0/unexpected", "1")
        .json("/handlers/3/thread", r#""handler_3""#)
        .json("/handlers/4", "null");
}

/// LULESH's messages differ in source or tag, so with domains no message waits.
#[test]
fn luleshs_messages_differ_in_source_or_tag_so_with_domains_no() {
    shown("predict domains --handlers 8 $lulesh-27/lulesh-27.dumpi.tar.xz --format json")
        .json("/domains/0/ranks", "27")
        .json("/domains/0/messages", "7300")
        .json("/domains/0/first_of_domain_percent", "100.0")
        .json("/domains/0/waits_keyed_ns", "0.0")
        .json("/domains/0/waits_paper_ns", "90.03424657534246")
        .json("/domains/0/rate_keyed_msgs_per_us", "1.082603411785382")
        .json("/domains/0/rate_paper_msgs_per_us", "1.0583112635579073")
        .json("/domains/0/gain_percent", "2.295368958448729")
        .json("/domains/0/least_gain_percent", "1.3252447982678328")
        .json("/domains/0/most_gain_percent", "3.677102736289539");
}

/// A table that is too small is not enlarged, in windows and in streams.
#[test]
fn a_table_that_is_too_small_is_not_enlarged_in_windows() {
    shown("predict --handlers 8 --scenario nc --receives 1024 --windows 128 --format json")
        .json("/rates/0/to_software_percent", "0.0");
    shown("predict --handlers 8 --scenario nc --receives 16 --windows 128 --format json")
        .json("/rates/0/to_software_percent", "87.5");
    shown("predict --handlers 8 --scenario nc --receives 1024 --windows 0 --format json")
        .json("/rates/0/to_software_percent", "0.0");
    shown("predict --handlers 8 --scenario nc --receives 16 --windows 0 --format json")
        .json("/rates/0/to_software_percent", "99.8046875");
}

#[test]
fn a_number_that_moves_nothing_and_one_that_is_none() {
    shown("sensitivity host.remote_read_ns --format csv")
        .is(&["parameter,value,half_nc,wc_sp,all_nine,twice_nc,wc_sp,all_nine,fits_better", "as given,,4.010817077570927,8.063663733943013,5.412200766770088,4.010817077570927,8.063663733943013,5.412200766770088,-", "host.remote_read_ns,2000,4.010817077570927,8.063663733943013,5.412200766770088,4.010817077570927,8.063663733943013,5.412200766770088,-"]);
    shown_with("sensitivity host.reed_ns", 2, &["host.reed_ns"]).lines(0);
}

#[test]
fn calibration_is_judged_by_what_it_was_not_fitted() {
    shown("calibrate < @few-rates").whole(4, "726f45b60dbc2981");
    shown("calibrate < @more-rates").is(&[
        "Free parameters of bluefield3.",
        "parameter value fitted to threads measured predicted",
        "work 1.404 NC 1 0.4000 0.4000",
        "word.handover_ns 180.9 NC 2 0.7500 0.7500",
        "",
        "Held out, in M messages/s; mean absolute error 13.37 %.",
        "series threads measured predicted error %",
        "WC-SP 1 0.4000 0.4064 1.594",
        "NC 4 2.000 1.497 -25.14",
    ]);
    shown_with(
        "calibrate < @wide-rates",
        2,
        &["191 handlers, but the card has 190"],
    )
    .lines(0);
}

#[test]
fn all_points_of_figure_8_and_what_each_may_be_used() {
    shown("accuracy --format csv").whole(55, "414dcb8748dfbaaa");
}

#[test]
fn a_rank_of_a_trace_goes_the_way_of_the_workloads() {
    shown(
        "predict --trace $minife-16/minife-16.dumpi.tar.xz --rank 5 --handlers 1-3,32 --format \
        json",
    )
    .json("/rates/0/handlers", "1")
    .json("/rates/0/workload", r#""rank 5 of minife-16""#)
    .json("/rates/0/rate_msgs_per_us", "0.4738431557554586")
    .json("/rates/1/handlers", "2")
    .json("/rates/1/workload", r#""rank 5 of minife-16""#)
    .json("/rates/1/rate_msgs_per_us", "0.7593323998190659")
    .json("/rates/2/handlers", "3")
    .json("/rates/2/workload", r#""rank 5 of minife-16""#)
    .json("/rates/2/rate_msgs_per_us", "0.9967736465129967")
    .json("/rates/3/handlers", "32")
    .json("/rates/3/workload", r#""rank 5 of minife-16""#)
    .json("/rates/3/rate_msgs_per_us", "1.8470788986947988");
    // The program computes between its messages, and the card keeps up; then all receives are
    // posted first, and then there are few.
    shown("predict handlers --trace $minife-16/minife-16.dumpi.tar.xz --rank 5 --format json")
        .json("/stream/0/messages", "462")
        .json("/stream/0/matched", "462")
        .json("/stream/0/unexpected", "1")
        .json("/stream/0/sent_on_to_software", "0")
        .json("/stream/0/time_us", "306.806936")
        .json("/stream/0/latency_us", "149.16513163852815")
        .json("/limits/3/without", r#""serial hand-over""#);
    shown(
        "predict handlers --trace $minife-16/minife-16.dumpi.tar.xz --rank 5 --times recorded \
        --format json",
    )
    .json("/stream/0/messages", "462")
    .json("/stream/0/matched", "462")
    .json("/stream/0/unexpected", "1")
    .json("/stream/0/sent_on_to_software", "0")
    .json("/stream/0/time_us", "3726.510676")
    .json("/stream/0/latency_us", "2.05730916017316")
    .json("/limits/3/without", r#""bandwidth""#);
    shown(
        "predict handlers --trace $minife-16/minife-16.dumpi.tar.xz --rank 5 --order posts-first \
        --free-posts --format json",
    )
    .json("/stream/0/messages", "462")
    .json("/stream/0/matched", "462")
    .json("/stream/0/unexpected", "0")
    .json("/stream/0/sent_on_to_software", "0")
    .json("/stream/0/time_us", "150.756967")
    .json("/stream/0/latency_us", "61.72787370562771")
    .json("/limits/3/without", r#""slow-path chain""#);
    shown(
        "predict handlers --trace $minife-16/minife-16.dumpi.tar.xz --rank 5 --order posts-first \
        --receives 16 --format json",
    )
    .json("/stream/0/messages", "462")
    .json("/stream/0/matched", "16")
    .json("/stream/0/unexpected", "0")
    .json("/stream/0/sent_on_to_software", "892")
    .json("/stream/0/time_us", "404.837382")
    .json("/stream/0/latency_us", "229.44180757575757")
    .json("/limits/3/without", r#""serial hand-over""#);
}

#[test]
fn every_assumption_is_made_and_the_range_is_that_of_its_rows() {
    shown("what-if --trace $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --handlers 2-3 --format csv")
        .whole(21, "2549f95541ac801b");
}

#[test]
fn a_trace_for_perfetto_is_json() {
    shown(
        "predict handlers --handlers 2 --scenario wc-sp --like prototype --timeline @chrome.json",
    )
    .file("@chrome.json")
    .has(r#"{"displayTimeUnit":"ns","traceEvents":["#)
    .has(r#""tid":1,"name":"slow""#)
    // Any pointer reads it all.
    .json("/results", "null");
}

/// Calibration writes a profile: the rates are others than those that the profiles were fitted
/// to.
#[test]
fn calibration_writes_a_profile_the_rates_are_others_than_those() {
    shown("calibrate --profile bluefield3 --write @bluefield3.toml < @other-rates").has("NC ");
    shown("predict --profile @bluefield3.toml --like prototype --handlers 1,2 --scenario nc \
        --format csv")
        .is(&["workload,handlers,rate_msgs_per_us,us_per_block,fast,slow,to_software_percent,eus_busy_percent,limit,gain_percent", "nc,1,0.3800001368000493,2.6315779999999998,0,0,0,100,EU count,84.2104573891431", "nc,2,0.6999999900787403,2.8571428976377953,0,0,0,96.97105517537122,EU count,99.59253671401723"]);
    shown(
        "calibrate --profile bluefield3-instructions --write @bluefield3-instructions.toml < \
        @other-rates",
    )
    .has("NC ");
    shown("predict --profile @bluefield3-instructions.toml --like prototype --handlers 1,2 \
        --scenario nc --format csv")
        .is(&["workload,handlers,rate_msgs_per_us,us_per_block,fast,slow,to_software_percent,eus_busy_percent,limit,gain_percent", "nc,1,0.38000186960919846,2.6315660000000003,0,0,0,100,EU count,84.21053118941492", "nc,2,0.7000034625368123,2.8571287244094488,0,0,0,96.97107928069103,EU count,98.30824491827104"]);
}

#[test]
fn rates_as_people_read_them() {
    shown("predict --handlers 2,5-6 --scenario nc,wc-fp,wc-sp,mixed:40 --windows 12 --wide")
        .whole(14, "d969e06d6f4405c2");
    shown(
        "predict --handlers 4 --scenario mixed:30 --windows 16 --bytes 5000 --receives 8 --seed 9 \
        --like prototype",
    )
    .whole(4, "adfa852f61a943f6");
    shown("predict --handlers 3 --scenario wc-sp --windows 9 --bytes 300 --eager-limit 100 \
        --early-check --hashes absent --removal eager --domains keyed --bins 2 --format csv")
        .is(&["workload,handlers,rate_msgs_per_us,us_per_block,fast,slow,to_software_percent,eus_busy_percent,limit,gain_percent", "wc-sp,3,0.740288890336565,4.052472,0,6,0,85.981706864107,EU count,47.00598167028605"]);
    shown("predict --handlers 8 --scenario mixed:50 --windows 40 --profile generic --set eus.cores=2 \
        --set eus.per_core=3 --fast-path literal --format csv")
        .is(&["workload,handlers,rate_msgs_per_us,us_per_block,fast,slow,to_software_percent,eus_busy_percent,limit,gain_percent", "mixed:50,8,3.596259558097158,2.2245335384615386,0,22,0,62.56861351415568,serial hand-over,31.186413982699946"]);
    shown("predict --handlers 2 --scenario nc --windows 0 --removal deferred --format csv")
        .is(&["workload,handlers,rate_msgs_per_us,us_per_block,fast,slow,to_software_percent,eus_busy_percent,limit,gain_percent", "nc,2,1.0904680161521805,1.8340748837890626,0,0,0,99.314827477356,EU count,96.36394541295353"]);
    shown("predict --handlers 2,4 --trace $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --rank 1 --wide")
        .whole(4, "1ef5f28dec63ee9e");
}

#[test]
fn a_run_in_detail() {
    shown("predict handlers --handlers 3 --scenario wc-sp --wide").whole(56, "c127e6f4e8a904cd");
    shown(
        "predict handlers --handlers 2 --scenario mixed:50 --domains keyed --format csv --seed 4",
    )
    .whole(44, "6a72f117c5f3204c");
    shown(
        "predict handlers --handlers 2 --trace $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --rank 3 \
        --wide",
    )
    .whole(60, "1b0e00c65316b755");
    shown("predict stream --handlers 2 < @explored").whole(63, "e77955a736fb9a3a");
    shown("predict stream --handlers 3 --receives 1 --free-posts --format csv @calls")
        .whole(47, "dbaa1d1a56f339a3");
}

#[test]
fn what_each_part_contributes() {
    shown("ablation --handlers 4 --conflicts 0,25 --format csv").whole(38, "2cfa3fac11f9d595");
    shown(
        "predict domains $edge-4-mpich/edge-4-mpich.dumpi.tar.xz \
        $edge-4-openmpi/edge-4-openmpi.dumpi.tar.xz --handlers 3 --wide",
    )
    .whole(4, "351235f2f5c1688b");
    shown("what-if --handlers 3 --scenario wc-fp,mixed:20").whole(19, "fb3ce54cbf4ee353");
    shown("accuracy").whole(85, "5e7f2a81ecc97d4a");
    shown("sensitivity memory.l1_ns").whole(7, "bb68ae0cc66679dd");
}

#[test]
fn a_profile_and_the_numbers_put_into() {
    shown(
        "predict profile --profile generic --set eus.usable=12 --set nic.barrier=lanes --set \
        memory.l2_ns=77.5",
    )
    .whole(70, "f32aaac167c6c9ae");
    shown("predict profile --profile generic --set eus.usable=13 --format json")
        .json("/profile/eus/usable", "13")
        .json("/profile/host/doorbell_ns", "10.0");
}

#[test]
fn without_rank_it_is_the_rank_with_the_most_messages() {
    shown("predict --handlers 2 --trace $minife-16/minife-16.dumpi.tar.xz --format csv")
        .is(&["workload,handlers,rate_msgs_per_us,us_per_block,fast,slow,to_software_percent,eus_busy_percent,limit,gain_percent,latency_us,longest_us", "rank 1 of minife-16,2,0.7581570660274657,2.361908573643411,2,0,0,82.23991882980091,EU count,47.73824054675806,294.6457578506494,572.949412"]);
    shown("predict --handlers 2 --trace $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --format csv")
        .is(&["workload,handlers,rate_msgs_per_us,us_per_block,fast,slow,to_software_percent,eus_busy_percent,limit,gain_percent,latency_us,longest_us", "rank 0 of edge-4-mpich,2,0.4949278351910106,3.030744875,0,0,0,67.57857257780564,memory level,52.42359649006452,13.26362175,23.189959"]);
}

#[test]
fn a_messages_length_has_64_bits() {
    shown("predict stream --handlers 1 --format json < @long")
        .json("/stream/0/time_us", "171805.04414");
}
