//! The steps of a rank in bytes, read in order: 5 to 8 bytes each, in place of 32.
//!
//! A step is a kind, the time since the call before it, the difference of its wall time from that
//! of the step before it, and numbers that do not follow from the steps before it. All are
//! variable-length integers, so that no value is too great.

use super::program::{Action, Step, Sync};

/// What the next step is likely to follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Before {
    at_ns: i64,
    /// One more than the transfer that began last.
    transfer: u32,
    /// The end of the last list of finished transfers.
    finished: u32,
}

impl Before {
    fn follow(&mut self, step: &Step) {
        self.at_ns = step.at_ns;
        match step.action {
            Action::Begin(at) => self.transfer = at.wrapping_add(1),
            Action::Finish { first, count } => self.finished = first.wrapping_add(count),
            Action::Cancel(_) | Action::Collective { .. } => {}
        }
    }
}

const BEGIN_NEXT: u8 = 0;
const BEGIN: u8 = 1;
const FINISH_NEXT: u8 = 2;
const FINISH: u8 = 3;
const CANCEL: u8 = 4;
/// And the place of its [`Sync`] in [`SYNCS`].
const COLLECTIVE: u8 = 5;
const SYNCS: [Sync; 4] = [Sync::All, Sync::FromRoot, Sync::ToRoot, Sync::None];

/// Steps that are added at the end and read from the start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Steps {
    bytes: Vec<u8>,
    count: usize,
    before: Before,
}

impl Steps {
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn push(&mut self, step: Step) {
        let before = self.before;
        let (kind, numbers): (u8, &[u32]) = match step.action {
            Action::Begin(at) if at == before.transfer => (BEGIN_NEXT, &[]),
            Action::Begin(at) => (BEGIN, &[at]),
            Action::Finish { first, count } if first == before.finished => (FINISH_NEXT, &[count]),
            Action::Finish { first, count } => (FINISH, &[first, count]),
            Action::Cancel(at) => (CANCEL, &[at]),
            Action::Collective { comm, sync, root } => {
                (COLLECTIVE + sync as u8, &[comm.into(), root])
            }
        };
        self.bytes.push(kind);
        self.write(step.gap_ns);
        let later = step.at_ns.wrapping_sub(before.at_ns);
        // The sign is the lowest bit, so that a clock that goes back a little takes few bytes, too.
        self.write((later << 1 ^ later >> 63) as u64);
        for &number in numbers {
            self.write(number.into());
        }
        self.before.follow(&step);
        self.count += 1;
    }

    /// Seven bits a byte, the lowest first; the upper bit says that more follow.
    fn write(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub fn iter(&self) -> StepsIter<'_> {
        StepsIter {
            bytes: &self.bytes,
            left: self.count,
            before: Before::default(),
        }
    }

    /// Changes any steps.
    ///
    /// # Complexity
    /// Unpacks and packs all steps.
    pub fn edit(&mut self, change: impl FnOnce(&mut Vec<Step>)) {
        let mut steps: Vec<Step> = self.iter().collect();
        change(&mut steps);
        *self = steps.into_iter().collect();
    }

    pub fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
    }

    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

impl Extend<Step> for Steps {
    fn extend<T: IntoIterator<Item = Step>>(&mut self, steps: T) {
        steps.into_iter().for_each(|step| self.push(step));
    }
}

impl FromIterator<Step> for Steps {
    fn from_iter<T: IntoIterator<Item = Step>>(steps: T) -> Self {
        let mut all = Self::default();
        all.extend(steps);
        all
    }
}

impl<'a> IntoIterator for &'a Steps {
    type Item = Step;
    type IntoIter = StepsIter<'a>;

    fn into_iter(self) -> StepsIter<'a> {
        self.iter()
    }
}

/// The steps from a place on.
#[derive(Clone, Debug)]
pub struct StepsIter<'a> {
    bytes: &'a [u8],
    left: usize,
    before: Before,
}

impl StepsIter<'_> {
    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(byte)
    }

    #[inline]
    fn read(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        Some(value)
    }

    #[inline]
    fn number(&mut self) -> Option<u32> {
        // It was written from 32 bits.
        self.read().map(|value| value as u32)
    }
}

impl Iterator for StepsIter<'_> {
    type Item = Step;

    #[inline]
    fn next(&mut self) -> Option<Step> {
        let kind = self.byte()?;
        let gap_ns = self.read()?;
        let later = self.read()?;
        let later = (later >> 1) as i64 ^ -((later & 1) as i64);
        let before = self.before;
        let action = match kind {
            BEGIN_NEXT => Action::Begin(before.transfer),
            BEGIN => Action::Begin(self.number()?),
            FINISH_NEXT => Action::Finish {
                first: before.finished,
                count: self.number()?,
            },
            FINISH => Action::Finish {
                first: self.number()?,
                count: self.number()?,
            },
            CANCEL => Action::Cancel(self.number()?),
            collective => Action::Collective {
                sync: SYNCS[usize::from(collective - COLLECTIVE)],
                // It was written from 16 bits.
                comm: self.number()? as u16,
                root: self.number()?,
            },
        };
        let step = Step {
            at_ns: before.at_ns.wrapping_add(later),
            gap_ns,
            action,
        };
        self.before.follow(&step);
        self.left -= 1;
        Some(step)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for StepsIter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_read() {
        let actions = [
            Action::Begin(0),
            Action::Begin(1),
            Action::Begin(1),
            Action::Begin(u32::MAX),
            Action::Begin(0),
            Action::Finish { first: 0, count: 3 },
            Action::Finish {
                first: 3,
                count: u32::MAX,
            },
            Action::Finish { first: 2, count: 0 },
            Action::Finish { first: 3, count: 1 },
            Action::Cancel(u32::MAX),
        ];
        let collectives = SYNCS.map(|sync| Action::Collective {
            comm: u16::MAX,
            sync,
            root: u32::MAX,
        });
        let times = [0, 1, -1, 63, 64, -64, -65, i64::MAX, i64::MIN, 0, i64::MIN];
        let gaps = [0, 127, 128, u64::MAX];
        let mut all = Vec::new();
        for action in actions.into_iter().chain(collectives) {
            for at_ns in times {
                all.extend(gaps.map(|gap_ns| Step {
                    at_ns,
                    gap_ns,
                    action,
                }));
            }
        }
        let mut steps: Steps = all.iter().copied().collect();
        assert_eq!((steps.len(), steps.iter().len()), (all.len(), all.len()));
        assert_eq!(steps.iter().collect::<Vec<_>>(), all);
        for step in &mut all {
            step.gap_ns = 5;
        }
        steps.edit(|steps| steps.iter_mut().for_each(|step| step.gap_ns = 5));
        assert_eq!(steps, all.into_iter().collect());
    }

    /// Calls that follow each other within microseconds.
    #[test]
    fn usual_steps_take_few_bytes() {
        let step = |number: u32| Step {
            at_ns: 5_000 * i64::from(number),
            gap_ns: 700,
            action: Action::Begin(number),
        };
        let steps: Steps = (0..1000).map(step).collect();
        assert_eq!(steps.bytes.len(), 999 * 5 + 4);
    }
}
