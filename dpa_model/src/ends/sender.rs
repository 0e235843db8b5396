//! The other end of the wire: puts messages into the NIC's completion queue, as an RDMA send does
//! (O19, O21, O26).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::completion_queue::{Claims, CompletionQueue, NotReady};
use crate::message::{INLINE_BYTES, Protocol, inline_words};
use crate::number::QueueId;
use crate::region::{Ended, RegionKey};
use crate::shared::Shared;
use crate::sync::Wait;
use crate::{CommId, Envelope, Hashes, Rank, Tag};

/// Why a message was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The completion queue is full or no bounce buffer is free, or another sender is making
    /// regions: try again later.
    ReceiverNotReady,
    /// Longer than an eager message may be; use rendezvous.
    TooLong {
        /// Bytes of the message.
        length: usize,
        /// Most bytes allowed.
        limit: usize,
    },
    /// The sending thread is the one that runs the receiver, and would wait for itself.
    OwnThread,
    /// The receiver took the message and gave it up, so that nobody receives it.
    NotReceived,
    /// The NIC has stopped.
    Stopped,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReceiverNotReady => f.write_str("the receiver is not ready"),
            Self::TooLong { length, limit } => {
                write!(f, "the message has {length} bytes, at most {limit} are allowed")
            }
            Self::OwnThread => f.write_str("the receiver's own thread would wait for itself"),
            Self::NotReceived => f.write_str("the receiver gave the message up"),
            Self::Stopped => f.write_str("the NIC has stopped"),
        }
    }
}

impl core::error::Error for SendError {}

/// A sender; every clone may send from its own thread. Messages of one sender arrive in the order
/// sent; those of a clone may overtake them.
#[derive(Debug)]
pub struct Sender {
    shared: Arc<Shared>,
    queue: Arc<CompletionQueue>,
    queue_id: QueueId,
    claims: Claims,
    inline_hashes: bool,
    /// Zero, or what makes this sender's hashes wrong.
    hash_fault: u32,
    /// Headers have no hashes or wrong ones.
    odd: bool,
}

impl Clone for Sender {
    fn clone(&self) -> Self {
        let mut other = Self::new(self.shared.clone());
        other.inline_hashes = self.inline_hashes;
        other.hash_fault = self.hash_fault;
        other.odd = self.odd;
        other
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.queue.leave(&self.claims);
        self.shared.arrivals.give(self.queue_id);
    }
}

impl Sender {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let (queue_id, queue) = shared.arrivals.take();
        let claims = queue.claims();
        Self { shared, queue, queue_id, claims, inline_hashes: true, hash_fault: 0, odd: false }
    }

    /// Whether this sender puts hashes in the header (O26); without them the NIC computes.
    pub fn set_inline_hashes(&mut self, on: bool) {
        self.inline_hashes = on;
        self.odd = !on || self.hash_fault != 0;
    }

    /// Makes this sender a faulty one: the bits of `fault` are flipped in all hashes that it puts
    /// in headers. Only a NIC that verifies or ignores inline hashes (S29) still matches its
    /// messages rightly; 0 ends the fault.
    pub fn set_hash_fault(&mut self, fault: u32) {
        self.hash_fault = fault;
        self.odd = !self.inline_hashes || fault != 0;
    }

    /// Messages of this sender's completion queue that the NIC has dealt with so far: as long as
    /// the number grows, a receiver that is not ready will be.
    pub fn dealt_with(&self) -> u64 {
        self.queue.ring.head()
    }

    /// Largest message that can be sent eagerly, in bytes.
    pub fn eager_limit(&self) -> usize {
        self.shared.eager_limit.max(INLINE_BYTES)
    }

    /// Sends eagerly: the payload is copied and may be reused at once. `stamp`: commands that come
    /// before the message, used with `Order::Stamped` only.
    ///
    /// The usual case, at most a word of a sender with a queue of its own that knows of room, is
    /// compiled into the caller's loop. There it stores nothing but the entry and the next
    /// position: any other store between two entries, as of a register that was short, costs half
    /// an entry.
    ///
    /// # Errors
    /// Any [`SendError`].
    #[inline(always)]
    pub fn try_send(
        &mut self,
        envelope: Envelope,
        bytes: &[u8],
        stamp: u64,
    ) -> Result<(), SendError> {
        let word = match <[u8; 8]>::try_from(bytes) {
            Ok(word) => Some(u64::from_ne_bytes(word)),
            Err(_) => bytes.is_empty().then_some(0),
        };
        if let Some(word) = word
            && !self.odd
            && !self.shared.life.stopped()
            && let Some(position) = self.claims.next_sure()
        {
            let hashes = |hashes: &mut Hashes| {
                hashes.set(envelope.source, envelope.tag);
                true
            };
            let (length, payload) = (bytes.len() as u32, [word, 0, 0]);
            self.fill(position, envelope, length, hashes, Protocol::Inline, payload, stamp);
            return Ok(());
        }
        let Envelope { comm, source, tag } = envelope;
        self.try_send_otherwise(comm, source, tag, bytes, stamp)
    }

    /// Any message. (An envelope would be passed in memory, and be put there for each message.)
    #[inline(never)]
    fn try_send_otherwise(
        &mut self,
        comm: CommId,
        source: Rank,
        tag: Tag,
        bytes: &[u8],
        stamp: u64,
    ) -> Result<(), SendError> {
        let envelope = Envelope { comm, source, tag };
        if bytes.len() > INLINE_BYTES {
            return self.try_send_buffered(envelope, bytes, stamp);
        }
        let position = self.claim(false)?;
        let hashes = self.hashes(envelope);
        let (length, payload) = (bytes.len() as u32, inline_words(bytes));
        self.fill(position, envelope, length, hashes, Protocol::Inline, payload, stamp);
        Ok(())
    }

    fn try_send_buffered(
        &mut self,
        envelope: Envelope,
        bytes: &[u8],
        stamp: u64,
    ) -> Result<(), SendError> {
        if bytes.len() > self.shared.eager_limit {
            return Err(SendError::TooLong { length: bytes.len(), limit: self.eager_limit() });
        }
        let position = self.claim(true)?;
        let buffer = self.queue.bounce_buffer(position);
        // SAFETY: the claim saw the buffer's last message released (`CompletionQueue::claim`).
        unsafe { self.queue.bounce.write(buffer, bytes) };
        let (hashes, length) = (self.hashes(envelope), bytes.len() as u32);
        self.fill(position, envelope, length, hashes, Protocol::Buffered, [0; 3], stamp);
        Ok(())
    }

    /// Sends eagerly and waits while the receiver is not ready.
    ///
    /// # Errors
    /// [`SendError::TooLong`], [`SendError::Stopped`].
    #[inline]
    pub fn send(&mut self, envelope: Envelope, bytes: &[u8]) -> Result<(), SendError> {
        let mut wait = Wait::new();
        loop {
            match self.try_send(envelope, bytes, 0) {
                Err(SendError::ReceiverNotReady) => wait.pause(),
                done => return done,
            }
        }
    }

    /// Sends the ready-to-send of a rendezvous message; the NIC reads the buffer after the match
    /// (O21).
    ///
    /// # Errors
    /// Any [`SendError`], with the buffer.
    pub fn try_send_rendezvous(
        &mut self,
        envelope: Envelope,
        buffer: Vec<u8>,
        stamp: u64,
    ) -> Result<SendRequest, (SendError, Vec<u8>)> {
        let length = buffer.len();
        let Ok(wire_length) = u32::try_from(length) else {
            return Err((SendError::TooLong { length, limit: u32::MAX as usize }, buffer));
        };
        // First, so that a try that fails leaves nothing behind that others could have seen.
        if let Err(error) = self.look() {
            return Err((error, buffer));
        }
        let key = match self.shared.regions.register(buffer) {
            Ok(key) => key,
            Err(buffer) => return Err((SendError::ReceiverNotReady, buffer)),
        };
        match self.claim(false) {
            Ok(position) => {
                let (hashes, payload) = (self.hashes(envelope), [key.0, 0, 0]);
                let protocol = Protocol::Rendezvous;
                self.fill(position, envelope, wire_length, hashes, protocol, payload, stamp);
                Ok(SendRequest { shared: self.shared.clone(), key, done: false })
            }
            Err(error) => {
                // Another sender was faster.
                // SAFETY: the message was not sent.
                let back = unsafe { self.shared.regions.reclaim(key) };
                Err((error, back.map(Ended::into_buffer).unwrap_or_default()))
            }
        }
    }

    /// Whether a message without a bounce buffer could be placed now.
    fn look(&mut self) -> Result<(), SendError> {
        if self.shared.life.stopped() {
            return Err(SendError::Stopped);
        }
        self.queue.look(&mut self.claims).map_err(|cause| self.refused(cause))
    }

    #[cold]
    fn refused(&self, cause: NotReady) -> SendError {
        let counters = &self.shared.sender_counters;
        match cause {
            NotReady::Queue => &counters.queue_full,
            NotReady::BounceBuffer => &counters.no_bounce_buffer,
        }
        .add_shared(1);
        SendError::ReceiverNotReady
    }

    #[inline(always)]
    fn claim(&mut self, bounced: bool) -> Result<u64, SendError> {
        if self.shared.life.stopped() {
            return Err(SendError::Stopped);
        }
        let position = self.queue.claim(&mut self.claims, bounced);
        position.map_err(|cause| self.refused(cause))
    }

    /// Writes the entry from its beginning to its end with no other store in between: such stores
    /// leave the store buffer together, and each run of them costs as much as a message.
    /// `hashes`: with whether the header has them.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "an entry has as many fields")]
    fn fill(
        &self,
        position: u64,
        envelope: Envelope,
        length: u32,
        hashes: impl FnOnce(&mut Hashes) -> bool,
        protocol: Protocol,
        payload: [u64; 3],
        stamp: u64,
    ) {
        // SAFETY: `claim` gave this position to this sender alone.
        unsafe {
            self.queue.ring.fill(position, stamp, |slot| {
                // Word by word: an envelope that was just put together would be read wider than it
                // was written, and wait for that.
                slot.envelope.comm = envelope.comm;
                slot.envelope.source = envelope.source;
                slot.envelope.tag = envelope.tag;
                slot.length = length;
                let has_hashes = hashes(&mut slot.hashes);
                (slot.protocol, slot.has_hashes) = (protocol, has_hashes);
                slot.payload = payload;
            });
        }
    }

    /// Puts the hashes of a header, and says whether it has them.
    fn hashes(&self, envelope: Envelope) -> impl FnOnce(&mut Hashes) -> bool {
        let (inline_hashes, fault) = (self.inline_hashes, self.hash_fault);
        move |hashes| {
            *hashes = Hashes::default();
            if inline_hashes {
                let Hashes { both, tag, source } = Hashes::of(envelope.source, envelope.tag);
                let [both, tag, source] = [both, tag, source].map(|hash| hash ^ fault);
                *hashes = Hashes { both, tag, source };
            }
            inline_hashes
        }
    }
}

/// How a rendezvous send ended: its buffer back, with the reason if nobody received it.
pub type SendResult = Result<Vec<u8>, (SendError, Vec<u8>)>;

/// A rendezvous message on its way. Dropped before the end, the message is still delivered; its
/// buffer is then not given back.
#[derive(Debug)]
pub struct SendRequest {
    shared: Arc<Shared>,
    key: RegionKey,
    done: bool,
}

impl SendRequest {
    /// The buffer, once the receiver has read it; `None` before, and after it was handed out.
    ///
    /// # Errors
    /// [`SendError::Stopped`] if the receiver went away first, [`SendError::NotReceived`] if it
    /// gave the message up; inside the result, with the buffer.
    pub fn test(&mut self) -> Option<SendResult> {
        if self.done {
            return None;
        }
        let regions = &self.shared.regions;
        let ended = match regions.take(self.key) {
            None if self.shared.life.stopped() => {
                // SAFETY: the NIC has stopped. If the host is reading now, it will say so.
                unsafe { regions.reclaim(self.key) }
            }
            ended => ended,
        }?;
        self.done = true;
        Some(match ended {
            Ended::Read(buffer) => Ok(buffer),
            Ended::Unread(buffer) if self.shared.life.stopped() => {
                Err((SendError::Stopped, buffer))
            }
            Ended::Unread(buffer) => Err((SendError::NotReceived, buffer)),
        })
    }

    /// Waits for the receiver to read the buffer; empty if [`test`](Self::test) handed it out.
    ///
    /// # Errors
    /// As [`test`](Self::test).
    pub fn wait(mut self) -> SendResult {
        let mut wait = Wait::new();
        while !self.done {
            if let Some(result) = self.test() {
                return result;
            }
            wait.pause();
        }
        Ok(Vec::new())
    }
}

impl Drop for SendRequest {
    fn drop(&mut self) {
        if !self.done {
            self.shared.regions.abandon(self.key);
        }
    }
}
