//! The wire's end: puts messages into the NIC's completion queue, like an RDMA send (O19, O21,
//! O26).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::completion_queue::{Claims, CompletionQueue, NotReady};
use crate::copy::BYTES_MAX;
use crate::message::{Entry, INLINE_BYTES, Protocol, inline_words, put_words};
use crate::number::QueueId;
use crate::region::{Ended, RegionKey};
use crate::shared::Shared;
use crate::sync::Wait;
use crate::{CommId, Envelope, Hashes, Rank, Tag};

/// Why a message was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The completion queue is full, no bounce buffer is free, or another sender is adding regions:
    /// try again later.
    ReceiverNotReady,
    /// The message exceeds the eager limit; use rendezvous.
    TooLong {
        /// Bytes of the message.
        length: usize,
        /// Maximum number of bytes allowed.
        limit: usize,
    },
    /// The sending thread runs the receiver, and would wait for itself.
    OwnThread,
    /// The receiver took the message and then gave it up.
    NotReceived,
    /// The NIC has stopped.
    Stopped,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReceiverNotReady => f.write_str("the receiver is not ready"),
            Self::TooLong { length, limit } => {
                write!(
                    f,
                    "the message has {length} bytes, at most {limit} are allowed"
                )
            }
            Self::OwnThread => f.write_str("the receiver's own thread would wait for itself"),
            Self::NotReceived => f.write_str("the receiver gave the message up"),
            Self::Stopped => f.write_str("the NIC has stopped"),
        }
    }
}

impl core::error::Error for SendError {}

/// A sender; every clone may send from its own thread. Messages of one sender arrive in sending
/// order; messages of a clone may overtake them.
#[derive(Debug)]
pub struct Sender {
    shared: Arc<Shared>,
    queue: Arc<CompletionQueue>,
    queue_id: QueueId,
    claims: Claims,
    inline_hashes: bool,
    /// Bits to flip in this sender's hashes; 0 for none.
    hash_fault: Hashes,
    /// Whether headers have no hashes or wrong ones.
    odd: bool,
    /// Maximum length in bytes of a message that [`try_send`](Self::try_send) copies in the
    /// caller's loop.
    in_loop: usize,
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
        self.shared.arrivals.release(self.queue_id);
    }
}

impl Sender {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let (queue_id, queue) = shared.arrivals.assign();
        let claims = queue.claims();
        let in_loop = shared.eager_limit.clamp(INLINE_BYTES, BYTES_MAX);
        Self {
            shared,
            queue,
            queue_id,
            claims,
            inline_hashes: true,
            hash_fault: Hashes::default(),
            odd: false,
            in_loop,
        }
    }

    /// Sets whether this sender puts hashes in the header; otherwise the NIC computes them.
    ///
    /// Source: O26.
    pub fn set_inline_hashes(&mut self, on: bool) {
        self.inline_hashes = on;
        self.odd = !on || self.hash_fault != Hashes::default();
    }

    /// Makes this sender faulty: it flips the bits of `fault` in all hashes that it puts in
    /// headers. Only a NIC that verifies or ignores inline hashes still matches its messages
    /// correctly. 0 ends the fault.
    ///
    /// Source: S29.
    pub fn set_hash_fault(&mut self, fault: u32) {
        self.set_hash_faults(Hashes {
            both: fault,
            tag: fault,
            source: fault,
        });
    }

    pub(crate) fn set_hash_faults(&mut self, faults: Hashes) {
        self.hash_fault = faults;
        self.odd = !self.inline_hashes || faults != Hashes::default();
    }

    /// Messages of this sender's completion queue that the NIC has consumed. While the number
    /// grows, a receiver that is not ready will become ready.
    pub fn dealt_with(&self) -> u64 {
        self.queue.ring.head()
    }

    /// Largest message that can be sent eagerly, in bytes.
    pub fn eager_limit(&self) -> usize {
        self.shared.eager_limit.max(INLINE_BYTES)
    }

    /// Sends eagerly: copies the payload, which may be reused immediately. `stamp`: number of
    /// commands before the message, used with `Order::Stamped` only.
    ///
    /// The common case, at most 512 bytes from a sender that owns its queue and knows of room, is
    /// inlined into the caller's loop. It stores only the message and the next position: other
    /// stores between two messages, such as those of a call, cost as much as several messages.
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
            && let Some(position) = self.claims.next_checked(false)
        {
            let hashes = |hashes: &mut Hashes| {
                hashes.set(envelope.source, envelope.tag);
                true
            };
            let (length, payload) = (bytes.len() as u32, Some([word, 0, 0]));
            self.fill(
                position,
                envelope,
                length,
                hashes,
                Protocol::Inline,
                payload,
                stamp,
            );
            return Ok(());
        }
        let bounced = bytes.len() > INLINE_BYTES;
        if (9..=self.in_loop).contains(&bytes.len())
            && !self.odd
            && !self.shared.life.stopped()
            && let Some(position) = self.claims.next_checked(bounced)
        {
            let protocol = if bounced {
                let buffer = self.queue.bounce_buffer(position);
                // SAFETY: as in `try_send_buffered`; there are enough bytes.
                unsafe { self.queue.bounce.write_in_loop(buffer, bytes) };
                Protocol::Buffered
            } else {
                let write = |slot: &mut Entry| put_words(bytes, &mut slot.payload);
                // SAFETY: the claim gave this position to this sender alone.
                unsafe { self.queue.ring.write(position, write) };
                Protocol::Inline
            };
            let hashes = |hashes: &mut Hashes| {
                hashes.set(envelope.source, envelope.tag);
                true
            };
            self.fill(
                position,
                envelope,
                bytes.len() as u32,
                hashes,
                protocol,
                None,
                stamp,
            );
            return Ok(());
        }
        let Envelope { comm, source, tag } = envelope;
        self.try_send_otherwise(comm, source, tag, bytes, stamp)
    }

    /// Sends any message. The envelope is passed in parts, which stay in registers.
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
        let (length, payload) = (bytes.len() as u32, Some(inline_words(bytes)));
        self.fill(
            position,
            envelope,
            length,
            hashes,
            Protocol::Inline,
            payload,
            stamp,
        );
        Ok(())
    }

    fn try_send_buffered(
        &mut self,
        envelope: Envelope,
        bytes: &[u8],
        stamp: u64,
    ) -> Result<(), SendError> {
        if bytes.len() > self.shared.eager_limit {
            return Err(SendError::TooLong {
                length: bytes.len(),
                limit: self.eager_limit(),
            });
        }
        let position = self.claim(true)?;
        let buffer = self.queue.bounce_buffer(position);
        // SAFETY: the claim saw the release of the buffer's last message
        // (`CompletionQueue::claim`).
        unsafe { self.queue.bounce.write(buffer, bytes) };
        let (hashes, length) = (self.hashes(envelope), bytes.len() as u32);
        self.fill(
            position,
            envelope,
            length,
            hashes,
            Protocol::Buffered,
            None,
            stamp,
        );
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

    /// Sends the ready-to-send of a rendezvous message; the NIC reads the buffer after the
    /// match.
    ///
    /// Source: O21.
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
            return Err((
                SendError::TooLong {
                    length,
                    limit: u32::MAX as usize,
                },
                buffer,
            ));
        };
        // First, so that a failed try leaves nothing that other threads could have seen.
        if let Err(error) = self.check_room() {
            return Err((error, buffer));
        }
        let key = match self.shared.regions.register(buffer) {
            Ok(key) => key,
            Err(buffer) => return Err((SendError::ReceiverNotReady, buffer)),
        };
        match self.claim(false) {
            Ok(position) => {
                let (hashes, payload) = (self.hashes(envelope), Some([key.0, 0, 0]));
                let protocol = Protocol::Rendezvous;
                self.fill(
                    position,
                    envelope,
                    wire_length,
                    hashes,
                    protocol,
                    payload,
                    stamp,
                );
                Ok(SendRequest {
                    shared: self.shared.clone(),
                    key,
                    done: false,
                })
            }
            Err(error) => {
                // Another sender claimed the place first.
                // SAFETY: the message was not sent.
                let back = unsafe { self.shared.regions.reclaim(key) };
                Err((error, back.map(Ended::into_buffer).unwrap_or_default()))
            }
        }
    }

    /// Whether a message without a bounce buffer could be placed now.
    fn check_room(&mut self) -> Result<(), SendError> {
        if self.shared.life.stopped() {
            return Err(SendError::Stopped);
        }
        self.queue
            .check_room(&mut self.claims)
            .map_err(|cause| self.refused(cause))
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

    /// Writes the entry from beginning to end without other stores in between: such stores leave
    /// the store buffer together, and each run of them costs as much as a message. `hashes` also
    /// returns whether the header has them. `payload`: unless it is there already.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "an entry has as many fields")]
    fn fill(
        &self,
        position: u64,
        envelope: Envelope,
        length: u32,
        hashes: impl FnOnce(&mut Hashes) -> bool,
        protocol: Protocol,
        payload: Option<[u64; 3]>,
        stamp: u64,
    ) {
        // SAFETY: `claim` gave this position to this sender alone.
        unsafe {
            self.queue.ring.fill(position, stamp, |slot| {
                // Word by word: a load of the whole envelope would be wider than the stores that
                // just built it, and would wait for them.
                slot.envelope.comm = envelope.comm;
                slot.envelope.source = envelope.source;
                slot.envelope.tag = envelope.tag;
                slot.length = length;
                let has_hashes = hashes(&mut slot.hashes);
                (slot.protocol, slot.has_hashes) = (protocol, has_hashes);
                if let Some(payload) = payload {
                    slot.payload = payload;
                }
            });
        }
    }

    /// Writes the hashes of a header, and returns whether it has them.
    fn hashes(&self, envelope: Envelope) -> impl FnOnce(&mut Hashes) -> bool {
        let (inline_hashes, fault) = (self.inline_hashes, self.hash_fault);
        move |hashes| {
            *hashes = Hashes::default();
            if inline_hashes {
                let Hashes { both, tag, source } = Hashes::new(envelope.source, envelope.tag);
                *hashes = Hashes {
                    both: both ^ fault.both,
                    tag: tag ^ fault.tag,
                    source: source ^ fault.source,
                };
            }
            inline_hashes
        }
    }
}

/// The end of a rendezvous send: its buffer, with the reason if the message was not received.
pub type SendResult = Result<Vec<u8>, (SendError, Vec<u8>)>;

/// A rendezvous message on its way. If dropped before the end, the message is still delivered, but
/// the buffer is not returned.
#[derive(Debug)]
pub struct SendRequest {
    shared: Arc<Shared>,
    key: RegionKey,
    done: bool,
}

impl SendRequest {
    /// The buffer, once the receiver has read it; `None` before, and after an earlier call returned
    /// it.
    ///
    /// # Errors
    /// [`SendError::Stopped`] if the receiver went away first, [`SendError::NotReceived`] if it
    /// gave the message up; the buffer comes with the error.
    pub fn test(&mut self) -> Option<SendResult> {
        if self.done {
            return None;
        }
        let regions = &self.shared.regions;
        let ended = match regions.take(self.key) {
            None if self.shared.life.stopped() => {
                // SAFETY: the NIC has stopped. A host that still reads ends the region itself.
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

    /// Waits until the receiver has read the buffer; empty if [`test`](Self::test) returned it.
    ///
    /// # Errors
    /// The errors of [`test`](Self::test).
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
