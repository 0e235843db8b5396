//! The messages of a soak run and the threads that send them.

use std::collections::VecDeque;
use std::sync::atomic::{
    AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use dpa_model::{INLINE_BYTES, SendError, Wait};
use dpamatch_vocabulary::Tag;
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};

use dpamatch::endpoint::{CommSender, SendRequest, Status};

/// Tags `0..TAGS` are used.
pub(super) const TAGS: u32 = 8;
/// Bytes of number, source, tag and communicator at the start of every message.
pub(super) const HEADER_BYTES: usize = 20;
pub(super) const MESSAGE_BYTES_MAX: usize = 1024;

/// Counters that sender and receiver share, on their own cache line.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Lane {
    /// Messages that this sender may send in all.
    pub(super) allowed: AtomicU64,
    /// Messages sent in all, once the sender has ended; [`STILL_SENDING`] before.
    sent: AtomicU64,
}

const STILL_SENDING: u64 = u64::MAX;

impl Lane {
    pub(super) fn new(window: u64) -> Self {
        Self {
            allowed: AtomicU64::new(window),
            sent: AtomicU64::new(STILL_SENDING),
        }
    }

    /// Total number of messages, once known.
    pub(super) fn sent(&self) -> Option<u64> {
        Some(self.sent.load(Acquire)).filter(|&sent| sent != STILL_SENDING)
    }
}

/// A message's identity, which determines its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Name {
    /// Number of the message among its sender's messages in its communicator, which arrive in the
    /// order sent.
    pub(super) ordinal: u64,
    pub(super) source: u32,
    pub(super) tag: u32,
    pub(super) comm: u32,
}

impl Name {
    fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&self.ordinal.to_le_bytes());
        header[8..12].copy_from_slice(&self.source.to_le_bytes());
        header[12..16].copy_from_slice(&self.tag.to_le_bytes());
        header[16..].copy_from_slice(&self.comm.to_le_bytes());
        header
    }

    fn filler(&self, index: usize) -> u8 {
        (self.ordinal as u8)
            .wrapping_mul(31)
            .wrapping_add(index as u8)
    }

    /// Writes the message over `bytes`, whose length is the message's.
    fn write(&self, bytes: &mut [u8]) {
        bytes[..HEADER_BYTES].copy_from_slice(&self.header());
        for (index, byte) in bytes[HEADER_BYTES..].iter_mut().enumerate() {
            *byte = self.filler(index);
        }
    }

    /// Compares received bytes with the bytes sent. At least the header must be there.
    pub(super) fn check(&self, bytes: &[u8], status: &Status) {
        let (ordinal, _) = bytes.split_first_chunk().expect("a header");
        assert_eq!(
            u64::from_le_bytes(*ordinal),
            self.ordinal,
            "lost, or out of order: {self:?}"
        );
        let (header, rest) = bytes.split_at(HEADER_BYTES);
        let filled = rest
            .iter()
            .enumerate()
            .all(|(index, &byte)| byte == self.filler(index));
        let addressed = (status.source.get(), status.tag.get()) == (self.source, self.tag);
        assert!(
            header == self.header() && filled && addressed,
            "wrong bytes of {self:?}"
        );
    }
}

#[derive(Debug)]
pub(super) struct Source {
    random: ChaCha8Rng,
    /// One per communicator, with the number of messages sent.
    peers: Vec<(CommSender, u64)>,
    quota: u64,
    /// Rendezvous messages under way, oldest first.
    exposed: VecDeque<SendRequest>,
    spare: Vec<Vec<u8>>,
}

/// Rendezvous messages of one sender at a time; above that it sends eagerly.
const EXPOSED_MAX: usize = 4;

impl Source {
    pub(super) fn new(seed: u64, peers: Vec<CommSender>, quota: u64) -> Self {
        let rank = peers.first().map_or(0, |peer| peer.rank().get());
        let peers = peers.into_iter().map(|peer| (peer, 0)).collect();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(u64::from(rank) + 1);
        Self {
            random,
            peers,
            quota,
            exposed: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// Sends the quota, or less if `over` is set or the NIC goes away.
    pub(super) fn send_all(&mut self, lane: &Lane, over: &AtomicBool) {
        let mut sent = 0;
        let mut allowed = 0;
        'messages: while sent < self.quota && !over.load(Relaxed) {
            let mut wait = Wait::new();
            while sent >= allowed {
                allowed = lane.allowed.load(Relaxed);
                if over.load(Relaxed) {
                    break 'messages;
                }
                if sent >= allowed {
                    wait.pause();
                }
            }
            if self.send().is_err() {
                break;
            }
            sent += 1;
        }
        lane.sent.store(sent, Release);
    }

    fn send(&mut self) -> Result<(), SendError> {
        let dice = self.random.next_u64();
        let comm = (dice % self.peers.len() as u64) as u32;
        let tag = (dice >> 16) as u32 % TAGS;
        let (peer, sent) = &mut self.peers[comm as usize];
        let eager_limit = peer.eager_limit();
        let length = match dice >> 56 {
            0..3 if self.exposed.len() < EXPOSED_MAX => {
                self.random.random_range(HEADER_BYTES..=MESSAGE_BYTES_MAX)
            }
            3..20 => self
                .random
                .random_range(HEADER_BYTES..=eager_limit.min(MESSAGE_BYTES_MAX)),
            _ => HEADER_BYTES + (dice >> 32) as usize % (INLINE_BYTES - HEADER_BYTES + 1),
        };
        let name = Name {
            ordinal: *sent,
            source: peer.rank().get(),
            tag,
            comm,
        };
        *sent += 1;
        let tag = Tag::new(tag).unwrap_or_default();
        if length <= INLINE_BYTES {
            let mut bytes = [0; INLINE_BYTES];
            name.write(&mut bytes[..length]);
            return peer.send(tag, &bytes[..length]);
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.resize(length, 0);
        name.write(&mut buffer);
        self.exposed
            .push_back(peer.isend(tag, buffer).map_err(|(error, _)| error)?);
        self.collect();
        Ok(())
    }

    /// Collects the buffers of rendezvous messages that were read.
    fn collect(&mut self) {
        for _ in 0..self.exposed.len() {
            let Some(mut request) = self.exposed.pop_front() else {
                return;
            };
            match request.test() {
                // The receiver notices a message that was never received.
                Some(Ok(buffer) | Err((_, buffer))) => self.spare.push(buffer),
                None => self.exposed.push_back(request),
            }
        }
    }
}
