//! The end of a handler's matching: consumes its receive. A crew that delivers at once also moves
//! its data while the lines are near (S17, S18, O21).

use core::ops::Range;

use super::block_run::BlockRun;
use super::crew::{Chained, Crew, Part};
use super::protocol::deliver;
use super::scratch::Scratch;
use super::slow_path::SlowPath;
use crate::descriptor::Posted;
use crate::message::{Completion, Entry, data};
use crate::number::{ReceiveId, unchecked};
use crate::ring::Stretch;
use crate::{CommId, HandlerCounters, Path};

/// Messages that the general loop takes after an unusual one.
const UNUSUAL: usize = 8;

/// Blocks of at least this size predict more messages.
const STREAMING: usize = 8;

const PATHS: [Path; 4] = [Path::Clean, Path::Fast, Path::Slow, Path::Overtaking];
const CLEAN: usize = 0;
const FAST: usize = 1;
const SLOW: usize = 2;
const OVERTAKING: usize = 3;

/// Values that the loops over a block's handlers copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taking<'a, C> {
    pub(super) block: BlockRun<'a, C>,
    results: Stretch<'a, Completion>,
    /// Distance of the prefetch: past the block, if more messages are likely there.
    ahead: usize,
    /// Number of the block's first message; copied, because a compiler must otherwise reload it
    /// after each store.
    first_arrival: u64,
}

impl<'a, C: Crew> Taking<'a, C> {
    #[inline(always)]
    pub(super) fn new(block: BlockRun<'a, C>) -> Self {
        let streams = C::PART != Part::Slice && block.info.count >= STREAMING;
        let ahead = if streams { block.info.count } else { 0 };
        let results = block
            .nic
            .completions
            .stretch(block.info.results, block.info.count);
        Self {
            block,
            results,
            ahead,
            first_arrival: block.info.arrival,
        }
    }

    /// Handlers on one path take the receives in `scratch`. Returns how many have one.
    #[inline(always)]
    pub(super) fn take(self, scratch: &mut Scratch, handlers: Range<usize>, path: Path) -> usize {
        match path {
            Path::Clean if C::PART == Part::Message => {
                self.take_each::<CLEAN>(scratch, handlers, chosen)
            }
            Path::Clean => self.take_rows::<CLEAN>(scratch, handlers),
            Path::Fast => self.take_rows::<FAST>(scratch, handlers),
            Path::Slow | Path::Overtaking => {
                apart(|| self.take_each::<OVERTAKING>(scratch, handlers, chosen))
            }
        }
    }

    /// Handlers on the slow path, at least one: each chooses once all lower ones have taken theirs.
    /// `comm`: their communicator, if known.
    #[cfg_attr(not(target_arch = "riscv64"), inline(never))]
    pub(super) fn take_slowly(
        self,
        scratch: &mut Scratch,
        handlers: Range<usize>,
        comm: Option<CommId>,
        waited: bool,
    ) -> usize {
        let mut slow = SlowPath::new(self.block, comm, waited);
        let Range {
            start: mut handler,
            end,
        } = handlers;
        let mut matched = 0;
        loop {
            while C::PART == Part::Block && slow.is_usual() {
                let rest = handler..end;
                let short = self.block.entry(handler).is_short();
                let (next, kept) = match (comm.is_some() && slow.is_exact(), short) {
                    (true, true) => self.take_slow_row::<{ data::SHORT }, true>(scratch, rest),
                    (true, false) => self.take_slow_row::<{ data::INLINE }, true>(scratch, rest),
                    (false, true) => self.take_slow_row::<{ data::SHORT }, false>(scratch, rest),
                    (false, false) => self.take_slow_row::<{ data::INLINE }, false>(scratch, rest),
                };
                matched += next - handler;
                // The others have visited one receive each.
                let visited = (next - handler) as u64 - kept;
                let first = &self.block.nic.handler_counters[handler];
                first.walked_exact.add(visited);
                first.forced.add(kept);
                first.slow.add((next - handler) as u64);
                let idle = self.leave_row(scratch, next..end);
                handler = next + idle;
                if handler == end {
                    return matched;
                }
                if idle == 0 {
                    break;
                }
            }
            let next = if C::PART == Part::Block {
                handler + 1
            } else {
                end
            };
            let find = |handler: usize,
                        entry: &Entry,
                        place: &mut ReceiveId,
                        counters: &HandlerCounters| {
                *place = slow.find(handler, entry, *place, counters);
                *place
            };
            matched += self.take_each::<SLOW>(scratch, handler..next, find);
            handler = next;
            if handler == end {
                return matched;
            }
        }
    }

    /// Usual handlers on the slow path, as [`take_row`](Self::take_row). Returns also how many keep
    /// their candidates. `EXACT`: as for [`takes_oldest`](SlowPath::takes_oldest).
    #[inline(never)]
    fn take_slow_row<const DATA: u8, const EXACT: bool>(
        self,
        scratch: &mut Scratch,
        handlers: Range<usize>,
    ) -> (usize, u64) {
        let mut kept = 0;
        let receives = &self.block.nic.receives[..];
        let next = self.take_row::<SLOW, DATA>(scratch, handlers, |handler, entry, found| {
            if !SlowPath::<C>::takes_oldest::<EXACT>(receives, handler, entry, found) {
                return false;
            }
            kept += u64::from(found[0] == found[1]);
            true
        });
        (next, kept)
    }

    /// Takes runs of usual handlers with the short loop, and others with the general one.
    #[inline(always)]
    fn take_rows<const PATH: usize>(self, scratch: &mut Scratch, handlers: Range<usize>) -> usize {
        if C::PART != Part::Block {
            return apart(|| self.take_each::<PATH>(scratch, handlers, chosen));
        }
        let Range {
            start: mut handler,
            end,
        } = handlers;
        let mut matched = 0;
        while handler < end {
            let rest = handler..end;
            let stop = if self.block.entry(handler).is_short() {
                apart(|| self.take_row::<PATH, { data::SHORT }>(scratch, rest, oldest))
            } else {
                apart(|| self.take_row::<PATH, { data::INLINE }>(scratch, rest, oldest))
            };
            matched += stop - handler;
            if PATH == FAST {
                self.block.nic.handler_counters[handler]
                    .fast
                    .add((stop - handler) as u64);
            }
            if stop == end {
                break;
            }
            let idle = self.leave_row(scratch, stop..end);
            let next = stop + idle;
            let others = match (stop - handler, idle) {
                (0, 0) => UNUSUAL,
                (_, 0) => 1,
                _ => 0,
            };
            handler = end.min(next + others);
            if next < handler {
                let others = next..handler;
                matched += apart(|| self.take_each::<PATH>(scratch, others, chosen));
            }
        }
        matched
    }

    /// The loop over all handlers. `choose` returns the receive that a handler takes, given its
    /// candidate. Returns how many take one.
    #[inline(always)]
    fn take_each<const PATH: usize>(
        self,
        scratch: &mut Scratch,
        handlers: Range<usize>,
        mut choose: impl FnMut(usize, &Entry, &mut ReceiveId, &HandlerCounters) -> ReceiveId,
    ) -> usize {
        let BlockRun { nic, entries, .. } = self.block;
        let (receives, bins) = (&nic.receives[..], &nic.bins[..]);
        let Range { start, end } = handlers;
        let mut left = 0;
        let (places, befores) = (&mut scratch.receives[..end], &scratch.before[..end]);
        let counters = &nic.handler_counters[..end];
        for handler in start..end {
            let (place, before, counters) =
                (&mut places[handler], &befores[handler], &counters[handler]);
            // SAFETY: the leader saw the block's entries ready, and releases them after the block.
            let entry = unsafe { entries.peek(handler) };
            // The slow path is for handlers with a candidate.
            let idle = PATH == SLOW && *place == ReceiveId::NIL;
            let path = if idle { Path::Clean } else { PATHS[PATH] };
            let receive = if idle {
                *place
            } else {
                choose(handler, &entry, place, counters)
            };
            if receive == ReceiveId::NIL {
                self.leave_one(handler, path, counters);
                left += 1;
                continue;
            }
            // SAFETY: a search found the receive; inside a block (D1).
            let posted = unsafe { unchecked(receives, receive).posted.peek() };
            // SAFETY: the receive was posted in this bin.
            let bin = unsafe { unchecked(bins, posted.bin) };
            let chained = Chained {
                receives,
                bin,
                receive,
                before,
            };
            self.consume::<{ data::ANY }>((handler, path), chained, &posted, counters);
        }
        end - start - left
    }

    /// The loop over usual handlers: each takes the oldest receive of its candidate's chain.
    /// `takes` is given both. Returns the first handler without a candidate, with data of another
    /// kind, or that does not take this receive. So the loop has no calls, and its values stay in
    /// registers.
    #[inline(always)]
    fn take_row<const PATH: usize, const DATA: u8>(
        self,
        scratch: &mut Scratch,
        handlers: Range<usize>,
        mut takes: impl FnMut(usize, &Entry, [ReceiveId; 2]) -> bool,
    ) -> usize {
        let BlockRun { nic, entries, .. } = self.block;
        let (receives, bins) = (&nic.receives[..], &nic.bins[..]);
        let Range { start, end } = handlers;
        let (places, befores) = (&mut scratch.receives[..end], &scratch.before[..end]);
        let counters = &nic.handler_counters[..end];
        for handler in start..end {
            let (place, before, counters) =
                (&mut places[handler], &befores[handler], &counters[handler]);
            // SAFETY: the leader saw the block's entries ready, and releases them after the block.
            let entry = unsafe { entries.peek(handler) };
            let candidate = *place;
            if candidate == ReceiveId::NIL || !entry.is::<DATA>() {
                return handler;
            }
            // SAFETY: a search found the receive; inside a block (D1).
            let bin = unsafe { unchecked(receives, candidate).posted.peek() }.bin;
            // SAFETY: the receive was posted in this bin.
            let bin = unsafe { unchecked(bins, bin) };
            let receive = bin.head();
            if !takes(handler, &entry, [candidate, receive]) {
                return handler;
            }
            if PATH == SLOW {
                *place = receive;
            }
            // SAFETY: the receive stands in a chain; inside a block (D1).
            let posted = unsafe { unchecked(receives, receive).posted.peek() };
            let chained = Chained {
                receives,
                bin,
                receive,
                before,
            };
            self.consume::<DATA>((handler, PATHS[PATH]), chained, &posted, counters);
        }
        end
    }

    #[inline(always)]
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
        self.consume::<{ data::ANY }>((handler, path), chained, &posted, counters);
    }

    /// A handler takes no receive.
    #[inline(always)]
    fn leave_one(self, handler: usize, path: Path, counters: &HandlerCounters) {
        self.matched(handler);
        self.block.crew.note_taken(handler, ReceiveId::NIL);
        unmatched(counters, handler, path);
    }

    /// A handler takes a receive. `DATA`: as for [`take_row`](Self::take_row).
    #[inline(always)]
    fn consume<const DATA: u8>(
        self,
        (handler, path): (usize, Path),
        chained: Chained<'_>,
        posted: &Posted,
        counters: &HandlerCounters,
    ) {
        let BlockRun {
            nic,
            info,
            crew,
            entries,
        } = self.block;
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
            // The remaining counts, see `HandlerCounts::completed`, and a row counts together.
            Path::Clean => {}
            _ if DATA != data::ANY => {}
            Path::Fast => counters.fast.add(1),
            Path::Slow => counters.slow.add(1),
            Path::Overtaking => counters.overtaking.add(1),
        }
        let unlinked = if DATA != data::ANY {
            crew.unlink::<true>(chained, posted)
        } else {
            crew.unlink::<false>(chained, posted)
        };
        if !unlinked {
            counters.lock_missed.add(1);
            step!(LockMissed { handler });
        }
        if C::PART != Part::Slice {
            let arrival = self.first_arrival + handler as u64;
            // SAFETY: this worker runs the handler, and the leader claimed the result's
            // position.
            unsafe {
                deliver::<DATA>(nic, info, arrival, entries, self.results, handler, posted);
            }
            entries.prefetch(handler + self.ahead);
        }
    }

    /// Called after a handler is matched. Higher slices wait for the slice's last match, not for
    /// later work.
    #[inline(always)]
    fn matched(&self, handler: usize) {
        if handler + 1 == self.block.crew.handlers().end {
            self.block.crew.matched();
        }
    }

    /// Counts the leading handlers without a receive as unmatched; returns their number.
    #[inline(always)]
    fn leave_row(&self, scratch: &Scratch, handlers: Range<usize>) -> usize {
        let Range { start, end } = handlers;
        let places = scratch.receives[start..end].iter();
        let idle = places
            .take_while(|&&receive| receive == ReceiveId::NIL)
            .count();
        (start..start + idle).for_each(|_handler| step!(Unmatched { handler: _handler }));
        if idle > 0 {
            self.block.nic.handler_counters[start]
                .no_candidate
                .add(idle as u64);
        }
        idle
    }

    /// Leaves these handlers, the whole slice, without a receive.
    pub(super) fn leave(self, handlers: Range<usize>) {
        // No receive is taken, so higher slices need not wait.
        self.block.crew.matched();
        if C::PART == Part::Block {
            self.block.nic.idle_blocks.note(handlers.len(), 1);
        }
        for handler in handlers {
            self.block.crew.note_taken(handler, ReceiveId::NIL);
            if C::PART == Part::Block {
                step!(Unmatched { handler });
            } else {
                unmatched(
                    &self.block.nic.handler_counters[handler],
                    handler,
                    Path::Clean,
                );
            }
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
                let arrival = info.arrival + handler as u64;
                // SAFETY: this worker runs the handler, and the leader claimed the result's
                // position.
                unsafe {
                    deliver::<{ data::ANY }>(
                        nic,
                        info,
                        arrival,
                        entries,
                        self.results,
                        handler,
                        &posted,
                    );
                }
            }
        }
    }
}

/// Chooses the receive in `scratch`.
fn chosen(_: usize, _: &Entry, place: &mut ReceiveId, _: &HandlerCounters) -> ReceiveId {
    *place
}

/// A handler takes its candidate if that is the oldest of its chain.
fn oldest(_: usize, _: &Entry, [candidate, oldest]: [ReceiveId; 2]) -> bool {
    candidate == oldest
}

/// Calls a loop out of line, so that its values have all registers.
#[cfg_attr(not(target_arch = "riscv64"), inline(never))]
fn apart<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[inline(always)]
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
