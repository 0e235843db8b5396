//! A NIC on one thread: the bench calls host, wire and handlers in turn.

use dpa_model::{Event, Hints, HostPort, Leader, Nic, NicConfig, RequestId, Round, Sender, Worker};
use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, Tag};

/// The communicator of all messages.
pub(crate) const COMM: CommId = CommId(0);
pub(crate) const BYTES: usize = 8;

pub(crate) fn tag(number: usize) -> Tag {
    Tag::new(number as u32).expect("a small number is a tag")
}

pub(crate) fn source() -> Rank {
    Rank::new(1).expect("a small number is a rank")
}

pub(crate) fn envelope(number: usize) -> Envelope {
    Envelope { comm: COMM, source: source(), tag: tag(number) }
}

/// The receive for message `number`.
pub(crate) fn exact(number: usize) -> Selector {
    Selector::new(source(), tag(number))
}

/// A NIC and both its ends.
pub(crate) struct Rig {
    pub(crate) host: HostPort,
    pub(crate) leader: Leader,
    /// The wire's end.
    pub(crate) sender: Sender,
    /// Further handlers; idle unless the bench runs them.
    pub(crate) workers: Vec<Worker>,
    spare: Vec<Vec<u8>>,
}

impl Rig {
    /// Has room for as many messages, commands and completions as receives.
    pub(crate) fn with(config: NicConfig, hints: Hints) -> Self {
        let receives = config.receives;
        let depth = (receives + 1).next_power_of_two().max(128);
        let config = NicConfig {
            unexpected: receives,
            unexpected_buffers: 0,
            completion_queue: depth,
            command_queue: depth,
            completion_ring: depth,
            bounce_buffers: 1,
            ..config
        };
        let mut nic = Nic::new(&config).expect("a valid configuration");
        nic.host.create(COMM, config.bins as u32, hints, 0).expect("room for a command");
        let Nic { leader, workers, host, sender } = nic;
        let mut rig = Self { host, leader, sender, workers, spare: Vec::new() };
        rig.work();
        assert_eq!(rig.collect(), 1, "the communicator is there");
        rig.spare = (0..receives).map(|_| vec![0; BYTES]).collect();
        rig
    }

    /// Posts a receive without running the NIC.
    pub(crate) fn post(&mut self, selector: Selector) -> RequestId {
        let buffer = self.spare.pop().expect("no more receives than planned");
        self.host.post(COMM, selector, buffer, 0).expect("room for a command")
    }

    /// Sends a message without running the NIC.
    pub(crate) fn send(&mut self, envelope: Envelope) {
        self.sender.try_send(envelope, &[7; BYTES], 0).expect("room in the completion queue");
    }

    /// Checks that all blocks held `size` messages; returns the shared blocks and all blocks.
    pub(crate) fn shared_blocks(&self, size: usize) -> (u64, u64) {
        let counts = self.leader.monitor().counts();
        assert_eq!(counts.handlers.messages, counts.boundary.blocks * size as u64, "whole blocks");
        (counts.boundary.shared_blocks, counts.boundary.blocks)
    }

    /// Runs the NIC until it is idle.
    pub(crate) fn work(&mut self) {
        while self.leader.round(1) == Round::Worked {}
    }

    /// Takes all results; returns their number.
    pub(crate) fn collect(&mut self) -> usize {
        let mut events = 0;
        while let Some(event) = self.host.poll() {
            events += 1;
            if let Event::Received { buffer, .. } | Event::Cancelled { buffer, .. } = event {
                self.spare.push(buffer);
            }
        }
        events
    }
}
