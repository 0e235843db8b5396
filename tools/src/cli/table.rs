//! Tables of numbers in the three forms of the output.

use std::io::{self, Write};

use clap::ValueEnum;
use comfy_table::{CellAlignment, presets};
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

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Cell {
    Text(String),
    Whole(u64),
    Real(f64),
    None,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Self::Whole(number.into())
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Self::Whole(number as u64)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

impl Cell {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Whole(number) => number.to_string(),
            Self::Real(number) => significant(*number),
            Self::None => "-".to_owned(),
        }
    }

    fn csv(&self) -> String {
        match self {
            Self::Text(text) if text.contains([',', '"', '\n']) => {
                format!("\"{}\"", text.replace('"', "\"\""))
            }
            Self::Text(text) => text.clone(),
            Self::Whole(number) => number.to_string(),
            Self::Real(number) if *number != 0.0 && number.abs() < 1e-3 => format!("{number:e}"),
            Self::Real(number) => number.to_string(),
            Self::None => String::new(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Whole(number) => (*number).into(),
            Self::Real(number) => (*number).into(),
            Self::None => Value::Null,
        }
    }
}

/// Four digits; very small and very large numbers with an exponent.
pub(super) fn significant(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    if !number.is_finite() {
        return number.to_string();
    }
    let magnitude = number.abs().log10().floor() as i32;
    if (-3..7).contains(&magnitude) {
        format!("{number:.*}", usize::try_from(3 - magnitude).unwrap_or(0))
    } else {
        format!("{number:.3e}")
    }
}

/// Rows of values under named columns.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Table {
    /// Its name in CSV, JSON and file names: words joined by `_`.
    pub(super) name: String,
    /// A sentence above it.
    pub(super) title: String,
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(super) fn new(
        name: &str,
        title: impl Into<String>,
        columns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { name: name.to_owned(), title: title.into(), columns, rows: Vec::new() }
    }

    pub(super) fn row(&mut self, row: impl IntoIterator<Item = Cell>) {
        let row: Vec<Cell> = row.into_iter().collect();
        debug_assert_eq!(row.len(), self.columns.len(), "a row has another number of columns");
        self.rows.push(row);
    }

    fn text(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_header(&self.columns);
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            let is_text = self.rows.iter().any(|row| matches!(row[i], Cell::Text(_)));
            if !is_text {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for row in &self.rows {
            table.add_row(row.iter().map(Cell::text));
        }
        let table = table.to_string();
        let lines: Vec<&str> = table.lines().map(str::trim_end).collect();
        format!("{}\n{}", self.title, lines.join("\n"))
    }

    /// The rows as CSV.
    pub(super) fn csv(&self) -> String {
        let mut text = self.columns.join(",") + "\n";
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(Cell::csv).collect();
            text += &(cells.join(",") + "\n");
        }
        text
    }

    fn json(&self) -> Value {
        let object = |row: &Vec<Cell>| {
            let members = self.columns.iter().cloned().zip(row.iter().map(Cell::json));
            Value::Object(members.collect::<Map<_, _>>())
        };
        self.rows.iter().map(object).collect()
    }
}

/// Writes all tables in one form.
pub(super) fn write(out: &mut dyn Write, tables: &[Table], format: Format) -> io::Result<()> {
    match format {
        Format::Table => {
            for (i, table) in tables.iter().enumerate() {
                writeln!(out, "{}{}", if i > 0 { "\n" } else { "" }, table.text())?;
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
            let members = tables.iter().map(|table| (table.name.clone(), table.json()));
            serde_json::to_writer_pretty(&mut *out, &Value::Object(members.collect()))?;
            writeln!(out)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Table {
        let mut table = Table::new("times", "Times.", ["what", "count", "seconds"]);
        table.row(["a, b".into(), 7_u64.into(), 8.4e-9.into()]);
        table.row(["c".into(), Cell::None, 0.5.into()]);
        table
    }

    #[test]
    fn numbers_have_four_digits() {
        let texts = [0.0, 1.0, 1234.56, 0.012345, 9_999_999.0, 1e7, -2.5e-9, f64::INFINITY]
            .map(significant);
        assert_eq!(
            texts,
            ["0", "1.000", "1235", "0.01235", "9999999", "1.000e7", "-2.500e-9", "inf"]
        );
    }

    #[test]
    fn the_three_forms() {
        assert_eq!(example().csv(), "what,count,seconds\n\"a, b\",7,8.4e-9\nc,,0.5\n");
        let text = example().text();
        assert_eq!(text.lines().next(), Some("Times."));
        assert!(
            text.lines().any(|line| line.split_whitespace().eq(["c", "-", "0.5000"])),
            "{text}"
        );
        let mut json = Vec::new();
        write(&mut json, &[example()], Format::Json).expect("a vector takes it");
        let value: Value = serde_json::from_slice(&json).expect("JSON");
        assert_eq!(value["times"][0]["count"], 7);
        assert_eq!(value["times"][1]["count"], Value::Null);
    }
}
