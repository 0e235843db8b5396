//! Feeds a recorded stream in exactly its order.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use dpa_model::{CommId, Event, Feeder, Hints, HostPort, Operation, Outcome, Sender};

use crate::software::Software;

/// Feeds a stream and keeps its outcomes.
#[derive(Debug)]
pub struct Player {
    /// Host and wire.
    pub feeder: Feeder,
    software: Software,
    operations: Vec<Operation>,
    /// The next of them.
    next: usize,
    outcomes: Vec<u8>,
}

impl Player {
    /// A player of the records in `stream`; `None` if they are no stream.
    pub fn new(host: HostPort, sender: Sender, stream: &[u8]) -> Option<Self> {
        let (records, rest) = stream.as_chunks();
        let operations: Option<Vec<_>> = records.iter().map(Operation::from_record).collect();
        let operations = operations.filter(|_| rest.is_empty())?;
        let outcomes = Vec::with_capacity(2 * operations.len() * Outcome::RECORD_BYTES);
        let (feeder, software) = (Feeder::new(host, sender), Software::default());
        Some(Self {
            feeder,
            software,
            operations,
            next: 0,
            outcomes,
        })
    }

    /// Creates tables of `bins` bins for each of the stream's communicators.
    pub fn create(&mut self, bins: u32, wait: &mut dyn FnMut()) -> Result<(), String> {
        let comm = |operation: &Operation| match *operation {
            Operation::Arrive { envelope, .. } => Some(envelope.comm.0),
            Operation::Post { comm, .. } | Operation::Probe { comm, .. } => Some(comm.0),
            _ => None,
        };
        let last = self.operations.iter().filter_map(comm).max().unwrap_or(0);
        for comm in (0..=last).map(CommId) {
            self.issue(
                &Operation::Create {
                    comm,
                    bins,
                    hints: Hints::default(),
                },
                wait,
            )?;
        }
        Ok(())
    }

    /// Feeds the whole stream; `wait` runs the card, or waits for it.
    pub fn play(&mut self, wait: &mut dyn FnMut()) -> Result<(), String> {
        while self.feed(usize::MAX, wait)? {}
        self.finish(wait)
    }

    /// Feeds the next `count` operations, waits, and collects results. Returns whether more
    /// operations follow.
    pub fn feed(&mut self, count: usize, wait: &mut dyn FnMut()) -> Result<bool, String> {
        let end = self.next.saturating_add(count).min(self.operations.len());
        for index in self.next..end {
            let operation = self.operations[index];
            let fed = self.issue(&operation, wait);
            fed.map_err(|error| format!("operation {index}: {error}"))?;
        }
        self.next = end;
        wait();
        self.collect()?;
        Ok(end < self.operations.len())
    }

    /// Waits for all results.
    pub fn finish(&mut self, wait: &mut dyn FnMut()) -> Result<(), String> {
        while !self.feeder.try_flush() {
            wait();
            self.collect()?;
        }
        // The flush completes after every command; messages may still be on their way.
        while !self.feeder.is_settled() || self.feeder.host.arrivals().1 < self.feeder.arrivals() {
            wait();
            self.collect()?;
        }
        wait();
        self.collect()?;
        for recv in self.feeder.posted() {
            self.note(Outcome::Posted { recv });
        }
        let unexpected: Vec<_> = self.feeder.unexpected().collect();
        for (msg, _) in unexpected {
            self.note(Outcome::Unexpected { msg });
        }
        Ok(())
    }

    /// Commands and messages that software matched.
    pub fn forwarded(&self) -> usize {
        self.software.forwarded()
    }

    /// The outcomes' records.
    pub fn outcomes(&self) -> &[u8] {
        &self.outcomes
    }

    fn issue(&mut self, operation: &Operation, wait: &mut dyn FnMut()) -> Result<(), String> {
        while !self
            .feeder
            .try_issue(operation)
            .map_err(|error| error.to_string())?
        {
            wait();
            self.collect()?;
        }
        Ok(())
    }

    fn note(&mut self, outcome: Outcome) {
        self.outcomes.extend_from_slice(&outcome.to_record());
    }

    fn collect(&mut self) -> Result<(), String> {
        while let Some(event) = self.feeder.host.poll() {
            if let Event::Created {
                offloaded: false, ..
            } = event
            {
                return Err("no tables for a communicator".to_string());
            }
            let Some(event) = self.software.digest(&mut self.feeder.host, event) else {
                continue;
            };
            if let Some(outcome) = self.feeder.note(event).map_err(|error| error.to_string())? {
                self.note(outcome);
            }
        }
        Ok(())
    }
}
