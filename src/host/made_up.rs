//! Payloads made up for the messages of a stream, which has none: bytes that tell one message from
//! another and one place in it from another, made and compared as fast as memory is copied.

use std::sync::LazyLock;

use crate::engine::MsgId;

/// Longest payload that is made up for a message; matching never depends on it.
pub const PAYLOAD_BYTES_MAX: u64 = 64 * 1024;

/// Payloads that begin at different places of the pattern.
const BEGINNINGS: u64 = 4093;

/// Random bytes, so that no two beginnings go on in the same way.
static PATTERN: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let mut word = 0x9E37_79B9_7F4A_7C15u64;
    let words = (PAYLOAD_BYTES_MAX + BEGINNINGS).div_ceil(8);
    let next = |_| {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        word.to_le_bytes()
    };
    (0..words).flat_map(next).collect()
});

/// The bytes of a message; `length` is at most [`PAYLOAD_BYTES_MAX`].
pub(super) fn payload(msg: MsgId, length: usize) -> &'static [u8] {
    &PATTERN[(msg.0 % BEGINNINGS) as usize..][..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_tell_messages_and_places_apart() {
        let longest = PAYLOAD_BYTES_MAX as usize;
        assert_eq!(payload(MsgId(7), longest).len(), longest);
        assert_eq!(payload(MsgId(BEGINNINGS - 1), longest).len(), longest);
        for other in 1..BEGINNINGS {
            assert_ne!(payload(MsgId(0), 8), payload(MsgId(other), 8), "message {other}");
        }
        let one = payload(MsgId(3), 64);
        assert!((8..56).all(|place| one[..8] != one[place..place + 8]));
    }
}
