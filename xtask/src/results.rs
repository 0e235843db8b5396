//! `cargo xtask results`: measures the rates that README.md and docs/performance.md show, of this
//! commit on this machine, and writes both tables.

use std::fmt::Write;
use std::fs;
use std::process::{Command, Stdio};

use crate::process;
use crate::{Failure, root};

/// The rows of the table: windows, and the scenarios that are measured with them.
const ROWS: &[(&str, &str)] = &[
    ("1", "NC"),
    ("128", "NC,WC-FP,WC-SP"),
    ("1024", "NC,WC-FP,WC-SP,ANYSRC-REV,UNEXP"),
    ("100", "DEPTH-8192"),
];
const ROUNDS: &str = "9";
/// The columns of the table: engines as `bench` names them.
const ENGINES: &[&str] = &[
    "endpoint",
    "in-order",
    "optimistic",
    "list",
    "bins",
    "no-matching",
    "ucx",
];
/// Where the table begins and ends in a page.
const BEGIN: &str = "<!-- rates, by `cargo xtask results` -->";
const END: &str = "<!-- end of rates -->";
const PAGES: &[&str] = &["README.md", "docs/performance.md"];

/// Runs the task; `--print` prints the table and leaves the pages as they are.
///
/// # Errors
/// [`Failure::Task`] when the program cannot be built, cannot measure here, or a page has no place
/// for the table.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let prints = match args {
        [] => false,
        [only] if only == "--print" => true,
        _ => {
            return Err(Failure::Usage(
                "results takes --print or nothing".to_owned(),
            ));
        }
    };
    let mut build = Command::new("cargo");
    build.args(["build", "--release", "-p", "dpamatch_tools"]);
    let built = process::run(build.current_dir(root())).map_err(Failure::Task)?;
    if !built.status.success() {
        return Err(Failure::Task(built.output));
    }
    let mut rates = Rates::default();
    for (windows, scenarios) in ROWS {
        measure(windows, scenarios, &mut rates).map_err(Failure::Task)?;
    }
    // Without matching every scenario is NC, which is measured for its windows alone.
    let in_order = ENGINES.iter().position(|name| *name == "in-order");
    rates
        .rows
        .retain(|row| in_order.is_some_and(|column| row.rates[column].is_some()));
    let commit = commit().map_err(Failure::Task)?;
    let table = rates.table(&commit, true);
    if prints {
        print!("{table}");
        return Ok(());
    }
    for page in PAGES {
        let path = root().join(page);
        let text =
            fs::read_to_string(&path).map_err(|error| Failure::Task(format!("{page}: {error}")))?;
        // The README names the page that has the notes.
        let table = rates.table(&commit, *page != "README.md");
        let text = replaced(&text, &table)
            .ok_or_else(|| Failure::Task(format!("{page}: no lines `{BEGIN}` and `{END}`")))?;
        fs::write(&path, text).map_err(|error| Failure::Task(format!("{page}: {error}")))?;
    }
    Ok(())
}

fn measure(windows: &str, scenarios: &str, rates: &mut Rates) -> Result<(), String> {
    let mut bench = Command::new(root().join("target/release/dpamatch"));
    bench.args(["bench", "--windows", windows, "--scenario", scenarios]);
    bench.args(["--rounds", ROUNDS, "--format", "csv", "--peers"]);
    bench.args(["--baseline", "no-matching,list,bins,endpoint"]);
    let ended = bench
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| format!("cannot run bench: {error}"))?;
    let said = String::from_utf8_lossy(&ended.stderr);
    if !ended.status.success() {
        return Err(said.into_owned());
    }
    rates.notes.extend(
        said.lines()
            .filter_map(|line| line.strip_prefix("dpamatch: WARNING: "))
            .map(|text| Note {
                window: windows.to_owned(),
                text: text.to_owned(),
            }),
    );
    rates.read(&String::from_utf8_lossy(&ended.stdout))
}

/// The commit, and whether files differ from it.
fn commit() -> Result<String, String> {
    let git = |args: &[&str]| process::run(Command::new("git").args(args).current_dir(root()));
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?.stdout;
    let sources = ["status", "--porcelain", "--", "src", "dpa_model", "tools"];
    let changed = !git(&sources)?.stdout.trim().is_empty();
    let modified = if changed { ", modified" } else { "" };
    Ok(format!("{}{modified}", commit.trim()))
}

/// One scenario and window, with a rate for each engine.
#[derive(Debug, PartialEq)]
struct ResultRow {
    scenario: String,
    window: String,
    placement: String,
    rates: Vec<Option<f64>>,
    /// Ratios of `endpoint` and `in-order` to UCX in the same rounds.
    to_ucx: [Option<f64>; 2],
}

#[derive(Debug, Default)]
struct Rates {
    rows: Vec<ResultRow>,
    ucx: Option<String>,
    notes: Vec<Note>,
}

/// A warning of `bench`.
#[derive(Debug)]
struct Note {
    window: String,
    text: String,
}

/// One line for each cause. Words with digits that differ stand next to each other, in the order of
/// the windows at the end.
fn by_cause(notes: &[Note]) -> Vec<String> {
    let cause = |note: &Note| -> Vec<String> {
        let has_digit = |word: &str| word.contains(|letter: char| letter.is_ascii_digit());
        let words = note.text.split(' ');
        words
            .map(|word| if has_digit(word) { "" } else { word }.to_owned())
            .collect()
    };
    let mut causes: Vec<(Vec<String>, Vec<&Note>)> = Vec::new();
    for note in notes {
        let words = cause(note);
        match causes.iter_mut().find(|(known, _)| *known == words) {
            Some((_, notes)) => notes.push(note),
            None => causes.push((words, vec![note])),
        }
    }
    let line = |(words, notes): (Vec<String>, Vec<&Note>)| {
        let said = (0..words.len()).map(|at| {
            let mut values: Vec<&str> = notes
                .iter()
                .filter_map(|note| note.text.split(' ').nth(at))
                .collect();
            if values.iter().all(|value| *value == values[0]) {
                values.truncate(1);
            }
            values.join("/")
        });
        let said: Vec<String> = said.collect();
        let windows: Vec<&str> = notes.iter().map(|note| &*note.window).collect();
        let plural = if windows.len() == 1 { "" } else { "s" };
        format!("{} (window{plural} {})", said.join(" "), windows.join("/"))
    };
    causes.into_iter().map(line).collect()
}

impl Rates {
    /// Adds the rows of a table as `bench --format csv` prints it.
    fn read(&mut self, csv: &str) -> Result<(), String> {
        let mut lines = csv.lines().filter(|line| !line.starts_with('#'));
        let header: Vec<&str> = lines.next().unwrap_or("").split(',').collect();
        let place = |name: &str| {
            let found = header.iter().position(|column| *column == name);
            found.ok_or_else(|| format!("bench printed no column {name}"))
        };
        let [
            placement,
            engine,
            scenario,
            calibrated,
            window,
            version,
            rate,
            to_ucx,
        ] = [
            place("placement")?,
            place("engine")?,
            place("scenario")?,
            place("calibrated")?,
            place("window")?,
            place("version")?,
            place("rate_msgs_per_s")?,
            place("to_ucx")?,
        ];
        for line in lines {
            let cells: Vec<&str> = line.split(',').collect();
            let cell = |place: usize| cells.get(place).copied().unwrap_or("");
            let Some(column) = ENGINES.iter().position(|name| *name == cell(engine)) else {
                continue;
            };
            if cell(calibrated) == "true" {
                continue;
            }
            if cell(engine) == "ucx" {
                self.ucx = Some(cell(version).to_owned());
            }
            let of_row =
                |row: &&mut ResultRow| row.scenario == cell(scenario) && row.window == cell(window);
            let row = match self.rows.iter_mut().find(of_row) {
                Some(row) => row,
                None => {
                    self.rows.push(ResultRow {
                        scenario: cell(scenario).to_owned(),
                        window: cell(window).to_owned(),
                        placement: cell(placement).to_owned(),
                        rates: vec![None; ENGINES.len()],
                        to_ucx: [None; 2],
                    });
                    self.rows.last_mut().expect("pushed")
                }
            };
            row.rates[column] = cell(rate).parse().ok();
            if let Some(own) = row.to_ucx.get_mut(column) {
                *own = cell(to_ucx).parse().ok();
            }
        }
        Ok(())
    }

    fn table(&self, commit: &str, with_notes: bool) -> String {
        let ucx = self.ucx.as_deref().unwrap_or("");
        let mut out = format!(
            "{BEGIN}\nCommit {commit}, {}, medians of {ROUNDS} rounds, in million messages/s:\n\n\
             | scenario, window | placement | `Endpoint` | in order | optimistic | list | bins | no \
             matching | UCX {ucx} | `Endpoint` / UCX | in order / UCX |\n|{}\n",
            cpu(),
            "---|".repeat(ENGINES.len() + 4)
        );
        for row in &self.rows {
            _ = write!(
                out,
                "| {}, {} | {} |",
                row.scenario, row.window, row.placement
            );
            for rate in &row.rates {
                _ = write!(
                    out,
                    " {} |",
                    rate.map_or_else(String::new, |it| digits(it / 1e6))
                );
            }
            for ratio in &row.to_ucx {
                _ = write!(out, " {} |", ratio.map_or_else(String::new, digits));
            }
            out.push('\n');
        }
        out.push('\n');
        if with_notes {
            by_cause(&self.notes)
                .iter()
                .for_each(|note| out += &item(note));
        }
        out + END + "\n"
    }
}

/// A list item, in lines of at most 100 columns.
fn item(text: &str) -> String {
    let mut out = "-".to_owned();
    let mut column = out.len();
    for word in text.split(' ') {
        if column + 1 + word.chars().count() > 100 {
            out += "\n ";
            column = 1;
        }
        _ = write!(out, " {word}");
        column += 1 + word.chars().count();
    }
    out + "\n"
}

/// Three digits.
fn digits(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| Some(line.split_once(':')?.1.trim().to_owned()));
    name.unwrap_or_else(|| "unknown processor".to_owned())
}

/// The page with the table in its place; `None` without a place.
fn replaced(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{}{after}", table.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = "placement,engine,handlers,scenario,calibrated,window,size_bytes,version,rate_msgs_per_s,to_ucx\n\
        near,optimistic,32,NC,false,128,8,0.1.0,20000000,1.25\n\
        near,in-order,32,NC,false,128,8,0.1.0,48500000,3.03\n\
        near,in-order,32,NC,true,128,8,0.1.0,99000000,9\n\
        near,endpoint,,NC,false,128,8,0.1.0,40000000,2.5\n\
        near,ucx,,NC,false,128,8,1.22.0,16000000,1\n\
        near,memcpy,,NC,false,128,8,0.1.0,7,\n\
        near,bins,,UNEXP,false,128,8,0.1.0,1234567,\n";

    #[test]
    fn the_table_has_a_row_for_each_scenario_and_window() {
        let mut rates = Rates::default();
        rates.read(CSV).expect("all columns");
        rates.notes.extend(
            [
                ("1", "3 of 50 windows dropped"),
                ("1", "busy"),
                ("128", "7 of 50 windows dropped"),
            ]
            .map(|(window, text)| Note {
                window: window.to_owned(),
                text: text.to_owned(),
            }),
        );
        let table = rates.table("abc", true);
        let rows: Vec<&str> = table
            .lines()
            .filter(|line| line.starts_with("| "))
            .collect();
        assert!(rows[0].contains("UCX 1.22.0 |"), "{table}");
        assert_eq!(
            rows[1..],
            [
                "| NC, 128 | near | 40.0 | 48.5 | 20.0 |  |  |  | 16.0 | 2.50 | 3.03 |",
                "| UNEXP, 128 | near |  |  |  |  | 1.23 |  |  |  |  |"
            ]
        );
        let notes = "\n- 3/7 of 50 windows dropped (windows 1/128)\n- busy (window 1)\n";
        assert!(table.contains(notes), "{table}");
        assert!(table.starts_with(BEGIN) && table.ends_with(&format!("{END}\n")));
        let missing = rates.read("placement,engine\n").expect_err("no columns");
        assert_eq!(missing, "bench printed no column scenario");
    }

    #[test]
    fn long_items_go_on_in_the_next_line() {
        assert_eq!(item("a bc"), "- a bc\n");
        let long = "word ".repeat(30);
        let lines = item(long.trim());
        assert!(lines.lines().all(|line| line.len() <= 100), "{lines}");
        assert!(
            lines.lines().skip(1).all(|line| line.starts_with("  word")),
            "{lines}"
        );
        assert_eq!(lines.matches("word").count(), 30);
    }

    #[test]
    fn a_page_keeps_everything_but_its_table() {
        let page = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let new = format!("{BEGIN}\nnew\n{END}\n");
        let expected = format!("a\n{BEGIN}\nnew\n{END}\nb\n");
        assert_eq!(replaced(&page, &new), Some(expected));
        assert_eq!(replaced("a\n", &new), None);
        assert_eq!(replaced(BEGIN, &new), None, "the end is missing");
    }

    #[test]
    fn both_pages_have_a_place_for_the_table() {
        for page in PAGES {
            let text = fs::read_to_string(root().join(page)).expect("a page");
            assert!(replaced(&text, "").is_some(), "{page}");
        }
    }
}
