//! The sections around the calls in a binary file: index, header, footer, sizes of datatypes.

use crate::region::Region;
use crate::{DatatypeSizes, Footer, Function, TraceError, TraceErrorKind};

use super::cursor::{Cursor, Stop};

/// First and last eight bytes of the range that the index covers.
pub(super) const MAGIC: [u8; 8] = [0xff, 0xaa, 0xdd, b'D', b'U', b'M', b'P', b'I'];
pub(super) const BODY: u64 = MAGIC.len() as u64;
/// First word of the footer.
pub(super) const FOOTER_MAGIC: u64 = 0xf007_fee7;
pub(super) const FOOTER_COUNTS: usize = Function::IN_DUMPI + 1;
/// Footer: the magic, then the counts twice.
pub(super) const FOOTER_BYTES: u64 = 8 + 2 * 4 * FOOTER_COUNTS as u64;
/// Maximum size of what is read of a header: version, start, and two texts of 16-bit lengths.
const HEADER_BYTES_MAX: u64 = 3 + 8 + 2 * (2 + u16::MAX as u64);

/// File offsets of the sections; 0 if absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Index {
    pub(super) sizes: u64,
    pub(super) header: u64,
    pub(super) body: u64,
    pub(super) footer: u64,
    /// Upper bound for the end of the calls.
    pub(super) body_end: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) version: [u8; 3],
    pub(super) start_s: u64,
    pub(super) hostname: String,
}

fn damaged(file: &Region, offset: u64, what: impl Into<String>) -> TraceError {
    TraceError::new(file.name(), TraceErrorKind::Damaged(what.into())).at_byte(offset)
}

/// Converts an early stop: the section is in memory up to the end of the file.
fn stopped(file: &Region, offset: u64, section: &str, stop: Stop) -> TraceError {
    match stop {
        Stop::Short(_) => {
            let what = format!("the file ends within the {section}");
            TraceError::new(file.name(), TraceErrorKind::Truncated(what)).at_byte(offset)
        }
        Stop::Fault(what) => damaged(file, offset, format!("{section}: {what}")),
    }
}

/// The index at the end of the file; `None` in a truncated file. It has grown with the versions, so
/// its first word, the magic, may be at one of four offsets.
pub(super) fn index(file: &Region) -> Result<Option<Index>, TraceError> {
    for words in [8, 7, 6, 5_u64] {
        let Some(at) = file
            .length()
            .checked_sub(words * 8)
            .filter(|&at| at >= BODY)
        else {
            continue;
        };
        let bytes = file.bytes_at(at, words * 8)?;
        if !bytes.starts_with(&MAGIC) {
            continue;
        }
        let mut offsets = bytes[8..]
            .as_chunks::<8>()
            .0
            .iter()
            .map(|word| u64::from_be_bytes(*word))
            .rev();
        let mut next = || offsets.next().unwrap_or(0);
        let (keyval, footer, body, header) = (next(), next(), next(), next());
        let (labels, addresses, sizes) = (next(), next(), next());
        let sections = [keyval, footer, body, header, labels, addresses, sizes];
        if let Some(beyond) = sections.into_iter().find(|&section| section > at) {
            return Err(damaged(
                file,
                at,
                format!("the index points to byte {beyond} of {}", file.length()),
            ));
        }
        if body < BODY {
            return Err(damaged(
                file,
                at,
                format!("the index says that the calls begin at byte {body}"),
            ));
        }
        let body_end = sections
            .into_iter()
            .filter(|&section| section > body)
            .min()
            .unwrap_or(at);
        return Ok(Some(Index {
            sizes,
            header,
            body,
            footer,
            body_end,
        }));
    }
    Ok(None)
}

pub(super) fn header(file: &Region, offset: u64) -> Result<Header, TraceError> {
    let bytes = file.bytes_at(offset, HEADER_BYTES_MAX)?;
    let mut cursor = Cursor::new(&bytes);
    let mut read = || {
        let version = [cursor.u8()?, cursor.u8()?, cursor.u8()?];
        let start_s = cursor.u64()?;
        let hostname = String::from_utf8_lossy(cursor.short_text()?).into_owned();
        // The user name and the mesh follow; matching does not need them.
        cursor.short_text()?;
        Ok(Header {
            version,
            start_s,
            hostname,
        })
    };
    read().map_err(|stop| stopped(file, offset, "header", stop))
}

pub(super) fn footer(file: &Region, offset: u64) -> Result<Footer, TraceError> {
    let bytes = file.bytes_at(offset, FOOTER_BYTES)?;
    let mut cursor = Cursor::new(&bytes);
    let mut read = || {
        let magic = cursor.u64()?;
        if magic != FOOTER_MAGIC {
            return Err(Stop::Fault(format!("it begins with {magic:#x}")));
        }
        let mut footer = Footer::default();
        for counts in [&mut footer.called, &mut footer.ignored] {
            for function in Function::all_of_dumpi() {
                counts.add(function, u64::from(cursor.u32()?));
            }
            cursor.u32()?;
        }
        Ok(footer)
    };
    read().map_err(|stop| stopped(file, offset, "footer", stop))
}

pub(super) fn sizes(file: &Region, offset: u64) -> Result<DatatypeSizes, TraceError> {
    let short = |stop| stopped(file, offset, "table of datatype sizes", stop);
    let count = Cursor::new(&file.bytes_at(offset, 4)?)
        .count()
        .map_err(short)?;
    let bytes = file.bytes_at(offset, 4 + 4 * count as u64)?;
    let entries = Cursor::new(&bytes)
        .list(4)
        .map_err(short)?
        .as_chunks::<4>()
        .0;
    // A negative size is invalid and counts as unknown.
    let size = |entry: &[u8; 4]| u32::try_from(i32::from_be_bytes(*entry)).unwrap_or(0);
    Ok(DatatypeSizes::new(entries.iter().map(size).collect()))
}
