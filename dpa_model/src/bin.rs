//! A bin of an index: the chain of receives with one hash, with removal under the bin's lock (O5,
//! O6, O28).
//!
//! **State.** `lock`: 0 free, 1 held by one remover. `head`, `tail`: descriptors or none. `length`:
//! linked receives. Only the boundary and the lock's holder access `tail` and `length`.
//!
//! **Invariants.** B1: the chain is in posting order. B2: following `next` from any descriptor of
//! the chain, even one unlinked in this block, visits every later receive that is still posted
//! (S17). B3: while a receive is `CONSUMED` it is in its chain.
//!
//! **Orderings.** `lock`: taken with Acquire, released with Release; it orders removers with each
//! other. Searchers need no lock, see descriptor.rs.
//!
//! **Progress.** Lazy removal is wait-free; eager removal blocks on the lock's holder.
//!
//! **Cost.** 20 bytes, as the paper counts (O29): five 32-bit words where the paper has a lock and
//! two 64-bit pointers (O31).

use crate::Removal;
use crate::block::Block;
use crate::descriptor::{Descriptor, Link, state};
use crate::number::{BinId, ReceiveId, indexed, unchecked};
use crate::sync::{AtomicU32, Relaxed};

/// Bytes of one bin (O29).
pub const BIN_BYTES: usize = 20;

#[derive(Debug)]
#[repr(C)]
pub(crate) struct Bin {
    lock: AtomicU32,
    head: Link,
    tail: Link,
    length: AtomicU32,
    /// Receives ever linked here; distinguishes a bin that was never used from one that is empty
    /// now.
    linked: AtomicU32,
}

#[cfg(not(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual)))]
const _: () = assert!(size_of::<Bin>() == BIN_BYTES);

indexed!([Bin] by BinId);

impl Bin {
    pub(crate) fn empty() -> Self {
        Self {
            lock: AtomicU32::new(0),
            head: Link::nil(),
            tail: Link::nil(),
            length: AtomicU32::new(0),
            linked: AtomicU32::new(0),
        }
    }

    #[inline]
    pub(crate) fn head(&self) -> ReceiveId {
        self.head.get()
    }

    pub(crate) fn length(&self) -> u32 {
        self.length.load(Relaxed)
    }

    /// Whether a receive was ever linked here.
    // ordering: a statistic that the boundary keeps.
    pub(crate) fn was_used(&self) -> bool {
        self.linked.load(Relaxed) != 0
    }

    /// The last receive of the chain, or `NIL`; boundary only.
    #[inline]
    pub(crate) fn tail(&self) -> ReceiveId {
        self.tail.get()
    }

    /// Appends a receive behind `tail`, the last one; boundary only. Returns whether the chain was
    /// not empty (a collision, S28).
    #[inline(always)]
    pub(crate) fn append(
        &self,
        receives: &[Descriptor],
        receive: ReceiveId,
        tail: ReceiveId,
    ) -> bool {
        // SAFETY: the free list made both numbers.
        let descriptor = |receive| unsafe { unchecked(receives, receive) };
        descriptor(receive).next.set(ReceiveId::NIL);
        if tail == ReceiveId::NIL {
            self.head.set(receive);
        } else {
            descriptor(tail).next.set(receive);
        }
        self.tail.set(receive);
        self.length.store(self.length() + 1, Relaxed);
        self.linked
            .store(self.linked.load(Relaxed).wrapping_add(1), Relaxed);
        tail != ReceiveId::NIL
    }

    /// Unlinks `receive` and frees it; the caller has exclusive access to the chain. `before` is a
    /// hint, its predecessor at search time; a reference, because the head of a chain needs none.
    #[inline(always)]
    pub(crate) fn unlink(&self, receives: &[Descriptor], receive: ReceiveId, before: &ReceiveId) {
        if self.head() != receive {
            return self.unlink_later(receives, receive, *before);
        }
        // SAFETY: the receive is in a chain.
        let descriptor = unsafe { unchecked(receives, receive) };
        let next = descriptor.next.get();
        self.head.set(next);
        if next == ReceiveId::NIL {
            self.tail.set(ReceiveId::NIL);
        }
        self.length.store(self.length() - 1, Relaxed);
        descriptor.state.store(state::FREE, Relaxed);
        step!(Unlinked { receive: receive.0 });
    }

    /// Unlinks a receive that is not the head of its chain.
    #[cold]
    #[inline(never)]
    fn unlink_later(&self, receives: &[Descriptor], receive: ReceiveId, before: ReceiveId) {
        if !self.unlink_after(receives, receive, before) {
            return self.unlink_up_to(receives, receive);
        }
        receives[receive].state.store(state::FREE, Relaxed);
        step!(Unlinked { receive: receive.0 });
    }

    /// Unlinks a receive behind `before`. `false`: it is not there. A posted receive is still in
    /// its chain (B2), so its successor is, too.
    #[inline]
    fn unlink_after(&self, receives: &[Descriptor], receive: ReceiveId, before: ReceiveId) -> bool {
        let Some(neighbour) = receives.get(before.index()) else {
            return false;
        };
        if !neighbour.is_posted() || neighbour.next.get() != receive {
            return false;
        }
        let next = receives[receive].next.get();
        neighbour.next.set(next);
        if next == ReceiveId::NIL {
            self.tail.set(before);
        }
        self.length.store(self.length() - 1, Relaxed);
        true
    }

    /// Unlinks a consumed receive while other handlers search and remove; `before` as in
    /// [`unlink`](Self::unlink). `false`: the lock was taken, and the boundary has to unlink it.
    #[inline]
    pub(crate) fn try_unlink(
        &self,
        receives: &[Descriptor],
        receive: ReceiveId,
        before: &ReceiveId,
        removal: Removal,
        block: &Block,
    ) -> bool {
        if removal == Removal::Deferred {
            return true;
        }
        if self
            .lock
            .compare_exchange(0, 1, weak!(Acquire), Relaxed)
            .is_err()
            && !fault!(UnlinkWithoutLock)
        {
            if removal == Removal::Lazy {
                return false;
            }
            // A panic may have killed the lock's holder.
            block.poll_until(|| {
                self.lock
                    .compare_exchange(0, 1, weak!(Acquire), Relaxed)
                    .is_ok()
            });
        }
        // Read under the lock: an earlier holder may have unlinked the receive, too (B3).
        if receives[receive].state.load(Relaxed) == state::CONSUMED {
            self.unlink(receives, receive, before);
        }
        if fault!(UnlinkedLosesNext) {
            receives[receive].next.set(ReceiveId::NIL);
        }
        self.lock.store(0, weak!(Release));
        true
    }

    /// Walks from the head to `receive` and unlinks it and every consumed receive before it.
    /// Terminates because of B3.
    #[inline(never)]
    fn unlink_up_to(&self, receives: &[Descriptor], receive: ReceiveId) {
        let mut before = ReceiveId::NIL;
        let mut current = self.head();
        let mut unlinked = 0;
        while current != ReceiveId::NIL {
            step!(LinkRead { receive: current.0 });
            let descriptor = &receives[current];
            let next = descriptor.next.get();
            if current == receive || descriptor.state.load(Relaxed) == state::CONSUMED {
                if before == ReceiveId::NIL {
                    self.head.set(next);
                } else {
                    receives[before].next.set(next);
                }
                if next == ReceiveId::NIL {
                    self.tail.set(before);
                }
                // `descriptor.next` stays: a searcher may be at this receive (B2).
                descriptor.state.store(state::FREE, Relaxed);
                step!(Unlinked { receive: current.0 });
                unlinked += 1;
            } else {
                before = current;
            }
            if current == receive {
                break;
            }
            current = next;
        }
        self.length.store(self.length() - unlinked, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::descriptor::table;

    const RECEIVES: u32 = 4;

    fn chain(bin: &Bin, receives: &[Descriptor]) -> Vec<u32> {
        let next = |&at: &u32| receives[ReceiveId(at)].next.get().found();
        core::iter::successors(bin.head().found(), next).collect()
    }

    fn post(bin: &Bin, receives: &[Descriptor], receive: u32) {
        receives[ReceiveId(receive)]
            .state
            .store(state::POSTED, Relaxed);
        bin.append(receives, ReceiveId(receive), bin.tail());
    }

    fn unlink(bin: &Bin, receives: &[Descriptor], receive: u32, before: u32) {
        bin.unlink(receives, ReceiveId(receive), &ReceiveId(before));
    }

    /// All orders in which these receives can be taken.
    fn orders(left: &[u32]) -> Vec<Vec<u32>> {
        if left.is_empty() {
            return Vec::from([Vec::new()]);
        }
        let first = |&first: &u32| {
            let others: Vec<u32> = left
                .iter()
                .copied()
                .filter(|&other| other != first)
                .collect();
            orders(&others)
                .into_iter()
                .map(move |order| [&[first], order.as_slice()].concat())
        };
        left.iter().flat_map(first).collect()
    }

    #[test]
    fn taking_out_in_any_order_leaves_the_others_in_theirs() {
        // The predecessor of each at first, or a wrong hint: none, the receive itself, or a later
        // one.
        let hints: [fn(u32) -> u32; 4] = [
            |receive| receive.wrapping_sub(1),
            |_| ReceiveId::NIL.0,
            |receive| receive,
            |_| RECEIVES - 1,
        ];
        for (order, hint) in orders(&[0, 1, 2, 3])
            .iter()
            .flat_map(|order| hints.map(|hint| (order, hint)))
        {
            let (bin, receives) = (Bin::empty(), table(RECEIVES as usize + 1));
            let mut left: Vec<u32> = (0..RECEIVES).collect();
            for &receive in &left {
                post(&bin, &receives, receive);
            }
            for &receive in order {
                unlink(&bin, &receives, receive, hint(receive));
                left.retain(|&other| other != receive);
                assert_eq!(chain(&bin, &receives), left, "{order:?}");
                assert_eq!(bin.length() as usize, left.len());
            }
            // The chain's end is where it must be.
            post(&bin, &receives, RECEIVES);
            assert_eq!(chain(&bin, &receives), [RECEIVES], "{order:?}");
        }
        // The tail, even while others are left.
        let (bin, receives) = (Bin::empty(), table(3));
        for receive in 0..2 {
            post(&bin, &receives, receive);
        }
        unlink(&bin, &receives, 1, 0);
        post(&bin, &receives, 2);
        assert_eq!(chain(&bin, &receives), [0, 2]);
    }

    /// Consumed receives whose removers missed the lock leave with a later one, and posted ones
    /// stay.
    #[test]
    fn consumed_receives_before_one_leave_with_it() {
        // One bit for each receive before the last: consumed.
        for consumed in 0..1 << (RECEIVES - 1) {
            let (bin, receives) = (Bin::empty(), table(RECEIVES as usize + 1));
            for receive in 0..RECEIVES {
                post(&bin, &receives, receive);
            }
            let is_consumed = |receive: &u32| consumed >> receive & 1 == 1;
            for receive in (0..RECEIVES - 1).filter(is_consumed) {
                receives[ReceiveId(receive)]
                    .state
                    .store(state::CONSUMED, Relaxed);
            }
            bin.unlink_up_to(&receives, ReceiveId(RECEIVES - 1));
            let left: Vec<u32> = (0..RECEIVES - 1)
                .filter(|receive| !is_consumed(receive))
                .collect();
            assert_eq!(chain(&bin, &receives), left, "{consumed:b}");
            assert_eq!(bin.length() as usize, left.len(), "{consumed:b}");
            for receive in 0..RECEIVES {
                let state = receives[ReceiveId(receive)].state.load(Relaxed);
                let expected = [state::FREE, state::POSTED];
                assert_eq!(state, expected[usize::from(left.contains(&receive))]);
            }
            // The chain ends with the last posted receive.
            post(&bin, &receives, RECEIVES);
            let end = [RECEIVES];
            assert_eq!(chain(&bin, &receives), [left.as_slice(), &end].concat());
        }
    }

    /// An eager remover panics if the lock's holder has died.
    #[test]
    #[cfg(feature = "std")]
    #[should_panic(expected = "another worker panicked")]
    fn a_dead_holder_of_the_lock_is_not_waited_for() {
        let (bin, receives) = (Bin::empty(), table(1));
        let block = Block::new(2, 2, crate::Barrier::Lanes, crate::Domains::Paper);
        post(&bin, &receives, 0);
        bin.lock.store(1, Relaxed);
        block.break_down();
        bin.try_unlink(
            &receives,
            ReceiveId(0),
            &ReceiveId::NIL,
            Removal::Eager,
            &block,
        );
    }
}
