//! The calls of an engine.

use std::fmt;

use dpamatch_vocabulary::CommId;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::stream::{Event, Generator, Profile};

/// One call of [`Engine`](crate::engine::Engine).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// An event of a stream.
    Event(Event),
    /// `free_comm`; refused while the communicator has entries.
    Free(CommId),
    /// `set_comm_size`, with a size that need not be right.
    Size(CommId, u32),
}

/// Writes an event as its line, and the other calls in that style.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event(event) => event.fmt(f),
            Self::Free(comm) => write!(f, "free,{}", comm.0),
            Self::Size(comm, size) => write!(f, "size,{},{size}", comm.0),
        }
    }
}

pub(super) fn comm_of(event: &Event) -> Option<CommId> {
    match *event {
        Event::Post { comm, .. } | Event::Probe { comm, .. } | Event::Mprobe { comm, .. } => {
            Some(comm)
        }
        Event::Arrive { envelope, .. } => Some(envelope.comm),
        Event::Cancel { .. } => None,
    }
}

/// A random stream of `events` events, fixed by the arguments, with calls in between that free
/// recent communicators and set sizes.
pub fn random_calls(seed: u64, events: u64, profile: Profile) -> Vec<Call> {
    // A seed other than the stream's.
    let mut random = ChaCha8Rng::seed_from_u64(!seed);
    let mut calls = Vec::new();
    let mut comms = Vec::new();
    for event in Generator::new(seed, events, profile) {
        comms.extend(comm_of(&event));
        calls.push(Call::Event(event));
        let window = comms.len().min(64);
        if window > 0 && random.random_range(0..32) == 0 {
            let comm = comms[comms.len() - 1 - random.random_range(0..window as u64) as usize];
            calls.push(match random.random_range(0..4) {
                0 => Call::Size(comm, 1 << random.random_range(0..32)),
                _ => Call::Free(comm),
            });
        }
    }
    calls
}
