//! Reads the numbers of a file or chunk, in the byte order that its beginning names.

use std::path::Path;

use crate::{TraceError, TraceErrorKind};

/// First byte of files and chunks.
const HEADER: u8 = 3;
const BIG_ENDIAN: u8 = 0x23;
const LITTLE_ENDIAN: u8 = 0x42;

/// Why a number cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    Short,
    Wrong(&'static str),
}

impl Fault {
    pub(super) fn at(self, file: &Path, offset: u64) -> TraceError {
        let kind = match self {
            Self::Short => TraceErrorKind::Truncated("the data end within a record".to_owned()),
            Self::Wrong(what) => TraceErrorKind::Damaged(what.to_owned()),
        };
        TraceError::new(file, kind).at_byte(offset)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    big: bool,
}

impl<'a> Cursor<'a> {
    /// A cursor behind the two bytes that name the byte order.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, Fault> {
        match *bytes {
            [HEADER, BIG_ENDIAN, ..] => Ok(Self::resume(bytes, 2, true)),
            [HEADER, LITTLE_ENDIAN, ..] => Ok(Self::resume(bytes, 2, false)),
            [] | [_] => Err(Fault::Short),
            _ => Err(Fault::Wrong("there is no OTF2 header")),
        }
    }

    /// A cursor at the first record of a chunk, behind the numbers of its first and last event.
    pub(super) fn chunk(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut cursor = Self::new(bytes)?;
        cursor.take(16)?;
        Ok(cursor)
    }

    pub(super) fn resume(bytes: &'a [u8], at: usize, big: bool) -> Self {
        Self { bytes, at, big }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn is_big(&self) -> bool {
        self.big
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let taken = self.bytes.get(self.at..).and_then(|rest| rest.get(..count));
        let taken = taken.ok_or(Fault::Short)?;
        self.at += count;
        Ok(taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Fault> {
        self.take(1).map(|byte| byte[0])
    }

    fn number(&mut self, size: usize) -> Result<u64, Fault> {
        let bytes = self.take(size)?;
        let join = |number, &byte| number << 8 | u64::from(byte);
        Ok(if self.big {
            bytes.iter().fold(0, join)
        } else {
            bytes.iter().rev().fold(0, join)
        })
    }

    pub(super) fn whole_u64(&mut self) -> Result<u64, Fault> {
        self.number(8)
    }

    fn compressed(&mut self, size_max: u8, all_ones: u64) -> Result<u64, Fault> {
        match self.u8()? {
            u8::MAX => Ok(all_ones),
            size if size <= size_max => self.number(usize::from(size)),
            _ => Err(Fault::Wrong("a compressed number is too long")),
        }
    }

    /// A size of at most 8 and that many bytes; size 255 stands for the largest number.
    pub(super) fn u64(&mut self) -> Result<u64, Fault> {
        self.compressed(8, u64::MAX)
    }

    /// As [`u64`](Self::u64), of at most 4 bytes.
    pub(super) fn u32(&mut self) -> Result<u32, Fault> {
        self.compressed(4, u64::from(u32::MAX))
            .map(|number| number as u32)
    }

    pub(super) fn text(&mut self) -> Result<&'a [u8], Fault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest
            .iter()
            .position(|&byte| byte == 0)
            .ok_or(Fault::Short)?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    /// The fields of a record that begins with its length. This cursor goes behind it.
    pub(super) fn record(&mut self) -> Result<Self, Fault> {
        let length = match self.u8()? {
            u8::MAX => self.whole_u64()?,
            length => u64::from(length),
        };
        let length = usize::try_from(length).map_err(|_| Fault::Short)?;
        let bytes = self.take(length)?;
        Ok(Self::resume(bytes, 0, self.big))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_byte_order() {
        let bytes = [3, 0x42, 2, 0x34, 0x12, 0, 255, 4, 1, 2, 3, 4, 9];
        let mut little = Cursor::new(&bytes).expect("a header");
        assert_eq!(
            (little.u32(), little.u64(), little.u64()),
            (Ok(0x1234), Ok(0), Ok(u64::MAX))
        );
        assert_eq!(little.u32(), Ok(0x0403_0201));
        assert_eq!(
            little.u64(),
            Err(Fault::Wrong("a compressed number is too long"))
        );
        assert!(little.is_at_end());
        let mut big = Cursor::new(&[3, 0x23, 2, 0x12, 0x34, 5, 1, 1, 255]).expect("a header");
        assert_eq!(big.u64(), Ok(0x1234));
        assert_eq!(
            big.u32(),
            Err(Fault::Wrong("a compressed number is too long"))
        );
        assert_eq!(
            (big.u32(), big.u32(), big.u32()),
            (Ok(1), Ok(u32::MAX), Err(Fault::Short))
        );
    }

    #[test]
    fn a_record_ends_where_its_length_says() {
        let mut cursor = Cursor::new(b"\x03\x42\x03ab\x00\x01x").expect("a header");
        let mut record = cursor.record().expect("three bytes");
        assert_eq!(record.text(), Ok(&b"ab"[..]));
        assert!(record.is_at_end());
        assert_eq!(
            cursor.record().expect("one byte").text(),
            Err(Fault::Short),
            "no final zero"
        );
        assert_eq!(cursor.record().map(|_| ()), Err(Fault::Short));
        let mut long =
            Cursor::new(&[3, 0x42, 255, 2, 0, 0, 0, 0, 0, 0, 0, 7, 8]).expect("a header");
        assert_eq!(long.record().map(|_| long.position()), Ok(13));
        for (bytes, fault) in [
            (&[3][..], Fault::Short),
            (&[2, 0x42], Fault::Wrong("there is no OTF2 header")),
            (&[3, 0x41], Fault::Wrong("there is no OTF2 header")),
        ] {
            assert_eq!(Cursor::new(bytes).map(|_| ()), Err(fault));
        }
    }
}
