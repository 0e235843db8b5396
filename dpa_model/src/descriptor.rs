//! The receive descriptor: 64 bytes, one line, with all that a handler needs of a posted receive
//! (O7, O29, S23).
//!
//! **State.** `state`: `FREE -> POSTED -> CONSUMED -> FREE`. A `FREE` descriptor is in no chain.
//! The boundary sets `POSTED`. The one handler that takes the receive sets `CONSUMED` (S18); the
//! receive is still in its chain then. The worker that unlinks it sets `FREE`: the holder of the
//! bin's lock, the boundary, or the worker that runs the block alone, which needs no mark in
//! between (`POSTED -> FREE`). Only the boundary posts a free descriptor again, so not inside the
//! block in which it was taken. `booking`: handler i sets bit i when it selects this receive (O10);
//! the bits of handlers from 64 on are in another table (see booking.rs). `next`: the chain of the
//! bin; an unlinked descriptor keeps `next` until the block ends (S17).
//!
//! **Invariants.** D1: only the boundary writes `posted`, so it is constant inside a block. D2: no
//! descriptor is taken twice (S18). D3: every receive booked in a block is consumed in that block
//! (S7).
//!
//! **Orderings.** Inside a block nothing new becomes reachable: chains only lose members, and the
//! boundary wrote the target of every pointer before it published the block. So `state`, `booking`
//! and `next` are Relaxed inside a block; the barrier (`Block::progress`) and the block's
//! publication order all that needs order.

use alloc::boxed::Box;

use crate::WildcardClass;
use crate::host_address::HostAddress;
use crate::number::{BinId, Label, ReceiveId, RunPlace, Sequence, indexed};
use crate::sync::{AtomicU32, AtomicU64, PlainCell, Relaxed};

/// States of a descriptor, see the module's documentation.
pub(crate) mod state {
    pub(crate) const FREE: u32 = 0;
    pub(crate) const POSTED: u32 = 1;
    pub(crate) const CONSUMED: u32 = 2;
}

/// The fields that the boundary writes when it posts.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Posted {
    pub(crate) label: Label,
    pub(crate) buffer: HostAddress,
    /// The host's name for the request.
    pub(crate) request: u64,
    /// Place in the run of equal receives of the chain, and the class.
    pub(crate) run: RunPlace,
    /// Source, if the class has one.
    pub(crate) source: u32,
    /// Tag, if the class has one.
    pub(crate) tag: u32,
    /// Bin whose chain holds the receive.
    pub(crate) bin: BinId,
    /// Length of the user's buffer in bytes.
    pub(crate) capacity: u32,
}

impl Posted {
    /// The place of the receive in its sequence.
    #[inline]
    pub(crate) fn sequence(&self) -> Sequence {
        Sequence {
            run: self.run,
            label: self.label,
        }
    }

    /// Whether a message with this source and tag fits, for a receive found in the index of
    /// `class`.
    #[inline]
    pub(crate) fn fits(&self, class: WildcardClass, source: u32, tag: u32) -> bool {
        class.accepts(self.source, self.tag, source, tag)
    }
}

/// A pointer of a chain: to the next, first or last receive. It has one writer at a time, and
/// searchers read it concurrently, see the module's documentation.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Link(AtomicU32);

impl Link {
    pub(crate) fn nil() -> Self {
        Self(AtomicU32::new(ReceiveId::NIL.0))
    }

    #[inline]
    pub(crate) fn get(&self) -> ReceiveId {
        ReceiveId(self.0.load(Relaxed))
    }

    #[inline]
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
            run: RunPlace::default(),
            source: 0,
            tag: 0,
            bin: BinId::NIL,
            capacity: 0,
        };
        Self {
            booking: AtomicU64::new(0),
            state: AtomicU32::new(state::FREE),
            next: Link::nil(),
            posted: PlainCell::new(posted),
        }
    }

    /// Whether a message may still take the receive.
    pub(crate) fn is_posted(&self) -> bool {
        self.state.load(Relaxed) == state::POSTED
    }

    /// A copy of the posted fields.
    ///
    /// # Safety
    /// The caller is inside a block that began after the post, or is the boundary (D1).
    #[inline]
    pub(crate) unsafe fn posted(&self) -> Posted {
        // SAFETY: D1: `posted` is not written between the block's publication and its end.
        unsafe { self.posted.read(|posted| *posted) }
    }
}

indexed!([Descriptor] by ReceiveId);

/// The receive descriptor table; its size is the limit of receives on the NIC (O7).
pub(crate) fn table(receives: usize) -> Box<[Descriptor]> {
    (0..receives).map(|_| Descriptor::free()).collect()
}
