//! Stores unpacked bytes in an unnamed file.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::TraceError;
use crate::region::Region;

const CHUNK_BYTES: usize = 256 * 1024;

/// An unnamed temporary file, which ends with the process.
#[derive(Debug)]
pub(super) struct Spool {
    file: Arc<File>,
    length: u64,
}

impl Spool {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            file: Arc::new(tempfile::tempfile()?),
            length: 0,
        })
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
        let mut out = BufWriter::with_capacity(CHUNK_BYTES, &*self.file);
        let copied = io::copy(input, &mut out);
        // What came before an error stays.
        let stored = out.flush().and_then(|()| (&*self.file).stream_position());
        self.length = *stored.as_ref().unwrap_or(&start);
        let error = copied.and(stored).err().map(about);
        (
            Region::part_of(Arc::clone(&self.file), name, start, self.length - start),
            error,
        )
    }
}
