//! The Python package loads what commands write, and its notebook draws three figures.

use dpamatch_needs::Need;

use super::results::documents;
use super::*;

/// Loads each document, and compares its tables with the JSON: one row for a row, no name lost.
const CHECK: &str = r#"
import json, pathlib, sys
import dpamatch

tables = rounds = 0
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    document = dpamatch.load(path)
    whole = json.loads(path.read_text())
    assert [document.command_line, document.seed] == [whole["command_line"], whole["seed"]], path
    assert set(document.keys) == {table["name"] for table in whole["tables"]}, path
    for name in document.names:
        rows = whole["results"][name]
        frame = document[name]
        assert len(frame) == len(rows), (path, name)
        assert set(frame.columns) == {key for row in rows for key in row}, (path, name)
        tables += 1
        for column in [it for it in frame.columns if it.endswith("_rounds")]:
            long = document.rounds(name, column[: -len("_rounds")])
            assert len(long) == sum(len(row.get(column, [])) for row in rows), (path, column)
            rounds += 1
    if document.command == "bench" and "engine" in document.keys.get("rates", []):
        first = document.rows("rates")[0]
        assert document.rates.iloc[0]["rate_msgs_per_s"] == first["rate_msgs_per_s"]
print(tables, rounds)

for text, words in [
    ("nothing", "no JSON"),
    ("{}", "no document of dpamatch"),
    (json.dumps({"schema": "dpamatch-results-9"}), "the form is dpamatch-results-9"),
]:
    try:
        dpamatch.loads(text, "here")
    except dpamatch.WrongDocument as error:
        assert str(error).startswith("here: ") and words in str(error), error
    else:
        raise AssertionError(text)
try:
    document.table("rats")
except KeyError as error:
    assert "no table rats" in str(error), error
else:
    raise AssertionError("rats")
"#;

/// Runs the notebook's cells as Jupyter would, one after the other.
const NOTEBOOK: &str = r#"
import json, sys
book = json.load(open(sys.argv[1]))
names = {"__name__": "__main__"}
for cell in book["cells"]:
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
"#;

/// Rows of two tables of one CSV, and the figure's numbers.
const TABLES: &str = r#"
import sys
import dpamatch

tables = dpamatch.load_csv(sys.argv[1])
assert list(tables) == [
    "applications", "queues", "paths", "shards", "communicators"
], list(tables)
assert list(tables["queues"]["bins"]) == [1, 1, 32, 32, 128, 128], tables["queues"]
assert "bins" not in tables["communicators"] and "table" not in tables["queues"]
matches = dpamatch.load_lines(sys.argv[2])
assert len(matches) == 20, matches
"#;

/// The interpreter with the package, or none where the machine is without pandas and matplotlib.
fn python() -> Option<Command> {
    let command = || {
        let mut python = Command::new("python3");
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
        python
            .env("PYTHONPATH", package)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("MPLBACKEND", "Agg");
        python
    };
    let is_there = command()
        .args(["-c", "import pandas, matplotlib"])
        .output()
        .is_ok_and(|output| output.status.success());
    Need::Pandas.require(is_there).then(command)
}

#[test]
fn python_loads_every_document() {
    let Some(mut python) = python() else { return };
    let folder = folder("documents-");
    for (number, (_, document)) in documents().iter().enumerate() {
        let file = folder.path().join(format!("{number:02}.json"));
        std::fs::write(file, document.to_string()).expect("room");
    }
    let output = python.args(["-c", CHECK]).arg(folder.path()).output();
    let output = output.expect("Python runs");
    let counts: Vec<usize> = text(&output)
        .split_whitespace()
        .map(|count| count.parse().expect("a count"))
        .collect();
    assert!(counts[0] > 50 && counts[1] > 3, "{counts:?}");
}

#[test]
fn python_loads_tables_and_lines() {
    let Some(mut python) = python() else { return };
    let folder = folder("tables-");
    let trace = "../tests/data/traces/edge-4-mpich/edge-4-mpich.dumpi.tar.xz";
    let csv = command("analyze", &format!("{trace} --format csv"));
    let lines = command("gen", "--events 20 --format jsonl");
    let [tables, objects] = [("tables.csv", csv), ("gen.jsonl", lines)].map(|(name, output)| {
        let path = folder.path().join(name);
        std::fs::write(&path, text(&output)).expect("room");
        path
    });
    let output = python.args(["-c", TABLES]).args([tables, objects]).output();
    text(&output.expect("Python runs"));
}

#[test]
fn the_notebook_draws_three_figures() {
    let Some(mut python) = python() else { return };
    let folder = folder("notebook-");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let book = root.join("python/figures.ipynb");
    let trace = root.join("../tests/data/traces/minife-16/minife-16.dumpi.tar.xz");
    let output = python
        .args(["-c", NOTEBOOK])
        .arg(book)
        .current_dir(folder.path())
        .env("DPAMATCH", DPAMATCH)
        .env("TRACE", trace)
        .env("BENCH", "--rounds 2 --reps 5 --keep disturbed,placements")
        .output();
    text(&output.expect("Python runs"));
    for name in ["rates.pdf", "predicted.pdf", "depth.pdf"] {
        let drawn = std::fs::read(folder.path().join(name)).expect("a figure");
        assert!(drawn.starts_with(b"%PDF-") && drawn.len() > 5_000, "{name}");
    }
    let output = python_draws(
        &folder.path().join("rates.json"),
        &folder.path().join("x.pdf"),
    );
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(
        said(&output).contains("the first columns are not"),
        "{}",
        said(&output)
    );
}

fn python_draws(from: &Path, to: &Path) -> Output {
    let mut python = python().expect("it was there");
    let output = python.args(["-m", "dpamatch"]).args([from, to]).output();
    output.expect("Python runs")
}
