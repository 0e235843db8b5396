//! The end of a handler's matching: consumes its receive (S17, S18). Data moves when all of the
//! slice is matched, because higher handlers wait for matches, not for data (O21).

use core::ops::Range;

use super::block_run::BlockRun;
use super::crew::{Chained, Crew};
use super::protocol::deliver;
use super::scratch::Scratch;
use crate::descriptor::Posted;
use crate::message::Completion;
use crate::number::{ReceiveId, unchecked};
use crate::ring::Stretch;
use crate::{HandlerCounters, Path};

/// Values that the loops over a block's handlers copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taking<'a, C> {
    pub(super) block: BlockRun<'a, C>,
    results: Stretch<'a, Completion>,
}

impl<'a, C: Crew> Taking<'a, C> {
    #[inline]
    pub(super) fn new(block: BlockRun<'a, C>) -> Self {
        let results = block
            .nic
            .completions
            .stretch(block.info.results, block.info.count);
        Self { block, results }
    }

    /// A handler takes the receive in `scratch`, or none.
    #[inline]
    pub(super) fn take_one(self, scratch: &Scratch, handler: usize, path: Path) {
        let nic = self.block.nic;
        let counters = &nic.handler_counters[handler];
        let receive = scratch.receives[handler];
        if receive == ReceiveId::NIL {
            return self.leave_one(handler, path, counters);
        }
        let (receives, before) = (&nic.receives[..], &scratch.before[handler]);
        // SAFETY: a search found the receive; inside a block (D1).
        let posted = unsafe { unchecked(receives, receive).posted.peek() };
        // SAFETY: the receive was posted in this bin.
        let bin = unsafe { unchecked(&nic.bins, posted.bin) };
        let chained = Chained {
            receives,
            bin,
            receive,
            before,
        };
        self.consume(handler, path, chained, &posted, counters);
    }

    /// A handler takes no receive.
    #[inline]
    fn leave_one(self, handler: usize, path: Path, counters: &HandlerCounters) {
        self.matched(handler);
        self.block.crew.note_taken(handler, ReceiveId::NIL);
        unmatched(counters, handler, path);
    }

    /// A handler takes a receive.
    #[inline]
    fn consume(
        self,
        handler: usize,
        path: Path,
        chained: Chained<'_>,
        posted: &Posted,
        counters: &HandlerCounters,
    ) {
        let crew = self.block.crew;
        let Chained {
            receives, receive, ..
        } = chained;
        // SAFETY: a search found the receive.
        let descriptor = unsafe { unchecked(receives, receive) };
        if fault!(MatchedBeforeMark) {
            self.matched(handler);
        }
        step!(Taken {
            handler,
            receive: receive.0,
            path
        });
        crew.mark(descriptor, receive, path);
        self.matched(handler);
        crew.note_taken(handler, receive);
        match path {
            // The remaining counts, see `HandlerCounts::completed`.
            Path::Clean => {}
            Path::Fast => counters.fast.add(1),
            Path::Slow => counters.slow.add(1),
            Path::Overtaking => counters.overtaking.add(1),
        }
        if !crew.unlink(chained, posted) {
            counters.lock_missed.add(1);
            step!(LockMissed { handler });
        }
    }

    /// Called after a handler is matched. Higher slices wait for the slice's last match, not for
    /// later work.
    #[inline]
    fn matched(&self, handler: usize) {
        if handler + 1 == self.block.crew.handlers().end {
            self.block.crew.matched();
        }
    }

    /// Leaves these handlers, the whole slice, without a receive.
    pub(super) fn leave(self, handlers: Range<usize>) {
        // No receive is taken, so higher slices need not wait.
        self.block.crew.matched();
        for handler in handlers {
            self.block.crew.note_taken(handler, ReceiveId::NIL);
            unmatched(
                &self.block.nic.handler_counters[handler],
                handler,
                Path::Clean,
            );
        }
    }

    /// The protocol stage of a crew that delivers after all matches of its slice.
    pub(super) fn deliver_all(self, scratch: &Scratch) {
        let BlockRun {
            nic,
            info,
            crew,
            entries,
        } = self.block;
        for handler in crew.handlers() {
            let receive = scratch.receives[handler];
            if receive != ReceiveId::NIL {
                // SAFETY: inside a block (D1).
                let posted = unsafe { nic.receives[receive].posted.peek() };
                let transfer = self.block.entry(handler).transfer(posted.capacity);
                // SAFETY: this worker runs the handler, and the leader claimed the result's
                // position.
                unsafe {
                    deliver(nic, info, entries, self.results, handler, &posted, transfer);
                }
            }
        }
    }
}

#[inline]
fn unmatched(counters: &HandlerCounters, handler: usize, path: Path) {
    step!(Unmatched { handler });
    // A handler that finds nothing has no path, unless it waited.
    match path {
        Path::Clean | Path::Fast => return counters.no_candidate.add(1),
        Path::Slow => counters.slow.add(1),
        Path::Overtaking => counters.overtaking.add(1),
    }
    counters.unexpected.add(1);
}
