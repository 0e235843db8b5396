//! Caches unpacked traces.
//!
//! A cache file contains each rank as a DUMPI binary file: compressed ones unpacked, texts encoded.
//! Each rank is followed by its call sites, if any. After the ranks come a directory and a trailer
//! of 40 bytes: magic, version, position and length of the directory, and a hash of all bytes
//! before. The file belongs to a hash of the source's names and contents, so touching or copying
//! the source does not invalidate it. It is written under a temporary name and renamed when
//! complete.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use xxhash_rust::xxh3::Xxh3;

use crate::trace::dumpi::Encoder;
use crate::trace::region::Region;
use crate::trace::{Rank, RunInfo, TextReader, TraceError, TraceErrorKind};

use super::OpenOptions;
use super::files::{Files, Place, Unpacked};
use super::find::{find, sources};

const MAGIC: [u8; 8] = *b"dpacache";
/// Increases with each change of the layout or of the encoding of texts.
const VERSION: u64 = 2;
const TRAILER_BYTES: u64 = 40;
const CHUNK_BYTES: usize = 256 * 1024;
/// Maximum directory size; a directory takes some hundred bytes per rank.
const DIRECTORY_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The directory of a cache file.
#[derive(Debug, Serialize, Deserialize)]
struct Directory {
    source: String,
    processes: Option<u32>,
    hostname: Option<String>,
    start_s: Option<u64>,
    ranks: Vec<Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    rank: u32,
    name: PathBuf,
    start: u64,
    length: u64,
    sites: Option<Sites>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Sites {
    name: PathBuf,
    start: u64,
    length: u64,
}

/// Why a cache file cannot be used.
enum Unusable {
    Missing,
    Damaged(String),
    Stale,
}

/// Opens the trace from its cache. Without a valid cache, opens the source and makes one.
pub(super) fn open(path: &Path, folder: &Path, options: &OpenOptions) -> Result<Files, TraceError> {
    let sources = sources(path)?;
    if sources.is_empty() {
        // `find` reports any error in the source.
        return find(path, options);
    }
    if !sources
        .iter()
        .map(|source| is_worth_it(source))
        .collect::<Result<Vec<_>, _>>()?
        .contains(&true)
    {
        let mut files = find(path, options)?;
        files
            .run
            .notices
            .push("not cached: uncompressed binary files are read as fast as a cache".to_owned());
        return Ok(files);
    }
    let source = fingerprint(&sources, options)?;
    let file = folder.join(cache_name(path));
    let mut notices = Vec::new();
    match load(&file, &source, options)? {
        Ok(files) => return Ok(files),
        Err(Unusable::Missing) => {}
        Err(Unusable::Damaged(what)) => {
            notices.push(format!("the cache {} is damaged ({what}): rebuilt", file.display()));
        }
        Err(Unusable::Stale) => {
            notices.push(format!("the cache {} is outdated: rebuilt", file.display()));
        }
    }
    let mut files = find(path, options)?;
    match make(&files, &source, folder, &file) {
        Ok(()) => {
            let found = std::mem::take(&mut files.run.notices);
            // Reads the new file back to detect a bad disk now.
            let Ok(mut cached) = load(&file, &source, options)? else {
                let what = "the cache does not read back as written".to_owned();
                return Err(TraceError::new(&file, TraceErrorKind::Damaged(what)));
            };
            cached.run.notices = found;
            cached.run.notices.append(&mut notices);
            Ok(cached)
        }
        Err(error) if error.can_be_saved() => {
            // Reads a broken trace without cache, which fails or salvages it.
            files.run.notices.append(&mut notices);
            files.run.notices.push(format!("not cached: {error}"));
            Ok(files)
        }
        Err(error) => Err(error),
    }
}

fn cache_name(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut hash = Xxh3::new();
    hash.update(whole.as_os_str().as_encoded_bytes());
    let base =
        whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{base}-{:016x}.dpacache", hash.digest())
}

/// Whether reading the file costs more than reading a binary file.
fn is_worth_it(source: &Path) -> Result<bool, TraceError> {
    let is_text = |extension| extension == "meta" || extension == "sites";
    if source.extension().is_some_and(is_text) {
        return Ok(false);
    }
    Ok(!super::files::is_plain_binary(&Region::open(source)?)?)
}

fn fingerprint(sources: &[PathBuf], options: &OpenOptions) -> Result<String, TraceError> {
    let mut hash = Xxh3::new();
    for path in sources {
        let file = Region::open(path)?;
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        for length in [name.len() as u64, file.length()] {
            hash.update(&length.to_le_bytes());
        }
        hash.update(name);
        hash_bytes(&file, file.length(), &mut hash, options)?;
    }
    Ok(format!("{:032x}", hash.digest128()))
}

fn hash_bytes(
    file: &Region,
    length: u64,
    hash: &mut Xxh3,
    options: &OpenOptions,
) -> Result<(), TraceError> {
    let mut input = file.reader().take(length);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        options.check_interrupt(file.name())?;
        match input.read(&mut chunk).map_err(|error| TraceError::new(file.name(), error))? {
            0 => return Ok(()),
            count => hash.update(&chunk[..count]),
        }
    }
}

/// Whether a directory fits there: it ends at the trailer and is not too long.
fn is_directory(start: u64, length: u64, trailer_at: u64) -> bool {
    start.checked_add(length) == Some(trailer_at) && length <= DIRECTORY_BYTES_MAX
}

/// Reads a whole cache file and compares its hash.
fn load(
    file: &Path,
    source: &str,
    options: &OpenOptions,
) -> Result<Result<Files, Unusable>, TraceError> {
    if !file.exists() {
        return Ok(Err(Unusable::Missing));
    }
    let region = Region::open(file)?;
    let damaged = |what: &str| Ok(Err(Unusable::Damaged(what.to_owned())));
    let Some(trailer_at) = region.length().checked_sub(TRAILER_BYTES) else {
        return damaged("it is too short");
    };
    let trailer = region.bytes_at(trailer_at, TRAILER_BYTES)?;
    let words = trailer.as_chunks::<8>().0;
    let [magic, version, start, length, recorded] = words else {
        return damaged("it has no trailer");
    };
    let [version, start, length, recorded] =
        [version, start, length, recorded].map(|word| u64::from_le_bytes(*word));
    if *magic != MAGIC {
        return damaged("it has no valid trailer");
    }
    if version != VERSION {
        return Ok(Err(Unusable::Stale));
    }
    if !is_directory(start, length, trailer_at) {
        return damaged("its directory is out of place");
    }
    let mut hash = Xxh3::new();
    hash_bytes(&region, trailer_at, &mut hash, options)?;
    if hash.digest() != recorded {
        return damaged("its hash differs");
    }
    let Ok(directory) = serde_json::from_slice::<Directory>(&region.bytes_at(start, length)?)
    else {
        return damaged("its directory is invalid");
    };
    if directory.source != source {
        return Ok(Err(Unusable::Stale));
    }
    let Directory { processes, hostname, start_s, ranks, .. } = directory;
    let Ok(numbers) =
        ranks.iter().map(|entry| Rank::new(entry.rank)).collect::<Result<Vec<_>, _>>()
    else {
        return damaged("its directory has an invalid rank");
    };
    let part = |name, start, length| Place::Part(region.part(name, start, length));
    let mut places = Vec::new();
    let mut sites = BTreeMap::new();
    for (rank, entry) in numbers.iter().zip(ranks) {
        places.push(part(entry.name, entry.start, entry.length));
        sites.extend(entry.sites.map(|its| (*rank, part(its.name, its.start, its.length))));
    }
    let run = RunInfo { processes, hostname, start_s, notices: Vec::new() };
    Ok(Ok(Files { run, ranks: numbers, places, sites, options: options.clone() }))
}

/// Writes a cache file under a temporary name, and removes it on any error.
fn make(files: &Files, source: &str, folder: &Path, file: &Path) -> Result<(), TraceError> {
    let about = |error: io::Error| TraceError::new(file, error);
    fs::create_dir_all(folder).map_err(about)?;
    let temporary = NamedTempFile::new_in(folder).map_err(about)?;
    let mut out =
        HashingWriter { inner: io::BufWriter::new(temporary), hash: Xxh3::new(), written: 0 };
    let mut ranks = Vec::new();
    for &rank in &files.ranks {
        let start = out.written;
        let name = match files.unpacked(rank)? {
            Unpacked::Binary(region) => {
                copy(&region, &mut out, &files.options, &about)?;
                region.name().to_owned()
            }
            Unpacked::Text(name, input) => {
                let reader = TextReader::new(name.clone(), input, rank, false);
                encode(reader, &mut out, &files.options, &about)?;
                name
            }
        };
        let length = out.written - start;
        let copied = |place: &Place| {
            let (region, start) = (place.region()?, out.written);
            copy(&region, &mut out, &files.options, &about)?;
            let length = out.written - start;
            Ok(Sites { name: region.name().to_owned(), start, length })
        };
        let sites = files.sites.get(&rank).map(copied).transpose()?;
        ranks.push(Entry { rank: rank.get(), name, start, length, sites });
    }
    let RunInfo { processes, hostname, start_s, .. } = files.run.clone();
    let directory = Directory { source: source.to_owned(), processes, hostname, start_s, ranks };
    let directory = serde_json::to_vec(&directory).map_err(|error| about(error.into()))?;
    let start = out.written;
    out.write_all(&directory).map_err(about)?;
    let hash = out.hash.digest();
    out.write_all(&MAGIC).map_err(about)?;
    for word in [VERSION, start, directory.len() as u64, hash] {
        out.write_all(&word.to_le_bytes()).map_err(about)?;
    }
    let temporary = out.inner.into_inner().map_err(|error| about(error.into_error()))?;
    temporary.as_file().sync_all().map_err(about)?;
    temporary.persist(file).map_err(|error| about(error.error))?;
    Ok(())
}

fn copy(
    region: &Region,
    out: &mut impl Write,
    options: &OpenOptions,
    about: &dyn Fn(io::Error) -> TraceError,
) -> Result<(), TraceError> {
    let mut input = region.reader();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        options.check_interrupt(region.name())?;
        match input.read(&mut chunk).map_err(|error| TraceError::new(region.name(), error))? {
            0 => return Ok(()),
            count => out.write_all(&chunk[..count]).map_err(about)?,
        }
    }
}

fn encode(
    mut reader: TextReader,
    out: &mut impl Write,
    options: &OpenOptions,
    about: &dyn Fn(io::Error) -> TraceError,
) -> Result<(), TraceError> {
    let mut encoder = Encoder::new();
    let name = reader.file().to_owned();
    while reader.next_into(&mut |call, args| encoder.call(call, args))? {
        if encoder.waiting() >= CHUNK_BYTES {
            options.check_interrupt(&name)?;
            out.write_all(encoder.take()).map_err(about)?;
            encoder.clear();
        }
    }
    encoder.finish(crate::trace::RankReader::info(&reader));
    out.write_all(encoder.take()).map_err(about)
}

struct HashingWriter<W> {
    inner: W,
    hash: Xxh3,
    written: u64,
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hash.update(&bytes[..count]);
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_stands_before_the_trailer_and_has_a_largest_size() {
        assert!(is_directory(100, 20, 120) && is_directory(0, 0, 0));
        assert!(!is_directory(100, 19, 120) && !is_directory(101, 20, 120));
        assert!(!is_directory(u64::MAX, 2, 1), "their sum is more than a word");
        let largest = DIRECTORY_BYTES_MAX;
        assert!(is_directory(7, largest, 7 + largest));
        assert!(!is_directory(7, largest + 1, 8 + largest));
    }
}
