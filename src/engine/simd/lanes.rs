//! Packed keys and masks compared sixteen at a time.
//!
//! A [`Lanes`] holds sixteen 32-bit words. Lane i *answers* a key if `(keys[i] ^ key) & masks[i]`
//! is 0: the two agree in every bit of the mask. [`Comparer::first_answer`] walks blocks of sixteen
//! until one has a lane that answers.
//!
//! # How it is vectorised
//! There is one loop, written in plain code whose shape compilers turn into vector instructions: an
//! *or* over sixteen equal tests without a branch. On x86-64 it is compiled twice, for the SSE2
//! that every such processor has and for AVX2, chosen at run time by the processor's features; on
//! aarch64 NEON is always there; elsewhere it may be scalar. Hand-written intrinsics would be the
//! same instructions: with rustc 1.95 the loop over masked blocks is 12 instructions for sixteen
//! entries under AVX2 (2 xor, 2 and, 2 compares, pack, move mask, 4 of the loop) and 29 under SSE2;
//! `cargo rustc -p dpamatch --lib --release -- --emit asm` shows them. [`Comparer::scalar`] tests
//! one lane after the other and stops at the first that answers, for comparison.
//!
//! Entering code compiled for AVX2 is the one step of this library that needs `unsafe`.

use std::borrow::Borrow;

/// Words in a block.
pub(crate) const LANES: usize = 16;

/// Sixteen words, in one cache line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, align(64))]
pub(crate) struct Lanes(pub(crate) [u32; LANES]);

impl Lanes {
    /// Sixteen times the same word.
    pub(crate) const fn splat(word: u32) -> Self {
        Self([word; LANES])
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    pub(crate) block: usize,
    /// Its lanes that answer, lane 0 in the lowest bit; at least one.
    pub(crate) lanes: u16,
}

/// A way to compare that this processor has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Comparer(Instructions);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Instructions {
    Scalar,
    Baseline,
    /// Only made if the processor has AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Comparer {
    /// The best that this processor has.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Self(Instructions::Avx2);
        }
        Self(Instructions::Baseline)
    }

    /// One lane after the other.
    pub(crate) fn scalar() -> Self {
        Self(Instructions::Scalar)
    }

    /// All that this processor has.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![
            Self(Instructions::Scalar),
            Self(Instructions::Baseline),
            Self::detect(),
        ];
        all.dedup();
        all
    }

    /// The first block from number `from` on that has a lane which answers `key`. `masks` are those
    /// of the blocks from there on; further blocks of either are ignored.
    #[inline(always)]
    pub(crate) fn first_answer(
        self,
        keys: &[Lanes],
        masks: impl Iterator<Item: Borrow<Lanes>>,
        key: u32,
        from: usize,
    ) -> Option<Answer> {
        let keys = keys.get(from..)?;
        let found = match self.0 {
            Instructions::Scalar => one_by_one(keys, masks, key),
            Instructions::Baseline => at_once(keys, masks, key),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => {
                // SAFETY: `Instructions::Avx2` is private and only made by `detect` after the
                // processor was asked.
                unsafe { at_once_avx2(keys, masks, key) }
            }
        };
        found.map(|answer| Answer {
            block: answer.block + from,
            ..answer
        })
    }
}

/// Which lanes answer. Only for a block that is known to have one: bit by bit.
#[inline(always)]
fn answers(keys: &Lanes, masks: &Lanes, key: u32) -> u16 {
    let lanes = keys.0.iter().zip(&masks.0).enumerate();
    lanes.fold(0, |lanes, (i, (word, mask))| {
        lanes | u16::from((word ^ key) & mask == 0) << i
    })
}

/// The loop. No branch inside a block: that is what lets it become vector instructions.
#[inline(always)]
fn at_once(keys: &[Lanes], masks: impl Iterator<Item: Borrow<Lanes>>, key: u32) -> Option<Answer> {
    for (block, (keys, masks)) in keys.iter().zip(masks).enumerate() {
        let masks: &Lanes = masks.borrow();
        let mut any = false;
        for i in 0..LANES {
            any |= (keys.0[i] ^ key) & masks.0[i] == 0;
        }
        if any {
            return Some(Answer {
                block,
                lanes: answers(keys, masks, key),
            });
        }
    }
    None
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn at_once_avx2(
    keys: &[Lanes],
    masks: impl Iterator<Item: Borrow<Lanes>>,
    key: u32,
) -> Option<Answer> {
    at_once(keys, masks, key)
}

fn one_by_one(
    keys: &[Lanes],
    masks: impl Iterator<Item: Borrow<Lanes>>,
    key: u32,
) -> Option<Answer> {
    let mut blocks = keys.iter().zip(masks).enumerate();
    blocks.find_map(|(block, (keys, masks))| {
        let masks: &Lanes = masks.borrow();
        let found = keys
            .0
            .iter()
            .zip(&masks.0)
            .any(|(word, mask)| (word ^ key) & mask == 0);
        found.then(|| Answer {
            block,
            lanes: answers(keys, masks, key),
        })
    })
}

#[cfg(test)]
mod tests {
    use std::iter::repeat;

    use super::*;

    /// A small generator is enough: words of few bits, so that answers are neither rare nor the
    /// rule.
    struct Words(u64);

    impl Words {
        fn next(&mut self, bits: u32) -> u32 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (self.0 >> 33) as u32 & ((1 << bits) - 1)
        }

        fn blocks(&mut self, count: usize, bits: u32) -> Vec<Lanes> {
            (0..count)
                .map(|_| Lanes(std::array::from_fn(|_| self.next(bits))))
                .collect()
        }
    }

    /// What the first answer is, said as simply as possible.
    fn expected(
        keys: &[Lanes],
        mask: impl Fn(usize, usize) -> u32,
        key: u32,
        from: usize,
    ) -> Option<Answer> {
        for (block, words) in keys.iter().enumerate().skip(from) {
            let mut lanes = 0;
            for (i, word) in words.0.iter().enumerate() {
                if word & mask(block, i) == key & mask(block, i) {
                    lanes |= 1 << i;
                }
            }
            if lanes != 0 {
                return Some(Answer { block, lanes });
            }
        }
        None
    }

    #[test]
    fn every_way_gives_the_same_answer() {
        let mut words = Words(1);
        let mut hits = [0; 2];
        for round in 0..3_000 {
            let bits = 4 + round % 8;
            let count = words.next(4) as usize;
            let (keys, masks) = (words.blocks(count, bits), words.blocks(count, bits + 2));
            let (key, mask, from) = (
                words.next(bits),
                words.next(bits) | 1,
                words.next(2) as usize,
            );
            let wanted = expected(&keys, |block, i| masks[block].0[i], key, from);
            let wanted_under = expected(&keys, |_, _| mask, key, from);
            hits = [
                hits[0] + u32::from(wanted.is_some()),
                hits[1] + u32::from(wanted_under.is_some()),
            ];
            for way in Comparer::all() {
                let found = way.first_answer(&keys, masks.iter().skip(from), key, from);
                assert_eq!(found, wanted, "{way:?}, round {round}");
                let found = way.first_answer(&keys, repeat(Lanes::splat(mask)), key, from);
                assert_eq!(found, wanted_under, "{way:?}, round {round}");
            }
        }
        assert!(
            hits.iter().all(|hits| (500..2_900).contains(hits)),
            "{hits:?}"
        );
    }

    #[test]
    fn each_lane_alone_and_the_sign_bit() {
        for lane in 0..LANES {
            let mut keys = [Lanes::splat(0); 3];
            keys[2].0[lane] = 0x8000_0000;
            let wanted = Answer {
                block: 2,
                lanes: 1 << lane,
            };
            for way in Comparer::all() {
                let first =
                    |key, from| way.first_answer(&keys, repeat(Lanes::splat(u32::MAX)), key, from);
                assert_eq!(
                    [0, 2].map(|from| first(0x8000_0000, from)),
                    [Some(wanted); 2],
                    "{way:?}"
                );
                assert_eq!(
                    [3, 9].map(|from| first(0x8000_0000, from)),
                    [None; 2],
                    "{way:?}"
                );
                assert_eq!(first(1, 0), None, "{way:?}");
            }
        }
    }
}
