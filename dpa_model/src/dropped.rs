//! Messages that a matched probe took and that will never be received: their handle was dropped.
//!
//! **State.** `head` and `next[entry]`: a list of entries of the unexpected store, each in it at
//! most once. Any thread pushes an entry; the host's port takes the whole list and informs the NIC.
//!
//! **Orderings.** `put`: head, Release -> `take_all`: Acquire publishes the links. **Progress.**
//! Lock-free. Only the whole list is ever taken, so an entry seen as head stays the head until the
//! exchange, or the exchange fails.

use alloc::boxed::Box;

use crate::number::StoredId;
use crate::sync::{AtomicU32, Relaxed};

#[derive(Debug)]
pub(crate) struct Dropped {
    head: AtomicU32,
    next: Box<[AtomicU32]>,
}

impl Dropped {
    pub(crate) const ENTRY_BYTES: usize = size_of::<AtomicU32>();

    pub(crate) fn new(entries: usize) -> Self {
        Self {
            head: AtomicU32::new(StoredId::NIL.0),
            next: (0..entries)
                .map(|_| AtomicU32::new(StoredId::NIL.0))
                .collect(),
        }
    }

    pub(crate) fn put(&self, entry: StoredId) {
        let mut head = self.head.load(Relaxed);
        loop {
            self.next[entry.index()].store(head, Relaxed);
            if fault!(DropTorn) {
                return self.head.store(entry.0, crate::sync::Ordering::Release);
            }
            match self
                .head
                .compare_exchange(head, entry.0, weak!(Release), Relaxed)
            {
                Ok(_) => return,
                Err(newer) => head = newer,
            }
        }
    }

    /// Whether the list has entries.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.head.load(Relaxed) != StoredId::NIL.0
    }

    /// Takes all entries and passes each to `each`.
    pub(crate) fn take_all(&self, mut each: impl FnMut(StoredId)) {
        let mut current = StoredId(self.head.swap(StoredId::NIL.0, weak!(Acquire)));
        while current != StoredId::NIL {
            // The link is read first: `each` may push the entry again.
            let next = StoredId(self.next[current.index()].load(Relaxed));
            each(current);
            current = next;
        }
    }
}
