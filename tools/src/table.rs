//! Tables of numbers, for people, for pages and for programs.

mod grid;
mod html;

use grid::Grid;
pub use grid::wrapped;
pub use html::{escaped, printable};

use indicatif::{HumanBytes, HumanCount};
use serde_json::{Map, Value, json};

use crate::results::{Descriptor, Figure, better, snake_case};

#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    Text(String),
    Count(u64),
    /// A size in bytes, for people in KiB and so on.
    Bytes(u64),
    /// A number that was computed or measured.
    Real(f64),
    /// A number that people see with three decimals, so that a column has one unit.
    Fixed(f64),
    Flag(bool),
    None,
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
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
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<u32> for Cell {
    fn from(count: u32) -> Self {
        Self::Count(count.into())
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
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
    fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(count) => HumanCount(*count).to_string(),
            Self::Bytes(bytes) => HumanBytes(*bytes).to_string(),
            Self::Real(number) => significant(*number),
            Self::Fixed(number) if *number > 0.0 && *number < 5e-4 => "<0.001".to_owned(),
            Self::Fixed(number) => format!("{number:.3}"),
            Self::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
            Self::None => "-".to_owned(),
        }
    }

    pub fn csv(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(count) | Self::Bytes(count) => count.to_string(),
            Self::Real(number) | Self::Fixed(number) if *number != 0.0 && number.abs() < 1e-3 => {
                format!("{number:e}")
            }
            Self::Real(number) | Self::Fixed(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::None => String::new(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Text(text) => json!(text),
            Self::Count(count) | Self::Bytes(count) => json!(count),
            Self::Real(number) | Self::Fixed(number) => json!(number),
            Self::Flag(flag) => json!(flag),
            Self::None => Value::Null,
        }
    }
}

/// Four digits; very small and very large numbers with an exponent.
fn significant(number: f64) -> String {
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

fn is_figure(cell: &Cell) -> bool {
    !matches!(cell, Cell::Text(_) | Cell::Flag(_) | Cell::None)
}

/// Several tables as one CSV: the column `table` has each row's table, and the other columns are
/// those of all tables. A cell of a column that its table lacks is empty. A single table has no
/// column `table`.
pub fn csv(tables: &[&Table]) -> String {
    if let [only] = tables {
        return only.csv();
    }
    let mut columns: Vec<String> = Vec::new();
    for name in tables.iter().flat_map(|table| table.names()) {
        if !columns.contains(&name) {
            columns.push(name);
        }
    }
    let head = std::iter::once("table".to_owned()).chain(columns.iter().cloned());
    let mut records: Vec<Vec<String>> = vec![head.collect()];
    for table in tables {
        let names = table.names();
        for row in &table.rows {
            let cell = |column: &String| {
                let place = names.iter().position(|name| name == column);
                place.map_or(String::new(), |place| row[place].csv())
            };
            let cells = columns.iter().map(cell);
            records.push(std::iter::once(table.name.clone()).chain(cells).collect());
        }
    }
    written(records)
}

/// Records as RFC 4180 wants them.
fn written(records: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut csv = csv::Writer::from_writer(Vec::new());
    for record in records {
        csv.write_record(record).expect("a field for each column");
    }
    let bytes = csv.into_inner().expect("memory takes every byte");
    String::from_utf8(bytes).expect("every field is text")
}

/// A column's name, and what it shows of an item.
pub type Column<'a, T> = (&'a str, fn(&T) -> Cell);

/// Rows of cells under named columns, and what must be known to read them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    /// Its name in CSV, JSON and file names.
    pub name: String,
    pub title: String,
    pub notes: Vec<String>,
    pub columns: Vec<String>,
    /// Columns that a narrow line omits, the first one first.
    pub extra: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
    /// Number of key columns, from the left; the others are figures.
    pub keys: usize,
    /// Names for programs, where the headings do not give good ones.
    names: Vec<(&'static str, &'static str)>,
    /// Measured figures, which differ between runs.
    measured: Vec<&'static str>,
    /// A row's number, a figure, and its value in each round.
    rounds: Vec<(usize, String, Vec<f64>)>,
}

#[derive(Debug)]
pub struct Rows<I> {
    name: String,
    title: String,
    items: I,
}

impl<I: IntoIterator> Rows<I> {
    pub fn columns(self, columns: &[Column<'_, I::Item>]) -> Table {
        let mut table = Table::new(
            &self.name,
            self.title,
            columns.iter().map(|(name, _)| *name),
        );
        for item in self.items {
            table.push(columns.iter().map(|(_, cell)| cell(&item)));
        }
        table
    }
}

impl Table {
    pub fn new(
        name: &str,
        title: impl Into<String>,
        columns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            title: title.into(),
            columns: columns.into_iter().map(Into::into).collect(),
            keys: 1,
            ..Self::default()
        }
    }

    /// A table whose first [`row`](Self::row) names the columns.
    pub fn open(name: &str, title: impl Into<String>) -> Self {
        Self::new(name, title, [""; 0])
    }

    /// A table with a row for each item: [`Rows::columns`] says what a row shows.
    pub fn with_rows<I: IntoIterator>(name: &str, title: impl Into<String>, items: I) -> Rows<I> {
        Rows {
            name: name.to_owned(),
            title: title.into(),
            items,
        }
    }

    pub fn without(mut self, columns: &[&str]) -> Self {
        for name in columns {
            if let Some(place) = self.columns.iter().position(|column| column == name) {
                self.columns.remove(place);
                self.rows.iter_mut().for_each(|row| drop(row.remove(place)));
                self.keys -= usize::from(place < self.keys);
            }
        }
        self
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// With columns that a narrow line omits, the first one first.
    pub fn extra<'a, C: IntoIterator<Item = &'a str>>(mut self, columns: C) -> Self {
        self.extra.extend(columns.into_iter().map(str::to_owned));
        self
    }

    pub fn push(&mut self, row: impl IntoIterator<Item = Cell>) {
        let row: Vec<Cell> = row.into_iter().collect();
        debug_assert_eq!(row.len(), self.columns.len(), "{}", self.title);
        self.rows.push(row);
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = (impl AsRef<str>, Cell)>) {
        let cells = cells
            .into_iter()
            .map(|(name, cell)| (name.as_ref().to_owned(), cell));
        let (names, row): (Vec<String>, Vec<Cell>) = cells.unzip();
        if self.rows.is_empty() {
            self.columns.clone_from(&names);
        }
        debug_assert_eq!(self.columns, names, "{}", self.title);
        self.rows.push(row);
    }

    /// Sets the number of key columns, from the left.
    pub fn keyed(self, keys: usize) -> Self {
        Self { keys, ..self }
    }

    /// Pairs of a heading and the name that programs know its column by; without one, that is the
    /// heading in [`snake_case`].
    pub fn named(mut self, names: &[(&'static str, &'static str)]) -> Self {
        self.names.extend(names);
        self
    }

    /// Marks figures, by their names for programs, as measured.
    pub fn measured(mut self, figures: impl IntoIterator<Item = &'static str>) -> Self {
        self.measured.extend(figures);
        self
    }

    pub fn rounds(&mut self, figure: &str, values: &[f64]) {
        if let (Some(last), false) = (self.rows.len().checked_sub(1), values.is_empty()) {
            self.rounds.push((last, figure.to_owned(), values.to_vec()));
        }
    }

    pub fn names(&self) -> Vec<String> {
        let name = |heading: &String| {
            let given = self.names.iter().find(|(known, _)| known == heading);
            given.map_or_else(|| snake_case(heading), |&(_, name)| name.to_owned())
        };
        self.columns.iter().map(name).collect()
    }

    /// Describes the rows for programs. A measured figure without rounds cannot be compared.
    pub fn descriptor(&self) -> Descriptor {
        let names = self.names();
        let (keys, figures) = names.split_at(self.keys.min(names.len()));
        let is_number = |column: usize| {
            let column = self.keys + column;
            self.rows.iter().any(|row| is_figure(&row[column]))
        };
        let has_rounds = |name: &str| self.rounds.iter().any(|(_, figure, _)| figure == name);
        let compared = |name: &str| !self.measured.contains(&name) || has_rounds(name);
        let figures = figures.iter().enumerate();
        let figures = figures.filter(|&(column, name)| is_number(column) && compared(name));
        Descriptor {
            name: snake_case(&self.name),
            title: self.title.clone(),
            notes: self.notes.clone(),
            keys: keys.to_vec(),
            figures: figures
                .map(|(_, name)| Figure {
                    name: name.clone(),
                    better: better(name),
                })
                .collect(),
        }
    }

    /// For people: title, columns side by side, notes, in lines of `width` columns. Columns that
    /// have no room are named below.
    pub fn text(&self, width: usize) -> String {
        let notes: String = self
            .notes
            .iter()
            .map(|note| format!("  {note}\n"))
            .collect();
        let columns = Grid::new(self).text(width);
        wrapped(&format!("{}\n{columns}{notes}", self.title), width)
    }

    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rows = self
            .rows
            .iter()
            .map(|row| line(row.iter().map(Cell::shown).collect()));
        let rule = line(self.columns.iter().map(|_| "---".to_owned()).collect());
        let notes = self.notes.iter().map(|note| format!("\n{note}\n"));
        let head = format!("{}\n\n{}{rule}", self.title, line(self.columns.clone()));
        head + &rows.chain(notes).collect::<String>()
    }

    /// For programs: RFC 4180, with a header.
    pub fn csv(&self) -> String {
        let rows = self
            .rows
            .iter()
            .map(|row| row.iter().map(Cell::csv).collect());
        written(std::iter::once(self.names()).chain(rows))
    }

    /// For programs: an object for each row.
    pub fn rows_json(&self) -> Value {
        let names = self.names();
        let object = |(number, row): (usize, &Vec<Cell>)| {
            let mut members: Map<String, Value> = names
                .iter()
                .cloned()
                .zip(row.iter().map(Cell::json))
                .collect();
            for (_, figure, values) in self.rounds.iter().filter(|(row, ..)| *row == number) {
                members.insert(format!("{figure}_rounds"), json!(values));
            }
            Value::Object(members)
        };
        self.rows.iter().enumerate().map(object).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let numbers = [
            0.0,
            1.0,
            1234.56,
            0.012345,
            9_999_999.0,
            1e7,
            -2.5e-9,
            f64::INFINITY,
        ];
        let four = numbers.map(significant);
        let expected = [
            "0",
            "1.000",
            "1235",
            "0.01235",
            "9999999",
            "1.000e7",
            "-2.500e-9",
            "inf",
        ];
        assert_eq!(four, expected);
    }

    #[test]
    fn one_table_four_forms() {
        let mut table = Table::new("t", "Title", ["engine", "steps", "ratio"]).note("counted");
        table.push(["list".into(), 5_u64.into(), 1.25.into()]);
        table.push(["a, \"b\"".into(), Cell::None, 8.4e-9.into()]);
        assert_eq!(
            table.csv(),
            "engine,steps,ratio\nlist,5,1.25\n\"a, \"\"b\"\"\",,8.4e-9\n"
        );
        assert_eq!(
            table.markdown(),
            "Title\n\n| engine | steps | ratio |\n| --- | --- | --- |\n| list | 5 | 1.250 |\n\
             | a, \"b\" | - | 8.400e-9 |\n\ncounted\n"
        );
        let text = table.text(100);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[4]), ("Title", "  counted"), "{text}");
        assert!(
            lines[2].starts_with("list") && lines[2].ends_with("1.250"),
            "{text}"
        );
        assert!(
            lines[3].contains(" - ") && lines[3].ends_with("8.400e-9"),
            "{text}"
        );
        let second = json!({"engine": "a, \"b\"", "steps": null, "ratio": 8.4e-9});
        assert_eq!(table.rows_json()[1], second);
    }

    /// A reader of one header reads all tables: no row stands under another table's columns.
    #[test]
    fn several_tables_are_one_csv() {
        let mut first = Table::new("first", "", ["engine", "steps"]);
        first.push(["list".into(), 5_u64.into()]);
        let mut second = Table::new("second", "", ["rank", "engine", "mean us"]);
        second.push([3_u64.into(), "bins".into(), Cell::Fixed(0.25)]);
        assert_eq!(
            csv(&[&first, &second]),
            "table,engine,steps,rank,mean_us\nfirst,list,5,,\nsecond,bins,,3,0.25\n"
        );
        assert_eq!(csv(&[&first]), first.csv());
    }

    #[test]
    fn a_column_of_times_has_one_unit() {
        let shown = [0.0, 3e-6, 7.42e-4, 2310.0].map(|ms| Cell::Fixed(ms).shown());
        assert_eq!(shown, ["0.000", "<0.001", "0.001", "2310.000"]);
        assert_eq!(Cell::Fixed(7.42e-4).csv(), "7.42e-4");
    }

    #[test]
    fn programs_get_names_and_rounds() {
        let columns = [
            "engine",
            "n",
            "us per block",
            "gain %",
            "rate",
            "ns_per_match",
            "what",
        ];
        let mut table = Table::new("a-table", "Title", columns)
            .keyed(2)
            .named(&[("rate", "rate_msgs_per_us")])
            .measured(["ns_per_match", "gain_percent"]);
        let row = |rate: f64| {
            let numbers = [1.5, 2.0, rate, 3.0].map(Cell::from);
            [Cell::from("list"), 8_u64.into()]
                .into_iter()
                .chain(numbers)
                .chain(["x".into()])
        };
        table.push(row(4.0));
        table.push(row(5.0));
        table.rounds("ns_per_match", &[2.0, 3.0, 4.0]);
        let names = "engine,n,us_per_block,gain_percent,rate_msgs_per_us,ns_per_match,what";
        assert_eq!(table.csv().lines().next(), Some(names));
        let described = table.descriptor();
        assert_eq!(
            (described.name.as_str(), &described.keys[..]),
            ("a_table", &["engine".to_owned(), "n".to_owned()][..])
        );
        let figures: Vec<_> = described
            .figures
            .iter()
            .map(|it| (it.name.as_str(), it.better))
            .collect();
        // Without rounds what is measured has no figure, and a text is none.
        let expected = [
            ("us_per_block", None),
            ("rate_msgs_per_us", better("x_per_us")),
            ("ns_per_match", better("x_ns")),
        ];
        assert_eq!(figures, expected);
        let rows = table.rows_json();
        assert_eq!(rows[0].get("ns_per_match_rounds"), None);
        assert_eq!(rows[1]["ns_per_match_rounds"], json!([2.0, 3.0, 4.0]));
        assert_eq!(rows[1]["rate_msgs_per_us"], 5.0);
    }
}
