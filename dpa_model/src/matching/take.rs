//! The end of a handler's matching: its receive is consumed, and with a crew that delivers at once
//! its data moves while the lines are near (S17, S18, O21).

use core::ops::Range;

use super::BlockRun;
use super::crew::{Crew, Tables, Taken};
use super::protocol::deliver;
use super::resolve::SlowPath;
use super::scratch::Scratch;
use super::search::usual_key;
use crate::bin::Bin;
use crate::descriptor::{Descriptor, Posted, known};
use crate::index::Oldest;
use crate::message::{Completion, data, is_inline};
use crate::nic::Shared;
use crate::number::ReceiveId;
use crate::ring::Stretch;
use crate::{HandlerCounters, Path};

/// Where a message is not usual, most often so many in a row are not.
const UNUSUAL: usize = 8;

/// A block of at least so many messages is a sign that more come.
const STREAMING: usize = 8;

/// What the loops over the handlers of a block keep at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taking<'a, C> {
    block: BlockRun<'a, C>,
    results: Stretch<'a, Completion>,
    /// How far ahead entries are asked for: past the block, if more of them are likely to be there.
    ahead: usize,
    /// Number of the block's first message. A copy: a compiler must otherwise read it again after
    /// each store.
    first_arrival: u64,
}

impl<'a, C: Crew> Taking<'a, C> {
    #[inline(always)]
    pub(super) fn new(block: BlockRun<'a, C>) -> Self {
        let streams = C::DELIVERS_AT_ONCE && block.info.count >= STREAMING;
        let ahead = if streams { block.info.count } else { 0 };
        let results = block.nic.completions.stretch(block.info.results, block.info.count);
        Self { block, results, ahead, first_arrival: block.info.arrival }
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
        let Range { start: mut handler, end } = handlers;
        let mut matched = 0;
        while handler < end {
            let mut next = end;
            if C::IN_ROWS {
                let first = handler;
                handler = self.take_usual::<{ data::WORD }>(scratch, first, end, path);
                handler = self.take_usual::<{ data::INLINE }>(scratch, handler, end, path);
                matched += handler - first;
                let without = self.leave_row(scratch, handler..end, path);
                handler += without;
                next = match handler - first {
                    0 => end.min(handler + UNUSUAL),
                    _ if without > 0 => handler,
                    _ => end.min(handler + 1),
                };
            }
            let rest = handler..next;
            matched += match path {
                Path::Clean => self.take_each(scratch, rest, Path::Clean, chosen),
                Path::Fast => self.take_each(scratch, rest, Path::Fast, chosen),
                Path::Slow | Path::Overtaking => self.take_each(scratch, rest, path, chosen),
            };
            handler = next;
        }
        matched
    }

    /// As many handlers from `first` on as the loop for what is usual can take; returns the next.
    #[inline(always)]
    fn take_usual<const DATA: u8>(
        &self,
        scratch: &Scratch,
        first: usize,
        end: usize,
        path: Path,
    ) -> usize {
        if first == end {
            return end;
        }
        match path {
            Path::Clean => take_usual::<C, false, DATA>(self, scratch, first, end),
            Path::Fast => take_usual::<C, true, DATA>(self, scratch, first, end),
            Path::Slow | Path::Overtaking => first,
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
        let Range { start: first, end } = handlers;
        let (mut handler, mut matched) = (first, 0);
        while handler < end {
            let next = if C::IN_ROWS { handler + 1 } else { end };
            matched +=
                self.take_each(scratch, handler..next, Path::Slow, |handler, own, counters| {
                    slow.find(handler, own, counters)
                });
            handler = next;
            if C::IN_ROWS && handler < end {
                let mut usual =
                    take_slowly_usual::<C, { data::WORD }>(&self, scratch, slow, handler..end);
                if usual == 0 {
                    usual = take_slowly_usual::<C, { data::INLINE }>(
                        &self,
                        scratch,
                        slow,
                        handler..end,
                    );
                }
                matched += usual;
                handler += usual;
            }
        }
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
        let BlockRun { nic, crew, .. } = self.block;
        let tables = self.tables();
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
            // SAFETY: a search found it; inside a block (D1).
            let posted = unsafe { known(tables.receives, receive).posted.peek() };
            let taken = Taken { receive, posted: &posted, before };
            self.end::<{ data::ANY }>(handler, &posted, counters, path, || {
                crew.unlink(tables, taken)
            });
            matched += 1;
        }
        matched
    }

    /// What is left to be done for a handler whose receive is marked: `unlink` takes it out of its
    /// chain. `DATA`: see [`data`].
    #[inline(always)]
    fn end<const DATA: u8>(
        self,
        handler: usize,
        posted: &Posted,
        counters: &HandlerCounters,
        path: Path,
        unlink: impl FnOnce() -> bool,
    ) {
        let BlockRun { nic, info, entries, .. } = self.block;
        match path {
            // Those that are left, see `HandlerCounters::of`.
            Path::Clean => {}
            Path::Fast => counters.fast.add(1),
            Path::Slow => counters.slow.add(1),
            Path::Overtaking => counters.overtaking.add(1),
        }
        if !unlink() {
            counters.lock_missed.add(1);
            step!(LockMissed { handler });
        }
        if C::DELIVERS_AT_ONCE {
            let arrival = self.first_arrival + handler as u64;
            // SAFETY: this worker runs the handler, and the leader claimed its result.
            unsafe {
                deliver::<DATA>(nic, info, arrival, entries, self.results, handler, posted);
            }
            entries.prefetch(handler + self.ahead);
        }
    }

    /// All of it, for the oldest receive of this chain and data in the entry.
    #[inline(always)]
    fn take_oldest<const DATA: u8>(
        self,
        handler: usize,
        (receive, descriptor, bin): (ReceiveId, &Descriptor, &Bin),
        counters: &HandlerCounters,
        path: Path,
    ) {
        step!(Taken { handler, receive: receive.0, path });
        self.block.crew.mark(self.tables(), receive, path);
        // SAFETY: the caller found it in the chain; inside a block (D1).
        let posted = unsafe { descriptor.posted.peek() };
        self.end::<DATA>(handler, &posted, counters, path, || {
            step!(Unlinking { bin: posted.bin.0, receive: receive.0, alone: true });
            bin.unlink_oldest(descriptor, receive);
            true
        });
    }

    #[inline(always)]
    fn tables(&self) -> Tables<'a> {
        Tables { receives: &self.block.nic.receives, bins: &self.block.nic.bins }
    }

    /// Handlers in a row, from the first on, that found no receive in the optimistic search;
    /// returns how many. On another path each is counted by itself.
    #[inline(always)]
    fn leave_row(self, scratch: &Scratch, handlers: Range<usize>, path: Path) -> usize {
        let first = handlers.start;
        let mut left = 0;
        for &receive in &scratch.receives[handlers] {
            if receive != ReceiveId::NIL || path != Path::Clean {
                break;
            }
            unmatched(self.block.nic, first + left, Path::Clean);
            left += 1;
        }
        left
    }

    /// These handlers, all of the slice, have no receive.
    pub(super) fn leave(self, handlers: Range<usize>) {
        // Higher slices wait for receives that are taken, and none is.
        self.block.crew.matched();
        if C::IN_ROWS {
            self.block.nic.idle_blocks.note(handlers.len());
        }
        for handler in handlers {
            self.block.crew.note_taken(handler, ReceiveId::NIL);
            if C::IN_ROWS {
                step!(Unmatched { handler });
            } else {
                unmatched(self.block.nic, handler, Path::Clean);
            }
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

/// Handlers in a row that have a receive, the oldest of its chain, and their data in the entry;
/// returns the first of which that is not so. A loop without calls, short enough for its values to
/// stay in registers. By reference, because they would be copied.
#[inline(never)]
fn take_usual<C: Crew, const FAST: bool, const DATA: u8>(
    taking: &Taking<'_, C>,
    scratch: &Scratch,
    first: usize,
    end: usize,
) -> usize {
    let path = if FAST { Path::Fast } else { Path::Clean };
    let taking = *taking;
    let BlockRun { nic, entries, .. } = taking.block;
    let tables = taking.tables();
    let (places, counters) = (&scratch.receives[..end], &nic.handler_counters[..end]);
    for handler in first..end {
        let receive = places[handler];
        if receive == ReceiveId::NIL {
            return handler;
        }
        // SAFETY: a search found it; inside a block (D1).
        let descriptor = unsafe { known(tables.receives, receive) };
        // SAFETY: as above.
        let posted = unsafe { descriptor.posted.peek() };
        // SAFETY: the leader saw the block's entries ready, and releases them after the block.
        let entry = unsafe { entries.peek(handler) };
        if !is_inline::<DATA>(entry.protocol, entry.length, posted.capacity) {
            return handler;
        }
        // SAFETY: the receive was posted, in this bin.
        let bin = unsafe { crate::bin::known(tables.bins, posted.bin) };
        if bin.head() != receive {
            return handler;
        }
        taking.take_oldest::<DATA>(handler, (receive, descriptor, bin), &counters[handler], path);
    }
    end
}

/// The same on the slow path, for handlers whose candidate is gone and that find the oldest of a
/// chain instead; returns how many there are from the first on. Those before are done.
#[inline(never)]
fn take_slowly_usual<C: Crew, const DATA: u8>(
    taking: &Taking<'_, C>,
    scratch: &mut Scratch,
    slow: &SlowPath<'_, C>,
    Range { start: first, end }: Range<usize>,
) -> usize {
    let Some(indexes) = slow.usual() else { return 0 };
    let comm = slow.comm();
    let taking = *taking;
    let BlockRun { nic, entries, .. } = taking.block;
    let tables = taking.tables();
    let (places, counters) = (&mut scratch.receives[..end], &nic.handler_counters[..end]);
    let mut next = end;
    for handler in first..end {
        // SAFETY: the leader saw the block's entries ready, and releases them after the block.
        let entry = unsafe { entries.peek(handler) };
        let own = places[handler];
        // SAFETY: a search found it.
        let is_gone = !unsafe { known(tables.receives, own) }.is_posted();
        let oldest = match usual_key(&entry, comm) {
            Some(key) if is_gone => indexes.oldest::<0>(&key),
            _ => Oldest::Other,
        };
        let Oldest::Fits { bin, receive } = oldest else {
            next = handler;
            break;
        };
        // SAFETY: it stands in a chain.
        let descriptor = unsafe { known(tables.receives, receive) };
        // SAFETY: inside a block (D1).
        let posted = unsafe { descriptor.posted.peek() };
        if !is_inline::<DATA>(entry.protocol, entry.length, posted.capacity) {
            next = handler;
            break;
        }
        step!(SlowWaits { handler });
        step!(SlowWaited);
        step!(StateRead { receive: own.0 });
        step!(BinRead { bin: bin.0 });
        step!(Visited { receive: receive.0 });
        step!(SlowFound { handler, found: receive.found(), own: false });
        places[handler] = receive;
        // SAFETY: a communicator with receives has tables.
        let bin = unsafe { crate::bin::known(tables.bins, bin) };
        taking.take_oldest::<DATA>(
            handler,
            (receive, descriptor, bin),
            &counters[handler],
            Path::Slow,
        );
    }
    let taken = next - first;
    nic.handler_counters[first].walked_exact.add(taken as u64);
    taken
}

/// Apart, so that the loop over matched messages stays short.
#[cold]
#[inline(never)]
fn unmatched_here(nic: &Shared, handler: usize, path: Path) {
    unmatched(nic, handler, path);
}

#[inline(always)]
fn unmatched(nic: &Shared, handler: usize, path: Path) {
    step!(Unmatched { handler });
    let counters = &nic.handler_counters[handler];
    // Nothing found is no path, unless somebody waited for it.
    match path {
        Path::Clean | Path::Fast => return counters.no_candidate.add(1),
        Path::Slow => counters.slow.add(1),
        Path::Overtaking => counters.overtaking.add(1),
    }
    counters.unexpected.add(1);
}
