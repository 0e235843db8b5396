use serde_json::json;

use super::*;

const RULE: Rule = Rule { confidence: 0.95, threshold: 0.05 };

/// A document with one table of rates by scenario.
fn document(rows: Value) -> Document {
    let table = json!({
        "name": "rates", "title": "", "notes": [], "keys": ["scenario", "window"],
        "figures": [
            { "name": "rate_per_s", "better": "higher" },
            { "name": "steps", "better": "lower" },
            { "name": "messages", "better": null },
        ],
    });
    let all = json!({
        "command": "bench", "command_line": "", "options": { "seed": 1, "format": "json" },
        "version": "1", "commit": "abc", "machine": { "cpu_model": "Abacus" },
        "tables": [table], "results": { "rates": rows },
    });
    serde_json::from_value(all).expect("a document")
}

fn rounds(scenario: &str, rates: &[f64]) -> Value {
    let middle = rates[rates.len() / 2];
    json!([{ "scenario": scenario, "window": 8, "rate_per_s": middle, "rate_per_s_rounds": rates }])
}

fn one(before: Value, after: Value) -> Change {
    let found = compare(&document(before), &document(after), &RULE).expect("they have a row");
    found.changes[0].clone()
}

const FIVE: [f64; 5] = [100.0, 101.0, 102.0, 103.0, 104.0];

#[test]
fn rounds_give_an_interval_and_a_verdict() {
    let by = |factor: f64| rounds("NC", &FIVE.map(|rate| rate * factor));
    let told = |factor: f64| {
        let change = one(rounds("NC", &FIVE), by(factor));
        (change.verdict, change.beyond)
    };
    assert_eq!(told(1.0), (Verdict::NoChange, false));
    assert_eq!(told(1.01), (Verdict::NoChange, false), "the interval holds 1");
    assert_eq!(told(2.0), (Verdict::Better, false));
    assert_eq!(told(0.5), (Verdict::Worse, true));
    // Certainly worse, but perhaps by less than 5 %.
    assert_eq!(told(0.94), (Verdict::Worse, false));
    let half = one(rounds("NC", &FIVE), by(0.5));
    let interval = half.interval.expect("five rounds are enough");
    assert!(interval.low < 0.5 && 0.5 < interval.high && interval.high < 0.52, "{interval:?}");
    assert_eq!((half.of.as_str(), half.before, half.after), ("NC, window 8", 102.0, 51.0));
}

#[test]
fn too_few_rounds_are_unclear() {
    let change = one(rounds("NC", &FIVE[..3]), rounds("NC", &[1.0, 2.0, 3.0]));
    assert_eq!((change.verdict, change.beyond, change.interval), (Verdict::Unclear, false, None));
    assert!(change.ratio < Some(0.03));
    let change = one(rounds("NC", &FIVE), rounds("NC", &[0.0, 0.0, 1.0, 1.0, 1.0]));
    assert_eq!((change.verdict, change.ratio), (Verdict::Unclear, None));
}

#[test]
fn what_is_counted_needs_no_interval() {
    let row = |steps: u64, messages: u64| json!([{ "scenario": "NC", "steps": steps, "messages": messages }]);
    let told = |before: Value, after: Value| {
        let found = compare(&document(before), &document(after), &RULE).expect("a row");
        found.changes.iter().map(|it| (it.verdict, it.beyond)).collect::<Vec<_>>()
    };
    let (same, fine) = ((Verdict::NoChange, false), (Verdict::Better, false));
    assert_eq!(told(row(100, 7), row(100, 7)), [same, same]);
    assert_eq!(told(row(100, 7), row(99, 8)), [fine, (Verdict::Changed, false)]);
    assert_eq!(told(row(100, 7), row(104, 7))[0], (Verdict::Worse, false));
    assert_eq!(told(row(100, 7), row(106, 7))[0], (Verdict::Worse, true));
    assert_eq!(told(row(0, 7), row(1, 7))[0], (Verdict::Worse, true), "from nothing");
}

#[test]
fn only_rows_of_the_same_keys_meet() {
    let both = json!([
        { "scenario": "NC", "window": 1, "steps": 1 },
        { "scenario": "NC", "window": 1, "steps": 2 },
        { "scenario": "NC", "window": 2, "steps": 3 },
    ]);
    let other = json!([
        { "scenario": "NC", "window": 1, "steps": 1 },
        { "scenario": "NC", "window": 1, "steps": 2 },
        { "scenario": "WC", "window": 2, "steps": 3 },
        { "scenario": "WC", "window": 3, "steps": 3 },
    ]);
    let found = compare(&document(both), &document(other.clone()), &RULE).expect("rows");
    assert_eq!((found.changes.len(), found.alone), (2, [1, 2]));
    assert!(found.changes.iter().all(|change| change.verdict == Verdict::NoChange));
    let nothing = json!([{ "scenario": "NC", "window": 9, "steps": 1 }]);
    let refused = compare(&document(nothing), &document(other), &RULE);
    assert_eq!(refused, Err(Mismatch::NothingInCommon));
}

#[test]
fn documents_of_two_commands_are_not_compared() {
    let rates = rounds("NC", &FIVE);
    let other = Document { command: "predict".to_owned(), ..document(rates.clone()) };
    let refused = compare(&document(rates.clone()), &other, &RULE).expect_err("they differ");
    assert_eq!(refused.to_string(), "results of `bench` and of `predict` cannot be compared");
    let mut plain = document(rates);
    plain.tables.clear();
    let refused = compare(&plain, &plain, &RULE).expect_err("there is nothing");
    assert_eq!(refused.to_string(), "results of `bench` have no figures to compare");
}

#[test]
fn what_else_differs_is_told() {
    let first = document(rounds("NC", &FIVE));
    let mut second = first.clone();
    second.options.insert("seed".to_owned(), json!(2));
    second.options.insert("format".to_owned(), json!("csv"));
    second.options.insert("sweep".to_owned(), json!([1, 2]));
    second.commit = None;
    second.machine.insert("cpu_model".to_owned(), json!("Difference Engine"));
    let found = compare(&first, &second, &RULE).expect("a row");
    let told: Vec<String> =
        found.differs.iter().map(|(name, a, b)| format!("{name}: {a}, {b}")).collect();
    let expected = [
        "version: 1 (abc), 1",
        "cpu_model: Abacus, Difference Engine",
        "seed: 1, 2",
        "sweep: none, [1,2]",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_text_that_is_something_else_is_refused() {
    let refused = |text: &str| Document::parse(text).expect_err("refused").to_string();
    assert!(refused("peer,rate\n").starts_with("no results of dpamatch: expected value"));
    assert_eq!(refused("{}"), "no results of dpamatch: there is no member \"schema\"");
    let newer = refused("{\"schema\": \"dpamatch-results-9\"}");
    assert_eq!(newer, "has the form dpamatch-results-9; this program reads dpamatch-results-1");
    assert!(refused("{\"schema\": \"dpamatch-results-1\"}").contains("missing field `command`"));
}
