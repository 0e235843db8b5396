//! The hash of a key (communicator, source, tag). It does not depend on the machine, because
//! statistics depend on bins.

use dpamatch_vocabulary::Selector;

/// Both halves of the 128-bit product: every bit of the result depends on every bit of `a`.
#[inline]
pub(super) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Hash of a key; a field that is wild is 0.
#[inline]
pub fn key_hash(comm: u32, source: u32, tag: u32) -> u32 {
    let pair = (u64::from(source) << 32 | u64::from(tag)) ^ 0xa076_1d64_78bd_642f;
    let mixed = fold(pair, 0xe703_7ed1_a0b4_28db) ^ u64::from(comm);
    (fold(mixed ^ 0x8ebc_6af0_9c88_c6e3, 0x5899_65cc_7537_4cc3) >> 32) as u32
}

/// Hash of a receive's key in the index of its class. Wild fields do not count.
///
/// Source: O5.
#[inline]
pub fn selector_hash(comm: u32, selector: Selector) -> u32 {
    let (source, tag) = (selector.source.number(), selector.tag.number());
    key_hash(comm, source.unwrap_or(0), tag.unwrap_or(0))
}

/// The bin of a hash: a multiplication instead of a division, for any number of bins.
#[inline]
pub fn bin_of(hash: u32, bins: u32) -> usize {
    ((u64::from(hash) * u64::from(bins)) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fullest(keys: impl Iterator<Item = (u32, u32, u32)>, bins: u32) -> u32 {
        let mut counts = vec![0; bins as usize];
        for (comm, source, tag) in keys {
            counts[bin_of(key_hash(comm, source, tag), bins)] += 1;
        }
        counts.into_iter().max().unwrap_or(0)
    }

    #[test]
    fn spreads_the_keys_that_programs_use() {
        // 4,096 keys in 1,024 bins: 4 each on average; a random function fills no bin with more
        // than about 14.
        for bins in [1000, 1024] {
            assert!(
                fullest((0..4096).map(|i| (0, i, 7)), bins) <= 16,
                "sources, {bins}"
            );
            assert!(
                fullest((0..4096).map(|i| (0, 3, i)), bins) <= 16,
                "tags, {bins}"
            );
            assert!(
                fullest((0..4096).map(|i| (i, 0, 0)), bins) <= 16,
                "communicators, {bins}"
            );
            assert!(
                fullest((0..4096).map(|i| (1, i % 64, i / 64)), bins) <= 16,
                "grid, {bins}"
            );
            assert!(
                fullest((0..4096).map(|i| (1, i << 16, 0)), bins) <= 16,
                "strided, {bins}"
            );
        }
    }

    #[test]
    fn every_bin_count_is_kept() {
        for bins in [1, 2, 3, 1000, 65_536] {
            assert_eq!(bin_of(0, bins), 0);
            assert_eq!(bin_of(u32::MAX, bins), bins as usize - 1);
        }
    }
}
