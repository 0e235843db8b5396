//! Tables, for people and programs.

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, presets};
use serde_json::{Map, Value as Json, json};

/// What stands in a cell.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Text.
    Text(String),
    /// A number that was counted.
    Count(u64),
    /// A number that was computed or measured.
    Real(f64),
    /// There is none.
    None,
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<u32> for Value {
    fn from(count: u32) -> Self {
        Self::Count(u64::from(count))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

impl Value {
    /// For people: three significant digits.
    fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(count) => count.to_string(),
            Self::Real(value) if value.abs() >= 100.0 => format!("{value:.0}"),
            Self::Real(value) if value.abs() >= 10.0 => format!("{value:.1}"),
            Self::Real(value) if value.abs() >= 0.1 || *value == 0.0 => format!("{value:.2}"),
            Self::Real(value) => format!("{value:.4}"),
            Self::None => "-".to_owned(),
        }
    }

    fn csv(&self) -> String {
        match self {
            Self::Text(text) if text.contains([',', '"', '\n']) => {
                format!("\"{}\"", text.replace('"', "\"\""))
            }
            Self::Text(text) => text.clone(),
            Self::Count(count) => count.to_string(),
            Self::Real(value) => format!("{value}"),
            Self::None => String::new(),
        }
    }

    fn json(&self) -> Json {
        match self {
            Self::Text(text) => json!(text),
            Self::Count(count) => json!(count),
            Self::Real(value) => json!(value),
            Self::None => Json::Null,
        }
    }
}

/// A table with a heading and what must be known to read it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    /// Names the file.
    pub name: String,
    /// Above the table.
    pub title: String,
    /// Below the table.
    pub notes: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// As many cells as columns in each.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// A table without rows yet.
    pub fn new(
        name: &str,
        title: impl Into<String>,
        columns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            title: title.into(),
            columns: columns.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// With a note.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// One more row.
    pub fn push(&mut self, row: impl IntoIterator<Item = Value>) {
        let row: Vec<Value> = row.into_iter().collect();
        debug_assert_eq!(row.len(), self.columns.len(), "{}", self.title);
        self.rows.push(row);
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_header(&self.columns);
        for row in &self.rows {
            table.add_row(row.iter().map(|value| Cell::new(value.shown())));
        }
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            let is_text = |row: &Vec<Value>| matches!(row[i], Value::Text(_));
            if !self.rows.iter().all(is_text) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let lines = table.to_string();
        let mut out = format!("{}\n", self.title);
        for line in lines.lines() {
            let _ = writeln!(out, "{}", line.trim_end());
        }
        self.notes.iter().for_each(|note| out += &format!("  {note}\n"));
        out
    }

    /// For a page in Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rows = self.rows.iter().map(|row| line(row.iter().map(Value::shown).collect()));
        let rule = line(self.columns.iter().map(|_| "---".to_owned()).collect());
        let notes = self.notes.iter().map(|note| format!("\n{note}\n"));
        let head = format!("{}\n\n{}{rule}", self.title, line(self.columns.clone()));
        head + &rows.chain(notes).collect::<String>()
    }

    /// For programs: RFC 4180, with a header.
    pub fn csv(&self) -> String {
        let header: Vec<String> =
            self.columns.iter().map(|name| Value::from(name.as_str()).csv()).collect();
        let rows =
            self.rows.iter().map(|row| row.iter().map(Value::csv).collect::<Vec<_>>().join(","));
        let mut out = header.join(",") + "\n";
        rows.for_each(|row| out += &(row + "\n"));
        out
    }

    /// For programs: an array of objects, and what the table is.
    pub fn json(&self) -> Json {
        let object = |row: &Vec<Value>| {
            let members = self.columns.iter().cloned().zip(row.iter().map(Value::json));
            Json::Object(members.collect::<Map<_, _>>())
        };
        json!({
            "name": self.name,
            "title": self.title,
            "notes": self.notes,
            "rows": self.rows.iter().map(object).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_table_four_forms() {
        let mut table = Table::new("t", "Title", ["engine", "steps", "ratio"]).note("counted");
        table.push(["list".into(), 5_u64.into(), 1.25.into()]);
        table.push(["a, b".into(), Value::None, 123.456.into()]);
        assert_eq!(table.csv(), "engine,steps,ratio\nlist,5,1.25\n\"a, b\",,123.456\n");
        assert_eq!(
            table.markdown(),
            "Title\n\n| engine | steps | ratio |\n| --- | --- | --- |\n| list | 5 | 1.25 |\n| a, b | - | 123 |\n\ncounted\n"
        );
        let text = table.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[4]), ("Title", "  counted"), "{text}");
        assert!(lines[2].starts_with("list") && lines[2].ends_with("1.25"), "{text}");
        assert!(lines[3].contains(" - ") && lines[3].ends_with("123"), "{text}");
        assert_eq!(
            table.json()["rows"][1],
            json!({"engine": "a, b", "steps": null, "ratio": 123.456})
        );
    }
}
