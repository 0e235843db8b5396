//! What optimistic matching does with the messages, for any number of handlers, without running it.
//!
//! A block is up to N messages between two commands (O1, S12). A handler's candidate is the
//! earliest posted receive that accepts its message as things stand when the block begins: the one
//! that it really gets, or one that a lower handler of the block takes before. So all candidates
//! follow from the right result, and from these who is clean, fast or slow.

use std::collections::{BTreeSet, HashMap};

use crate::analyze::fast_hash;
use crate::analyze::program::UNKNOWN;
use crate::analyze::replay::RankView;

/// What the handlers of all blocks did; names as in the NIC's own counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct BlockStats {
    /// Handlers of a block, N.
    pub handlers: u32,
    /// Blocks.
    pub blocks: u64,
    /// Of these, with a conflict.
    pub conflict_blocks: u64,
    /// Messages.
    pub messages: u64,
    /// Took their candidate without conflict.
    pub clean: u64,
    /// Took the fast path.
    pub fast: u64,
    /// Took the slow path.
    pub slow: u64,
    /// Of these, kept their candidate: forced by a lower conflict.
    pub forced: u64,
    /// Found no receive.
    pub unexpected: u64,
    /// Fast path refused: lower handlers chose receives of other sequences, or none.
    pub refused_mixed: u64,
    /// Fast path refused: the sequence ends before.
    pub refused_end: u64,
}

impl BlockStats {
    /// Adds another rank's.
    pub fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.conflict_blocks += other.conflict_blocks;
        self.messages += other.messages;
        self.clean += other.clean;
        self.fast += other.fast;
        self.slow += other.slow;
        self.forced += other.forced;
        self.unexpected += other.unexpected;
        self.refused_mixed += other.refused_mixed;
        self.refused_end += other.refused_end;
    }
}

/// Labels and sequences of one communicator (S10, S11).
#[derive(Debug, Default)]
struct Labels {
    next: u32,
    began: u32,
    last: Option<(i32, i32)>,
    /// Sequence of each label (O9), as the label with which it began.
    began_of: Vec<u32>,
    /// Labels after a cancelled one, with which a sequence begins anew.
    splits: BTreeSet<u32>,
}

impl Labels {
    /// The label of a receive that enters the posted queue (O8).
    fn give(&mut self, selector: (i32, i32)) -> u32 {
        let label = self.next;
        if self.last != Some(selector) {
            self.began = label;
            self.last = Some(selector);
        }
        self.next += 1;
        self.began_of.push(self.began);
        label
    }

    fn cancel(&mut self, label: u32) {
        self.splits.insert(label + 1);
        self.last = None;
    }

    /// Whether both labels, the first not above the second, are of one sequence.
    fn same_sequence(&self, first: u32, second: u32) -> bool {
        self.began_of.get(first as usize) == self.began_of.get(second as usize)
            && (first == second
                || self.splits.is_empty()
                || self.splits.range(first + 1..=second).next().is_none())
    }
}

/// A message of the run that is on, and its receive.
#[derive(Clone, Copy, Debug)]
struct Matched {
    message: u32,
    receive: u32,
}

/// Handlers of one communicator in a block, from the lowest up (S25).
#[derive(Clone, Copy, Debug)]
struct Group {
    comm: u32,
    count: u32,
    label: u32,
    alike: bool,
}

/// Follows one rank.
#[derive(Debug)]
pub(crate) struct Blocks<'a> {
    view: RankView<'a>,
    stats: Vec<BlockStats>,
    /// Labels of receives, by transfer.
    given: Vec<u32>,
    labels: HashMap<u32, Labels, fast_hash::Build>,
    run: Vec<Matched>,
    groups: Vec<Group>,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(view: RankView<'a>, handlers: &[u32]) -> Self {
        let stats = |&handlers: &u32| BlockStats { handlers, ..BlockStats::default() };
        let given = if handlers.is_empty() { 0 } else { view.program.transfers.len() };
        Self {
            view,
            stats: handlers.iter().map(stats).collect(),
            given: vec![0; given],
            labels: HashMap::default(),
            run: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// The host gave a command that concerns the communicator: no block goes across it.
    #[inline]
    pub(crate) fn command(&mut self, comm: u32) {
        if self.stats.is_empty() {
            return;
        }
        if !self.run.is_empty() {
            self.flush();
        }
        self.labels.entry(comm).or_default();
    }

    /// A receive joined the posted queue.
    #[inline]
    pub(crate) fn posted(&mut self, receive: u32, comm: u32) {
        if self.stats.is_empty() {
            return;
        }
        let transfer = &self.view.program.transfers[receive as usize];
        let label = self.labels.entry(comm).or_default().give((transfer.peer, transfer.tag));
        self.given[receive as usize] = label;
    }

    /// A posted receive was cancelled.
    pub(crate) fn cancelled(&mut self, receive: u32, comm: u32) {
        if !self.stats.is_empty() {
            let label = self.given[receive as usize];
            self.labels.entry(comm).or_default().cancel(label);
        }
    }

    /// A message arrived and got this receive, or none.
    #[inline]
    pub(crate) fn arrived(&mut self, message: u32, receive: u32) {
        if self.stats.is_empty() {
            return;
        }
        let comm = self.view.inbound[message as usize].comm;
        // The host makes a communicator on the NIC when it is first used: a command.
        if let std::collections::hash_map::Entry::Vacant(place) = self.labels.entry(comm) {
            place.insert(Labels::default());
            self.flush();
        }
        self.run.push(Matched { message, receive });
    }

    pub(crate) fn finish(mut self) -> Vec<BlockStats> {
        self.flush();
        self.stats
    }

    fn flush(&mut self) {
        let run = std::mem::take(&mut self.run);
        for at in 0..self.stats.len() {
            let handlers = self.stats[at].handlers.max(1) as usize;
            for block in run.chunks(handlers) {
                self.block(at, block);
            }
        }
        self.run = run;
        self.run.clear();
    }

    /// The earliest receive that accepts the handler's message when the block begins, by label.
    fn candidate(&self, block: &[Matched], handler: usize) -> Option<u32> {
        let Matched { message, receive } = block[handler];
        let inbound = &self.view.inbound[message as usize];
        let label = |receive: u32| self.given[receive as usize];
        let own = (receive != UNKNOWN).then(|| label(receive));
        let taken_before = block[..handler].iter().filter(|lower| {
            lower.receive != UNKNOWN
                && self.view.inbound[lower.message as usize].comm == inbound.comm
                && self.view.program.transfers[lower.receive as usize]
                    .accepts(inbound.source, inbound.tag)
        });
        taken_before.map(|lower| label(lower.receive)).chain(own).min()
    }

    fn block(&mut self, at: usize, block: &[Matched]) {
        let mut counts = self.stats[at];
        counts.blocks += 1;
        counts.messages += block.len() as u64;
        self.groups.clear();
        let mut conflict = false;
        for handler in 0..block.len() {
            let Matched { message, receive } = block[handler];
            counts.unexpected += u64::from(receive == UNKNOWN);
            let comm = self.view.inbound[message as usize].comm;
            let candidate = self.candidate(block, handler);
            let own = (receive != UNKNOWN).then(|| self.given[receive as usize]);
            // Up to the first conflict everybody gets its candidate: who does not has met the
            // conflict (S4).
            conflict |= candidate != own;
            let (count, first, alike) = self.join(comm, candidate);
            let Some(_) = candidate else { continue };
            if !conflict {
                counts.clean += 1;
                continue;
            }
            let wanted = first + (count - 1);
            let labels = &self.labels[&comm];
            let fast = alike && wanted < labels.next && labels.same_sequence(first, wanted);
            if fast {
                counts.fast += 1;
                debug_assert_eq!(own, Some(wanted), "the fast path leads to the right receive");
            } else {
                counts.slow += 1;
                counts.forced += u64::from(candidate == own);
                counts.refused_mixed += u64::from(!alike);
                counts.refused_end += u64::from(alike);
            }
        }
        counts.conflict_blocks += u64::from(conflict);
        self.stats[at] = counts;
    }

    /// Adds a handler to its communicator's group: handlers there so far, label of the lowest one's
    /// candidate, and whether all candidates are of one sequence (form c of S8).
    fn join(&mut self, comm: u32, candidate: Option<u32>) -> (u32, u32, bool) {
        let place = match self.groups.iter().position(|group| group.comm == comm) {
            Some(place) => place,
            None => {
                let label = candidate.unwrap_or(0);
                self.groups.push(Group { comm, count: 0, label, alike: candidate.is_some() });
                self.groups.len() - 1
            }
        };
        let group = &mut self.groups[place];
        group.count += 1;
        group.alike = group.alike
            && candidate.is_some_and(|label| {
                let (first, second) = (group.label.min(label), group.label.max(label));
                self.labels[&comm].same_sequence(first, second)
            });
        (group.count, group.label, group.alike)
    }
}
