//! Registered sender memory and the emulator's RDMA read engine (O21).
//!
//! A rendezvous message carries a key; after the match the NIC (or, after a fallback, the host)
//! reads the sender's buffer through the key and then reports the end (FIN) in the region's state,
//! on which the sender waits.
//!
//! **State.** bits 0..8 status, bits 8.. generation. `FREE -> CLAIMED -> EXPOSED -> READ -> FREE`,
//! the last with the next generation. The sender may abandon an exposed region:
//! `EXPOSED -> ABANDONED`, then the reader's end makes it `ORPHAN`, which `register` takes like
//! `FREE`.
//!
//! **Orderings.** `register`: EXPOSED, Release -> `read`: Acquire publishes the bytes. `finish`:
//! READ/ORPHAN, Release -> `take`/`register`: Acquire publishes the end of reading.
//!
//! **Progress.** `register` scans at most all regions once; everything else is wait-free.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::sync::{Acquire, AtomicU64, Ordering, PlainCell, Relaxed, Release};

const FREE: u64 = 0;
const CLAIMED: u64 = 1;
const EXPOSED: u64 = 2;
const READ: u64 = 3;
const ABANDONED: u64 = 4;
const ORPHAN: u64 = 5;
const STATUS_BITS: u32 = 8;
const STATUS: u64 = (1 << STATUS_BITS) - 1;

#[derive(Debug)]
struct Region {
    state: AtomicU64,
    bytes: PlainCell<Vec<u8>>,
}

#[derive(Debug)]
pub(crate) struct Regions {
    regions: Box<[Region]>,
    /// Where the next search for a free region begins; only a hint.
    next: AtomicU64,
}

/// Names a registered buffer: index in the low half, generation in the high half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RegionKey(pub(crate) u64);

impl RegionKey {
    fn new(index: usize, generation: u64) -> Self {
        Self(generation << 32 | index as u64)
    }

    fn index(self) -> usize {
        (self.0 & u64::from(u32::MAX)) as usize
    }

    fn state(self, status: u64) -> u64 {
        (self.0 >> 32) << STATUS_BITS | status
    }
}

impl Regions {
    pub(crate) const REGION_BYTES: usize = size_of::<Region>();

    pub(crate) fn new(count: usize) -> Self {
        let region = || Region { state: AtomicU64::new(FREE), bytes: PlainCell::new(Vec::new()) };
        Self { regions: (0..count).map(|_| region()).collect(), next: AtomicU64::new(0) }
    }

    /// Exposes a buffer; gives it back when every region is in use.
    pub(crate) fn register(&self, bytes: Vec<u8>) -> Result<RegionKey, Vec<u8>> {
        let first = self.next.load(Relaxed) as usize;
        for step in 0..self.regions.len() {
            let index = (first + step) % self.regions.len();
            let region = &self.regions[index];
            let seen = region.state.load(Acquire);
            if !matches!(seen & STATUS, FREE | ORPHAN) {
                continue;
            }
            let claimed = seen & !STATUS | CLAIMED;
            if region.state.compare_exchange(seen, claimed, Acquire, Relaxed).is_err() {
                continue;
            }
            // 24 bits of generation: enough that no late key meets its successor.
            let generation = ((seen >> STATUS_BITS) + 1) & 0xFF_FFFF;
            // SAFETY: the exchange to CLAIMED makes this thread the only user of `bytes`; Acquire
            // ordered it after the last reader's end.
            unsafe { region.bytes.write(|slot| *slot = bytes) };
            let key = RegionKey::new(index, generation);
            region.state.store(key.state(EXPOSED), weak!(ExposeRelaxed, Release));
            self.next.store(index as u64 + 1, Relaxed);
            return Ok(key);
        }
        Err(bytes)
    }

    /// RDMA read: looks at the exposed bytes. `None`: no such region (a stale or made-up key).
    pub(crate) fn read<R>(&self, key: RegionKey, look: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let region = self.regions.get(key.index())?;
        let state = region.state.load(Acquire);
        if state != key.state(EXPOSED) && state != key.state(ABANDONED) {
            return None;
        }
        // SAFETY: while EXPOSED or ABANDONED nobody writes `bytes`; only `finish` ends that, and
        // the one reader of a message calls it after this.
        Some(unsafe { region.bytes.read(|bytes| look(bytes)) })
    }

    /// FIN: the sender may have its buffer back.
    pub(crate) fn finish(&self, key: RegionKey) {
        let Some(region) = self.regions.get(key.index()) else { return };
        let exposed = key.state(EXPOSED);
        if region
            .state
            .compare_exchange(exposed, key.state(READ), weak!(FinRelaxed, Release), Relaxed)
            .is_err()
        {
            let abandoned = key.state(ABANDONED);
            let _ = region.state.compare_exchange(abandoned, key.state(ORPHAN), Release, Relaxed);
        }
    }

    /// The buffer, once the NIC has read it.
    pub(crate) fn take(&self, key: RegionKey) -> Option<Vec<u8>> {
        let region = self.regions.get(key.index())?;
        if region.state.load(Acquire) != key.state(READ) {
            return None;
        }
        // SAFETY: READ is only left by the one holder of the key, this caller; the reader's end was
        // acquired.
        let bytes = unsafe { region.bytes.write(core::mem::take) };
        region.state.store(key.state(FREE), Release);
        Some(bytes)
    }

    /// The sender no longer wants the buffer back.
    pub(crate) fn abandon(&self, key: RegionKey) {
        let Some(region) = self.regions.get(key.index()) else { return };
        let (exposed, abandoned) = (key.state(EXPOSED), key.state(ABANDONED));
        if region.state.compare_exchange(exposed, abandoned, Ordering::AcqRel, Relaxed).is_err() {
            self.take(key);
        }
    }

    /// Takes an exposed buffer back although nobody read it.
    ///
    /// # Safety
    /// No reader is left: the NIC has stopped and the host has closed its port.
    pub(crate) unsafe fn reclaim(&self, key: RegionKey) -> Option<Vec<u8>> {
        let region = self.regions.get(key.index())?;
        let (exposed, read) = (key.state(EXPOSED), key.state(READ));
        let _ = region.state.compare_exchange(exposed, read, Ordering::AcqRel, Relaxed);
        self.take(key)
    }
}

#[cfg(all(test, not(any(dpamatch_loom, dpamatch_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_region_goes_round() {
        let regions = Regions::new(1);
        let key = regions.register(vec![1, 2, 3]).unwrap();
        assert_eq!(regions.register(vec![4]), Err(vec![4]));
        assert_eq!(regions.take(key), None);
        assert_eq!(regions.read(key, <[u8]>::to_vec), Some(vec![1, 2, 3]));
        regions.finish(key);
        assert_eq!(regions.read(key, <[u8]>::len), None);
        assert_eq!(regions.take(key), Some(vec![1, 2, 3]));
        let next = regions.register(vec![5]).unwrap();
        assert_ne!(next, key);
        assert_eq!(regions.read(key, <[u8]>::len), None, "a stale key reads nothing");
        regions.abandon(next);
        assert_eq!(regions.read(next, <[u8]>::len), Some(1));
        regions.finish(next);
        assert!(regions.register(vec![6]).is_ok(), "an orphan is used again");
        assert_eq!(regions.read(RegionKey(77), <[u8]>::len), None);
    }
}
