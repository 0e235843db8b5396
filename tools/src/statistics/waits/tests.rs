use super::*;

fn entry(words: &str, place: u64) -> Entry {
    let words: Vec<&str> = words.split(' ').collect();
    let [what, peer, tag, kind, communicator] = words[..] else {
        panic!("no entry: {words:?}")
    };
    let number = |text: &str| text.parse().ok();
    Entry {
        what: if what == "taken*" {
            "taken from any source"
        } else {
            what
        }
        .to_owned(),
        peer: number(peer).map(identity),
        tag: number(tag).map(|tag| tag as i64),
        communicator: number(communicator).expect("a number"),
        kind: kind.to_owned(),
        bytes: 8 + place,
        age_ms: 9000 - 1500 * place,
    }
}

fn identity(rank: u64) -> String {
    format!("{:08x}", 0xa0 + rank)
}

fn endpoint(name: String, entries: Vec<Entry>) -> Endpoint {
    let text = r#"{"engine": "", "library": "", "kinds": {}, "communicators": [], "depth":
        {"begin_unix_ns": 0, "column_ns": 1, "posted": [], "unexpected": [], "messages": []}}"#;
    let endpoint: Endpoint = serde_json::from_str(text).expect("an endpoint");
    assert!(
        endpoint.closed,
        "statistics of earlier versions are of the end"
    );
    Endpoint {
        name,
        waiting: Waiting {
            entries,
            ..Waiting::default()
        },
        ..endpoint
    }
}

/// A line `RANK STATE: ENTRY; ..`; rank 10 is rank 0 of a second job.
fn process(line: &str) -> (Endpoint, State) {
    let (head, entries) = line.split_once(':').expect("a process");
    let (rank, state) = head.split_once(' ').expect("a rank and a state");
    let entries = entries
        .split(';')
        .map(str::trim)
        .filter(|words| !words.is_empty());
    let entries = entries
        .zip(0..)
        .map(|(words, place)| entry(words, place))
        .collect();
    let state = match state {
        "answered" => State::Answered,
        "silent" => State::Silent,
        "closed" => State::Closed,
        "gone" => State::Gone,
        _ => panic!("no state: {state}"),
    };
    let number: u64 = rank.parse().expect("a rank");
    let name = format!("rank-{}-{}", number % 10, identity(number));
    (
        Endpoint {
            job: number as usize / 10,
            ..endpoint(name, entries)
        },
        state,
    )
}

#[test]
fn findings_and_tables_are_those_of_the_text() {
    for section in include_str!("tests.txt").split("\n[").skip(1) {
        let (what, lines) = section.split_once("]\n").expect("a heading");
        let lines = || {
            lines
                .lines()
                .filter(|line| !line.is_empty() && !line.starts_with('#'))
        };
        let is_process = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit());
        let tables = waits(&lines().filter(is_process).map(process).collect::<Vec<_>>());
        let findings = tables[0].rows.iter().map(|row| match &row[0] {
            Cell::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        });
        let rows = |table: &Table| -> Vec<String> {
            table.csv().lines().skip(1).map(str::to_owned).collect()
        };
        let shown = [
            ("= ", findings.collect()),
            ("w ", rows(&tables[1])),
            ("u ", rows(&tables[2])),
        ];
        for (mark, shown) in shown {
            let expected: Vec<&str> = lines().filter_map(|line| line.strip_prefix(mark)).collect();
            let fits = |(shown, expected): (&String, &&str)| match expected.strip_suffix("...") {
                Some(beginning) => shown.starts_with(beginning),
                None => shown == expected,
            };
            let equal = shown.len() == expected.len() && shown.iter().zip(&expected).all(fits);
            assert!(
                equal || expected.is_empty() && mark != "= ",
                "{what}: {shown:#?}"
            );
        }
    }
}

#[test]
fn many_waits_are_cut() {
    let many: Vec<Entry> = (0..201)
        .map(|tag| entry(&format!("receive * {tag} user 0"), 0))
        .collect();
    for (count, notes) in [(200, 1), (201, 2)] {
        // A process without a rank.
        let many = endpoint("process-17-0000beef".to_owned(), many[..count].to_vec());
        let table = &waits(&[process("0 answered:"), (many, State::Answered)])[1];
        assert_eq!(
            (table.rows.len(), table.notes.len()),
            (200, notes),
            "{count}"
        );
    }
}
