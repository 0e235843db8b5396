//! The end of a handler's matching: consumes its receive (S17, S18). Data moves when all of the
//! slice is matched, because higher handlers wait for matches, not for data (O21).

use core::ops::Range;

use super::block_run::BlockRun;
use super::crew::Crew;
use super::scratch::Scratch;
use crate::number::{ReceiveId, unchecked};
use crate::{HandlerCounters, Path};

impl<C: Crew> BlockRun<'_, C> {
    /// A handler takes the receive in `scratch`, or none.
    #[inline]
    pub(super) fn take_one(self, scratch: &Scratch, handler: usize, path: Path) {
        let nic = self.nic;
        let counters = &nic.handler_counters[handler];
        let receive = scratch.receives[handler];
        if receive == ReceiveId::NIL {
            return self.leave_one(handler, path, counters);
        }
        self.consume(handler, path, receive, &scratch.before[handler]);
    }

    /// A handler takes no receive.
    #[inline]
    fn leave_one(self, handler: usize, path: Path, counters: &HandlerCounters) {
        self.matched(handler);
        self.crew.slice().record_taken(handler, ReceiveId::NIL);
        unmatched(counters, handler, path);
    }

    /// A handler takes a receive. `before`: its predecessor in the chain at search time.
    #[inline]
    fn consume(self, handler: usize, path: Path, receive: ReceiveId, before: &ReceiveId) {
        let BlockRun { nic, crew, .. } = self;
        let counters = &nic.handler_counters[handler];
        // SAFETY: a search found the receive.
        let descriptor = unsafe { unchecked(&nic.receives, receive) };
        // SAFETY: inside a block (D1).
        let bin = unsafe { descriptor.posted.peek() }.bin;
        if fault!(MatchedBeforeMark) {
            self.matched(handler);
        }
        step!(Taken {
            handler,
            receive: receive.0,
            path
        });
        crew.slice().mark(descriptor, receive, path);
        self.matched(handler);
        crew.slice().record_taken(handler, receive);
        match path {
            // The remaining counts, see `HandlerCounts::completed`.
            Path::Clean => {}
            Path::Fast => counters.fast.add(1),
            Path::Slow => counters.slow.add(1),
            Path::Overtaking => counters.overtaking.add(1),
        }
        if !crew.slice().unlink(receive, bin, before) {
            counters.lock_missed.add(1);
            step!(LockMissed { handler });
        }
    }

    /// Called after a handler is matched. Higher slices wait for the slice's last match, not for
    /// later work.
    #[inline]
    fn matched(&self, handler: usize) {
        if handler + 1 == self.crew.slice().handlers().end {
            self.crew.slice().matched();
        }
    }

    /// Leaves these handlers, the whole slice, without a receive.
    pub(super) fn leave(self, handlers: Range<usize>) {
        // No receive is taken, so higher slices need not wait.
        self.crew.slice().matched();
        for handler in handlers {
            self.crew.slice().record_taken(handler, ReceiveId::NIL);
            unmatched(&self.nic.handler_counters[handler], handler, Path::Clean);
        }
    }

    /// The protocol stage of a crew that delivers after all matches of its slice.
    pub(super) fn deliver_all(self, scratch: &Scratch) {
        for handler in self.crew.slice().handlers() {
            let receive = scratch.receives[handler];
            if receive != ReceiveId::NIL {
                // SAFETY: inside a block (D1).
                let posted = unsafe { self.nic.receives[receive].posted.peek() };
                let transfer = self.entry(handler).transfer(posted.capacity);
                // SAFETY: this worker runs the handler.
                unsafe { self.deliver(handler, &posted, transfer) };
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
