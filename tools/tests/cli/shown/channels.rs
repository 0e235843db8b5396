//! What `channels` shows.

use super::*;

#[test]
fn equal_arguments_give_equal_bytes_and_figures_have_all_numbers() {
    shown(
        "channels --only discovery --bursts 1,10 --rounds 20 --kind constant,geometric,switching \
        --format csv",
    )
    .whole(67, "ba4e705b4e570c5f");
}

/// Rows name the lengths.
///
/// Times are relative to round-robin's and to the best of the published policies'.
#[test]
fn rows_name_the_lengths() {
    shown("channels --only discovery --bursts 2 --rounds 2 --kind uniform --format csv")
        .whole(47, "b0c10666f359ac30");
    shown("channels --only discovery --bursts 2 --rounds 2 --kind heavy-tailed --format csv")
        .whole(47, "733663ff29831dde");
    shown("channels --only discovery --bursts 2 --rounds 2 --kind in-turn --format csv")
        .whole(47, "cabbc67fea0ee847");
}

/// Latencies change by what the table says.
///
/// Changes are relative to the first policy of a length. Published: ratio 50 leaves the network
/// unharmed, and 1000 does not. So it is here for processes that are alone on their nodes.
#[test]
fn latencies_change_by_what_the_table_says() {
    shown("channels --only latency --format csv --out @channels")
        .is(&["policy,bytes,shared_ns,network_ns,shared_change,published_shared,network_change,network_alone_ns,alone_change", "static:1,4,1589.985,5388.555,0,,0,5260.534,0", "static:2,4,1572.135,5419.725,-0.011226521004915058,,0.005784482110695821,5254.107,-0.001221739085803808", "static:5,4,1512.645,5508.345,-0.04864196832045575,,0.022230449536100094,5272.485,0.002271822594436257", "static:10,4,1448.685,5665.185,-0.08886876291285761,,0.05133658281301767,5282.705,0.004214591142268187", "static:20,4,1380.465,5960.205,-0.13177482806441565,,0.106085954397793,5294.875,0.006528044491300733", "static:50,4,1303.245,6863.205,-0.18034132397475444,-0.12,0.27366334759504163,5357.775,0.018485005514649266", "static:100,4,1274.775,8309.325,-0.19824715327503084,,0.5420321403418913,5456.855,0.03731959531104634", "static:200,4,1256.295,11433.285,-0.20986990443306064,,1.1217719778307913,5667.3,0.07732408915140554", "static:500,4,1245.195,20499.405,-0.21685110236889027,,2.804249005531167,6340.415,0.20527973015667245", "static:1000,4,1238.985,35574.405,-0.22075679959244898,-0.37,5.601845021531746,7245.215,0.37727747791383925", "round-robin,4,1589.985,5388.555,0,,0,5260.534,0", "dynamic:10,4,1438.035,5388.555,-0.09556693931074811,,0,5260.534,0", "run-length,4,1311.375,5371.545,-0.17522806818932246,,-0.0031566904299946685,5260.532,-3.8018953962826174e-7", "static:1,2048,4153.455,7741.815,0,,0,7605.402,0", "static:2,2048,4121.115,7770.465,-0.007786288764414229,,0.003700682591872839,7614.374,0.0011796878061145488", "static:5,2048,4068.135,7862.505,-0.020541934365486014,,0.015589367609533555,7619.855,0.0019003597705946618", "static:10,2048,4002.855,8007.525,-0.036258969941891706,,0.03432140912692949,7629.555,0.0031757690126044125", "static:20,2048,3938.475,8319.885,-0.05175931844693149,,0.07466853702910758,7643.96,0.005069817479733452", "static:50,2048,3861.495,9238.425,-0.07029328595109374,-0.09,0.19331513346676465,7707.165,0.013380357803571608", "static:100,2048,3828.705,10698.285,-0.07818791825119087,,0.38188331805913744,7808.295,0.02667748529269054", "static:200,2048,3812.295,13608.405,-0.08213884585242881,,0.7577796679460826,8006.305,0.05271292694324381", "static:500,2048,3794.985,22649.805,-0.08630646052503277,,1.9256453428556486,8675.97,0.14076415684535792", "static:1000,2048,3792.585,37426.365,-0.08688429271534182,,3.8343140465123486,9633.26,0.2666339004828411", "round-robin,2048,4153.455,7741.815,0,,0,7605.402,0", "dynamic:10,2048,3987.285,7741.815,-0.040007656276521586,,0,7605.402,0", "run-length,2048,3864.285,7734.405,-0.06962155602985953,,-9.571398954896226e-4,7605.4,-2.6297097777128187e-7"])
        .file("@channels/latency-ratio.csv")
        .whole(66, "5bf6c0f2b8ef8c34");
}

#[test]
fn thresholds_follow_the_costs_and_bandwidth_the_cache() {
    shown("channels --only thresholds --format csv --out @channels-ways")
        .whole(80, "2b3eb09f13509d45")
        .file("@channels-ways/ways-by-length.csv")
        .whole(115, "5db0b26daee25445");
    shown("channels --only thresholds --set kernel_start_ns=20000 --format json")
        .json("/thresholds/0/from_bytes", "65536");
    shown(
        "channels --only thresholds --set kernel_start_ns=1000000 --set copy_bytes_per_us=1000000 \
        --set memory_bytes_per_us=1000000 --format json",
    )
    .json("/thresholds/0/from_bytes", "null");
}

/// An empty poll grows with the nodes, and shared memory with the processes of a node.
#[test]
fn an_empty_poll_grows_with_the_nodes_and_shared_memory() {
    shown("channels --only overhead --set processes_per_node=4").whole(10, "b7584a32aeec4d18");
}

#[test]
fn policies_and_thresholds_as_people_read_them() {
    shown(
        "channels --only discovery --bursts 3,20 --rounds 6 --kind geometric,in-turn,uniform \
        --policy static:5,dynamic:8,run-length,round-robin --gap 400 --handle 90 --seed 3 --wide",
    )
    .whole(71, "71b5d3fba4635274");
    shown(
        "channels --only discovery --bursts 5 --rounds 5 --kind heavy-tailed,switching \
        --gap ~0 --set rdma_ns=700 --format csv",
    )
    .whole(51, "08ebb572323df870");
    shown("channels --only never-worse --bursts 4 --rounds 3 --format csv")
        .whole(145, "8d6235e3a3ad1c98");
    shown("channels --only latency --set network_start_ns=2000").whole(30, "7ce2b4819b55a541");
    shown("channels --only thresholds --wide").whole(87, "f9cfef58bb40fed2");
    shown("channels --only overhead --wide").whole(10, "a13fc7e34dcbbb40");
    shown("channels --only overhead --set processes_per_node=9 --format csv")
        .whole(9, "00350ba30e311b63");
    shown_with("channels --only discovery --policy static:0", 2, &["error: invalid value 'static:0' for '--policy <NAME,..>': unknown policy static:0; known: round-robin, static:R, dynamic:H, run-length, with R and H from 1 to 1000000"])
        .whole(0, "cbf29ce484222325");
    shown_with(
        "channels --set nothing_ns=3",
        2,
        &["dpamatch-papers: --set nothing_ns=3: unknown cost nothing_ns"],
    )
    .whole(0, "cbf29ce484222325");
    shown_with("channels --policy stat", 2, &["error: invalid value 'stat' for '--policy <NAME,..>': unknown policy stat; known: round-robin, static:R, dynamic:H, run-length, with R and H from 1 to 1000000"])
        .whole(0, "cbf29ce484222325");
}

#[test]
fn several_costs_are_set() {
    shown(
        "channels --only overhead --set nodes=3 --set processes_per_node=9 --set \
        shared_per_peer_ns=11 --format csv",
    )
    .whole(9, "e029a61f5890bcef");
    shown(
        "channels --only thresholds --set shared_start_ns=900 --set network_start_ns=3000 \
        --format csv",
    )
    .whole(80, "0bb4adbd08bcb84e");
}

/// Threads send by every channel, and the order of each sender is checked.
#[test]
fn threads_send_by_every_channel_and_the_order_of_each_sender() {
    shown("channels --only real --rounds 3 --bursts 2 --policy static:3")
        .has_lines("channel empty_ns published_ns")
        .has("60 messages by shared memory and 60 messages by TCP came in the order sent.")
        .has("round-robin")
        .has("static:3")
        .has("The emulated card holds each message, so shared memory and network copy once more.")
        .has("1600 messages came by the kernel copy.");
}
