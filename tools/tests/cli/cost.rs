//! The command `cost` as a user meets it: the published numbers, a worked example by hand, wrong
//! input.

use super::*;

fn cost(arguments: &str, input: &str) -> Output {
    let words = std::iter::once("cost").chain(arguments.split_whitespace());
    dpamatch_reads(&words.collect::<Vec<_>>(), input.as_bytes())
}

fn json(arguments: &str, input: &str) -> Value {
    results(&cost(&format!("{arguments} --format json"), input))
}

/// A thousand messages from one rank to the next.
fn thousand() -> String {
    (0..1000).fold("src,dst,bytes,tag\n".to_owned(), |text, tag| text + &format!("0,16,8,{tag}\n"))
}

#[test]
fn a_list_in_the_worst_order_costs_what_the_paper_says() {
    let report = json("messages - --engine list --posting worst --hops 0", &thousand());
    let phase = &report["phases"][0];
    let close = |value: &Value, expected: f64| {
        let value = value.as_f64().expect("a number");
        assert!((value / expected - 1.0).abs() < 1e-4, "{value} is not {expected}");
    };
    // T_q(1,000) = 8.4e-3 s; 500,500 steps; network, short, 8 bytes: 2.3062e-6 s
    // each.
    close(&phase["bound_us"], 8400.0);
    close(&phase["third_us"], 2800.0);
    close(&phase["steps_us"], 500_500.0 * 16.8e-3);
    close(&phase["node_aware_us"], 2306.2);
    assert_eq!((&phase["n_max"], &phase["messages"]), (&1000.into(), &1000.into()));
    assert_eq!(report["places"][0]["place"], "network");
    close(&report["application"][0]["total_us"], 500_500.0 * 16.8e-3);
    let best =
        json("messages - --posting best --set queue.gamma_step_s=1e-6 --per-rank", &thousand());
    assert_eq!(best["ranks"][1]["steps"], 1000);
    close(&best["ranks"][1]["steps_us"], 1000.0);
}

/// All messages of recorded runs are found, whatever their communicator; how many there are is said
/// in the folder's README.
#[test]
fn recorded_runs_keep_every_message() {
    let runs = [
        ("minife-16/minife-16", 16, 6048),
        ("lulesh-27/lulesh-27", 27, 7300),
        ("recorder/lammps-4", 4, 1472),
        ("recorder/mpi4py-4", 4, 106),
    ];
    for (name, ranks, messages) in runs {
        let path =
            format!("{}/../tests/data/traces/{name}.dumpi.tar.xz", env!("CARGO_MANIFEST_DIR"));
        let report = json(&format!("messages --trace {path} --per-rank"), "");
        let application = &report["application"][0];
        assert_eq!(application["messages"], messages, "{name}");
        let rows = report["ranks"].as_array().expect("rows");
        assert_eq!(
            rows.iter().map(|row| row["sent"].as_u64().expect("a number")).sum::<u64>(),
            messages
        );
        let seen: std::collections::BTreeSet<u64> =
            rows.iter().map(|row| row["rank"].as_u64().expect("a rank")).collect();
        assert_eq!(seen.len(), ranks, "{name}: every rank takes part");
        let phases = report["phases"].as_array().expect("rows");
        assert_eq!(application["phases"], phases.len());
        // The Python program takes part in no collective operation.
        assert_eq!(
            phases.len() > 1,
            name != "recorder/mpi4py-4",
            "{name}: collective operations cut phases"
        );
    }
}

#[test]
fn the_middle_of_a_line_carries_everything() {
    let report = json("contention --sizes 1048576 --senders 1,16", "");
    let rows = report["line"].as_array().expect("rows");
    let of = |row: usize, name: &str| rows[row][name].as_f64().expect("a number");
    // 64 messages over one link; moving alone 3.6458e-4 s and 2.5450e-3 s.
    assert_eq!((of(0, "busiest_link_bytes"), of(1, "busiest_link_bytes")), (4194304.0, 67108864.0));
    assert!(
        (of(0, "moving_us") - 364.58).abs() < 0.01 && (of(1, "moving_us") - 2545.0).abs() < 0.1
    );
    assert!((of(1, "contention_us") - 6710.8864).abs() < 1e-6);
    // By the formula 2 h^3 b ppn with h = 2.
    assert_eq!(of(1, "cube_link_bytes"), 16.0 * 16.0 * 1048576.0);
}

#[test]
fn a_small_matrix_is_spread_and_its_messages_cost() {
    let matrix = "%%MatrixMarket matrix coordinate real symmetric\n4 4 6\n1 1 4\n2 2 4\n3 3 4\n4 4 4\n2 1 -1\n4 1 -1\n";
    let report = json("spmv - --processes 2 --product vector", matrix);
    let row = &report["spmv_cost"][0];
    // Rows 0 and 1 against 2 and 3: each process needs one element of the other.
    assert_eq!((&row["messages"], &row["n_max"], &row["rows"]), (&2.into(), &1.into(), &4.into()));
    let moving = row["moving_us"].as_f64().expect("a number");
    assert!((moving - (0.44 + 8.0 / 2.2e3)).abs() < 1e-9, "same socket: {moving}");
    // Process 1 needs both elements of process 0: one message for the pair, with both.
    let matrix = "%%MatrixMarket matrix coordinate real general\n4 4 2\n3 1 1\n4 2 1\n";
    let report = json("spmv - --processes 2 --product vector,matrix", matrix);
    for (row, bytes) in [(0, 16.0), (1, 4.0 + 4.0)] {
        let row = &report["spmv_cost"][row];
        assert_eq!((&row["messages"], &row["n_max"]), (&1.into(), &1.into()), "{row}");
        let moving = row["moving_us"].as_f64().expect("a number");
        assert!((moving - (0.44 + bytes / 2.2e3)).abs() < 1e-9, "{bytes} bytes: {moving}");
    }
}

#[test]
fn the_same_arguments_give_the_same_bytes_and_figures() {
    let read = |name: &str| {
        let folder = folder(name);
        let line = format!("contention --out {}", folder.to_str().expect("a plain path"));
        assert!(cost(&line, "").status.success());
        let arguments = format!(
            "hierarchy --edge 12 --processes 64 --out {}",
            folder.to_str().expect("a plain path")
        );
        let output = cost(&arguments, "");
        assert!(output.status.success(), "{}", said(&output));
        let files = [
            "hierarchy.svg",
            "hierarchy.csv",
            "hierarchy-vector.csv",
            "hierarchy-matrix.csv",
            "contention-line.svg",
            "contention-line.csv",
            "line.csv",
        ];
        (output.stdout, files.map(|file| std::fs::read(folder.join(file)).expect("a file")))
    };
    let (first, second) = (read("cost-a"), read("cost-b"));
    assert_eq!(first, second);
    let figure = String::from_utf8_lossy(&first.1[0]).into_owned();
    assert!(figure.contains("queue search by gamma"), "the panels are named");
}

/// Runs that follow the model but for errors of one in a hundred, now above and now below.
fn runs_by_the_model() -> String {
    let mut text = "seconds,messages,bytes,steps\n".to_owned();
    let sizes = (1..=20_u32).map(|at| at * 50);
    for (at, messages) in sizes.flat_map(|messages| [messages, messages]).enumerate() {
        let n = f64::from(messages);
        // In the order of sending, and in reverse.
        let steps = if at % 2 == 0 { n } else { n * (n + 1.0) / 2.0 };
        // 2 us a message, 3 GB/s, 15 ns a step.
        let seconds = 2e-6 * n + 8.0 * n / 3e9 + 15e-9 * steps;
        let error = [1.01, 0.99, 0.99, 1.01][at % 4];
        text += &format!("{},{messages},{},{steps}\n", seconds * error, 8 * messages);
    }
    text
}

#[test]
fn runs_go_through_the_fit_into_a_profile() {
    let folder = folder("cost-fit");
    let saved = folder.join("mine.toml");
    let line = format!("fit - --save {}", saved.to_str().expect("a plain path"));
    let report = json(&line, &runs_by_the_model());
    let parameters = report["parameters"].as_array().expect("rows");
    let gamma = parameters.last().expect("gamma");
    assert_eq!(gamma["parameter"], "gamma_step_s");
    let number = |name: &str| gamma[name].as_f64().expect("told by the runs");
    let (low, value, high) = (number("low"), number("value"), number("high"));
    assert!(low < 15e-9 && 15e-9 < high, "{low} to {high}");
    assert!(low < value && value < high && high - low < 1.5e-9, "{low}, {value}, {high}");
    let profile = std::fs::read_to_string(saved).expect("a profile");
    assert!(
        profile.contains("name = \"mine\"") && profile.contains("[network.short]"),
        "{profile}"
    );
    let kept = profile.lines().find_map(|line| line.strip_prefix("gamma_step_s = "));
    let kept: f64 = kept.expect("gamma").parse().expect("a number");
    assert!((kept / value - 1.0).abs() < 1e-4, "{kept} is not {value}");
    let used = cost(&format!("profile --profile {}", folder.join("mine.toml").display()), "");
    assert_eq!(String::from_utf8(used.stdout).expect("text"), profile);
}

/// What `--runs` prints is input of the fit; how long the runs took does not matter here.
#[test]
fn measured_runs_are_input_of_the_fit() {
    let line =
        "ping-pong --engine list --sizes 20,40,80 --bytes 800 --rounds 2 --runs --format csv";
    let runs = String::from_utf8(cost(line, "").stdout).expect("text");
    let rows: Vec<Vec<&str>> = runs.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["engine", "order", "messages", "bytes", "steps", "seconds"]);
    let orders = ["best", "random", "worst"];
    let expected =
        ["20", "40", "80"].into_iter().flat_map(|size| orders.map(|order| (order, size)));
    let told: Vec<_> = rows[1..].iter().map(|row| (row[1], row[2])).collect();
    assert_eq!(told, expected.collect::<Vec<_>>());
    // In order a step each, in reverse n (n + 1) / 2.
    let steps = |row: usize| rows[row][4].parse::<u32>().expect("a number");
    assert_eq!([1, 4, 7].map(steps), [20, 40, 80]);
    assert_eq!([3, 6, 9].map(steps), [210, 820, 3240]);
    assert!(rows[1..].iter().all(|row| row[0] == "list" && row[3] == "800"));
    // With times of which nothing depends on the clock.
    let timed = |row: &Vec<&str>| {
        let number = |column: usize| row[column].parse::<f64>().expect("a number");
        format!("{},{}\n", row[..5].join(","), 1e-6 * number(2) + 1e-8 * number(4))
    };
    let runs = runs.lines().take(1).map(|header| format!("{header}\n"));
    let runs: String = runs.chain(rows[1..].iter().map(timed)).collect();
    let fitted = json("fit -", &runs);
    let gamma = fitted["parameters"].as_array().and_then(|rows| rows.last()).expect("gamma");
    let value = gamma["value"].as_f64().expect("told by the runs");
    assert!((value / 1e-8 - 1.0).abs() < 1e-6, "{value}");
}

/// What moves and what waits is the whole, and the share is of the whole.
#[test]
fn contention_adds_up() {
    let folder = folder("cost-contention");
    let folder = folder.to_str().expect("a plain path");
    let report = json(&format!("contention --senders 1,2 --out {folder}"), "");
    let figure = std::fs::read_to_string(format!("{folder}/contention-line.csv"));
    let figure = figure.expect("a figure");
    let drawn = |row: &Value, series: &str| {
        let (senders, bytes) = (&row["senders_per_node"], &row["bytes"]);
        let point = format!("{senders} processes of each node send,{series},{bytes},");
        let y = figure.lines().find_map(|line| line.strip_prefix(&point)).expect(&point);
        y.parse::<f64>().expect("a number")
    };
    let rows = report["line"].as_array().expect("rows");
    assert!(rows.len() > 3, "{report}");
    for row in rows {
        let of = |name: &str| row[name].as_f64().expect("a number");
        let (moving, waiting, total) = (of("moving_us"), of("contention_us"), of("total_us"));
        assert!(waiting > 0.0 && (moving + waiting - total).abs() < 1e-9, "{row}");
        assert!((waiting / total - of("contention_share")).abs() < 1e-9, "{row}");
        assert!((drawn(row, "moving alone") - moving).abs() < 1e-9, "{row}");
        assert!((drawn(row, "moving and contention") - total).abs() < 1e-9, "{row}");
    }
}

/// Two phases by hand, by the published parameters: alpha 2.3, 1.7 and 0.44 us, 1.3, 2.4 and
/// 2.2 GB/s for short messages between nodes, of a node and of a socket.
#[test]
fn every_column_of_a_small_list() {
    let list = "phase,src,dst,bytes,tag\n\
                a,0,16,8,1\na,0,16,8,2\na,1,16,8,3\na,0,1,8,4\n\
                b,16,0,100,1\n";
    let report = json("messages - --engine list --posting worst --hops 2 --per-rank", list);
    let close = |value: &Value, expected: f64, what: &str| {
        let value = value.as_f64().expect("a number");
        assert!((value - expected).abs() <= expected.abs() * 1e-6, "{what}: {value}, {expected}");
    };
    let phases = report["phases"].as_array().expect("rows");
    let (first, second) = (&phases[0], &phases[1]);
    for (name, expected) in [("ranks", 3), ("messages", 4), ("bytes", 32), ("n_max", 3)] {
        assert_eq!(first[name], expected, "{name}");
    }
    // Rank 0 sends two between nodes and one within its socket.
    let far = 2.3 + 8.0 / 1.3e3;
    let near = 0.44 + 8.0 / 2.2e3;
    close(&first["postal_us"], 3.0 * far, "postal");
    close(&first["max_rate_us"], 3.0 * far, "max-rate");
    close(&first["node_aware_us"], 2.0 * far + near, "node-aware");
    // Rank 16 gets three: 9 gamma, 3 gamma, 3 + 2 + 1 steps.
    close(&first["bound_us"], 9.0 * 8.4e-3, "bound");
    close(&first["third_us"], 3.0 * 8.4e-3, "third");
    close(&first["steps_us"], 6.0 * 16.8e-3, "steps");
    // 24 bytes of 17 processes go to other nodes; 2 h^3 b ppn.
    let link_bytes = 2.0 * 8.0 * 24.0 / 17.0 * 16.0;
    close(&first["link_bytes"], link_bytes, "link");
    close(&first["contention_us"], link_bytes * 1e-4, "contention");
    assert_eq!(first["slowest"], 0);
    let total = 2.0 * far + near + 16.8e-3 + link_bytes * 1e-4;
    // Rank 0 receives nothing in the first phase.
    close(&first["total_us"], total - 16.8e-3, "total");
    assert_eq!((&second["messages"], &second["slowest"]), (&1.into(), &16.into()));

    let place = |row: usize| {
        let row = &report["places"][row];
        let text = |name: &str| row[name].as_str().expect("text").to_owned();
        let number = |name: &str| row[name].as_u64().expect("a number");
        (text("phase"), text("place"), text("protocol"), number("messages"), number("bytes"))
    };
    let short = || "short".to_owned();
    assert_eq!(place(0), ("a".to_owned(), "socket".to_owned(), short(), 1, 8));
    assert_eq!(place(1), ("a".to_owned(), "network".to_owned(), short(), 3, 24));
    assert_eq!(place(2), ("b".to_owned(), "network".to_owned(), short(), 1, 100));

    let ranks = report["ranks"].as_array().expect("rows");
    let counts = |row: &Value| {
        let number = |name: &str| row[name].as_u64();
        [number("rank"), number("sent"), number("sent_bytes"), number("received"), number("steps")]
    };
    let of = |numbers: [u64; 4], steps| {
        let [rank, sent, bytes, received] = numbers.map(Some);
        [rank, sent, bytes, received, steps]
    };
    let told: Vec<_> = ranks.iter().map(counts).collect();
    assert_eq!(
        told,
        [
            of([0, 3, 24, 0], None),
            of([1, 1, 8, 1], Some(1)),
            of([16, 0, 0, 3], Some(6)),
            of([0, 0, 0, 1], Some(1)),
            of([16, 1, 100, 0], None),
        ]
    );
    let application = &report["application"][0];
    assert_eq!((&application["phases"], &application["messages"]), (&2.into(), &5.into()));
    let moving = 2.0 * far + near + 2.3 + 100.0 / 1.3e3;
    close(&application["moving_us"], moving, "moving");
    close(&application["searching_us"], 0.0, "the slowest ranks receive nothing");
}

#[test]
fn ping_pong_predicts_every_engine() {
    let report = json("ping-pong --sizes 8,64,200 --rounds 1", "");
    let engines = report["ping_pong_fit"].as_array().expect("rows");
    assert_eq!(engines.len(), dpamatch::registry::ENGINES.len() + 1);
    assert_eq!(report["ping_pong_runs"].as_array().expect("rows").len(), engines.len() * 9);
}
