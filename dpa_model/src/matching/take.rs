//! The end of a handler's matching: its receive is consumed, and with a crew that delivers at once
//! its data moves while the lines are near (S17, S18, O21).

use core::ops::Range;

use super::BlockRun;
use super::crew::{Crew, Tables, Taken};
use super::protocol::deliver;
use super::scratch::Scratch;
use crate::Path;
use crate::descriptor::NIL;
use crate::message::Completion;
use crate::nic::Shared;
use crate::ring::Run;

/// A block of at least so many messages is a sign that more come.
const STREAMING: usize = 8;

/// What the loops over the handlers of a block keep at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taking<'a, C> {
    block: BlockRun<'a, C>,
    results: Run<'a, Completion>,
    /// How far ahead entries are asked for: past the block, if more of them are likely to be there.
    ahead: usize,
}

impl<'a, C: Crew> Taking<'a, C> {
    #[inline(always)]
    pub(super) fn new(block: BlockRun<'a, C>) -> Self {
        let streams = C::DELIVERS_AT_ONCE && block.info.count >= STREAMING;
        let ahead = if streams { block.info.count } else { 0 };
        Self { block, results: block.nic.completions.run(block.info.results), ahead }
    }

    /// Handlers that go the same path take what `scratch` says. Returns how many have a receive.
    #[inline(always)]
    pub(super) fn take(self, scratch: &Scratch, handlers: Range<usize>, path: Path) -> usize {
        if handlers.is_empty() { 0 } else { self.take_some(scratch, handlers, path) }
    }

    #[inline(never)]
    fn take_some(self, scratch: &Scratch, handlers: Range<usize>, path: Path) -> usize {
        match path {
            Path::Clean => self.take_each(scratch, handlers, Path::Clean),
            Path::Fast => self.take_each(scratch, handlers, Path::Fast),
            Path::Slow => self.take_each(scratch, handlers, Path::Slow),
            Path::Overtaking => self.take_each(scratch, handlers, Path::Overtaking),
        }
    }

    /// One handler.
    #[inline(always)]
    pub(super) fn take_one(self, scratch: &Scratch, handler: usize, path: Path) -> usize {
        self.take_each(scratch, handler..handler + 1, path)
    }

    #[inline(always)]
    fn take_each(self, scratch: &Scratch, handlers: Range<usize>, path: Path) -> usize {
        let BlockRun { nic, crew, entries, .. } = self.block;
        let tables = Tables { receives: &nic.receives, bins: &nic.bins };
        let mut matched = 0;
        let end = handlers.end;
        let (taken, befores) = (&scratch.receives[..end], &scratch.before[..end]);
        let counters = &nic.handler_counters[..end];
        for handler in handlers {
            let (receive, before, counters) =
                (taken[handler], befores[handler], &counters[handler]);
            crew.note_taken(handler, receive);
            if receive == NIL {
                unmatched(nic, handler, path);
                continue;
            }
            match path {
                Path::Clean => counters.clean.add(1),
                Path::Fast => counters.fast.add(1),
                Path::Slow => counters.slow.add(1),
                Path::Overtaking => counters.overtaking.add(1),
            }
            step!(Taken { handler, receive, path });
            // SAFETY: inside a block (D1).
            let posted = unsafe { tables.receives[receive as usize].posted.peek() };
            let taken = Taken { receive, posted: &posted, before };
            if !crew.consume(tables, taken, path) {
                counters.lock_missed.add(1);
                step!(LockMissed { handler });
            }
            if C::DELIVERS_AT_ONCE {
                // SAFETY: this worker runs the handler, and the leader claimed its result.
                unsafe { deliver(nic, entries, self.results, handler, &posted) };
            }
            matched += 1;
            if self.ahead != 0 {
                entries.prefetch(handler + self.ahead);
            }
        }
        matched
    }

    /// The protocol stage of a crew that delivers after all matches of its slice.
    pub(super) fn deliver_all(self, scratch: &Scratch) {
        let BlockRun { nic, crew, entries, .. } = self.block;
        for handler in crew.handlers() {
            let receive = scratch.receives[handler];
            if receive != NIL {
                // SAFETY: inside a block (D1).
                let posted = unsafe { nic.receives[receive as usize].posted.peek() };
                // SAFETY: as in `take`.
                unsafe { deliver(nic, entries, self.results, handler, &posted) };
            }
        }
    }
}

#[cold]
#[inline(never)]
fn unmatched(nic: &Shared, handler: usize, path: Path) {
    let counters = &nic.handler_counters[handler];
    counters.unexpected.add(1);
    // Nothing found is no path, unless somebody waited for it.
    match path {
        Path::Clean | Path::Fast => {}
        Path::Slow => counters.slow.add(1),
        Path::Overtaking => counters.overtaking.add(1),
    }
    step!(Unmatched { handler });
}
