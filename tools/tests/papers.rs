//! The tables of docs/papers.md: each command prints what its row shows.

#[path = "../../tests/watchdog/mod.rs"]
mod watchdog;

mod programs;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

struct CellRow {
    command: String,
    output: String,
}

fn code(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

/// Single spaces, so that the width of columns does not matter.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How a row stands to its paper.
const MARKS: [&str; 5] = ["exact", "shape", "contradicts", "absent", "input"];

/// The rows of all tables; a heading has no command, nor has what is absent. `"` stands for the
/// command above.
fn rows(page: &str) -> Vec<CellRow> {
    let mut rows: Vec<CellRow> = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if cells.len() == 2 {
            // The table of marks.
            continue;
        }
        assert_eq!(cells.len(), 5, "{line}");
        if cells[1] == "command" {
            continue;
        }
        assert!(MARKS.contains(&cells[4]), "{line}");
        // What recordings outside of the repository show has no command, either.
        if cells[1..3] == ["-", "-"] {
            assert!(["absent", "contradicts"].contains(&cells[4]), "{line}");
            continue;
        }
        assert_ne!(cells[4], "absent", "{line}");
        let above = rows
            .last()
            .filter(|_| cells[1] == "\"")
            .map(|row| row.command.clone());
        let command = above.or_else(|| code(cells[1]).map(str::to_owned));
        match (command, code(cells[2])) {
            (Some(command), Some(output)) => {
                rows.push(CellRow {
                    command,
                    output: plain(output),
                });
            }
            _ => panic!("no command, or no output: {line}"),
        }
    }
    rows
}

#[test]
fn every_row_is_what_its_command_prints() {
    let _watched = watchdog::on("the commands of docs/papers.md");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/papers.md")).expect("the page");
    let rows = rows(&page);
    assert!(rows.len() >= 60, "{} rows", rows.len());
    let mut printed: BTreeMap<&str, String> = BTreeMap::new();
    for CellRow { command, output } in &rows {
        let lines = printed.entry(command).or_insert_with(|| {
            let mut run = Command::new(programs::of(&command.split(' ').collect::<Vec<_>>()));
            let ran = run
                .args(command.split(' '))
                .current_dir(&root)
                .output()
                .expect("it runs");
            assert!(
                ran.status.success(),
                "{command}: {}",
                String::from_utf8_lossy(&ran.stderr)
            );
            String::from_utf8(ran.stdout)
                .expect("text")
                .lines()
                .map(plain)
                .collect::<Vec<_>>()
                .join("\n")
        });
        assert!(
            lines.contains(output.as_str()),
            "`{command}` does not print `{output}`:\n{lines}"
        );
    }
}
