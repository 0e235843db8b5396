//! The steps of the card: reports of a handler, a worker or the boundary at work.
//!
//! This table belongs to `dpa_model`. It is in this crate because the card's sources are compiled
//! several times (as `dpa_model`, and under `tools/explore` and `tools/predict`), and every copy
//! reports these types.

/// How a handler found its result, for the statistics.
///
/// Source: S28.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    /// No conflict at or below this handler.
    Clean,
    /// Handler i took the i-th receive of the sequence.
    Fast,
    /// Waited for all lower handlers.
    Slow,
    /// Claimed at once, without order, under `mpi_assert_allow_overtaking`.
    Overtaking,
}

/// Defines [`Step`] and its names.
macro_rules! steps {
    ($($(#[$doc:meta])* $name:ident $({ $($field:ident: $type:ty),* })?,)*) => {
        /// One step of the card. Handlers, workers, bins, receives and entries have their numbers
        /// in the NIC's tables.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        pub enum Step {
            $($(#[$doc])* $name $({ $(#[allow(missing_docs)] $field: $type),* })?,)*
        }

        /// A [`Step`] without its fields.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum StepKind {
            $($(#[$doc])* $name,)*
        }

        impl StepKind {
            /// All kinds; `kind as usize` is a kind's index.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The kind's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }

        impl Step {
            /// The kind of the step.
            #[inline]
            pub const fn kind(&self) -> StepKind {
                match self {
                    $(Self::$name { .. } => StepKind::$name,)*
                }
            }
        }
    };
}

steps! {
    /// The boundary checked `count` entries of the completion queue.
    EntriesSeen { first: u64, count: usize },
    /// The boundary begins with a command; until `BoundaryEnds`.
    CommandBegins,
    /// The boundary works on a handler's message; until `BoundaryEnds`.
    BoundaryBegins { handler: usize },
    /// The boundary's work for a command or a handler ends.
    BoundaryEnds,
    /// A receive is linked in its bin.
    Posted { request: u64, bin: u32, receive: u32 },
    /// A receive has left the chain of its bin.
    Unlinked { receive: u32 },
    /// A receive is free again, and its message's buffer is back with the NIC.
    Recycled { receive: u32 },
    /// A message is in an entry of the unexpected store.
    Stored { entry: u32 },
    /// A post or probe visits an unexpected message.
    UnexpectedVisited { entry: u32 },
    /// A post takes an unexpected message.
    TakenLate { entry: u32 },
    /// The boundary cuts a block: arrival number of handler 0's message, number of handlers.
    BlockCut { first: u64, count: usize },
    /// A worker begins its slice of a block.
    SliceBegins { worker: usize, block: u64 },
    /// The message of a handler is read.
    EntryRead { position: u64 },
    /// The handler has computed the hashes that the sender did not give.
    HashesComputed,
    /// The search for a receive begins.
    SearchBegins,
    /// The head of a bin's chain is read.
    BinRead { bin: u32 },
    /// A receive is compared with a message.
    Visited { receive: u32 },
    /// The optimistic search ended with this candidate.
    Searched { handler: usize, found: Option<u32> },
    /// The handler sets its bit; `alone`: no other handler can be booking.
    Booked { handler: usize, receive: u32, alone: bool },
    /// The handler publishes its candidate.
    Published { handler: usize },
    /// All handlers of the slice have booked.
    SliceBooked,
    /// A worker writes its progress.
    ProgressWritten { worker: usize },
    /// A worker reads the progress of another worker.
    ProgressRead { worker: usize },
    /// A wait for other workers is over.
    Waited,
    /// A worker sets its bit in the bitmap of the barrier.
    BitSet { block: u64 },
    /// A worker reads a word of that bitmap.
    BitsRead { block: u64 },
    /// The bits of the block before are cleared for the next one.
    BitsCleared { block: u64 },
    /// All lower slices have booked: the slice reads their candidates.
    CandidatesRead,
    /// The slice looks for the first receive that two handlers chose.
    ConflictSought,
    /// The handlers from `first` to `end` have passed the barrier, and know the first handler in
    /// conflict below `end`.
    BarrierPassed { first: usize, end: usize, conflict: Option<usize> },
    /// The handler writes the key of its message for higher handlers.
    KeyWritten { handler: usize },
    /// The handler reads the keys of all lower handlers.
    KeysRead { handler: usize },
    /// The handler reads the candidate of a lower handler of its domain.
    CandidateRead { handler: usize },
    /// The lower handlers of its domain that it depends on have booked; the handler knows whether
    /// it is in conflict or forced.
    DomainPassed { handler: usize, is_first: bool, conflict: bool },
    /// A handler's claim is read further: its message, if its communicator is unknown, and its
    /// receive.
    ClaimRead { message: Option<u64>, receive: Option<u32> },
    /// In conflict or forced: the handler checks whether it may take the fast path.
    FastPathTried,
    /// The handler may not, and waits for all lower handlers.
    SlowWaits { handler: usize },
    /// All lower handlers are done.
    SlowWaited,
    /// The handler reads whether its candidate is still there.
    StateRead { receive: u32 },
    /// Result of the slow path: the handler's own candidate, or another receive.
    SlowFound { handler: usize, found: Option<u32>, own: bool },
    /// The handler takes this receive.
    Taken { handler: usize, receive: u32, path: Path },
    /// The handler records for the leader which receive it has taken, if any.
    Noted { handler: usize },
    /// There is no receive for the handler's message.
    Unmatched { handler: usize },
    /// A taken receive leaves the chain of its bin after an attempt to lock the bin; `alone`: no
    /// other handler needs to be locked out.
    Unlinking { bin: u32, receive: u32, alone: bool },
    /// Another handler holds the lock: the receive stays in the chain for now.
    LockMissed { handler: usize },
    /// The link of a receive is read.
    LinkRead { receive: u32 },
    /// All handlers of the slice are matched.
    SliceMatched,
    /// The protocol stage begins; `conflict`: the slice knows of a conflict.
    DeliveryBegins { conflict: bool },
    /// A payload goes to the user's buffer.
    Delivered { bytes: usize },
    /// The payload comes from a bounce buffer.
    BounceRead { buffer: usize, bytes: usize },
    /// The payload comes from the sender's memory.
    RemoteRead,
    /// The result is on the completion ring.
    Completed,
    /// All data of the slice has moved.
    SliceEnds,
    /// A rule is left out here, because a seeded fault was chosen.
    RuleLeftOut,
}
