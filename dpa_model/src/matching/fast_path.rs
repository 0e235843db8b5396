//! The fast path: take the receive one's number further in the sequence, without waiting (O16, O17,
//! S8, S9, S25).

use crate::FastPath;
use crate::block::Claim;
use crate::descriptor::{Descriptor, NIL};
use crate::sync::Relaxed;

/// The handlers of one communicator in a block, seen from the lowest up (S25: the shift counts only
/// these).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    comm: u32,
    /// Handlers so far.
    count: u64,
    /// Label, sequence and receive of the lowest handler's candidate.
    label: u64,
    sequence: u32,
    receive: u32,
    /// All candidates so far have that sequence (form c).
    same_sequence: bool,
    /// All candidates so far are that receive (form b).
    same_receive: bool,
    /// Where the last fast-path walk ended: the next one goes on from there.
    cursor: u32,
}

impl Group {
    pub(crate) const EMPTY: Self = Self {
        comm: NIL,
        count: 0,
        label: 0,
        sequence: 0,
        receive: NIL,
        same_sequence: false,
        same_receive: false,
        cursor: NIL,
    };

    /// A group without handlers yet, of which `claim` will be the lowest.
    #[inline(always)]
    pub(crate) fn led_by(claim: &Claim) -> Self {
        let has_candidate = claim.receive != NIL;
        Self {
            comm: claim.comm,
            count: 0,
            label: claim.label,
            sequence: claim.sequence,
            receive: claim.receive,
            same_sequence: has_candidate,
            same_receive: has_candidate,
            cursor: claim.receive,
        }
    }

    /// Adds the next handler of this communicator.
    #[inline(always)]
    pub(crate) fn add(&mut self, claim: &Claim) {
        let has_candidate = claim.receive != NIL;
        self.count += 1;
        self.same_sequence &= has_candidate && claim.sequence == self.sequence;
        self.same_receive &= has_candidate && claim.receive == self.receive;
    }
}

/// Why a handler in conflict may not take the fast path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// Not all that the form asks for chose alike.
    Mixed,
    /// The receive further on belongs to another sequence.
    SequenceEnded,
    /// The chain ends before.
    Exhausted,
}

/// The groups of a block; at most one per handler.
#[derive(Debug)]
pub(crate) struct Groups {
    groups: [Group; crate::HANDLERS_MAX],
    used: usize,
}

impl Groups {
    pub(crate) fn new() -> Self {
        Self { groups: [Group::EMPTY; crate::HANDLERS_MAX], used: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }

    /// Adds the next handler's claim, in handler order; returns its group.
    #[inline]
    pub(crate) fn add(&mut self, claim: &Claim) -> &mut Group {
        let found = self.groups[..self.used]
            .iter()
            .position(|group| group.comm == claim.comm || fault!(FastCountsAllCommunicators));
        let place = found.unwrap_or_else(|| {
            self.used += 1;
            self.groups[self.used - 1] = Group::led_by(claim);
            self.used - 1
        });
        let group = &mut self.groups[place];
        group.add(claim);
        group
    }
}

/// The receive that the handler just added to `group` may take at once. `all_booked` says whether
/// every handler of a full block booked this handler's candidate (form a).
#[inline(always)]
pub(crate) fn target(
    form: FastPath,
    group: &mut Group,
    claim: &Claim,
    receives: &[Descriptor],
    all_booked: impl FnOnce() -> bool,
) -> Result<u32, Refusal> {
    let allowed = match form {
        FastPath::Off => false,
        FastPath::Literal => group.same_receive && (fault!(FastLiteralUnbooked) || all_booked()),
        FastPath::Prefix => group.same_receive,
        FastPath::Sequence => group.same_sequence || fault!(FastByAny),
    };
    if !allowed {
        return Err(Refusal::Mixed);
    }
    let wanted = group.label + (group.count - 1) + u64::from(fault!(FastOffByOne));
    let mut current = group.cursor;
    #[cfg(any(dpamatch_loom, dpamatch_shuttle))]
    if fault!(FastByHops) {
        return hops(group, receives);
    }
    // Labels, not hops: consumed receives may have left the chain meanwhile (S9). B2 keeps the walk
    // whole.
    while current != NIL {
        charge!(visit(current));
        let descriptor = &receives[current as usize];
        // SAFETY: inside a block (D1).
        let posted = unsafe { descriptor.posted.peek() };
        if (posted.sequence != claim.sequence && !fault!(FastIgnoresSequence))
            || posted.label > wanted
        {
            return Err(Refusal::SequenceEnded);
        }
        if posted.label == wanted {
            group.cursor = current;
            return Ok(current);
        }
        current = descriptor.next.load(Relaxed);
    }
    Err(Refusal::Exhausted)
}

/// The fault [`FastByHops`](crate::fault): as many steps along the chain as the shift says.
#[cfg(any(dpamatch_loom, dpamatch_shuttle))]
fn hops(group: &Group, receives: &[Descriptor]) -> Result<u32, Refusal> {
    let mut current = group.receive;
    for _ in 1..group.count {
        current = receives[current as usize].next.load(Relaxed);
        if current == NIL {
            return Err(Refusal::Exhausted);
        }
    }
    Ok(current)
}
