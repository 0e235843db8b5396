//! The receive descriptor: 64 bytes, one line, everything that a handler needs of a posted receive
//! (O7, O29, S23).
//!
//! **State.** `state`: `FREE -> POSTED -> CONSUMED -> FREE`. `FREE` means: in no chain. `POSTED` is
//! given by the boundary; `CONSUMED` by the one handler that takes the receive (S18), and the
//! receive is still in its chain then; `FREE` by whoever takes it out of the chain: the holder of
//! the bin's lock, the boundary, or the worker that runs the block alone, which needs no mark in
//! between (`POSTED -> FREE`). A free descriptor is posted again by the boundary only, so not
//! inside the block in which it was taken. `booking`: bit i is set by handler i when it selects
//! this receive (O10); the bits of handlers from 64 on lie beside the table (see booking.rs).
//! `next`: the chain of the bin; a descriptor that left it keeps `next` until the block ends (S17).
//!
//! **Invariants.** D1: `posted` is written only by the boundary, so inside a block it is constant.
//! D2: no descriptor is taken twice (S18). D3: every receive booked in a block is consumed in that
//! block (S7).
//!
//! **Orderings.** Inside a block nothing new becomes reachable: chains only lose members, and what
//! a pointer leads to was written by the boundary before the block was published. So `state`,
//! `booking` and `next` are Relaxed inside a block; the barrier (`Block::progress`) and the block's
//! publication order everything that must be ordered.

use alloc::boxed::Box;

use crate::WildcardClass;
use crate::host_address::HostAddress;
use crate::number::{BinId, Label, ReceiveId, Sequence, indexed};
use crate::sync::{AtomicU32, AtomicU64, PlainCell, Relaxed};

/// Life of a descriptor, see the file's page.
pub(crate) mod state {
    pub(crate) const FREE: u32 = 0;
    pub(crate) const POSTED: u32 = 1;
    pub(crate) const CONSUMED: u32 = 2;
}

/// What the boundary writes when it posts.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Posted {
    pub(crate) label: Label,
    /// Where the data goes.
    pub(crate) buffer: HostAddress,
    /// The host's name for it.
    pub(crate) request: u64,
    /// Place in its sequence, a run of receives with one selector (O9, S11).
    pub(crate) place: u32,
    /// Source, if the class has one.
    pub(crate) source: u32,
    /// Tag, if the class has one.
    pub(crate) tag: u32,
    /// Bin in whose chain it is.
    pub(crate) bin: BinId,
    /// Length of the user's buffer in bytes.
    pub(crate) capacity: u32,
    pub(crate) class: WildcardClass,
}

impl Posted {
    /// The sequence that it belongs to.
    #[inline(always)]
    pub(crate) fn sequence(&self) -> Sequence {
        Sequence(Label(self.label.0 - u64::from(self.place)))
    }

    /// Whether a message with this source and tag fits, for a receive found in the index of
    /// `class`.
    #[inline(always)]
    pub(crate) fn fits(&self, class: WildcardClass, source: u32, tag: u32) -> bool {
        class.accepts((self.source, self.tag), (source, tag))
    }
}

/// A pointer of a chain: the receive that comes next, or first, or last. One writer at a time;
/// searchers read it meanwhile, see the file's page.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Link(AtomicU32);

impl Link {
    pub(crate) fn nil() -> Self {
        Self(AtomicU32::new(ReceiveId::NIL.0))
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> ReceiveId {
        ReceiveId(self.0.load(Relaxed))
    }

    #[inline(always)]
    pub(crate) fn set(&self, receive: ReceiveId) {
        self.0.store(receive.0, Relaxed);
    }
}

#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Descriptor {
    pub(crate) booking: AtomicU64,
    pub(crate) state: AtomicU32,
    pub(crate) next: Link,
    pub(crate) posted: PlainCell<Posted>,
}

/// Bytes of one descriptor (O29).
pub const DESCRIPTOR_BYTES: usize = 64;

#[cfg(not(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual)))]
const _: () =
    assert!(size_of::<Descriptor>() == DESCRIPTOR_BYTES && align_of::<Descriptor>() == 64);

impl Descriptor {
    fn free() -> Self {
        let posted = Posted {
            label: Label(0),
            buffer: HostAddress::none(),
            request: 0,
            place: 0,
            source: 0,
            tag: 0,
            bin: BinId::NIL,
            capacity: 0,
            class: WildcardClass::Exact,
        };
        Self {
            booking: AtomicU64::new(0),
            state: AtomicU32::new(state::FREE),
            next: Link::nil(),
            posted: PlainCell::new(posted),
        }
    }

    /// Whether a message may still take it.
    pub(crate) fn is_posted(&self) -> bool {
        self.state.load(Relaxed) == state::POSTED
    }

    /// A copy of what was posted.
    ///
    /// # Safety
    /// The caller is inside a block that began after the post, or is the boundary (D1).
    #[inline(always)]
    pub(crate) unsafe fn posted(&self) -> Posted {
        // SAFETY: D1: between the block's publication and its end nobody writes `posted`.
        unsafe { self.posted.read(|posted| *posted) }
    }
}

indexed!([Descriptor] by ReceiveId);

/// The receive descriptor table; its size is the limit of receives on the NIC (O7).
pub(crate) fn table(receives: usize) -> Box<[Descriptor]> {
    (0..receives).map(|_| Descriptor::free()).collect()
}
