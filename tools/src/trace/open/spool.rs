//! Stores unpacked bytes in an unnamed file.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::trace::TraceError;
use crate::trace::region::Region;

const CHUNK_BYTES: usize = 256 * 1024;

/// An unnamed temporary file, which ends with the process.
#[derive(Debug)]
pub(super) struct Spool {
    file: Arc<File>,
    length: u64,
    chunk: Vec<u8>,
}

impl Spool {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { file: Arc::new(tempfile::tempfile()?), length: 0, chunk: vec![0; CHUNK_BYTES] })
    }

    /// Stores everything that `read` delivers, as a region with a name for messages; also returns
    /// the error that ended it early. `about` converts I/O errors.
    pub(super) fn take_in(
        &mut self,
        input: &mut dyn Read,
        name: PathBuf,
        about: &dyn Fn(io::Error) -> TraceError,
    ) -> (Region, Option<TraceError>) {
        let start = self.length;
        let error = loop {
            match self.copy_chunk(input).map_err(about) {
                Ok(0) => break None,
                Ok(_) => {}
                Err(error) => break Some(error),
            }
        };
        (Region::part_of(Arc::clone(&self.file), name, start, self.length - start), error)
    }

    fn copy_chunk(&mut self, input: &mut dyn Read) -> io::Result<usize> {
        let count = loop {
            match input.read(&mut self.chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        (&*self.file).write_all(&self.chunk[..count])?;
        self.length += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delivers these pieces in order; `None` is a signal.
    struct Pieces<'a>(Vec<Option<&'a [u8]>>);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.pop() {
                None => Ok(0),
                Some(None) => Err(io::ErrorKind::Interrupted.into()),
                Some(Some(mut piece)) => piece.read(buffer),
            }
        }
    }

    #[test]
    fn taking_in_goes_on_after_a_signal() {
        let mut spool = Spool::new().expect("a temporary file");
        let mut take = |pieces| {
            let about = |error| TraceError::new("pieces", error);
            spool.take_in(&mut Pieces(pieces), "pieces".into(), &about)
        };
        for pieces in [vec![Some(&b"cd"[..]), None, Some(b"ab"), None], vec![Some(b"abcd")]] {
            let (region, error) = take(pieces);
            assert!(error.is_none(), "{error:?}");
            assert_eq!(region.bytes_at(0, 9).expect("readable"), b"abcd");
        }
    }
}
