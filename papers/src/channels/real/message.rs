//! A message as it stands in a channel: a header, a mark and the payload.

use std::io;

use dpamatch::Tag;

/// Bytes of the header.
pub(super) const HEADER: usize = 16;
/// Most bytes of mark and payload together.
pub(super) const BODY_MAX: usize = (1 << 24) + 1;

/// What stands after the mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Mark {
    /// The payload.
    Data,
    /// An [`Exposed`] buffer.
    Exposed,
}

/// The little-endian words before the mark: sequence, tag, and bytes of mark and payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    /// Messages that the sender sent before, on any channel.
    pub(super) sequence: u64,
    pub(super) tag: Tag,
    pub(super) body: usize,
}

impl Header {
    /// The header at the beginning of these bytes. `None`: there are too few.
    pub(super) fn read(bytes: &[u8]) -> Option<Result<Self, &'static str>> {
        let (sequence, rest) = bytes.split_first_chunk()?;
        let (tag, rest) = rest.split_first_chunk()?;
        let body = u32::from_le_bytes(*rest.first_chunk()?) as usize;
        let Ok(tag) = Tag::new(u32::from_le_bytes(*tag)) else {
            return Some(Err("the tag is too large"));
        };
        let sequence = u64::from_le_bytes(*sequence);
        Some(if (1..=BODY_MAX).contains(&body) {
            Ok(Self {
                sequence,
                tag,
                body,
            })
        } else {
            Err("the length is none of a message")
        })
    }
}

/// Refuses a payload that no header can announce.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`].
pub(super) fn check_length(bytes: usize) -> io::Result<()> {
    if bytes < BODY_MAX {
        return Ok(());
    }
    let what = format!("a message has at most {} bytes, not {bytes}", BODY_MAX - 1);
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// Replaces the content of `frame` by a message, whose payload passes [`check_length`].
pub(super) fn fill(frame: &mut Vec<u8>, sequence: u64, tag: Tag, mark: Mark, payload: &[u8]) {
    let body = u32::try_from(payload.len() + 1).expect("its length was checked");
    frame.clear();
    frame.extend_from_slice(&sequence.to_le_bytes());
    frame.extend_from_slice(&tag.get().to_le_bytes());
    frame.extend_from_slice(&body.to_le_bytes());
    frame.push(mark as u8);
    frame.extend_from_slice(payload);
}

/// A buffer that its process keeps unchanged until the receiver has copied it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Exposed {
    pub(super) process: u32,
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// The message's place in its sender's order; it names the buffer to the sender.
    pub(super) sequence: u64,
}

impl Exposed {
    pub(super) const BYTES: usize = 28;

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.process.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.address.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[20..].copy_from_slice(&self.sequence.to_le_bytes());
        bytes
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (process, rest) = bytes.split_first_chunk()?;
        let (address, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        Some(Self {
            process: u32::from_le_bytes(*process),
            address: u64::from_le_bytes(*address),
            bytes: u64::from_le_bytes(*length),
            sequence: u64::from_le_bytes(*rest.first_chunk()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back() {
        let tag = Tag::new(77).expect("a tag");
        let mut frame = vec![9; 3];
        fill(&mut frame, 1 << 40, tag, Mark::Data, &[5, 6]);
        let header = Header {
            sequence: 1 << 40,
            tag,
            body: 3,
        };
        assert_eq!(Header::read(&frame), Some(Ok(header)));
        assert_eq!(frame[HEADER..], [Mark::Data as u8, 5, 6]);
        for short in 0..HEADER {
            assert_eq!(Header::read(&frame[..short]), None);
        }
        let exposed = Exposed {
            process: 3,
            address: 5 << 33,
            bytes: 7 << 34,
            sequence: 11 << 35,
        };
        let bytes = exposed.to_bytes();
        assert_eq!(Exposed::read(&bytes), Some(exposed));
        assert_eq!(Exposed::read(&bytes[..27]), None);
    }

    #[test]
    fn a_payload_has_a_bound() {
        let bound = 1 << 24;
        assert!(
            [0, bound - 1, bound]
                .map(check_length)
                .iter()
                .all(Result::is_ok)
        );
        assert_eq!(
            check_length(bound + 1).expect_err("too long").to_string(),
            "a message has at most 16777216 bytes, not 16777217"
        );
    }

    /// Lengths of nothing and beyond the bound, and a tag that is none.
    #[test]
    fn what_is_no_message_is_refused() {
        let header = |tag: u32, body: u32| {
            let mut frame = vec![0; 8];
            frame.extend(tag.to_le_bytes());
            frame.extend(body.to_le_bytes());
            Header::read(&frame).expect("whole").is_ok()
        };
        let most = BODY_MAX as u32;
        assert_eq!(
            [0, 1, most, most + 1].map(|body| header(0, body)),
            [false, true, true, false]
        );
        assert!(!header(u32::MAX, 1));
    }
}
