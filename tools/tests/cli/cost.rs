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
    let saved = folder.path().join("mine.toml");
    let line = format!("fit - --write {}", saved.to_str().expect("a plain path"));
    let report = json(&line, &runs_by_the_model());
    let parameters = report["parameters"].as_array().expect("rows");
    let gamma = parameters.last().expect("gamma");
    assert_eq!(gamma["parameter"], "gamma_step_s");
    let number = |name: &str| gamma[name].as_f64().expect("told by the runs");
    let (low, value, high) = (number("low"), number("value"), number("high"));
    assert!(low < 15e-9 && 15e-9 < high, "{low} to {high}");
    assert!(
        low < value && value < high && high - low < 1.5e-9,
        "{low}, {value}, {high}"
    );
    let profile = std::fs::read_to_string(saved).expect("a profile");
    assert!(
        profile.contains("name = \"mine\"") && profile.contains("[network.short]"),
        "{profile}"
    );
    let kept = profile
        .lines()
        .find_map(|line| line.strip_prefix("gamma_step_s = "));
    let kept: f64 = kept.expect("gamma").parse().expect("a number");
    assert!((kept / value - 1.0).abs() < 1e-4, "{kept} is not {value}");
    let used = cost(
        &format!(
            "profile --profile {}",
            folder.path().join("mine.toml").display()
        ),
        "",
    );
    assert_eq!(String::from_utf8(used.stdout).expect("text"), profile);
}

/// What `--runs` prints is input of the fit; how long the runs took does not matter here.
#[test]
fn measured_runs_are_input_of_the_fit() {
    let line =
        "ping-pong --engine list --messages 20,40,80 --bytes 800 --rounds 2 --runs --format csv";
    let runs = String::from_utf8(cost(line, "").stdout).expect("text");
    let rows: Vec<Vec<&str>> = runs.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(
        rows[0],
        ["engine", "order", "messages", "bytes", "steps", "seconds"]
    );
    let orders = ["best", "random", "worst"];
    let expected = ["20", "40", "80"]
        .into_iter()
        .flat_map(|size| orders.map(|order| (order, size)));
    let told: Vec<_> = rows[1..].iter().map(|row| (row[1], row[2])).collect();
    assert_eq!(told, expected.collect::<Vec<_>>());
    // In order a step each, in reverse n (n + 1) / 2.
    let steps = |row: usize| rows[row][4].parse::<u32>().expect("a number");
    assert_eq!([1, 4, 7].map(steps), [20, 40, 80]);
    assert_eq!([3, 6, 9].map(steps), [210, 820, 3240]);
    assert!(
        rows[1..]
            .iter()
            .all(|row| row[0] == "list" && row[3] == "800")
    );
    // With times of which nothing depends on the clock.
    let timed = |row: &Vec<&str>| {
        let number = |column: usize| row[column].parse::<f64>().expect("a number");
        format!(
            "{},{}\n",
            row[..5].join(","),
            1e-6 * number(2) + 1e-8 * number(4)
        )
    };
    let runs = runs.lines().take(1).map(|header| format!("{header}\n"));
    let runs: String = runs.chain(rows[1..].iter().map(timed)).collect();
    let fitted = json("fit -", &runs);
    let gamma = fitted["parameters"]
        .as_array()
        .and_then(|rows| rows.last())
        .expect("gamma");
    let value = gamma["value"].as_f64().expect("told by the runs");
    assert!((value / 1e-8 - 1.0).abs() < 1e-6, "{value}");
}
