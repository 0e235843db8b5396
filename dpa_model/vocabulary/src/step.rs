//! What the card tells of itself, step by step, in builds where somebody listens.

/// How a handler found its result, for the statistics (S28).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    /// No conflict at or below this handler.
    Clean,
    /// Took the receive its number further in the sequence.
    Fast,
    /// Waited for all lower handlers.
    Slow,
    /// Claimed at once, order being dropped by the hint `mpi_assert_allow_overtaking`.
    Overtaking,
}

/// One step of the card. Handlers, workers, bins, receives and entries go by their numbers in the
/// NIC's tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Step {
    /// The boundary looked at so many entries of the completion queue.
    EntriesSeen {
        first: u64,
        count: usize,
    },
    /// It begins with a command, or works for the message of a handler; until `BoundaryEnds`.
    CommandBegins,
    BoundaryBegins {
        handler: usize,
    },
    BoundaryEnds,
    /// A receive stands in its bin.
    Posted {
        request: u64,
        bin: u32,
        receive: u32,
    },
    /// A receive has left the chain of its bin.
    Unlinked {
        receive: u32,
    },
    /// A receive is free again, and its message's buffer with the NIC.
    Recycled {
        receive: u32,
    },
    /// A message is in an entry of the unexpected store.
    Stored {
        entry: u32,
    },
    /// A post or probe looks at an unexpected message.
    UnexpectedVisited {
        entry: u32,
    },
    /// A post takes an unexpected message.
    TakenLate {
        entry: u32,
    },
    /// The block: arrival number of handler 0's message, and how many handlers take part.
    BlockCut {
        first: u64,
        count: usize,
    },
    /// A worker begins with its slice of a block.
    SliceBegins {
        worker: usize,
        block: u64,
    },
    /// The message of a handler is read.
    EntryRead {
        position: u64,
    },
    HashesComputed,
    SearchBegins,
    /// The head of a bin's chain is read.
    BinRead {
        bin: u32,
    },
    /// A receive is compared with a message.
    Visited {
        receive: u32,
    },
    /// The optimistic search ended with this candidate.
    Searched {
        handler: usize,
        found: Option<u32>,
    },
    /// The handler sets its bit; `alone`: nobody else can be booking.
    Booked {
        handler: usize,
        receive: u32,
        alone: bool,
    },
    /// It publishes its candidate.
    Published {
        handler: usize,
    },
    /// All handlers of the slice have booked.
    SliceBooked,
    /// A worker says how far it is.
    ProgressWritten {
        worker: usize,
    },
    /// A worker looks how far another one is.
    ProgressRead {
        worker: usize,
    },
    /// A wait for other workers is over.
    Waited,
    /// A worker sets its bit in the bitmap of the barrier.
    BitSet {
        block: u64,
    },
    /// A worker looks at a word of that bitmap.
    BitsRead {
        block: u64,
    },
    /// The bits of the block before are cleared for the next one.
    BitsCleared {
        block: u64,
    },
    /// All lower slices have booked: what their handlers chose is read.
    CandidatesRead,
    /// The slice looks for the first receive that was chosen twice.
    ConflictSought,
    /// The handlers from `first` to `end` have passed the barrier, and know of the first handler in
    /// conflict below `end`.
    BarrierPassed {
        first: usize,
        end: usize,
        conflict: Option<usize>,
    },
    /// Somebody has to know more of a handler's candidate: the handler's message, where its
    /// communicator is not known, and the receive.
    ClaimRead {
        message: Option<u64>,
        receive: Option<u32>,
    },
    /// In conflict or forced: the handler asks whether it may take the fast path.
    FastPathTried,
    /// It may not, and waits for all lower handlers.
    SlowWaits {
        handler: usize,
    },
    /// They are done.
    SlowWaited,
    /// It looks whether its candidate is still there.
    StateRead {
        receive: u32,
    },
    /// What it finds; its own candidate, or another receive.
    SlowFound {
        handler: usize,
        found: Option<u32>,
        own: bool,
    },
    /// The handler takes this receive.
    Taken {
        handler: usize,
        receive: u32,
        path: Path,
    },
    /// It notes for the leader which receive it has taken, if any.
    Noted {
        handler: usize,
    },
    /// There is no receive for its message.
    Unmatched {
        handler: usize,
    },
    /// A taken receive leaves the chain of its bin, whose lock is tried first; `alone`: there is
    /// nobody to lock out.
    Unlinking {
        bin: u32,
        receive: u32,
        alone: bool,
    },
    /// Another handler holds the lock: the receive stays in the chain for now.
    LockMissed {
        handler: usize,
    },
    /// The link of a receive is read.
    LinkRead {
        receive: u32,
    },
    /// All handlers of the slice are matched.
    SliceMatched,
    /// The protocol stage begins; whether the slice knows of a conflict.
    DeliveryBegins {
        conflict: bool,
    },
    /// So many bytes go to the user's buffer.
    Delivered {
        bytes: usize,
    },
    /// They come from a bounce buffer.
    BounceRead {
        buffer: usize,
        bytes: usize,
    },
    /// They come from the sender's memory.
    RemoteRead,
    /// The result is on the completion ring.
    Completed,
    /// All data of the slice has moved.
    SliceEnds,
    /// A handler that gives back what its message used says what became of this receive.
    Reposted {
        receive: u32,
    },
    /// A worker counts its slice among those that have ended.
    SliceCounted,
    /// The last one gives the block's entries back.
    EntriesReleased,
    /// The leader looks whether the block has ended.
    EndRead,
}
