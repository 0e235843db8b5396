//! What `cost` shows.

use super::*;

/// A list in the worst order costs what the paper says.
///
/// T_q(1,000) = 8.4e-3 s; 500,500 steps of 16.8 ns; between nodes, short, 8 bytes: 2.306 us each.
#[test]
fn a_list_in_the_worst_order_costs_what_the_paper_says() {
    shown("cost messages @thousand --engine list --order worst --hops 0 --format csv")
        .whole(4, "870fafeab6cc80e9");
    // In the best order a step each, of 1 us.
    shown(
        "cost messages @thousand --order best --set queue.gamma_step_s=1e-6 --per rank --format \
        csv",
    )
    .whole(6, "da39b6f014a034a3");
}

/// Every column of a small list.
///
/// By the published parameters: alpha 2.3 and 0.44 us, 1.3 and 2.2 GB/s for short messages
/// between nodes and in a socket, gamma 8.4 ns, 16.8 ns a step. Rank 0 of phase a sends two
/// between nodes and one within its socket: 2 (2.3 + 8 / 1,300) + 0.44 + 8 / 2,200. Rank 16 gets
/// three: 9 gamma, 3 gamma, 3 + 2 + 1 steps. 24 bytes of 17 processes go to other nodes: 2 h^3 b
/// ppn = 2 * 8 * 24 / 17 * 16. Rank 0 receives nothing in phase a, and the slowest ranks nothing
/// in all.
#[test]
fn every_column_of_a_small_list() {
    shown("cost messages @two-phases --engine list --order worst --hops 2 --per rank --format csv")
        .whole(12, "3ed5c3fc877b4831");
}

/// Recorded runs keep every message.
///
/// Whatever their communicator; the README of the traces says how many there are. The Python
/// program takes part in no collective operation, so it has one phase.
#[test]
fn recorded_runs_keep_every_message() {
    shown("cost messages --trace $minife-16/minife-16.dumpi.tar.xz --format csv")
        .has_lines("application,,,6048,,,,,,,,,,,0,,360.8167515151518,,,40,326.59515151515177,34.22159999999999");
    shown("cost messages --trace $lulesh-27/lulesh-27.dumpi.tar.xz --format csv")
        .has_lines("application,,,7300,,,,,,,,,,,0,,1013.8584717948717,,,13,998.3688717948717,15.489600000000001");
    shown("cost messages --trace $recorder/lammps-4.dumpi.tar.xz --format csv").has_lines(
        "application,,,1472,,,,,,,,,,,0,,938.7796873900294,,,7,932.5972873900294,6.1824",
    );
    shown("cost messages --trace $recorder/mpi4py-4.dumpi.tar.xz --format csv").has_lines(
        "application,,,106,,,,,,,,,,,0,,22.321600000000007,,,1,21.280000000000005,1.0416",
    );
    // Every rank takes part.
    shown("cost messages --trace $recorder/mpi4py-4.dumpi.tar.xz --per rank --format csv")
        .whole(8, "a008864240f0b201");
}

/// The model's curves: 1 MiB alone takes 364.6 us, a thousand messages are searched in 8.4 ms,
/// and terms add.
#[test]
fn the_models_curves_1_mib_alone_takes_364_6_us_a_thousand() {
    shown("cost curves --senders 16 --messages 1,1000 --out @curves")
        .has_lines(&["n messages of each of 16 processes a node, 1048576 bytes of each in all, on a line of 4 routers;", "searching is gamma n^2, and the total is the sum.", "messages bytes moving_us searching_us contention_us total_us", "1 1,048,576 2545 0.008400 6711 9256", "1,000 1,049 8399 8400 6711 23510"])
        .file("@curves/curves.csv")
        .count(54, "16 senders a node");
}

/// The middle of a line carries everything.
///
/// 64 messages over one link; moving alone 3.6458e-4 s and 2.5450e-3 s. The formula 2 h^3 b ppn
/// has h = 2. Moving and contention are the total, and the share is of the total.
#[test]
fn the_middle_of_a_line_carries_everything() {
    shown("cost contention --bytes 1048576 --senders 1,16 --format csv --out @line")
        .is(&["bytes,senders_per_node,moving_us,busiest_link_bytes,contention_us,total_us,contention_share,cube_link_bytes,cube_contention_us", "1048576,1,364.5779310344828,4194304,419.4304,784.0083310344828,0.5349820702116396,16777216,1677.7216", "1048576,16,2545.0024242424242,67108864,6710.8864,9255.888824242425,0.725039650694948,268435456,26843.5456"])
        .file("@line/contention-line.csv")
        .whole(5, "292fb1abb8c5e898");
}

/// A small matrix is spread, and its messages cost.
///
/// Rows 0 and 1 against 2 and 3: each process needs one element of the other: 0.44 + 8 / 2,200
/// us.
#[test]
fn a_small_matrix_is_spread_and_its_messages_cost() {
    shown("cost spmv @symmetric --ranks 2 --product vector --format csv")
        .is(&["label,rows,entries_per_row,messages,n_max,moving_us,contention_us,bound_us,third_us,list_us,bins_us,list_steps_n2,bins_steps_n2,total_bound_us,queue_share", "vector,4,2,2,1,0.4436363636363636,0,0.008400000000000001,0.0028000000000000004,0.016800000000000002,0.016800000000000002,1,1,0.4520363636363636,0.018582575818518222"]);
    // Process 1 needs both elements of process 0: one message for the pair, with 16 bytes, or rows
    // of 8.
    shown("cost spmv @one-column --ranks 2 --product vector,matrix --format csv")
        .is(&["label,rows,entries_per_row,messages,n_max,moving_us,contention_us,bound_us,third_us,list_us,bins_us,list_steps_n2,bins_steps_n2,total_bound_us,queue_share", "vector,4,0.5,1,1,0.4472727272727273,0,0,0,0,0,1,1,0.4472727272727273,0", "matrix,4,0.5,1,1,0.4436363636363636,0,0,0,0,0,1,1,0.4436363636363636,0"]);
}

#[test]
fn equal_arguments_give_equal_bytes_and_the_figure_has_all_numbers() {
    shown("cost hierarchy --edge 12 --ranks 64 --format csv --out @hierarchy")
        .whole(7, "b056a00f93da05ff")
        .file("@hierarchy/hierarchy.csv")
        .whole(55, "6bcf2db4319d6725")
        .file("@hierarchy/hierarchy.svg")
        .has("queue search by gamma");
}

#[test]
fn costs_as_people_read_them() {
    shown("cost messages @mixed-phases --engine list --order worst --hops 3 --per rank --wide")
        .part("phase ranks messages bytes n_max postal_us max_rate_us node_aware_us bound_us third_us steps_us hops link_bytes contention_us slowest total_us", 27, "0b9c56e6416fe948");
    shown(
        "cost messages @mixed-phases --engine bins --bins 2 --order random --seed 7 --queue \
        bound --total sum --per rank --format csv",
    )
    .whole(18, "0cb485ce6cdba7cf");
    shown("cost messages @mixed-phases --queue third --set layout.processes_per_node=8 --set \
        queue.gamma_s=3e-8 --wide")
        .part("phase ranks messages bytes n_max postal_us max_rate_us node_aware_us bound_us third_us steps_us hops link_bytes contention_us slowest total_us", 16, "3376a8e956eb6db9");
    shown(
        "cost messages --trace $minife-16/minife-16.dumpi.tar.xz --order random --seed 3 --hops \
        1 --collectives mpich --format csv",
    )
    .whole(347, "7bd8aca945630df7");
    shown("cost messages --trace $recorder/lammps-4.dumpi.tar.xz --engine bins --wide")
        .whole(35, "862d1b21d159761e");
    shown("cost spmv @symmetric --ranks 3 --product matrix,vector --engine list,bins --order \
        worst --wide")
        .has_lines(&["label rows entries_per_row messages n_max moving_us contention_us bound_us third_us list_us bins_us list_steps/n2 bins_steps/n2 total_bound_us queue_share", "matrix 4 2.000 4 2 0.9164 0 0.03360 0.01120 0.05040 0.03360 0.7500 0.5000 0.9500 0.03537", "vector 4 2.000 4 2 0.8873 0 0.03360 0.01120 0.05040 0.03360 0.7500 0.5000 0.9209 0.03649"]);
    shown(
        "cost hierarchy --edge 9 --ranks 20 --product matrix,vector --engine list,bins --order \
        random --seed 5 --coarsest 3 --wide",
    )
    .whole(15, "47d5aba3f2377e1f");
    shown("cost hierarchy --edge 8 --ranks 27 --format csv").whole(5, "503cd454c3960a24");
    shown("cost contention --routers 5 --bytes 1024,70000 --senders 1,3 --wide")
        .whole(6, "9ac525d9ad794b40");
    shown(
        "cost contention --routers 8 --bytes 9000 --set contention.delta_s_per_byte=3e-10 \
        --format csv",
    )
    .whole(6, "d9b4a651b0d4439e");
    shown("cost curves --senders 1,16 --messages 1,100 --bytes 9000 --wide")
        .whole(43, "e9c5399c591f204f");
    shown("cost curves --senders 3 --messages 7 --format csv").whole(20, "4d6966a96be3ef8d");
    shown("cost fit @own-runs --wide").part(
        "place protocol runs parameter value low high from_ppn",
        4,
        "2fe06e0f99223714",
    );
    shown("cost fit @own-runs --queue square --format csv").whole(4, "c2b8ba1a911e8327");
    shown("cost profile --set layout.sockets_per_node=4 --set queue.gamma_step_s=1.5e-8")
        .whole(54, "51f7cb85019bcbb7");
    shown_with(
        "cost profile --set network.short.alpha_us=0",
        2,
        &[
            "dpamatch-papers: blue-waters with --set:",
            "unknown field `alpha_us`",
        ],
    )
    .whole(0, "cbf29ce484222325");
    shown_with(
        "cost profile --set network.shrt.alpha_s=1",
        2,
        &["dpamatch-papers: --set network.shrt.alpha_s=1: unknown table network.shrt"],
    )
    .whole(0, "cbf29ce484222325");
    shown_with("cost messages @mixed-phases --set layout.processes_per_node=0", 2, &["dpamatch-papers: blue-waters with --set: layout.processes_per_node is 0, must be from 1 to 65536"])
        .whole(0, "cbf29ce484222325");
}

#[test]
fn a_fit_of_several_places_and_limits() {
    shown("cost fit @far-runs --wide").part(
        "place protocol runs parameter value low high from_ppn",
        10,
        "deb7b93aab951aab",
    );
    shown("cost fit @far-runs --queue square --format csv").whole(10, "7a41bdc7760b1a73");
}

/// Ping-pong predicts every engine and the endpoint, nine runs of each.
#[test]
fn ping_pong_predicts_every_engine_and_the_endpoint_nine_runs() {
    shown("cost ping-pong --messages 8,64,200 --rounds 1 --format csv")
        .has("ping_pong_runs,endpoint,,,,,,,,,worst,200,")
        .lines(181);
}

#[test]
fn measured_runs_stand_beside_the_model_a_message_of_each() {
    shown("cost curves --runs @two-runs --out @measured-curves")
        .has_lines(&[
            "senders_per_node place bytes measured_us model_us measured_to_model",
            "1 network 8 5.000 2.306 2.168",
            "3 socket 1,048,576 300.0 170.8 1.756",
        ])
        .file("@measured-curves/curves.csv")
        .has("network, measured")
        .lacks("socket, measured");
}
