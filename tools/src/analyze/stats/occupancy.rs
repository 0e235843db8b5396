//! Occupancy of hash tables by receives, for a number of bins (Figure 7).

use dpamatch_vocabulary::WildcardClass;

use dpamatch::engine::bin_of;

/// A table that keeps only the lengths of chains, so that many tables can be followed at a time.
#[derive(Clone, Debug)]
struct Table {
    chains: Vec<u32>,
    lengths: Vec<u32>,
    longest: u32,
    longest_ever: u32,
    longest_sum: u64,
    empty_sum: u64,
    empty_min: u32,
    inserted: u64,
    collisions: u64,
}

impl Table {
    fn new(bins: u32) -> Self {
        Self {
            chains: vec![0; bins as usize],
            lengths: vec![bins],
            longest: 0,
            longest_ever: 0,
            longest_sum: 0,
            empty_sum: 0,
            empty_min: bins,
            inserted: 0,
            collisions: 0,
        }
    }

    fn insert(&mut self, bin: usize) {
        let length = &mut self.chains[bin];
        self.inserted += 1;
        self.collisions += u64::from(*length > 0);
        self.lengths[*length as usize] -= 1;
        *length += 1;
        if *length as usize == self.lengths.len() {
            self.lengths.push(0);
        }
        self.lengths[*length as usize] += 1;
        self.longest = self.longest.max(*length);
        self.longest_ever = self.longest_ever.max(self.longest);
        self.empty_min = self.empty_min.min(self.lengths[0]);
    }

    fn remove(&mut self, bin: usize) {
        let length = &mut self.chains[bin];
        self.lengths[*length as usize] -= 1;
        *length -= 1;
        self.lengths[*length as usize] += 1;
        if self.lengths[self.longest as usize] == 0 {
            // The shortened chain was the last of this length; its new length is the maximum.
            self.longest -= 1;
        }
    }
}

/// Three tables of equal size over all communicators: no wildcard, any source, any tag (O5).
/// Receives with both wildcards form a list without bins.
#[derive(Clone, Debug)]
pub(crate) struct Occupancy {
    bins: u32,
    tables: [Table; 3],
    samples: u64,
    depth_sum: u64,
    depth_max: u32,
}

impl Occupancy {
    pub(crate) fn new(bins: u32) -> Self {
        let table = || Table::new(bins);
        Self {
            bins,
            tables: [table(), table(), table()],
            samples: 0,
            depth_sum: 0,
            depth_max: 0,
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, class: WildcardClass, hash: u32) {
        if let Some(table) = self.tables.get_mut(class as usize) {
            table.insert(bin_of(hash, self.bins));
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, class: WildcardClass, hash: u32) {
        if let Some(table) = self.tables.get_mut(class as usize) {
            table.remove(bin_of(hash, self.bins));
        }
    }

    /// Counts the collision of a receive that completes immediately and does not stay.
    pub(crate) fn touch(&mut self, class: WildcardClass, hash: u32) {
        if let Some(table) = self.tables.get_mut(class as usize) {
            table.inserted += 1;
            table.collisions += u64::from(table.chains[bin_of(hash, self.bins)] > 0);
        }
    }

    /// Receives before the last one in the longest chain of the three tables.
    pub(crate) fn depth(&self) -> u32 {
        let longest = self.tables.iter().map(|table| table.longest).max();
        longest.unwrap_or(0).saturating_sub(1)
    }

    /// [`depth`](Self::depth) of the table without wildcards, which the published analyzer shows.
    pub(crate) fn depth_without_wildcards(&self) -> u32 {
        self.tables[0].longest.saturating_sub(1)
    }

    #[inline]
    pub(crate) fn sample(&mut self) {
        self.samples += 1;
        let depth = self.depth();
        self.depth_sum += u64::from(depth);
        self.depth_max = self.depth_max.max(depth);
        for table in &mut self.tables {
            table.longest_sum += u64::from(table.longest);
            table.empty_sum += u64::from(table.lengths[0]);
        }
    }

    pub(crate) fn stats(&self) -> OccupancyStats {
        let table = |table: &Table| TableStats {
            inserted: table.inserted,
            collisions: table.collisions,
            longest_chain: table.longest_ever,
            longest_chain_sum: table.longest_sum,
            empty_bins_min: table.empty_min,
            empty_bins_sum: table.empty_sum,
        };
        OccupancyStats {
            samples: self.samples,
            depth_sum: self.depth_sum,
            depth_max: self.depth_max,
            tables: [
                table(&self.tables[0]),
                table(&self.tables[1]),
                table(&self.tables[2]),
            ],
        }
    }
}

/// Observations of the three tables. Sums are over samples: one before each post, arrival, cancel
/// and probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct OccupancyStats {
    pub samples: u64,
    /// Sum of the depths: receives before the last one in the longest chain.
    pub depth_sum: u64,
    pub depth_max: u32,
    /// No wildcard, any source, any tag.
    pub tables: [TableStats; 3],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct TableStats {
    pub inserted: u64,
    /// Insertions into a non-empty bin (S28).
    pub collisions: u64,
    pub longest_chain: u32,
    pub longest_chain_sum: u64,
    pub empty_bins_min: u32,
    pub empty_bins_sum: u64,
}

impl OccupancyStats {
    pub fn depth_mean(&self) -> f64 {
        self.depth_sum as f64 / self.samples.max(1) as f64
    }

    pub fn add(&mut self, other: &Self) {
        add_fields! { self + other; sum samples depth_sum; max depth_max; }
        for (mine, theirs) in self.tables.iter_mut().zip(&other.tables) {
            add_fields! { mine + theirs;
                sum inserted collisions longest_chain_sum empty_bins_sum; max longest_chain;
            }
            mine.empty_bins_min = mine.empty_bins_min.min(theirs.empty_bins_min);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_followed_right() {
        let bins = 5;
        let mut occupancy = Occupancy::new(bins);
        let mut model = vec![0_u32; bins as usize];
        let mut inside = Vec::new();
        for step in 0..2000_u32 {
            let hash = step.wrapping_mul(0x9E37_79B9);
            if step % 7 < 4 || inside.is_empty() {
                occupancy.insert(WildcardClass::Exact, hash);
                model[bin_of(hash, bins)] += 1;
                inside.push(hash);
            } else {
                let hash = inside.swap_remove(hash as usize % inside.len());
                occupancy.remove(WildcardClass::Exact, hash);
                model[bin_of(hash, bins)] -= 1;
            }
            let longest = model.iter().max().copied().unwrap_or(0);
            assert_eq!(occupancy.depth(), longest.saturating_sub(1));
            assert_eq!(occupancy.tables[0].longest, longest);
            let empty = model.iter().filter(|&&length| length == 0).count();
            assert_eq!(occupancy.tables[0].lengths[0] as usize, empty);
        }
    }
}
