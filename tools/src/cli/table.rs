//! The forms in which commands write tables, and the width of tables.

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use dpamatch_tools::table::{Table, csv, wrapped};
use terminal_size::terminal_size_of;

use super::document;

/// Form of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// A header line and a line for each row; with several tables, the first column names the table
    Csv,
    /// One document: see docs/results.md
    Json,
}

#[derive(Clone, Copy, Default, Debug, clap::Args)]
pub struct Wide {
    /// Show all columns of tables, at any width
    #[arg(long, global = true)]
    wide: bool,
}

/// A narrower terminal wraps the lines itself.
const NARROWEST: usize = 40;

impl Wide {
    /// Columns of a line: the terminal's, if standard output is one.
    pub fn width(self) -> usize {
        let stdout = io::stdout();
        let terminal = || {
            stdout
                .is_terminal()
                .then(|| terminal_size_of(&stdout))
                .flatten()
        };
        match terminal() {
            _ if self.wide => usize::MAX,
            Some((terminal_size::Width(width), _)) => usize::from(width).max(NARROWEST),
            None => super::WIDTH,
        }
    }
}

/// The table as text, or only title and notes without rows.
pub fn text(table: &Table, width: usize) -> String {
    if !table.rows.is_empty() {
        return table.text(width);
    }
    let notes: String = table
        .notes
        .iter()
        .map(|note| format!("  {note}\n"))
        .collect();
    wrapped(&format!("{}\n{notes}", table.title), width)
}

pub fn write(out: &mut dyn Write, tables: &[Table], format: Format, wide: Wide) -> io::Result<()> {
    match format {
        Format::Table => {
            for (i, table) in tables.iter().enumerate() {
                write!(
                    out,
                    "{}{}",
                    if i > 0 { "\n" } else { "" },
                    table.text(wide.width())
                )?;
            }
        }
        Format::Csv => {
            let tables: Vec<&Table> = tables.iter().collect();
            write!(out, "{}", csv(&tables))?;
        }
        Format::Json => {
            let tables: Vec<&Table> = tables.iter().collect();
            document::write(out, &document::of_tables(&tables, serde_json::Map::new()))?;
        }
    }
    Ok(())
}
