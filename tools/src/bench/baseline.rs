//! Receivers on the NIC's wire without its matching: none at all, or a sequential engine.

use dpa_model::{Data, Drain};

use super::load::Key;
use super::signal::Spin;
use super::window::Receiver;
use super::{BenchError, payload};
use dpamatch::engine::{Engine, MsgId, RecvId};

#[inline]
fn put(buffer: &mut [u8], data: Data<'_>) {
    match data {
        Data::Eager(bytes) => {
            // As in the NIC, the commonest small size needs no call.
            if let (Ok(word), Some(place)) =
                (<&[u8; 8]>::try_from(bytes), buffer.first_chunk_mut::<8>())
            {
                *place = *word;
                return;
            }
            let length = bytes.len().min(buffer.len());
            buffer[..length].copy_from_slice(&bytes[..length]);
        }
        Data::Rendezvous(remote) => {
            remote.read(buffer);
        }
    }
}

pub(super) struct NoMatching {
    drain: Drain,
    buffers: Vec<Vec<u8>>,
    next: usize,
    window: usize,
}

impl NoMatching {
    pub(super) fn new(drain: Drain, window: usize, size: usize) -> Self {
        Self {
            drain,
            buffers: payload::buffers(window, size),
            next: 0,
            window,
        }
    }
}

impl Receiver for NoMatching {
    #[inline]
    fn post(&mut self, _: usize, _: Key) -> Result<(), BenchError> {
        Ok(())
    }

    #[inline]
    fn complete(&mut self, count: usize) -> Result<(), BenchError> {
        let Self {
            drain,
            buffers,
            next,
            window,
        } = self;
        let mut left = count;
        let mut spin = Spin::new();
        while left > 0 {
            let taken = drain.take_waiting(left, |_, data| {
                put(&mut buffers[*next], data);
                *next = if *next + 1 == *window { 0 } else { *next + 1 };
            });
            left -= taken;
            if taken > 0 {
                spin.reset();
            } else {
                spin.pause();
            }
        }
        Ok(())
    }

    fn buffer(&mut self, slot: usize) -> &mut [u8] {
        &mut self.buffers[slot]
    }
}

/// A sequential engine that takes messages from the completion queue.
pub(super) struct Sequential<E: ?Sized> {
    drain: Drain,
    engine: Box<E>,
    buffers: Vec<Vec<u8>>,
    /// Bytes of unexpected messages, indexed by message number modulo the length.
    stored: Vec<Vec<u8>>,
    arrivals: usize,
    completed: usize,
}

impl<E: Engine + ?Sized> Sequential<E> {
    pub(super) fn new(
        drain: Drain,
        engine: Box<E>,
        slots: usize,
        unexpected: usize,
        size: usize,
    ) -> Self {
        Self {
            drain,
            engine,
            buffers: payload::buffers(slots, size),
            stored: payload::buffers(unexpected.max(1), size),
            arrivals: 0,
            completed: 0,
        }
    }

    pub(super) fn steps_per_message(&self) -> f64 {
        let stats = self.engine.stats();
        let steps: u64 = [stats.prq, stats.umq]
            .iter()
            .map(|queue| queue.attempts + queue.hops)
            .sum();
        let matched = stats.prq.hits + stats.umq.hits;
        steps as f64 / matched.max(1) as f64
    }

    /// Matches the waiting messages; returns whether there were any.
    #[inline]
    fn arrive(&mut self) -> bool {
        let Self {
            drain,
            engine,
            buffers,
            stored,
            arrivals,
            completed,
        } = self;
        let arrived = drain.take_waiting(usize::MAX, |envelope, data| {
            let number = *arrivals % stored.len();
            match engine.arrive(MsgId(number as u64), envelope) {
                Some(RecvId(slot)) => {
                    put(&mut buffers[slot as usize], data);
                    *completed += 1;
                }
                None => {
                    put(&mut stored[number], data);
                    *arrivals += 1;
                }
            }
        });
        arrived > 0
    }
}

impl<E: Engine + ?Sized> Receiver for Sequential<E> {
    #[inline]
    fn post(&mut self, slot: usize, key: Key) -> Result<(), BenchError> {
        let Key { comm, selector } = key;
        if let Some(MsgId(number)) = self.engine.post(RecvId(slot as u64), comm, selector) {
            self.buffers[slot].copy_from_slice(&self.stored[number as usize]);
            self.completed += 1;
        }
        Ok(())
    }

    #[inline]
    fn complete(&mut self, count: usize) -> Result<(), BenchError> {
        let mut spin = Spin::new();
        while self.completed < count {
            if self.arrive() {
                spin.reset();
            } else {
                spin.pause();
            }
        }
        self.completed -= count;
        Ok(())
    }

    fn buffer(&mut self, slot: usize) -> &mut [u8] {
        &mut self.buffers[slot]
    }
}
