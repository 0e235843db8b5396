//! The order in which posts and arrivals reach a rank's matching.
//!
//! A trace records what each rank did, not when messages arrived, so an order must be made. It
//! follows the recorded pairs ([`Guided`]), a simulated run ([`Causal`]) or the recorded clocks
//! ([`Merged`]).

mod causal;
mod clock;
mod gate;
mod guided;
mod merged;

use crate::workload::{STEP, mix};
use clock::Clock;

pub use causal::{Causal, Load, Network, Stall};
pub use guided::Guided;
pub use merged::Merged;

/// The order in which messages and posts reach the ranks.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum OrderChoice {
    /// A simulated run, in which each rank runs until it blocks.
    #[default]
    Causal,
    Time,
    /// The real order, known only from order logs.
    Recorded,
    /// The recorded pairs, with all receives first.
    PostsFirst,
    /// The recorded pairs, with each message as early as possible.
    ArrivalsFirst,
    /// The recorded pairs, interleaved at random.
    Random {
        seed: u64,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happening {
    /// Posts this receive of its [`transfers`](super::Program::transfers).
    Post(u32),
    Arrive(u32),
    Cancel(u32),
    /// This probe looks for its message.
    Probe(u32),
}

/// A [`Happening`] in 32 bits; the upper two hold the kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Code(u32);

const NUMBER: u32 = (1 << 30) - 1;

impl From<Happening> for Code {
    fn from(happening: Happening) -> Self {
        let (kind, number) = match happening {
            Happening::Post(number) => (0, number),
            Happening::Arrive(number) => (1, number),
            Happening::Cancel(number) => (2, number),
            Happening::Probe(number) => (3, number),
        };
        debug_assert!(number <= NUMBER, "a rank has fewer transfers and messages");
        Self(kind << 30 | number)
    }
}

impl From<Code> for Happening {
    fn from(code: Code) -> Self {
        let number = code.0 & NUMBER;
        match code.0 >> 30 {
            0 => Self::Post(number),
            1 => Self::Arrive(number),
            2 => Self::Cancel(number),
            _ => Self::Probe(number),
        }
    }
}

/// The events at one rank, in order. 8 bytes each if they come within seconds, 4 without times.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Order {
    codes: Vec<Code>,
    /// Nanoseconds since the first event of all ranks; empty without times.
    times_ns: Clock,
    /// Probes that the simulation released before their message came, ascending. They are no
    /// events.
    released: Vec<u32>,
}

impl Order {
    fn with_capacity(events: usize) -> Self {
        Self {
            codes: Vec::with_capacity(events),
            ..Self::default()
        }
    }

    fn with_times(events: usize) -> Self {
        Self {
            times_ns: Clock::with_capacity(events),
            ..Self::with_capacity(events)
        }
    }

    fn push(&mut self, happening: Happening) {
        self.codes.push(happening.into());
    }

    pub(super) fn push_at(&mut self, happening: Happening, time_ns: u64) {
        self.codes.push(happening.into());
        self.times_ns.push(time_ns);
    }

    /// Whether the simulation released the probe before its message came.
    pub fn is_released(&self, probe: u32) -> bool {
        self.released.binary_search(&probe).is_ok()
    }

    pub fn len(&self) -> usize {
        self.codes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Happening> + '_ {
        self.codes.iter().map(|&code| code.into())
    }

    /// The time of the n-th event, if the order has times.
    pub fn time_ns(&self, at: usize) -> Option<u64> {
        self.times_ns.get(at)
    }

    /// The part of the run's time that has the n-th event, or of the order if it has no times.
    pub(super) fn column(&self, at: usize, columns: usize, end_ns: u64) -> usize {
        let column = match self.time_ns(at) {
            Some(time) => (u128::from(time) * columns as u128 / u128::from(end_ns.max(1))) as usize,
            None => at * columns / self.len().max(1),
        };
        column.min(columns - 1)
    }
}

#[cfg(test)]
#[test]
fn an_event_is_in_its_part_of_the_time_or_of_the_order() {
    let mut order = Order::default();
    (0..7).for_each(|number| order.push(Happening::Arrive(number)));
    let columns = |order: &Order| (0..7).map(|at| order.column(at, 3, 60)).collect::<Vec<_>>();
    assert_eq!(columns(&order), [0, 0, 0, 1, 1, 2, 2]);
    for time_ns in [0, 19, 20, 39, 40, 59, 60] {
        order.times_ns.push(time_ns);
    }
    assert_eq!(columns(&order), [0, 0, 1, 1, 2, 2, 2]);
}

/// SplitMix64. Orders depend on its numbers, so they must never change for a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64, rank: u32) -> Self {
        Self(seed ^ (u64::from(rank) + 1).wrapping_mul(0xD134_2543_DE82_EF95))
    }

    pub(crate) fn roll(&mut self) -> u64 {
        let rolled = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        rolled
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.roll()) * u128::from(end)) >> 64) as u64
    }
}
