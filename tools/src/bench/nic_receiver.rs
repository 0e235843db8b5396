//! The emulated NIC as the receiver, used at its lowest level: host port and leader.

use dpa_model::{
    CommandQueueFull, Counts, Event, HostPort, Leader, Monitor, Pool, RequestId, Round, Worker,
};
use dpamatch_vocabulary::CommId;

use super::BenchError;
use super::load::Key;
use super::machine::Processors;
use super::signal::Spin;
use super::window::Receiver;
use dpamatch::host::Software;
use dpamatch::registry::EngineOptions;

enum Runner {
    /// The receiving thread itself (`M = 1 inline`).
    Inline(Box<Leader>),
    /// Separate threads, which end when this is dropped.
    Threads { _pool: Pool },
}

pub(super) struct NicReceiver {
    runner: Runner,
    port: HostPort,
    monitor: Monitor,
    /// Matches what the NIC has no room for.
    software: Software,
    slots: Slots,
    posts: u64,
}

struct Slots {
    /// Indexed by slot; empty while the NIC has the buffer.
    buffers: Vec<Vec<u8>>,
    slot_of: Vec<u32>,
    /// Complete receives that were not waited for.
    completed: usize,
}

impl Slots {
    /// Notes the slot of a receive. Communicators and receives that the host offers back hold
    /// requests, too.
    #[inline(always)]
    fn note(&mut self, request: RequestId, slot: u32) {
        if request.slot() >= self.slot_of.len() {
            self.slot_of.resize(2 * request.slot() + 1, 0);
        }
        self.slot_of[request.slot()] = slot;
    }

    #[inline(always)]
    fn put(&mut self, request: RequestId, buffer: Vec<u8>) {
        let slot = self.slot_of[request.slot()] as usize;
        self.buffers[slot] = buffer;
        self.completed += 1;
    }
}

/// Handles an event after software matching.
#[cold]
#[inline(never)]
fn other(event: Event, slots: &mut Slots) -> Result<(), BenchError> {
    match event {
        Event::Received {
            request, buffer, ..
        } => slots.put(request, buffer),
        Event::Created {
            offloaded: false, ..
        } => return Err(BenchError::NoTables),
        Event::Refused { .. } => return Err(BenchError::Hint),
        _ => {}
    }
    Ok(())
}

impl NicReceiver {
    /// A receiver with `comms` communicators and these buffers.
    pub(super) fn new(
        leader: Leader,
        workers: Vec<Worker>,
        mut host: HostPort,
        options: &EngineOptions,
        comms: usize,
        buffers: Vec<Vec<u8>>,
        processors: &Processors,
    ) -> Result<Self, BenchError> {
        let bins = options.nic.bins as u32;
        for comm in 0..comms {
            host.create(CommId(comm as u32), bins, options.hints, 0)
                .map_err(|CommandQueueFull| BenchError::NoTables)?;
        }
        let monitor = leader.monitor();
        let runner = if options.threads {
            let processors = processors.clone();
            let on_start = move |worker| processors.pin_worker(worker);
            Runner::Threads {
                _pool: Pool::start(leader, workers, on_start)?,
            }
        } else {
            Runner::Inline(Box::new(leader))
        };
        Ok(Self {
            runner,
            port: host,
            monitor,
            software: Software::default(),
            slots: Slots {
                slot_of: vec![0; buffers.len()],
                buffers,
                completed: 0,
            },
            posts: 0,
        })
    }

    pub(super) fn monitor(&self) -> Monitor {
        self.monitor.clone()
    }

    /// Runs the NIC if it is inline, and takes its events until `count` receives are complete.
    /// Returns whether there was progress.
    #[inline]
    fn progress(&mut self, count: usize) -> Result<bool, BenchError> {
        match &mut self.runner {
            // The NIC reports nothing between two rounds.
            Runner::Inline(leader) => {
                let worked = leader.round(1) == Round::Worked;
                if worked {
                    self.take(count)?;
                }
                Ok(worked)
            }
            Runner::Threads { .. } => self.take(count),
        }
    }

    /// Takes the NIC's events until `count` receives are complete. Returns whether there were any.
    #[inline]
    fn take(&mut self, count: usize) -> Result<bool, BenchError> {
        let Self {
            port,
            software,
            slots,
            ..
        } = self;
        let before = slots.completed;
        let mut any = false;
        while software.is_quiet() {
            // A separate event for each receive would pass through memory.
            let Some(event) = port.drain(|request, buffer, _, _| {
                slots.put(request, buffer);
                slots.completed < count
            }) else {
                return Ok(any || slots.completed != before);
            };
            any = true;
            if let Some(event) = software.digest(port, event) {
                other(event, slots)?;
            }
        }
        while let Some(event) = software.poll(port) {
            any = true;
            other(event, slots)?;
        }
        Ok(any)
    }

    #[cold]
    #[inline(never)]
    fn post_later(&mut self, key: Key, mut buffer: Vec<u8>) -> Result<RequestId, BenchError> {
        loop {
            self.progress(usize::MAX)?;
            match self.port.post(key.comm, key.selector, buffer, 0) {
                Ok(request) => return Ok(request),
                Err((CommandQueueFull, back)) => buffer = back,
            }
        }
    }

    fn admitted(&self) -> u64 {
        self.monitor.counts().boundary.posts
    }
}

/// Two threads on two processors may spin. If the NIC has its own threads, this thread must yield
/// early.
fn patience(runner: &Runner) -> Spin {
    match runner {
        Runner::Inline(_) => Spin::new(),
        Runner::Threads { .. } => Spin::short(),
    }
}

impl Receiver for NicReceiver {
    // Inlined like the port's `post`: a call would pass buffer and selector in memory.
    #[inline(always)]
    fn post(&mut self, slot: usize, key: Key) -> Result<(), BenchError> {
        let buffer = std::mem::take(&mut self.slots.buffers[slot]);
        let request = match self.port.post(key.comm, key.selector, buffer, 0) {
            Ok(request) => request,
            Err((CommandQueueFull, buffer)) => self.post_later(key, buffer)?,
        };
        self.posts += 1;
        self.slots.note(request, slot as u32);
        Ok(())
    }

    #[inline]
    fn settle(&mut self) -> Result<(), BenchError> {
        if let Runner::Inline(_) = self.runner {
            while self.progress(usize::MAX)? {}
            return Ok(());
        }
        let mut spin = patience(&self.runner);
        while self.admitted() < self.posts {
            if !self.progress(usize::MAX)? {
                spin.pause();
            }
        }
        Ok(())
    }

    #[inline]
    fn complete(&mut self, count: usize) -> Result<(), BenchError> {
        let mut spin = patience(&self.runner);
        // An earlier call may have left events.
        self.take(count)?;
        while self.slots.completed < count {
            if self.progress(count)? {
                spin.reset();
            } else {
                spin.pause();
            }
        }
        self.slots.completed -= count;
        Ok(())
    }

    fn buffer(&mut self, slot: usize) -> &mut [u8] {
        &mut self.slots.buffers[slot]
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct Paths {
    pub per_block: f64,
    pub clean: f64,
    pub fast: f64,
    pub slow: f64,
    /// Share that was matched in order, without bookings and paths.
    pub in_order: f64,
    /// Share that was matched in order and searched again, because a lower handler had taken the
    /// candidate.
    pub searched_again: f64,
    pub unexpected: f64,
    /// Share that found no room and went on to software matching.
    pub software: f64,
    /// Share of the receives that found no room. The NIC takes many of these back when others have
    /// left, so that fewer messages follow them.
    pub software_posts: f64,
}

impl Paths {
    /// Converts a NIC's counters; all zero without a message.
    pub fn from_counts(counts: &Counts) -> Self {
        let messages = counts.handlers.messages as f64;
        let share = |part: u64, whole: f64| {
            if whole > 0.0 {
                part as f64 / whole
            } else {
                0.0
            }
        };
        Self {
            per_block: share(counts.handlers.messages, counts.boundary.blocks as f64),
            clean: share(counts.handlers.clean, messages),
            fast: share(counts.handlers.fast, messages),
            slow: share(counts.handlers.slow, messages),
            in_order: share(counts.handlers.in_order, messages),
            searched_again: share(counts.handlers.searched_again, messages),
            unexpected: share(counts.handlers.unexpected, messages),
            software: share(counts.boundary.arrivals_forwarded, messages),
            software_posts: share(
                counts.boundary.posts_forwarded,
                counts.boundary.posts as f64,
            ),
        }
    }
}
