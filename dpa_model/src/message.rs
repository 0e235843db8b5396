//! Entries of the queues: messages, commands, completions. Each fits with its ready mark in one
//! 64-byte line.

use crate::copy::{BYTES_MAX, BYTES_MIN, UNALIGNED_IS_ONE_ACCESS};
use crate::hash::Hashes;
use crate::host_address::HostAddress;
use crate::number::StoredId;
use crate::{CommId, Envelope, Hints, Rank, Selector, SourceSel, Tag, TagSel, WildcardClass};

/// Payload bytes that travel inside a completion-queue entry; longer eager messages use a bounce
/// buffer.
pub const INLINE_BYTES: usize = 24;

/// A message as the host sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Message {
    /// Number of messages that arrived at this NIC before it.
    pub arrival: u64,
    /// Communicator, source, tag.
    pub envelope: Envelope,
    /// Bytes sent; may exceed the receive's buffer.
    pub length: u32,
}

/// Location of a message's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub(crate) enum Protocol {
    /// In the entry itself.
    #[default]
    Inline,
    /// In the bounce buffer (staging buffer, unexpected buffer) of the entry.
    Buffered,
    /// Still at the sender; the payload's first word is the key of its region.
    Rendezvous,
}

/// A completion-queue entry.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Entry {
    pub(crate) envelope: Envelope,
    pub(crate) length: u32,
    pub(crate) hashes: Hashes,
    pub(crate) protocol: Protocol,
    pub(crate) has_hashes: bool,
    pub(crate) payload: [u64; 3],
}

const _: () = assert!(size_of::<Entry>() == 56 && INLINE_BYTES == size_of::<[u64; 3]>());

#[inline]
pub(crate) fn inline_bytes(payload: &[u64; 3], length: u32) -> &[u8] {
    // SAFETY: the array is 24 initialized bytes and outlives the slice.
    let bytes = unsafe { core::slice::from_raw_parts(payload.as_ptr().cast::<u8>(), INLINE_BYTES) };
    &bytes[..(length as usize).min(INLINE_BYTES)]
}

impl Entry {
    /// How the data gets to a buffer of `capacity` bytes.
    #[inline]
    pub(crate) fn transfer(&self, capacity: u32) -> Transfer {
        Transfer::new(self.protocol, self.length, capacity)
    }
}

/// How the data of a message gets to a buffer on the NIC or of the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transfer {
    /// From the entry, in the loop over messages.
    Entry,
    /// From the bounce buffer or the buffer of the unexpected store, in the loop over messages.
    Bounce,
    /// By a call: longer messages, short buffers and rendezvous. Also those of [`Self::Bounce`],
    /// where unaligned copies are slow.
    Call,
}

impl Transfer {
    /// How a payload gets to a buffer of `capacity` bytes.
    #[inline]
    pub(crate) fn new(protocol: Protocol, length: u32, capacity: u32) -> Self {
        let is_short = (INLINE_BYTES as u32 + 1..=BYTES_MAX as u32).contains(&length);
        match protocol {
            Protocol::Inline => Self::Entry,
            Protocol::Buffered
                if UNALIGNED_IS_ONE_ACCESS && is_short && capacity as usize >= BYTES_MIN =>
            {
                Self::Bounce
            }
            _ => Self::Call,
        }
    }
}

/// Packs up to [`INLINE_BYTES`] bytes into words in registers: a sender's loop stores nothing but
/// its entries.
#[inline]
pub(crate) fn inline_words(bytes: &[u8]) -> [u64; 3] {
    let word = |from: usize| match bytes[from..].first_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => unreachable!("as the length says"),
    };
    let count = bytes.len();
    // The last eight bytes, without bytes that earlier words hold.
    let end = |words: usize| word(count - 8) >> (8 * (8 * words - count) as u32);
    let words = match count {
        8 => [word(0), 0, 0],
        0 => [0; 3],
        1..8 => [few(bytes), 0, 0],
        9..=16 => [word(0), end(2), 0],
        _ => [word(0), word(8), end(3)],
    };
    words.map(u64::to_le)
}

/// Writes 8 to [`INLINE_BYTES`] bytes into an entry in three parts of eight, which may overlap: a
/// copy of another length would be a call. The bytes behind them stay.
#[inline]
pub(crate) fn put_words(bytes: &[u8], payload: &mut [u64; 3]) {
    let length = bytes.len();
    assert!((8..=INLINE_BYTES).contains(&length), "{length}");
    let (from, to) = (bytes.as_ptr(), payload.as_mut_ptr().cast::<u8>());
    for at in [0, 8.min(length - 8), length - 8] {
        // SAFETY: both sides have `length` bytes or more, and a reference never overlaps another.
        unsafe { core::ptr::copy_nonoverlapping(from.add(at), to.add(at), 8) };
    }
}

/// Packs one to seven bytes into a word.
#[inline]
fn few(bytes: &[u8]) -> u64 {
    let count = bytes.len();
    if count >= 4 {
        let half = |from: usize| match bytes[from..].first_chunk::<4>() {
            Some(bytes) => u64::from(u32::from_le_bytes(*bytes)),
            None => unreachable!("as the length says"),
        };
        // Both halves contain the middle bytes.
        half(0) | half(count - 4) << (8 * (count - 4))
    } else {
        let byte = |at: usize| u64::from(bytes[at]) << (8 * at);
        byte(0) | byte(count / 2) | byte(count - 1)
    }
}

/// A selector that the host has taken apart, with the hash of its class: the NIC only links it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(crate) struct Target {
    pub(crate) class: WildcardClass,
    /// Source, or 0 for any.
    pub(crate) source: Rank,
    /// Tag, or 0 for any.
    pub(crate) tag: Tag,
    pub(crate) hash: u32,
}

impl Target {
    /// The target of a receive without wildcards, the common case.
    #[inline]
    pub(crate) fn exact(source: Rank, tag: Tag) -> Self {
        let class = WildcardClass::Exact;
        Self {
            class,
            source,
            tag,
            hash: Hashes::for_class(class, source, tag),
        }
    }

    /// Inlined, because most callers know whether there are wildcards.
    #[inline]
    pub(crate) fn from_selector(selector: Selector) -> Self {
        let nobody = Rank::default();
        let none = Tag::default();
        let (class, source, tag) = match (selector.source, selector.tag) {
            (SourceSel::Rank(source), TagSel::Tag(tag)) => (WildcardClass::Exact, source, tag),
            (SourceSel::Any, TagSel::Tag(tag)) => (WildcardClass::AnySource, nobody, tag),
            (SourceSel::Rank(source), TagSel::Any) => (WildcardClass::AnyTag, source, none),
            (SourceSel::Any, TagSel::Any) => (WildcardClass::Any, nobody, none),
        };
        Self {
            class,
            source,
            tag,
            hash: Hashes::for_class(class, source, tag),
        }
    }

    /// Whether this target of `class` accepts a message; callers compare the communicator.
    #[inline]
    pub(crate) fn accepts(&self, class: WildcardClass, source: Rank, tag: Tag) -> bool {
        class.accepts(self.source, self.tag, source, tag)
    }
}

/// Source and tag in one word, so that a loop loads, compares and stores them together.
#[inline]
pub(crate) fn one_word(source: u32, tag: u32) -> u64 {
    u64::from(source) | u64::from(tag) << u32::BITS
}

/// A receive that the host posts.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Post {
    /// The host's name for the request.
    pub(crate) request: u64,
    pub(crate) comm: CommId,
    pub(crate) target: Target,
    pub(crate) buffer: HostAddress,
    /// Length of the buffer in bytes.
    pub(crate) capacity: u32,
}

/// A command of the host to the NIC (O23).
#[derive(Clone, Copy, Debug, Default)]
#[repr(u8)]
pub(crate) enum Command {
    #[default]
    None,
    Post(Post),
    Cancel {
        request: u64,
        comm: CommId,
        target: Target,
    },
    /// `take`: a matched probe removes the message from matching.
    Probe {
        request: u64,
        comm: CommId,
        target: Target,
        take: bool,
    },
    /// Receives a message that a matched probe took.
    Receive {
        request: u64,
        entry: StoredId,
        buffer: HostAddress,
        capacity: u32,
    },
    /// A message that a matched probe took will not be received.
    Discard {
        entry: StoredId,
    },
    Create {
        request: u64,
        comm: CommId,
        bins: u32,
        hints: Hints,
    },
    Free {
        request: u64,
        comm: CommId,
    },
    /// The host has seen `forwarded` events of the communicator. Of its lists only `receives` are
    /// left, which are the next commands.
    HandBack {
        comm: CommId,
        forwarded: u64,
        receives: u32,
    },
    /// A receive that belongs to the preceding offer.
    Return(Post),
}

/// A completion from the NIC to the host; positions on the ring are in the order of matching.
#[derive(Clone, Copy, Debug, Default)]
#[repr(u8)]
pub(crate) enum Completion {
    #[default]
    None,
    /// `late`: the message was unexpected before the receive came.
    Received {
        late: bool,
        request: u64,
        message: Message,
    },
    /// Order log: the receive entered the posted queue.
    Admitted {
        request: u64,
    },
    /// Order log: the message entered the unexpected queue.
    Unexpected {
        message: Message,
    },
    /// The receive is for software matching.
    PostForwarded {
        request: u64,
    },
    /// The message is for software matching. A buffered payload is in the staging buffer of this
    /// ring position.
    ArrivalForwarded {
        protocol: Protocol,
        message: Message,
        payload: [u64; 3],
    },
    /// The receive uses a wildcard that the communicator's hints exclude.
    Refused {
        request: u64,
    },
    Cancelled {
        request: u64,
    },
    TooLate {
        request: u64,
    },
    /// Not on the NIC; perhaps in the software list.
    CancelForwarded {
        request: u64,
        comm: CommId,
    },
    /// No message fits.
    ProbedNone {
        request: u64,
    },
    Probed {
        request: u64,
        message: Message,
    },
    /// A matched probe: the store's entry holds the message.
    ProbedTaken {
        entry: StoredId,
        request: u64,
        message: Message,
    },
    /// Nothing on the NIC fits; perhaps in the software list.
    ProbeForwarded {
        request: u64,
        take: bool,
    },
    Created {
        request: u64,
        offloaded: bool,
    },
    Freed {
        request: u64,
        busy: bool,
    },
    /// The communicator is matched on the NIC again.
    Resumed {
        comm: CommId,
    },
    /// The NIC declined: the host keeps the receives of the offer.
    Declined {
        comm: CommId,
    },
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Command>() == 56 && size_of::<Completion>() == 56);

// A host built by another compiler relies on these places.
#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::offset_of;
    assert!(offset_of!(Envelope, source) == 4 && offset_of!(Envelope, tag) == 8);
    assert!(offset_of!(Entry, length) == 12 && offset_of!(Entry, hashes) == 16);
    assert!(offset_of!(Entry, protocol) == 28 && offset_of!(Entry, has_hashes) == 29);
    assert!(offset_of!(Entry, payload) == 32);
    assert!(offset_of!(Message, envelope) == 8 && offset_of!(Message, length) == 20);
    assert!(size_of::<Message>() == 24 && size_of::<Hints>() == 4);
    assert!(offset_of!(Target, source) == 4 && offset_of!(Target, tag) == 8);
    assert!(offset_of!(Target, hash) == 12 && size_of::<Target>() == 16);
    assert!(offset_of!(Post, comm) == 8 && offset_of!(Post, target) == 12);
    assert!(offset_of!(Post, buffer) == 32 && offset_of!(Post, capacity) == 40);
};

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;

    /// A byte of a value that has no padding there.
    fn byte<T>(value: &T, at: usize) -> u8 {
        assert!(at < size_of::<T>());
        // SAFETY: inside the value, at a place without padding.
        unsafe { core::ptr::from_ref(value).cast::<u8>().add(at).read() }
    }

    /// Both ways of a sender give the receiver the same bytes.
    #[test]
    fn a_payload_of_every_length_comes_back() {
        let bytes: alloc::vec::Vec<u8> = (1..=INLINE_BYTES as u8).collect();
        for length in 0..=INLINE_BYTES {
            let packed = inline_words(&bytes[..length]);
            assert_eq!(inline_bytes(&packed, length as u32), &bytes[..length]);
            if length >= 8 {
                let mut payload = [u64::MAX; 3];
                put_words(&bytes[..length], &mut payload);
                assert_eq!(inline_bytes(&payload, length as u32), &bytes[..length]);
                let behind = &inline_bytes(&payload, INLINE_BYTES as u32)[length..];
                assert!(
                    behind.iter().all(|&byte| byte == 0xff),
                    "{length}: {behind:?}"
                );
            }
        }
    }

    #[test]
    fn an_enum_begins_with_its_number() {
        let selector = Selector {
            source: SourceSel::Any,
            tag: TagSel::Any,
        };
        let target = Target::from_selector(selector);
        let (comm, buffer) = (CommId(3), HostAddress::none());
        let post = Post {
            request: 0x0807_0605_0403_0201,
            comm,
            target,
            buffer,
            capacity: 0xab,
        };
        let command = Command::Post(post);
        assert_eq!(
            [byte(&command, 0), byte(&command, 8), byte(&command, 15)],
            [1, 1, 8]
        );
        assert_eq!([byte(&command, 16), byte(&command, 48)], [3, 0xab]);
        assert_eq!(byte(&Command::Return(post), 0), 9);
        let message = Message {
            arrival: 7,
            length: 0xcd,
            ..Message::default()
        };
        let received = Completion::Received {
            late: true,
            request: 5,
            message,
        };
        let at = |at| byte(&received, at);
        assert_eq!([at(0), at(1), at(8), at(16), at(36)], [1, 1, 5, 7, 0xcd]);
        assert_eq!(byte(&Completion::Declined { comm }, 0), 17);
    }
}
