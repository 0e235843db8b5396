//! Makes a larger trace out of a small one, to measure the analyzer with: each rank does all it did
//! so many times.
//!
//! `cargo run --release --example stretch_trace -- ARCHIVE TIMES FOLDER`, with a `.tar.xz` archive
//! of DUMPI binary files. Clocks go back at each repetition, which no order but that of the clocks
//! looks at.

use std::error::Error;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Calls begin behind the lead-in and the two bases of the clocks.
const CALLS: usize = 16;
/// Label that ends the calls.
const END: [u8; 2] = 293_u16.to_be_bytes();
/// Eight words of eight bytes at the end of a file: the magic number, and where each section is.
const INDEX: usize = 64;
/// Words of the index by section.
const HEADER: usize = 4;
const FOOTER: usize = 6;
/// Functions that a footer counts, and their sum.
const COUNTS: usize = 291;
/// MPI_Finalize, the last call, which stays the only one: its number, and the bytes of its record
/// with both clocks and a thread.
const FINALIZE: usize = 125;
const FINALIZE_BYTES: usize = 29;

/// The file with its calls `times` times, its footer and index to match.
fn stretch(file: &[u8], times: usize) -> Result<Vec<u8>, Box<dyn Error>> {
    let index_at = file.len().checked_sub(INDEX).ok_or("too short for an index")?;
    let word = |number: usize| -> Result<usize, Box<dyn Error>> {
        let at = index_at + number * 8;
        Ok(u64::from_be_bytes(file[at..at + 8].try_into()?) as usize)
    };
    let header = word(HEADER)?;
    let calls = file
        .get(CALLS..header)
        .and_then(|body| body.strip_suffix(&END))
        .ok_or("no end of the calls")?;
    let (calls, finalize) = calls.split_at(calls.len().saturating_sub(FINALIZE_BYTES));
    if !finalize.starts_with(&(FINALIZE as u16).to_be_bytes()) {
        return Err("the calls do not end with MPI_Finalize".into());
    }
    let mut out = file[..CALLS].to_vec();
    (0..times).for_each(|_| out.extend_from_slice(calls));
    let longer = calls.len() * (times - 1);
    let rest = out.len() + FINALIZE_BYTES + END.len();
    out.extend_from_slice(&file[CALLS + calls.len()..]);
    // The footer: a mark of eight bytes, then calls made and calls left out, 32 bits each.
    let footer = rest + (word(FOOTER)? - header) + 8;
    for function in 0..2 * COUNTS {
        let at = footer + function * 4;
        let count = u32::from_be_bytes(out[at..at + 4].try_into()?);
        // The last of the counts is their sum, where the recorder kept it.
        let single = u32::from(function == FINALIZE || function == COUNTS - 1).min(count);
        let count = (count - single) * times as u32 + single;
        out[at..at + 4].copy_from_slice(&count.to_be_bytes());
    }
    for number in 1..INDEX / 8 {
        let place = word(number)?;
        if place >= header {
            let at = index_at + longer + number * 8;
            out[at..at + 8].copy_from_slice(&((place + longer) as u64).to_be_bytes());
        }
    }
    Ok(out)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().collect();
    let [_, archive, times, folder] = arguments.as_slice() else {
        return Err("usage: stretch_trace ARCHIVE TIMES FOLDER".into());
    };
    let times = times.parse::<usize>()?.max(1);
    fs::create_dir_all(folder)?;
    let mut archive = tar::Archive::new(lzma_rust2::XzReader::new(File::open(archive)?, true));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let Some(name) = path.file_name() else { continue };
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        if path.extension().is_some_and(|ending| ending == "bin") {
            bytes = stretch(&bytes, times)?;
        }
        fs::write(Path::new(folder).join(name), bytes)?;
    }
    Ok(())
}
