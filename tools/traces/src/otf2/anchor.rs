//! The anchor file, which names an archive and says how its files are written.

use std::fs;
use std::path::{Path, PathBuf};

use crate::region::Region;
use crate::{TraceError, TraceErrorKind};

use super::cursor::{Cursor, Fault};

const ANCHOR_BYTES_MAX: u64 = 64 * 1024;
/// Limits of the OTF2 library for chunks.
const CHUNK_BYTES: std::ops::RangeInclusive<u64> = 256 * 1024..=16 * 1024 * 1024;
/// Files as such; 2 is SIONlib.
const POSIX: u8 = 1;
const UNCOMPRESSED: u8 = 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Anchor {
    pub(super) version: [u8; 3],
    pub(super) event_chunk_bytes: u64,
    pub(super) definition_chunk_bytes: usize,
}

/// The anchor file at a path: the file itself, or the only one in a folder.
///
/// # Errors
/// The folder has several.
pub(crate) fn find(path: &Path) -> Result<Option<PathBuf>, TraceError> {
    let is_anchor = |path: &Path| {
        path.extension()
            .is_some_and(|extension| extension == "otf2")
    };
    if !path.is_dir() {
        return Ok(is_anchor(path).then(|| path.to_owned()));
    }
    let about = |error| TraceError::new(path, error);
    let mut found: Option<PathBuf> = None;
    for entry in fs::read_dir(path).map_err(about)? {
        let anchor = entry.map_err(about)?.path();
        if is_anchor(&anchor) && found.replace(anchor).is_some() {
            let what = "it has several OTF2 archives: name the .otf2 file of one".to_owned();
            return Err(TraceError::new(path, TraceErrorKind::Unsupported(what)));
        }
    }
    Ok(found)
}

pub(super) fn read(path: &Path) -> Result<Anchor, TraceError> {
    let bytes = Region::open(path)?.bytes_at(0, ANCHOR_BYTES_MAX)?;
    let unsupported = |what: String| TraceError::new(path, TraceErrorKind::Unsupported(what));
    let (anchor, substrate, compression) = fields(&bytes).map_err(|fault| fault.at(path, 0))?;
    if substrate != POSIX || compression != UNCOMPRESSED {
        let what = "its events are in SIONlib containers or compressed: only plain files are read";
        return Err(unsupported(what.to_owned()));
    }
    let sizes = [
        anchor.event_chunk_bytes,
        anchor.definition_chunk_bytes as u64,
    ];
    if let Some(size) = sizes.iter().find(|size| !CHUNK_BYTES.contains(size)) {
        let what = format!("chunks of {size} bytes");
        return Err(TraceError::new(path, TraceErrorKind::Damaged(what)));
    }
    Ok(anchor)
}

fn fields(bytes: &[u8]) -> Result<(Anchor, u8, u8), Fault> {
    let mut cursor = Cursor::new(bytes)?;
    if cursor.text()? != b"OTF2" {
        return Err(Fault::Wrong("it does not begin with OTF2"));
    }
    let (_anchor_format, _trace_format) = (cursor.u8()?, cursor.u8()?);
    let version = [cursor.u8()?, cursor.u8()?, cursor.u8()?];
    let (event_chunk_bytes, definitions) = (cursor.whole_u64()?, cursor.whole_u64()?);
    let definition_chunk_bytes = usize::try_from(definitions).unwrap_or(usize::MAX);
    let anchor = Anchor {
        version,
        event_chunk_bytes,
        definition_chunk_bytes,
    };
    Ok((anchor, cursor.u8()?, cursor.u8()?))
}
