//! Unpacked bytes on disk, without a name.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::trace::TraceError;
use crate::trace::region::Region;

/// Bytes copied at a time.
const CHUNK_BYTES: usize = 256 * 1024;

/// A temporary file without a name: it goes away with the process, however that ends.
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

    /// Takes in all that can be read, as a region with a name for messages; and the error that
    /// ended it early. `go_on` is asked before each piece, `about` says what an error of reading or
    /// writing means.
    pub(super) fn take_in(
        &mut self,
        input: &mut dyn Read,
        name: PathBuf,
        go_on: &dyn Fn() -> Result<(), TraceError>,
        about: &dyn Fn(io::Error) -> TraceError,
    ) -> (Region, Option<TraceError>) {
        let start = self.length;
        let error = loop {
            match go_on().and_then(|()| self.copy_chunk(input).map_err(about)) {
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
