//! An execution unit: until when it is busy, and what its time went into.

use super::{Level, Picos};

/// What an EU is doing, as handlers tell it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Phase {
    /// Waits for its completion entry, reads and decodes it.
    #[default]
    Poll,
    /// Searches the indexes.
    Search,
    /// Books its candidate and publishes its claim.
    Book,
    /// Waits in the partial barrier and looks for conflicts.
    Barrier,
    /// Consumes without conflict.
    Clean,
    /// Takes the fast path.
    Fast,
    /// Waits for its predecessors and searches again.
    Slow,
    /// Moves data, reports, reposts.
    Protocol,
    /// Executes commands and ends blocks.
    Boundary,
}

impl Phase {
    /// All, in the order in which a message passes them.
    pub const ALL: [Self; 9] = [
        Self::Poll,
        Self::Search,
        Self::Book,
        Self::Barrier,
        Self::Clean,
        Self::Fast,
        Self::Slow,
        Self::Protocol,
        Self::Boundary,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        ["poll", "search", "book", "barrier", "clean", "fast", "slow", "protocol", "boundary"]
            [self as usize]
    }
}

/// What an access goes to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Entry of the completion queue, where a message is announced.
    Entry,
    /// Head of a bin.
    Bin,
    /// A posted receive.
    Receive,
    /// A receive's booking word.
    Booking,
    /// A bin's lock.
    Lock,
    /// The bitmap of the partial barrier.
    Barrier,
    /// A handler's progress word.
    Progress,
    /// A handler's published candidate.
    Candidate,
    /// The receive that a handler notes for the leader, and what became of it.
    Taken,
    /// How many handlers have ended their part of a block.
    Ended,
    /// A line of a bounce buffer.
    Bounce,
    /// An entry of the unexpected store.
    Unexpected,
    /// The window to the user's buffer.
    Window,
    /// The completion written to the host.
    Completion,
    /// A doorbell record.
    Doorbell,
    /// The sender's memory, read by RDMA.
    Remote,
    /// Lines that an EU has for itself or nobody writes: stack, scratch, counters, views.
    Own,
    /// Code.
    Code,
}

impl Kind {
    /// All.
    pub const ALL: [Self; 18] = [
        Self::Entry,
        Self::Bin,
        Self::Receive,
        Self::Booking,
        Self::Lock,
        Self::Barrier,
        Self::Progress,
        Self::Candidate,
        Self::Taken,
        Self::Ended,
        Self::Bounce,
        Self::Unexpected,
        Self::Window,
        Self::Completion,
        Self::Doorbell,
        Self::Remote,
        Self::Own,
        Self::Code,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        [
            "completion entry",
            "bin",
            "receive",
            "booking word",
            "bin lock",
            "barrier's bitmap",
            "progress word",
            "candidates",
            "taken receives",
            "ended handlers",
            "bounce buffer",
            "unexpected message",
            "host window",
            "completion to the host",
            "doorbell",
            "sender's memory",
            "own lines",
            "code",
        ][self as usize]
    }
}

/// The accesses to one [`Kind`] of place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Accesses {
    /// How many found their line at each [`Level`].
    pub found: [u64; Level::ALL.len()],
    /// How many took a contended word over from another EU.
    pub handed_over: u64,
    /// How many left the DPA: for the host or the sender.
    pub outside: u64,
    /// What all of them cost.
    pub time: Picos,
}

/// Where an EU's time went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Time {
    /// Instruction work, its stretching included, by [`Phase`].
    pub work: [Picos; Phase::ALL.len()],
    /// Accesses that found their line at a [`Level`].
    pub memory: [Picos; Level::ALL.len()],
    /// Host memory, completions, doorbells.
    pub host: Picos,
    /// Contended words: the queue at the word and the hand-over.
    pub handover: Picos,
    /// Waiting for a message to arrive.
    pub arrival: Picos,
    /// Waiting for the block before to end.
    pub fence: Picos,
    /// Waiting for lower handlers to book.
    pub barrier: Picos,
    /// Waiting for predecessors in the slow path.
    pub chain: Picos,
}

impl Time {
    /// Everything but waiting.
    pub fn busy(&self) -> Picos {
        let parts = self.work.iter().chain(&self.memory).sum::<Picos>();
        parts + self.host + self.handover
    }
}

/// A stretch of time in one phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Which EU.
    pub eu: usize,
    /// In which phase.
    pub phase: Phase,
    /// Message, by arrival number.
    pub message: u64,
    /// Beginning.
    pub begin: Picos,
    /// End.
    pub end: Picos,
}

/// One EU.
#[derive(Clone, Debug, Default)]
pub struct Eu {
    /// When its last work is done.
    pub free_at: Picos,
    /// What its time went into.
    pub time: Time,
    /// Messages handled: executions of the handler.
    pub executions: u64,
    /// Looks at its completion entry that found none.
    pub polls_empty: u64,
    /// Looks at a word of the barrier or of the chain that was not yet set.
    pub polls_waiting: u64,
    /// What it touched, by [`Kind`].
    pub accesses: [Accesses; Kind::ALL.len()],
    /// From the arrival of each of its messages to the end of its handler, added up.
    pub latency: Picos,
    /// The longest of these.
    pub latency_max: Picos,
    /// How much longer work takes because of the other EUs of the core.
    pub(crate) stretch: f64,
    /// Parts of own lines and of lines of code that are not yet a whole one.
    pub(crate) parts: [f64; 2],
    /// The core it is on.
    pub core: usize,
}
