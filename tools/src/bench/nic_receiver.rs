//! The emulated NIC as the receiving end, used at its lowest level: host port and leader.

use dpa_model::{
    CommandQueueFull, Counts, Event, HostPort, Leader, Monitor, Pool, RequestId, Round, Worker,
};
use dpamatch_vocabulary::{CommId, Selector};

use super::machine::Processors;
use super::signal::Spin;
use super::window::Receiver;
use super::{BenchError, payload};
use dpamatch::registry::EngineOptions;

/// Who runs the NIC.
enum Runner {
    /// The receiving thread itself, in between (`M = 1 inline`).
    Inline(Box<Leader>),
    /// Threads of its own, which end when this is dropped.
    Threads { _pool: Pool },
}

pub(super) struct NicReceiver {
    runner: Runner,
    port: HostPort,
    monitor: Monitor,
    slots: Slots,
    /// Commands issued.
    commands: u64,
}

/// The receives' buffers.
struct Slots {
    /// By slot; empty while lent to the NIC.
    buffers: Vec<Vec<u8>>,
    /// Slot by request number.
    slot_of: Vec<u32>,
    /// Receives complete but not yet waited for.
    completed: usize,
}

impl Slots {
    /// A receive is complete.
    #[inline(always)]
    fn put(&mut self, request: RequestId, buffer: Vec<u8>) {
        let slot = self.slot_of[request.slot()] as usize;
        self.buffers[slot] = buffer;
        self.completed += 1;
    }
}

/// What the host port may report besides complete receives.
#[cold]
#[inline(never)]
fn other(event: Event) -> Result<(), BenchError> {
    match event {
        Event::Created { offloaded: true, .. } => Ok(()),
        Event::Created { .. } => Err(BenchError::NoTables),
        Event::Refused { .. } => Err(BenchError::Hint),
        _ => Err(BenchError::LeftTheNic),
    }
}

impl NicReceiver {
    /// A receiving end with `slots` buffers of `size` bytes.
    pub(super) fn new(
        (leader, workers): (Leader, Vec<Worker>),
        mut host: HostPort,
        options: &EngineOptions,
        slots: usize,
        size: usize,
        processors: &Processors,
    ) -> Result<Self, BenchError> {
        let bins = options.nic.bins as u32;
        host.create(CommId(0), bins, options.hints, 0)
            .map_err(|CommandQueueFull| BenchError::NoTables)?;
        let monitor = leader.monitor();
        let runner = if options.threads {
            let processors = processors.clone();
            let on_start = move |worker| processors.pin_worker(worker);
            Runner::Threads { _pool: Pool::start(leader, workers, on_start)? }
        } else {
            Runner::Inline(Box::new(leader))
        };
        Ok(Self {
            runner,
            port: host,
            monitor,
            slots: Slots {
                buffers: payload::buffers(slots, size),
                slot_of: vec![0; slots],
                completed: 0,
            },
            commands: 1,
        })
    }

    /// The NIC's counters.
    pub(super) fn monitor(&self) -> Monitor {
        self.monitor.clone()
    }

    /// Lets the NIC work, if that is this thread's job, and takes what it reports until `count`
    /// receives are complete. Whether there was anything.
    #[inline]
    fn progress(&mut self, count: usize) -> Result<bool, BenchError> {
        match &mut self.runner {
            // Nothing is reported between two rounds.
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

    /// Takes what the NIC has reported until `count` receives are complete. Whether there was
    /// anything.
    #[inline]
    fn take(&mut self, count: usize) -> Result<bool, BenchError> {
        let Self { port, slots, .. } = self;
        let before = slots.completed;
        let mut any = false;
        // An event of its own for each receive would pass through memory.
        while let Some(event) = port.drain_received(|request, buffer, _, _| {
            slots.put(request, buffer);
            slots.completed < count
        }) {
            any = true;
            other(event)?;
        }
        Ok(any || slots.completed != before)
    }

    /// Posts a receive where the command queue was full.
    #[cold]
    #[inline(never)]
    fn post_later(
        &mut self,
        selector: Selector,
        mut buffer: Vec<u8>,
    ) -> Result<RequestId, BenchError> {
        loop {
            self.progress(usize::MAX)?;
            match self.port.post(CommId(0), selector, buffer, 0) {
                Ok(request) => return Ok(request),
                Err((CommandQueueFull, back)) => buffer = back,
            }
        }
    }

    fn admitted(&self) -> u64 {
        self.monitor.counts().boundary.commands
    }
}

/// Two threads on two processors may spin; where the NIC has threads of its own, this one must give
/// way early.
fn patience(runner: &Runner) -> Spin {
    match runner {
        Runner::Inline(_) => Spin::new(),
        Runner::Threads { .. } => Spin::short(),
    }
}

impl Receiver for NicReceiver {
    // Always, like the port's post: as a call it would pass buffer and selector in memory.
    #[inline(always)]
    fn post(&mut self, slot: usize, selector: Selector) -> Result<(), BenchError> {
        let buffer = std::mem::take(&mut self.slots.buffers[slot]);
        let request = match self.port.post(CommId(0), selector, buffer, 0) {
            Ok(request) => request,
            Err((CommandQueueFull, buffer)) => self.post_later(selector, buffer)?,
        };
        self.commands += 1;
        self.slots.slot_of[request.slot()] = slot as u32;
        Ok(())
    }

    #[inline]
    fn settle(&mut self) -> Result<(), BenchError> {
        if let Runner::Inline(_) = self.runner {
            while self.progress(usize::MAX)? {}
            return Ok(());
        }
        let mut spin = patience(&self.runner);
        while self.admitted() < self.commands {
            if !self.progress(usize::MAX)? {
                spin.pause();
            }
        }
        Ok(())
    }

    #[inline]
    fn complete(&mut self, count: usize) -> Result<(), BenchError> {
        let mut spin = patience(&self.runner);
        // An earlier call may have left some.
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

/// Of a NIC's messages, how they were matched.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct Paths {
    /// Messages per block.
    pub per_block: f64,
    /// Share matched without conflict.
    pub clean: f64,
    /// Share matched on the fast path.
    pub fast: f64,
    /// Share matched on the slow path.
    pub slow: f64,
    /// Share that was unexpected.
    pub unexpected: f64,
}

impl Paths {
    /// From a NIC's counters; all zero if it had no message.
    pub fn of(counts: &Counts) -> Self {
        let messages = counts.handlers.messages as f64;
        let share = |part: u64, whole: f64| if whole > 0.0 { part as f64 / whole } else { 0.0 };
        Self {
            per_block: share(counts.handlers.messages, counts.boundary.blocks as f64),
            clean: share(counts.handlers.clean, messages),
            fast: share(counts.handlers.fast, messages),
            slow: share(counts.handlers.slow, messages),
            unexpected: share(counts.handlers.unexpected, messages),
        }
    }
}
