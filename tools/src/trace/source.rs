//! The door to all formats: a run of a program, and the calls of one of its ranks.

use std::fmt;

use dpamatch_vocabulary::Rank;

use super::{Arguments, Call, CallSites, DatatypeSizes, Footer, TraceError};

/// What a trace says about the run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunInfo {
    /// Number of processes of `MPI_COMM_WORLD`, if the trace says so.
    pub processes: Option<u32>,
    /// A node of the run.
    pub hostname: Option<String>,
    /// Start of the run in seconds since 1970.
    pub start_s: Option<u64>,
    /// What the user should know about how the trace was found, in sentences.
    pub notices: Vec<String>,
}

/// What a rank's trace says about itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RankInfo {
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: Rank,
    /// Name of the format.
    pub format: &'static str,
    /// Version of the recorder, if known.
    pub version: Option<[u8; 3]>,
    /// The node, if known.
    pub hostname: Option<String>,
    /// Start of the rank in seconds since 1970, if known.
    pub start_s: Option<u64>,
    /// Size of the trace in bytes after decompression, if known beforehand.
    pub bytes: Option<u64>,
    /// Sizes of the rank's datatypes.
    pub sizes: DatatypeSizes,
    /// Calls made and left out; none if the trace does not say.
    pub footer: Option<Footer>,
}

/// How far a broken trace could be read.
#[derive(Debug)]
pub struct Salvage {
    /// Calls that could be read.
    pub calls: u64,
    /// What ended the reading, and where.
    pub error: TraceError,
}

/// A recorded run: one trace per rank, in any format. Ranks can be opened in any order, several at
/// once, and more than once.
pub trait TraceSource: Sync + fmt::Debug {
    /// What is known about the run.
    fn run(&self) -> &RunInfo;

    /// The ranks of `MPI_COMM_WORLD` that have a trace here, ascending. Not all of a run need be
    /// there.
    fn ranks(&self) -> &[Rank];

    /// Begins to read the calls of a rank.
    ///
    /// # Errors
    /// The rank is not among [`ranks`](Self::ranks), its file cannot be opened, or is not what it
    /// should be.
    fn open(&self, rank: Rank) -> Result<Box<dyn RankReader + '_>, TraceError>;

    /// Where in the program a rank's calls are, if that was recorded.
    ///
    /// # Errors
    /// The file of call sites cannot be read, or is none.
    fn sites(&self, _rank: Rank) -> Result<Option<CallSites>, TraceError> {
        Ok(None)
    }
}

/// The calls of one rank, one at a time.
///
/// # Examples
/// ```
/// use dpamatch_tools::trace::{Counts, RankReader, TraceError};
///
/// fn count(reader: &mut dyn RankReader) -> Result<Counts, TraceError> {
///     let mut counts = Counts::default();
///     while let Some(call) = reader.next_call()? {
///         counts.add(call.function, 1);
///     }
///     Ok(counts)
/// }
/// ```
pub trait RankReader: Send {
    /// What is known about the rank before its calls are read.
    fn info(&self) -> &RankInfo;

    /// The next call in the order of return; `None` at the end, and again when asked again. Its
    /// lists live until the call after it is asked for.
    ///
    /// # Errors
    /// The trace cannot be read on. After an error the end follows.
    ///
    /// # Complexity
    /// Linear in the record's length; no memory is taken on the usual path.
    fn next_call(&mut self) -> Result<Option<Call<'_>>, TraceError>;

    /// All arguments of the call that was read last, under their names, if the format keeps them.
    fn arguments(&self) -> Option<&Arguments> {
        None
    }

    /// After the end: what a reader that was asked to save what can be saved had to leave out.
    fn salvage(&self) -> Option<&Salvage> {
        None
    }
}
