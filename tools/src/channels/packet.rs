//! Messages in a channel, and their senders.

use dpa_model::{SendError, Sender};
use dpamatch_vocabulary::{CommId, Envelope, Rank, Tag};

use super::kernel::KernelSender;
use super::shared_memory::{FifoFull, FifoSender};

/// A message as delivered by a channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Number of messages that its sender sent before, on any channel.
    pub sequence: u64,
    /// Communicator, source, tag.
    pub envelope: Envelope,
    pub payload: Vec<u8>,
}

/// A process on the receiver's node. Short messages use shared memory, longer ones the kernel
/// module.
#[derive(Debug)]
pub struct LocalPeer {
    rank: Rank,
    comm: CommId,
    sequence: u64,
    threshold: usize,
    fifo: FifoSender,
    kernel: KernelSender,
}

impl LocalPeer {
    /// A peer whose messages of at least `threshold` bytes use the kernel module.
    pub fn new(
        rank: Rank,
        comm: CommId,
        threshold: usize,
        fifo: FifoSender,
        kernel: KernelSender,
    ) -> Self {
        Self { rank, comm, sequence: 0, threshold, fifo, kernel }
    }

    /// Sends, and waits while the FIFO is full.
    pub fn send(&mut self, tag: Tag, payload: Vec<u8>) {
        let envelope = Envelope { comm: self.comm, source: self.rank, tag };
        let mut packet = Packet { sequence: self.sequence, envelope, payload };
        self.sequence += 1;
        if packet.payload.len() >= self.threshold {
            return self.kernel.expose(packet);
        }
        while let Err(FifoFull(back)) = self.fifo.try_send(packet) {
            packet = back;
            std::thread::yield_now();
        }
    }
}

/// Why a process on another node cannot send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteSendError {
    /// The NIC refused.
    #[error(transparent)]
    Send(#[from] SendError),
    /// Longer than an eager message.
    #[error("a message of {bytes} bytes is above the eager limit of {limit}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
}

/// Bytes before the payload on the wire: the sequence number.
pub(super) const HEADER_BYTES: usize = 8;

/// A process on another node; it sends all messages through the NIC.
#[derive(Debug)]
pub struct RemotePeer {
    rank: Rank,
    comm: CommId,
    sequence: u64,
    sender: Sender,
    wire: Vec<u8>,
}

impl RemotePeer {
    pub(super) fn new(rank: Rank, comm: CommId, sender: Sender) -> Self {
        Self { rank, comm, sequence: 0, sender, wire: Vec::new() }
    }

    /// Sends, and waits while the receiver is not ready.
    ///
    /// # Errors
    /// [`RemoteSendError`].
    pub fn send(&mut self, tag: Tag, payload: &[u8]) -> Result<(), RemoteSendError> {
        let limit = self.sender.eager_limit() - HEADER_BYTES;
        if payload.len() > limit {
            return Err(RemoteSendError::TooLong { bytes: payload.len(), limit });
        }
        self.wire.clear();
        self.wire.extend_from_slice(&self.sequence.to_le_bytes());
        self.wire.extend_from_slice(payload);
        let envelope = Envelope { comm: self.comm, source: self.rank, tag };
        self.sender.send(envelope, &self.wire)?;
        self.sequence += 1;
        Ok(())
    }
}
