//! The figures, checked by their numbers.

use super::*;

fn figure(report: &Report, name: &str) -> String {
    let all = figures::all(report, NIC);
    let figure = all.iter().find(|(known, _)| *known == name).map(|(_, figure)| figure);
    figure.expect("the report suffices for it").csv()
}

fn panel<'a>(csv: &'a str, title: &str) -> Vec<&'a str> {
    csv.lines().filter_map(|line| line.strip_prefix(title)?.strip_prefix(',')).collect()
}

#[test]
fn the_figure_of_the_paper_shows_calibrated_rates() {
    let csv = figure(&sweep(), "figure8");
    let ours = [
        "NC,2,10,10,10",
        "NC,4,20,20,20",
        "WC-FP,2,5,5,5",
        "WC-FP,4,15,15,15",
        "WC-SP,2,4,4,4",
        "WC-SP,4,12,12,12",
        "no-matching,2,40,,",
        "no-matching,4,40,,",
        "bins,2,30,,",
        "bins,4,30,,",
    ];
    assert_eq!(panel(&csv, "dpamatch: emulated on this machine"), ours);
    let paper = panel(&csv, "the paper: BlueField-3 DPA");
    assert_eq!(paper.len(), 5 * 6);
    for published in [
        "NC,8,3.848,,",
        "WC-FP,16,2.237,,",
        "WC-SP,32,1.179,,",
        "RDMA alone,1,12.67,,",
        "MPI on the CPU,32,7.78,,",
    ] {
        assert!(paper.contains(&published), "{published}");
    }
    let without = report(vec![row(NIC, "NC", 100, &[1.0])]);
    assert!(!figures::all(&without, NIC).iter().any(|(name, _)| *name == "figure8"));
}

#[test]
fn the_figure_over_handlers_has_a_panel_for_each_window() {
    let mut rows = sweep().rows;
    rows.push(row(Peer::Nic { handlers: 2 }, "NC", 128, &[70.0, 79.0, 77.0]));
    let csv = figure(&report(rows), "handlers");
    assert_eq!(panel(&csv, "window 128"), ["NC,2,77,70,79", "NC,4,99,99,99"]);
    assert_eq!(panel(&csv, "calibrated").len(), 10);
}

#[test]
fn the_figure_over_the_depth_tells_the_receivers_apart() {
    let window = figures::DEPTH_WINDOW;
    let csv = figure(
        &report(vec![
            row(NIC, "DEPTH-16", window, &[9.0]),
            row(NIC, "DEPTH-64", window, &[8.0]),
            row(Peer::Bins, "DEPTH-16", window, &[7.0]),
            row(Peer::Bins, "DEPTH-1024", window, &[6.0]),
            row(Peer::List, "DEPTH-16", window, &[5.0]),
            row(NIC, "WDEPTH-16", window, &[4.0]),
            row(NIC, "WDEPTH-256", window, &[3.0]),
        ]),
        "depth",
    );
    let named = ["optimistic,16,9,9,9", "optimistic,64,8,8,8", "bins,16,7,7,7", "bins,1024,6,6,6"];
    assert_eq!(panel(&csv, "receives without wildcards"), named);
    assert_eq!(
        panel(&csv, "receives from any source"),
        ["optimistic,16,4,4,4", "optimistic,256,3,3,3"]
    );
}
