//! Standard output: buffered into files and pipes, line by line to a terminal.

use std::io::{self, BufWriter, IsTerminal, Write};

const BUFFER_BYTES: usize = 64 * 1024;

/// Standard output. Flush it at the end, or an error of the last write is lost.
pub fn stdout() -> Box<dyn Write> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        Box::new(stdout.lock())
    } else {
        Box::new(BufWriter::with_capacity(BUFFER_BYTES, stdout.lock()))
    }
}

/// Whether the cause is that the reader closed the output.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io_error = |cause: &(dyn std::error::Error + 'static)| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    error.chain().any(io_error)
}
