//! Receives, messages and sends that have not ended.

use std::ffi::c_void;
use std::sync::Weak;

use dpamatch_vocabulary::{CommId, RANK_MAX, Rank, Selector, SourceSel};

use super::Region;
use crate::bindings::IoVec;
use crate::matcher::{Criteria, MessageHeader, requested_tag};
use crate::wire::{Bytes, PeerId, Record, gather, scatter};

#[derive(Debug, Clone)]
pub(super) enum Buffers {
    One(IoVec),
    Many(Box<[IoVec]>),
}

impl Buffers {
    pub(super) fn new(iov: &[IoVec]) -> Self {
        match iov {
            [one] => Self::One(*one),
            many => Self::Many(many.into()),
        }
    }

    pub(super) fn as_slice(&self) -> &[IoVec] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }

    /// Bytes of all together.
    pub(super) fn length(&self) -> usize {
        self.as_slice().iter().map(|part| part.iov_len).sum()
    }

    /// All bytes in one buffer: that of the program if it has one, else a copy.
    ///
    /// # Safety
    /// The buffers can be read.
    pub(super) unsafe fn in_one_piece(self) -> (Self, Option<Box<[u8]>>) {
        let Self::Many(many) = &self else {
            return (self, None);
        };
        let mut copy = vec![0; self.length()].into_boxed_slice();
        // SAFETY: the copy has as many bytes as the list; the caller vouches for the list.
        unsafe { gather(many, 0, copy.as_mut_ptr(), copy.len()) };
        let all = IoVec {
            iov_base: copy.as_mut_ptr().cast(),
            iov_len: copy.len(),
        };
        (Self::One(all), Some(copy))
    }

    /// The address `skip` bytes into the first.
    pub(super) fn address(&self, skip: usize) -> *mut c_void {
        let first = self
            .as_slice()
            .first()
            .map_or(std::ptr::null_mut(), |part| part.iov_base);
        first.cast::<u8>().wrapping_add(skip).cast()
    }
}

/// A posted receive.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) context: *mut c_void,
    pub(super) buffers: Buffers,
    /// Match bits, and those ignored.
    pub(super) bits: u64,
    pub(super) ignore: u64,
    /// Bytes that messages have taken (multi-receive).
    pub(super) used: usize,
    pub(super) comm: CommId,
    pub(super) source: Option<PeerId>,
    pub(super) tagged: bool,
    pub(super) multi: bool,
    pub(super) completes: bool,
    /// Number of receives posted before it.
    pub(super) number: u64,
    /// Whether it is in a posted queue.
    pub(super) waiting: bool,
    /// Transfers into it that are under way.
    pub(super) transfers: u32,
    /// When it was posted ([`Usage::now_ms`](super::Usage::now_ms)); 0 without statistics.
    pub(super) since_ms: u32,
}

impl Post {
    /// Bytes of its buffers.
    pub(super) fn capacity(&self) -> usize {
        self.buffers.length()
    }

    /// What it accepts.
    pub(super) fn criteria(&self) -> Criteria {
        let Self {
            bits,
            ignore,
            comm,
            source,
            ..
        } = *self;
        Criteria {
            bits,
            ignore,
            comm,
            selector: selector(bits, ignore, source),
        }
    }
}

#[inline(always)]
pub(super) fn selector(bits: u64, ignore: u64, source: Option<PeerId>) -> Selector {
    let source = source.map_or(SourceSel::Any, |peer| SourceSel::Rank(rank_of(peer)));
    Selector {
        source,
        tag: requested_tag(bits, ignore),
    }
}

/// A peer's number as a rank. The number of peers never exceeds the ranks.
#[inline(always)]
pub(super) fn rank_of(peer: PeerId) -> Rank {
    Rank::new(peer.0 & RANK_MAX).unwrap_or_default()
}

// SAFETY: addresses of the program's buffers, which it lends until the receive completes to the
// thread that makes progress.
unsafe impl Send for Post {}

/// Location of a message's data.
#[derive(Debug)]
pub(super) enum Body {
    /// Here.
    Inline([u64; 3]),
    /// In the link's memory, until the round of progress that read it ends.
    InLink(Bytes),
    /// Copied out of it.
    Held(Box<[u8]>),
    /// In the sender's memory.
    Remote { address: u64 },
}

/// A message that arrived and was not delivered.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) connection: usize,
    pub(super) peer: PeerId,
    pub(super) tagged: bool,
    pub(super) header: MessageHeader,
    pub(super) data: Option<u64>,
    pub(super) length: usize,
    pub(super) body: Body,
    /// The sender's name for it, if the sender waits for its end.
    pub(super) cookie: Option<u64>,
    /// Number of messages that came before it.
    pub(super) number: u64,
    /// Whether it is in an unexpected queue.
    pub(super) waiting: bool,
    /// When it arrived; 0 without statistics.
    pub(super) since_ms: u32,
}

// SAFETY: see `Post`; data in a link's memory are used under the link's lock.
unsafe impl Send for Arrived {}

impl Arrived {
    /// Copies the first `length` bytes into the list, from `skip` bytes on.
    ///
    /// # Safety
    /// The list's buffers can be written and hold `skip + length` bytes; `length` is no more than
    /// the message's, and the message is not remote.
    pub(super) unsafe fn copy_to(&self, iov: &[IoVec], skip: usize, length: usize) {
        let start = match &self.body {
            Body::Inline(words) => words.as_ptr().cast(),
            Body::InLink(bytes) => bytes.start,
            Body::Held(bytes) => bytes.as_ptr(),
            Body::Remote { .. } => return,
        };
        // SAFETY: each of them holds the message's whole length (`arrive`), and the caller vouches
        // for the rest. The common case needs no call.
        unsafe {
            match iov {
                [one] if length == 8 => {
                    let target = one.iov_base.cast::<u8>().add(skip).cast::<u64>();
                    target.write_unaligned(start.cast::<u64>().read_unaligned());
                }
                iov => scatter(iov, skip, start, length),
            }
        }
    }

    /// Takes the data out of the link's memory.
    pub(super) fn hold(&mut self) {
        if let Body::InLink(bytes) = &self.body {
            let mut held = Box::new_uninit_slice(bytes.length);
            // SAFETY: the link keeps the bytes until its `release`, which comes later. They are
            // copied by address, since a peer that breaks the rules may write them meanwhile, and
            // a slice over them would promise that nothing does.
            self.body = Body::Held(unsafe {
                held.as_mut_ptr()
                    .cast::<u8>()
                    .copy_from_nonoverlapping(bytes.start, bytes.length);
                held.assume_init()
            });
        }
    }
}

/// A send, write or read that the peer ends.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) connection: usize,
    pub(super) context: *mut c_void,
    /// Flags of its completion.
    pub(super) flags: u64,
    /// The match bits of a tagged send, else 0.
    pub(super) bits: u64,
    /// When it began; 0 without statistics.
    pub(super) since_ms: u32,
    pub(super) completes: bool,
    pub(super) buffers: Buffers,
    /// A copy of the data, if the program's buffers are already free for reuse.
    pub(super) _copy: Option<Box<[u8]>>,
    pub(super) length: usize,
    /// The data move in pieces, or have begun to. A peer asks for a send's pieces, and grants the
    /// memory of a read, only once.
    pub(super) pulled: bool,
    /// The transfer that takes the pieces of a read.
    pub(super) transfer: Option<usize>,
}

// SAFETY: see `Post`.
unsafe impl Send for Sending {}

/// Data on their way in, in pieces.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) connection: usize,
    /// The sender's name for it.
    pub(super) cookie: u64,
    pub(super) wanted: usize,
    pub(super) got: usize,
    pub(super) target: Target,
}

/// Where the pieces go.
#[derive(Debug)]
pub(super) enum Target {
    /// Into a receive, from this offset on.
    Receive {
        recv: usize,
        at: usize,
        receipt: Receipt,
    },
    /// Into memory that a peer writes, as long as the program keeps it registered.
    Region {
        region: Weak<Region>,
        address: u64,
        record: Record,
    },
    /// Into the buffers of a read of this side.
    Read { sending: usize },
}

/// The message's part of a receive's completion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Receipt {
    pub(super) peer: PeerId,
    pub(super) tag: u64,
    pub(super) data: Option<u64>,
    /// Bytes that were sent.
    pub(super) length: usize,
}

/// Registered memory that a peer may be reading.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) connection: usize,
    pub(super) region: Weak<Region>,
    pub(super) address: u64,
    pub(super) length: usize,
    /// The peer's name for its read.
    pub(super) cookie: u64,
    /// The peer's name for the pieces, if it wants them.
    pub(super) token: u64,
}

/// Data on their way out, in pieces.
#[derive(Debug)]
pub(super) struct Push {
    pub(super) connection: usize,
    /// The receiver's name for it.
    pub(super) token: u64,
    pub(super) source: Source,
    pub(super) sent: usize,
    pub(super) length: usize,
}

/// Where the pieces come from.
#[derive(Debug)]
pub(super) enum Source {
    /// The buffers of a send of this side.
    Sending { sending: usize },
    /// Memory that a peer reads, as long as the program keeps it registered.
    Region {
        region: Weak<Region>,
        address: u64,
        cookie: u64,
    },
}
