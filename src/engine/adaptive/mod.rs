//! The engine that changes its structure with the load (Bayatpour, Subramoni, Chakraborty, Panda,
//! *Adaptive and Dynamic Design for MPI Tag Matching*, CLUSTER 2016; O3: "traditional, then bin or
//! rank"). This is an independent design of that idea.
//!
//! Every communicator starts as a list. After each window of searches four rules apply:
//!
//! 1. A list whose searches were long on average becomes a table: lists by source (*ranks*)
//!    if the job is no larger than the table would be and the entries spread over the sources, else
//!    hash *bins* by source and tag.
//! 2. Ranks whose searches are long, since one source has many entries, become bins.
//! 3. A table becomes a list when its queues were short for several windows and are short
//!    now.
//! 4. Nothing flaps: short enough for rule 3 is far below long for rule 1, and a change and its
//!    reversal take at least [`AdaptiveConfig::calm`] windows and one.
//!
//! Every entry is in the list of all entries of its queue, in posting or arrival order,
//! whatever the structure; a conversion walks that list and links each entry a second time, in its
//! table chain. So it keeps the order exactly, and the way back is to drop the table. Receives that
//! have no place in the table because of a wildcard share one chain, which competes by label; a
//! search of the UMQ that the table cannot answer walks the list of all.

mod window;

use dpamatch_vocabulary::{Envelope, Selector, SourceSel};
use window::Window;

use super::chain::{Chain, Head};
use super::entry::Pattern;
use super::hash::{bin_of, key_hash};
use super::indexed::{Entries, Index, Indexed, Steps};
use super::{BinCount, Counter, Load};

/// When the structure changes.
///
/// # Examples
/// ```
/// use dpamatch::CommId;
/// use dpamatch::engine::{AdaptiveConfig, AdaptiveEngine, Engine};
///
/// // Leaves the list after eight searches of more than four compares on average, for 256 ranks.
/// let eager = AdaptiveConfig { window: 8, long: 4, short: 1, ..AdaptiveConfig::default() };
/// let engine = AdaptiveEngine::new(eager, Some(256));
/// assert!(engine.is_empty(CommId(0)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdaptiveConfig {
    /// Bins of a table, and maximum number of ranks of one.
    pub bins: BinCount,
    /// Searches per window: after each window the engine applies the rules. At least 1.
    pub window: u32,
    /// A search is long above this many compares on average, empty queues not counted.
    pub long: u32,
    /// Queues are short up to this average length. Choose it well below `long`.
    pub short: u32,
    /// Consecutive windows with short queues after which a table becomes a list; at least 1.
    pub calm: u32,
}

impl Default for AdaptiveConfig {
    /// 256 bins, 64 searches, long above 16, short up to 4, calm after 4 windows.
    fn default() -> Self {
        Self {
            bins: BinCount::default(),
            window: 64,
            long: 16,
            short: 4,
            calm: 4,
        }
    }
}

/// The structure of one communicator's queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    List,
    /// Heads by source; sources without their own head share the last one.
    Ranks,
    /// Heads by hash of source and tag.
    Bins,
}

/// The lanes of an entry.
const ALL: usize = 0;
const TABLE: usize = 1;

/// A communicator's structure.
#[derive(Clone, Debug)]
pub struct Adapted {
    /// All receives in posting order, all messages in arrival order.
    all: Head,
    shape: Shape,
    heads: Vec<Head>,
    /// Receives without a place in the table.
    wild: Chain,
    /// Entries of both queues.
    posted: u32,
    messages: u32,
    /// Number of processes, if known.
    size: Option<u32>,
    /// One more than the greatest source seen.
    seen: u32,
    window: Window,
}

impl Adapted {
    /// Number of heads in a table by source: the known size, or one more than the greatest source
    /// seen.
    fn ranks(&self) -> u32 {
        self.size.unwrap_or(self.seen).max(1)
    }

    fn record_source(&mut self, source: u32) {
        self.seen = self.seen.max(source.saturating_add(1));
    }

    /// The table's place for a source and tag; `None` where a wildcard leaves it open, and in a
    /// list.
    #[inline]
    fn slot(&self, source: Option<u32>, tag: Option<u32>) -> Option<usize> {
        match self.shape {
            Shape::List => None,
            Shape::Ranks => Some((source? as usize).min(self.heads.len() - 1)),
            Shape::Bins => Some(bin_of(key_hash(0, source?, tag?), self.heads.len() as u32)),
        }
    }

    #[inline]
    fn slot_of(&self, selector: Selector) -> Option<usize> {
        self.slot(selector.source.number(), selector.tag.number())
    }

    #[inline]
    fn slot_of_envelope(&self, envelope: &Envelope) -> Option<usize> {
        self.slot(Some(envelope.source.get()), Some(envelope.tag.get()))
    }

    /// The chain of the table that holds a receive.
    #[inline]
    fn posted_chain(&mut self, selector: Selector) -> &mut Chain {
        match self.slot_of(selector) {
            Some(slot) => &mut self.heads[slot].posted,
            None => &mut self.wild,
        }
    }
}

/// The index: how communicators convert, and how often they did.
#[derive(Clone, Debug)]
pub struct Adaptive {
    config: AdaptiveConfig,
    /// Size of communicators without a known size.
    default_size: Option<u32>,
    /// Conversions by their result: list, ranks, bins.
    conversions: [u64; 3],
    bytes: usize,
}

/// The adaptive engine.
pub type AdaptiveEngine = Indexed<Adaptive, 2, 2>;

impl AdaptiveEngine {
    /// An engine with empty queues; `size` is the default number of processes in a communicator.
    pub fn new(config: AdaptiveConfig, size: Option<u32>) -> Self {
        Self::with_index(Adaptive {
            config,
            default_size: size,
            conversions: [0; 3],
            bytes: 0,
        })
    }
}

impl Adaptive {
    /// Changes the structure if the last window calls for it.
    #[inline]
    fn adapt(&mut self, entries: &mut Entries<2, 2>, comm: &mut Adapted) {
        if comm.window.is_full(&self.config)
            && let Some(shape) = self.decide(entries, comm)
        {
            self.convert(entries, comm, shape);
        }
    }

    /// Applies rules 1 to 3 and starts a new window.
    fn decide(&mut self, entries: &Entries<2, 2>, comm: &mut Adapted) -> Option<Shape> {
        let length_now = comm.posted + comm.messages;
        let window = &mut comm.window;
        let long = window.was_long(&self.config);
        let calm = window.is_calm(&self.config) && length_now <= self.config.long;
        window.begin();
        match comm.shape {
            Shape::List if long && self.ranks_suffice(entries, comm) => Some(Shape::Ranks),
            Shape::List | Shape::Ranks if long => Some(Shape::Bins),
            Shape::Ranks | Shape::Bins if calm => Some(Shape::List),
            _ => None,
        }
    }

    /// Whether lists by source take no more memory than bins and are short: the length of the list
    /// that an entry is in, averaged over the entries.
    fn ranks_suffice(&self, entries: &Entries<2, 2>, comm: &Adapted) -> bool {
        let ranks = comm.ranks();
        if ranks > self.config.bins.get() {
            return false;
        }
        let mut counts = vec![0_u64; ranks as usize + 1];
        sources(entries, comm).for_each(|source| counts[source.min(ranks) as usize] += 1);
        let total: u64 = counts.iter().sum();
        let squares: u64 = counts.iter().map(|count| count * count).sum();
        total > 0 && squares <= total * u64::from(self.config.long / 2)
    }

    fn convert(&mut self, entries: &mut Entries<2, 2>, comm: &mut Adapted, shape: Shape) {
        self.conversions[shape as usize] += 1;
        let heads = match shape {
            Shape::List => 0,
            Shape::Ranks => comm.ranks() as usize + 1,
            Shape::Bins => self.config.bins.get() as usize,
        };
        self.bytes -= comm.heads.capacity() * size_of::<Head>();
        comm.heads = vec![Head::EMPTY; heads];
        self.bytes += comm.heads.capacity() * size_of::<Head>();
        comm.shape = shape;
        comm.wild = Chain::EMPTY;
        if shape == Shape::List {
            return;
        }
        // Each entry moves to the new list, in the old order, and to the table.
        let mut old = std::mem::replace(&mut comm.all, Head::EMPTY);
        while let Some(at) = entries.posted.pop_front(&mut old.posted, ALL) {
            entries.posted.push_back(&mut comm.all.posted, ALL, at);
            let selector = entries.posted.get(at).selector;
            entries
                .posted
                .push_back(comm.posted_chain(selector), TABLE, at);
        }
        while let Some(at) = entries.unexpected.pop_front(&mut old.unexpected, ALL) {
            entries
                .unexpected
                .push_back(&mut comm.all.unexpected, ALL, at);
            if let Some(slot) = comm.slot_of_envelope(&entries.unexpected.get(at).envelope) {
                entries
                    .unexpected
                    .push_back(&mut comm.heads[slot].unexpected, TABLE, at);
            }
        }
    }
}

/// The sources of the entries of both queues, receives from any source apart.
fn sources(entries: &Entries<2, 2>, comm: &Adapted) -> impl Iterator<Item = u32> {
    let posted = entries.posted.walk(comm.all.posted, ALL);
    let posted = posted.filter_map(|(_, posted)| posted.selector.source.number());
    let messages = entries.unexpected.walk(comm.all.unexpected, ALL);
    posted.chain(messages.map(|(_, message)| message.envelope.source.get()))
}

impl Index<2, 2> for Adaptive {
    type Comm = Adapted;

    fn new_comm(&mut self, size: Option<u32>) -> Adapted {
        Adapted {
            all: Head::EMPTY,
            shape: Shape::List,
            heads: Vec::new(),
            wild: Chain::EMPTY,
            posted: 0,
            messages: 0,
            size: size.or(self.default_size),
            seen: 0,
            window: Window::default(),
        }
    }

    fn end_comm(&mut self, comm: Adapted) {
        self.bytes -= comm.heads.capacity() * size_of::<Head>();
    }

    #[inline]
    fn earliest(
        &mut self,
        entries: &Entries<2, 2>,
        comm: Option<&mut Adapted>,
        envelope: &Envelope,
        steps: &mut Steps,
    ) -> Option<u32> {
        let comm = comm?;
        let found = match comm.slot_of_envelope(envelope) {
            None => entries.first_accepting(comm.all.posted, ALL, u64::MAX, envelope, steps),
            Some(slot) => {
                steps.hops += 1;
                let chain = comm.heads[slot].posted;
                let best = entries.first_accepting(chain, TABLE, u64::MAX, envelope, steps);
                let label = best.map_or(u64::MAX, |at| entries.posted.get(at).label);
                entries
                    .first_accepting(comm.wild, TABLE, label, envelope, steps)
                    .or(best)
            }
        };
        comm.window.searched(steps.compares, comm.posted);
        found
    }

    #[inline]
    fn oldest(
        &mut self,
        entries: &mut Entries<2, 2>,
        comm: Option<&mut Adapted>,
        wanted: Pattern,
        steps: &mut Steps,
    ) -> Option<u32> {
        let comm = comm?;
        let found = match comm.slot_of(wanted.selector) {
            None => entries.first_fitting(comm.all.unexpected, ALL, u64::MAX, wanted, steps),
            Some(slot) => {
                steps.hops += 1;
                entries.first_fitting(comm.heads[slot].unexpected, TABLE, u64::MAX, wanted, steps)
            }
        };
        comm.window.searched(steps.compares, comm.messages);
        found
    }

    fn link_posted(&mut self, entries: &mut Entries<2, 2>, comm: &mut Adapted, at: u32) -> bool {
        let selector = entries.posted.get(at).selector;
        let mut collided = entries.posted.push_back(&mut comm.all.posted, ALL, at);
        comm.posted += 1;
        if let SourceSel::Rank(rank) = selector.source {
            comm.record_source(rank.get());
        }
        if comm.shape != Shape::List {
            let in_table = comm.slot_of(selector).is_some();
            let in_use = entries
                .posted
                .push_back(comm.posted_chain(selector), TABLE, at);
            collided = in_table && in_use;
        }
        self.adapt(entries, comm);
        collided
    }

    fn unlink_posted(&mut self, entries: &mut Entries<2, 2>, comm: &mut Adapted, at: u32) {
        let selector = entries.posted.get(at).selector;
        entries.posted.unlink(&mut comm.all.posted, ALL, at);
        comm.posted -= 1;
        if comm.shape != Shape::List {
            entries
                .posted
                .unlink(comm.posted_chain(selector), TABLE, at);
        }
        self.adapt(entries, comm);
    }

    fn link_unexpected(
        &mut self,
        entries: &mut Entries<2, 2>,
        comm: &mut Adapted,
        at: u32,
    ) -> bool {
        let envelope = entries.unexpected.get(at).envelope;
        let mut collided = entries
            .unexpected
            .push_back(&mut comm.all.unexpected, ALL, at);
        comm.messages += 1;
        comm.record_source(envelope.source.get());
        if let Some(slot) = comm.slot_of_envelope(&envelope) {
            let chain = &mut comm.heads[slot].unexpected;
            collided = entries.unexpected.push_back(chain, TABLE, at);
        }
        self.adapt(entries, comm);
        collided
    }

    fn unlink_unexpected(&mut self, entries: &mut Entries<2, 2>, comm: &mut Adapted, at: u32) {
        let envelope = entries.unexpected.get(at).envelope;
        entries.unexpected.unlink(&mut comm.all.unexpected, ALL, at);
        comm.messages -= 1;
        if let Some(slot) = comm.slot_of_envelope(&envelope) {
            entries
                .unexpected
                .unlink(&mut comm.heads[slot].unexpected, TABLE, at);
        }
        self.adapt(entries, comm);
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    /// A table for each communicator.
    fn bytes_bound(&self, load: &Load) -> u64 {
        load.comms * (u64::from(self.config.bins.get()) + 1) * size_of::<Head>() as u64
    }

    fn conversions(&self) -> u64 {
        self.conversions.iter().sum()
    }

    fn own_counters(&self) -> Vec<Counter> {
        let names = ["to_list", "to_ranks", "to_bins"];
        names
            .iter()
            .zip(self.conversions)
            .map(|(&name, value)| Counter::new(name, value))
            .collect()
    }
}

#[cfg(test)]
mod tests;
