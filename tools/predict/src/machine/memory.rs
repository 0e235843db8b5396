//! Memory levels: the level at which an access hits, and its cost.
//!
//! Each EU has a small first level; all share L2 and L3, then DRAM. Each level is fully associative
//! and evicts in insertion order: a line is in L2 if fewer lines than L2 holds were inserted after
//! it. That takes one number per line and level, and no lists. Another EU's write makes a line
//! stale in the first level (`version`). Read-modify-writes are serial; one that finds the word
//! fresh in another EU's first level costs a hand-over.

use super::costs::{Costs, Layout, Level};
use super::{LineKind, Picos};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Entry(u64),
    Bin(u32),
    /// Receive descriptor, with its booking word.
    Descriptor(u32),
    Progress(usize),
    /// One of the two sets of bits of the barrier's bitmap.
    Bits(usize),
    Candidate(usize),
    Key(usize),
    /// The receive that a handler reports to the leader.
    Taken(usize),
    Bounce(usize, usize),
    Unexpected(u32),
}

/// Receive numbers per line, four bytes each.
const NUMBERS: usize = LINE_BYTES / 4;
/// Keys per line, eight bytes each.
const KEYS: usize = LINE_BYTES / 8;

impl Place {
    /// The set of bits that a block uses: two alternate.
    pub(crate) fn bits(block: u64) -> Self {
        Self::Bits((block & 1) as usize)
    }

    pub(crate) fn candidates(handlers: usize) -> impl Iterator<Item = Self> {
        (0..handlers).step_by(NUMBERS).map(Self::Candidate)
    }

    pub(crate) fn keys(handlers: usize) -> impl Iterator<Item = Self> {
        (0..handlers).step_by(KEYS).map(Self::Key)
    }

    pub(crate) fn kind(self) -> LineKind {
        match self {
            Self::Entry(_) => LineKind::Entry,
            Self::Bin(_) => LineKind::Bin,
            Self::Descriptor(_) => LineKind::Receive,
            Self::Progress(_) => LineKind::Progress,
            Self::Bits(_) => LineKind::Barrier,
            Self::Candidate(_) | Self::Key(_) => LineKind::Candidate,
            Self::Taken(_) => LineKind::Taken,
            Self::Bounce(..) => LineKind::Bounce,
            Self::Unexpected(_) => LineKind::Unexpected,
        }
    }

    pub(crate) fn word(self) -> LineKind {
        match self {
            Self::Descriptor(_) => LineKind::Booking,
            Self::Bin(_) => LineKind::Lock,
            _ => self.kind(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Insertion numbers in L2 and L3, from 1; 0 means never.
    in_l2: u64,
    in_l3: u64,
    version: u32,
    /// EU of the last read-modify-write, plus one.
    modified_by: u16,
    /// End of the last read-modify-write.
    free_at: Picos,
}

/// An EU's first level: distinct lines with the version seen, overwritten oldest first.
#[derive(Clone, Debug)]
struct First {
    lines: Vec<u32>,
    versions: Vec<u32>,
    next: usize,
}

impl First {
    fn new(lines: usize) -> Self {
        Self {
            lines: vec![u32::MAX; lines],
            versions: vec![0; lines],
            next: 0,
        }
    }

    #[inline]
    fn place(&self, line: usize) -> Option<usize> {
        self.lines.iter().position(|&held| held == line as u32)
    }

    #[inline]
    fn holds(&self, line: usize, version: u32) -> bool {
        self.place(line)
            .is_some_and(|place| self.versions[place] == version)
    }

    /// Whether the first level holds the line's present version; inserts it otherwise.
    #[inline]
    fn take(&mut self, line: usize, version: u32) -> bool {
        let place = match self.place(line) {
            Some(place) if self.versions[place] == version => return true,
            Some(stale) => stale,
            None => {
                self.next = if self.next + 1 == self.lines.len() {
                    0
                } else {
                    self.next + 1
                };
                self.next
            }
        };
        (self.lines[place], self.versions[place]) = (line as u32, version);
        false
    }
}

#[derive(Debug)]
pub(crate) struct Memory {
    lines: Vec<Line>,
    first: Vec<First>,
    inserted_l2: u64,
    inserted_l3: u64,
    bases: Bases,
    entries: u64,
    bounce_lines: usize,
    landing: Level,
}

#[derive(Debug)]
struct Bases {
    bins: usize,
    descriptors: usize,
    progress: usize,
    bits: usize,
    candidates: usize,
    keys: usize,
    taken: usize,
    bounce: usize,
    unexpected: usize,
}

const LINE_BYTES: usize = 64;
const BIN_BYTES: usize = 20;

impl Memory {
    pub(crate) fn new(costs: &Costs, layout: &Layout) -> Self {
        let bounce_lines = layout.bounce_bytes.div_ceil(LINE_BYTES);
        let mut end = layout.entries;
        let mut table = |lines: usize| {
            end += lines;
            end - lines
        };
        let bases = Bases {
            bins: table((layout.bins * BIN_BYTES).div_ceil(LINE_BYTES) + 1),
            descriptors: table(layout.receives),
            progress: table(layout.handlers),
            bits: table(2),
            candidates: table(layout.handlers.div_ceil(NUMBERS)),
            keys: table(layout.handlers.div_ceil(KEYS)),
            taken: table(layout.handlers.div_ceil(NUMBERS)),
            bounce: table(layout.bounce_buffers * bounce_lines),
            unexpected: table(layout.unexpected),
        };
        let first = First::new(costs.lines[0].max(1));
        let ring_bytes =
            (layout.entries * LINE_BYTES + layout.bounce_buffers * layout.bounce_bytes) as u64;
        Self {
            lines: vec![Line::default(); end],
            first: vec![first; layout.handlers],
            inserted_l2: 0,
            inserted_l3: 0,
            bases,
            entries: layout.entries as u64,
            bounce_lines,
            landing: if ring_bytes <= costs.landing_bytes {
                Level::L2
            } else {
                Level::Dram
            },
        }
    }

    fn line(&self, place: Place) -> usize {
        match place {
            Place::Entry(position) => (position % self.entries) as usize,
            Place::Bin(bin) => self.bases.bins + bin as usize * BIN_BYTES / LINE_BYTES,
            Place::Descriptor(receive) => self.bases.descriptors + receive as usize,
            Place::Progress(word) => self.bases.progress + word,
            Place::Bits(set) => self.bases.bits + set,
            Place::Candidate(handler) => self.bases.candidates + handler / NUMBERS,
            Place::Key(handler) => self.bases.keys + handler / KEYS,
            Place::Taken(handler) => self.bases.taken + handler / NUMBERS,
            Place::Bounce(buffer, line) => self.bases.bounce + buffer * self.bounce_lines + line,
            Place::Unexpected(entry) => self.bases.unexpected + entry as usize,
        }
    }

    /// The NIC has written a message: places its line where incoming data lands.
    pub(crate) fn land(&mut self, place: Place) {
        let line = self.line(place);
        self.lines[line].version += 1;
        if self.landing == Level::L2 {
            self.insert(line);
        } else {
            (self.lines[line].in_l2, self.lines[line].in_l3) = (0, 0);
        }
    }

    fn insert(&mut self, line: usize) {
        self.inserted_l2 += 1;
        self.inserted_l3 += 1;
        let line = &mut self.lines[line];
        (line.in_l2, line.in_l3) = (self.inserted_l2, self.inserted_l3);
    }

    /// Loads by `eu`; returns the level that hits.
    pub(crate) fn read(&mut self, costs: &Costs, eu: usize, place: Place) -> Level {
        let index = self.line(place);
        if self.first[eu].take(index, self.lines[index].version) {
            return Level::L1;
        }
        let line = self.lines[index];
        if line.in_l2 != 0 && self.inserted_l2 - line.in_l2 < costs.lines[1] as u64 {
            Level::L2
        } else if line.in_l3 != 0 && self.inserted_l3 - line.in_l3 < costs.lines[2] as u64 {
            self.inserted_l2 += 1;
            self.lines[index].in_l2 = self.inserted_l2;
            Level::L3
        } else {
            self.insert(index);
            Level::Dram
        }
    }

    /// Stores by `eu` and invalidates other copies.
    pub(crate) fn write(&mut self, costs: &Costs, eu: usize, place: Place) -> Level {
        let level = self.read(costs, eu, place);
        self.touch(eu, self.line(place));
        level
    }

    fn touch(&mut self, eu: usize, index: usize) {
        let version = self.lines[index].version.wrapping_add(1);
        self.lines[index].version = version;
        let first = &mut self.first[eu];
        if let Some(place) = first.place(index) {
            first.versions[place] = version;
        }
    }

    /// Read-modify-write by `eu`, begun at `now`.
    pub(crate) fn modify(
        &mut self,
        costs: &Costs,
        eu: usize,
        place: Place,
        now: Picos,
    ) -> Modified {
        let index = self.line(place);
        let Line {
            modified_by,
            version,
            free_at,
            ..
        } = self.lines[index];
        let other = usize::from(modified_by)
            .checked_sub(1)
            .filter(|&other| other != eu);
        let fresh = other.is_some_and(|other| self.first[other].holds(index, version));
        let level = self.read(costs, eu, place);
        let level = if level == Level::L1 { Level::L2 } else { level };
        let begin = now.max(free_at);
        let end = begin
            + if fresh {
                costs.handover
            } else {
                costs.level[level as usize]
            };
        self.touch(eu, index);
        self.lines[index].modified_by = eu as u16 + 1;
        self.lines[index].free_at = end;
        Modified { end, level, fresh }
    }
}

/// A read-modify-write's end, its level, and whether another EU handed the word over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Modified {
    pub(crate) end: Picos,
    pub(crate) level: Level,
    pub(crate) fresh: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS: Picos = 1000;

    fn costs() -> Costs {
        Costs {
            cycle: 500,
            level: [2 * NS, 35 * NS, 71 * NS, 400 * NS],
            lines: [2, 4, 8],
            handover: 100 * NS,
            poll_miss: NS,
            landing_bytes: 1 << 20,
            ..Costs::default()
        }
    }

    fn memory(costs: &Costs) -> Memory {
        let layout = Layout {
            handlers: 20,
            bins: 10,
            receives: 64,
            entries: 16,
            bounce_buffers: 2,
            bounce_bytes: 128,
            eager_bytes: 128,
            unexpected: 4,
            cores: 16,
            eus_per_core: 16,
        };
        Memory::new(costs, &layout)
    }

    #[test]
    fn a_line_is_found_where_its_age_says() {
        let costs = costs();
        let mut memory = memory(&costs);
        let mut read = |receive| memory.read(&costs, 0, Place::Descriptor(receive));
        assert_eq!(read(0), Level::Dram, "never seen");
        assert_eq!(read(0), Level::L1);
        assert_eq!(
            [read(1), read(2)],
            [Level::Dram, Level::Dram],
            "the first level holds two lines"
        );
        assert_eq!(read(0), Level::L2);
        assert_eq!([3, 4, 5].map(&mut read), [Level::Dram; 3]);
        assert_eq!(read(0), Level::L3, "four others came into L2");
        assert_eq!([6, 7, 8, 9, 10, 11].map(&mut read), [Level::Dram; 6]);
        assert_eq!(read(0), Level::Dram, "eight others came into L3");
    }

    #[test]
    fn a_store_makes_copies_stale() {
        let costs = costs();
        let mut memory = memory(&costs);
        memory.read(&costs, 0, Place::Bin(0));
        assert_eq!(
            memory.read(&costs, 0, Place::Bin(2)),
            Level::L1,
            "bins of 20 bytes share a line"
        );
        memory.write(&costs, 1, Place::Bin(1));
        assert_eq!(memory.read(&costs, 0, Place::Bin(0)), Level::L2);
        assert_eq!(
            memory.read(&costs, 1, Place::Bin(0)),
            Level::L1,
            "the writer's own copy is the newest"
        );
    }

    #[test]
    fn modifications_wait_for_each_other() {
        let costs = costs();
        let mut memory = memory(&costs);
        let word = Place::bits(2);
        assert_ne!(word, Place::bits(3), "two sets take turns");
        let first = memory.modify(&costs, 0, word, 0);
        assert_eq!((first.end, first.fresh), (400 * NS, false));
        let second = memory.modify(&costs, 1, word, 390 * NS);
        assert_eq!(
            (second.end, second.fresh),
            (500 * NS, true),
            "waits 10, then a hand-over"
        );
        let third = memory.modify(&costs, 2, word, 390 * NS);
        assert_eq!(third.end, 600 * NS);
        let own = memory.modify(&costs, 2, word, 1000 * NS);
        assert_eq!(
            (own.end, own.fresh),
            (1035 * NS, false),
            "an AMO is done at L2"
        );
    }
}
