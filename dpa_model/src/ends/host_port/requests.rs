//! Open requests, and the buffers that they lent.

use alloc::vec::Vec;

use super::lent_buffer::LentBuffer;
use crate::ends::event::RequestId;
use crate::host_address::HostAddress;
use crate::{CommId, Selector};

#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Slot {
    /// `None`: the slot is free.
    pub(super) lent: Option<LentBuffer>,
    pub(super) generation: u32,
    /// The next free slot, if this one is free.
    next: u32,
    /// The slot stays taken after its request's end, until it is released.
    held: bool,
    /// The NIC is done with the buffer, which waits here until the host collects it.
    ended: bool,
    pub(super) comm: CommId,
    pub(super) selector: Option<Selector>,
}

impl Slot {
    /// Whether a request has the slot or still holds it.
    pub(super) fn is_taken(&self) -> bool {
        self.lent.is_some() || self.held
    }
}

/// No slot.
const NIL: u32 = u32::MAX;

/// A table of requests. Free slots are linked, the last used one first.
#[derive(Debug)]
pub(super) struct Requests {
    pub(super) slots: Vec<Slot>,
    /// The first free slot, or [`NIL`].
    free: u32,
    /// Whether receives hold their slots.
    holds: bool,
    /// Whether freed slots are parked.
    parks: bool,
    parked: Vec<u32>,
}

impl Requests {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: NIL,
            holds: false,
            parks: false,
            parked: Vec::new(),
        }
    }

    /// Makes each receive hold its slot.
    pub(super) fn hold(&mut self) {
        self.holds = true;
    }

    /// A new request for a receive, which lends the buffer.
    #[inline(always)]
    pub(super) fn receive(
        &mut self,
        comm: CommId,
        selector: Option<Selector>,
        buffer: Vec<u8>,
    ) -> (RequestId, HostAddress, u32) {
        if self.free == NIL {
            self.grow();
        }
        let index = self.free;
        let slot = &mut self.slots[index as usize];
        self.free = slot.next;
        let lent = LentBuffer::new(buffer);
        let (start, capacity) = (lent.start.as_ptr(), lent.capacity());
        (slot.lent, slot.held) = (Some(lent), self.holds);
        (slot.comm, slot.selector) = (comm, selector);
        let request = RequestId(u64::from(slot.generation) << 32 | u64::from(index));
        (request, HostAddress::new(start), capacity)
    }

    /// A new request without a buffer.
    pub(super) fn without_buffer(&mut self, comm: CommId, selector: Option<Selector>) -> RequestId {
        let (request, ..) = self.receive(comm, selector, Vec::new());
        self.slots[request.slot()].held = false;
        request
    }

    /// Adds a free slot.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.free = self.slots.len() as u32;
        self.slots.push(Slot {
            lent: None,
            generation: 0,
            next: NIL,
            held: false,
            ended: false,
            comm: CommId(u32::MAX),
            selector: None,
        });
    }

    /// The slot of a request, unless another has it now.
    #[inline(always)]
    fn slot_of(&mut self, request: RequestId) -> Option<&mut Slot> {
        self.slots
            .get_mut(request.slot())
            .filter(|slot| slot.generation == request.generation())
    }

    pub(super) fn live(&self, request: RequestId) -> Option<&Slot> {
        let slot = self.slots.get(request.slot())?;
        let lives = slot.generation == request.generation() && slot.lent.is_some() && !slot.ended;
        lives.then_some(slot)
    }

    /// The current request of a slot.
    pub(super) fn request(&self, index: usize) -> RequestId {
        RequestId(u64::from(self.slots[index].generation) << 32 | index as u64)
    }

    /// Records that a receive has ended on the NIC; its buffer stays here. `false`: no living
    /// request has this name.
    #[inline(always)]
    pub(super) fn keep(&mut self, request: RequestId) -> bool {
        let slot = self.slot_of(request).filter(|slot| slot.lent.is_some());
        let Some(slot) = slot else { return false };
        debug_assert!(!slot.ended, "a receive ended twice (S18)");
        slot.ended = true;
        if fault!(KeptSlotFreed) {
            slot.generation += 1;
            self.set_free(request.slot());
        }
        true
    }

    /// Frees the held slot of a receive that has ended. Returns the buffer, if it was kept.
    #[inline(always)]
    pub(super) fn free(&mut self, index: usize) -> Option<Vec<u8>> {
        let slot = &mut self.slots[index];
        if !slot.ended {
            self.release(index);
            return None;
        }
        slot.ended = false;
        // SAFETY: `keep` recorded that the NIC is done with the buffer.
        unsafe { self.take_buffer(index) }
    }

    /// The buffer of a receive that has just ended on the NIC. Frees its slot, even if it was held.
    #[inline]
    pub(super) fn end_held(&mut self, request: RequestId) -> Option<Vec<u8>> {
        self.slot_of(request)?;
        // SAFETY: the NIC reported its end, see `end`.
        unsafe { self.take_buffer(request.slot()) }
    }

    /// The buffer that a slot lent. Frees the slot, even if it was held, without the second look-up
    /// of `set_free`.
    ///
    /// # Safety
    /// The NIC is done with the buffer.
    #[inline(always)]
    unsafe fn take_buffer(&mut self, index: usize) -> Option<Vec<u8>> {
        let slot = &mut self.slots[index];
        let lent = slot.lent.take()?;
        slot.held = false;
        slot.generation = slot.generation.wrapping_add(1);
        if slot.generation == 0 || self.parks {
            self.retire(index);
        } else {
            slot.next = self.free;
            self.free = index as u32;
        }
        // SAFETY: the NIC is done with the buffer; `take` makes this the only call.
        Some(unsafe { lent.give_back() })
    }

    /// Frees a request that has ended on the NIC, or was forwarded and has ended here.
    #[inline(always)]
    pub(super) fn end(&mut self, request: RequestId) -> Vec<u8> {
        let Some(slot) = self.slot_of(request) else {
            return Vec::new();
        };
        let Some(lent) = slot.lent.take() else {
            return Vec::new();
        };
        slot.generation = slot.generation.wrapping_add(1);
        if !slot.held {
            self.set_free(request.slot());
        }
        // SAFETY: the NIC reported the request as ended or forwarded, so it holds no copy of the
        // address; the ring's owner bit ordered that before this. `take` makes this the only call.
        unsafe { lent.give_back() }
    }

    /// Frees the slot of a receive whose buffer has left.
    #[inline(never)]
    fn release(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        assert!(
            slot.held && slot.lent.is_none(),
            "the slot is held by no receive that has ended"
        );
        slot.held = false;
        self.set_free(index);
    }

    #[inline(always)]
    fn set_free(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if slot.generation == 0 || self.parks {
            self.retire(index);
        } else {
            slot.next = self.free;
            self.free = index as u32;
        }
    }

    /// Parks a slot, or retires it because its generations are used up.
    #[cold]
    #[inline(never)]
    fn retire(&mut self, slot: usize) {
        if self.slots[slot].generation != 0 {
            self.parked.push(slot as u32);
        }
    }

    /// Parks freed slots until [`free_parked`](Self::free_parked).
    pub(super) fn park(&mut self) {
        self.parks = true;
    }

    /// Stops parking; parked slots stay so.
    pub(super) fn end_parking(&mut self) {
        self.parks = false;
    }

    pub(super) fn free_parked(&mut self) {
        for slot in self.parked.drain(..) {
            self.slots[slot as usize].next = self.free;
            self.free = slot;
        }
    }

    /// Buffers still here: all, or only those that the NIC is done with.
    pub(super) fn take_lent(&mut self, all: bool) -> impl Iterator<Item = LentBuffer> {
        let slots = self.slots.iter_mut().filter(move |slot| all || slot.ended);
        slots.filter_map(|slot| slot.lent.take())
    }
}
