//! The work between two blocks: the leader admits posts, cancels and probes, assigns labels,
//! recycles consumed descriptors, and cuts the next block (S12).

mod admit;
mod commands;
mod cut;
#[cfg(feature = "ends")]
mod direct;
mod finish;
mod leader;
mod post_batch;
#[cfg(all(test, feature = "ends"))]
mod tests;

#[cfg(feature = "ends")]
pub use direct::{DirectResult, MessageBatch};
pub use leader::{Leader, Round, Worker};

use alloc::boxed::Box;

use crate::communicator::{BinRoom, Communicator};
use crate::descriptor::{Posted, state};
use crate::free_list::FreeList;
use crate::message::Completion;
use crate::number::{QueueId, ReceiveId};
use crate::shared::Shared;
use crate::sync::Relaxed;
use crate::unexpected::UnexpectedStore;
use crate::{CommId, NicConfig, WildcardClass};

/// State that only the boundary accesses. Each step takes the shared part of the NIC as an
/// argument.
#[derive(Debug)]
pub(crate) struct Boundary {
    comms: Box<[Communicator]>,
    room: BinRoom,
    free_receives: FreeList<ReceiveId>,
    unexpected: UnexpectedStore,
    /// Next command to admit.
    commands_head: u64,
    /// Commands admitted that count in stamps.
    commands_done: u64,
    /// A due command waits for the host, because the completion ring is full.
    held_up: bool,
    /// The last hand-back was accepted: the receives that follow it are posted.
    taking_back: bool,
    /// Messages matched so far, of all completion queues.
    pub(crate) matched: u64,
    /// The leader's position in each queue.
    pub(crate) fronts: Box<[Front]>,
    /// The queue that was checked last.
    turn: QueueId,
    /// Next free position of the completion ring.
    results_tail: u64,
    /// End of the ring's known free positions, by the host's head as last seen.
    results_end: u64,
}

/// The leader's position in a completion queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front {
    /// Next message to match.
    pub(crate) head: u64,
    /// Entries to check before a block is cut, if the leader runs it alone.
    pub(crate) patience: usize,
}

impl Boundary {
    fn new(nic: &Shared, config: &NicConfig) -> Self {
        let bins = config.total_index_bins();
        Self {
            comms: (0..config.communicators)
                .map(|_| Communicator::absent(0))
                .collect(),
            room: BinRoom::new(config.communicators, bins),
            free_receives: FreeList::full(config.receives),
            unexpected: UnexpectedStore::new(
                config.unexpected,
                config.unexpected_buffers,
                config.eager_limit,
                bins,
            ),
            commands_head: 0,
            commands_done: 0,
            held_up: false,
            taking_back: false,
            matched: 0,
            fronts: nic
                .arrivals
                .queues()
                .map(|_| Front {
                    head: 0,
                    patience: cut::PATIENCE_MIN,
                })
                .collect(),
            turn: QueueId::FIRST,
            results_tail: 0,
            results_end: nic.completions.depth(),
        }
    }

    /// Free positions of the completion ring; loads the head only if fewer than `wanted` are known.
    #[inline]
    fn results_room(&mut self, nic: &Shared, wanted: usize) -> usize {
        if self.results_tail + wanted as u64 > self.results_end {
            self.results_end = nic.completions.head() + nic.completions.depth();
        }
        (self.results_end - self.results_tail) as usize
    }

    /// Writes the next result. The ring must have room.
    fn report(&mut self, nic: &Shared, result: Completion) {
        // SAFETY: only the leader claims positions, and it checked the room.
        unsafe {
            nic.completions
                .fill(self.results_tail, 0, |slot| *slot = result);
        }
        self.results_tail += 1;
    }

    /// Publishes the handlers' view of a communicator.
    fn set_view(&self, nic: &Shared, comm: CommId) {
        let view = self.comms[comm.0 as usize].view;
        // SAFETY: the boundary runs between blocks: no handler reads views now.
        unsafe { nic.views[comm.0 as usize].write(|slot| *slot = view) };
    }

    /// Publishes the classes in which receives of a communicator are posted.
    #[inline]
    fn set_classes(&self, nic: &Shared, comm: CommId) {
        let view = self.comms[comm.0 as usize].view;
        // SAFETY: the boundary runs between blocks: no handler reads views now.
        unsafe { nic.views[comm.0 as usize].write(|slot| slot.follow(&view)) };
    }

    /// The classes posted so far are old ones; for a seeded fault only.
    fn mark_all_early(&mut self, nic: &Shared) {
        for comm in 0..self.comms.len() as u32 {
            self.comms[comm as usize].view.mark_all_early();
            self.set_view(nic, CommId(comm));
        }
    }

    /// Frees a consumed receive that is not free yet; between blocks, when no handler can visit
    /// it (S17).
    fn recycle(&mut self, nic: &Shared, comm: CommId, receive: ReceiveId) {
        let descriptor = &nic.receives[receive];
        // SAFETY: the boundary (D1).
        let Posted { bin, run, .. } = *unsafe { descriptor.posted.peek() };
        let class = run.class();
        if descriptor.state.load(Relaxed) == state::CONSUMED {
            step!(Unlinking {
                bin: bin.0,
                receive: receive.0,
                alone: true
            });
            nic.bins[bin].unlink(&nic.receives, receive, &ReceiveId::NIL);
        }
        self.free_receives.push(receive);
        self.count_left(nic, comm, class, 1);
    }

    /// Counts further posted receives of this class.
    #[inline]
    fn count_entered(&mut self, nic: &Shared, comm: CommId, class: WildcardClass, count: u32) {
        nic.boundary_counters
            .posted_high
            .raise(self.free_receives.used() as u64);
        let control = &mut self.comms[comm.0 as usize];
        control.posted[class as usize] += count;
        if count > 0 && control.posted[class as usize] == count {
            control.view.insert(class);
            self.set_classes(nic, comm);
        }
    }

    /// Counts receives of this class that are no longer posted.
    #[inline]
    fn count_left(&mut self, nic: &Shared, comm: CommId, class: WildcardClass, count: usize) {
        let control = &mut self.comms[comm.0 as usize];
        control.posted[class as usize] -= count as u32;
        if control.posted[class as usize] == 0 {
            control.view.remove(class);
            self.set_classes(nic, comm);
        }
    }

    /// Counts an event of this communicator sent on to the host.
    fn count_forwarded(&mut self, comm: CommId) {
        if let Some(control) = self.comms.get_mut(comm.0 as usize) {
            control.forwarded += 1;
        }
    }
}
