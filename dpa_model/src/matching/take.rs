//! The end of a handler's matching: its receive is consumed, and with a crew that delivers at once
//! its data moves while the lines are near (S17, S18, O21).

use core::ops::Range;

use super::BlockRun;
use super::crew::{Crew, Tables, Taken};
use super::protocol::deliver;
use super::resolve::SlowPath;
use super::scratch::Scratch;
use crate::descriptor::known;
use crate::message::Completion;
use crate::nic::Shared;
use crate::number::ReceiveId;
use crate::ring::Stretch;
use crate::{HandlerCounters, Path};

/// A block of at least so many messages is a sign that more come.
const STREAMING: usize = 8;

/// What the loops over the handlers of a block keep at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taking<'a, C> {
    block: BlockRun<'a, C>,
    results: Stretch<'a, Completion>,
    /// How far ahead entries are asked for: past the block, if more of them are likely to be there.
    ahead: usize,
}

impl<'a, C: Crew> Taking<'a, C> {
    #[inline(always)]
    pub(super) fn new(block: BlockRun<'a, C>) -> Self {
        let streams = C::DELIVERS_AT_ONCE && block.info.count >= STREAMING;
        let ahead = if streams { block.info.count } else { 0 };
        let results = block.nic.completions.stretch(block.info.results, block.info.count);
        Self { block, results, ahead }
    }

    /// Handlers that go the same path take what `scratch` says. Returns how many have a receive.
    #[inline(always)]
    pub(super) fn take(self, scratch: &mut Scratch, handlers: Range<usize>, path: Path) -> usize {
        if handlers.is_empty() {
            0
        } else if C::PHASES_IN_ONE && path == Path::Clean {
            self.take_each(scratch, handlers, Path::Clean, |_, receive, _| receive)
        } else {
            self.take_some(scratch, handlers, path)
        }
    }

    #[inline(never)]
    fn take_some(self, scratch: &mut Scratch, handlers: Range<usize>, path: Path) -> usize {
        let chosen = |_: usize, receive: ReceiveId, _: &HandlerCounters| receive;
        match path {
            Path::Clean => self.take_each(scratch, handlers, Path::Clean, chosen),
            Path::Fast => self.take_each(scratch, handlers, Path::Fast, chosen),
            Path::Slow | Path::Overtaking => self.take_each(scratch, handlers, path, chosen),
        }
    }

    /// As `take`, on the slow path: a handler searches when all lower ones have taken theirs.
    #[cfg_attr(not(target_arch = "riscv64"), inline(never))]
    pub(super) fn take_slowly(
        self,
        scratch: &mut Scratch,
        handlers: Range<usize>,
        slow: &mut SlowPath<'a, C>,
    ) -> usize {
        let first = handlers.start;
        let matched =
            self.take_each(scratch, handlers, Path::Slow, |handler, candidate, counters| {
                slow.find(handler, candidate, counters)
            });
        self.block.nic.handler_counters[first].slow_polls.add(slow.polls());
        matched
    }

    /// `choose` says which receive a handler takes, given its candidate.
    #[inline(always)]
    fn take_each(
        self,
        scratch: &mut Scratch,
        handlers: Range<usize>,
        path: Path,
        mut choose: impl FnMut(usize, ReceiveId, &HandlerCounters) -> ReceiveId,
    ) -> usize {
        let BlockRun { nic, info, crew, entries } = self.block;
        // In a local variable: a compiler must otherwise read it again after each store.
        let first_arrival = info.arrival;
        let tables = Tables { receives: &nic.receives, bins: &nic.bins };
        let mut matched = 0;
        let (end, slice_end) = (handlers.end, crew.handlers().end);
        let (places, befores) = (&mut scratch.receives[..end], &scratch.before[..end]);
        let counters = &nic.handler_counters[..end];
        for handler in handlers {
            let (place, before, counters) =
                (&mut places[handler], &befores[handler], &counters[handler]);
            let receive = choose(handler, *place, counters);
            *place = receive;
            if fault!(MatchedBeforeMark) && handler + 1 == slice_end {
                crew.matched();
            }
            if receive != ReceiveId::NIL {
                step!(Taken { handler, receive: receive.0, path });
                crew.mark(tables, receive, path);
            }
            if handler + 1 == slice_end {
                // Higher slices wait for what was done up to here, and for nothing below.
                crew.matched();
            }
            crew.note_taken(handler, receive);
            if receive == ReceiveId::NIL {
                unmatched_here(nic, handler, path);
                continue;
            }
            match path {
                Path::Clean => counters.clean.add(1),
                Path::Fast => counters.fast.add(1),
                Path::Slow => counters.slow.add(1),
                Path::Overtaking => counters.overtaking.add(1),
            }
            // SAFETY: a search found it; inside a block (D1).
            let posted = unsafe { known(tables.receives, receive).posted.peek() };
            let taken = Taken { receive, posted: &posted, before };
            if !crew.unlink(tables, taken) {
                counters.lock_missed.add(1);
                step!(LockMissed { handler });
            }
            if C::DELIVERS_AT_ONCE {
                let arrival = first_arrival + handler as u64;
                // SAFETY: this worker runs the handler, and the leader claimed its result.
                unsafe { deliver(nic, info, arrival, entries, self.results, handler, &posted) };
            }
            matched += 1;
            if C::DELIVERS_AT_ONCE {
                entries.prefetch(handler + self.ahead);
            }
        }
        matched
    }

    /// These handlers, all of the slice, have no receive.
    pub(super) fn leave(self, handlers: Range<usize>) {
        // Higher slices wait for receives that are taken, and none is.
        self.block.crew.matched();
        for handler in handlers {
            self.block.crew.note_taken(handler, ReceiveId::NIL);
            unmatched(self.block.nic, handler, Path::Clean);
        }
    }

    /// The protocol stage of a crew that delivers after all matches of its slice.
    pub(super) fn deliver_all(self, scratch: &Scratch) {
        let BlockRun { nic, info, crew, entries } = self.block;
        for handler in crew.handlers() {
            let receive = scratch.receives[handler];
            if receive != ReceiveId::NIL {
                // SAFETY: inside a block (D1).
                let posted = unsafe { nic.receives[receive].posted.peek() };
                let arrival = info.arrival + handler as u64;
                // SAFETY: as in `take`.
                unsafe { deliver(nic, info, arrival, entries, self.results, handler, &posted) };
            }
        }
    }
}

/// Apart, so that the loop over matched messages stays short.
#[cold]
#[inline(never)]
fn unmatched_here(nic: &Shared, handler: usize, path: Path) {
    unmatched(nic, handler, path);
}

#[inline(always)]
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
