//! A channel like a kernel module: the sender exposes its buffer, and the receiver copies it once.
//!
//! Every poll costs a trap and a lock, so the main loop avoids this channel. Here the trap is a
//! delay, and the copy goes from the sender's buffer to the receive's.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::packet::Packet;

/// Exposed buffers of all senders.
type Exposed = Arc<Mutex<VecDeque<Packet>>>;

/// The receiver's side.
#[derive(Debug)]
pub struct KernelModule {
    exposed: Exposed,
    trap: Duration,
}

/// The sender's side.
#[derive(Debug)]
pub struct KernelSender(Exposed);

impl KernelModule {
    /// A module whose polls take at least `trap` each.
    pub fn new(trap: Duration) -> Self {
        Self { exposed: Exposed::default(), trap }
    }

    pub fn connect(&self) -> KernelSender {
        KernelSender(self.exposed.clone())
    }

    /// Traps, and takes the oldest exposed buffer.
    pub fn poll(&mut self) -> Option<Packet> {
        let begin = Instant::now();
        while begin.elapsed() < self.trap {
            std::hint::spin_loop();
        }
        self.exposed.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub fn waiting(&self) -> usize {
        self.exposed.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl KernelSender {
    /// Exposes the buffer until the receiver takes it.
    pub fn expose(&self, packet: Packet) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(packet);
    }
}
