//! The heap of a process: one mapping, with blocks that the host allocates.

use crate::machine::lock;
use crate::status::Refusal;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Bytes between two blocks that belong to nobody.
const GAP: u64 = 64;
/// Alignment of blocks, a line of the cache.
const ALIGN: u64 = 64;

/// Memory of a process. It stays mapped as long as a handle to it lives.
pub(crate) struct Heap {
    base: u64,
    bytes: u64,
    /// Length of each block by its address, as requested.
    blocks: Mutex<BTreeMap<u64, u64>>,
    /// Blocks freed so far: what others know of blocks holds for one generation.
    pub(crate) generation: AtomicU64,
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
        Ok(Arc::new(Self {
            base: base as u64,
            bytes,
            blocks,
            generation,
        }))
    }

    /// Allocates a block. Complexity: linear in the number of blocks.
    pub(crate) fn allocate(&self, bytes: u64) -> Result<u64, Refusal> {
        let mut blocks = lock(&self.blocks);
        // A page for large blocks, since drivers demand it of rings.
        let align = if bytes >= 4096 { 4096 } else { ALIGN };
        let mut at = self.base + align;
        for (&start, &length) in blocks.iter() {
            if at + bytes + GAP <= start {
                break;
            }
            at = (start + length + GAP).next_multiple_of(align);
        }
        if at
            .checked_add(bytes)
            .is_none_or(|end| end + GAP > self.base + self.bytes)
        {
            let all = self.bytes;
            return Err(
                format!("no room for {bytes} bytes in a heap of {all} (DPA_HEAP_MIB)").into(),
            );
        }
        blocks.insert(at, bytes);
        Ok(at)
    }

    pub(crate) fn free(&self, address: u64) -> Result<(), Refusal> {
        let mut blocks = lock(&self.blocks);
        let is_none = || format!("{address:#x} is not the address of a block");
        blocks.remove(&address).ok_or_else(is_none)?;
        self.generation.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    pub(crate) fn has(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.bytes
    }

    pub(crate) fn block(&self, address: u64) -> Option<Range<u64>> {
        let blocks = lock(&self.blocks);
        let (&start, &length) = blocks.range(..=address).next_back()?;
        Some(start..start + length).filter(|block| block.contains(&address))
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
        let requested = blocks.values().sum();
        let allocated = blocks
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

    /// A big-endian word of a doorbell record.
    pub(crate) fn word(&self, index: u64) -> u32 {
        let at = self.at(index * 4, 4).cast::<u32>();
        // SAFETY: in the heap; records are aligned to 4, which `record` checks.
        u32::from_be(unsafe { at.read_volatile() })
    }
}
