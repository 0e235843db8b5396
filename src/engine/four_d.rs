//! The four-dimensional engine: a communicator's queues are a list while they are short, and
//! above a threshold a structure that is searched by the sender's rank.
//!
//! The rank is cut into four slices of equal width. From the top: the *plane*, in an ordered list;
//! *x*, an array in the plane; *y*, an ordered list of *segments*; and the last slice, whose ranks
//! share a segment with one PRQ and one UMQ list. Planes and segments come and go with their
//! entries. So a search costs two walks of at most span steps, one array access, and the entries of
//! one segment, which has at most span ranks.
//!
//! Receives from any source are in one list of the communicator; labels decide between it and the
//! segment. A search of the UMQ from any source visits every segment and takes the oldest.

use dpamatch_vocabulary::{Envelope, SourceSel};

use super::Load;
use super::chain::Chain;
use super::entry::Pattern;
use super::indexed::{Entries, Index, Indexed, Steps};
use grid::{Grid, GridPlace};

mod grid;

/// Span of the dimensions for a communicator of this size: 2^b, b = max(2, ceil(log2(size) / 4)).
///
/// # Examples
/// ```
/// use dpamatch::engine::dimension_span;
/// assert_eq!([256, 257, 4096, 65_536, 1_048_576].map(dimension_span), [4, 8, 8, 16, 32]);
/// ```
pub const fn dimension_span(size: u32) -> u32 {
    1 << slice_bits(size)
}

/// b: the width of a slice.
const fn slice_bits(size: u32) -> u32 {
    // ceil(log2(size)) is the number of bits of size - 1.
    let bits = u32::BITS - size.saturating_sub(1).leading_zeros();
    let slice = bits.div_ceil(4);
    if slice < 2 { 2 } else { slice }
}

/// When a list becomes a grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GridThreshold {
    /// Above 6 span + 2 entries in one queue: 26, 50, 98, 194.
    #[default]
    Span,
    /// Above this many entries; with 0 it is always a grid.
    Entries(u32),
}

impl GridThreshold {
    /// Maximum number of entries of a list, for slices of `bits` bits.
    const fn entries(self, bits: u32) -> u32 {
        match self {
            Self::Span => (6 << bits) + 2,
            Self::Entries(entries) => entries,
        }
    }
}

/// A communicator's structure: the paper's lead.
#[derive(Clone, Debug)]
pub struct Lead {
    /// Size if known, else 0.
    told: u32,
    /// Greatest source seen, plus one.
    seen: u32,
    /// Receives from one source, while they are a list.
    posted: Chain,
    /// Messages, while they are a list.
    unexpected: Chain,
    /// Entries of the two queues, as list or grid, without receives from any source.
    ranked: [u32; 2],
    /// Receives from any source.
    any: Chain,
    /// The grid, if the queues are one.
    grid: Option<Grid>,
    /// Where the last search ended, for an insertion after it.
    place: Option<GridPlace>,
}

/// Numbers of the two queues.
const PRQ: usize = 0;
const UMQ: usize = 1;

impl Lead {
    /// The chain of a queue that holds a source's entries, and the steps to it. With a grid,
    /// remembers the place.
    #[inline]
    fn find(&mut self, pools: &grid::Pools, queue: usize, source: u32, steps: &mut Steps) -> Chain {
        match &self.grid {
            None => [self.posted, self.unexpected][queue],
            Some(grid) => {
                let place = grid.find(pools, source, &mut steps.hops);
                self.place = Some(place);
                place
                    .segment()
                    .map_or(Chain::EMPTY, |segment| pools.segment(segment).chains[queue])
            }
        }
    }
}

/// The index: leads, and pools of planes and segments for all of them.
#[derive(Clone, Debug)]
pub struct FourD {
    threshold: GridThreshold,
    /// Size of communicators without a known size.
    default_size: Option<u32>,
    pools: grid::Pools,
    leads: u32,
    conversions: u64,
}

/// The four-dimensional engine.
pub type FourDEngine = Indexed<FourD, 1, 1>;

impl FourDEngine {
    /// An engine with empty queues; `size` is the default number of processes in a communicator.
    pub fn new(threshold: GridThreshold, size: Option<u32>) -> Self {
        let pools = grid::Pools::default();
        Self::with_index(FourD {
            threshold,
            default_size: size,
            pools,
            leads: 0,
            conversions: 0,
        })
    }
}

impl FourD {
    /// Bytes that the structure takes now beyond a linked list, by the paper's accounting: 48 for a
    /// lead, 16 + 8 span for a plane, 48 for a segment.
    pub fn paper_overhead(&self) -> u64 {
        LEAD_BYTES * u64::from(self.leads) + self.pools.paper_bytes()
    }

    /// Counts entries that join a queue; converts to a grid when they are too many for a list.
    #[inline]
    fn enter(&mut self, entries: &mut Entries<1, 1>, lead: &mut Lead, queue: usize, source: u32) {
        lead.seen = lead.seen.max(source + 1);
        lead.ranked[queue] += 1;
        if lead.grid.is_none() {
            let bits = slice_bits(if lead.told > 0 { lead.told } else { lead.seen });
            if lead.ranked[queue] > self.threshold.entries(bits) {
                self.convert(entries, lead, bits);
            }
        }
    }

    /// Converts the list to a grid, in the order of its entries.
    #[cold]
    fn convert(&mut self, entries: &mut Entries<1, 1>, lead: &mut Lead, bits: u32) {
        let mut grid = Grid::new(bits);
        while let Some(at) = entries.posted.pop_front(&mut lead.posted, 0) {
            if let SourceSel::Rank(source) = entries.posted.get(at).selector.source {
                let segment = grid.insert(&mut self.pools, source.get(), None);
                entries.posted.get_mut(at).home = segment;
                let chain = &mut self.pools.segment_mut(segment).chains[PRQ];
                entries.posted.push_back(chain, 0, at);
            }
        }
        while let Some(at) = entries.unexpected.pop_front(&mut lead.unexpected, 0) {
            let source = entries.unexpected.get(at).envelope.source.get();
            let segment = grid.insert(&mut self.pools, source, None);
            entries.unexpected.get_mut(at).home = segment;
            let chain = &mut self.pools.segment_mut(segment).chains[UMQ];
            entries.unexpected.push_back(chain, 0, at);
        }
        lead.grid = Some(grid);
        lead.place = None;
        self.conversions += 1;
    }

    /// Counts an entry that left a queue, and frees segments and planes that became empty.
    #[inline]
    fn leave(&mut self, lead: &mut Lead, queue: usize, segment: u32) {
        lead.ranked[queue] -= 1;
        lead.place = None;
        if let Some(grid) = &mut lead.grid {
            grid.remove_if_empty(&mut self.pools, segment);
            if lead.ranked == [0, 0] {
                lead.grid = None;
                self.conversions += 1;
            }
        }
    }
}

/// Sizes in the paper's accounting.
const LEAD_BYTES: u64 = 48;
const RANK_HEAD_BYTES: u64 = 24;
const SEGMENT_BYTES: u64 = 48;

/// Bytes of a plane in the paper's accounting.
const fn plane_bytes(span: u64) -> u64 {
    16 + 8 * span
}

/// Bytes over a linked list of the array-based engine, by the paper's accounting.
///
/// # Examples
/// ```
/// use dpamatch::engine::paper_overhead_array;
/// assert_eq!(paper_overhead_array(1_048_576), 25_165_872);
/// ```
pub const fn paper_overhead_array(size: u32) -> u64 {
    LEAD_BYTES + size as u64 * RANK_HEAD_BYTES
}

/// Bytes over a linked list of the four-dimensional engine with one request of each of the ranks
/// `0..requests` of a communicator, by the paper's accounting, which has no threshold.
///
/// # Examples
/// ```
/// use dpamatch::engine::paper_overhead_four_d;
/// assert_eq!(paper_overhead_four_d(1_048_576, 1_000), 1_856);
/// // Printed as 26.67 KB, which no sizes of the objects allow: a misprint.
/// assert_eq!(paper_overhead_four_d(4_096, 4_096), 25_264);
/// ```
pub const fn paper_overhead_four_d(size: u32, requests: u32) -> u64 {
    let span = dimension_span(size) as u64;
    let planes = (requests as u64).div_ceil(span * span * span);
    let segments = (requests as u64).div_ceil(span);
    LEAD_BYTES + planes * plane_bytes(span) + segments * SEGMENT_BYTES
}

impl Index<1, 1> for FourD {
    type Comm = Lead;

    fn new_comm(&mut self, size: Option<u32>) -> Lead {
        self.leads += 1;
        Lead {
            told: size.or(self.default_size).unwrap_or(0),
            seen: 0,
            posted: Chain::EMPTY,
            unexpected: Chain::EMPTY,
            ranked: [0; 2],
            any: Chain::EMPTY,
            grid: None,
            place: None,
        }
    }

    fn end_comm(&mut self, _lead: Lead) {
        self.leads -= 1;
    }

    fn ends_when_empty(&self) -> bool {
        true
    }

    #[inline]
    fn earliest(
        &mut self,
        entries: &Entries<1, 1>,
        comm: Option<&mut Lead>,
        envelope: &Envelope,
        steps: &mut Steps,
    ) -> Option<u32> {
        let lead = comm?;
        let chain = lead.find(&self.pools, PRQ, envelope.source.get(), steps);
        let ranked = entries.first_accepting(chain, 0, u64::MAX, envelope, steps);
        if lead.any.is_empty() {
            return ranked;
        }
        let label = ranked.map_or(u64::MAX, |at| entries.posted.get(at).label);
        entries
            .first_accepting(lead.any, 0, label, envelope, steps)
            .or(ranked)
    }

    #[inline]
    fn oldest(
        &mut self,
        entries: &mut Entries<1, 1>,
        comm: Option<&mut Lead>,
        wanted: Pattern,
        steps: &mut Steps,
    ) -> Option<u32> {
        let lead = comm?;
        if let SourceSel::Rank(source) = wanted.selector.source {
            let chain = lead.find(&self.pools, UMQ, source.get(), steps);
            return entries.first_fitting(chain, 0, u64::MAX, wanted, steps);
        }
        let Some(grid) = &lead.grid else {
            return entries.first_fitting(lead.unexpected, 0, u64::MAX, wanted, steps);
        };
        if lead.ranked[UMQ] == 0 {
            return None;
        }
        let mut best = None;
        let mut arrival = u64::MAX;
        let mut hops = 0;
        for segment in grid.segments(&self.pools, &mut hops) {
            let chain = self.pools.segment(segment).chains[UMQ];
            if let Some(at) = entries.first_fitting(chain, 0, arrival, wanted, steps) {
                arrival = entries.unexpected.get(at).arrival;
                best = Some(at);
            }
        }
        steps.hops += hops;
        best
    }

    #[inline]
    fn link_posted(&mut self, entries: &mut Entries<1, 1>, lead: &mut Lead, at: u32) -> bool {
        let SourceSel::Rank(source) = entries.posted.get(at).selector.source else {
            entries.posted.push_back(&mut lead.any, 0, at);
            return false;
        };
        self.enter(entries, lead, PRQ, source.get());
        let chain = match &mut lead.grid {
            None => &mut lead.posted,
            Some(grid) => {
                let segment = grid.insert(&mut self.pools, source.get(), lead.place.take());
                entries.posted.get_mut(at).home = segment;
                &mut self.pools.segment_mut(segment).chains[PRQ]
            }
        };
        entries.posted.push_back(chain, 0, at)
    }

    #[inline]
    fn unlink_posted(&mut self, entries: &mut Entries<1, 1>, lead: &mut Lead, at: u32) {
        let posted = entries.posted.get(at);
        let segment = posted.home;
        if posted.selector.source == SourceSel::Any {
            return entries.posted.unlink(&mut lead.any, 0, at);
        }
        let chain = match lead.grid {
            None => &mut lead.posted,
            Some(_) => &mut self.pools.segment_mut(segment).chains[PRQ],
        };
        entries.posted.unlink(chain, 0, at);
        self.leave(lead, PRQ, segment);
    }

    #[inline]
    fn link_unexpected(&mut self, entries: &mut Entries<1, 1>, lead: &mut Lead, at: u32) -> bool {
        let source = entries.unexpected.get(at).envelope.source.get();
        self.enter(entries, lead, UMQ, source);
        let chain = match &mut lead.grid {
            None => &mut lead.unexpected,
            Some(grid) => {
                let segment = grid.insert(&mut self.pools, source, lead.place.take());
                entries.unexpected.get_mut(at).home = segment;
                &mut self.pools.segment_mut(segment).chains[UMQ]
            }
        };
        entries.unexpected.push_back(chain, 0, at)
    }

    #[inline]
    fn unlink_unexpected(&mut self, entries: &mut Entries<1, 1>, lead: &mut Lead, at: u32) {
        let segment = entries.unexpected.get(at).home;
        let chain = match lead.grid {
            None => &mut lead.unexpected,
            Some(_) => &mut self.pools.segment_mut(segment).chains[UMQ],
        };
        entries.unexpected.unlink(chain, 0, at);
        self.leave(lead, UMQ, segment);
    }

    fn release(&mut self) {
        self.pools = grid::Pools::default();
    }

    fn bytes(&self) -> usize {
        self.pools.bytes()
    }

    /// There are at most as many planes and segments as entries.
    fn bytes_bound(&self, load: &Load) -> u64 {
        grid::Pools::bytes_bound(load.posted + load.unexpected)
    }

    fn conversions(&self) -> u64 {
        self.conversions
    }
}

#[cfg(test)]
mod tests;
