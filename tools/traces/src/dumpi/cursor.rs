//! Reads big-endian numbers from a part of a file, which may end early.

#[derive(Debug)]
pub(super) enum Stop {
    /// The part ends too early: this many bytes from its beginning are needed.
    Short(u64),
    Fault(String),
}

#[derive(Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Stop> {
        match self.bytes[self.at..].get(..count) {
            Some(bytes) => {
                self.at += count;
                Ok(bytes)
            }
            None => Err(self.short(count)),
        }
    }

    #[cold]
    fn short(&self, count: usize) -> Stop {
        Stop::Short((self.at as u64).saturating_add(count as u64))
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        match self.bytes[self.at..].first_chunk() {
            Some(bytes) => {
                self.at += N;
                Ok(*bytes)
            }
            None => Err(self.short(N)),
        }
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Result<u8, Stop> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub(super) fn u16(&mut self) -> Result<u16, Stop> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Result<u32, Stop> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline]
    pub(super) fn i32(&mut self) -> Result<i32, Stop> {
        self.array().map(i32::from_be_bytes)
    }

    #[inline]
    pub(super) fn u64(&mut self) -> Result<u64, Stop> {
        self.array().map(u64::from_be_bytes)
    }

    #[inline]
    pub(super) fn i64(&mut self) -> Result<i64, Stop> {
        self.array().map(i64::from_be_bytes)
    }

    /// A count: 32 bits, not negative.
    #[inline]
    pub(super) fn count(&mut self) -> Result<usize, Stop> {
        let count = self.i32()?;
        usize::try_from(count).map_err(|_| Stop::Fault(format!("a list of {count} entries")))
    }

    /// A count, and that many entries of a fixed size as one slice. It reserves no memory for
    /// missing entries.
    #[inline]
    pub(super) fn list(&mut self, entry_bytes: usize) -> Result<&'a [u8], Stop> {
        let count = self.count()?;
        self.take(count.saturating_mul(entry_bytes))
    }

    /// A text of the header and label sections, with a 16-bit length.
    pub(super) fn short_text(&mut self) -> Result<&'a [u8], Stop> {
        let length = self.u16()?;
        self.take(usize::from(length))
    }
}
