//! The free places of a table of receives, stored messages or buffers. Only the boundary takes and
//! frees places.

use alloc::boxed::Box;

/// A stack of a table's free places: last freed, first used, so few lines are in use.
#[derive(Debug)]
pub(crate) struct FreeList<Id> {
    free: Box<[Id]>,
    count: usize,
}

impl<Id: Copy + From<u32>> FreeList<Id> {
    pub(crate) fn full(count: usize) -> Self {
        Self {
            free: (0..count as u32).rev().map(Id::from).collect(),
            count,
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Id> {
        self.count = self.count.checked_sub(1)?;
        Some(self.free[self.count])
    }

    /// The places that [`pop`](Self::pop) will return, in order.
    #[inline]
    pub(crate) fn upcoming(&self) -> impl Iterator<Item = Id> {
        self.free[..self.count].iter().rev().copied()
    }

    #[inline]
    pub(crate) fn pop_many(&mut self, count: usize) {
        self.count -= count;
    }

    #[inline]
    pub(crate) fn push(&mut self, place: Id) {
        self.free[self.count] = place;
        self.count += 1;
    }

    /// Frees all these places, the last first: `pop` then returns them in the order of `places`.
    #[inline]
    pub(crate) fn push_all(&mut self, places: &[Id]) {
        let free = &mut self.free[self.count..self.count + places.len()];
        for (free, place) in free.iter_mut().zip(places.iter().rev()) {
            *free = *place;
        }
        self.count += places.len();
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn used(&self) -> usize {
        self.free.len() - self.count
    }
}
