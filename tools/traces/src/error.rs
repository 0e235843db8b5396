//! Errors in traces, and their position.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What is wrong with a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceErrorKind {
    /// The system's error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The data end early: the recorded program was killed, or the file was cut.
    #[error("truncated: {0}")]
    Truncated(String),
    /// The data contradict the format.
    #[error("damaged: {0}")]
    Damaged(String),
    /// Nothing that these readers can read, with the reason.
    #[error("{0}")]
    Unsupported(String),
}

/// An error in a trace, with its file and position.
#[derive(Debug)]
pub struct TraceError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    file: PathBuf,
    offset: Option<u64>,
    line: Option<u64>,
    kind: TraceErrorKind,
}

impl TraceError {
    /// An error in this file, without a position.
    pub fn new(file: impl Into<PathBuf>, kind: impl Into<TraceErrorKind>) -> Self {
        Self(Box::new(Inner {
            file: file.into(),
            offset: None,
            line: None,
            kind: kind.into(),
        }))
    }

    /// Adds the byte, counted from 0 after decompression.
    #[must_use]
    pub fn at_byte(mut self, offset: u64) -> Self {
        self.0.offset = Some(offset);
        self
    }

    /// Adds the line, counted from 1.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.0.line = Some(line);
        self
    }

    /// The file; for an archive's member `ARCHIVE:NAME`.
    pub fn file(&self) -> &Path {
        &self.0.file
    }

    /// The byte, counted from 0 after decompression; `None` if the error concerns the whole file.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The line of a text, counted from 1.
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// Whether the data are damaged, so that the calls before the damage can be salvaged.
    pub fn can_be_saved(&self) -> bool {
        matches!(
            self.0.kind,
            TraceErrorKind::Truncated(_) | TraceErrorKind::Damaged(_)
        )
    }

    /// What is wrong.
    pub fn kind(&self) -> &TraceErrorKind {
        &self.0.kind
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            file,
            offset,
            line,
            kind,
        } = &*self.0;
        write!(f, "{}", file.display())?;
        if let Some(line) = line {
            write!(f, ":{line}")?;
        }
        if let Some(offset) = offset {
            write!(f, ": byte {offset}")?;
        }
        write!(f, ": {kind}")
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            // The message already contains the error's own text.
            TraceErrorKind::Io(error) => error.source(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_place() {
        let error = TraceError::new("a/b.bin", TraceErrorKind::Damaged("no label".to_owned()));
        assert_eq!(error.to_string(), "a/b.bin: damaged: no label");
        assert_eq!(
            error.at_byte(17).to_string(),
            "a/b.bin: byte 17: damaged: no label"
        );
        let error = TraceError::new("t.txt", io::Error::other("gone"))
            .at_line(3)
            .at_byte(90);
        assert_eq!(error.to_string(), "t.txt:3: byte 90: gone");
    }

    /// The message contains the system's error, so the chain begins below it.
    #[test]
    fn causes_begin_below_the_message() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer")]
        struct Outer(#[source] std::fmt::Error);

        let error = TraceError::new("t", io::Error::other(Outer(std::fmt::Error)));
        let cause = std::error::Error::source(&error).expect("a cause");
        assert_eq!(cause.to_string(), std::fmt::Error.to_string());
    }
}
