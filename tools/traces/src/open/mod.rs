//! Opens traces: folders, archives and single files, compressed or not.

use std::path::Path;

use super::{Rank, TraceError, TraceSource, goal, otf2};

mod archive;
mod decompress;
mod files;
mod find;
mod names;
mod spool;

/// How to open a trace. By default broken files fail.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Salvage broken files instead of failing.
    pub salvage: bool,
    /// The rank of a single file, which overrides its name.
    pub rank: Option<Rank>,
}

/// Opens a trace: a folder with a run's files, the `.meta` file of one of several runs in a folder,
/// a `.tar` archive, the file of a single rank, a GOAL text `NAME.goal`, or an OTF2 archive, named
/// by its folder or its `.otf2` file. Other files are DUMPI binary files or texts of `dumpi2ascii`,
/// compressed or not with gzip, xz or zstd. Their contents decide the format; only the rank comes
/// from the name.
///
/// # Errors
/// The path cannot be read, or it has no trace or several. Opening a rank finds the errors of its
/// file.
///
/// # Examples
/// ```no_run
/// use dpamatch_traces::{OpenOptions, TraceError};
///
/// fn calls(path: &std::path::Path) -> Result<u64, TraceError> {
///     let trace = dpamatch_traces::open(path, &OpenOptions::default())?;
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
    if goal::is_goal(path) {
        return Ok(Box::new(goal::Goal::open(path)?));
    }
    Ok(match otf2::find(path)? {
        Some(anchor) => Box::new(otf2::Archive::open(&anchor, options)?),
        None => Box::new(find::find(path, options)?),
    })
}
