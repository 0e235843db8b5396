//! The end of a block: unexpected messages are stored in arrival order, consumed receives recycled, the
//! queue's head moved on.

use super::leader::Leader;
use crate::block::BlockInfo;
use crate::communicator::Home;
use crate::descriptor::NIL;
use crate::hash::Hashes;
use crate::message::{Completion, Entry, Message, Protocol};
use crate::sync::Relaxed;
use crate::unexpected::Incoming;
use crate::{InlineHashes, UnexpectedFull};

impl Leader {
    pub(super) fn finish(&mut self, block: &BlockInfo) {
        self.results_tail += block.count as u64;
        let mut unmatched = false;
        // From the top, so that the free list hands them out in posting order again.
        for handler in (0..block.count).rev() {
            // SAFETY: every slice of the block has reached phase 3.
            let outcome = unsafe { self.shared.block.outcome(handler) };
            if outcome.receive == NIL {
                unmatched = true;
            } else {
                self.recycle(outcome.comm, outcome.receive);
            }
        }
        if unmatched {
            // In handler order, so every chain stays in arrival order (S14).
            for handler in 0..block.count {
                let handler = if fault!(UnexpectedReversed) { block.count - 1 - handler } else { handler };
                // SAFETY: as above.
                if unsafe { self.shared.block.outcome(handler) }.receive == NIL {
                    self.keep_unmatched(block, handler);
                }
            }
        }
        self.check_bookings(block);
        self.arrivals_head += block.count as u64;
        self.shared.arrivals.ring.release(self.arrivals_head);
    }

    /// S7: every receive booked in a block is consumed in it.
    fn check_bookings(&self, block: &BlockInfo) {
        if !cfg!(debug_assertions) {
            return;
        }
        for handler in 0..block.count {
            let claim = if block.slices == 1 {
                self.scratch.claims()[handler]
            } else {
                // SAFETY: every slice of the block has reached phase 3.
                unsafe { self.shared.block.claim(handler) }
            };
            if claim.receive != NIL {
                let booking = self.shared.receives[claim.receive as usize].booking.load(Relaxed);
                assert_eq!(booking, 0, "a booked receive survived its block (S7)");
            }
        }
    }

    /// A message without a receive: into the unexpected store, or on to the host.
    fn keep_unmatched(&mut self, block: &BlockInfo, handler: usize) {
        let position = block.first + handler as u64;
        let result_position = block.results + handler as u64;
        // SAFETY: the entry was seen ready and is released only after this.
        let entry = unsafe { self.shared.arrivals.ring.read(position, |entry| *entry) };
        let message = Message { arrival: position, envelope: entry.envelope, length: entry.length };
        let comm = entry.envelope.comm.0;
        let mut result = Completion::None;
        let mut stored = false;
        if let Some(control) = self.comms.get_mut(comm as usize)
            && control.home == Home::Nic
        {
            if self.store(comm, &entry, position, message) {
                stored = true;
                if self.shared.options.log_order {
                    result = Completion::Unexpected { message };
                }
            } else {
                // Back-pressure never comes here: the block was cut to what fits.
                debug_assert_eq!(self.shared.options.unexpected_full, UnexpectedFull::Demote);
                self.comms[comm as usize].home = Home::Fallback;
                self.shared.boundary_counters.fallback_unexpected.add(1);
            }
        }
        if !stored {
            self.shared.boundary_counters.arrivals_forwarded.add(1);
            self.count_forwarded(comm);
            self.stage(&entry, position, result_position);
            let Entry { protocol, payload, .. } = entry;
            result = Completion::ArrivalForwarded { message, protocol, payload };
        }
        // SAFETY: the leader claimed the block's positions; a handler without a receive leaves its own to the
        // boundary.
        unsafe { self.shared.completions.fill(result_position, 0, |slot| *slot = result) };
    }

    fn store(&mut self, comm: u32, entry: &Entry, position: u64, message: Message) -> bool {
        let trusted = entry.has_hashes && self.shared.options.inline_hashes == InlineHashes::Trust;
        let hashes =
            if trusted { entry.hashes } else { Hashes::of(entry.envelope.source, entry.envelope.tag) };
        let control = &mut self.comms[comm as usize];
        let bounced = if entry.protocol == Protocol::Buffered { entry.length as usize } else { 0 };
        let buffer = if bounced > 0 { self.shared.arrivals.bounce_buffer(position) } else { 0 };
        // SAFETY: the bounce buffer belongs to this entry until the head passes it.
        let stored = unsafe {
            self.shared.arrivals.bounce.read(buffer, bounced, |bytes| {
                let Entry { protocol, payload, .. } = *entry;
                let incoming = Incoming { message, hashes, protocol, payload, bytes };
                self.unexpected.insert(&control.view, control.allowed, &incoming)
            })
        };
        if stored.is_none() {
            return false;
        }
        control.unexpected += 1;
        let counters = &self.shared.boundary_counters;
        counters.unexpected.add(1);
        counters.unexpected_high.raise(self.unexpected.used() as u64);
        counters.unexpected_bytes_high.raise(self.unexpected.bytes);
        true
    }

    /// Copies a buffered payload to the staging buffer that goes with a ring position.
    fn stage(&self, entry: &Entry, position: u64, result_position: u64) {
        if entry.protocol != Protocol::Buffered {
            return;
        }
        let buffer = self.shared.arrivals.bounce_buffer(position);
        let staging = (result_position % self.shared.completions.depth()) as usize;
        // SAFETY: the bounce buffer as in `store`; the staging buffer belongs to a ring position that the
        // host has released and that is not yet filled.
        unsafe {
            self.shared.arrivals.bounce.read(buffer, entry.length as usize, |bytes| {
                self.shared.staging.write(staging, bytes);
            });
        }
    }
}
