//! An engine's state for each communicator.

use dpamatch_vocabulary::CommId;

use super::chain::vec_bound;
use super::id_table::IdTable;

/// A communicator in use.
#[derive(Clone, Debug)]
struct Slot<T> {
    /// Entries in both queues.
    entries: u32,
    /// `None`: the slot is free.
    value: Option<T>,
}

/// A map from each communicator in use to a `T`. Looking one up costs a probe of a hash table,
/// except for the one used last.
#[derive(Clone, Debug)]
pub(super) struct Comms<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    places: IdTable,
    /// The communicator found last, and its slot.
    last: Option<(CommId, u32)>,
}

impl<T> Comms<T> {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            places: IdTable::new(),
            last: None,
        }
    }

    #[inline]
    fn place(&mut self, comm: CommId) -> Option<u32> {
        match self.last {
            Some((last, at)) if last == comm => Some(at),
            _ => {
                let at = self.places.get(u64::from(comm.0))?;
                self.last = Some((comm, at));
                Some(at)
            }
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, comm: CommId) -> Option<&mut T> {
        let at = self.place(comm)?;
        self.slots[at as usize].value.as_mut()
    }

    /// Entries of the communicator in both queues.
    pub(super) fn entries(&self, comm: CommId) -> u32 {
        self.places
            .get(u64::from(comm.0))
            .map_or(0, |at| self.slots[at as usize].entries)
    }

    /// Counts one more entry of the communicator; the first takes it into use with `new`.
    #[inline]
    pub(super) fn enter(&mut self, comm: CommId, new: impl FnOnce() -> T) -> &mut T {
        let at = match self.place(comm) {
            Some(at) => at,
            None => self.insert(comm),
        };
        let slot = &mut self.slots[at as usize];
        slot.entries += 1;
        slot.value.get_or_insert_with(new)
    }

    #[cold]
    fn insert(&mut self, comm: CommId) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                entries: 0,
                value: None,
            });
            // Fewer than there are entries, which are fewer than 2^32.
            self.slots.len() as u32 - 1
        });
        self.places.set(u64::from(comm.0), at);
        self.last = Some((comm, at));
        at
    }

    /// Counts one entry of the communicator less. Returns its `T` and the number of entries left.
    #[inline]
    pub(super) fn leave(&mut self, comm: CommId) -> Option<(&mut T, u32)> {
        let at = self.place(comm)?;
        let slot = &mut self.slots[at as usize];
        debug_assert!(
            slot.entries > 0,
            "an entry leaves a communicator without entries"
        );
        slot.entries -= 1;
        Some((slot.value.as_mut()?, slot.entries))
    }

    /// Takes the communicator out of use.
    pub(super) fn remove(&mut self, comm: CommId) -> Option<T> {
        self.last = None;
        let at = self.places.remove(u64::from(comm.0))?;
        self.free.push(at);
        self.slots[at as usize].value.take()
    }

    /// Whether no communicator is in use.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.len() == self.free.len()
    }

    /// Frees the memory if no communicator is in use.
    pub(super) fn release(&mut self) {
        if self.is_empty() {
            *self = Self::new();
        }
    }

    /// Bytes of the table itself, without what a `T` points to.
    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot<T>>()
            + self.free.capacity() * size_of::<u32>()
            + self.places.bytes()
    }

    /// Upper bound on the bytes with at most `comms` in use at a time.
    pub(super) fn bytes_bound(comms: u64) -> u64 {
        vec_bound(comms, size_of::<Slot<T>>())
            + vec_bound(comms, size_of::<u32>())
            + IdTable::bytes_bound(comms)
    }
}
