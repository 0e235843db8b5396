//! A table of things with numbers.

/// Most entries of a table: numbers stay below 16 bits.
const MOST: usize = 60_000;

/// Things numbered from `first`. A number is used again only when all have been.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    first: u32,
    slots: Vec<Option<T>>,
}

impl<T> Slab<T> {
    pub(crate) const fn new(first: u32) -> Self {
        Self {
            first,
            slots: Vec::new(),
        }
    }

    /// Makes an entry that knows its number. None when the table is full.
    pub(crate) fn insert(&mut self, make: impl FnOnce(u32) -> T) -> Option<u32> {
        let at = if self.slots.len() < MOST {
            self.slots.push(None);
            self.slots.len() - 1
        } else {
            self.slots.iter().position(Option::is_none)?
        };
        let number = self.first + at as u32;
        self.slots[at] = Some(make(number));
        Some(number)
    }

    fn at(&self, number: u32) -> usize {
        number.wrapping_sub(self.first) as usize
    }

    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.slots.get(self.at(number))?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let at = self.at(number);
        self.slots.get_mut(at)?.as_mut()
    }

    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        let at = self.at(number);
        self.slots.get_mut(at)?.take()
    }

    /// Removes all that `keep` refuses.
    pub(crate) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.slots
            .iter_mut()
            .for_each(|slot| *slot = slot.take().filter(&keep));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let numbered = self.slots.iter().enumerate();
        numbered.filter_map(|(at, slot)| Some((self.first + at as u32, slot.as_ref()?)))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_used_again_when_all_have_been() {
        let mut slab = Slab::new(7);
        let numbers = |slab: &mut Slab<u32>| slab.insert(|number| number);
        assert_eq!(numbers(&mut slab), Some(7));
        assert_eq!(slab.remove(7), Some(7));
        assert!(
            (8..)
                .take(MOST - 1)
                .all(|number| numbers(&mut slab) == Some(number))
        );
        assert_eq!([numbers(&mut slab), numbers(&mut slab)], [Some(7), None]);
    }
}
