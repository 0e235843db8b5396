//! Values of which many are equal: each different value once, and its number at each place.

/// The number of the value at each place: 2 bytes up to 65,536 different values, 4 beyond.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Places {
    Few(Vec<u16>),
    Many(Vec<u32>),
}

/// Values by place. They are added at the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Repeated<T> {
    values: Vec<T>,
    places: Places,
}

impl<T> Default for Repeated<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            places: Places::Few(Vec::new()),
        }
    }
}

impl<T> Repeated<T> {
    pub(super) fn with_capacity(places: usize) -> Self {
        Self {
            places: Places::Few(Vec::with_capacity(places)),
            ..Self::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        match &self.places {
            Places::Few(places) => places.len(),
            Places::Many(places) => places.len(),
        }
    }

    #[inline]
    pub(super) fn at(&self, place: usize) -> &T {
        &self.values[self.number(place) as usize]
    }

    #[inline]
    pub(super) fn number(&self, place: usize) -> u32 {
        match &self.places {
            Places::Few(places) => places[place].into(),
            Places::Many(places) => places[place],
        }
    }

    /// The different values by number.
    pub(super) fn values(&self) -> &[T] {
        &self.values
    }

    /// Gives a value that is not among [`values`](Self::values) its number.
    pub(super) fn add_value(&mut self, value: T) -> u32 {
        self.values.push(value);
        self.values.len() as u32 - 1
    }

    /// Adds a place with the value of this number.
    pub(super) fn push(&mut self, number: u32) {
        match &mut self.places {
            Places::Few(places) => match u16::try_from(number) {
                Ok(number) => places.push(number),
                Err(_) => {
                    self.widen();
                    self.push(number);
                }
            },
            Places::Many(places) => places.push(number),
        }
    }

    /// Puts the value of this number at a place.
    pub(super) fn set(&mut self, place: usize, number: u32) {
        match &mut self.places {
            Places::Few(places) => match u16::try_from(number) {
                Ok(number) => places[place] = number,
                Err(_) => {
                    self.widen();
                    self.set(place, number);
                }
            },
            Places::Many(places) => places[place] = number,
        }
    }

    fn widen(&mut self) {
        if let Places::Few(places) = &self.places {
            let mut wide = Vec::with_capacity(places.capacity().max(places.len() + 1));
            wide.extend(places.iter().copied().map(u32::from));
            self.places = Places::Many(wide);
        }
    }

    /// Makes room for exactly so many more places.
    pub(super) fn reserve(&mut self, places: usize) {
        match &mut self.places {
            Places::Few(few) => few.reserve_exact(places),
            Places::Many(many) => many.reserve_exact(places),
        }
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.values.shrink_to_fit();
        match &mut self.places {
            Places::Few(places) => places.shrink_to_fit(),
            Places::Many(places) => places.shrink_to_fit(),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let places = match &self.places {
            Places::Few(places) => places.capacity() * 2,
            Places::Many(places) => places.capacity() * 4,
        };
        self.values.capacity() * size_of::<T>() + places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_two_bytes_until_they_need_more() {
        let mut all = Repeated::default();
        for value in 0..=u32::from(u16::MAX) {
            let number = all.add_value(7 * value);
            assert_eq!(number, value);
            all.push(number);
        }
        all.shrink_to_fit();
        assert_eq!(all.memory_bytes(), 65_536 * (4 + 2));
        let mut by_set = all.clone();
        let last = all.add_value(1);
        all.push(last);
        assert_eq!((last, all.len(), *all.at(65_536)), (65_536, 65_537, 1));
        assert_eq!(by_set.add_value(1), last);
        by_set.set(3, last);
        assert_eq!((*by_set.at(3), by_set.len()), (1, 65_536));
        by_set.set(4, 5);
        assert_eq!(*by_set.at(4), 35);
        for all in [&all, &by_set] {
            assert!((5..65_536).all(|at| *all.at(at) == 7 * at as u32));
        }
    }
}
