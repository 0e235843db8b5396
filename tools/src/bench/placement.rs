//! The placement of the two measuring processors, which a hypervisor may change.
//!
//! Each program has a different rate in each placement. So the placement is checked at both ends of
//! a measurement, and rates are compared only within one placement.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

use super::machine::{Processors, hand_over_ns};

/// The distance of two processors, by the cache-line round trip.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Distance {
    /// Threads of one core: less than 60 ns.
    Siblings,
    /// Cores that share a cache: up to 170 ns.
    Near,
    Far,
}

/// Maximum round trip of siblings, and of near processors, in nanoseconds.
const LONGEST_NS: [f64; 2] = [60.0, 170.0];

impl Distance {
    fn of(hand_over_ns: f64) -> Self {
        match () {
            () if hand_over_ns < LONGEST_NS[0] => Self::Siblings,
            () if hand_over_ns <= LONGEST_NS[1] => Self::Near,
            () => Self::Far,
        }
    }
}

/// A state of the two processors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize)]
pub struct Placement {
    pub distance: Distance,
    pub slowed: bool,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.distance {
            Distance::Siblings => "siblings",
            Distance::Near => "near",
            Distance::Far => "far",
        })?;
        f.write_str(if self.slowed { ", slowed" } else { "" })
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Look {
    /// Cache-line round trip in nanoseconds.
    pub(super) hand_over_ns: f64,
    /// Time of equal work on each processor in nanoseconds.
    pub(super) work_ns: [f64; 2],
}

/// Factor over the fastest observed work that counts as slowed. Another thread on the core costs 50
/// %.
const SLOWED: f64 = 1.25;

impl Look {
    /// Observes for a millisecond. `None` without two processors or if a thread cannot be started.
    pub(super) fn take(processors: &Processors) -> Option<Self> {
        processors.pair()?;
        let hand_over_ns = hand_over_ns(processors, Duration::from_millis(1))?;
        // One after the other: siblings would slow each other.
        let on = |pin: fn(&Processors) -> bool| {
            std::thread::scope(|scope| {
                let worker = std::thread::Builder::new().spawn_scoped(scope, || {
                    pin(processors);
                    work()
                });
                worker.ok()?.join().ok()
            })
        };
        let work_ns = [on(Processors::pin_receiver)?, on(Processors::pin_sender)?];
        Some(Self {
            hand_over_ns,
            work_ns,
        })
    }

    fn placement(&self, fastest_ns: f64) -> Placement {
        let slowed = self.work_ns.iter().any(|&ns| ns > SLOWED * fastest_ns);
        Placement {
            distance: Distance::of(self.hand_over_ns),
            slowed,
        }
    }
}

/// Time of a fixed amount of work in nanoseconds: the median of a few runs. Six independent chains
/// of cheap operations fill a core, so that a second thread on it shows. A single chain would leave
/// room for the other thread.
fn work() -> f64 {
    let mut times = [0.0; 15];
    for time in &mut times {
        let begin = Instant::now();
        let [mut a, mut b, mut c, mut d, mut e, mut f] = black_box([1_u64, 2, 3, 4, 5, 6]);
        // The chains differ, so that the compiler cannot vectorise them.
        for i in 0..4096 {
            a = (a ^ i).wrapping_add(7);
            b = b.wrapping_sub(i) | 1;
            c = c.rotate_left(5) ^ i;
            d = (d >> 1).wrapping_add(i);
            e = (e & 0xffff_ffff).wrapping_add(i << 3);
            f = f.wrapping_mul(5) ^ 3;
        }
        black_box([a, b, c, d, e, f]);
        *time = begin.elapsed().as_nanos() as f64;
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The placement of each measurement between two observations: `None` if it changed or is unknown.
pub(super) fn placements(looks: &[Option<Look>]) -> Vec<Option<Placement>> {
    let fastest_ns = looks
        .iter()
        .flatten()
        .flat_map(|look| look.work_ns)
        .fold(f64::INFINITY, f64::min);
    let of = |look: &Option<Look>| look.map(|look| look.placement(fastest_ns));
    let same = |pair: &[Option<Look>]| of(&pair[0]).filter(|&before| of(&pair[1]) == Some(before));
    looks.windows(2).map(same).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(hand_over_ns: f64, work_ns: [f64; 2]) -> Option<Look> {
        Some(Look {
            hand_over_ns,
            work_ns,
        })
    }

    #[test]
    fn a_measurement_has_a_placement_if_both_looks_agree() {
        let near = Some(Placement {
            distance: Distance::Near,
            slowed: false,
        });
        let slowed = Some(Placement {
            distance: Distance::Near,
            slowed: true,
        });
        let siblings = Some(Placement {
            distance: Distance::Siblings,
            slowed: false,
        });
        let looks = [
            look(97.0, [100.0, 100.0]),
            look(160.0, [124.0, 100.0]),
            look(97.0, [126.0, 100.0]),
            look(98.0, [100.0, 150.0]),
            look(28.0, [100.0, 100.0]),
            look(30.0, [100.0, 100.0]),
            look(400.0, [100.0, 100.0]),
            None,
            look(97.0, [100.0, 100.0]),
        ];
        let expected = [near, None, slowed, None, siblings, None, None, None];
        assert_eq!(placements(&looks), expected);
        assert_eq!(placements(&looks[..1]), []);
    }

    #[test]
    fn distances_end_where_they_say() {
        let distances = [59.9, 60.0, 170.0, 170.1].map(Distance::of);
        assert_eq!(
            distances,
            [
                Distance::Siblings,
                Distance::Near,
                Distance::Near,
                Distance::Far
            ]
        );
        let far = Placement {
            distance: Distance::Far,
            slowed: true,
        };
        assert_eq!(far.to_string(), "far, slowed");
    }

    #[test]
    fn a_look_needs_two_processors() {
        let processors = Processors::allowed();
        let look = Look::take(&processors);
        assert_eq!(look.is_some(), processors.pair().is_some());
        assert!(look.is_none_or(|look| look.hand_over_ns > 0.0 && look.work_ns[0] > 0.0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                processors.pin_receiver();
                assert_eq!(Look::take(&Processors::allowed()), None);
            });
        });
    }
}
