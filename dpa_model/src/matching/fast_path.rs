//! The fast path: take the receive one's number further in the sequence, without waiting (O16, O17,
//! S8, S9, S25).

use super::slice::Slice;
use crate::descriptor::Posted;
use crate::number::{Label, ReceiveId, RunPlace, Sequence, unchecked};
use crate::shared::Shared;
use crate::sync::Counter;
use crate::{CommId, FastPath};

/// The handlers up to one that may take receives of one chain: those of a communicator (S25), or of
/// a conflict domain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    comm: CommId,
    /// Handlers below it were examined.
    seen: usize,
    /// Handlers of the group among them.
    count: usize,
    /// Place and receive of the lowest handler's candidate.
    sequence: Sequence,
    receive: ReceiveId,
    /// Whether all candidates so far are of its sequence (form c).
    one_sequence: bool,
    /// Whether all candidates so far are its receive (form b).
    one_receive: bool,
    /// Successor of the receive that the last fast path took, where the next walk continues.
    cursor: ReceiveId,
}

impl Group {
    /// The group of a communicator's handlers, still empty.
    pub(super) fn new(comm: CommId) -> Self {
        Self {
            comm,
            seen: 0,
            count: 0,
            sequence: Sequence {
                run: RunPlace::EMPTY,
                label: Label(0),
            },
            receive: ReceiveId::NIL,
            one_sequence: false,
            one_receive: false,
            cursor: ReceiveId::NIL,
        }
    }

    /// Whether this is the candidate of the lowest handler, hence of this communicator and
    /// sequence.
    #[inline]
    fn begins_with(&self, candidate: ReceiveId) -> bool {
        candidate == self.receive && candidate != ReceiveId::NIL
    }

    /// Adds the next handler: keeps what its candidate has in common with all before it.
    #[inline]
    fn add(&mut self, candidate: ReceiveId, sequence: Sequence) {
        if self.count == 0 && candidate != ReceiveId::NIL {
            (self.sequence, self.receive, self.cursor) = (sequence, candidate, candidate);
            (self.one_sequence, self.one_receive) = (true, true);
        }
        self.one_sequence &=
            candidate != ReceiveId::NIL && sequence.is_same_sequence(self.sequence);
        self.one_receive &= self.one_sequence && candidate == self.receive;
        self.count += 1;
    }

    /// Extends the group to this handler: examines the candidates of all lower ones that it has not
    /// examined before.
    #[inline(never)]
    pub(super) fn extend_to(&mut self, slice: &Slice<'_>, handler: usize) {
        if slice.nic.options.fast_path == FastPath::Off {
            return;
        }
        let comm = slice.entry(handler).envelope.comm;
        if comm != self.comm {
            *self = Self::new(comm);
        }
        for other in self.seen..=handler {
            // SAFETY: phase 1 of the slice that runs it was seen, or it is this worker's own.
            let candidate = unsafe { slice.nic.block.candidate(other) };
            if self.begins_with(candidate) {
                self.count += 1;
                continue;
            }
            let comm = (other == handler).then_some(self.comm);
            let (comm, sequence) = slice.claim(other, comm, candidate);
            if comm == self.comm || fault!(FastCountsAllCommunicators) {
                self.add(candidate, sequence);
            }
        }
        self.seen = handler + 1;
    }

    /// Whether the form of the fast path lets a handler with this candidate, the last one added,
    /// take it.
    #[inline]
    fn allows(&self, slice: &Slice<'_>, candidate: ReceiveId) -> bool {
        let nic = slice.nic;
        match nic.options.fast_path {
            FastPath::Off => false,
            FastPath::Literal => {
                let all_booked = || {
                    slice.block.count == nic.handlers
                        && nic.bookings().all_below(candidate, nic.handlers)
                };
                self.one_receive && (fault!(FastLiteralUnbooked) || all_booked())
            }
            FastPath::Prefix => self.one_receive,
            FastPath::Sequence => self.one_sequence || fault!(FastByAny),
        }
    }

    /// The receive that a handler takes: as many labels further as there are lower handlers, which
    /// is the `shift`.
    #[inline]
    fn walk(&mut self, slice: &Slice<'_>, handler: usize, shift: usize) -> Option<ReceiveId> {
        let counters = &slice.nic.handler_counters[handler];
        let wanted = self
            .sequence
            .plus(shift as u64 + u64::from(fault!(FastOffByOne)));
        let by_hops = fault!(FastByHops);
        let mut current = if by_hops { self.receive } else { self.cursor };
        let mut hops = shift;
        // Labels, not hops: consumed receives may have left the chain meanwhile (S9). B2 keeps the
        // walk whole.
        while current != ReceiveId::NIL {
            step!(Visited { receive: current.0 });
            // SAFETY: a search found it, or it follows in a chain.
            let descriptor = unsafe { unchecked(&slice.nic.receives, current) };
            // SAFETY: inside a block (D1).
            let posted = unsafe { descriptor.posted.peek() };
            let ignored = fault!(FastIgnoresSequence);
            let next = descriptor.next.get();
            let at_place = match by_hops {
                true => hops == 0,
                false => posted.run == wanted.run || ignored && posted.label == wanted.label,
            };
            if at_place {
                // Behind a gap in the labels begins another sequence of the run.
                if posted.label != wanted.label && !by_hops {
                    return refuse(&counters.refused_sequence);
                }
                self.cursor = next;
                return Some(current);
            }
            if posted.run > wanted.run && !(by_hops || ignored) {
                return refuse(&counters.refused_sequence);
            }
            hops = hops.wrapping_sub(1);
            current = next;
        }
        refuse(&counters.refused_exhausted)
    }
}

/// Counts why a handler in conflict may not take the fast path.
#[inline]
fn refuse(counter: &Counter) -> Option<ReceiveId> {
    counter.add(1);
    None
}

/// The receive of a handler that must resolve by the rule of the block; `None` if it may not take
/// the fast path. `group`: the one up to this handler.
#[inline(never)]
pub(super) fn choose_in_block(
    slice: &Slice<'_>,
    handler: usize,
    group: &mut Group,
) -> Option<ReceiveId> {
    let nic = slice.nic;
    if nic.options.fast_path == FastPath::Off {
        return None;
    }
    let counters = &nic.handler_counters[handler];
    // SAFETY: this worker runs the handler, and has published its candidate.
    let candidate = unsafe { nic.block.candidate(handler) };
    if !group.begins_with(candidate) {
        // The profiles of `predict` are calibrated with this second read.
        slice.claim(handler, None, candidate);
    }
    step!(FastPathTried);
    if !group.allows(slice, candidate) {
        return refuse(&counters.refused_mixed);
    }
    group.walk(slice, handler, group.count - 1)
}

/// The receive of a handler in conflict; `None` if it may not take the fast path. `candidates`:
/// those of its domain up to its own, by rank.
pub(super) fn choose_in_domain(
    slice: &Slice<'_>,
    handler: usize,
    candidates: &[ReceiveId],
) -> Option<ReceiveId> {
    let nic = slice.nic;
    if nic.options.fast_path == FastPath::Off {
        return None;
    }
    let counters = &nic.handler_counters[handler];
    // The communicator is of no use here: equal sequences of one bin have the same.
    let comm = CommId(u32::MAX);
    let mut group = Group::new(comm);
    for &candidate in candidates {
        if !group.begins_with(candidate) {
            let (_, sequence) = slice.claim(handler, Some(comm), candidate);
            group.add(candidate, sequence);
            let is_in_other_bin = || {
                nic.bin_of(candidate) != nic.bin_of(group.receive)
                    && !fault!(DomainsOfAllCommunicators)
            };
            if group.one_sequence && !group.one_receive && is_in_other_bin() {
                group.one_sequence = false;
            }
        }
        if !group.one_sequence && !fault!(FastByAny) {
            return refuse(&counters.refused_mixed);
        }
    }
    let rank = candidates.len() - 1;
    if !group.allows(slice, candidates[rank]) {
        return refuse(&counters.refused_mixed);
    }
    step!(FastPathTried);
    let shift = if fault!(DomainRankInBlock) {
        handler
    } else {
        rank
    };
    group.walk(slice, handler, shift)
}

/// The receive `shift` places behind `first` in its run, and behind or at `own`, the handler's
/// candidate; `None` if the run ends before it.
pub(super) fn choose_in_run(
    nic: &Shared,
    handler: usize,
    own: ReceiveId,
    first: ReceiveId,
    shift: usize,
) -> Option<ReceiveId> {
    let counters = &nic.handler_counters[handler];
    step!(FastPathTried);
    // What a handler finds, all lower handlers of its domain find, too: they take nothing before.
    debug_assert!(
        first != ReceiveId::NIL,
        "a lower handler of the domain has no candidate"
    );
    step!(ClaimRead {
        message: None,
        receive: first.found()
    });
    // SAFETY: inside a block (D1).
    let Posted { run, bin, .. } = *unsafe { nic.receives[first].posted.peek() };
    let wanted = run.plus(shift as u64 + u64::from(fault!(FastOffByOne)));
    let by_hops = fault!(DomainRunByHops);
    let (mut current, mut hops) = (if by_hops { first } else { own }, shift);
    let mut is_gap = true;
    // Places, not hops: consumed receives may have left the chain meanwhile. B2 keeps the walk
    // whole.
    while current != ReceiveId::NIL {
        step!(Visited { receive: current.0 });
        // SAFETY: a search found it, or it follows in a chain.
        let descriptor = unsafe { unchecked(&nic.receives, current) };
        // SAFETY: inside a block (D1).
        let place = unsafe { descriptor.posted.peek() }.run;
        if if by_hops { hops == 0 } else { place >= wanted } {
            let is_of_run = by_hops || place.is_same_run(wanted);
            debug_assert!(
                !is_of_run || by_hops || place == wanted,
                "a place is missing"
            );
            return if is_of_run {
                Some(current)
            } else {
                refuse(&counters.refused_sequence)
            };
        }
        // Receives that were posted consecutively often have consecutive numbers.
        if is_gap && !by_hops {
            let ahead = ReceiveId(current.0.wrapping_add(wanted.behind(place)));
            if let Some(guess) = nic.receives.get(ahead.index()) {
                step!(Visited { receive: ahead.0 });
                // SAFETY: inside a block (D1).
                let posted = unsafe { guess.posted.peek() };
                if posted.run == wanted && posted.bin == bin && guess.is_posted() {
                    return Some(ahead);
                }
            }
        }
        hops = hops.wrapping_sub(1);
        let next = descriptor.next.get();
        is_gap = next.0 != current.0.wrapping_add(1);
        current = next;
    }
    refuse(&counters.refused_exhausted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last handler of a group finds its own receive by the group's length.
    #[test]
    fn a_group_counts_all_its_handlers() {
        let (of, sequence) = (ReceiveId, Sequence::default());
        let mut group = Group::new(CommId(1));
        group.add(of(5), sequence);
        assert!(group.begins_with(of(5)) && !group.begins_with(of(6)));
        group.add(of(5), sequence);
        assert_eq!((group.count, group.one_sequence), (2, true));
        assert!(group.one_receive);
        group.add(of(6), sequence);
        assert_eq!((group.count, group.one_sequence), (3, true));
        assert!(!group.one_receive);
        group.add(ReceiveId::NIL, sequence);
        assert_eq!((group.count, group.one_sequence), (4, false));
        let mut group = Group::new(CommId(1));
        group.add(ReceiveId::NIL, sequence);
        group.add(of(5), sequence);
        assert_eq!((group.count, group.one_sequence), (2, false));
    }
}
