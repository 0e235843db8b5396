//! Times in 4 bytes each, as long as those of a block are within 4 s of its first one.

/// Times of a block, whose first is held in full.
const BLOCK: usize = 64;
/// In place of a distance: the time is held in full.
const FAR: u32 = u32::MAX;

/// Nanoseconds that are added at the end and read at any place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Clock {
    /// The first time of each block.
    firsts: Vec<u64>,
    /// Nanoseconds from there to each time, or [`FAR`].
    distances: Vec<u32>,
    /// The places of times that are too far away, ascending, and these times.
    far: Vec<(usize, u64)>,
}

impl Clock {
    pub(super) fn with_capacity(times: usize) -> Self {
        Self {
            firsts: Vec::with_capacity(times.div_ceil(BLOCK)),
            distances: Vec::with_capacity(times),
            far: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, time_ns: u64) {
        let at = self.distances.len();
        if at.is_multiple_of(BLOCK) {
            self.firsts.push(time_ns);
        }
        let distance = time_ns.checked_sub(self.firsts[at / BLOCK]);
        let distance = distance.and_then(|it| u32::try_from(it).ok());
        match distance.filter(|&it| it != FAR) {
            Some(distance) => self.distances.push(distance),
            None => {
                self.far.push((at, time_ns));
                self.distances.push(FAR);
            }
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<u64> {
        match *self.distances.get(at)? {
            FAR => {
                let place = self.far.binary_search_by_key(&at, |&(at, _)| at);
                Some(self.far[place.expect("each far time was pushed")].1)
            }
            distance => Some(self.firsts[at / BLOCK] + u64::from(distance)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_read() {
        let farthest = u64::from(FAR);
        let near = [0, farthest - 1, farthest, farthest + 1];
        let mut times: Vec<u64> = (0..2 * BLOCK as u64).collect();
        times.extend(near.map(|distance| 1_000 + distance));
        times.extend([999, u64::MAX, 0, 1_000]);
        let mut clock = Clock::with_capacity(times.len());
        times.iter().for_each(|&time| clock.push(time));
        let read: Vec<_> = (0..times.len()).map_while(|at| clock.get(at)).collect();
        assert_eq!(read, times);
        assert_eq!(clock.get(times.len()), None);
        assert_eq!((clock.firsts.len(), clock.far.len()), (3, 5));
    }
}
