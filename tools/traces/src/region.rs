//! A part of a file, or bytes in memory, with random access for several readers at once.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::TraceError;
use crate::regular;

/// A range of bytes: a whole file, a part of one, or a buffer.
#[derive(Clone, Debug)]
pub struct Region {
    name: PathBuf,
    bytes: Bytes,
    start: u64,
    length: u64,
}

#[derive(Clone, Debug)]
enum Bytes {
    File(Arc<File>),
    Memory(Arc<[u8]>),
}

impl Region {
    /// Opens a whole file.
    ///
    /// # Errors
    /// The file cannot be opened or is not a regular file.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let about = |error: io::Error| TraceError::new(path, error);
        let file = regular::open(path).map_err(about)?;
        let metadata = file.metadata().map_err(about)?;
        Ok(Self::part_of(
            Arc::new(file),
            path.to_owned(),
            0,
            metadata.len(),
        ))
    }

    pub(super) fn part_of(file: Arc<File>, name: PathBuf, start: u64, length: u64) -> Self {
        Self {
            name,
            bytes: Bytes::File(file),
            start,
            length,
        }
    }

    /// A part of this region, with its own name for messages, cut at the region's end.
    pub(super) fn part(&self, name: PathBuf, start: u64, length: u64) -> Self {
        let start = start.min(self.length);
        let length = length.min(self.length - start);
        Self {
            name,
            bytes: self.bytes.clone(),
            start: self.start + start,
            length,
        }
    }

    /// Bytes in memory, with a name for messages.
    pub fn memory(name: impl Into<PathBuf>, bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let length = bytes.len() as u64;
        Self {
            name: name.into(),
            bytes: Bytes::Memory(bytes),
            start: 0,
            length,
        }
    }

    /// The file's name, for messages.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Its length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Reads from this offset until `buffer` is full or the region ends; returns the number of
    /// bytes.
    pub(super) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let buffer = &mut buffer[..wanted];
        match &self.bytes {
            Bytes::Memory(bytes) => {
                // The region lies within the bytes, so both fit a usize.
                let from = (self.start + offset) as usize;
                buffer.copy_from_slice(&bytes[from..from + wanted]);
            }
            Bytes::File(file) => read_all(buffer, self.start + offset, |buffer, offset| {
                read_some(file, buffer, offset)
            })?,
        }
        Ok(wanted)
    }

    /// At most `length` bytes from this offset, fewer at the region's end.
    pub(super) fn bytes_at(&self, offset: u64, length: u64) -> Result<Vec<u8>, TraceError> {
        let length = length.min(self.length.saturating_sub(offset));
        // The region has at least `length` bytes.
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        self.read_at(offset, &mut bytes)
            .map_err(|error| TraceError::new(&self.name, error).at_byte(offset))?;
        Ok(bytes)
    }

    pub(super) fn reader(&self) -> RegionReader {
        RegionReader {
            region: self.clone(),
            at: 0,
        }
    }
}

/// Fills the buffer from this offset with the output of `read`, over short reads and signals.
fn read_all(
    buffer: &mut [u8],
    offset: u64,
    mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
) -> io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        match read(&mut buffer[done..], offset + done as u64) {
            Ok(0) => {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the file has shrunk",
                ));
            }
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(unix)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

#[derive(Debug)]
pub(super) struct RegionReader {
    region: Region,
    at: u64,
}

impl io::Read for RegionReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.region.read_at(self.at, buffer)?;
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_part_of_a_file_ends_where_it_ends() {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(b"0123456789").expect("room");
        let part = Region::part_of(Arc::new(file), "part".into(), 2, 5);
        let mut text = String::new();
        part.reader().read_to_string(&mut text).expect("readable");
        assert_eq!(text, "23456");
        assert_eq!(part.bytes_at(3, 9).expect("readable"), b"56");
        assert_eq!(part.bytes_at(9, 9).expect("readable"), b"");
        let beyond = Region { length: 50, ..part };
        assert_eq!(
            beyond
                .bytes_at(0, 50)
                .map_err(|error| error.to_string())
                .err()
                .as_deref(),
            { Some("part: byte 0: the file has shrunk") }
        );
    }

    #[test]
    fn a_read_goes_on_after_a_signal() {
        let mut answers = vec![
            Err(io::ErrorKind::PermissionDenied),
            Ok(2),
            Err(io::ErrorKind::Interrupted),
            Ok(1),
        ];
        let mut asked = Vec::new();
        let mut read = |buffer: &mut [u8], offset: u64| {
            asked.push((offset, buffer.len()));
            let count = answers
                .pop()
                .expect("one of four answers")
                .map_err(io::Error::from)?;
            buffer[..count].fill(b'x');
            Ok(count)
        };
        let mut buffer = *b"----";
        assert!(read_all(&mut buffer[..3], 10, &mut read).is_ok());
        assert_eq!(&buffer, b"xxx-");
        let denied = read_all(&mut buffer, 20, &mut read).expect_err("the last answer");
        assert_eq!(denied.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(asked, [(10, 3), (11, 2), (11, 2), (20, 4)]);
    }
}
