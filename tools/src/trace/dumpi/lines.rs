//! A text line by line, with the place of each line.

use std::io::{self, Read};

/// Bytes read at a time.
const CHUNK_BYTES: usize = 64 * 1024;
/// Longest line in bytes. The statuses of a million requests take some 70 million.
const LINE_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Lines of a text. It holds one chunk of the text in memory, more only for a longer line.
pub(super) struct Lines {
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// Place of the line that was read last.
    line: u64,
    offset: u64,
    /// Place of `from`.
    position: u64,
    is_at_end: bool,
}

impl Lines {
    pub(super) fn new(input: Box<dyn Read + Send>) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            from: 0,
            to: 0,
            line: 0,
            offset: 0,
            position: 0,
            is_at_end: false,
        }
    }

    /// Number of the line that was read last, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Where that line begins in the text.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next line without its end; `None` at the end of the text.
    #[inline]
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.line += 1;
        self.offset = self.position;
        let mut searched = self.from;
        let (length, end) = loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[searched..self.to]) {
                let length = searched - self.from + length;
                break (length, 1);
            }
            if self.is_at_end {
                break (self.to - self.from, 0);
            }
            let seen = self.to - self.from;
            self.fill()?;
            searched = self.from + seen;
        };
        if length + end == 0 {
            return Ok(None);
        }
        let start = self.from;
        self.from += length + end;
        self.position += (length + end) as u64;
        let line = &self.buffer[start..start + length];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    #[cold]
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        if self.to == self.buffer.len() {
            if self.to > LINE_BYTES_MAX {
                let what = format!("line {} is longer than {LINE_BYTES_MAX} bytes", self.line);
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            self.buffer.resize((2 * self.to).max(CHUNK_BYTES), 0);
        }
        let count = loop {
            match self.input.read(&mut self.buffer[self.to..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.to += count;
        self.is_at_end = count == 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_their_places() {
        let long = "x".repeat(3 * CHUNK_BYTES);
        let text = format!("a\r\n\n{long}\nlast");
        let mut lines = Lines::new(Box::new(io::Cursor::new(text)));
        let mut seen = Vec::new();
        while let Some(line) = lines.next().expect("readable") {
            let line = String::from_utf8_lossy(line).into_owned();
            seen.push((lines.line(), lines.offset(), line));
        }
        let end = 5 + long.len() as u64;
        assert_eq!(
            seen,
            [(1, 0, "a".into()), (2, 3, String::new()), (3, 4, long), (4, end, "last".into())]
        );
        assert!(lines.next().expect("readable").is_none(), "the end stays the end");
    }
}
