//! Reads the lines of a user's file.

use std::io::BufRead;

use dpamatch::stream::lines::{self, is_too_long};

const LINE_BYTES_MAX: usize = 64 * 1024;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct InputError {
    pub line: u64,
    pub what: String,
}

pub(super) struct Lines<R> {
    lines: lines::Lines<R>,
    /// Number of the last line read, from 1; 1 before the first.
    line: u64,
    comment: char,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R, comment: char) -> Self {
        Self {
            lines: lines::Lines::new(input, LINE_BYTES_MAX),
            line: 1,
            comment,
        }
    }

    pub(super) fn fail(&self, what: impl Into<String>) -> InputError {
        InputError {
            line: self.line,
            what: what.into(),
        }
    }

    pub(super) fn next(&mut self) -> Result<Option<String>, InputError> {
        let line = match self.lines.read() {
            Ok(None) => return Ok(None),
            Ok(Some(line)) => std::str::from_utf8(line)
                .map(str::to_owned)
                .map_err(|_| "is not valid UTF-8".to_owned()),
            Err(error) if is_too_long(&error) => {
                Err(format!("is longer than {LINE_BYTES_MAX} bytes"))
            }
            Err(error) => Err(format!("cannot be read: {error}")),
        };
        self.line = self.lines.number();
        line.map(Some).map_err(|what| self.fail(what))
    }

    /// The next line that is neither blank nor a comment, trimmed.
    pub(super) fn next_content(&mut self) -> Result<Option<String>, InputError> {
        while let Some(text) = self.next()? {
            let text = text.trim();
            if !text.is_empty() && !text.starts_with(self.comment) {
                return Ok(Some(text.to_owned()));
            }
        }
        Ok(None)
    }
}
