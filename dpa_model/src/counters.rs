//! The NIC's counters (vocabulary: S28). They are always on; each has one writer at a time. Reading
//! sums them, so a message on its way is counted once.

use alloc::boxed::Box;

use crate::sync::Counter;

macro_rules! counters {
    ($(#[$doc:meta])* $live:ident => $copy:ident {
        sums { $($(#[$sum_doc:meta])* $sum:ident = sum[$($part:ident),*],)* }
        $($(#[$field_doc:meta])* $field:ident,)*
    }) => {
        #[derive(Debug, Default)]
        #[repr(align(64))]
        pub(crate) struct $live {
            $(pub(crate) $field: Counter,)*
        }

        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[non_exhaustive]
        pub struct $copy {
            $($(#[$sum_doc])* pub $sum: u64,)*
            $($(#[$field_doc])* pub $field: u64,)*
        }

        impl $live {
            pub(crate) fn copy(&self) -> $copy {
                $copy {
                    $($sum: 0 $(+ self.$part.get())*,)*
                    $($field: self.$field.get(),)*
                }
            }
        }

        impl $copy {
            /// Adds the counts of `other`.
            pub fn add(&mut self, other: &Self) {
                $(self.$sum += other.$sum;)*
                $(self.$field += other.$field;)*
            }

            /// Names and values, in a fixed order.
            pub fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [
                    $((stringify!($sum), self.$sum),)*
                    $((stringify!($field), self.$field),)*
                ]
                .into_iter()
            }
        }
    };
}

counters! {
    /// Counters of one handler (or, added up, of all).
    HandlerCounters => HandlerCounts {
        sums {
            /// Messages this handler took: the blocks with more messages than its number, see
            /// `BlockSizes`.
            messages = sum[],
            /// Receives booked.
            bookings = sum[fast, slow],
            /// Matched without conflict: all messages outside the other paths.
            clean = sum[],
        }
        /// Descriptors visited in I0. The first handler of a slice counts this and the following
        /// for the whole slice.
        walked_exact,
        /// Descriptors visited in I1 (any source).
        walked_any_source,
        /// Descriptors visited in I2 (any tag).
        walked_any_tag,
        /// Descriptors visited in I3 (both wild).
        walked_any,
        /// Matched on the fast path.
        fast,
        /// Went the slow path.
        slow,
        /// Slow-path messages that kept their own candidate.
        forced,
        /// Claimed immediately under `mpi_assert_allow_overtaking`.
        overtaking,
        /// Had a candidate in a block that one worker ran in order, without bookings and paths.
        /// The first handler of a batch counts this and the next for the whole batch.
        in_order,
        /// Of those in order, searched again because a lower handler had taken the candidate.
        searched_again,
        /// Found no receive in the first search.
        no_candidate,
        /// Found no receive in the end. The counter itself holds only those that first had a
        /// candidate.
        unexpected,
        /// Fast path refused: lower handlers chose other receives, or not all had booked.
        refused_mixed,
        /// Fast path refused: the receive at that distance belongs to another sequence.
        refused_sequence,
        /// Fast path refused: the chain is too short.
        refused_exhausted,
        /// Failed polls at the partial barrier.
        barrier_polls,
        /// Failed polls of the slow path.
        slow_polls,
        /// Lazy removals that found the lock taken.
        lock_missed,
        /// Searches whose inline hashes were wrong (verification mode); the slow path may search
        /// twice for a message.
        hash_mismatch,
    }
}

impl HandlerCounts {
    /// Fills in what no counter holds, once `messages` and `no_candidate` are whole.
    pub(crate) fn completed(mut self) -> Self {
        self.unexpected += self.no_candidate;
        let others = self.fast + self.slow + self.overtaking + self.in_order + self.no_candidate;
        self.clean = self.messages.saturating_sub(others);
        self.bookings += self.clean;
        self
    }
}

/// Number of blocks by size: handler h took a message of each block with more than h. One addition
/// per block, none per message.
#[derive(Debug)]
pub(crate) struct BlockSizes(Box<[Counter]>);

impl BlockSizes {
    pub(crate) fn new(handlers: usize) -> Self {
        Self((0..=handlers).map(|_| Counter::default()).collect())
    }

    #[inline]
    pub(crate) fn note(&self, count: usize, blocks: u64) {
        self.0[count].add(blocks);
    }

    pub(crate) fn messages(&self, handler: usize) -> u64 {
        self.0.iter().skip(handler + 1).map(Counter::get).sum()
    }
}

counters! {
    /// Counters of the block boundary and the queues.
    BoundaryCounters => BoundaryCounts {
        sums {}
        /// Blocks run.
        blocks,
        /// Blocks run by several workers.
        shared_blocks,
        /// Blocks in which some handler met a conflict (S28).
        conflict_blocks,
        /// Commands executed.
        commands,
        /// Receives posted to the NIC. The counter itself holds only the refused ones.
        posts,
        /// Posts that matched an unexpected message immediately.
        posts_late,
        /// Unexpected messages before the one that a post or probe found, or before the end of the
        /// chain.
        unexpected_passed,
        /// Posts that entered the posted queue.
        posts_admitted,
        /// Posts into a bin that was not empty (S28).
        collisions,
        /// Posts sent on to software matching.
        posts_forwarded,
        /// Messages put in the unexpected store.
        arrivals_stored,
        /// Messages sent on to software matching.
        arrivals_forwarded,
        /// Receives cancelled.
        cancelled,
        /// Fallbacks: no descriptor was free.
        fallback_receives,
        /// Fallbacks: no unexpected memory.
        fallback_unexpected,
        /// Communicators that got no tables.
        fallback_tables,
        /// Communicators that the host handed back.
        resumed,
        /// Rounds that could not go on because the completion ring was full.
        ring_full,
        /// Rounds that could not go on because unexpected memory was full (back-pressure).
        unexpected_full,
        /// Most posted receives, and so descriptors, at a time (MPICH's maximum
        /// `posted_recvq_length`).
        posted_high,
        /// Most unexpected messages at a time (MPICH's maximum `unexpected_recvq_length`).
        unexpected_high,
        /// Most unexpected bytes at a time (MPICH's maximum `unexpected_recvq_buffer_size`).
        unexpected_bytes_high,
        /// Most entries waiting in the completion queue, sampled every 16 blocks; never fewer than
        /// the bounce buffers in use.
        arrivals_high,
    }
}

impl BoundaryCounters {
    pub(crate) fn counts(&self) -> BoundaryCounts {
        let mut counts = self.copy();
        counts.posts += counts.posts_late + counts.posts_admitted + counts.posts_forwarded;
        counts
    }
}

/// Counters of the senders' side; several threads add to them, off the fast path only.
#[derive(Debug, Default)]
pub(crate) struct SenderCounters {
    /// Sends refused: the completion queue was full.
    pub(crate) queue_full: Counter,
    /// Sends refused: no bounce buffer was free.
    pub(crate) no_bounce_buffer: Counter,
}

/// A copy of all counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Sum over the handlers.
    pub handlers: HandlerCounts,
    /// The boundary.
    pub boundary: BoundaryCounts,
    /// Sends refused because the completion queue was full (receiver not ready).
    pub send_queue_full: u64,
    /// Sends refused because no bounce buffer was free (receiver not ready).
    pub send_no_bounce_buffer: u64,
    /// Regions that senders added because all were in use.
    pub regions_added: u64,
}
