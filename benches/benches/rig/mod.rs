//! A NIC in one hand: host, wire and handlers are called by the bench, one after the other.

use dpa_model::{
    CommId, Envelope, Event, Hints, HostPort, Leader, Nic, NicConfig, Options, Rank, RequestId, Round,
    Selector, Sender, Tag,
};

/// The communicator of all messages.
pub(crate) const COMM: CommId = CommId(0);
/// Bytes of every message.
pub(crate) const BYTES: usize = 8;

/// Tag `number`.
pub(crate) fn tag(number: usize) -> Tag {
    Tag::new(number as u32).expect("a small number is a tag")
}

/// The sender of all messages.
pub(crate) fn source() -> Rank {
    Rank::new(1).expect("a small number is a rank")
}

/// A message with this tag.
pub(crate) fn envelope(number: usize) -> Envelope {
    Envelope { comm: COMM, source: source(), tag: tag(number) }
}

/// The receive for it.
pub(crate) fn exact(number: usize) -> Selector {
    Selector::new(source(), tag(number))
}

/// A NIC and both its ends.
pub(crate) struct Rig {
    /// The host's end.
    pub(crate) host: HostPort,
    /// The handlers.
    pub(crate) leader: Leader,
    /// The wire's end.
    pub(crate) sender: Sender,
    spare: Vec<Vec<u8>>,
}

impl Rig {
    /// A NIC with room for `receives` receives and as many commands, messages and completions.
    pub(crate) fn new(handlers: usize, receives: usize, options: Options) -> Self {
        let depth = (receives + 1).next_power_of_two().max(128);
        let config = NicConfig {
            handlers,
            receives,
            unexpected: receives,
            unexpected_buffers: 0,
            completion_queue: depth,
            command_queue: depth,
            completion_ring: depth,
            bounce_buffers: 1,
            options,
            ..NicConfig::default()
        };
        let mut nic = Nic::new(&config).expect("a valid configuration");
        nic.host.create(COMM, config.bins as u32, Hints::default(), 0).expect("room for a command");
        let mut rig = Self { host: nic.host, leader: nic.leader, sender: nic.sender, spare: Vec::new() };
        rig.work();
        assert_eq!(rig.collect(), 1, "the communicator is there");
        rig.spare = (0..receives).map(|_| vec![0; BYTES]).collect();
        rig
    }

    /// Posts a receive; the NIC has not looked at it yet.
    pub(crate) fn post(&mut self, selector: Selector) -> RequestId {
        let buffer = self.spare.pop().expect("no more receives than planned");
        self.host.post(COMM, selector, buffer, 0).expect("room for a command")
    }

    /// Sends a message; the NIC has not looked at it yet.
    pub(crate) fn send(&mut self, envelope: Envelope) {
        self.sender.try_send(envelope, &[7; BYTES], 0).expect("room in the completion queue");
    }

    /// Lets the NIC work until it has nothing to do.
    pub(crate) fn work(&mut self) {
        while self.leader.round(1) == Round::Worked {}
    }

    /// Takes all that the NIC reports; returns how much that was.
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
