//! Channels that carry messages: threads send, and one progress engine polls and matches.
//!
//! | channel | how it carries a message | an empty poll |
//! |---|---|---|
//! | shared memory | two copies: into a buffer that both threads see, and out of it | loads |
//! | kernel copy | the sender announces where its buffer is; once a receive has matched, the kernel copies from there (`process_vm_readv`) | a system call |
//! | network | TCP on the loopback interface | a system call for each connection |
//!
//! A process of the node sends short messages through shared memory and longer ones by the kernel
//! copy; a process of another node has the network alone. All messages enter one
//! [`Endpoint`](dpamatch::endpoint::Endpoint), in the order in which each sender sent them.
//!
//! Peers are threads of the receiver's process here, and so the kernel copies within one process.

mod engine;
mod inbox;
mod measure;
mod message;
mod peers;

use std::io;

use dpamatch::SendError;
use dpamatch::endpoint::{EndpointError, RecvError, Stopped};

pub use engine::{Polls, ProgressEngine, Received, Request};
pub use measure::{
    Calibration, RealBursts, RealDiscovered, calibrate, discover_by_threads, way_ns,
};
pub use peers::{LocalPeer, RemotePeer};

/// Why a channel or the matcher behind it cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// A socket, or the kernel's copy.
    #[error("a channel failed: {0}")]
    Io(#[from] io::Error),
    /// What came through a channel is no message, or repeats one.
    #[error("rank {source_rank} breaks the rules of its channel: {what}")]
    Broken {
        /// The sender.
        source_rank: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// The matcher refused a message for good.
    #[error("the matcher refused a message: {0}")]
    Send(#[from] SendError),
    /// A receive has no message.
    #[error("a receive failed: {0}")]
    Receive(#[from] RecvError),
    /// The matcher could not be built.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The matcher has stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// A peer's thread has ended early.
    #[error("the sending thread has ended early")]
    Sender,
}
