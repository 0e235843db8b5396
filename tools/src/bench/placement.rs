//! The placement of the two measuring processors, which a hypervisor may change.
//!
//! Each program has a different rate in each placement. So the placement is checked at both ends of
//! a measurement, and rates are compared only within one placement.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

use super::machine::{Processors, RoundTrip, round_trip};

/// The distance of two processors, by the cache-line round trip.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Distance {
    /// Threads of one core: less than 60 ns.
    Siblings,
    /// Cores that share a cache: up to 170 ns.
    Near,
    /// Up to 2 us, and stable.
    Far,
}

/// Maximum round trip of siblings, and of near processors, in nanoseconds.
const LONGEST_NS: [f64; 2] = [60.0, 170.0];
/// Maximum round trip of two processors that nobody else uses, in nanoseconds.
const DISTURBED_NS: f64 = 2_000.0;
/// Factor between the median and the fastest run of trips above which the distance is no distance.
const UNSTABLE: f64 = 2.0;

impl Distance {
    /// `None` if a longer wait than any distance shows that another program had a processor.
    fn measured(trip: RoundTrip) -> Option<Self> {
        let RoundTrip {
            fastest_ns,
            median_ns,
        } = trip;
        match () {
            () if fastest_ns < LONGEST_NS[0] => Some(Self::Siblings),
            () if fastest_ns <= LONGEST_NS[1] => Some(Self::Near),
            () if fastest_ns > DISTURBED_NS || median_ns > UNSTABLE * fastest_ns => None,
            () => Some(Self::Far),
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
    pub(super) trip: RoundTrip,
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
        let trip = round_trip(processors, Duration::from_millis(1))?;
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
        Some(Self { trip, work_ns })
    }

    /// Whether another program had one of the processors.
    pub(super) fn is_disturbed(&self) -> bool {
        Distance::measured(self.trip).is_none()
    }

    fn placement(&self, fastest_ns: f64) -> Option<Placement> {
        let slowed = self.work_ns.iter().any(|&ns| ns > SLOWED * fastest_ns);
        Some(Placement {
            distance: Distance::measured(self.trip)?,
            slowed,
        })
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

/// The placement of each measurement between two observations: `None` if it changed, is unknown, or
/// another program had a processor.
pub(super) fn placements(looks: &[Option<Look>]) -> Vec<Option<Placement>> {
    let fastest_ns = looks
        .iter()
        .flatten()
        .flat_map(|look| look.work_ns)
        .fold(f64::INFINITY, f64::min);
    let of = |look: &Option<Look>| look.and_then(|look| look.placement(fastest_ns));
    let same = |pair: &[Option<Look>]| of(&pair[0]).filter(|&before| of(&pair[1]) == Some(before));
    looks.windows(2).map(same).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(hand_over_ns: f64, work_ns: [f64; 2]) -> Option<Look> {
        let trip = RoundTrip {
            fastest_ns: hand_over_ns,
            median_ns: 1.9 * hand_over_ns,
        };
        Some(Look { trip, work_ns })
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
        let measured = |fastest_ns, median_ns| {
            Distance::measured(RoundTrip {
                fastest_ns,
                median_ns,
            })
        };
        let distances = [59.9, 60.0, 170.0, 170.1, 2000.0, 2000.1].map(|ns| measured(ns, ns));
        use Distance::{Far, Near, Siblings};
        let expected = [Siblings, Near, Near, Far, Far].map(Some);
        assert_eq!(distances[..5], expected);
        assert_eq!(
            distances[5], None,
            "no two processors are that far from each other"
        );
        // A fast run is true whatever the others took; a slow one has to be the rule.
        assert_eq!(measured(100.0, 3e6), Some(Near));
        assert_eq!(
            [measured(300.0, 600.0), measured(300.0, 600.1)],
            [Some(Far), None]
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
        assert!(look.is_none_or(|look| look.trip.fastest_ns > 0.0 && look.work_ns[0] > 0.0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                processors.pin_receiver();
                assert_eq!(Look::take(&Processors::allowed()), None);
            });
        });
    }
}
