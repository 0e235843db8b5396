//! Reads the pattern of a sparse matrix from a Matrix Market file.
//!
//! The format (NIST, *The Matrix Market exchange formats*): a line
//! `%%MatrixMarket matrix coordinate FIELD SYMMETRY`, comment lines with `%`, a line
//! `ROWS COLUMNS ENTRIES`, and one line `ROW COLUMN [VALUES]` per entry, counted from 1. A
//! symmetric matrix stores only one triangle.

use dpamatch_tools::counted;

use std::io::BufRead;

use super::lines::{InputError, Lines};
use super::sparse::Pattern;

/// Most entries to reserve memory for before reading them.
const RESERVED_MAX: u64 = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Symmetry {
    General,
    /// Symmetric, skew-symmetric or Hermitian: the pattern is symmetric.
    Mirrored,
}

/// Reads a matrix, symmetric ones with both triangles. Dense files (`array`) are refused.
///
/// # Errors
/// [`InputError`] with the line.
pub fn read(input: impl BufRead) -> Result<Pattern, InputError> {
    let mut lines = Lines::new(input, '%');
    let (values, symmetry) = match lines.next()?.as_deref().map(header) {
        Some(header) => header.map_err(|what| lines.fail(what))?,
        None => return Err(lines.fail("the file is empty")),
    };
    let Some(sizes) = lines.next_content()? else {
        return Err(lines.fail("the line ROWS COLUMNS ENTRIES is missing"));
    };
    let sizes: Vec<u64> = numbers(&sizes).map_err(|what| lines.fail(what))?;
    let &[rows, columns, count] = &sizes[..] else {
        return Err(lines.fail(format!(
            "has {}, ROWS COLUMNS ENTRIES are three",
            counted(sizes.len(), "number")
        )));
    };
    for (name, size) in [("rows", rows), ("columns", columns)] {
        if size > u64::from(u32::MAX) {
            return Err(lines.fail(format!("{name} is {size}, must be at most {}", u32::MAX)));
        }
    }
    if symmetry == Symmetry::Mirrored && rows != columns {
        return Err(lines.fail(format!(
            "a symmetric matrix has {} and {}",
            counted(rows, "row"),
            counted(columns, "column")
        )));
    }
    let mut entries = Vec::with_capacity(count.min(RESERVED_MAX) as usize);
    let mut read = 0_u64;
    while let Some(text) = lines.next_content()? {
        if read == count {
            return Err(lines.fail(format!("more entries than the {count} announced")));
        }
        let (row, column) = entry(&text, values, rows, columns).map_err(|what| lines.fail(what))?;
        entries.push((row, column));
        if symmetry == Symmetry::Mirrored && row != column {
            entries.push((column, row));
        }
        read += 1;
    }
    if read < count {
        return Err(lines.fail(format!("the file ends after entry {read} of {count}")));
    }
    Ok(Pattern::new(rows as u32, columns as u32, entries))
}

/// Number of values per entry, and the symmetry.
fn header(text: &str) -> Result<(usize, Symmetry), String> {
    let words: Vec<String> = text
        .split_whitespace()
        .map(str::to_ascii_lowercase)
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let &["%%matrixmarket", "matrix", format, field, symmetry] = &words[..] else {
        return Err("must be %%MatrixMarket matrix coordinate FIELD SYMMETRY".to_owned());
    };
    if format != "coordinate" {
        return Err(format!("format is {format}, must be coordinate"));
    }
    let values = match field {
        "pattern" => 0,
        "real" | "integer" => 1,
        "complex" => 2,
        _ => {
            return Err(format!(
                "field is {field}, must be real, integer, complex or pattern"
            ));
        }
    };
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" | "skew-symmetric" | "hermitian" => Symmetry::Mirrored,
        _ => {
            return Err(format!(
                "symmetry is {symmetry}, must be general, symmetric, skew-symmetric or hermitian"
            ));
        }
    };
    Ok((values, symmetry))
}

fn numbers(text: &str) -> Result<Vec<u64>, String> {
    text.split_whitespace()
        .map(|word| {
            word.parse()
                .map_err(|_| format!("{word:?} is no number from 0 up"))
        })
        .collect()
}

fn entry(text: &str, values: usize, rows: u64, columns: u64) -> Result<(u32, u32), String> {
    let mut words = text.split_whitespace();
    let mut place = |name: &str, size: u64| {
        let word = words
            .next()
            .ok_or_else(|| format!("the {name} is missing"))?;
        let number: u64 = word
            .parse()
            .map_err(|_| format!("{name} is {word:?}, must be a number"))?;
        if (1..=size).contains(&number) {
            Ok((number - 1) as u32)
        } else {
            Err(format!("{name} is {number}, must be from 1 to {size}"))
        }
    };
    let at = (place("row", rows)?, place("column", columns)?);
    let given: Vec<&str> = words.collect();
    if given.len() != values {
        return Err(format!(
            "has {} after row and column, the field needs {values}",
            counted(given.len(), "value")
        ));
    }
    match given.into_iter().find(|word| word.parse::<f64>().is_err()) {
        Some(word) => Err(format!("value is {word:?}, must be a number")),
        None => Ok(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_symmetries() {
        let cases = [
            (
                "real general",
                "2 3 2\n2 3 1e5\n1 1 -.5\n",
                vec![(0, 0), (1, 2)],
            ),
            (
                "pattern symmetric",
                "3 3 2\n\n% c\n3 1\n2 2\n",
                vec![(0, 2), (1, 1), (2, 0)],
            ),
            (
                "complex hermitian",
                "2 2 1\n2 1 1.0 2.0\n",
                vec![(0, 1), (1, 0)],
            ),
            (
                "integer skew-symmetric",
                "2 2 1\r\n2 1 7\r\n",
                vec![(0, 1), (1, 0)],
            ),
        ];
        for (kind, rest, expected) in cases {
            let text = format!("%%MatrixMarket matrix coordinate {kind}\n{rest}");
            assert_eq!(
                read(text.as_bytes()).expect(kind).entries(),
                expected,
                "{kind}"
            );
        }
        let upper = "%%MATRIXMARKET MATRIX COORDINATE REAL GENERAL\n0 0 0\n";
        assert_eq!(read(upper.as_bytes()), Ok(Pattern::default()));
    }

    #[test]
    fn wrong_files_are_named_with_the_line() {
        let good = "%%MatrixMarket matrix coordinate real general\n% c\n2 2 2\n1 1 1\n2 2 1\n";
        assert!(read(good.as_bytes()).is_ok());
        for (old, new, message) in [
            (
                "%%MatrixMarket",
                "%MatrixMarket",
                "line 1: must be %%MatrixMarket",
            ),
            (
                "coordinate",
                "array",
                "line 1: format is array, must be coordinate",
            ),
            ("real", "quaternion", "line 1: field is quaternion"),
            ("general", "odd", "line 1: symmetry is odd"),
            ("2 2 2", "2 2", "line 3: has 2 numbers"),
            ("2 2 2", "2 x 2", "line 3: \"x\" is no number from 0 up"),
            ("2 2 2", "2 5000000000 2", "line 3: columns is 5000000000"),
            (
                "2 2 2",
                "2 2 99999999999999",
                "line 5: the file ends after entry 2 of 99999999999999",
            ),
            (
                "2 2 2",
                "2 2 1",
                "line 5: more entries than the 1 announced",
            ),
            ("1 1 1", "0 1 1", "line 4: row is 0, must be from 1 to 2"),
            ("1 1 1", "1 3 1", "line 4: column is 3, must be from 1 to 2"),
            ("1 1 1", "1", "line 4: the column is missing"),
            (
                "1 1 1",
                "1 1",
                "line 4: has 0 values after row and column, the field needs 1",
            ),
            (
                "1 1 1",
                "1 1 one",
                "line 4: value is \"one\", must be a number",
            ),
            (
                "real general\n% c\n2 2",
                "real symmetric\n% c\n2 3",
                "line 3: a symmetric matrix has 2 rows and 3",
            ),
        ] {
            let text = good.replacen(old, new, 1);
            assert_ne!(text, good, "{message}");
            let error = read(text.as_bytes()).expect_err(message).to_string();
            assert!(error.starts_with(message), "{message}: {error}");
        }
        assert_eq!(
            read(&b""[..]).expect_err("empty").to_string(),
            "line 1: the file is empty"
        );
        let long = format!("{good}{}", "1".repeat(70_000));
        assert!(
            read(long.as_bytes())
                .expect_err("long")
                .to_string()
                .starts_with("line 6: is longer than")
        );
    }
}
