//! The common interface of all formats: a run, and the calls of its ranks.

use std::collections::BTreeMap;
use std::fmt;

use dpamatch_vocabulary::Rank;

use super::{Arguments, Call, CallSites, DatatypeSizes, Footer, TraceError};

/// What is known of a run before its calls are read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunInfo {
    /// Number of processes of `MPI_COMM_WORLD`, if recorded.
    pub processes: Option<u32>,
    /// A node's name, if recorded.
    pub hostname: Option<String>,
    /// Start of the run in seconds since 1970.
    pub start_s: Option<u64>,
    /// Remarks for the user on how the trace was found, in sentences.
    pub notices: Vec<String>,
}

/// What is known of a rank before its calls are read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RankInfo {
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: Rank,
    /// The name of the format, such as `DUMPI text`.
    pub format: &'static str,
    /// Version of the recorder, if known.
    pub version: Option<[u8; 3]>,
    /// The rank's node, if recorded.
    pub hostname: Option<String>,
    /// Start of the rank in seconds since 1970, if known.
    pub start_s: Option<u64>,
    /// Size of the trace in bytes after decompression, if known beforehand.
    pub bytes: Option<u64>,
    /// The sizes of its datatypes in bytes.
    pub sizes: DatatypeSizes,
    /// Calls made and omitted; `None` if the trace does not say.
    pub footer: Option<Footer>,
}

impl RankInfo {
    /// Data about a trace of which only rank and format are known.
    pub fn new(rank: Rank, format: &'static str) -> Self {
        Self {
            rank,
            format,
            version: None,
            hostname: None,
            start_s: None,
            bytes: None,
            sizes: DatatypeSizes::default(),
            footer: None,
        }
    }
}

/// Where and why reading of a damaged trace ended.
#[derive(Debug)]
pub struct Salvage {
    /// Calls read before the damage.
    pub calls: u64,
    /// The damage.
    pub error: TraceError,
}

/// A recorded run in any format: one trace per rank. Ranks can be opened in any order, several at
/// once, and repeatedly.
pub trait TraceSource: Sync + fmt::Debug {
    /// What is known of the run.
    fn run(&self) -> &RunInfo;

    /// The ranks of `MPI_COMM_WORLD` with a trace, ascending. Some of the run's ranks may be
    /// missing.
    fn ranks(&self) -> &[Rank];

    /// Opens a rank's calls.
    ///
    /// # Errors
    /// The rank is not among [`ranks`](Self::ranks), or its file cannot be opened or is invalid.
    fn open(&self, rank: Rank) -> Result<Box<dyn RankReader + '_>, TraceError>;

    /// The program locations of a rank's calls, if recorded.
    ///
    /// # Errors
    /// The file of call sites cannot be read or is invalid.
    fn sites(&self, _rank: Rank) -> Result<Option<CallSites>, TraceError> {
        Ok(None)
    }
}

/// The calls of one rank, one at a time.
pub trait RankReader: Send {
    /// Data about the rank, known before its calls.
    fn info(&self) -> &RankInfo;

    /// The next call in the order of return; `None` at the end and after it. Its lists live until
    /// the next call. The time is linear in the record's length, and the usual path does not
    /// allocate.
    ///
    /// # Errors
    /// The trace cannot be read further. After an error the trace is at its end.
    fn next_call(&mut self) -> Result<Option<Call<'_>>, TraceError>;

    /// All arguments of the last call, by name, if the format keeps them.
    fn arguments(&self) -> Option<&Arguments> {
        None
    }

    /// At the end of a trace: what was not read, by name, and how often.
    fn unread(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }

    /// At the end of a salvaged trace: what was lost.
    fn salvage(&self) -> Option<&Salvage> {
        None
    }
}
