//! Measured costs of the code between a handler's steps.

use dpamatch_vocabulary::step::StepKind;

use crate::machine::{Between, Steps};

/// Written by `cargo xtask rv64 steps`.
const MEASURED: &str = include_str!("../profiles/rv64imac.txt");

/// A line of the table: two names, then numbers. `None` for a comment.
fn line(line: &str) -> Option<(usize, usize, Between)> {
    let mut words = line.split_whitespace();
    let mut place = || {
        let name = words.next().filter(|name| !name.starts_with('#'))?;
        StepKind::ALL.iter().position(|known| known.name() == name)
    };
    let (from, to) = (place()?, place()?);
    let mut number = || words.next()?.parse().ok();
    let between = Between {
        instructions: [number()?, number()?],
        own_lines: [number()?, number()?],
        code_lines: number()?,
    };
    Some((from, to, between))
}

pub(crate) fn measured() -> Steps {
    let mut steps = Steps::new(StepKind::ALL.len());
    for (from, to, between) in MEASURED.lines().filter_map(line) {
        steps.set(from, to, between);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        let rows = MEASURED.lines().filter(|line| !line.starts_with('#'));
        for row in rows {
            assert!(line(row).is_some(), "{row}");
        }
        assert!(MEASURED.lines().filter_map(line).count() > 80);
    }
}
