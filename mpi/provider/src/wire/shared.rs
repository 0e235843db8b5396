//! The memory that both ends of a ring share: the control lines, and the lines of records.
//!
//! Models run the ring over loom's atomics. There the words after a stamp are a cell in which loom
//! reports races, since nobody in a model breaks the rules.

use dpamatch_door::{AtomicU32, AtomicU64, Ordering};

use super::lease::Lease;
use super::record::HEAD_WORDS;
use crate::bindings::IoVec;

/// The receiver's lines, read by the sender.
#[repr(C, align(64))]
pub(crate) struct Control {
    /// Lines that the receiver has freed.
    pub(super) done: AtomicU64,
    /// The receiver sleeps, or is about to.
    pub(super) asleep: AtomicU32,
    /// The receiver wants long messages announced.
    pub(super) crowded: AtomicU32,
    /// Until when the sender may use what it reads in the receiver's memory.
    pub(super) lease: Lease,
    /// How the sender knows the receiver's memory.
    pub(super) witness: Announced,
    pub(super) bell: Bell,
}

/// A separate line: the sender reads it with each record, and the receiver seldom writes it.
#[repr(C, align(64))]
pub(super) struct Bell {
    /// The number of the sender's bell, and one; 0: the receiver reads this ring in each poll.
    pub(super) number: AtomicU64,
}

/// A number in the memory of a process by which its readers know it. All zero: none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Witness {
    pub(crate) address: u64,
    pub(crate) value: u64,
}

/// A place for a witness.
#[repr(C)]
pub(crate) struct Announced {
    address: AtomicU64,
    value: AtomicU64,
}

impl Announced {
    /// Announces this process's witness, before the first record. The record's stamp publishes it:
    /// the peer asks for it for the sake of a record.
    pub(crate) fn set(&self, witness: Witness) {
        self.address.store(witness.address, Ordering::Relaxed);
        self.value.store(witness.value, Ordering::Relaxed);
    }

    /// What the peer has announced; zeros, if it has no witness.
    pub(crate) fn get(&self) -> Witness {
        Witness {
            address: self.address.load(Ordering::Relaxed),
            value: self.value.load(Ordering::Relaxed),
        }
    }
}

/// A line: of a record's head, whose first word is the stamp, or of payload.
#[cfg(not(dpamatch_loom))]
#[repr(C, align(64))]
pub(crate) struct Line {
    pub(super) stamp: AtomicU64,
    words: [AtomicU64; HEAD_WORDS],
}

#[cfg(not(dpamatch_loom))]
const _: () = assert!(size_of::<Line>() == 64 && size_of::<Control>() == 128);

#[cfg(not(dpamatch_loom))]
impl Line {
    /// A word of the head, without the stamp.
    #[inline(always)]
    pub(super) fn word(&self, at: usize) -> u64 {
        // ordering: the stamp orders the words of its line; models have a cell for them.
        self.words[at].load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn set_words(&self, words: [u64; HEAD_WORDS]) {
        for (slot, word) in self.words.iter().zip(words) {
            // ordering: the stamp orders the words of its line; models have a cell for them.
            slot.store(word, Ordering::Relaxed);
        }
    }

    /// Copies payload to the lines from this one on, `skip` bytes into the list.
    ///
    /// # Safety
    /// The lines exist and are the sender's now; the list's buffers can be read and hold
    /// `skip + bytes` bytes.
    pub(super) unsafe fn fill(this: *const Self, iov: &[IoVec], skip: usize, bytes: usize) {
        // SAFETY: the caller's promises.
        unsafe { super::memory::gather(iov, skip, this.cast_mut().cast(), bytes) };
    }

    /// Copies payload from the lines from this one on.
    ///
    /// # Safety
    /// The lines exist; the target has room for that many bytes.
    #[inline(always)]
    pub(super) unsafe fn copy_out(this: *const Self, target: *mut u8, bytes: usize) {
        // SAFETY: the caller's promises.
        unsafe { target.copy_from_nonoverlapping(this.cast(), bytes) };
    }
}

#[cfg(dpamatch_loom)]
pub(crate) use model::{Line, Memory};

/// The ring's memory under loom, whose cells notice two accesses at the same time.
#[cfg(dpamatch_loom)]
mod model {
    use dpamatch_door::UnsafeCell;

    use super::*;

    /// A line of 64 bytes, in more memory.
    #[repr(C)]
    pub(crate) struct Line {
        pub(in crate::wire) stamp: AtomicU64,
        words: UnsafeCell<[u64; HEAD_WORDS]>,
    }

    /// A ring's memory.
    #[repr(C)]
    pub(crate) struct Memory<const LINES: usize> {
        control: Control,
        lines: [Line; LINES],
    }

    // SAFETY: loom reports an access to a cell that is not ordered.
    unsafe impl<const LINES: usize> Sync for Memory<LINES> {}

    impl<const LINES: usize> Memory<LINES> {
        /// Shared memory begins with zeros.
        pub(crate) fn new() -> Self {
            let line = |_| Line {
                stamp: AtomicU64::new(0),
                words: UnsafeCell::new([0; HEAD_WORDS]),
            };
            Self {
                control: Control {
                    done: AtomicU64::new(0),
                    asleep: AtomicU32::new(0),
                    crowded: AtomicU32::new(0),
                    lease: Lease::new(),
                    witness: Announced {
                        address: AtomicU64::new(0),
                        value: AtomicU64::new(0),
                    },
                    bell: Bell {
                        number: AtomicU64::new(0),
                    },
                },
                lines: std::array::from_fn(line),
            }
        }
    }

    impl Line {
        pub(in crate::wire) fn word(&self, at: usize) -> u64 {
            // SAFETY: loom checks the access.
            self.words.with(|words| unsafe { (*words)[at] })
        }

        pub(in crate::wire) fn set_words(&self, new: [u64; HEAD_WORDS]) {
            // SAFETY: loom checks the access.
            self.words.with_mut(|words| unsafe { *words = new });
        }

        /// # Safety
        /// That of the product's namesake.
        pub(in crate::wire) unsafe fn fill(
            this: *const Self,
            iov: &[IoVec],
            skip: usize,
            bytes: usize,
        ) {
            let part = |part: &IoVec| {
                // SAFETY: the caller's promise.
                unsafe { std::slice::from_raw_parts(part.iov_base.cast::<u8>(), part.iov_len) }
            };
            let all: Vec<u8> = iov.iter().flat_map(part).copied().collect();
            for (at, line) in all[skip..skip + bytes].chunks(64).enumerate() {
                let word = |word: &[u8]| {
                    let mut whole = [0; 8];
                    whole[..word.len()].copy_from_slice(word);
                    u64::from_ne_bytes(whole)
                };
                let mut words = line.chunks(8).map(word);
                // SAFETY: the caller's promise.
                let this = unsafe { &*this.add(at) };
                this.stamp
                    .store(words.next().unwrap_or(0), Ordering::Relaxed);
                this.set_words(std::array::from_fn(|_| words.next().unwrap_or(0)));
            }
        }

        /// # Safety
        /// That of the product's namesake.
        pub(in crate::wire) unsafe fn copy_out(this: *const Self, target: *mut u8, bytes: usize) {
            let lines = bytes.div_ceil(64);
            let words = (0..lines).flat_map(|at| {
                // SAFETY: the caller's promise.
                let this = unsafe { &*this.add(at) };
                let first = this.stamp.load(Ordering::Relaxed);
                std::iter::once(first).chain((0..HEAD_WORDS).map(|at| this.word(at)))
            });
            let all: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
            // SAFETY: the caller's promise.
            unsafe { target.copy_from_nonoverlapping(all.as_ptr(), bytes) };
        }

        /// The payload of a record, as a receiver reads it.
        pub(crate) fn payload(bytes: crate::wire::record::Bytes) -> Vec<u8> {
            let mut all = vec![0; bytes.length];
            // SAFETY: a record that its ring has handed out.
            unsafe { Self::copy_out(bytes.start.cast(), all.as_mut_ptr(), bytes.length) };
            all
        }
    }
}
