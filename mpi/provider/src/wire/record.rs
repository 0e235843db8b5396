//! The unit of the wire: a head of 56 bytes with payload after it.

/// Largest payload of a record in the usual ring.
pub(crate) const EAGER_MAX: usize = 8192;
/// Largest eager message. The data of one of more than [`EAGER_MAX`] bytes are in the ring for long
/// data.
pub(crate) const LONG_MAX: usize = 1 << 16;
/// Payload bytes that fit in the head of an eager message.
pub(crate) const INLINE: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Padding up to the end of the ring.
    Wrap = 1,
    /// A message with its data.
    Eager = 2,
    /// A message whose data stay at the sender. `body`: length, address.
    Rendezvous = 3,
    /// Requests the data of send `cookie` as `Data`. `body`: token, bytes.
    Pull = 4,
    /// The next bytes of the transfer that the receiver calls `cookie`.
    Data = 5,
    /// Send, write or read `cookie` is done. `body`: error number, or 0.
    Fin = 6,
    /// Bytes for a registered region. `tag`: address; `data`: key; payload follows.
    Write = 7,
    /// A write whose data stay at the sender. `tag`: address; `data`: key; `body`: length, address.
    WriteLong = 8,
    /// Requests bytes of a registered region. `tag`: address; `data`: key; `body`: length, token,
    /// and whether the reader can read them in the owner's memory (0: they come as `Data`).
    Read = 9,
    /// The data of the next eager message of more than [`EAGER_MAX`] bytes, put before its head.
    Long = 10,
    /// Lets the peer whose read is `cookie` read the bytes in this process's memory. `body`: their
    /// address, the grant's number, and the epoch under which it holds.
    Grant = 11,
    /// The peer has done with grant `cookie`. `body`: 0, or 1 if it could not read the bytes there
    /// and wants them as `Data`.
    Return = 12,
    /// The peer begins no more operations over this connection: there is another one.
    Leave = 13,
}

impl Kind {
    fn of(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Wrap,
            2 => Self::Eager,
            3 => Self::Rendezvous,
            4 => Self::Pull,
            5 => Self::Data,
            6 => Self::Fin,
            7 => Self::Write,
            8 => Self::WriteLong,
            9 => Self::Read,
            10 => Self::Long,
            11 => Self::Grant,
            12 => Self::Return,
            13 => Self::Leave,
            _ => return None,
        })
    }
}

/// Bits of [`Record::flags`].
pub(crate) mod flag {
    pub(crate) const TAGGED: u8 = 1;
    /// `data` is the sender's completion data.
    pub(crate) const DATA: u8 = 2;
    /// The sender waits for a `Fin`.
    pub(crate) const ACK: u8 = 4;
}

pub(super) const HEAD_WORDS: usize = 7;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    pub(crate) flags: u8,
    /// Payload bytes.
    pub(crate) bytes: u32,
    pub(crate) tag: u64,
    pub(crate) data: u64,
    pub(crate) cookie: u64,
    /// Depends on the kind; payload of an eager message of up to [`INLINE`] bytes.
    pub(crate) body: [u64; 3],
}

impl Record {
    /// A record of this kind with all other fields zero.
    pub(crate) const fn new(kind: Kind) -> Self {
        Self {
            kind,
            flags: 0,
            bytes: 0,
            tag: 0,
            data: 0,
            cookie: 0,
            body: [0; 3],
        }
    }

    /// The outcome of an operation: 0, or an error number.
    pub(crate) fn fin(cookie: u64, error: i32) -> Self {
        Self {
            cookie,
            body: [error as u64, 0, 0],
            ..Self::new(Kind::Fin)
        }
    }

    /// Whether its payload is in the ring for long data.
    pub(crate) fn is_long(&self) -> bool {
        self.kind == Kind::Eager && self.bytes as usize > EAGER_MAX
    }

    /// Payload bytes after the head.
    pub(crate) fn outside(&self) -> usize {
        let inline = self.kind == Kind::Eager && self.bytes as usize <= INLINE;
        if inline || self.is_long() {
            0
        } else {
            self.bytes as usize
        }
    }

    pub(super) fn to_words(self) -> [u64; HEAD_WORDS] {
        let first =
            u64::from(self.kind as u8) | u64::from(self.flags) << 8 | u64::from(self.bytes) << 32;
        let [a, b, c] = self.body;
        [first, self.tag, self.data, self.cookie, a, b, c]
    }

    /// Parses a record. `None` if the kind is unknown, the payload is too long, or the kind has no
    /// payload.
    pub(super) fn from_words(words: [u64; HEAD_WORDS]) -> Option<Self> {
        let [first, tag, data, cookie, a, b, c] = words;
        let kind = Kind::of(first as u8)?;
        let bytes = (first >> 32) as u32;
        let most = match kind {
            Kind::Eager | Kind::Long => LONG_MAX,
            Kind::Data | Kind::Write => EAGER_MAX,
            _ => 0,
        };
        if bytes as usize > most {
            return None;
        }
        Some(Self {
            kind,
            flags: (first >> 8) as u8,
            bytes,
            tag,
            data,
            cookie,
            body: [a, b, c],
        })
    }
}

/// Where a record's payload is until the link's `release`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bytes {
    pub(crate) start: *const u8,
    pub(crate) length: usize,
}

#[cfg(all(test, not(dpamatch_loom)))]
mod tests {
    use super::*;

    #[test]
    fn words_give_the_record_back_and_rubbish_is_refused() {
        for number in 0..=255_u8 {
            let kind = Kind::of(number);
            assert_eq!(kind.map(|kind| kind as u8), kind.map(|_| number));
            let mut words = [u64::from(number) | 3 << 8, 1, 2, 3, 4, 5, 6];
            let record = Record::from_words(words);
            assert_eq!(record.map(|record| record.kind), kind);
            assert_eq!(record.map(Record::to_words), kind.map(|_| words));
            words[0] |= (LONG_MAX as u64 + 1) << 32;
            assert_eq!(
                Record::from_words(words),
                None,
                "a payload that is too long"
            );
        }
        let fin = Record {
            bytes: 1,
            ..Record::new(Kind::Fin)
        };
        assert_eq!(
            Record::from_words(fin.to_words()),
            None,
            "payload where none belongs"
        );
    }
}
