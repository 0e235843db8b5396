//! The heap of a process: one mapping, with blocks that the host allocates.

use crate::machine::lock;
use crate::status::Refusal;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// Bytes between two blocks that belong to nobody: the red zone in which overruns are found.
const GAP: u64 = 64;
/// Freed blocks, and their bytes, that stay unused so that a use is found. The oldest leave first.
const FREED: usize = 1 << 10;
const FREED_BYTES: u64 = 64 << 20;
/// Most lengths of blocks of which full parts of the heap are remembered.
const LENGTHS: usize = 256;
/// Alignment of blocks, a line of the cache.
const ALIGN: u64 = 64;

/// Memory of a process. It stays mapped as long as a handle to it lives.
pub(crate) struct Heap {
    base: u64,
    bytes: u64,
    blocks: Mutex<Blocks>,
    /// Blocks freed so far: what others know of blocks holds for one generation.
    pub(crate) generation: AtomicU64,
    /// Whether there are blocks that nobody has written yet, of those that are watched for it.
    has_unwritten: AtomicBool,
}

/// All heaps, to name the owner of an address.
static HEAPS: Mutex<Vec<Weak<Heap>>> = Mutex::new(Vec::new());

/// Whether the address is of any process's heap.
pub(crate) fn is_of_a_heap(address: u64) -> bool {
    let mut heaps = lock(&HEAPS);
    heaps.retain(|heap| heap.strong_count() > 0);
    let live: Vec<_> = heaps.iter().filter_map(Weak::upgrade).collect();
    drop(heaps);
    live.iter().any(|heap| heap.has(address))
}

#[derive(Default)]
struct Blocks {
    /// Length of each block by its address, as requested.
    used: BTreeMap<u64, u64>,
    /// Blocks that were freed and are not used again yet, and their addresses, oldest first.
    freed: BTreeMap<u64, u64>,
    order: VecDeque<u64>,
    freed_bytes: u64,
    unwritten: BTreeSet<u64>,
    /// For each length: no block of it fits behind a block below this address. So a search begins
    /// there, and programs with thousands of queues start in linear time.
    full_below: HashMap<u64, u64>,
    /// Blocks that searches looked at.
    #[cfg(test)]
    looks: u64,
}

/// The block of a map that has an address.
fn block_at(blocks: &BTreeMap<u64, u64>, address: u64) -> Option<Range<u64>> {
    let (&start, &length) = blocks.range(..=address).next_back()?;
    Some(start..start + length).filter(|block| block.contains(&address))
}

impl Blocks {
    /// Where a new block fits: the lowest place behind a block.
    fn room(&mut self, bytes: u64, align: u64, heap: Range<u64>) -> Option<u64> {
        #[cfg(test)]
        let looks = std::cell::Cell::new(0);
        let from = self.full_below.get(&bytes).copied();
        let fits = |at: u64| {
            #[cfg(test)]
            looks.set(looks.get() + 1);
            let end = at.checked_add(bytes)?;
            let is_free = |blocks: &BTreeMap<u64, u64>| {
                let before = blocks.range(..end + GAP).next_back();
                before.is_none_or(|(&start, &length)| start + length + GAP <= at)
            };
            (end + GAP <= heap.end && is_free(&self.used) && is_free(&self.freed)).then_some(at)
        };
        let behind =
            |(&start, &length): (&u64, &u64)| (start + length + GAP).next_multiple_of(align);
        let first = match from {
            None => fits(heap.start + align),
            Some(_) => None,
        };
        let place = first.or_else(|| {
            // Both maps are in order, so the lowest place of either is the lowest of all.
            let from = from.unwrap_or(0);
            let lowest =
                |blocks: &BTreeMap<u64, u64>| blocks.range(from..).map(behind).find_map(fits);
            let places = [lowest(&self.used), lowest(&self.freed)];
            places.into_iter().flatten().min()
        });
        #[cfg(test)]
        {
            self.looks += looks.get();
        }
        if let Some(place) = place {
            if self.full_below.len() == LENGTHS {
                self.full_below.clear();
            }
            // Blocks only fill gaps until one is freed: see `opens`.
            self.full_below.insert(bytes, place);
        }
        place
    }

    /// The bytes at an address are free: a block may fit behind the block before them.
    fn opens(&mut self, address: u64) {
        let before = |blocks: &BTreeMap<u64, u64>| {
            blocks.range(..address).next_back().map(|(&start, _)| start)
        };
        match before(&self.used).max(before(&self.freed)) {
            Some(before) => {
                for below in self.full_below.values_mut() {
                    *below = before.min(*below);
                }
            }
            // The gap at the heap's start is behind no block.
            None => self.full_below.clear(),
        }
    }

    fn retire(&mut self, address: u64, length: u64) {
        self.freed.insert(address, length);
        self.order.push_back(address);
        self.freed_bytes += length;
        while self.order.len() > FREED || self.freed_bytes > FREED_BYTES {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            self.freed_bytes -= self.freed.remove(&oldest).unwrap_or(0);
            self.opens(oldest);
        }
    }

    fn reuse_all(&mut self) {
        self.freed.clear();
        self.full_below.clear();
        self.order.clear();
        self.freed_bytes = 0;
    }

    /// The block that an address outside of all blocks is nearest to, if one is near.
    fn explain(&self, address: u64) -> Option<String> {
        if let Some(freed) = block_at(&self.freed, address) {
            let length = freed.end - freed.start;
            return Some(format!("in one of {length} bytes that was freed"));
        }
        let behind = self.used.range(..=address).next_back();
        let behind = behind.map(|(&start, &length)| (address - start, length));
        let before = self.used.range(address + 1..).next();
        let before = before.map(|(&start, &length)| (start - address, length));
        let near_behind = behind.filter(|&(offset, length)| offset < length + GAP);
        let near_before = before.filter(|&(ahead, _)| {
            let past = near_behind.map(|(offset, length)| offset.saturating_sub(length));
            ahead <= GAP && past.is_none_or(|past| ahead <= past)
        });
        if let Some((ahead, length)) = near_before {
            let plural = if ahead == 1 { "" } else { "s" };
            return Some(format!("{ahead} byte{plural} before one of {length} bytes"));
        }
        near_behind.map(|(offset, length)| format!("at byte {offset} of one of {length} bytes"))
    }
}

/// What the API says of a heap.
#[repr(C)]
pub(crate) struct HeapInfo {
    base: u64,
    size: u64,
    requested: u64,
    allocated: u64,
    free: u64,
}

impl Heap {
    /// Maps a heap. Pages cost memory when they are touched.
    pub(crate) fn new(bytes: u64) -> Result<Arc<Self>, Refusal> {
        // Addresses are those of other runs if they are free, so that runs can be compared.
        let wish = 0x0000_2000_0000_0000_usize as *mut libc::c_void;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping; the wish without MAP_FIXED replaces none.
        let base = unsafe {
            libc::mmap(
                wish,
                bytes as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(format!("no memory for a heap of {bytes} bytes").into());
        }
        let (blocks, generation) = (Mutex::default(), AtomicU64::new(0));
        let has_unwritten = AtomicBool::new(false);
        let made = Arc::new(Self {
            base: base as u64,
            bytes,
            blocks,
            generation,
            has_unwritten,
        });
        lock(&HEAPS).push(Arc::downgrade(&made));
        Ok(made)
    }

    /// Allocates a block. Complexity: logarithmic while nothing is freed, else linear in the
    /// blocks.
    pub(crate) fn allocate(&self, bytes: u64) -> Result<u64, Refusal> {
        let mut blocks = lock(&self.blocks);
        // A page for large blocks, since drivers demand it of rings.
        let align = if bytes >= 4096 { 4096 } else { ALIGN };
        let heap = self.base..self.base + self.bytes;
        let mut at = blocks.room(bytes, align, heap.clone());
        if at.is_none() {
            blocks.reuse_all();
            at = blocks.room(bytes, align, heap);
        }
        let all = self.bytes;
        let full = || format!("no room for {bytes} bytes in a heap of {all} (DPA_HEAP_MIB)");
        let at = at.ok_or_else(full)?;
        blocks.used.insert(at, bytes);
        drop(blocks);
        crate::check::race::nic_writes(at as usize, bytes as usize);
        Ok(at)
    }

    pub(crate) fn free(&self, address: u64) -> Result<(), Refusal> {
        let mut blocks = lock(&self.blocks);
        let Some(length) = blocks.used.remove(&address) else {
            let was_freed = blocks.freed.contains_key(&address);
            let what = if was_freed {
                "is a block that was freed before"
            } else {
                "is not the address of a block"
            };
            return Err(format!("{address:#x} {what}").into());
        };
        blocks.retire(address, length);
        blocks.unwritten.remove(&address);
        // ordering: as in `in_block`.
        self.generation.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// From now on, a read of this block before its first write is an error.
    pub(crate) fn expect_writes(&self, block: u64) {
        lock(&self.blocks).unwritten.insert(block);
        // ordering: a thread that races with the host may miss the block once; the blocks have a
        // lock.
        self.has_unwritten.store(true, Ordering::Release);
    }

    /// A part of a block is written. Answers whether it is the first.
    pub(crate) fn is_written(&self, address: u64) -> bool {
        // ordering: as above.
        if !self.has_unwritten.load(Ordering::Acquire) {
            return false;
        }
        let mut blocks = lock(&self.blocks);
        let block = block_at(&blocks.used, address);
        let was_first = block.is_some_and(|block| blocks.unwritten.remove(&block.start));
        let is_left = !blocks.unwritten.is_empty();
        // ordering: as above, and with the lock, so that it hides no block.
        self.has_unwritten.store(is_left, Ordering::Release);
        was_first
    }

    /// The host writes a part of a block.
    pub(crate) fn host_writes(&self, address: u64, bytes: u64) {
        self.is_written(address);
        crate::check::race::host_writes(address as usize, bytes as usize);
    }

    pub(crate) fn has(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.bytes
    }

    pub(crate) fn range(&self) -> Range<usize> {
        self.base as usize..(self.base + self.bytes) as usize
    }

    pub(crate) fn block(&self, address: u64) -> Option<Range<u64>> {
        block_at(&lock(&self.blocks).used, address)
    }

    /// What an access is, which is not within one block.
    pub(crate) fn explain(&self, address: u64) -> String {
        let near = lock(&self.blocks).explain(address);
        let near = near.map(|near| format!(": {near}")).unwrap_or_default();
        format!(", in no block of the heap{near}")
    }

    pub(crate) fn place(self: &Arc<Self>, address: u64, bytes: u64) -> Result<Place, Refusal> {
        let end = address.checked_add(bytes);
        if address < self.base || end.is_none_or(|end| end > self.base + self.bytes) {
            return Err(format!("{address:#x}: {bytes} bytes are not in the heap").into());
        }
        Ok(Place {
            at: address as *mut u8,
            bytes,
            _heap: Arc::clone(self),
        })
    }

    /// The place of `bytes` bytes at `address`, all in one block that is allocated.
    pub(crate) fn in_block(self: &Arc<Self>, address: u64, bytes: u64) -> Result<Place, Refusal> {
        if self
            .block(address)
            .is_none_or(|block| block.end - address < bytes)
        {
            return Err(format!("{address:#x}: {bytes} bytes are not in one block").into());
        }
        self.place(address, bytes)
    }

    pub(crate) fn info(&self) -> HeapInfo {
        let blocks = lock(&self.blocks);
        let requested = blocks.used.values().sum();
        let allocated = blocks
            .used
            .values()
            .map(|bytes| bytes.next_multiple_of(ALIGN))
            .sum();
        let (base, size, free) = (self.base, self.bytes, self.bytes.saturating_sub(allocated));
        HeapInfo {
            base,
            size,
            requested,
            allocated,
            free,
        }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; no place points into it any more, since each holds
        // the heap.
        unsafe { libc::munmap(self.base as *mut libc::c_void, self.bytes as usize) };
    }
}

/// Bytes of a heap, which they keep mapped. Device code changes them at any time.
#[derive(Clone)]
pub(crate) struct Place {
    at: *mut u8,
    bytes: u64,
    _heap: Arc<Heap>,
}

// SAFETY: a place is an address; all accesses go through raw pointers and make no references.
unsafe impl Send for Place {}

impl Place {
    /// The address of `bytes` bytes from `offset` on. Both lie in the place.
    pub(crate) fn at(&self, offset: u64, bytes: u64) -> *mut u8 {
        assert!(
            offset + bytes <= self.bytes,
            "a queue's index is masked by its depth"
        );
        // SAFETY: within the place, as just asserted.
        unsafe { self.at.add(offset as usize) }
    }

    /// A part of it.
    pub(crate) fn part(&self, offset: u64, bytes: u64) -> Self {
        Self {
            at: self.at(offset, bytes),
            bytes,
            _heap: Arc::clone(&self._heap),
        }
    }

    /// A big-endian word of a doorbell record.
    pub(crate) fn word(&self, index: u64) -> u32 {
        let at = self.at(index * 4, 4).cast::<AtomicU32>();
        // SAFETY: in the heap; records are aligned to 4, which `record` checks.
        let record = unsafe { &*at };
        // ordering: the acquire of the release with which device code gives entries back.
        u32::from_be(record.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block whose first write is awaited is freed, and another one gets its address: of that one
    /// no write is awaited.
    #[test]
    fn a_freed_block_awaits_no_write() {
        let heap = Heap::new(1 << 16).expect("a heap");
        let [first, kept] = [(); 2].map(|()| heap.allocate(64).expect("room"));
        heap.expect_writes(first);
        heap.expect_writes(kept);
        heap.free(first).expect("a block");
        let mut blocks = (0..1 << 10).map_while(|_| heap.allocate(64).ok());
        assert!(
            blocks.any(|block| block == first),
            "its place is used again"
        );
        assert!(!heap.is_written(first));
        assert_eq!([(); 2].map(|()| heap.is_written(kept + 63)), [true, false]);
    }

    #[test]
    fn bytes_are_counted_as_asked_for_and_as_taken() {
        let heap = Heap::new(1 << 16).expect("a heap");
        let counts = |requested: u64, allocated: u64| {
            let info = heap.info();
            let now = [info.size, info.requested, info.allocated, info.free];
            assert_eq!(now, [1 << 16, requested, allocated, (1 << 16) - allocated]);
        };
        counts(0, 0);
        let blocks = [1, 63, 64, 65].map(|bytes| heap.allocate(bytes).expect("room"));
        counts(193, 320);
        heap.free(blocks[3]).expect("a block");
        counts(128, 192);
        assert!(heap.free(blocks[3]).is_err() && heap.free(blocks[0] + 1).is_err());
        counts(128, 192);
    }

    /// What a search from the heap's start would find.
    fn lowest(blocks: &Blocks, bytes: u64, align: u64, heap: Range<u64>) -> Option<u64> {
        let mut at = heap.start + align;
        let all = || blocks.used.iter().chain(&blocks.freed);
        while at + bytes + GAP <= heap.end {
            let hit = all()
                .find(|&(&start, &length)| start < at + bytes + GAP && at < start + length + GAP);
            match hit {
                None => return Some(at),
                Some((&start, &length)) => at = (start + length + GAP).next_multiple_of(align),
            }
        }
        None
    }

    #[test]
    fn a_block_is_where_a_search_from_the_start_finds_room() {
        let heap = 0x1000..0x1000 + (1 << 20);
        let (mut blocks, mut state) = (Blocks::default(), 7_u64);
        let mut roll = |end: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % end
        };
        let mut full = 0;
        for _ in 0..4_000 {
            let bytes = [64, 100, 1000, 4096, 9000][roll(5) as usize];
            let align = if bytes >= 4096 { 4096 } else { ALIGN };
            let expected = lowest(&blocks, bytes, align, heap.clone());
            let found = blocks.room(bytes, align, heap.clone());
            assert_eq!(found, expected);
            match found {
                Some(at) => drop(blocks.used.insert(at, bytes)),
                None => full += 1,
            }
            while !blocks.used.is_empty() && roll(100) < if found.is_none() { 90 } else { 30 } {
                let at = roll(blocks.used.len() as u64) as usize;
                let at = *blocks.used.keys().nth(at).expect("a block");
                let length = blocks.used.remove(&at).expect("a block");
                blocks.retire(at, length);
                if roll(2) == 0 {
                    let oldest = blocks.order.pop_front().expect("a freed block");
                    blocks.freed_bytes -= blocks.freed.remove(&oldest).expect("a block");
                    blocks.opens(oldest);
                }
            }
        }
        assert!(full > 10, "the heap was full {full} times");
    }

    /// Blocks of several lengths, and nothing freed: twice the blocks, twice the work.
    #[test]
    fn work_grows_as_the_blocks() {
        let looks = |rounds: u64| {
            let (mut blocks, heap) = (Blocks::default(), 0..1 << 40);
            for _ in 0..rounds {
                for bytes in [64, 4096, 640, 131_072] {
                    let align = if bytes >= 4096 { 4096 } else { ALIGN };
                    let at = blocks.room(bytes, align, heap.clone()).expect("room");
                    blocks.used.insert(at, bytes);
                }
            }
            blocks.looks
        };
        let (few, many) = (looks(1_000), looks(4_000));
        assert!(
            many <= 5 * few,
            "{few} looks for 4,000 blocks, {many} for 16,000"
        );
    }
}
