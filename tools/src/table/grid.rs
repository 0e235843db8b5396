//! Columns side by side, within a line width.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width, presets};

use super::{Cell, Table};

const GAP: usize = 2;
/// Least width of a wrapped last column of words.
const WORDS_MIN: usize = 30;

/// The shown columns of a table. Words are aligned left, numbers right.
///
/// If a line has no room for all columns, the extra ones go first, then those at the right, and a
/// line below names them. A last column of words is wrapped instead.
#[derive(Debug)]
pub(super) struct Grid<'a> {
    header: &'a [String],
    rows: Vec<Vec<String>>,
    words: Vec<bool>,
    /// Extra columns, the first to go first.
    extra: Vec<usize>,
}

impl<'a> Grid<'a> {
    pub(super) fn new(table: &'a Table) -> Self {
        let place = |extra: &String| table.columns.iter().position(|column| column == extra);
        let words = |column: usize| {
            let mut cells = table.rows.iter().map(|row| &row[column]);
            cells.any(|cell| matches!(cell, Cell::Text(_)))
        };
        Self {
            header: &table.columns,
            rows: table
                .rows
                .iter()
                .map(|row| row.iter().map(Cell::shown).collect())
                .collect(),
            words: (0..table.columns.len()).map(words).collect(),
            extra: table.extra.iter().filter_map(place).collect(),
        }
    }

    fn width(&self, place: usize) -> usize {
        let cells = self.rows.iter().map(|row| &row[place]);
        let widths = cells
            .chain([&self.header[place]])
            .map(|cell| cell.chars().count());
        widths.max().unwrap_or(0)
    }

    /// Columns that fit lines of this width, and the others.
    fn chosen(&self, width: usize) -> (Vec<usize>, Vec<usize>) {
        let mut shown: Vec<usize> = (0..self.header.len()).collect();
        let mut left_out = Vec::new();
        let last_words = shown
            .last()
            .copied()
            .filter(|&last| last > 0 && self.words[last]);
        let least = |place: usize| match Some(place) == last_words {
            true => self.width(place).min(WORDS_MIN),
            false => self.width(place),
        };
        let fits = |shown: &[usize]| {
            let total: usize = shown.iter().map(|&place| least(place) + GAP).sum();
            total <= width.saturating_add(GAP)
        };
        let rest = (1..self.header.len())
            .rev()
            .filter(|place| !self.extra.contains(place));
        for place in self.extra.iter().copied().chain(rest) {
            if fits(&shown) {
                break;
            }
            if Some(place) != last_words {
                shown.retain(|&other| other != place);
                left_out.push(place);
            }
        }
        left_out.sort_unstable();
        (shown, left_out)
    }

    /// The lines, each ending with a line feed and not longer than `width` if possible.
    pub(super) fn text(&self, width: usize) -> String {
        if self.header.is_empty() {
            return String::new();
        }
        let (shown, left_out) = self.chosen(width);
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(shown.iter().map(|&place| &self.header[place]));
        for row in &self.rows {
            table.add_row(shown.iter().map(|&place| &row[place]));
        }
        let last = shown.len() - 1;
        let all: usize = shown.iter().map(|&place| self.width(place) + GAP).sum();
        let room = width.saturating_sub(all - self.width(shown[last]) - GAP);
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, if i < last { GAP as u16 } else { 0 }));
            if !self.words[shown[i]] {
                column.set_cell_alignment(CellAlignment::Right);
            }
            if i == last && all > width.saturating_add(GAP) {
                let room = u16::try_from(room).unwrap_or(u16::MAX);
                column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(room)));
            }
        }
        table.set_content_arrangement(ContentArrangement::Disabled);
        if all > width.saturating_add(GAP) {
            table.set_content_arrangement(ContentArrangement::Dynamic);
        }
        let rows = table.to_string();
        let mut text: String = rows
            .lines()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect();
        if !left_out.is_empty() {
            let names: Vec<&str> = left_out.iter().map(|&place| &*self.header[place]).collect();
            let line = format!("  with --wide also: {}\n", names.join(", "));
            text += &wrapped(&line, width);
        }
        text
    }
}

/// Wraps text between words at `width` columns. Continuation lines are indented by two more
/// columns. A longer word stays whole.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line
            .strip_suffix('\n')
            .map_or((line, ""), |line| (line, "\n"));
        if line.chars().count() <= width {
            out += line;
        } else {
            let indent = line.len() - line.trim_start().len() + 2;
            let mut used = 0;
            for (i, word) in line.split(' ').enumerate() {
                let length = word.chars().count();
                if i > 0 && used + 1 + length > width && !out.ends_with(' ') {
                    out += "\n";
                    out += &" ".repeat(indent);
                    used = indent;
                } else if i > 0 {
                    out += " ";
                    used += 1;
                }
                out += word;
                used += length;
            }
        }
        out += end;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("t", "", ["name", "first", "second", "third"]);
        table.push(["a".into(), 1_u64.into(), 22_u64.into(), 333_u64.into()]);
        table.push(["bb".into(), 444_444_u64.into(), 5_u64.into(), 6_u64.into()]);
        table
    }

    #[test]
    fn all_columns_stand_where_there_is_room() {
        let text = "name    first  second  third\na           1      22    333\nbb    444,444       5      6\n";
        assert_eq!(Grid::new(&table()).text(28), text);
        assert_eq!(Grid::new(&table()).text(usize::MAX), text);
    }

    #[test]
    fn columns_are_left_out_and_named() {
        let text =
            |extra: &[&str], width| Grid::new(&table().extra(extra.iter().copied())).text(width);
        let right = text(&[], 27);
        assert!(right.starts_with("name    first  second\n"), "{right}");
        assert!(right.ends_with("\n  with --wide also: third\n"), "{right}");
        let extra = text(&["second", "first"], 27);
        assert!(extra.starts_with("name    first  third\n"), "{extra}");
        assert!(extra.ends_with("also: second\n"), "{extra}");
        let most = text(&["second"], 8);
        assert!(most.starts_with("name\na\nbb\n"), "{most}");
    }

    #[test]
    fn a_last_column_of_words_is_broken() {
        let mut table = Table::new("t", "", ["rank", "calls", "result"]);
        let words = "these words are far too many for what is left of the line here";
        table.push(["3".into(), 17_u64.into(), words.into()]);
        let text = Grid::new(&table).text(44);
        assert!(
            text.lines().all(|line| line.chars().count() <= 44),
            "{text}"
        );
        assert!(
            text.starts_with("rank  calls  result\n3        17  these words"),
            "{text}"
        );
        assert_eq!(text.split_whitespace().count(), 3 + 2 + 14, "{text}");
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        let text = "one two three\n  four five six\nseven";
        assert_eq!(
            wrapped(text, 9),
            "one two\n  three\n  four\n    five\n    six\nseven"
        );
        assert_eq!(wrapped(text, 100), text);
        assert_eq!(wrapped("averylongword and", 5), "averylongword\n  and");
    }
}
