//! The four indexes of optimistic matching (O5), for receives and for messages: hash tables of
//! chains for receives without wildcard (I0), with any source (I1), with any tag (I2) and with both
//! (I3).
//!
//! A receive is in the index of its class, and an arrival takes the lowest label of up to four
//! candidates (O8). A post searches the index of its class for messages, so a message could stand
//! in all four (O22). It is in I0 only, until the first receive or probe of a wildcard class
//! comes: then all messages are linked in the index of that class, and later ones on arrival. Many
//! programs never use wildcards, and each chain costs a message one cache line on arrival and one
//! on departure.
//!
//! The communicator is in every key, so that the tables can serve one communicator or all of them.
//! They have a fixed number of bins, or double when they hold half as many entries as bins
//! ([`Growth`]). A search in the worst order then makes 1.25 compares on average, and the processor
//! predicts its end more often than with full tables.

use dpamatch_vocabulary::{Envelope, WildcardClass};

use super::BinCount;
use super::chain::{Chain, Slab};
use super::entry::Pattern;
use super::hash::{bin_of, key_hash, selector_hash};
use super::indexed::{Entries, Steps};

/// Maximum number of bins of a table that doubles: the greatest power of two in the type of bins'
/// numbers. A slab of nodes is full before.
const BINS_MAX: u32 = 1 << 31;

/// The size rule of the tables, and counts of their growth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    /// Bins of a table with its first entry.
    least: u32,
    /// Bins above which a table does not grow.
    most: u32,
    /// Bins of I3, which does not grow: only the communicator is in its keys.
    both: u32,
    pub(super) bytes: usize,
    /// Tables that doubled.
    pub(super) doublings: u64,
}

impl Growth {
    /// Tables with a fixed number of bins, shared by all communicators.
    pub(super) const fn fixed(bins: BinCount) -> Self {
        Self {
            least: bins.get(),
            most: bins.get(),
            both: bins.get(),
            bytes: 0,
            doublings: 0,
        }
    }

    /// Tables that double from `least` bins on. Tables of I3 have `both` bins: 1 if they serve one
    /// communicator.
    pub(super) const fn doubling(least: u32, both: u32) -> Self {
        Self {
            least,
            most: BINS_MAX,
            both,
            bytes: 0,
            doublings: 0,
        }
    }

    /// Minimum and maximum number of bins of a class.
    #[inline]
    const fn range(&self, class: WildcardClass) -> (u32, u32) {
        match class {
            WildcardClass::Any => (self.both, self.both),
            _ => (self.least, self.most),
        }
    }

    /// Upper bound on the bytes of the tables of [`FourIndexes`], for the maximum number of
    /// receives and messages at a time.
    pub(super) fn bytes_bound(&self, posted: u64, unexpected: u64) -> u64 {
        let bins = |entries: u64| match entries {
            0 => 0,
            _ => {
                3 * (4 * entries).clamp(self.least.into(), self.most.into()) + u64::from(self.both)
            }
        };
        (bins(posted) + bins(unexpected)) * size_of::<Chain>() as u64
    }
}

#[inline]
fn hash_of_envelope(class: WildcardClass, envelope: &Envelope) -> u32 {
    let (source, tag) = (envelope.source.get(), envelope.tag.get());
    match class {
        WildcardClass::Exact => key_hash(envelope.comm.0, source, tag),
        WildcardClass::AnySource => key_hash(envelope.comm.0, 0, tag),
        WildcardClass::AnyTag => key_hash(envelope.comm.0, source, 0),
        WildcardClass::Any => key_hash(envelope.comm.0, 0, 0),
    }
}

/// One index of one queue: chains by hash, none before its first entry.
#[derive(Clone, Debug, Default)]
struct Table {
    bins: Vec<Chain>,
    entries: u32,
}

impl Table {
    #[inline]
    fn chain(&self, hash: u32) -> Chain {
        self.bins
            .get(bin_of(hash, self.bins.len() as u32))
            .copied()
            .unwrap_or(Chain::EMPTY)
    }

    /// The chain of a hash, mutable; the table has bins. A table of one bin, as I3 of one
    /// communicator, needs no hash.
    #[inline]
    fn chain_mut(&mut self, hash: impl FnOnce() -> u32) -> &mut Chain {
        let bin = match self.bins.len() as u32 {
            1 => 0,
            bins => bin_of(hash(), bins),
        };
        &mut self.bins[bin]
    }

    fn bytes(&self) -> usize {
        self.bins.capacity() * size_of::<Chain>()
    }

    /// Links an entry, and grows the table if necessary. Returns whether the bin was in use.
    #[inline]
    fn link<T: Copy, const LANES: usize>(
        &mut self,
        growth: &mut Growth,
        class: WildcardClass,
        slab: &mut Slab<T, LANES>,
        lane: usize,
        hash: impl Fn(&T) -> u32,
        at: u32,
    ) -> bool {
        if 2 * self.entries as usize >= self.bins.len()
            && self.bins.len() < growth.range(class).1 as usize
        {
            self.grow(growth, class, slab, lane, &hash);
        }
        self.entries += 1;
        slab.push_back(self.chain_mut(|| hash(slab.get(at))), lane, at)
    }

    #[inline]
    fn unlink<T: Copy, const LANES: usize>(
        &mut self,
        slab: &mut Slab<T, LANES>,
        lane: usize,
        hash: impl FnOnce() -> u32,
        at: u32,
    ) {
        self.entries -= 1;
        slab.unlink(self.chain_mut(hash), lane, at);
    }

    /// Makes the first bins, or doubles them. Bin b becomes bins 2b and 2b + 1. A chain is split
    /// from its front, so labels and arrival numbers still rise along each chain.
    #[cold]
    fn grow<T: Copy, const LANES: usize>(
        &mut self,
        growth: &mut Growth,
        class: WildcardClass,
        slab: &mut Slab<T, LANES>,
        lane: usize,
        hash: &impl Fn(&T) -> u32,
    ) {
        growth.bytes -= self.bytes();
        growth.doublings += u64::from(!self.bins.is_empty());
        let (least, most) = growth.range(class);
        let bins = (self.bins.len() * 2).clamp(least as usize, most as usize);
        for mut old in std::mem::replace(&mut self.bins, vec![Chain::EMPTY; bins]) {
            while let Some(at) = slab.pop_front(&mut old, lane) {
                let hash = hash(slab.get(at));
                slab.push_back(self.chain_mut(|| hash), lane, at);
            }
        }
        growth.bytes += self.bytes();
    }
}

/// The four indexes of each queue.
#[derive(Clone, Debug, Default)]
pub struct FourIndexes {
    posted: [Table; 4],
    unexpected: [Table; 4],
    /// Classes whose indexes hold messages because a receive or probe of the class came. The class
    /// without wildcards always holds them.
    asked: [bool; 4],
}

impl FourIndexes {
    /// Empty indexes, which hold messages for every class if `eager`.
    pub(super) fn new(eager: bool) -> Self {
        Self {
            asked: [eager; 4],
            ..Self::default()
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.posted
            .iter()
            .chain(&self.unexpected)
            .map(Table::bytes)
            .sum()
    }

    /// The earliest receive that accepts the message: the lowest label of four candidates (O8).
    #[inline]
    pub(super) fn earliest(
        &self,
        entries: &Entries<1, 4>,
        envelope: &Envelope,
        steps: &mut Steps,
    ) -> Option<u32> {
        let mut best = None;
        let mut label = u64::MAX;
        for class in WildcardClass::ALL {
            let table = &self.posted[class as usize];
            if table.entries == 0 {
                continue;
            }
            let chain = table.chain(hash_of_envelope(class, envelope));
            if let Some(at) = entries.first_accepting(chain, 0, label, envelope, steps) {
                label = entries.posted.get(at).label;
                best = Some(at);
            }
        }
        best
    }

    /// The oldest message that fits: the first in the chain of the selector's class.
    #[inline]
    pub(super) fn oldest(
        &mut self,
        growth: &mut Growth,
        entries: &mut Entries<1, 4>,
        wanted: Pattern,
        steps: &mut Steps,
    ) -> Option<u32> {
        if self.unexpected[WildcardClass::Exact as usize].entries == 0 {
            return None;
        }
        let class = wanted.selector.class();
        if !self.messages_stand_in(class) {
            self.link_all(growth, entries, class);
        }
        let chain =
            self.unexpected[class as usize].chain(selector_hash(wanted.comm.0, wanted.selector));
        entries.first_fitting(chain, class as usize, u64::MAX, wanted, steps)
    }

    /// Whether the index of a class holds the messages.
    #[inline]
    const fn messages_stand_in(&self, class: WildcardClass) -> bool {
        matches!(class, WildcardClass::Exact) || self.asked[class as usize]
    }

    /// Links all messages in the index of a class, in arrival order; from now on every message is
    /// linked there. Takes O(n log n) for n messages, once.
    #[cold]
    fn link_all(&mut self, growth: &mut Growth, entries: &mut Entries<1, 4>, class: WildcardClass) {
        self.asked[class as usize] = true;
        let full_keys = WildcardClass::Exact as usize;
        let mut messages = Vec::with_capacity(self.unexpected[full_keys].entries as usize);
        for bin in &self.unexpected[full_keys].bins {
            let after = |&at: &u32| entries.unexpected.after(at, full_keys);
            messages.extend(std::iter::successors(bin.first(), after));
        }
        messages.sort_unstable_by_key(|&at| entries.unexpected.get(at).arrival);
        for at in messages {
            self.link_message(growth, entries, class, at);
        }
    }

    /// Returns whether the bin was in use.
    #[inline]
    fn link_message(
        &mut self,
        growth: &mut Growth,
        entries: &mut Entries<1, 4>,
        class: WildcardClass,
        at: u32,
    ) -> bool {
        let table = &mut self.unexpected[class as usize];
        let (slab, lane) = (&mut entries.unexpected, class as usize);
        match class {
            WildcardClass::Exact => {
                table.link(growth, class, slab, lane, |message| message.home, at)
            }
            _ => table.link(
                growth,
                class,
                slab,
                lane,
                |message| hash_of_envelope(class, &message.envelope),
                at,
            ),
        }
    }

    /// Links a receive. Returns whether its bin was in use; always `false` for I3, which is a list.
    #[inline]
    pub(super) fn link_posted(
        &mut self,
        growth: &mut Growth,
        entries: &mut Entries<1, 4>,
        at: u32,
    ) -> bool {
        let posted = entries.posted.get_mut(at);
        let class = posted.selector.class();
        posted.home = selector_hash(posted.comm.0, posted.selector);
        let table = &mut self.posted[class as usize];
        let collided = table.link(
            growth,
            class,
            &mut entries.posted,
            0,
            |posted| posted.home,
            at,
        );
        collided && class != WildcardClass::Any
    }

    #[inline]
    pub(super) fn unlink_posted(&mut self, entries: &mut Entries<1, 4>, at: u32) {
        let posted = entries.posted.get(at);
        let hash = posted.home;
        self.posted[posted.selector.class() as usize].unlink(&mut entries.posted, 0, || hash, at);
    }

    /// Links a message. Returns whether the bin of its full key was in use.
    #[inline]
    pub(super) fn link_unexpected(
        &mut self,
        growth: &mut Growth,
        entries: &mut Entries<1, 4>,
        at: u32,
    ) -> bool {
        let message = entries.unexpected.get_mut(at);
        message.home = hash_of_envelope(WildcardClass::Exact, &message.envelope);
        for class in [
            WildcardClass::AnySource,
            WildcardClass::AnyTag,
            WildcardClass::Any,
        ] {
            if self.messages_stand_in(class) {
                self.link_message(growth, entries, class, at);
            }
        }
        self.link_message(growth, entries, WildcardClass::Exact, at)
    }

    #[inline]
    pub(super) fn unlink_unexpected(&mut self, entries: &mut Entries<1, 4>, at: u32) {
        let message = entries.unexpected.get(at);
        let (full, envelope) = (message.home, message.envelope);
        for class in WildcardClass::ALL {
            if !self.messages_stand_in(class) {
                continue;
            }
            let hash = || match class {
                WildcardClass::Exact => full,
                _ => hash_of_envelope(class, &envelope),
            };
            self.unexpected[class as usize].unlink(
                &mut entries.unexpected,
                class as usize,
                hash,
                at,
            );
        }
    }
}
