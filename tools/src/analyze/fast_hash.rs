//! A quick hasher for small keys of numbers: the tables here are asked once or twice per call of a
//! trace.
//!
//! A trace made to collide slows the analysis of itself, to the square of its calls at worst: so
//! keys are mixed with a number that each process draws anew.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// Builds [`Fast`] hashers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Build(u64);

impl Default for Build {
    fn default() -> Self {
        static SECRET: OnceLock<u64> = OnceLock::new();
        Self(*SECRET.get_or_init(|| RandomState::new().hash_one(0_u64)))
    }
}

impl BuildHasher for Build {
    type Hasher = Fast;

    fn build_hasher(&self) -> Fast {
        Fast(self.0)
    }
}

/// One multiply and fold per number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fast(u64);

impl Fast {
    #[inline]
    fn mix(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value) * 0x9E37_79B9_7F4A_7C15_u128;
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for Fast {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.mix(u64::from(value));
    }

    #[inline]
    fn write_i32(&mut self, value: i32) {
        self.mix(u64::from(value as u32));
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }
}
