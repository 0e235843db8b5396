//! Files of frames, in the classic pcap format with microseconds.

use std::fs::File;
use std::io::Write;

/// First word of a file, and bytes of its header and of a frame's.
const MAGIC: u32 = 0xa1b2_c3d4;
const HEADER: usize = 24;
const FRAME_HEADER: usize = 16;
/// Most bytes of a frame.
const MOST: usize = 1 << 14;

/// Link type of Ethernet.
const ETHERNET: u32 = 1;

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*word))
}

pub(crate) struct Reader {
    bytes: Vec<u8>,
    at: usize,
    /// It begins anew at its end.
    pub(super) repeats: bool,
}

impl Reader {
    pub(crate) fn open(path: &str) -> Result<Self, String> {
        let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
        if bytes.len() < HEADER || bytes[..4] != MAGIC.to_le_bytes() {
            return Err(format!(
                "{path}: no pcap file with microseconds and little-endian numbers"
            ));
        }
        let link = word(&bytes, 20).unwrap_or(0) & 0xffff;
        if link != ETHERNET {
            return Err(format!(
                "{path}: frames of link type {link}, and not of Ethernet"
            ));
        }
        let reader = Self {
            bytes,
            at: HEADER,
            repeats: false,
        };
        reader.tell_what_is_not_played(path);
        Ok(reader)
    }

    /// Says which frames are not played, or not wholly.
    fn tell_what_is_not_played(&self, path: &str) {
        let (mut at, mut frames, mut long) = (HEADER, 0, 0);
        while let Some(length) = word(&self.bytes, at + 8) {
            let next = at + FRAME_HEADER + length as usize;
            if next > self.bytes.len() {
                break;
            }
            frames += 1;
            long += u32::from(length as usize > MOST);
            at = next;
        }
        if at != self.bytes.len() {
            crate::check::note(format_args!(
                "DPA_WIRE: {path}: the file is cut after {frames} frames"
            ));
        }
        if long > 0 {
            crate::check::note(format_args!(
                "DPA_WIRE: {path}: {long} of {frames} frames have more than {MOST} bytes, which are \
                 cut"
            ));
        }
    }

    /// The next frame. None at the end, and where the file is cut.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        if self.repeats && self.at == self.bytes.len() {
            self.at = HEADER;
        }
        let length = word(&self.bytes, self.at + 8)? as usize;
        let begin = self.at + FRAME_HEADER;
        let frame = self
            .bytes
            .get(begin..begin.checked_add(length.min(MOST))?)?
            .to_vec();
        self.at = begin + length;
        Some(frame)
    }
}

pub(crate) struct Writer {
    file: File,
}

impl Writer {
    pub(crate) fn create(path: &str) -> Result<Self, String> {
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&MAGIC.to_le_bytes());
        header[4..8].copy_from_slice(&[2, 0, 4, 0]);
        header[16..20].copy_from_slice(&(MOST as u32).to_le_bytes());
        header[20] = 1;
        let made = File::create(path).and_then(|mut file| file.write_all(&header).map(|()| file));
        made.map(|file| Self { file })
            .map_err(|error| format!("{path}: {error}"))
    }

    pub(crate) fn write(&mut self, frame: &[u8]) {
        let length = (frame.len() as u32).to_le_bytes();
        let mut entry = vec![0; FRAME_HEADER];
        entry[8..12].copy_from_slice(&length);
        entry[12..16].copy_from_slice(&length);
        entry.extend_from_slice(frame);
        if let Err(error) = self.file.write_all(&entry) {
            crate::check::note(format_args!("DPA_WIRE: {error}"));
        }
    }
}
