//! The end of a handler's matching: consumes its receive (S17, S18). Data moves when all of the
//! slice is matched, because higher handlers wait for matches, not for data (O21).

use core::ops::Range;

use super::scratch::Scratch;
use super::slice::Slice;
use crate::number::{ReceiveId, unchecked};
use crate::{HandlerCounters, Path};

impl Slice<'_> {
    /// A handler takes the receive in `scratch`, or none.
    #[inline]
    pub(super) fn take_one(&self, scratch: &Scratch, handler: usize, path: Path) {
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
    fn leave_one(&self, handler: usize, path: Path, counters: &HandlerCounters) {
        self.matched_up_to(handler);
        self.record_taken(handler, ReceiveId::NIL);
        unmatched(counters, handler, path);
    }

    /// A handler takes a receive. `before`: its predecessor in the chain at search time.
    #[inline]
    fn consume(&self, handler: usize, path: Path, receive: ReceiveId, before: &ReceiveId) {
        let nic = self.nic;
        let counters = &nic.handler_counters[handler];
        // SAFETY: a search found the receive.
        let descriptor = unsafe { unchecked(&nic.receives, receive) };
        // SAFETY: inside a block (D1).
        let bin = unsafe { descriptor.posted.peek() }.bin;
        if fault!(MatchedBeforeMark) {
            self.matched_up_to(handler);
        }
        step!(Taken {
            handler,
            receive: receive.0,
            path
        });
        self.mark(descriptor, receive, path);
        self.matched_up_to(handler);
        self.record_taken(handler, receive);
        match path {
            // The remaining counts, see `HandlerCounts::completed`.
            Path::Clean => {}
            Path::Fast => counters.fast.add(1),
            Path::Slow => counters.slow.add(1),
            Path::Overtaking => counters.overtaking.add(1),
        }
        if !self.unlink(receive, bin, before) {
            counters.lock_missed.add(1);
            step!(LockMissed { handler });
        }
    }

    /// Called after a handler is matched. Higher slices wait for the slice's last match, not for
    /// later work.
    #[inline]
    fn matched_up_to(&self, handler: usize) {
        if handler + 1 == self.handlers().end {
            self.matched();
        }
    }

    /// Leaves these handlers, the whole slice, without a receive.
    pub(super) fn leave(&self, handlers: Range<usize>) {
        // No receive is taken, so higher slices need not wait.
        self.matched();
        for handler in handlers {
            self.record_taken(handler, ReceiveId::NIL);
            unmatched(&self.nic.handler_counters[handler], handler, Path::Clean);
        }
    }

    /// The protocol stage, after all matches of the slice.
    pub(super) fn deliver_all(&self, scratch: &Scratch) {
        for handler in self.handlers() {
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
