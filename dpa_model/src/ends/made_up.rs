//! Payloads made up for messages that have none: bytes that tell one message from another and one
//! place in it from another, made and compared as fast as memory is copied.

use alloc::vec::Vec;

use crate::MsgId;

/// Payloads that begin at different places of the pattern.
const BEGINNINGS: u64 = 4093;

/// Random bytes, so that no two beginnings go on in the same way; as many as were needed so far.
#[derive(Debug)]
pub(super) struct MadeUp {
    pattern: Vec<u8>,
    random: u64,
}

impl MadeUp {
    pub(super) fn new() -> Self {
        Self { pattern: Vec::new(), random: 0x9E37_79B9_7F4A_7C15 }
    }

    /// The bytes of a message that is to be sent.
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
        let mut made_up = MadeUp::new();
        let first = made_up.payload(MsgId(0), 8).to_vec();
        for other in 1..BEGINNINGS {
            assert_ne!(made_up.payload(MsgId(other), 8), first, "message {other}");
        }
        let long = made_up.payload(MsgId(BEGINNINGS + 3), 5000).to_vec();
        assert_eq!((long.len(), &long[..64]), (5000, made_up.sent(MsgId(3), 64)));
        assert!((8..4992).all(|place| long[..8] != long[place..place + 8]));
    }
}
