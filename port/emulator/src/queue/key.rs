//! Memory keys.

use super::format;
use crate::process::Place;
use crate::slab::Slab;
use crate::status::Refusal;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of keys begin here.
const FIRST: u32 = 0x10;

pub(crate) struct Mkey {
    process: u32,
    /// Its protection domain, by address.
    pub(crate) pd: usize,
    /// The range in the addresses that entries use.
    base: u64,
    bytes: u64,
    access: i32,
    start: *mut u8,
    /// Keeps memory of a heap mapped. The host keeps its own.
    _place: Option<Place>,
}

// SAFETY: the pointer is an address; accesses are copies of bytes.
unsafe impl Send for Mkey {}

impl Mkey {
    pub(crate) fn of_heap(
        process: u32,
        place: Place,
        base: u64,
        bytes: u64,
        access: i32,
        pd: usize,
    ) -> Self {
        Self {
            process,
            pd,
            base,
            bytes,
            access,
            start: place.at(0, bytes),
            _place: Some(place),
        }
    }

    /// A key of host memory, which the host keeps mapped as long as the key exists.
    pub(crate) fn of_host(start: *mut u8, base: u64, bytes: u64, access: i32, pd: usize) -> Self {
        Self {
            process: 0,
            pd,
            base,
            bytes,
            access,
            start,
            _place: None,
        }
    }
}

/// All keys. A key is a number with eight bits that tell old keys from new.
pub(crate) struct Keys {
    keys: Slab<(u8, Mkey)>,
    made: u32,
}

impl Keys {
    /// Numbers of its keys begin behind `first`.
    pub(crate) fn new(first: u32) -> Self {
        Self {
            keys: Slab::new(first + FIRST),
            made: 0,
        }
    }

    /// Adds a key. Answers the number that entries name.
    pub(crate) fn add(&mut self, key: Mkey) -> Result<u32, Refusal> {
        self.made += 1;
        let variant = (self.made * 37) as u8;
        let number = self
            .keys
            .insert(|_| (variant, key))
            .ok_or("too many keys")?;
        Ok(number << 8 | u32::from(variant))
    }

    fn find(&self, key: u32) -> Option<&Mkey> {
        self.keys
            .get(key >> 8)
            .filter(|(variant, _)| u32::from(*variant) == key & 0xff)
            .map(|(_, key)| key)
    }

    /// The memory that a key covers, as this program addresses it.
    pub(crate) fn memory(&self, key: u32) -> Option<Range<usize>> {
        self.find(key)
            .map(|key| key.start.addr()..key.start.addr() + key.bytes as usize)
    }

    /// The protection domain of a key.
    pub(crate) fn domain(&self, key: u32) -> Option<usize> {
        self.find(key).map(|key| key.pd)
    }

    /// Whether queues of this protection domain may use the key.
    pub(crate) fn allows(&self, key: u32, pd: usize) -> Result<(), String> {
        match self.find(key) {
            Some(found) if pd != 0 && found.pd != pd => Err(format!(
                "key {key:#x} is of another protection domain than the queue"
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn remove(&mut self, key: u32) -> Option<()> {
        self.find(key)?;
        crate::check::gone();
        self.keys.remove(key >> 8).map(|_| ())
    }

    pub(crate) fn forget(&mut self, process: u32) {
        crate::check::gone();
        self.keys.retain(|(_, key)| key.process != process);
    }

    /// The bytes that an entry means, if the key has all of them and the rights.
    pub(crate) fn reach(
        &self,
        key: u32,
        address: u64,
        bytes: u64,
        rights: i32,
    ) -> Result<*mut u8, String> {
        let Some(found) = self.find(key) else {
            return Err(format!("key {key:#x} does not exist"));
        };
        let offset = address.wrapping_sub(found.base);
        if offset > found.bytes || found.bytes - offset < bytes {
            return Err(format!(
                "key {key:#x} covers {} bytes at {:#x}, not {bytes} at {address:#x}",
                found.bytes, found.base
            ));
        }
        if rights & !found.access != 0 {
            let need = match rights & !found.access {
                format::LOCAL_WRITE => "local write",
                format::REMOTE_WRITE => "remote write",
                format::REMOTE_READ => "remote read",
                _ => "remote atomics",
            };
            return Err(format!("key {key:#x} does not allow {need}"));
        }
        Ok(found.start.wrapping_add(offset as usize))
    }

    pub(crate) fn read(
        &self,
        key: u32,
        address: u64,
        bytes: u64,
        rights: i32,
        into: &mut Vec<u8>,
    ) -> Result<(), String> {
        let source = self.reach(key, address, bytes, rights)?;
        let (old, bytes) = (into.len(), bytes as usize);
        into.reserve(bytes);
        // SAFETY: the key covers as many bytes of memory that stays mapped, and there is room for
        // them behind the old ones.
        unsafe {
            std::ptr::copy_nonoverlapping(source, into.as_mut_ptr().add(old), bytes);
            into.set_len(old + bytes);
        }
        Ok(())
    }

    pub(crate) fn write(
        &self,
        key: u32,
        address: u64,
        rights: i32,
        from: &[u8],
    ) -> Result<(), String> {
        let target = self.reach(key, address, from.len() as u64, rights)?;
        // SAFETY: the key covers as many bytes of memory that stays mapped.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), target, from.len()) };
        crate::check::race::nic_writes(target.addr(), from.len());
        Ok(())
    }

    /// Changes an aligned word at once. Answers what it was.
    pub(crate) fn change(
        &self,
        key: u32,
        address: u64,
        rights: i32,
        change: impl Fn(u64) -> u64,
    ) -> Result<u64, String> {
        let word = self.reach(key, address, 8, rights)?.cast::<AtomicU64>();
        if !word.is_aligned() {
            return Err(format!(
                "an atomic at {address:#x}, which is not aligned to 8"
            ));
        }
        crate::check::race::nic_writes(word.addr(), 8);
        // SAFETY: the key covers the aligned word, which stays mapped.
        // ordering: a word of the program's, in the order of the wire's atomics.
        let found = unsafe { &*word }
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |old| Some(change(old)));
        Ok(found.unwrap_or_else(|old| old))
    }
}
