//! Files of frames, in the classic pcap format with microseconds.

use std::fs::File;
use std::io::Write;

/// First word of a file, and bytes of its header and of a frame's.
const MAGIC: u32 = 0xa1b2_c3d4;
const HEADER: usize = 24;
const FRAME_HEADER: usize = 16;
/// Most bytes of a frame.
const MOST: usize = 1 << 14;

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
            return Err(format!("{path}: no pcap file of this byte order"));
        }
        Ok(Self {
            bytes,
            at: HEADER,
            repeats: false,
        })
    }

    /// The next frame. None at the end, and where the file is cut.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        if self.repeats && self.at == self.bytes.len() {
            self.at = HEADER;
        }
        let length = self.bytes.get(self.at + 8..self.at + 12)?;
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
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
            crate::check::line(format_args!("DPA_WIRE: {error}"));
        }
    }
}
