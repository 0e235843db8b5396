//! Cache lines: first-level caches, lines shared between harts, and segments between two marks.

use std::collections::{BTreeMap, HashMap};

use super::count::Count;

/// Binary logarithm of the line size.
const LINE_LOG: u32 = 6;

/// First-level caches of each hart: fully associative, least recently used line evicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheSetup {
    pub data: usize,
    pub code: usize,
}

/// A hart's work between two marks, summed over all occurrences: instructions without the marks,
/// and what missed.
pub type Segments = BTreeMap<(u16, u16), Count>;

/// A first-level cache: lines with the version seen, the youngest last.
#[derive(Clone, Debug, Default)]
struct First(Vec<(u32, u32)>);

impl First {
    /// Whether the line's present version is cached; caches it otherwise.
    fn take(&mut self, most: usize, line: u32, version: u32) -> bool {
        let found = self.0.iter().position(|&(held, _)| held == line);
        let is_fresh = match found {
            Some(place) => self.0.remove(place).1 == version,
            None => {
                if self.0.len() >= most {
                    self.0.remove(0);
                }
                false
            }
        };
        self.0.push((line, version));
        is_fresh
    }
}

#[derive(Clone, Debug, Default)]
struct Open {
    data: First,
    code: First,
    last_fetched: u32,
    /// The last mark, and the instructions retired by then.
    since: Option<(u16, u64)>,
    missed: Vec<u32>,
    code_missed: u64,
}

/// Harts that used a line while counting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Users {
    #[default]
    Nobody,
    One(u16),
    Many,
}

#[derive(Default)]
pub(crate) struct Caches {
    setup: CacheSetup,
    harts: Vec<Open>,
    /// Version of each line; grows with every store.
    versions: Vec<u32>,
    users: Vec<Users>,
    written: Vec<bool>,
    counting: bool,
    segments: Vec<Segments>,
    /// Misses by hart, segment and line.
    misses: HashMap<(usize, (u16, u16), u32), u64>,
}

impl Caches {
    pub(crate) fn new(setup: CacheSetup, harts: usize, memory: usize) -> Self {
        let lines = (memory >> LINE_LOG) + 1;
        Self {
            setup,
            harts: vec![Open::default(); harts],
            versions: vec![0; lines],
            users: vec![Users::default(); lines],
            written: vec![false; lines],
            segments: vec![Segments::new(); harts],
            ..Self::default()
        }
    }

    pub(crate) fn count(&mut self, counting: bool) {
        self.counting = counting;
        for open in &mut self.harts {
            open.since = None;
        }
    }

    /// Loads or stores a doubleword. Both fetch the line.
    pub(crate) fn access(&mut self, hart: usize, doubleword: usize, is_store: bool) {
        let line = doubleword >> (LINE_LOG - 3);
        let version = self.versions[line];
        let open = &mut self.harts[hart];
        let is_here = open.data.take(self.setup.data, line as u32, version);
        if !is_here && !is_store && self.counting {
            open.missed.push(line as u32);
        }
        if is_store {
            self.versions[line] = version.wrapping_add(1);
            if let Some(own) = open.data.0.last_mut() {
                own.1 = version.wrapping_add(1);
            }
        }
        if self.counting {
            self.written[line] |= is_store;
            self.users[line] = match self.users[line] {
                Users::Nobody => Users::One(hart as u16),
                Users::One(other) if other != hart as u16 => Users::Many,
                same => same,
            };
        }
    }

    #[inline]
    pub(crate) fn fetch(&mut self, hart: usize, pc: u64) {
        let line = (pc >> LINE_LOG) as u32;
        let open = &mut self.harts[hart];
        if open.last_fetched != line {
            open.last_fetched = line;
            open.code_missed += u64::from(!open.code.take(self.setup.code, line, 0));
        }
    }

    /// Ends a segment at a mark, after `retired` instructions including it.
    pub(crate) fn mark(&mut self, hart: usize, mark: u16, retired: u64) {
        let open = &mut self.harts[hart];
        let (missed, code) = (
            std::mem::take(&mut open.missed),
            std::mem::take(&mut open.code_missed),
        );
        let since = open.since.replace((mark, retired));
        let Some((from, before)) = since.filter(|_| self.counting) else {
            return;
        };
        let pair = (from, mark);
        let instructions = retired - before - 1;
        let segment = Count {
            entered: 1,
            instructions,
            code,
            ..Count::default()
        };
        self.segments[hart].entry(pair).or_default().add(&segment);
        for line in missed {
            *self.misses.entry((hart, pair, line)).or_default() += 1;
        }
    }

    pub(crate) fn segments(mut self) -> Vec<Segments> {
        for (&(hart, pair, line), &times) in &self.misses {
            let line = line as usize;
            let segment = self.segments[hart].entry(pair).or_default();
            if self.written[line] && self.users[line] == Users::Many {
                segment.shared += times;
            } else {
                segment.own += times;
            }
        }
        self.segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caches() -> Caches {
        let mut caches = Caches::new(CacheSetup { data: 2, code: 1 }, 2, 1 << 12);
        caches.count(true);
        caches
    }

    #[test]
    fn the_line_used_longest_ago_leaves() {
        let mut caches = caches();
        caches.mark(0, 1, 1);
        for line in [0, 1, 0, 2, 0, 1] {
            caches.access(0, line * 8, false);
        }
        caches.mark(0, 2, 8);
        let segment = caches.segments()[0][&(1, 2)];
        assert_eq!((segment.entered, segment.instructions), (1, 6));
        assert_eq!(
            (segment.own, segment.shared),
            (4, 0),
            "0, 1, 2, and 1 once more"
        );
    }

    #[test]
    fn a_line_that_another_wrote_is_shared_and_stale() {
        let mut caches = caches();
        caches.mark(0, 1, 1);
        caches.access(0, 0, false);
        // Both read it, neither writes it.
        caches.access(0, 8, false);
        caches.access(1, 8, false);
        caches.access(1, 7, true);
        caches.access(0, 0, false);
        caches.mark(0, 2, 8);
        let segment = caches.segments()[0][&(1, 2)];
        assert_eq!((segment.own, segment.shared), (1, 2), "a store is no load");
    }

    #[test]
    fn code_is_fetched_by_lines() {
        let mut caches = caches();
        caches.mark(0, 1, 1);
        for pc in [0x40, 0x44, 0x80, 0x84, 0x40] {
            caches.fetch(0, pc);
        }
        caches.mark(0, 1, 7);
        assert_eq!(caches.segments()[0][&(1, 1)].code, 3);
    }
}
