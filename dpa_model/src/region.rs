//! Registered sender memory and the emulator's RDMA read engine (O21).
//!
//! A rendezvous message carries a key. After the match the NIC (or, after a fallback, the host)
//! reads the sender's buffer through the key. It then reports the end (FIN) in the region's state,
//! on which the sender waits.
//!
//! **State.** Bits 0..8 status, bits 8.. generation; every path ends in `FREE` with the next
//! generation.
//!
//! | status | means | left by |
//! |---|---|---|
//! | `EXPOSED` | not read yet | the reader; the sender to `ABANDONED`; once the NIC has stopped the sender to `UNREAD` |
//! | `READING` | the host reads it; the NIC reads without this step | the host; the sender to `ABANDONED` |
//! | `READ`, `UNREAD` | the message was received, or given up | the sender, which takes the buffer |
//! | `ABANDONED` | the sender does not want the buffer back | the reader, which frees it |
//!
//! **Growth.** Whether a send can start must not depend on receives (MPI 4.1, section 3.5). So a
//! sender that finds every region in use doubles their number, in its own time and in host memory.
//! The NIC never adds regions. Regions keep their place until the NIC's end.
//!
//! **Invariants.** G1: a region is in the free list exactly while it is `FREE`; the thread that
//! takes it off the list owns it. G2: one reader, the one that has the message, reads a buffer; the
//! buffer is moved or freed only after that reader's end, or by the sender once no reader can come.
//! G3: `chunks[k]` is written once, before any of its regions is in the list.
//!
//! **Orderings.**
//!
//! | writer | reader | publishes |
//! |---|---|---|
//! | `register`: `EXPOSED`, Release | `read`: Acquire | the bytes |
//! | end of reading: state, Release | `take`: Acquire | that the bytes are no longer read |
//! | `free`: list, Release | `take_free`: Acquire | the region, its successor, its chunk; every change of the list is a read-modify-write, so earlier releases as well |
//! | `grow`: growth, Release | `grow`: Acquire | the chunks before |
//!
//! **Progress.** Lock-free, but `register` fails while another sender adds regions; every function
//! that the NIC calls is lock-free.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::number::RegionId;
use crate::sync::{AtomicU32, AtomicU64, Counter, PlainCell, Relaxed};

const FREE: u64 = 0;
const EXPOSED: u64 = 1;
const READING: u64 = 2;
const READ: u64 = 3;
const UNREAD: u64 = 4;
const ABANDONED: u64 = 5;
const STATUS_BITS: u32 = 8;

/// Low bits of the list's head that name a region. The bits above hold a number that grows with
/// every change, so no head recurs.
const INDEX_BITS: u32 = 24;
/// No region.
const END: u64 = (1 << INDEX_BITS) - 1;
/// Maximum number of regions at a time: 64 GiB of messages longer than a page.
pub(crate) const REGIONS_MAX: usize = 1 << (INDEX_BITS - 1);

#[derive(Debug)]
struct Region {
    state: AtomicU64,
    /// The next free region, while this one is free.
    next: AtomicU32,
    bytes: PlainCell<Vec<u8>>,
}

#[derive(Debug)]
pub(crate) struct Regions {
    /// Chunk 0 is made with the NIC; chunk k has as many regions as all chunks before it together.
    chunks: Box<[PlainCell<Box<[Region]>>]>,
    first_bits: u32,
    /// Bit 0: a sender is adding a chunk. Above: number of chunks.
    growth: AtomicU64,
    free: AtomicU64,
    /// Regions added by senders.
    pub(crate) added: Counter,
}

/// Names a registered buffer: index in the low half, generation in the high half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RegionKey(pub(crate) u64);

impl RegionKey {
    fn new(region: RegionId, generation: u64) -> Self {
        Self(generation << 32 | u64::from(region.0))
    }

    fn region(self) -> RegionId {
        RegionId(self.0 as u32)
    }

    fn state(self, status: u64) -> u64 {
        (self.0 >> 32) << STATUS_BITS | status
    }
}

/// How a region ended, as its sender sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// A receive has the data.
    Read(Vec<u8>),
    /// The message was not received.
    Unread(Vec<u8>),
}

impl Ended {
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        match self {
            Self::Read(buffer) | Self::Unread(buffer) => buffer,
        }
    }
}

impl Regions {
    pub(crate) const REGION_BYTES: usize = size_of::<Region>();

    /// `count` is rounded up to a power of two.
    pub(crate) fn new(count: usize) -> Self {
        Self::up_to(REGIONS_MAX, count)
    }

    /// `count` regions at first, at most `most`; both are rounded up to a power of two.
    fn up_to(most: usize, count: usize) -> Self {
        let first_bits = count.next_power_of_two().ilog2();
        let chunks = most.next_power_of_two().ilog2() - first_bits + 1;
        let regions = Self {
            chunks: (0..chunks)
                .map(|_| PlainCell::new(Box::default()))
                .collect(),
            first_bits,
            growth: AtomicU64::new(0),
            free: AtomicU64::new(END),
            added: Counter::default(),
        };
        regions.grow();
        regions
    }

    /// The region with this number, which a key or the list named (G3).
    fn region(&self, region: RegionId) -> &Region {
        let rest = region.0 >> self.first_bits;
        let chunk = (u32::BITS - rest.leading_zeros()) as usize;
        // SAFETY: G3: the chunk is written no more, and the caller acquired it with the region's
        // number.
        let regions = unsafe { self.chunks[chunk].read(|regions| core::ptr::from_ref(&**regions)) };
        // SAFETY: the chunk stays where it is as long as `self` lives.
        let regions = unsafe { &*regions };
        &regions[region.index() - self.first_of(chunk) as usize]
    }

    fn first_of(&self, chunk: usize) -> u32 {
        if chunk == 0 {
            0
        } else {
            1 << (self.first_bits as usize + chunk - 1)
        }
    }

    /// Exposes a buffer. Returns it while another sender adds regions, or if there are too many.
    pub(crate) fn register(&self, bytes: Vec<u8>) -> Result<RegionKey, Vec<u8>> {
        let index = loop {
            match self.take_free() {
                Some(index) => break index,
                None if self.grow() => {}
                None => return Err(bytes),
            }
        };
        let region = self.region(index);
        let generation = ((region.state.load(Relaxed) >> STATUS_BITS) + 1) & u64::from(u32::MAX);
        // SAFETY: G1: this thread owns the region; Acquire in `take_free` ordered it after the last
        // owner.
        unsafe { region.bytes.write(|slot| *slot = bytes) };
        let key = RegionKey::new(index, generation);
        region.state.store(
            key.state(EXPOSED),
            weak!(
                Release,
                "the key reaches its reader by an entry, which is released later"
            ),
        );
        Ok(key)
    }

    /// Passes the exposed bytes to a closure, for the NIC: without the step `READING`. `None`: the
    /// sender has taken its buffer back.
    ///
    /// # Safety
    /// The NIC has not stopped, the caller has the message, and ends the region afterwards.
    pub(crate) unsafe fn read<R>(
        &self,
        key: RegionKey,
        look: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        let region = self.region(key.region());
        let state = region
            .state
            .load(weak!(Acquire, "the key came with an acquired entry"));
        if state != key.state(EXPOSED) && state != key.state(ABANDONED) {
            return None;
        }
        // SAFETY: the caller is the only reader, and while the NIC runs no other thread ends the
        // region (G2).
        Some(unsafe { region.bytes.read(|bytes| look(bytes)) })
    }

    /// The NIC's FIN: gives the buffer back to the sender, or frees it if the sender abandoned it.
    pub(crate) fn finish(&self, key: RegionKey) {
        self.end(key, READ);
    }

    /// Reports to the sender that its message will not be received.
    pub(crate) fn give_up(&self, key: RegionKey) {
        self.end(key, UNREAD);
    }

    /// Passes the exposed bytes to a closure, for the host, which may outlive the NIC, and ends the
    /// region. `None`: the sender has taken its buffer back.
    pub(crate) fn read_on_host<R>(
        &self,
        key: RegionKey,
        look: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        let region = self.region(key.region());
        let (exposed, abandoned) = (key.state(EXPOSED), key.state(ABANDONED));
        let reading = key.state(READING);
        let seen = region.state.compare_exchange(
            exposed,
            reading,
            weak!(Acquire, "the key came with an acquired result"),
            weak!(Acquire, "the key came with an acquired result"),
        );
        if seen != Ok(exposed) && seen != Err(abandoned) {
            return None;
        }
        // SAFETY: READING keeps the sender away, and only this reader leaves ABANDONED (G2).
        let result = unsafe { region.bytes.read(|bytes| look(bytes)) };
        self.end(key, READ);
        Some(result)
    }

    /// The reader's end. Does nothing if the sender has its buffer back.
    fn end(&self, key: RegionKey, status: u64) {
        let region = self.region(key.region());
        let mut seen = region.state.load(Relaxed);
        loop {
            if seen == key.state(ABANDONED) {
                // Acquire: the sender, which saw the bytes last, is done with them.
                let freed = key.state(FREE);
                let acquire = weak!(
                    Acquire,
                    "a sender touches its bytes only before it sends their key"
                );
                if region
                    .state
                    .compare_exchange(seen, freed, acquire, Relaxed)
                    .is_ok()
                {
                    // SAFETY: the one reader has ended, and the sender gave the buffer up (G2).
                    drop(unsafe { region.bytes.write(core::mem::take) });
                    self.free(key.region(), key.region());
                }
                return;
            }
            if seen != key.state(EXPOSED) && seen != key.state(READING) {
                return;
            }
            let ended = key.state(status);
            match region
                .state
                .compare_exchange(seen, ended, weak!(Release), Relaxed)
            {
                Ok(_) => return,
                Err(newer) => seen = newer,
            }
        }
    }

    /// The buffer, once the reader has ended.
    pub(crate) fn take(&self, key: RegionKey) -> Option<Ended> {
        let region = self.region(key.region());
        let state = region.state.load(weak!(Acquire));
        if state != key.state(READ) && state != key.state(UNREAD) {
            return None;
        }
        // SAFETY: only the one holder of the key, this caller, leaves these states; it acquired the
        // reader's end (G2).
        let bytes = unsafe { region.bytes.write(core::mem::take) };
        region.state.store(key.state(FREE), Relaxed);
        self.free(key.region(), key.region());
        Some(if state == key.state(READ) {
            Ended::Read(bytes)
        } else {
            Ended::Unread(bytes)
        })
    }

    /// Gives up the sender's claim to its buffer.
    pub(crate) fn abandon(&self, key: RegionKey) {
        let region = self.region(key.region());
        let mut seen = region.state.load(Relaxed);
        while seen == key.state(EXPOSED) || seen == key.state(READING) {
            let abandoned = key.state(ABANDONED);
            let release = weak!(
                Release,
                "a sender touches its bytes only before it sends their key"
            );
            match region
                .state
                .compare_exchange(seen, abandoned, release, Relaxed)
            {
                Ok(_) => return,
                Err(newer) => seen = newer,
            }
        }
        self.take(key);
    }

    /// Takes back a buffer that no reader has begun to read.
    ///
    /// # Safety
    /// The NIC has stopped, or the message was not sent.
    pub(crate) unsafe fn reclaim(&self, key: RegionKey) -> Option<Ended> {
        let region = self.region(key.region());
        let (exposed, unread) = (key.state(EXPOSED), key.state(UNREAD));
        let _ = region
            .state
            .compare_exchange(exposed, unread, Relaxed, Relaxed);
        self.take(key)
    }

    fn take_free(&self) -> Option<RegionId> {
        let mut head = self.free.load(weak!(Acquire));
        while head & END != END {
            let region = RegionId((head & END) as u32);
            // The link is read before the exchange and may belong to another life of the region;
            // the exchange then fails.
            let next = RegionId(self.region(region).next.load(Relaxed));
            match self.free.compare_exchange(
                head,
                follow(head, next),
                weak!(Acquire, "the head is the one that the load before acquired"),
                weak!(Acquire),
            ) {
                Ok(_) => return Some(region),
                Err(newer) => head = newer,
            }
        }
        None
    }

    /// Puts regions `first` to `last`, linked to each other, on the list.
    fn free(&self, first: RegionId, last: RegionId) {
        let mut head = self.free.load(Relaxed);
        loop {
            let next = if head & END == END {
                RegionId::NIL.0
            } else {
                (head & END) as u32
            };
            self.region(last).next.store(next, Relaxed);
            match self
                .free
                .compare_exchange(head, follow(head, first), weak!(Release), Relaxed)
            {
                Ok(_) => return,
                Err(newer) => head = newer,
            }
        }
    }

    /// Adds a chunk. `false`: another sender is adding one, or there are too many.
    fn grow(&self) -> bool {
        let seen = self.growth.load(Relaxed);
        let acquire = weak!(Acquire, "a chunk is reached by numbers of the list alone");
        let chunk = (seen >> 1) as usize;
        if chunk == self.chunks.len()
            || seen & 1 != 0
            || self
                .growth
                .compare_exchange(seen, seen | 1, acquire, Relaxed)
                .is_err()
        {
            return false;
        }
        let first = self.first_of(chunk);
        let count = self.first_of(chunk + 1) - first;
        let region = |index| Region {
            state: AtomicU64::new(FREE),
            next: AtomicU32::new(index + 1),
            bytes: PlainCell::new(Vec::new()),
        };
        let regions = (first..first + count).map(region).collect();
        // SAFETY: bit 0 of `growth` makes this thread the only writer of a chunk, and no thread
        // has a key of a region of this one yet (G3).
        unsafe { self.chunks[chunk].write(|place| *place = regions) };
        self.free(RegionId(first), RegionId(first + count - 1));
        if chunk > 0 {
            self.added.add(u64::from(count));
        }
        let release = weak!(Release, "a chunk is reached by numbers of the list alone");
        self.growth.store((chunk as u64 + 1) << 1, release);
        true
    }
}

fn follow(head: u64, RegionId(next): RegionId) -> u64 {
    ((head >> INDEX_BITS) + 1) << INDEX_BITS | u64::from(next) & END
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a message as the NIC does.
    fn receive(regions: &Regions, key: RegionKey) -> Option<Vec<u8>> {
        // SAFETY: the test has no NIC that could stop, and one reader.
        let bytes = unsafe { regions.read(key, <[u8]>::to_vec) };
        regions.finish(key);
        bytes
    }

    fn free(regions: &Regions) -> usize {
        let keys: Vec<_> = core::iter::from_fn(|| regions.take_free()).collect();
        keys.iter().for_each(|&index| regions.free(index, index));
        keys.len()
    }

    #[test]
    fn a_region_goes_round() {
        let regions = Regions::new(1);
        let key = regions.register(vec![1, 2, 3]).unwrap();
        assert_eq!(regions.take(key), None);
        assert_eq!(receive(&regions, key), Some(vec![1, 2, 3]));
        assert_eq!(receive(&regions, key), None, "it has ended");
        assert_eq!(regions.take(key), Some(Ended::Read(vec![1, 2, 3])));
        let next = regions.register(vec![5]).unwrap();
        assert_eq!(
            (next.region(), free(&regions)),
            (key.region(), 0),
            "the same region"
        );
        assert_eq!(
            receive(&regions, key),
            None,
            "a stale key reads nothing, and ends nothing"
        );
        assert_eq!(regions.read_on_host(next, <[u8]>::to_vec), Some(vec![5]));
        assert_eq!(regions.take(next), Some(Ended::Read(vec![5])));
        let last = regions.register(vec![6]).unwrap();
        regions.give_up(last);
        assert_eq!(regions.read_on_host(last, <[u8]>::len), None);
        assert_eq!(regions.take(last), Some(Ended::Unread(vec![6])));
        assert_eq!(free(&regions), 1);
    }

    #[test]
    fn what_the_sender_gave_up_is_freed_by_the_reader() {
        let regions = Regions::new(1);
        for on_host in [false, true] {
            let key = regions.register(vec![7; 100]).unwrap();
            regions.abandon(key);
            let read = if on_host {
                regions.read_on_host(key, <[u8]>::len)
            } else {
                receive(&regions, key).map(|bytes| bytes.len())
            };
            assert_eq!((read, free(&regions)), (Some(100), 1));
            // SAFETY: one thread.
            let held = unsafe { regions.region(key.region()).bytes.read(Vec::capacity) };
            assert_eq!(held, 0, "the memory of a delivered message");
        }
        let key = regions.register(vec![8]).unwrap();
        receive(&regions, key);
        regions.abandon(key);
        assert_eq!(free(&regions), 1);
    }

    #[test]
    fn senders_add_regions_when_all_are_in_use() {
        let regions = Regions::new(3);
        let keys: Vec<_> = (0..100)
            .map(|number| regions.register(vec![number]).unwrap())
            .collect();
        assert_eq!(free(&regions), 128 - 100);
        for (number, &key) in (0..).zip(&keys) {
            assert_eq!(receive(&regions, key), Some(vec![number]));
            assert_eq!(regions.take(key), Some(Ended::Read(vec![number])));
        }
        assert_eq!(free(&regions), 128);
        (0..1000).for_each(|_| regions.abandon_at_once());
        assert_eq!(free(&regions), 128, "as many as were ever in use at once");
    }

    #[test]
    fn no_two_lives_of_a_region_have_the_same_key() {
        let regions = Regions::new(1);
        let mut keys: Vec<RegionKey> = Vec::new();
        for life in 0..20 {
            let key = regions.register(vec![life]).unwrap();
            assert!(!keys.contains(&key), "life {life}");
            keys.push(key);
            regions.finish(key);
            assert_eq!(regions.take(key).map(Ended::into_buffer), Some(vec![life]));
        }
    }

    #[test]
    fn there_are_not_more_regions_than_the_most() {
        let regions = Regions::up_to(4, 2);
        for number in 0..4 {
            regions.register(vec![number]).expect("one of four");
        }
        assert_eq!(
            regions.register(vec![4]),
            Err(vec![4]),
            "the buffer comes back"
        );
        assert_eq!((regions.added.get(), regions.grow()), (2, false));
    }

    #[test]
    fn one_sender_adds_regions_at_a_time() {
        let regions = Regions::up_to(4, 1);
        let key = regions.register(vec![1]).expect("the first");
        regions
            .growth
            .store(regions.growth.load(Relaxed) | 1, Relaxed);
        assert_eq!(
            regions.register(vec![2]),
            Err(vec![2]),
            "another sender adds some"
        );
        regions
            .growth
            .store(regions.growth.load(Relaxed) & !1, Relaxed);
        let next = regions.register(vec![2]).expect("the other has ended");
        assert_ne!(key, next);
    }

    impl Regions {
        fn abandon_at_once(&self) {
            let key = self.register(Vec::new()).unwrap();
            self.abandon(key);
            self.finish(key);
        }
    }
}
