//! Generated payloads for messages without data. Their bytes differ between messages and between
//! places in one message; generating and comparing them is as fast as a memory copy.

use alloc::vec::Vec;

use crate::MsgId;

/// Number of places in the pattern at which payloads begin.
const BEGINNINGS: u64 = 4093;

/// Random bytes, so that the payloads from two beginnings differ; grows to the longest payload so
/// far.
#[derive(Debug)]
pub(super) struct PayloadPattern {
    pattern: Vec<u8>,
    random: u64,
}

impl PayloadPattern {
    pub(super) fn new() -> Self {
        Self {
            pattern: Vec::new(),
            random: 0x9E37_79B9_7F4A_7C15,
        }
    }

    /// The payload of a message to send.
    pub(super) fn payload(&mut self, msg: MsgId, length: usize) -> &[u8] {
        while self.pattern.len() < begin(msg) + length {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            self.pattern.extend(self.random.to_le_bytes());
        }
        self.sent(msg, length)
    }

    /// The first bytes of a message that was sent.
    pub(super) fn sent(&self, msg: MsgId, length: usize) -> &[u8] {
        &self.pattern[begin(msg)..][..length]
    }
}

fn begin(msg: MsgId) -> usize {
    (msg.0 % BEGINNINGS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_tell_messages_and_places_apart() {
        let mut pattern = PayloadPattern::new();
        let first = pattern.payload(MsgId(0), 8).to_vec();
        for other in 1..BEGINNINGS {
            assert_ne!(pattern.payload(MsgId(other), 8), first, "message {other}");
        }
        let long = pattern.payload(MsgId(BEGINNINGS + 3), 5000).to_vec();
        assert_eq!(
            (long.len(), &long[..64]),
            (5000, pattern.sent(MsgId(3), 64))
        );
        assert!((8..4992).all(|place| long[..8] != long[place..place + 8]));
    }
}
