//! The unexpected store: messages without a receive, each linked in the chains of all classes that a receive
//! could use (O22, S15).
//!
//! Only the boundary touches it, so it has no atomics. **Invariant** U1: in every chain the order is arrival
//! order (S14): the boundary inserts a block's unexpected messages in handler order.
//!
//! **Cost.** 128 bytes per message and 8 per chain head; insert, find in a one-key bin and remove are O(1).

use alloc::boxed::Box;

use crate::buffers::Buffers;
use crate::descriptor::NIL;
use crate::hash::Hashes;
use crate::index::CommView;
use crate::message::{Message, Protocol, Target};
use crate::{Hints, WildcardClass};

#[derive(Clone, Copy, Debug)]
struct Chain {
    head: u32,
    tail: u32,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    next: u32,
    before: u32,
}

const UNLINKED: Link = Link { next: NIL, before: NIL };

/// A message to be stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming<'a> {
    pub(crate) message: Message,
    pub(crate) hashes: Hashes,
    pub(crate) protocol: Protocol,
    pub(crate) payload: [u64; 3],
    /// Payload of a buffered message; empty otherwise.
    pub(crate) bytes: &'a [u8],
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Unexpected {
    pub(crate) message: Message,
    pub(crate) payload: [u64; 3],
    links: [Link; 4],
    hashes: Hashes,
    /// Unexpected buffer of a payload that does not fit here.
    pub(crate) buffer: u32,
    pub(crate) protocol: Protocol,
}

const _: () = assert!(size_of::<Unexpected>() == 128);

/// A pile of free indexes; last freed, first used, so that the lines in use stay few.
#[derive(Debug)]
pub(crate) struct FreeList {
    free: Box<[u32]>,
    count: usize,
}

impl FreeList {
    pub(crate) fn full(count: usize) -> Self {
        Self { free: (0..count as u32).rev().collect(), count }
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.count = self.count.checked_sub(1)?;
        Some(self.free[self.count])
    }

    #[inline]
    pub(crate) fn give(&mut self, index: u32) {
        self.free[self.count] = index;
        self.count += 1;
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn used(&self) -> usize {
        self.free.len() - self.count
    }
}

#[derive(Debug)]
pub(crate) struct UnexpectedStore {
    entries: Box<[Unexpected]>,
    free: FreeList,
    chains: Box<[Chain]>,
    buffers: Buffers,
    free_buffers: FreeList,
    /// Payload bytes held now.
    pub(crate) bytes: u64,
}

/// Bit c: a receive of class c may be posted, so messages are linked in chain c (S24).
pub(crate) fn classes_allowed(hints: Hints) -> u8 {
    let mut allowed = 1 << WildcardClass::None as u8;
    if !hints.no_any_source {
        allowed |= 1 << WildcardClass::Source as u8;
    }
    if !hints.no_any_tag {
        allowed |= 1 << WildcardClass::Tag as u8;
    }
    if !hints.no_any_source && !hints.no_any_tag {
        allowed |= 1 << WildcardClass::Both as u8;
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
            buffer: NIL,
            protocol: Protocol::Inline,
        };
        Self {
            entries: (0..entries).map(|_| entry).collect(),
            free: FreeList::full(entries),
            chains: (0..bins).map(|_| Chain { head: NIL, tail: NIL }).collect(),
            buffers: Buffers::new(buffers, buffer_bytes),
            free_buffers: FreeList::full(buffers),
            bytes: 0,
        }
    }

    /// Whether a message of this kind can be taken now.
    pub(crate) fn has_room(&self, protocol: Protocol) -> bool {
        self.free.count() > 0 && (protocol != Protocol::Buffered || self.free_buffers.count() > 0)
    }

    /// How many messages of any kind can be taken now.
    pub(crate) fn room(&self) -> usize {
        self.free.count().min(self.free_buffers.count())
    }

    pub(crate) fn used(&self) -> usize {
        self.free.used()
    }

    pub(crate) fn entry(&self, index: u32) -> &Unexpected {
        &self.entries[index as usize]
    }

    /// Takes a message at the end of its chains. `None`: no room.
    pub(crate) fn insert(&mut self, view: &CommView, allowed: u8, incoming: &Incoming<'_>) -> Option<u32> {
        let &Incoming { message, hashes, protocol, payload, bytes } = incoming;
        if !self.has_room(protocol) {
            return None;
        }
        let index = self.free.take()?;
        let mut buffer = NIL;
        if protocol == Protocol::Buffered {
            buffer = self.free_buffers.take()?;
            // SAFETY: the buffer was free, and only the boundary, which holds `&mut self`, uses these buffers.
            unsafe { self.buffers.write(buffer as usize, bytes) };
        }
        if protocol != Protocol::Rendezvous {
            self.bytes += u64::from(message.length);
        }
        let mut links = [UNLINKED; 4];
        for class in WildcardClass::ALL {
            if allowed & 1 << class as u8 != 0 {
                let chain = &mut self.chains[view.bin(class, hashes.of_class(class)) as usize];
                links[class as usize].before = chain.tail;
                if chain.tail == NIL {
                    chain.head = index;
                } else {
                    self.entries[chain.tail as usize].links[class as usize].next = index;
                }
                chain.tail = index;
            }
        }
        self.entries[index as usize] = Unexpected { message, payload, links, hashes, buffer, protocol };
        Some(index)
    }

    /// The oldest message that the target accepts, looked up in the one chain of its class.
    pub(crate) fn find(&self, view: &CommView, target: &Target) -> Option<u32> {
        let class = target.class;
        let mut current = self.chains[view.bin(class, target.hash) as usize].head;
        while current != NIL {
            let entry = &self.entries[current as usize];
            if target.accepts(entry.message.envelope.source, entry.message.envelope.tag) {
                return Some(current);
            }
            current = entry.links[class as usize].next;
        }
        None
    }

    /// Takes a message out of its chains; it keeps its memory until `free`.
    pub(crate) fn unlink(&mut self, view: &CommView, allowed: u8, index: u32) {
        let Unexpected { links, hashes, .. } = self.entries[index as usize];
        for class in WildcardClass::ALL {
            if allowed & 1 << class as u8 == 0 {
                continue;
            }
            let Link { next, before } = links[class as usize];
            let chain = &mut self.chains[view.bin(class, hashes.of_class(class)) as usize];
            if before == NIL {
                chain.head = next;
            } else {
                self.entries[before as usize].links[class as usize].next = next;
            }
            if next == NIL {
                chain.tail = before;
            } else {
                self.entries[next as usize].links[class as usize].before = before;
            }
        }
    }

    /// Looks at a stored payload.
    pub(crate) fn with_bytes<R>(&self, index: u32, look: impl FnOnce(&[u8]) -> R) -> R {
        let entry = &self.entries[index as usize];
        if entry.protocol == Protocol::Buffered {
            // SAFETY: only the boundary writes these buffers, and it holds `&self` here.
            unsafe { self.buffers.read(entry.buffer as usize, entry.message.length as usize, look) }
        } else {
            look(crate::message::inline_bytes(&entry.payload, entry.message.length))
        }
    }

    /// Gives the memory of an unlinked message back.
    pub(crate) fn free(&mut self, index: u32) {
        let entry = &self.entries[index as usize];
        if entry.buffer != NIL {
            self.free_buffers.give(entry.buffer);
        }
        if entry.protocol != Protocol::Rendezvous {
            self.bytes -= u64::from(entry.message.length);
        }
        self.free.give(index);
    }
}
