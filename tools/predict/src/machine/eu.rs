//! An execution unit and the use of its time.

use super::{Level, Picos};

/// Present activity of an EU, reported by its handler.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Phase {
    /// Waits for its completion entry, reads and decodes it.
    #[default]
    Poll,
    Search,
    /// Books its candidate and publishes its claim.
    Book,
    /// Waits in the partial barrier and looks for conflicts.
    Barrier,
    /// Consumes without conflict.
    Clean,
    Fast,
    /// Waits for its predecessors and searches again.
    Slow,
    /// Moves data, completes, reposts.
    Protocol,
    /// Executes commands and ends blocks.
    Boundary,
}

impl Phase {
    /// All phases, in the order in which a message passes them.
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

    pub fn name(self) -> &'static str {
        [
            "poll", "search", "book", "barrier", "clean", "fast", "slow", "protocol", "boundary",
        ][self as usize]
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LineKind {
    /// Entry of the completion queue, where a message is announced.
    Entry,
    Bin,
    Receive,
    Booking,
    Lock,
    /// The bitmap of the partial barrier.
    Barrier,
    Progress,
    Candidate,
    /// A handler's report to the leader: its receive.
    Taken,
    Bounce,
    Unexpected,
    Window,
    Completion,
    Doorbell,
    /// The sender's memory, read by RDMA.
    Remote,
    /// Lines private to an EU or never written: stack, scratch, counters, views.
    Own,
    Code,
}

impl LineKind {
    /// All kinds in order, with their names.
    pub const NAMED: [(Self, &str); 17] = [
        (Self::Entry, "completion entry"),
        (Self::Bin, "bin"),
        (Self::Receive, "receive"),
        (Self::Booking, "booking word"),
        (Self::Lock, "bin lock"),
        (Self::Barrier, "barrier's bitmap"),
        (Self::Progress, "progress word"),
        (Self::Candidate, "candidates"),
        (Self::Taken, "taken receives"),
        (Self::Bounce, "bounce buffer"),
        (Self::Unexpected, "unexpected message"),
        (Self::Window, "host window"),
        (Self::Completion, "completion to the host"),
        (Self::Doorbell, "doorbell"),
        (Self::Remote, "sender's memory"),
        (Self::Own, "own lines"),
        (Self::Code, "code"),
    ];
}

/// Accesses to one [`LineKind`] of target.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Accesses {
    pub found: [u64; Level::ALL.len()],
    /// Contended words taken over from another EU.
    pub handed_over: u64,
    /// Accesses that left the DPA, for the host or the sender.
    pub outside: u64,
    pub time: Picos,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Time {
    /// Instruction work by [`Phase`], slowed down by other EUs of the core.
    pub work: [Picos; Phase::ALL.len()],
    /// Accesses by the [`Level`] that they hit.
    pub memory: [Picos; Level::ALL.len()],
    /// Host memory, completions, doorbells.
    pub host: Picos,
    /// Contended words: queueing and hand-over.
    pub handover: Picos,
    pub arrival: Picos,
    /// Waiting for the previous block to end.
    pub fence: Picos,
    /// Waiting for lower handlers to book.
    pub barrier: Picos,
    /// Waiting for predecessors in the slow path.
    pub chain: Picos,
}

impl Time {
    /// All time except waiting.
    pub fn busy(&self) -> Picos {
        let parts = self.work.iter().chain(&self.memory).sum::<Picos>();
        parts + self.host + self.handover
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    pub eu: usize,
    pub phase: Phase,
    pub message: u64,
    pub begin: Picos,
    pub end: Picos,
}

#[derive(Clone, Debug, Default)]
pub struct Eu {
    /// End of its last work.
    pub free_at: Picos,
    pub time: Time,
    /// Messages handled: executions of the handler.
    pub executions: u64,
    /// Polls of its completion entry that found none.
    pub polls_empty: u64,
    /// Polls of a barrier or chain word that was not yet set.
    pub polls_waiting: u64,
    /// Messages whose handler looked for conflicts in its domain, and those of them that had no
    /// lower handler in it.
    pub in_domain: u64,
    pub first_of_domain: u64,
    pub accesses: [Accesses; LineKind::NAMED.len()],
    /// Sum over its messages of the time from arrival to the end of the handler.
    pub latency: Picos,
    pub latency_max: Picos,
    /// Instructions of the code between its steps, as counted in the firmware.
    pub instructions: f64,
    /// Fractions of private lines and code lines not yet charged.
    pub(crate) parts: [f64; 2],
    pub core: usize,
}
