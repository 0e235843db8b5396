//! Numbers in 2 bytes each, as long as most are near the first of their block.

/// Numbers of a block, whose first is held in full.
const BLOCK: usize = 64;
/// In place of a distance: the number is held in full.
const FAR: i16 = i16::MIN;

/// Numbers that are added at the end and read at any place. At most 4 bytes each, 1/16 byte for the
/// first number of its block, and 128 bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Numbers(Form);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Form {
    Near {
        /// The first number of each block.
        firsts: Vec<u32>,
        /// From there to each number, or [`FAR`].
        distances: Vec<i16>,
        /// The places of numbers that are too far away, ascending, and these numbers.
        far: Vec<(u32, u32)>,
    },
    Wide(Vec<u32>),
}

impl Default for Numbers {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl Numbers {
    pub fn with_capacity(numbers: usize) -> Self {
        Self(Form::Near {
            firsts: Vec::with_capacity(numbers.div_ceil(BLOCK)),
            distances: Vec::with_capacity(numbers),
            far: Vec::new(),
        })
    }

    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Near { distances, .. } => distances.len(),
            Form::Wide(numbers) => numbers.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn push(&mut self, number: u32) {
        let (firsts, distances, far) = match &mut self.0 {
            Form::Wide(numbers) => return numbers.push(number),
            Form::Near {
                firsts,
                distances,
                far,
            } => (firsts, distances, far),
        };
        let at = distances.len();
        if at.is_multiple_of(BLOCK) {
            firsts.push(number);
        }
        let distance = number.wrapping_sub(firsts[at / BLOCK]).cast_signed();
        match i16::try_from(distance) {
            Ok(distance) if distance != FAR => distances.push(distance),
            _ => {
                distances.push(FAR);
                far.push((at as u32, number));
                // From here on a number takes less in full.
                if 4 * far.len() > at + BLOCK {
                    self.0 = Form::Wide(self.iter().collect());
                }
            }
        }
    }

    #[inline]
    pub fn at(&self, at: u32) -> u32 {
        let place = at as usize;
        match &self.0 {
            Form::Wide(numbers) => numbers[place],
            Form::Near {
                firsts,
                distances,
                far,
            } => match distances[place] {
                FAR => {
                    let found = far.binary_search_by_key(&at, |&(at, _)| at);
                    far[found.expect("each far number was pushed")].1
                }
                distance => firsts[place / BLOCK].wrapping_add_signed(distance.into()),
            },
        }
    }

    /// `count` numbers from the place `first` on.
    pub fn part(&self, first: u32, count: u32) -> impl ExactSizeIterator<Item = u32> + '_ {
        (first..first + count).map(|at| self.at(at))
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.part(0, self.len() as u32)
    }

    pub fn shrink_to_fit(&mut self) {
        match &mut self.0 {
            Form::Wide(numbers) => numbers.shrink_to_fit(),
            Form::Near {
                firsts,
                distances,
                far,
            } => {
                firsts.shrink_to_fit();
                distances.shrink_to_fit();
                far.shrink_to_fit();
            }
        }
    }

    pub fn memory_bytes(&self) -> usize {
        match &self.0 {
            Form::Wide(numbers) => numbers.capacity() * 4,
            Form::Near {
                firsts,
                distances,
                far,
            } => firsts.capacity() * 4 + distances.capacity() * 2 + far.capacity() * 8,
        }
    }
}

impl Extend<u32> for Numbers {
    fn extend<T: IntoIterator<Item = u32>>(&mut self, numbers: T) {
        numbers.into_iter().for_each(|number| self.push(number));
    }
}

impl FromIterator<u32> for Numbers {
    fn from_iter<T: IntoIterator<Item = u32>>(numbers: T) -> Self {
        let mut all = Self::default();
        all.extend(numbers);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(numbers: &[u32]) -> Numbers {
        let mut held: Numbers = numbers.iter().copied().collect();
        held.shrink_to_fit();
        assert_eq!(held.iter().collect::<Vec<_>>(), numbers);
        held
    }

    #[test]
    fn what_was_added_is_read() {
        let most = i16::MAX as u32;
        let near = [0, most, 0_u32.wrapping_sub(most)];
        let far = [most + 1, 0_u32.wrapping_sub(most + 1), u32::MAX / 2];
        for (distances, in_full) in [(near, 0), (far, 3)] {
            let mut numbers: Vec<u32> = (0..2 * BLOCK as u32).collect();
            numbers.push(70_000);
            numbers.extend(distances.map(|it| 70_000_u32.wrapping_add(it)));
            let bytes = 4 * 3 + 2 * numbers.len() + 8 * in_full;
            assert_eq!(held(&numbers).memory_bytes(), bytes);
        }
    }

    #[test]
    fn numbers_without_order_take_four_bytes() {
        let scattered = |count: u32| (0..count).map(|it| it.wrapping_mul(0x9E37_79B9));
        let few: Vec<u32> = scattered(17).collect();
        let many: Vec<u32> = scattered(1000).collect();
        assert_eq!(held(&few).memory_bytes(), 4 + 2 * 17 + 8 * 16);
        assert_eq!(held(&many).memory_bytes(), 4 * 1000);
    }
}
