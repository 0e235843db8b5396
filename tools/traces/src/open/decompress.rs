//! Streaming decompression with bounds on memory and output.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::region::Region;

/// Maximum decoder window: the size that `xz -9` and `zstd -22` (without `--ultra --long`) use.
const WINDOW_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Maximum output of a compressed file: a constant, plus a factor of its size. Traces are
/// compressed 5 to 30 times, polls alone perhaps 300 times.
const UNPACKED_BYTES: u64 = 64 * 1024 * 1024;
const UNPACKED_PER_BYTE: u64 = 1000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compression {
    None,
    Gzip,
    Xz,
    Zstd,
}

impl Compression {
    pub(super) const SUFFIXES: [&'static str; 3] = [".gz", ".xz", ".zst"];

    /// Detects the compression from the first bytes of a file.
    pub(super) fn detect(beginning: &[u8]) -> Self {
        match beginning {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ => Self::None,
        }
    }
}

pub(super) fn reader(file: &Region, compression: Compression) -> Box<dyn Read + Send> {
    let input = BufReader::with_capacity(64 * 1024, file.reader());
    let inner: Box<dyn Read + Send> = match compression {
        Compression::None => return Box::new(input),
        Compression::Gzip => Box::new(MultiGzDecoder::new(input)),
        Compression::Xz => {
            let window_kib = (WINDOW_BYTES_MAX / 1024) as u32 + 1024;
            Box::new(XzReader::new_mem_limit(input, true, window_kib))
        }
        Compression::Zstd => Box::new(Zstd::new(input)),
    };
    let left = file
        .length()
        .saturating_mul(UNPACKED_PER_BYTE)
        .saturating_add(UNPACKED_BYTES);
    Box::new(Bounded {
        inner,
        allowed: left,
        left,
        has_failed: false,
    })
}

/// Fails when the output exceeds the bounds. After an error it reads nothing more, since some
/// decoders do not permit that.
struct Bounded<R> {
    inner: R,
    allowed: u64,
    left: u64,
    has_failed: bool,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_failed {
            return Err(damaged("decompression has failed before"));
        }
        let result = self.inner.read(buffer).and_then(|count| {
            self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
                damaged(&format!(
                    "the compressed file expands to more than {} bytes",
                    self.allowed
                ))
            })?;
            Ok(count)
        });
        result.map_err(|error| {
            // An interrupted read delivers nothing, and the caller retries.
            self.has_failed = error.kind() != io::ErrorKind::Interrupted;
            match error.kind() {
                io::ErrorKind::Interrupted => error,
                io::ErrorKind::UnexpectedEof => {
                    io::Error::new(error.kind(), "the compressed file ends too early")
                }
                _ => damaged(&format!("cannot decompress: {error}")),
            }
        })
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The frames of a zstd file in sequence, each checked against its checksum.
struct Zstd<R> {
    input: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    fn new(input: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_BYTES_MAX);
        Self {
            input,
            decoder,
            is_in_frame: false,
        }
    }

    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.input.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = io::copy(
                        &mut (&mut self.input).take(u64::from(length)),
                        &mut io::sink(),
                    )?;
                    if skipped < u64::from(length) {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(damaged(&error.to_string())),
            }
        }
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.is_in_frame = false;
        match self.decoder.get_checksum_from_data() {
            Some(recorded) if Some(recorded) != self.decoder.get_calculated_checksum() => {
                Err(damaged("the checksum differs"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if self.is_in_frame && self.decoder.is_finished() {
                self.end_frame()?;
            }
            if !self.is_in_frame {
                if !self.next_frame()? {
                    return Ok(0);
                }
                self.is_in_frame = true;
            }
            if !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder
                    .decode_blocks(&mut self.input, one)
                    .map_err(|error| damaged(&error.to_string()))?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut unpacked = Vec::new();
        let file = Region::memory("packed", packed);
        reader(&file, Compression::detect(packed))
            .read_to_end(&mut unpacked)
            .map(|_| unpacked)
    }

    fn packed_in_all_ways(text: &[u8]) -> [Vec<u8>; 3] {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text).expect("room");
        let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1))
            .expect("options");
        xz.write_all(text).expect("room");
        let zstd =
            ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest);
        [
            gzip.finish().expect("room"),
            xz.finish().expect("room"),
            zstd,
        ]
    }

    #[test]
    fn all_ways_come_back_also_in_several_pieces() {
        let text: Vec<u8> = (0..100_000_u32)
            .flat_map(|k| (k / 7).to_be_bytes())
            .collect();
        let (first, second) = text.split_at(123_456);
        for (first, second) in packed_in_all_ways(first)
            .iter()
            .zip(&packed_in_all_ways(second))
        {
            assert!(first.len() < 123_456);
            assert_eq!(unpack(&[&first[..], second].concat()).expect("whole"), text);
        }
        assert_eq!(unpack(b"plain").expect("whole"), b"plain");
    }

    #[test]
    fn a_signal_is_no_damage() {
        /// A signal, then a byte, then the end of a truncated file, after which no read may follow.
        struct Answers(usize);
        impl Read for Answers {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                match self.0 {
                    1 => Err(io::ErrorKind::Interrupted.into()),
                    2 => {
                        buffer[0] = b'x';
                        Ok(1)
                    }
                    3 => Err(io::ErrorKind::UnexpectedEof.into()),
                    _ => panic!("asked after its end"),
                }
            }
        }
        let mut input = Bounded {
            inner: Answers(0),
            allowed: 9,
            left: 9,
            has_failed: false,
        };
        let mut byte = [0];
        let mut read = || match input.read(&mut byte) {
            Ok(count) => Ok(byte[..count].to_vec()),
            Err(error) => Err(error.kind()),
        };
        assert_eq!(read(), Err(io::ErrorKind::Interrupted));
        assert_eq!(read(), Ok(b"x".to_vec()));
        assert_eq!(read(), Err(io::ErrorKind::UnexpectedEof));
        assert_eq!(read(), Err(io::ErrorKind::InvalidData), "it has failed");
    }

    #[test]
    fn damage_is_an_error_and_stays_one() {
        let text: Vec<u8> = (0..50_000_u32)
            .flat_map(|k| (k * k).to_be_bytes())
            .collect();
        for packed in packed_in_all_ways(&text) {
            let error = unpack(&packed[..packed.len() / 2]).expect_err("half of it");
            assert!(
                matches!(
                    error.kind(),
                    io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData
                ),
                "{error:?}"
            );
            let mut flipped = packed.clone();
            flipped[packed.len() / 2] ^= 0x10;
            assert!(unpack(&flipped).is_err());
            let mut reader = reader(
                &Region::memory("packed", flipped),
                Compression::detect(&packed),
            );
            let mut buffer = vec![0; 1 << 20];
            while reader.read(&mut buffer).is_ok() {}
            assert!(reader.read(&mut buffer).is_err());
        }
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        let zeros = vec![0; 1 << 20];
        for _ in 0..8 {
            bomb.write_all(&zeros).expect("room");
        }
        // Gzip cannot exceed 1030 : 1, so the test lowers the bound.
        let packed = bomb.finish().expect("room");
        let inner = MultiGzDecoder::new(&packed[..]);
        let mut bounded = Bounded {
            inner,
            allowed: 1 << 20,
            left: 1 << 20,
            has_failed: false,
        };
        let error = io::copy(&mut bounded, &mut io::sink()).expect_err("too much");
        assert_eq!(error.to_string(), {
            "cannot decompress: the compressed file expands to more than 1048576 bytes"
        });
    }
}
