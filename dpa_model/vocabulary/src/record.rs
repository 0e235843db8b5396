//! Operations and outcomes as records of 64-bit words, for a stream that firmware replays.
//! `port/kit/matching/player.c` reads and writes the records in C.

use crate::{
    CommId, Envelope, MsgId, Operation, Outcome, ProbeId, Rank, RecvId, Selector, SourceSel, Tag,
    TagSel,
};

/// Any source, any tag.
const ANY: u64 = u64::MAX;
/// No message.
const NONE: u64 = u64::MAX;

/// The words in order, each little-endian.
fn bytes<const WORDS: usize, const BYTES: usize>(words: [u64; WORDS]) -> [u8; BYTES] {
    const { assert!(BYTES == 8 * WORDS) };
    let mut record = [0; BYTES];
    for (place, word) in record.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    record
}

impl Operation {
    /// Bytes of a record: kind, name, communicator, source, tag, bytes.
    pub const RECORD_BYTES: usize = 6 * 8;

    /// The operation's record; `None` for creations and frees of communicators.
    pub fn to_record(&self) -> Option<[u8; Self::RECORD_BYTES]> {
        let of = |comm: CommId, selector: Selector| {
            let (source, tag) = (selector.source.number(), selector.tag.number());
            let [source, tag] = [source, tag].map(|number| number.map_or(ANY, u64::from));
            [comm.0.into(), source, tag]
        };
        let (kind, name, [comm, source, tag], bytes) = match *self {
            Self::Post {
                recv,
                comm,
                selector,
                bytes,
            } => (0, recv.0, of(comm, selector), bytes),
            Self::Arrive {
                msg,
                envelope: Envelope { comm, source, tag },
                bytes,
            } => (1, msg.0, of(comm, Selector::new(source, tag)), bytes),
            Self::Cancel { recv } => (2, recv.0, [0; 3], 0),
            Self::Probe {
                probe,
                comm,
                selector,
                take,
            } => (3 + u64::from(take), probe.0, of(comm, selector), 0),
            Self::Create { .. } | Self::Free { .. } => return None,
        };
        Some(self::bytes([kind, name, comm, source, tag, bytes.into()]))
    }

    /// The operation of a record; `None` if the bytes are no record.
    pub fn from_record(record: &[u8; Self::RECORD_BYTES]) -> Option<Self> {
        let (words, _) = record.as_chunks();
        let &[kind, name, comm, source, tag, bytes] = words else {
            return None;
        };
        let [kind, name, comm, source, tag, bytes] =
            [kind, name, comm, source, tag, bytes].map(u64::from_le_bytes);
        let number = |word: u64| u32::try_from(word).ok();
        let rank = || Rank::new(number(source)?).ok();
        let label = || Tag::new(number(tag)?).ok();
        let selector = || {
            let source = if source == ANY {
                SourceSel::Any
            } else {
                rank()?.into()
            };
            let tag = if tag == ANY {
                TagSel::Any
            } else {
                label()?.into()
            };
            Some(Selector { source, tag })
        };
        let (comm, bytes) = (CommId(number(comm)?), number(bytes)?);
        Some(match kind {
            0 => Self::Post {
                recv: RecvId(name),
                comm,
                selector: selector()?,
                bytes,
            },
            1 => {
                let envelope = Envelope {
                    comm,
                    source: rank()?,
                    tag: label()?,
                };
                Self::Arrive {
                    msg: MsgId(name),
                    envelope,
                    bytes,
                }
            }
            2 => Self::Cancel { recv: RecvId(name) },
            3 | 4 => {
                let (probe, take) = (ProbeId(name), kind == 4);
                Self::Probe {
                    probe,
                    comm,
                    selector: selector()?,
                    take,
                }
            }
            _ => return None,
        })
    }
}

impl Outcome {
    /// Bytes of a record: kind and two names.
    pub const RECORD_BYTES: usize = 3 * 8;

    /// The outcome's record.
    pub fn to_record(self) -> [u8; Self::RECORD_BYTES] {
        let name = |msg: Option<MsgId>| msg.map_or(NONE, |msg| msg.0);
        bytes(match self {
            Self::Matched { recv, msg } => [0, recv.0, msg.0],
            Self::Probed { probe, msg } => [1, probe.0, name(msg)],
            Self::Mprobed { probe, msg } => [2, probe.0, name(msg)],
            Self::Cancelled { recv } => [3, recv.0, 0],
            Self::TooLate { recv } => [4, recv.0, 0],
            Self::Posted { recv } => [5, recv.0, 0],
            Self::Unexpected { msg } => [6, msg.0, 0],
        })
    }
}
