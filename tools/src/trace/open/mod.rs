//! Opens traces: folders, archives and single files, compressed or not.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Rank, TraceError, TraceErrorKind, TraceSource};

mod archive;
mod cache;
mod decompress;
mod files;
mod find;
mod names;
mod spool;

#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Salvage broken files instead of failing.
    pub salvage: bool,
    /// The rank of a single file, which overrides its name.
    pub rank: Option<Rank>,
    /// A folder that caches unpacked traces, created on demand. `None` caches nothing.
    pub cache: Option<PathBuf>,
    /// Another thread sets it to stop: opening then fails with
    /// [`Interrupted`](TraceErrorKind::Interrupted).
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl OpenOptions {
    /// # Errors
    /// [`Interrupted`](TraceErrorKind::Interrupted) if the user wants to stop; `file` is being
    /// read.
    pub fn check_interrupt(&self, file: &Path) -> Result<(), TraceError> {
        // Relaxed: the flag guards no other memory.
        match &self.interrupt {
            Some(flag) if flag.load(Ordering::Relaxed) => {
                Err(TraceError::new(file, TraceErrorKind::Interrupted))
            }
            _ => Ok(()),
        }
    }
}

/// Opens a trace: a folder with a run's files, the `.meta` file of one of several runs in a folder,
/// a `.tar` archive, or the file of a single rank. Files are DUMPI binary files or texts of
/// `dumpi2ascii`, compressed with gzip, xz or zstd or not. The contents decide the format; only the
/// rank comes from the name.
///
/// # Errors
/// The path cannot be read, or it has no trace or several. Opening a rank finds the errors of its
/// file.
///
/// # Examples
/// ```no_run
/// use dpamatch_tools::trace::{self, OpenOptions, TraceError};
///
/// fn calls(path: &std::path::Path) -> Result<u64, TraceError> {
///     let trace = trace::open(path, &OpenOptions::default())?;
///     let mut calls = 0;
///     for &rank in trace.ranks() {
///         let mut reader = trace.open(rank)?;
///         while reader.next_call()?.is_some() {
///             calls += 1;
///         }
///     }
///     Ok(calls)
/// }
/// ```
pub fn open(path: &Path, options: &OpenOptions) -> Result<Box<dyn TraceSource>, TraceError> {
    let files = match &options.cache {
        Some(folder) => cache::open(path, folder, options)?,
        None => find::find(path, options)?,
    };
    Ok(Box::new(files))
}
