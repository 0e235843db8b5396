//! The hash over source and tag that places a receive in its bin and travels with the message (O26,
//! S29).
//!
//! Sender and NIC must agree on it, so it is part of the model and fixed: two rounds of multiply
//! and fold. The full 32 bits travel; each NIC reduces them to its own number of bins.

use crate::{Rank, Tag, WildcardClass};

/// The three hash values of one envelope, one for each hashed index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Hashes {
    /// The hash of source and tag, for I0.
    pub both: u32,
    /// The hash of the tag, for I1 (any source).
    pub tag: u32,
    /// The hash of the source, for I2 (any tag).
    pub source: u32,
}

impl Hashes {
    /// Computes all three; a sender does this once per message.
    #[inline]
    pub fn new(source: Rank, tag: Tag) -> Self {
        Self {
            both: both(source.get(), tag.get()),
            tag: one(tag.get()),
            source: one(source.get()),
        }
    }

    /// Sets each hash as soon as it is computed: a sending loop has no register to spare for them.
    #[inline]
    pub(crate) fn set(&mut self, source: Rank, tag: Tag) {
        self.both = both(source.get(), tag.get());
        self.tag = one(tag.get());
        self.source = one(source.get());
    }

    /// Computes only the hash that the index of `class` uses.
    #[inline]
    pub(crate) fn for_class(class: WildcardClass, source: Rank, tag: Tag) -> u32 {
        match class {
            WildcardClass::Exact => both(source.get(), tag.get()),
            WildcardClass::AnySource => one(tag.get()),
            WildcardClass::AnyTag => one(source.get()),
            WildcardClass::Any => 0,
        }
    }

    /// The hash that the index of `class` uses; 0 for the list I3.
    #[inline]
    pub fn of_class(&self, class: WildcardClass) -> u32 {
        match class {
            WildcardClass::Exact => self.both,
            WildcardClass::AnySource => self.tag,
            WildcardClass::AnyTag => self.source,
            WildcardClass::Any => 0,
        }
    }
}

#[inline]
fn both(source: u32, tag: u32) -> u32 {
    mix(u64::from(source) << 32 | u64::from(tag))
}

#[inline]
fn one(value: u32) -> u32 {
    mix(u64::from(value))
}

/// Odd constants with balanced bits: 2^64 divided by the golden ratio, and the fractional bits of
/// the square root of 3.
const FIRST: u64 = 0x9E37_79B9_7F4A_7C15;
const SECOND: u64 = 0xBB67_AE85_84CA_A73B;

#[inline]
fn mix(value: u64) -> u32 {
    let folded = value.wrapping_mul(FIRST);
    let folded = (folded ^ (folded >> 32)).wrapping_mul(SECOND);
    (folded >> 32) as u32
}

/// Reduces a hash to `0..bins` without a division.
#[inline]
pub(crate) fn reduce(hash: u32, bins: u32) -> u32 {
    ((u64::from(hash) * u64::from(bins)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fullest(bins: u32, hashes: impl Iterator<Item = u32>) -> usize {
        let mut load = vec![0usize; bins as usize];
        for hash in hashes {
            load[reduce(hash, bins) as usize] += 1;
        }
        load.into_iter().max().unwrap_or(0)
    }

    #[test]
    fn regular_keys_spread_over_the_bins() {
        for bins in [1u32, 3, 128, 1000, 2048] {
            let even = 4096usize.div_ceil(bins as usize);
            for stride in [1u32, 2, 16, 128, 1021, 4096] {
                let tags = fullest(bins, (0..4096).map(|i| both(3, i * stride)));
                let ranks = fullest(bins, (0..4096).map(|i| both(i * stride, 7)));
                let grid = fullest(bins, (0..64 * 64).map(|i| both((i % 64) * stride, i / 64)));
                for load in [tags, ranks, grid] {
                    assert!(
                        load <= even * 2 + 10,
                        "bins {bins} stride {stride}: fullest bin holds {load}"
                    );
                }
            }
        }
    }

    #[test]
    fn reduction_stays_inside() {
        for bins in 1..=70 {
            assert_eq!(reduce(0, bins), 0);
            assert_eq!(reduce(u32::MAX, bins), bins - 1);
        }
    }
}
