//! The three forms in which commands write their tables.

use std::io::{self, Write};

use clap::ValueEnum;
use dpamatch_tools::table::Table;
use serde_json::{Map, Value};

/// Form of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Format {
    /// For people
    Table,
    /// A header line and a line for each row; a comment line names each table
    Csv,
    /// One object: an array of rows for each table
    Json,
}

/// Writes all tables in one form.
pub(super) fn write(out: &mut dyn Write, tables: &[Table], format: Format) -> io::Result<()> {
    match format {
        Format::Table => {
            for (i, table) in tables.iter().enumerate() {
                write!(out, "{}{}", if i > 0 { "\n" } else { "" }, table.text())?;
            }
        }
        Format::Csv => {
            for table in tables {
                if tables.len() > 1 {
                    writeln!(out, "# {}", table.name)?;
                }
                write!(out, "{}", table.csv())?;
            }
        }
        Format::Json => {
            let members = tables.iter().map(|table| (table.name.clone(), table.rows_json()));
            let object = Value::Object(members.collect::<Map<_, _>>());
            serde_json::to_writer_pretty(&mut *out, &object)?;
            writeln!(out)?;
        }
    }
    Ok(())
}
