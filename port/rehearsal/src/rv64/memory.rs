//! The machine's memory: one range of bytes, as doublewords.

use super::Fault;

/// Start of memory, as on QEMU's board `virt`.
pub const MEMORY_BASE: u64 = 0x8000_0000;

/// Memory. An access must be aligned to its size, as on a DPA, so it lies in one doubleword.
#[derive(Default)]
pub(crate) struct Memory {
    doublewords: Vec<u64>,
    /// Doubleword that each hart reserved with `lr`, at most one.
    reservations: Vec<(usize, usize)>,
}

/// Place of an access: doubleword, bit offset from its low end, and bit mask of its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) doubleword: usize,
    pub(crate) shift: u32,
    pub(crate) mask: u64,
}

impl Place {
    #[inline(always)]
    pub(crate) fn of(self, doubleword: u64) -> u64 {
        doubleword >> self.shift & self.mask
    }

    /// Inserts `value` at this place into a doubleword.
    #[inline(always)]
    pub(crate) fn put(self, doubleword: u64, value: u64) -> u64 {
        doubleword & !(self.mask << self.shift) | (value & self.mask) << self.shift
    }

    /// Whether a write here covers all bytes of `other`.
    pub(crate) fn covers(self, other: Self) -> bool {
        let (mine, theirs) = (self.mask << self.shift, other.mask << other.shift);
        self.doubleword == other.doubleword && theirs & !mine == 0
    }
}

impl Memory {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            doublewords: vec![0; bytes.div_ceil(8)],
            reservations: Vec::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn place(&self, pc: u64, address: u64, size_log: u32) -> Result<Place, Fault> {
        let offset = address.wrapping_sub(MEMORY_BASE);
        let doubleword = (offset >> 3) as usize;
        if offset >> 3 >= self.doublewords.len() as u64 {
            return Err(Fault::Outside { pc, address });
        }
        if address & ((1 << size_log) - 1) != 0 {
            return Err(Fault::Unaligned { pc, address });
        }
        let mask = u64::MAX >> (64 - (8 << size_log));
        Ok(Place {
            doubleword,
            shift: (address as u32 & 7) * 8,
            mask,
        })
    }

    #[inline(always)]
    pub(crate) fn get(&self, doubleword: usize) -> u64 {
        self.doublewords[doubleword]
    }

    /// Stores for a hart, which ends other harts' reservations of the doubleword. Returns its new
    /// value.
    #[inline(always)]
    pub(crate) fn store(&mut self, hart: usize, place: Place, value: u64) -> u64 {
        let new = place.put(self.doublewords[place.doubleword], value);
        self.doublewords[place.doubleword] = new;
        if !self.reservations.is_empty() {
            self.reservations
                .retain(|&(holder, at)| holder == hart || at != place.doubleword);
        }
        new
    }

    /// Replaces a hart's reservation; `None` clears it.
    pub(crate) fn reserve(&mut self, hart: usize, doubleword: Option<usize>) {
        self.reservations.retain(|&(holder, _)| holder != hart);
        self.reservations.extend(doubleword.map(|at| (hart, at)));
    }

    pub(crate) fn holds(&self, hart: usize, doubleword: usize) -> bool {
        self.reservations.contains(&(hart, doubleword))
    }

    pub(crate) fn byte(&self, address: u64) -> Option<u8> {
        let place = self.place(0, address, 0).ok()?;
        Some(place.of(self.get(place.doubleword)) as u8)
    }

    /// Writes bytes for the host; `None` outside of memory.
    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) -> Option<()> {
        for (at, &byte) in (address..).zip(bytes) {
            let place = self.place(0, at, 0).ok()?;
            let changed = place.put(self.get(place.doubleword), u64::from(byte));
            self.doublewords[place.doubleword] = changed;
        }
        Some(())
    }

    pub(crate) fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        (address..).take(length).map(|at| self.byte(at)).collect()
    }

    pub(crate) fn doubleword(&self, address: u64) -> Option<u64> {
        Some(self.get(self.place(0, address, 3).ok()?.doubleword))
    }
}
