//! The part of a file that is in memory.

use crate::TraceError;
use crate::region::Region;

const WINDOW_BYTES: usize = 64 * 1024;

/// A window that moves forward over a part of a file.
#[derive(Debug)]
pub(super) struct Window {
    file: Region,
    /// File offset of the end of the part.
    end: u64,
    buffer: Vec<u8>,
    /// Start of the unread bytes in the buffer.
    from: usize,
    to: usize,
    /// File offset of `from`.
    position: u64,
}

impl Window {
    pub(super) fn new(file: Region, start: u64, end: u64) -> Self {
        Self {
            file,
            end,
            buffer: Vec::new(),
            from: 0,
            to: 0,
            position: start,
        }
    }

    pub(super) fn file(&self) -> &Region {
        &self.file
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    #[inline]
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    #[inline]
    pub(super) fn left(&self) -> u64 {
        self.end - self.position
    }

    #[inline]
    pub(super) fn advance(&mut self, count: usize) {
        self.from += count;
        self.position += count as u64;
    }

    /// Reads until `needed` bytes are in memory, or all that are left. The window grows only for
    /// them.
    pub(super) fn fill(&mut self, needed: usize) -> Result<(), TraceError> {
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        // Doubling avoids many small reads of a record whose length becomes known step by step.
        let grown = if needed > self.buffer.len() {
            needed.max(2 * self.buffer.len())
        } else {
            self.buffer.len()
        };
        let left = usize::try_from(self.left()).unwrap_or(usize::MAX);
        self.buffer
            .resize(grown.max(WINDOW_BYTES).min(left).max(self.buffer.len()), 0);
        let offset = self.position + self.to as u64;
        let room = self.buffer.len().min(left) - self.to;
        let count = self
            .file
            .read_at(offset, &mut self.buffer[self.to..self.to + room])
            .map_err(|error| TraceError::new(self.file.name(), error).at_byte(offset))?;
        self.to += count;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_moves_and_grows_only_when_needed() {
        let bytes: Vec<u8> = (0..300_000_u32).map(|byte| byte as u8).collect();
        let mut window = Window::new(Region::memory("bytes", bytes.clone()), 10, 299_990);
        assert!(window.bytes().is_empty());
        window.fill(1).expect("readable");
        assert_eq!(window.bytes(), &bytes[10..10 + WINDOW_BYTES]);
        window.advance(65_000);
        window.fill(1_000).expect("readable");
        assert_eq!(
            (window.position(), window.bytes().len()),
            (65_010, WINDOW_BYTES)
        );
        assert_eq!(window.bytes(), &bytes[65_010..65_010 + WINDOW_BYTES]);
        window.fill(100_000).expect("readable");
        assert_eq!(window.bytes(), &bytes[65_010..65_010 + 2 * WINDOW_BYTES]);
        window.advance(2 * WINDOW_BYTES);
        window.fill(1).expect("readable");
        assert_eq!(window.left(), window.bytes().len() as u64);
        assert_eq!(window.bytes(), &bytes[65_010 + 2 * WINDOW_BYTES..299_990]);
    }

    /// An error is where reading went on, behind the bytes that are already there.
    #[test]
    fn an_error_names_the_byte_that_was_read_next() {
        let mut short = tempfile::tempfile().expect("a file");
        std::io::Write::write_all(&mut short, &vec![7; 2 * WINDOW_BYTES - 1]).expect("a disk");
        let length = 4 * WINDOW_BYTES as u64;
        let file = Region::part_of(std::sync::Arc::new(short), "short".into(), 0, length);
        let mut window = Window::new(file, 10, length);
        window.fill(1).expect("there are as many bytes");
        window.advance(3);
        let error = window
            .fill(WINDOW_BYTES + 1)
            .expect_err("the file ends before");
        assert_eq!(error.offset(), Some(10 + WINDOW_BYTES as u64));
        assert_eq!(window.position(), 13);
    }
}
