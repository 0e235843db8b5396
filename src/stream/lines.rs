//! Text line by line, each of bounded length, with the place of each line.

use std::io::{self, BufRead, Read};

/// Lines of a text, one of them in memory at a time.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    bytes_max: usize,
    buffer: Vec<u8>,
    number: u64,
    offset: u64,
    /// Where the next line begins.
    position: u64,
}

impl<R: BufRead> Lines<R> {
    /// The lines of this text, none of them longer than `bytes_max` without its line feed.
    pub fn new(input: R, bytes_max: usize) -> Self {
        Self {
            input,
            bytes_max,
            buffer: Vec::new(),
            number: 0,
            offset: 0,
            position: 0,
        }
    }

    /// Number of the line read last, from 1; 0 before the first.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Where that line begins, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next line without its end (a line feed, perhaps with a carriage return before it);
    /// `None` at the end of the text.
    ///
    /// # Errors
    /// The system's error, or a line that is too long (see [`is_too_long`]).
    #[inline]
    pub fn read(&mut self) -> io::Result<Option<&[u8]>> {
        self.number += 1;
        self.offset = self.position;
        self.buffer.clear();
        // One byte more than a line can have, for its line feed; a line without it was cut off here
        // or is the last.
        let mut limited = (&mut self.input).take(self.bytes_max as u64 + 1);
        let bytes = limited.read_until(b'\n', &mut self.buffer)?;
        self.position += bytes as u64;
        if bytes == 0 {
            return Ok(None);
        }
        let line = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        if line.len() > self.bytes_max {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                TooLong(self.bytes_max),
            ));
        }
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }
}

/// Whether [`Lines::read`] failed because a line is too long.
pub fn is_too_long(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<TooLong>())
}

#[derive(Debug, thiserror::Error)]
#[error("line is longer than {0} bytes")]
struct TooLong(usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_their_places() {
        let long = "x".repeat(100_000);
        let text = format!("a\r\n\n{long}\nlast");
        // A buffer far smaller than a line.
        let input = io::BufReader::with_capacity(16, text.as_bytes());
        let mut lines = Lines::new(input, long.len());
        let mut seen = Vec::new();
        while let Some(line) = lines.read().expect("readable") {
            let line = String::from_utf8_lossy(line).into_owned();
            seen.push((lines.number(), lines.offset(), line));
        }
        let end = 5 + long.len() as u64;
        assert_eq!(
            seen,
            [
                (1, 0, "a".into()),
                (2, 3, String::new()),
                (3, 4, long),
                (4, end, "last".into())
            ]
        );
        assert!(
            lines.read().expect("readable").is_none(),
            "the end stays the end"
        );
    }

    #[test]
    fn a_line_too_long_is_told_from_other_errors() {
        let mut lines = Lines::new(&b"abcd\nabcde\n"[..], 4);
        assert_eq!(lines.read().expect("short enough"), Some(&b"abcd"[..]));
        let error = lines.read().expect_err("too long");
        assert!(is_too_long(&error));
        assert_eq!(
            (lines.number(), error.to_string().as_str()),
            (2, "line is longer than 4 bytes")
        );
        assert!(!is_too_long(&io::ErrorKind::InvalidData.into()));
    }

    #[test]
    fn an_endless_line_takes_no_more_memory_than_a_long_one() {
        let mut lines = Lines::new(io::BufReader::new(io::repeat(b'x')), 1000);
        assert!(is_too_long(&lines.read().expect_err("too long")));
        assert!(lines.buffer.capacity() <= 4 * 1000);
    }
}
