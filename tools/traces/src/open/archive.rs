//! Reads archives.

use std::io::{self, Read};
use std::path::PathBuf;

use tar::EntryType;

use crate::region::Region;
use crate::{TraceError, TraceErrorKind};

use super::OpenOptions;
use super::decompress::{self, Compression};
use super::files::BEGINNING_BYTES;
use super::names::{rank_name, sites_name};
use super::spool::Spool;

/// Maximum length of a name in an archive, with the attributes around it, in bytes.
const NAME_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) contents: Region,
}

/// The rank files and descriptions in an archive, and the error that ended reading if salvage is
/// on. The file that the error cut is among them unless too little of it is left. A compressed
/// archive is unpacked once into an unnamed file, which ends with the process.
pub(super) fn members(
    archive: &Region,
    compression: Compression,
    options: &OpenOptions,
) -> Result<(Vec<Member>, Option<TraceError>), TraceError> {
    let mut members = Vec::new();
    match read_members(archive, compression, &mut members) {
        Ok(()) => Ok((members, None)),
        Err(error) if options.salvage && !members.is_empty() && error.can_be_saved() => {
            Ok((members, Some(error)))
        }
        Err(error) => Err(error),
    }
}

fn read_members(
    archive: &Region,
    compression: Compression,
    members: &mut Vec<Member>,
) -> Result<(), TraceError> {
    let about = |error: io::Error| about(archive, error);
    let mut spool = match compression {
        Compression::None => None,
        _ => Some(Spool::new().map_err(about)?),
    };
    let mut tar = tar::Archive::new(decompress::reader(archive, compression));
    // Raw entries: this loop reads names of any length up to a bound.
    let mut long_name = None;
    for entry in tar.entries().map_err(about)?.raw(true) {
        let mut entry = entry.map_err(about)?;
        match entry.header().entry_type() {
            EntryType::GNULongName => long_name = Some(bounded(&mut entry).map_err(about)?),
            EntryType::XHeader => {
                let attributes = bounded(&mut entry).map_err(about)?;
                for attribute in tar::PaxExtensions::new(&attributes) {
                    let attribute = attribute.map_err(about)?;
                    if attribute.key_bytes() == b"path" {
                        long_name = Some(attribute.value_bytes().to_vec());
                    }
                }
            }
            EntryType::Regular | EntryType::Continuous => {
                let name = long_name
                    .take()
                    .unwrap_or_else(|| entry.header().path_bytes().into_owned());
                let name = String::from_utf8_lossy(&name)
                    .trim_end_matches('\0')
                    .to_owned();
                if !is_wanted(&name) {
                    continue;
                }
                let shown = PathBuf::from(format!("{}:{name}", archive.name().display()));
                let Some(spool) = &mut spool else {
                    let contents = archive.part(shown, entry.raw_file_position(), entry.size());
                    members.push(Member { name, contents });
                    continue;
                };
                let length = entry.size();
                let (contents, error) = spool.take_in(&mut entry, shown, &about);
                let is_short = contents.length() < length;
                if !is_short || contents.length() >= BEGINNING_BYTES {
                    members.push(Member { name, contents });
                }
                if let Some(error) = error {
                    return Err(error);
                }
                if is_short {
                    return Err(about(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the archive ends within a file",
                    )));
                }
            }
            _ => long_name = None,
        }
    }
    Ok(())
}

/// Whether a file of this name can belong to a trace.
fn is_wanted(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    base.ends_with(".meta") || rank_name(base).is_some() || sites_name(base).is_some()
}

fn bounded(entry: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    entry.take(NAME_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > NAME_BYTES_MAX {
        let what = format!("a file's name or attributes have more than {NAME_BYTES_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(bytes)
}

/// Errors of decompression and of the archive format are damage; others are I/O errors.
fn about(archive: &Region, error: io::Error) -> TraceError {
    let kind = match error.kind() {
        io::ErrorKind::UnexpectedEof => TraceErrorKind::Truncated(error.to_string()),
        // The archive library has no error kind of its own for format errors.
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
            TraceErrorKind::Damaged(error.to_string())
        }
        _ => error.into(),
    };
    TraceError::new(archive.name(), kind)
}
