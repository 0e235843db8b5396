//! The kernel-module-like channel: the sender exposes its buffer, and the receiver copies it once.
//!
//! Asking the module costs a trap and a lock, whether it has something or not; that is why the main
//! loop leaves it alone. Here the trap is a time that the poll spends, and the copy is the
//! one from the sender's buffer into the receive's.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::packet::Packet;

/// What the module holds: exposed buffers of all senders.
type Exposed = Arc<Mutex<VecDeque<Packet>>>;

/// The receiver's side.
#[derive(Debug)]
pub struct KernelModule {
    exposed: Exposed,
    trap: Duration,
}

/// A sender's side.
#[derive(Debug)]
pub struct KernelSender(Exposed);

impl KernelModule {
    /// A module whose every poll takes this long at least.
    pub fn new(trap: Duration) -> Self {
        Self { exposed: Exposed::default(), trap }
    }

    /// A sender's side.
    pub fn connect(&self) -> KernelSender {
        KernelSender(self.exposed.clone())
    }

    /// Traps, and takes the oldest exposed buffer if there is one.
    pub fn poll(&mut self) -> Option<Packet> {
        let begin = Instant::now();
        while begin.elapsed() < self.trap {
            std::hint::spin_loop();
        }
        self.exposed.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Messages that wait in the module.
    pub fn waiting(&self) -> usize {
        self.exposed.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl KernelSender {
    /// Leaves the buffer with the module until the receiver asks for it.
    pub fn expose(&self, packet: Packet) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(packet);
    }
}
