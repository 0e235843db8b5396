//! `dpamatch analyze` and `dpamatch bench --trace` from the outside.

use std::collections::{BTreeMap, HashSet};

use super::*;

fn archive(name: &str) -> String {
    format!("../tests/data/traces/{name}/{name}.dumpi.tar.xz")
}

/// What `analyze` prints, with lines as long as they are: other tests look at these. `$NAME` is a
/// trace.
fn analyze(line: &str) -> String {
    let word = |word: &str| word.strip_prefix('$').map_or_else(|| word.to_owned(), archive);
    let words: Vec<String> = line.split_whitespace().map(word).collect();
    text(&command("analyze", &format!("{} --wide", words.join(" "))))
}

fn text(output: &Output) -> String {
    assert!(output.stderr.is_empty(), "{}", said(output));
    super::text(output).to_owned()
}

#[test]
fn the_summary_tells_the_main_numbers() {
    let out = analyze("$lulesh-27 --engine optimistic");
    for line in [
        "lulesh-27: 27 of 27 ranks, 26490 calls in 1.8 MB",
        "calls: 14600 point-to-point, 351 collective, 0 one-sided (97.7 / 2.3 / 0.0 %); 8299 progress, 3240 other",
        "582 distinct (source, tag) pairs in 7300 receives (7.97 %), at most 1 pending per pair",
        "hints: Set mpi_assert_no_any_source on communicator 2 (world): this run never violates it.",
        "room: Everything fits on the NIC. dpamatch offload shows whether offloading pays.",
    ] {
        assert!(out.contains(line), "{line}\n{out}");
    }
    assert!(out.lines().all(|line| line == line.trim_end()), "no spaces at the ends of lines");
    let again = || analyze("$edge-4-mpich --engine optimistic");
    assert_eq!(again(), again(), "a seed is an output");
    // Those with the most operations first; counted by hand in the source of the program.
    let out = again();
    let (_, table) = out.split_once("\ncommunicator ").expect("a table");
    let rows = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows: Vec<_> = rows.take(2).collect();
    assert_eq!(rows[0][..8], ["4", "(duplicate", "of", "world)", "4", "exact", "36", "36"]);
    assert_eq!(rows[1][..6], ["2", "(world)", "4", "exact", "12", "12"]);
}

/// A trace of 23 calls, in which everything can be counted by hand; what happens when is said in
/// `tools/src/analyze/worked_example.rs`.
#[test]
fn the_summary_of_a_small_trace_is_right_number_by_number() {
    let folder = "../tests/data/traces/counted-by-hand";
    let out = analyze(&format!("{folder} --order time --bins 1,64 --engine list --check"));
    let lines: Vec<String> =
        out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        "counted-by-hand: 3 of at least 3 ranks, 23 calls in 0.0 MB",
        "calls: 15 point-to-point, 3 collective, 0 one-sided (83.3 / 16.7 / 0.0 %); 4 progress, 1 \
         other",
        "order: by the recorded clocks",
        "7 sends of 122 bytes; 8 receives: 7 without wildcard, 1 any source, 0 any tag, 0 both; 1 \
         probes, 1 cancels, 0 with MPI_PROC_NULL",
        "messages: 4 expected, 3 unexpected (42.9 %); left: 1 receives, 1 messages",
        "6 distinct (source, tag) pairs in 8 receives (75.00 %), at most 2 pending per pair; at \
         most 4 tags per rank, largest tag 7",
        "sequences of compatible receives: 7, mean length 1.14, longest 2",
        "checked: all pairs obey MPI's rules",
        "queue bins searches MQL AQL ASL MASL longest collisions",
        "posted 1 7 3 1.43 1.29 1.33 3 2",
        "unexpected 1 9 2 0.56 0.33 0.38 1 1",
        "posted 64 7 3 1.43 0.57 1.00 1 1",
        "unexpected 64 9 2 0.56 0.33 0.38 1 1",
        "1 0.24 2 3/0/0 0.0 % 23.5 % 1.00 0.67 2",
        "64 0.18 1 2/0/0 96.9 % 98.7 % 0.50 0.33 1",
        "high water: 3 descriptors, 2 unexpected messages with 100 bytes, 1 communicators: fits the \
         NIC",
        "list 6 0 5 of 5 9 3 3 1 704",
        "rank 1, receive, call 10, communicator 2, source 0, tag 9: no call completes it; the \
         nearest unmatched message is from rank 0 (communicator 2, source 0, tag 7) and differs in tag",
    ] {
        assert!(lines.iter().any(|found| found == line), "{line}\n{out}");
    }
}

#[test]
fn a_nic_that_is_too_small_is_told_where_and_why() {
    let out = analyze("$lulesh-27 --receives 16 --engine optimistic --order posts-first");
    assert!(out.contains("with too few receive descriptors (--receives)"), "{out}");
    assert!(out.contains("The NIC is too small: rank 0 falls"), "{out}");
    assert!(out.contains("7300      0"), "the pairs are right all the same: {out}");
}

/// Who does as the report says has a NIC that is large enough, and not twice as large.
#[test]
fn advice_on_tables_can_be_followed() {
    let small = "--receives 2 --unexpected 4 --unexpected-buffers 1";
    let analyze = |options: &str| analyze(&format!("$lulesh-27 --bins 1 --sweep 4 {options}"));
    let out = analyze(small);
    assert!(out.contains("does not fit: "), "{out}");
    assert!(
        out.contains("whether more bins save steps"),
        "nothing is said of what was not asked: {out}"
    );
    let (_, advice) = out.split_once("\n  tables: ").expect("advice");
    let (options, _) = advice.split_once(" suffice").expect("options");
    let options: Vec<&str> = options.split(' ').collect();
    assert_eq!(options.len(), 8, "{options:?}");
    assert!(analyze(&options.join(" ")).contains("fits the NIC"), "{options:?}");
    // Half of any of them is too little.
    for place in [1, 3, 5] {
        let half = (options[place].parse::<u32>().expect("a number") / 2).to_string();
        let mut less = options.clone();
        less[place] = &half;
        if place == 3 {
            less[5] = &half;
        }
        assert!(analyze(&less.join(" ")).contains("does not fit: "), "{less:?}");
    }
}

#[test]
fn pairs_and_folder_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let pairs = folder.path().join("pairs.csv");
    let out = folder.path().join("report");
    let [pairs_arg, out_arg] = [&pairs, &out].map(|path| path.display());
    let order = "--order random --seed 3";
    analyze(&format!("$minife-16 {order} --pairs {pairs_arg} --out {out_arg}"));
    let written = std::fs::read_to_string(&pairs).expect("pairs");
    assert_eq!(
        written.lines().next(),
        Some("comm,recv_rank,recv_op,send_rank,send_op,tag,bytes,posted_src,posted_tag")
    );
    assert_eq!(written.lines().count(), 6049);
    let names: HashSet<String> = std::fs::read_dir(&out)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    for name in [
        "queues.csv",
        "paths.csv",
        "calls.csv",
        "depth.csv",
        "hints.csv",
        "advice.csv",
        "report.json",
    ] {
        assert!(names.contains(name), "{name} in {names:?}");
    }
    for name in names.iter().filter(|name| name.ends_with(".csv")) {
        let text = std::fs::read_to_string(out.join(name)).expect("a file");
        let commas = |line: &str| {
            line.split('"').step_by(2).map(|plain| plain.matches(',').count()).sum::<usize>()
        };
        let columns = text.lines().next().map(commas);
        assert!(
            text.lines().all(|line| Some(commas(line)) == columns),
            "{name}: all lines have the same columns"
        );
    }
}

/// Names and contents of the figures in a folder; every picture is whole.
fn figures(folder: &Path) -> BTreeMap<String, String> {
    let files =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let pictures = files.filter(|path| path.extension().is_some_and(|ending| ending == "svg"));
    let read = |path: PathBuf| {
        let svg = std::fs::read_to_string(&path).expect("text");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{path:?}");
        assert!(path.with_extension("csv").exists(), "the numbers of {path:?}");
        (path.file_stem().expect("a name").to_string_lossy().into_owned(), svg)
    };
    pictures.map(read).collect()
}

/// Figures 6 and 7 (O33, O34, O36), and those of one application.
#[test]
fn figures_are_written_and_are_the_same_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let draw = |name: &str, order: &str| {
        let out = folder.path().join(name);
        analyze(&format!("$lulesh-27 $minife-16 --order {order} --out {}", out.display()));
        (figures(&out), figures(&out.join("minife-16")))
    };
    let (both, one) = draw("first", "causal");
    let side_by_side = ["figure-bins", "figure-calls", "figure-tables"];
    assert!(both.keys().eq(side_by_side), "{:?}", both.keys());
    let alone = ["bins", "calls", "depth", "messages", "paths", "ranks", "tables"];
    assert!(one.keys().eq(&alone.map(|name| format!("figure-{name}"))), "{:?}", one.keys());
    // minife-16 is deeper in one bin than lulesh-27: applications stand by falling depth.
    let bins =
        std::fs::read_to_string(folder.path().join("first/figure-bins.csv")).expect("numbers");
    let groups: Vec<_> =
        bins.lines().skip(1).take(3).filter_map(|line| line.split(',').nth(2)).collect();
    assert_eq!(groups, ["minife-16", "lulesh-27", "mean"], "{bins}");
    let calls =
        std::fs::read_to_string(folder.path().join("first/figure-calls.csv")).expect("numbers");
    assert!(calls.contains("Communication calls,point-to-point,lulesh-27,97.65"), "{calls}");
    // Nothing is matched: 26 receives of one rank wait at once, whatever the order.
    assert!(bins.contains("Mean depth if no receive is matched,1 bin,lulesh-27,25"), "{bins}");
    // With conflicts some slow-path messages end up unexpected; no message counts twice.
    let paths = std::fs::read_to_string(folder.path().join("first/minife-16/figure-paths.csv"))
        .expect("numbers");
    let mut shares = BTreeMap::<&str, f64>::new();
    for line in paths.lines().skip(1) {
        let mut fields = line.rsplit(',');
        let share = fields.next().and_then(|share| share.parse::<f64>().ok()).expect("a share");
        *shares.entry(fields.next().expect("handlers")).or_default() += share;
    }
    assert_eq!(shares.len(), 7);
    assert!(shares.values().all(|sum| (sum - 100.0).abs() < 1e-6), "{shares:?}");
    assert!(draw("second", "causal") == (both, one), "the same bytes again");
    assert_eq!(
        draw("third", "arrivals-first").1.len(),
        7,
        "orders without times have figures, too"
    );
}

/// The name of a trace's folder is the user's: nothing of it is markup, in no file.
#[test]
fn the_page_is_whole_and_needs_nothing_else() {
    let name = "<script>alert(1)<&'\"\u{1}";
    let write = || {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::copy(archive("minife-16"), folder.path().join(format!("{name}.tar.xz")))
            .expect("a copy");
        let output = Command::new(DPAMATCH)
            .args(["analyze", &format!("{name}.tar.xz"), "--out", "out"])
            .current_dir(folder.path())
            .output();
        text(&output.expect("the program runs"));
        let out = folder.path().join("out");
        (std::fs::read_to_string(out.join("report.html")).expect("a page"), figures(&out))
    };
    let (page, pictures) = write();
    assert!(page.starts_with("<!DOCTYPE html>\n") && page.ends_with("</body>\n</html>\n"));
    assert_eq!(page.matches("Set mpi_assert_no_any_tag").count(), 1, "nothing is told twice");
    for section in ["summary", "advice", "figures", "tables", "made"] {
        assert_eq!(page.matches(&format!("<h2 id=\"{section}\">")).count(), 1, "{section}");
    }
    for picture in pictures.keys() {
        assert_eq!(page.matches(&format!("<figure id=\"{picture}\">")).count(), 1, "{picture}");
    }
    assert!(page.contains(": 16 of 16 ranks, "), "what was read stands before the tables");
    assert_eq!(page.matches("<svg ").count(), 7);
    for outside in ["http", "src=", "href=", "@import", "<link", "<script", "\u{1}"] {
        assert!(!page.contains(outside), "{outside}");
        let in_a_picture =
            |svg: &String| svg.replace("http://www.w3.org/2000/svg", "").contains(outside);
        assert!(!pictures.values().any(in_a_picture), "{outside}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;&amp;&#39;&quot;\u{fffd}"));
    assert!(page.contains("<p>dpamatch ") && page.contains("<pre>dpamatch analyze "));
    assert!(write() == (page, pictures), "the same bytes again");
}

#[test]
fn several_traces_are_compared() {
    let out = analyze("$edge-4-openmpi $edge-4-mpich --bins 1,8");
    for title in ["Calls and depth of posted receives", "Depth as the published analyzer counts it"]
    {
        let (_, table) = out.split_once(title).expect("a table");
        let names: Vec<_> =
            table.lines().skip(1).take(4).filter_map(|row| row.split(' ').next()).collect();
        assert_eq!(names, ["application", "edge-4-openmpi", "edge-4-mpich", "mean"], "{table}");
        assert!(table.contains("1 bins") && table.contains("8 bins"), "{table}");
    }
}

/// The engines' steps count inner nodes as well; the advice names the best of them, and the NIC's
/// steps are those of its handlers.
#[test]
fn engines_are_compared() {
    let line = "$minife-16 --order posts-first --engine list,4d,optimistic";
    let json = analyze(&format!("{line} --format json"));
    let value: Value = serde_json::from_str(&json).expect("JSON");
    let report = &value["results"]["traces"][0];
    let advice = report["advice"].as_array().expect("advice");
    let best = advice.iter().find(|advice| advice["topic"] == "engine").expect("advice on engines");
    assert_eq!(
        best["text"],
        "Of the engines that count steps in both queues, list takes the fewest steps and 4d the most."
    );
    let table = analyze(line);
    let (_, rows) = table.split_once("Engines\n").expect("the engines");
    let steps: Vec<Vec<&str>> =
        rows.lines().take(4).map(|row| row.split_whitespace().collect()).collect();
    let counter = |name: &str| {
        let counters = report["engines"][1]["counters"].as_array().expect("counters");
        let found = counters.iter().find(|counter| counter[0] == name).expect("a counter");
        found[1].as_u64().expect("a number")
    };
    let compares_and_nodes = counter("prq_attempts") + counter("prq_hops");
    assert!(counter("prq_hops") > 0);
    assert_eq!(steps[2][6], compares_and_nodes.to_string(), "{table}");
    // Each message finds its receive in the first place; on the NIC handlers in conflict search
    // again.
    assert_eq!(steps[1][6], "6048", "{table}");
    assert!(steps[3][6].parse::<u64>().is_ok_and(|visited| visited > 6048), "{table}");
}

#[test]
fn json_holds_the_report() {
    let out = analyze("$edge-4-openmpi --format json --sweep 4");
    let value: Value = serde_json::from_str(&out).expect("JSON");
    let report = &value["results"]["traces"][0];
    assert_eq!(report["processes"], 4);
    assert_eq!(report["application"]["traffic"]["receives"], serde_json::json!([20, 8, 4, 16]));
    assert_eq!(report["application"]["blocks"][0]["handlers"], 4);
    assert_eq!(report["ranks"].as_array().map(Vec::len), Some(4));
}

/// One rank's file does not tell of how many it is: that is said.
#[test]
fn a_guess_is_said_to_be_one() {
    let out = analyze("../tests/data/traces/counted-by-hand/rank-0001.txt");
    assert!(out.contains("rank-0001: 1 of at least 2 ranks, "), "{out}");
    let whole = analyze("$minife-16");
    assert!(whole.contains("minife-16: 16 of 16 ranks, "), "{whole}");
}

#[test]
fn a_recorded_rank_is_a_load() {
    let line = format!("--trace {} --rank 13 --rounds 1 --budget 1", archive("lulesh-27"));
    let out = text(&command("bench", &format!("{line} --format csv")));
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(
        lines[0],
        "rank,messages,events,size_bytes,engine,rate_msgs_per_s,rate_min_msgs_per_s,rate_max_msgs_per_s,pairs"
    );
    let row = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let (nic, bins) = (row(lines[1]), row(lines[2]));
    assert_eq!((nic[0].as_str(), nic[4].as_str(), bins[4].as_str()), ("13", "optimistic", "bins"));
    assert_eq!(nic[1], nic[8], "every message finds its receive");
    assert_eq!(nic[8], bins[8]);
}
