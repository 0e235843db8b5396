//! Entries by number. A number is reused once its entry was removed.
//!
//! Unlike in the crate slab, an entry can be [dropped](Table::free) in place: entries are two cache
//! lines long, and moving one out would cost as much as using it.

use std::ops::{Index, IndexMut};

#[derive(Debug)]
pub(super) struct Table<T> {
    rows: Vec<Row<T>>,
    /// The row that was freed last; the number of rows, if none is free.
    free: usize,
}

#[derive(Debug)]
enum Row<T> {
    Full(T),
    /// The row that was freed before it.
    Free(usize),
}

impl<T> Table<T> {
    pub(super) fn new() -> Self {
        Self {
            rows: Vec::new(),
            free: 0,
        }
    }

    /// Its number.
    #[inline(always)]
    pub(super) fn insert(&mut self, entry: T) -> usize {
        let key = self.free;
        let Some(row) = self.rows.get_mut(key) else {
            return self.grow(entry);
        };
        let Row::Free(next) = *row else {
            unreachable!("the free row is taken")
        };
        *row = Row::Full(entry);
        self.free = next;
        key
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, entry: T) -> usize {
        let key = self.rows.len();
        self.rows.push(Row::Full(entry));
        self.free = key + 1;
        key
    }

    #[inline(always)]
    pub(super) fn get(&self, key: usize) -> Option<&T> {
        match self.rows.get(key) {
            Some(Row::Full(entry)) => Some(entry),
            _ => None,
        }
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, key: usize) -> Option<&mut T> {
        match self.rows.get_mut(key) {
            Some(Row::Full(entry)) => Some(entry),
            _ => None,
        }
    }

    /// An entry that will be [freed](Full::free).
    ///
    /// # Panics
    /// When there is none.
    #[inline(always)]
    pub(super) fn full(&mut self, key: usize) -> Full<'_, T> {
        let Self { rows, free } = self;
        match &mut rows[key] {
            row @ Row::Full(_) => Full { row, free, key },
            Row::Free(_) => panic!("{NONE}"),
        }
    }

    /// Takes an entry out and drops it.
    ///
    /// # Panics
    /// When there is none.
    #[inline(always)]
    pub(super) fn free(&mut self, key: usize) {
        self.full(key).free();
    }

    /// Takes an entry out.
    ///
    /// # Panics
    /// When there is none.
    pub(super) fn remove(&mut self, key: usize) -> T {
        let free = self.free;
        match self.rows.get_mut(key) {
            Some(row @ Row::Full(_)) => {
                self.free = key;
                match std::mem::replace(row, Row::Free(free)) {
                    Row::Full(entry) => entry,
                    Row::Free(_) => unreachable!("seen full"),
                }
            }
            _ => panic!("{NONE}"),
        }
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut().filter_map(|row| match row {
            Row::Full(entry) => Some(entry),
            Row::Free(_) => None,
        })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.rows
            .iter()
            .enumerate()
            .filter_map(|(key, row)| match row {
                Row::Full(entry) => Some((key, entry)),
                Row::Free(_) => None,
            })
    }
}

/// An entry in its place.
pub(super) struct Full<'a, T> {
    row: &'a mut Row<T>,
    free: &'a mut usize,
    key: usize,
}

impl<T> Full<'_, T> {
    #[inline(always)]
    pub(super) fn get(&self) -> &T {
        match &*self.row {
            Row::Full(entry) => entry,
            Row::Free(_) => unreachable!("`Table::full` saw it full"),
        }
    }

    #[inline(always)]
    pub(super) fn free(self) {
        *self.row = Row::Free(*self.free);
        *self.free = self.key;
    }

    /// Works like [`free`](Self::free) for an entry that owns nothing, and does not drop it.
    #[inline(always)]
    pub(super) fn forget(self) {
        std::mem::forget(std::mem::replace(self.row, Row::Free(*self.free)));
        *self.free = self.key;
    }
}

const NONE: &str = "no such entry";

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, key: usize) -> &T {
        self.get(key).expect(NONE)
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, key: usize) -> &mut T {
        self.get_mut(key).expect(NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_and_others_stay() {
        let mut table = Table::new();
        let keys: Vec<_> = (0..5).map(|value| table.insert(Box::new(value))).collect();
        assert_eq!(keys, [0, 1, 2, 3, 4]);
        table.free(1);
        assert_eq!(*table.remove(3), 3);
        assert!(table.get(1).is_none() && table.get_mut(3).is_none() && table.get(5).is_none());
        *table[4] += 10;
        let all = |table: &Table<Box<i32>>| {
            table
                .iter()
                .map(|(key, value)| (key, **value))
                .collect::<Vec<_>>()
        };
        assert_eq!(all(&table), [(0, 0), (2, 2), (4, 14)]);
        assert_eq!(
            [7, 8, 9].map(|value| table.insert(Box::new(value))),
            [3, 1, 5]
        );
        assert_eq!(
            all(&table),
            [(0, 0), (1, 8), (2, 2), (3, 7), (4, 14), (5, 9)]
        );
    }

    #[test]
    #[should_panic(expected = "no such entry")]
    fn nothing_is_freed_twice() {
        let mut table = Table::new();
        let key = table.insert(1);
        table.free(key);
        table.free(key);
    }
}
