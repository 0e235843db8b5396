//! Text read line by line, each of bounded length.

use std::io::{BufRead, Read};

/// Longest line in bytes.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// Input that is not what it should be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct InputError {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong.
    pub what: String,
}

pub(super) struct Lines<R> {
    input: R,
    line: u64,
    buffer: Vec<u8>,
    /// Begins a comment line.
    comment: char,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R, comment: char) -> Self {
        Self { input, line: 0, buffer: Vec::new(), comment }
    }

    /// The number of the line read last, from 1; 1 before the first.
    pub(super) fn number(&self) -> u64 {
        self.line.max(1)
    }

    /// Something is wrong with the line read last.
    pub(super) fn fail(&self, what: impl Into<String>) -> InputError {
        InputError { line: self.number(), what: what.into() }
    }

    /// The next line without its end.
    pub(super) fn next(&mut self) -> Result<Option<&str>, InputError> {
        self.buffer.clear();
        let mut limited = (&mut self.input).take(LINE_BYTES_MAX + 1);
        let read = limited.read_until(b'\n', &mut self.buffer);
        if !matches!(read, Ok(0)) {
            self.line += 1;
        }
        match read {
            Ok(0) => return Ok(None),
            Ok(bytes) if bytes as u64 > LINE_BYTES_MAX => {
                return Err(self.fail(format!("is longer than {LINE_BYTES_MAX} bytes")));
            }
            Ok(_) => {}
            Err(error) => return Err(self.fail(format!("cannot be read: {error}"))),
        }
        match std::str::from_utf8(&self.buffer) {
            Ok(text) => Ok(Some(text.trim_end_matches(['\r', '\n']))),
            Err(_) => {
                Err(InputError { line: self.line.max(1), what: "is not valid UTF-8".to_owned() })
            }
        }
    }

    /// The next line that is neither blank nor a comment, without space around it.
    pub(super) fn next_content(&mut self) -> Result<Option<String>, InputError> {
        let comment = self.comment;
        while let Some(text) = self.next()? {
            let text = text.trim();
            if !text.is_empty() && !text.starts_with(comment) {
                return Ok(Some(text.to_owned()));
            }
        }
        Ok(None)
    }
}
