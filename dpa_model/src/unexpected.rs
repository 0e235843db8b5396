//! The unexpected store: messages without a receive, each linked in the chains of the classes that
//! receives use (O22, S15).
//!
//! Every message is in the chain of its full key and in the one list of its communicator. The first
//! receive or probe of a class makes the chains by tag alone or by source alone, which then remain.
//! Most communicators never see such a wildcard, and each chain costs every message a line at
//! insertion and at removal.
//!
//! Only the boundary accesses the store, so it has no atomics. **Invariant** Q1: every chain is in
//! arrival order (S14): the boundary inserts a block's unexpected messages in handler order, and
//! makes later chains in the order of the list.
//!
//! **Cost.** 128 bytes per message and 8 per chain head; insert, find in a one-key bin and remove
//! are O(1); the first wildcard of a class costs O(messages of the communicator).

use alloc::boxed::Box;

use crate::buffers::Buffers;
use crate::completion_queue::CompletionQueue;
use crate::free_list::FreeList;
use crate::hash::Hashes;
use crate::host_address::HostAddress;
use crate::index::CommView;
use crate::message::{Entry, Message, Protocol, Target, Transfer};
use crate::number::{BinId, BufferId, StoredId, indexed, unchecked, unchecked_mut};
use crate::ring::RingSpan;
use crate::{ClassSet, CommId, Envelope, Hints, WildcardClass};

#[derive(Clone, Copy, Debug)]
struct Chain {
    head: StoredId,
    tail: StoredId,
}

#[derive(Clone, Copy, Debug)]
struct Neighbours {
    next: StoredId,
    before: StoredId,
}

const UNLINKED: Neighbours = Neighbours {
    next: StoredId::NIL,
    before: StoredId::NIL,
};

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Unexpected {
    pub(crate) message: Message,
    pub(crate) payload: [u64; 3],
    /// Links of each class, at its [`PLACE`].
    links: [Neighbours; 4],
    hashes: Hashes,
    /// Unexpected buffer of a payload that does not fit in the entry.
    pub(crate) buffer: BufferId,
    pub(crate) protocol: Protocol,
}

const _: () = assert!(size_of::<Unexpected>() == 128);

impl Unexpected {
    /// How the data gets to a buffer of `capacity` bytes.
    #[inline]
    fn transfer(&self, capacity: u32) -> Transfer {
        Transfer::new(self.protocol, self.message.length, capacity)
    }

    /// The stored message, which was number `arrival`.
    #[inline(always)]
    fn fill(&mut self, arrival: u64, incoming: &Entry, hashes: Hashes, buffer: BufferId) {
        self.message.arrival = arrival;
        // Word by word: a copy of the whole would pass through the stack.
        let Envelope { comm, source, tag } = incoming.envelope;
        self.message.envelope = Envelope { comm, source, tag };
        self.message.length = incoming.length;
        self.payload = incoming.payload;
        (self.hashes, self.buffer, self.protocol) = (hashes, buffer, incoming.protocol);
    }
}

indexed!([Unexpected] by StoredId);
indexed!([Chain] by BinId);

/// An entry that the free list handed out. Chains name no others.
#[inline]
fn entry_of(entries: &mut [Unexpected], message: StoredId) -> &mut Unexpected {
    // SAFETY: only the free list makes numbers of entries, and all are in the table.
    unsafe { unchecked_mut(entries, message) }
}

/// A chain of a communicator with tables.
#[inline]
fn chain_of(chains: &mut [Chain], bin: BinId) -> &mut Chain {
    // SAFETY: communicators get only bins of the table, and each bin has a chain.
    unsafe { unchecked_mut(chains, bin) }
}

#[inline(always)]
fn append(
    entries: &mut [Unexpected],
    chains: &mut [Chain],
    view: &CommView,
    class: WildcardClass,
    message: StoredId,
    hashes: Hashes,
) {
    let chain = chain_of(chains, view.bin(class, hashes.of_class(class)));
    let tail = core::mem::replace(&mut chain.tail, message);
    if tail == StoredId::NIL {
        chain.head = message;
    }
    link_behind(entries, class, tail, message);
}

/// Makes an entry the last of its chain, behind the previous last, if any.
#[inline(always)]
fn link_behind(
    entries: &mut [Unexpected],
    class: WildcardClass,
    tail: StoredId,
    message: StoredId,
) {
    let place = PLACE[class as usize];
    if tail != StoredId::NIL {
        entry_of(entries, tail).links[place].next = message;
    }
    let links = Neighbours {
        next: StoredId::NIL,
        before: tail,
    };
    entry_of(entries, message).links[place] = links;
}

/// Unlinks an entry from its chain of one class; `bin` is the bin in which class `found` found it.
#[inline(always)]
fn remove(
    entries: &mut [Unexpected],
    chains: &mut [Chain],
    view: &CommView,
    class: WildcardClass,
    message: StoredId,
    found: WildcardClass,
    bin: BinId,
) {
    let place = PLACE[class as usize];
    let entry = entry_of(entries, message);
    let Neighbours { next, before } = entry.links[place];
    let bin = if class == found {
        bin
    } else {
        view.bin(class, entry.hashes.of_class(class))
    };
    let chain = chain_of(chains, bin);
    if before == StoredId::NIL {
        chain.head = next;
    } else {
        entry_of(entries, before).links[place].next = next;
    }
    if next == StoredId::NIL {
        chain.tail = before;
    } else {
        entry_of(entries, next).links[place].before = before;
    }
}

/// Index of each class's links: first those of the classes that link every message, which are in
/// the line of its data.
const PLACE: [usize; 4] = [0, 2, 3, 1];

#[derive(Debug)]
pub(crate) struct UnexpectedStore {
    entries: Box<[Unexpected]>,
    free: FreeList<StoredId>,
    chains: Box<[Chain]>,
    buffers: Buffers,
    free_buffers: FreeList<BufferId>,
    /// Payload bytes in the store now.
    pub(crate) bytes: u64,
}

/// Classes in whose chains every message is linked from the beginning.
pub(crate) const LINKED_ALWAYS: ClassSet =
    ClassSet::from_classes(&[WildcardClass::Exact, WildcardClass::Any]);

/// Calls a function for each class of a set that includes [`LINKED_ALWAYS`].
#[inline(always)]
fn for_each_linked(linked: ClassSet, mut call: impl FnMut(WildcardClass)) {
    call(WildcardClass::Exact);
    if linked.exceeds(LINKED_ALWAYS) {
        for class in [WildcardClass::AnySource, WildcardClass::AnyTag] {
            if linked.contains(class) {
                call(class);
            }
        }
    }
    call(WildcardClass::Any);
}

/// The classes of receives that hints allow (S24).
pub(crate) fn classes_allowed(hints: Hints) -> ClassSet {
    let mut allowed = ClassSet::from_classes(&[WildcardClass::Exact]);
    if !hints.no_any_source {
        allowed.insert(WildcardClass::AnySource);
    }
    if !hints.no_any_tag {
        allowed.insert(WildcardClass::AnyTag);
    }
    if !hints.no_any_source && !hints.no_any_tag {
        allowed.insert(WildcardClass::Any);
    }
    allowed
}

impl UnexpectedStore {
    pub(crate) const ENTRY_BYTES: usize = size_of::<Unexpected>();
    pub(crate) const CHAIN_BYTES: usize = size_of::<Chain>();

    pub(crate) fn new(entries: usize, buffers: usize, buffer_bytes: usize, bins: usize) -> Self {
        let entry = Unexpected {
            message: Message::default(),
            payload: [0; 3],
            links: [UNLINKED; 4],
            hashes: Hashes::default(),
            buffer: BufferId::NIL,
            protocol: Protocol::Inline,
        };
        Self {
            entries: (0..entries).map(|_| entry).collect(),
            free: FreeList::full(entries),
            chains: (0..bins)
                .map(|_| Chain {
                    head: StoredId::NIL,
                    tail: StoredId::NIL,
                })
                .collect(),
            buffers: Buffers::new(buffers, buffer_bytes),
            free_buffers: FreeList::full(buffers),
            bytes: 0,
        }
    }

    /// Whether the store has room for a message of this kind now.
    pub(crate) fn has_room(&self, protocol: Protocol) -> bool {
        self.free.count() > 0 && (protocol != Protocol::Buffered || self.free_buffers.count() > 0)
    }

    /// Number of messages of any kind for which the store has room now.
    pub(crate) fn room(&self) -> usize {
        self.free.count().min(self.free_buffers.count())
    }

    pub(crate) fn used(&self) -> usize {
        self.free.used()
    }

    pub(crate) fn entry(&self, message: StoredId) -> &Unexpected {
        &self.entries[message]
    }

    /// Stores message number `arrival` at the end of its chains, those in `linked`. Returns whether
    /// there was room. [`keep_bytes`](Self::keep_bytes) then stores the data of a buffered message.
    ///
    /// Reads the entry in place: passing its parts on through memory costs as much as linking them.
    #[inline(always)]
    pub(crate) fn insert(
        &mut self,
        view: &CommView,
        linked: ClassSet,
        arrival: u64,
        incoming: &Entry,
        hashes: Hashes,
    ) -> Option<StoredId> {
        let protocol = incoming.protocol;
        let mut buffer = BufferId::NIL;
        if protocol == Protocol::Buffered {
            if self.free.count() == 0 {
                return None;
            }
            buffer = self.free_buffers.pop()?;
        }
        let message = self.free.pop()?;
        step!(Stored { entry: message.0 });
        if protocol != Protocol::Rendezvous {
            self.bytes += u64::from(incoming.length);
        }
        let Self {
            entries, chains, ..
        } = self;
        entry_of(entries, message).fill(arrival, incoming, hashes, buffer);
        for_each_linked(linked, |class| {
            append(entries, chains, view, class, message, hashes);
        });
        Some(message)
    }

    /// Stores consecutive messages of one communicator that have hashes and whose data needs no
    /// call, the common case, while there is room. The first is number `arrival`. Returns how many.
    /// A separate function, short enough to keep its values in registers.
    #[inline(never)]
    pub(crate) fn insert_batch(
        &mut self,
        view: &CommView,
        comm: CommId,
        arrival: u64,
        queue: &CompletionQueue,
        incoming: RingSpan<'_, Entry>,
    ) -> usize {
        let (view, mut bytes, mut count) = (*view, 0, 0);
        let Self {
            entries,
            chains,
            free,
            buffers,
            free_buffers,
            ..
        } = self;
        // The end of the list of all messages, in a local variable.
        let all = view.bin(WildcardClass::Any, 0).index();
        let mut tail = chains[all].tail;
        for (place, message) in incoming.places().zip(free.upcoming()) {
            // SAFETY: the leader saw the block's entries ready, and releases them after it.
            let entry = unsafe { incoming.peek(place) };
            if entry.envelope.comm != comm || !entry.has_hashes {
                break;
            }
            let transfer = Transfer::new(entry.protocol, entry.length, u32::MAX);
            let buffer = match transfer {
                Transfer::Entry => Some(BufferId::NIL),
                Transfer::Bounce => free_buffers.pop(),
                Transfer::Call => None,
            };
            let Some(buffer) = buffer else { break };
            step!(BoundaryBegins { handler: place });
            step!(Stored { entry: message.0 });
            bytes += u64::from(entry.length);
            let hashes = entry.hashes;
            let arrival = arrival + place as u64;
            entry_of(entries, message).fill(arrival, &entry, hashes, buffer);
            if transfer == Transfer::Bounce {
                if fault!(KeptAfterRelease) {
                    queue.ring.release(incoming.position(place + 1));
                }
                let from = queue.bounce_buffer(incoming.position(place));
                // SAFETY: the bounce buffer belongs to this entry until the head passes it. The
                // other buffer was free, and only the boundary, which holds `&mut self`, uses it.
                unsafe {
                    let keep = |bytes: &[u8]| buffers.write_in_loop(buffer.index(), bytes);
                    queue.bounce.read(from, entry.length as usize, keep);
                }
            }
            append(
                entries,
                chains,
                &view,
                WildcardClass::Exact,
                message,
                hashes,
            );
            if tail == StoredId::NIL {
                chains[all].head = message;
            }
            link_behind(entries, WildcardClass::Any, tail, message);
            tail = message;
            count = place + 1;
            step!(BoundaryEnds);
        }
        chains[all].tail = tail;
        free.pop_many(count);
        self.bytes += bytes;
        count
    }

    /// Copies the payload of a buffered message that was just stored.
    pub(crate) fn keep_bytes(&mut self, message: StoredId, bytes: &[u8]) {
        let buffer = self.entries[message].buffer;
        // SAFETY: the buffer was free, and only the boundary, which holds `&mut self`, uses these
        // buffers.
        unsafe { self.buffers.write(buffer.index(), bytes) };
    }

    /// Links all messages of a communicator in the chains of a class that is not always linked.
    #[cold]
    pub(crate) fn link(&mut self, view: &CommView, class: WildcardClass) {
        debug_assert!(!LINKED_ALWAYS.contains(class));
        let mut current = self.chains[view.bin(WildcardClass::Any, 0)].head;
        while current != StoredId::NIL {
            let Unexpected { hashes, links, .. } = self.entries[current];
            append(
                &mut self.entries,
                &mut self.chains,
                view,
                class,
                current,
                hashes,
            );
            current = links[PLACE[WildcardClass::Any as usize]].next;
        }
    }

    /// The oldest message that a target of this class accepts, from the only chain that can hold
    /// it: the chain of `bin`. Adds the messages before it to `passed`.
    #[inline(always)]
    pub(crate) fn find(
        &self,
        class: WildcardClass,
        bin: BinId,
        target: &Target,
        passed: &mut u64,
    ) -> Option<StoredId> {
        let mut current = self.chains[bin].head;
        while current != StoredId::NIL {
            step!(UnexpectedVisited { entry: current.0 });
            let entry = &self.entries[current];
            let Envelope { source, tag, .. } = entry.message.envelope;
            if target.accepts(class, source, tag) {
                return Some(current);
            }
            *passed += 1;
            current = entry.links[PLACE[class as usize]].next;
        }
        None
    }

    /// Unlinks a message, found in the chain of `bin`, from all its chains; it keeps its memory
    /// until `free`.
    #[inline(always)]
    pub(crate) fn unlink(
        &mut self,
        view: &CommView,
        linked: ClassSet,
        class: WildcardClass,
        message: StoredId,
        bin: BinId,
    ) {
        let Self {
            entries, chains, ..
        } = self;
        for_each_linked(linked, |of| {
            remove(entries, chains, view, of, message, class, bin);
        });
    }

    /// Passes a stored payload to a closure.
    #[inline(always)]
    pub(crate) fn with_bytes<R>(&self, message: StoredId, look: impl FnOnce(&[u8]) -> R) -> R {
        let entry = &self.entries[message];
        if entry.protocol == Protocol::Buffered {
            // SAFETY: only the boundary writes the buffers, and it holds `&self` here.
            unsafe {
                self.buffers
                    .read(entry.buffer.index(), entry.message.length as usize, look)
            }
        } else {
            look(crate::message::inline_bytes(
                &entry.payload,
                entry.message.length,
            ))
        }
    }

    /// The messages of each chain, by arrival.
    #[cfg(all(test, feature = "ends"))]
    pub(crate) fn chains(
        &self,
        class_of: impl Fn(usize) -> WildcardClass,
    ) -> alloc::vec::Vec<alloc::vec::Vec<u64>> {
        let arrivals = |(bin, chain): (usize, &Chain)| {
            let place = PLACE[class_of(bin) as usize];
            let (mut arrivals, mut before) = (alloc::vec::Vec::new(), StoredId::NIL);
            let mut current = chain.head;
            while current != StoredId::NIL {
                let entry = self.entry(current);
                arrivals.push(entry.message.arrival);
                assert_eq!(entry.links[place].before, before, "both directions agree");
                (before, current) = (current, entry.links[place].next);
            }
            assert_eq!(chain.tail, before, "the chain ends with its tail");
            arrivals
        };
        self.chains.iter().enumerate().map(arrivals).collect()
    }

    #[inline(always)]
    pub(crate) fn free(&mut self, message: StoredId) {
        let entry = &self.entries[message];
        if entry.buffer != BufferId::NIL {
            self.free_buffers.push(entry.buffer);
        }
        if entry.protocol != Protocol::Rendezvous {
            self.bytes -= u64::from(entry.message.length);
        }
        self.free.push(message);
    }

    /// The head of the chain of `bin`, if the target accepts it and its data needs no call.
    #[inline(always)]
    pub(crate) fn first(
        &self,
        class: WildcardClass,
        bin: BinId,
        target: &Target,
        capacity: u32,
    ) -> Option<StoredId> {
        // SAFETY: as in `chain_of`.
        let first = unsafe { unchecked(&self.chains, bin) }.head;
        if first == StoredId::NIL {
            return None;
        }
        // SAFETY: as in `entry_of`.
        let entry = unsafe { unchecked(&self.entries, first) };
        let Envelope { source, tag, .. } = entry.message.envelope;
        let accepted = target.accepts(class, source, tag);
        (accepted && entry.transfer(capacity) != Transfer::Call).then_some(first)
    }

    /// Frees the memory of an unlinked message whose data needs no call, after a copy of the data
    /// into the receive's buffer. The entry's fields are still unchanged.
    ///
    /// # Safety
    /// The host lent a buffer of that capacity to this receive.
    #[inline(always)]
    pub(crate) unsafe fn deliver_and_free(
        &mut self,
        message: StoredId,
        target: HostAddress,
        capacity: u32,
    ) -> &Unexpected {
        let entry = entry_of(&mut self.entries, message);
        let length = entry.message.length;
        self.bytes -= u64::from(length);
        self.free.push(message);
        if entry.transfer(capacity) == Transfer::Bounce {
            self.free_buffers.push(entry.buffer);
            // SAFETY: only the boundary writes the buffers, and it is here; the caller's promise.
            unsafe {
                let put = |bytes: &[u8]| target.put_in_loop(capacity, bytes);
                self.buffers
                    .read(entry.buffer.index(), length as usize, put);
            }
        } else {
            // SAFETY: the caller's promise.
            unsafe { target.put_inline(capacity, &entry.payload, length) };
        }
        entry
    }
}
