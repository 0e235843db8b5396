//! Completion queues and counters as the domain keeps them.

use std::collections::VecDeque;
use std::ffi::c_void;

use slab::Slab;

use super::{Common, Vector};
use crate::bindings::{CqTaggedEntry, FI_ADDR_UNSPEC, FiAddr};
use crate::wire::PeerId;

/// One completion; `err` is 0 on success.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    pub(crate) entry: CqTaggedEntry,
    /// Bytes that did not fit.
    pub(crate) olen: usize,
    pub(crate) err: i32,
    pub(crate) from: CompletionSource,
}

/// The source of a completion: the peer, and the program's address vector. The row is computed on
/// demand, because few programs ask for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompletionSource {
    pub(super) vector: Option<usize>,
    pub(super) peer: PeerId,
}

impl CompletionSource {
    pub(crate) fn row(self, vectors: &Slab<Vector>) -> u64 {
        let vector = self.vector.and_then(|vector| vectors.get(vector));
        vector.map_or(FI_ADDR_UNSPEC, |vector| vector.row(self.peer))
    }
}

// SAFETY: its pointers are the program's own; the provider only passes them on.
unsafe impl Send for Completion {}

impl Completion {
    /// A successful completion without data.
    pub(crate) fn new(context: *mut c_void, flags: u64) -> Self {
        let entry = CqTaggedEntry {
            op_context: context,
            flags,
            len: 0,
            buf: std::ptr::null_mut(),
            data: 0,
            tag: 0,
        };
        Self {
            entry,
            olen: 0,
            err: 0,
            from: CompletionSource {
                vector: None,
                peer: PeerId(0),
            },
        }
    }

    pub(crate) fn failed(self, err: i32) -> Self {
        Self { err, ..self }
    }
}

/// The program's buffer for completions. The short path writes to it; without it, or once `open` is
/// false, completions go to their queue.
pub(crate) struct Sink {
    target: *mut u8,
    end: *mut u8,
    /// Where the next source goes, or null.
    from: *mut FiAddr,
    entry_bytes: usize,
    /// Whether completions of the endpoint's receives may go here now: they go to this queue, which
    /// is empty, and no counter counts them.
    open: bool,
}

impl Sink {
    pub(crate) fn none() -> Self {
        let (target, from) = (std::ptr::null_mut(), std::ptr::null_mut());
        Self {
            target,
            end: target,
            from,
            entry_bytes: 0,
            open: false,
        }
    }

    /// # Safety
    /// `target` has room for `count` entries of that size, the beginnings of tagged ones, and
    /// `from`, unless null, for as many addresses.
    #[inline(always)]
    pub(crate) unsafe fn new(
        target: *mut c_void,
        from: *mut FiAddr,
        count: usize,
        entry_bytes: usize,
    ) -> Self {
        let target = target.cast::<u8>();
        let end = target.wrapping_add(count.min(u32::MAX as usize) * entry_bytes);
        Self {
            target,
            end,
            from,
            entry_bytes,
            open: false,
        }
    }

    /// Opens it for the short path, which writes whole entries only.
    pub(crate) fn open(&mut self) {
        self.open = self.has_room() && self.entry_bytes == size_of::<CqTaggedEntry>();
    }

    pub(crate) fn close(&mut self) {
        self.open = false;
    }

    /// Completions that it takes of `most`; without it, all go to the queue.
    #[inline(always)]
    pub(crate) fn limit(&self, most: u64) -> u64 {
        let room = (self.end.addr() - self.target.addr()) / size_of::<CqTaggedEntry>();
        if self.open {
            most.min(room as u64)
        } else {
            most
        }
    }

    /// Entries written since its target was this.
    #[inline(always)]
    pub(crate) fn written(&self, start: *mut c_void) -> usize {
        (self.target.addr() - start.addr()) / self.entry_bytes
    }

    /// Whether it takes no more of what it took.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.open && !self.has_room()
    }

    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.target < self.end
    }

    /// Writes a whole entry.
    ///
    /// # Safety
    /// The sink is open and has room.
    #[inline(always)]
    pub(crate) unsafe fn put_whole(
        &mut self,
        entry: CqTaggedEntry,
        from: CompletionSource,
        vectors: &Slab<Vector>,
    ) {
        debug_assert!(self.open && self.has_room());
        // SAFETY: there is room for this entry (`new`), which has the size of all (`open`).
        unsafe {
            self.target.cast::<CqTaggedEntry>().write(entry);
            self.pass(size_of::<CqTaggedEntry>(), from, vectors);
        }
    }

    /// Writes a completion. Without room, nothing happens.
    pub(crate) fn put(
        &mut self,
        entry: &CqTaggedEntry,
        from: CompletionSource,
        vectors: &Slab<Vector>,
    ) {
        if !self.has_room() {
            return;
        }
        let start = std::ptr::from_ref(entry).cast();
        // SAFETY: there is room for this entry (`new`).
        unsafe {
            self.target
                .copy_from_nonoverlapping(start, self.entry_bytes);
            self.pass(self.entry_bytes, from, vectors);
        }
    }

    /// Writes the source of an entry, and passes the entry.
    ///
    /// # Safety
    /// The sink has room for an entry of that size.
    #[inline(always)]
    unsafe fn pass(&mut self, bytes: usize, from: CompletionSource, vectors: &Slab<Vector>) {
        // SAFETY: the caller's promise, and `new`.
        unsafe {
            self.target = self.target.add(bytes);
            if !self.from.is_null() {
                *self.from = from.row(vectors);
                self.from = self.from.add(1);
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) ready: VecDeque<Completion>,
    /// Bytes of an entry in the program's format.
    pub(crate) entry_bytes: usize,
    /// The endpoints that a read of the queue drives.
    pub(crate) endpoints: Vec<usize>,
    /// A program may sleep on it.
    pub(crate) sleeps: bool,
    /// The program called `fi_cq_signal`.
    pub(crate) signalled: bool,
    /// The descriptor to wait on, if programs may sleep on the queue.
    pub(crate) wait: Option<std::os::fd::OwnedFd>,
}

impl Common {
    /// Counts a finished operation. Its completion goes to the queue if the program wants it or the
    /// operation failed.
    #[inline(always)]
    pub(super) fn finish(
        &mut self,
        counter: Option<usize>,
        queue: Option<usize>,
        completion: Completion,
        wanted: bool,
    ) {
        if let Some(counter) = counter.and_then(|counter| self.counters.get_mut(counter)) {
            counter.value += u64::from(completion.err == 0);
            counter.errors += u64::from(completion.err != 0);
        }
        let queue = queue.and_then(|queue| self.queues.get_mut(queue));
        if let (true, Some(queue)) = (wanted || completion.err != 0, queue) {
            queue.ready.push_back(completion);
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counter {
    pub(crate) value: u64,
    pub(crate) errors: u64,
    pub(crate) endpoints: Vec<usize>,
}
