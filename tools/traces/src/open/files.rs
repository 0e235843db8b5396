//! A run whose ranks are files or parts of a file.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};
use std::path::PathBuf;

use crate::region::Region;
use crate::sites::BadLine;
use crate::{
    BinaryReader, CallSites, Rank, RankReader, RunInfo, TextReader, TraceError, TraceErrorKind,
    TraceSource,
};

use super::OpenOptions;
use super::decompress::{self, Compression};
use super::spool::Spool;

/// Bytes read to detect a file's format.
pub(super) const BEGINNING_BYTES: u64 = 512;
/// First bytes of a DUMPI binary file.
const MAGIC: [u8; 4] = [0xff, 0xaa, 0xdd, b'D'];

/// Offset of the magic in an archive's first header.
const TAR_MAGIC_AT: usize = 257;

#[derive(Clone, Debug)]
pub(super) enum Location {
    File(PathBuf),
    Part(Region),
}

impl Location {
    pub(super) fn region(&self) -> Result<Region, TraceError> {
        match self {
            Self::File(path) => Region::open(path),
            Self::Part(region) => Ok(region.clone()),
        }
    }
}

/// A run with one place per rank, ascending.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) run: RunInfo,
    pub(super) ranks: Vec<Rank>,
    pub(super) places: Vec<Location>,
    pub(super) sites: BTreeMap<Rank, Location>,
    pub(super) options: OpenOptions,
}

impl Files {
    pub(super) fn region(&self, rank: Rank) -> Result<Region, TraceError> {
        let Ok(at) = self.ranks.binary_search(&rank) else {
            let what = format!("no such rank; the trace has {}", ranges(&self.ranks));
            let rank = format!("rank {}", rank.get());
            return Err(TraceError::new(rank, TraceErrorKind::Unsupported(what)));
        };
        self.places[at].region()
    }

    /// The uncompressed bytes of a rank: random access for a binary file, a stream for a text.
    pub(super) fn unpacked(&self, rank: Rank) -> Result<Unpacked, TraceError> {
        let file = self.region(rank)?;
        let beginning = file.bytes_at(0, BEGINNING_BYTES)?;
        if beginning.is_empty() {
            let what = TraceErrorKind::Unsupported("the file is empty".to_owned());
            return Err(TraceError::new(file.name(), what));
        }
        let compression = Compression::detect(&beginning);
        if compression == Compression::None {
            return Ok(if beginning.starts_with(&MAGIC) {
                Unpacked::Binary(file)
            } else {
                Unpacked::Text(
                    file.name().to_owned(),
                    decompress::reader(&file, compression),
                )
            });
        }
        let about = |error: io::Error| {
            let kind = match error.kind() {
                io::ErrorKind::UnexpectedEof => TraceErrorKind::Truncated(error.to_string()),
                io::ErrorKind::InvalidData => TraceErrorKind::Damaged(error.to_string()),
                _ => error.into(),
            };
            TraceError::new(file.name(), kind)
        };
        let mut input = decompress::reader(&file, compression);
        let mut beginning = Vec::new();
        (&mut input)
            .take(MAGIC.len() as u64)
            .read_to_end(&mut beginning)
            .map_err(about)?;
        let is_binary = beginning == MAGIC;
        let mut whole = Cursor::new(beginning).chain(input);
        if !is_binary {
            return Ok(Unpacked::Text(file.name().to_owned(), Box::new(whole)));
        }
        let mut spool = Spool::new().map_err(about)?;
        match spool.take_in(&mut whole, file.name().to_owned(), &about) {
            (region, None) => Ok(Unpacked::Binary(region)),
            // The bytes unpacked so far form a truncated file.
            (region, Some(error)) if self.options.salvage && error.can_be_saved() => {
                Ok(Unpacked::Binary(region))
            }
            (_, Some(error)) => Err(error),
        }
    }
}

/// Ascending ranks as ranges, such as `ranks 0, 2 to 5`.
pub(super) fn ranges(ranks: &[Rank]) -> String {
    let runs = ranks.chunk_by(|a, b| a.get() + 1 == b.get());
    let runs: Vec<String> = runs
        .map(|run| match run {
            [one] => one.get().to_string(),
            _ => format!("{} to {}", run[0].get(), run[run.len() - 1].get()),
        })
        .collect();
    format!(
        "{} {}",
        if ranks.len() == 1 { "rank" } else { "ranks" },
        runs.join(", ")
    )
}

pub(super) fn is_tar(beginning: &[u8]) -> bool {
    beginning
        .get(TAR_MAGIC_AT..)
        .is_some_and(|magic| magic.starts_with(b"ustar"))
}

pub(super) enum Unpacked {
    Binary(Region),
    Text(PathBuf, Box<dyn Read + Send>),
}

impl TraceSource for Files {
    fn run(&self) -> &RunInfo {
        &self.run
    }

    fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    fn open(&self, rank: Rank) -> Result<Box<dyn RankReader + '_>, TraceError> {
        let salvage = self.options.salvage;
        Ok(match self.unpacked(rank)? {
            Unpacked::Binary(file) => Box::new(BinaryReader::new(file, rank, salvage)?),
            Unpacked::Text(name, input) => Box::new(TextReader::new(name, input, rank, salvage)),
        })
    }

    fn sites(&self, rank: Rank) -> Result<Option<CallSites>, TraceError> {
        let Some(place) = self.sites.get(&rank) else {
            return Ok(None);
        };
        let file = place.region()?;
        let about = |what: String| TraceError::new(file.name(), TraceErrorKind::Damaged(what));
        let mut text = String::new();
        let mut bytes = decompress::reader(&file, Compression::None);
        bytes
            .read_to_string(&mut text)
            .map_err(|error| about(error.to_string()))?;
        let wrong = |bad: BadLine| about(bad.what.to_owned()).at_line(bad.line);
        CallSites::parse(&text).map(Some).map_err(wrong)
    }
}
