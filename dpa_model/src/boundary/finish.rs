//! The end of a block: stores unexpected messages in arrival order, recycles consumed receives, and
//! advances the queue's head.

use super::Boundary;
use crate::block::BlockInfo;
use crate::booking::HandlerSet;
use crate::communicator::Home;
use crate::hash::Hashes;
use crate::index::CommView;
use crate::message::{Completion, Entry, Message, Protocol};
use crate::number::{ReceiveId, StoredId};
use crate::shared::Shared;
use crate::unexpected::LINKED_ALWAYS;
use crate::{ClassSet, CommId, InlineHashes, UnexpectedFull, WildcardClass};

/// Destination of a communicator's messages without a receive, copied by a loop over messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inbox {
    comm: CommId,
    /// Whether they go to the store while it has room; otherwise they go to the host.
    on_nic: bool,
    view: CommView,
    linked: ClassSet,
    /// Messages stored but not counted yet.
    stored: u32,
}

impl Boundary {
    /// Ends a block that the leader ran alone: its handlers' receives are unlinked and free
    /// already. `all_of`: the communicator, if all messages are of one and have a receive.
    #[inline]
    pub(super) fn finish_alone(
        &mut self,
        nic: &Shared,
        block: &BlockInfo,
        all_of: Option<CommId>,
        taken: &[ReceiveId],
    ) {
        let Some(comm) = all_of else {
            return self.finish_unmatched(nic, block, taken);
        };
        self.free_receives.push_all(taken);
        self.count_all_left(nic, comm, taken);
        self.release(nic, block, taken.len());
    }

    /// Ends a block of one message that the leader ran alone.
    #[inline]
    pub(super) fn finish_only(
        &mut self,
        nic: &Shared,
        block: &BlockInfo,
        taken: Option<ReceiveId>,
    ) {
        let Some(receive) = taken else {
            return self.finish_unmatched(nic, block, &[ReceiveId::NIL]);
        };
        self.free_receives.push(receive);
        // SAFETY: the boundary (D1).
        let class = unsafe { nic.receives[receive].posted.peek() }.run.class();
        self.count_left(nic, comm_of(nic, block, 0), class, 1);
        self.release(nic, block, 1);
    }

    /// Ends a lone block in which a handler has no receive, or communicators differ.
    #[inline(never)]
    fn finish_unmatched(&mut self, nic: &Shared, block: &BlockInfo, taken: &[ReceiveId]) {
        let is_left = |receive: &&ReceiveId| **receive == ReceiveId::NIL;
        let first_left = taken.iter().take_while(is_left).count();
        let stored = self.store_batch(nic, block, first_left);
        if stored == block.count {
            return self.release(nic, block, 0);
        }
        self.finish_each(nic, block, stored, |handler| taken[handler]);
    }

    /// Stores the leading messages of a block without receives, while they are common and of one
    /// communicator. Returns how many.
    #[inline]
    fn store_batch(&mut self, nic: &Shared, block: &BlockInfo, count: usize) -> usize {
        let options = &nic.options;
        let usual = options.inline_hashes == InlineHashes::Trust && !options.log_order;
        if !usual || count == 0 || fault!(UnexpectedReversed) {
            return 0;
        }
        let queue = nic.arrivals.queue(block.queue);
        let entries = queue.ring.span(block.first, count);
        // SAFETY: the entry was seen ready; `release` comes later.
        let comm = unsafe { entries.peek(0) }.envelope.comm;
        let inbox = self.inbox(comm);
        if !inbox.on_nic || inbox.linked.exceeds(LINKED_ALWAYS) {
            return 0;
        }
        let (store, view) = (&mut self.unexpected, &inbox.view);
        let stored = store.insert_batch(view, comm, block.arrival, queue, entries);
        self.close(Inbox {
            stored: stored as u32,
            ..inbox
        });
        self.record_stored(nic, stored);
        stored
    }

    /// Counts `stored` messages. Between two blocks the store only shrinks, so its maximum is here.
    #[inline]
    pub(super) fn record_stored(&self, nic: &Shared, stored: usize) {
        let counters = &nic.boundary_counters;
        counters.arrivals_stored.add(stored as u64);
        counters
            .unexpected_high
            .raise(self.unexpected.used() as u64);
        counters.unexpected_bytes_high.raise(self.unexpected.bytes);
    }

    /// Counts the receives of all handlers as no longer posted.
    #[inline]
    fn count_all_left(&mut self, nic: &Shared, comm: CommId, taken: &[ReceiveId]) {
        if let Some(class) = self.comms[comm.0 as usize].view.classes().only() {
            return self.count_left(nic, comm, class, taken.len());
        }
        let mut left = [0; WildcardClass::ALL.len()];
        for &receive in taken {
            // SAFETY: the boundary (D1).
            left[unsafe { nic.receives[receive].posted.peek() }.run.class() as usize] += 1;
        }
        for class in WildcardClass::ALL
            .into_iter()
            .filter(|&class| left[class as usize] > 0)
        {
            self.count_left(nic, comm, class, left[class as usize]);
        }
    }

    /// Releases the block's entries, and publishes its first `results` results; no result follows
    /// them.
    fn release(&mut self, nic: &Shared, block: &BlockInfo, results: usize) {
        self.pass(block, results);
        let head = self.fronts[block.queue.0].head;
        nic.arrivals.queue(block.queue).ring.release(head);
    }

    /// Advances the boundary behind the block and its first `results` results.
    fn pass(&mut self, block: &BlockInfo, results: usize) {
        self.results_tail += results as u64;
        self.matched += block.count as u64;
        self.fronts[block.queue.0].head = block.first + block.count as u64;
    }

    /// Recycles consumed receives and stores unmatched messages; `taken` returns the receive that a
    /// handler took, or none. The first `stored` messages are stored already.
    pub(super) fn finish_each(
        &mut self,
        nic: &Shared,
        block: &BlockInfo,
        stored: usize,
        taken: impl Fn(usize) -> ReceiveId,
    ) {
        // In falling order, so that the free list returns receives in posting order.
        for handler in (0..block.count).rev() {
            let receive = taken(handler);
            if receive != ReceiveId::NIL {
                step!(BoundaryBegins { handler });
                step!(Recycled { receive: receive.0 });
                self.recycle(nic, comm_of(nic, block, handler), receive);
                step!(BoundaryEnds);
            }
        }
        let stored_before = self.unexpected.used();
        // Number of results up to the last that the host must read, and the handlers whose
        // unmatched messages are reported to it.
        let (mut results, mut told) = (0, HandlerSet::NONE);
        let log_order = nic.options.log_order;
        let queue = nic.arrivals.queue(block.queue);
        let entries = queue.ring.span(block.first, block.count);
        let mut inbox = self.inbox(CommId(u32::MAX));
        // In handler order, so every chain stays in arrival order (S14).
        for place in stored..block.count {
            let handler = if fault!(UnexpectedReversed) {
                block.count - 1 - place
            } else {
                place
            };
            if taken(handler) == ReceiveId::NIL {
                step!(BoundaryBegins { handler });
                // SAFETY: the entry was seen ready; `release` comes later.
                let entry = unsafe { entries.peek(handler) };
                if entry.envelope.comm != inbox.comm {
                    self.close(inbox);
                    inbox = self.inbox(entry.envelope.comm);
                }
                let arrival = block.arrival + handler as u64;
                let stored = self.store(nic, &mut inbox, arrival, &entry);
                if let Some(message) = stored
                    && entry.protocol == Protocol::Buffered
                {
                    if fault!(KeptAfterRelease) {
                        queue.ring.release(entries.position(handler + 1));
                    }
                    let buffer = queue.bounce_buffer(entries.position(handler));
                    let keep = |bytes: &[u8]| self.unexpected.keep_bytes(message, bytes);
                    // SAFETY: the bounce buffer belongs to this entry until the head passes it.
                    unsafe { queue.bounce.read(buffer, entry.length as usize, keep) };
                }
                if stored.is_none() {
                    self.forward(nic, block, handler, &entry);
                    inbox.on_nic = false;
                } else if log_order {
                    let (envelope, length) = (entry.envelope, entry.length);
                    let message = Message {
                        arrival,
                        envelope,
                        length,
                    };
                    fill_result(nic, block, handler, Completion::Unexpected { message });
                }
                step!(BoundaryEnds);
                if stored.is_some() && !log_order {
                    continue;
                }
                told.insert(handler);
            }
            results = results.max(handler + 1);
        }
        self.close(inbox);
        self.record_stored(nic, self.unexpected.used() - stored_before);
        for handler in 0..results {
            if taken(handler) == ReceiveId::NIL && !told.contains(handler) {
                fill_result(nic, block, handler, Completion::None);
            }
        }
        self.release(nic, block, results);
    }

    /// The destination of a communicator's messages without a receive.
    pub(super) fn inbox(&self, comm: CommId) -> Inbox {
        let known = self
            .comms
            .get(comm.0 as usize)
            .filter(|control| control.home == Home::Nic);
        let known = known.map(|control| (control.view, control.linked));
        let (view, linked) = known.unwrap_or((CommView::NONE, ClassSet::EMPTY));
        Inbox {
            comm,
            on_nic: known.is_some(),
            view,
            linked,
            stored: 0,
        }
    }

    pub(super) fn close(&mut self, inbox: Inbox) {
        if inbox.stored > 0 {
            self.comms[inbox.comm.0 as usize].unexpected += inbox.stored;
        }
    }

    /// Stores a message, unless the host matches its communicator or the store is full.
    #[inline]
    pub(super) fn store(
        &mut self,
        nic: &Shared,
        inbox: &mut Inbox,
        arrival: u64,
        entry: &Entry,
    ) -> Option<StoredId> {
        if !inbox.on_nic {
            return None;
        }
        let trusted = entry.has_hashes && nic.options.inline_hashes == InlineHashes::Trust;
        let hashes = if trusted {
            entry.hashes
        } else {
            Hashes::new(entry.envelope.source, entry.envelope.tag)
        };
        let stored = self
            .unexpected
            .insert(&inbox.view, inbox.linked, arrival, entry, hashes);
        inbox.stored += u32::from(stored.is_some());
        stored
    }

    /// Sends a message that cannot be stored on to the host; all later ones of its communicator
    /// follow (S20).
    #[cold]
    fn forward(&mut self, nic: &Shared, block: &BlockInfo, handler: usize, entry: &Entry) {
        let Entry {
            envelope,
            length,
            protocol,
            payload,
            ..
        } = *entry;
        if let Some(control) = self.comms.get_mut(envelope.comm.0 as usize)
            && control.home == Home::Nic
        {
            // Back-pressure never reaches this: the block was cut to what fits.
            debug_assert_eq!(nic.options.unexpected_full, UnexpectedFull::Demote);
            control.home = Home::Fallback;
            nic.boundary_counters.fallback_unexpected.add(1);
        }
        nic.boundary_counters.arrivals_forwarded.add(1);
        self.count_forwarded(envelope.comm);
        stage(nic, block, handler, entry);
        let message = Message {
            arrival: block.arrival + handler as u64,
            envelope,
            length,
        };
        let result = Completion::ArrivalForwarded {
            message,
            protocol,
            payload,
        };
        fill_result(nic, block, handler, result);
    }
}

fn comm_of(nic: &Shared, block: &BlockInfo, handler: usize) -> CommId {
    // SAFETY: the entry was seen ready; `release` comes later.
    unsafe {
        nic.arrivals
            .queue(block.queue)
            .ring
            .peek(block.first + handler as u64)
    }
    .envelope
    .comm
}

fn fill_result(nic: &Shared, block: &BlockInfo, handler: usize, result: Completion) {
    let position = block.results + handler as u64;
    // SAFETY: the leader claimed the block's positions; a handler without a receive leaves its
    // position to the boundary.
    unsafe { nic.completions.fill(position, 0, |slot| *slot = result) };
}

/// Copies a handler's buffered payload to the staging buffer of its ring position.
fn stage(nic: &Shared, block: &BlockInfo, handler: usize, entry: &Entry) {
    if entry.protocol != Protocol::Buffered {
        return;
    }
    let queue = nic.arrivals.queue(block.queue);
    let buffer = queue.bounce_buffer(block.first + handler as u64);
    let staging = ((block.results + handler as u64) % nic.completions.depth()) as usize;
    // SAFETY: the bounce buffer belongs to this entry until the head passes it. The staging buffer
    // belongs to a ring position that the host has released and that is not filled yet.
    unsafe {
        queue.bounce.read(buffer, entry.length as usize, |bytes| {
            nic.staging.write(staging, bytes);
        });
    }
}
