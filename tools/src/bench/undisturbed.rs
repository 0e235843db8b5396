//! Which windows of a measurement count: not those in which another program had the processor.

/// A window that took this many times as long as the fastest one was disturbed, whoever did it: a
/// hypervisor takes a processor without a trace in the system's counts.
const SLOW: f64 = 10.0;
/// Minimum number of windows behind a rate, if as many were measured.
const MINIMUM: usize = 10;

/// The windows of a measurement, by what became of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Windows {
    pub measured: usize,
    /// Windows in which the system took the processor from one of the measuring threads.
    pub preempted: usize,
    /// Other windows that took more than ten times as long as the fastest one.
    pub slow: usize,
}

impl Windows {
    pub fn dropped(&self) -> usize {
        self.preempted + self.slow
    }

    /// The windows that count.
    pub fn left(&self) -> usize {
        self.measured - self.dropped()
    }

    /// Whether too few windows are left for a rate.
    pub fn are_too_few(&self) -> bool {
        self.left() < MINIMUM.min(self.measured).max(1)
    }
}

impl std::iter::Sum for Windows {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            measured: sum.measured + one.measured,
            preempted: sum.preempted + one.preempted,
            slow: sum.slow + one.slow,
        })
    }
}

/// What becomes of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Counts,
    Preempted,
    Slow,
}

/// The choice of the windows that count.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Sieve {
    fates: Vec<Fate>,
    pub(super) windows: Windows,
}

impl Sieve {
    /// Chooses among windows with these times; `preempted` tells for each window whether a thread
    /// lost its processor.
    pub(super) fn new(times: &[f64], preempted: impl Iterator<Item = bool>) -> Self {
        let mut fates: Vec<Fate> = preempted
            .map(|preempted| match preempted {
                true => Fate::Preempted,
                false => Fate::Counts,
            })
            .collect();
        fates.resize(times.len(), Fate::Counts);
        let pairs = times.iter().zip(&fates);
        let fastest = pairs
            .filter(|(_, fate)| **fate == Fate::Counts)
            .map(|(time, _)| *time)
            .fold(f64::INFINITY, f64::min);
        for (fate, time) in fates.iter_mut().zip(times) {
            if *fate == Fate::Counts && *time > SLOW * fastest {
                *fate = Fate::Slow;
            }
        }
        let count = |which| fates.iter().filter(|fate| **fate == which).count();
        let windows = Windows {
            measured: times.len(),
            preempted: count(Fate::Preempted),
            slow: count(Fate::Slow),
        };
        Self { fates, windows }
    }

    /// All windows count.
    pub(super) fn all(windows: usize) -> Self {
        Self {
            fates: vec![Fate::Counts; windows],
            windows: Windows {
                measured: windows,
                ..Windows::default()
            },
        }
    }

    /// The values of the windows that count, or of all if none is left: the caller reports that.
    pub(super) fn kept(&self, values: &[f64]) -> Vec<f64> {
        let nothing_left = self.windows.left() == 0;
        self.values(values, |fate| nothing_left || fate == Fate::Counts)
    }

    /// The values of all windows whose threads kept their processors, also of the slow ones: the
    /// tail of a distribution.
    pub(super) fn not_preempted(&self, values: &[f64]) -> Vec<f64> {
        self.values(values, |fate| fate != Fate::Preempted)
    }

    fn values(&self, values: &[f64], is_wanted: impl Fn(Fate) -> bool) -> Vec<f64> {
        let pairs = values.iter().zip(&self.fates);
        pairs
            .filter(|(_, fate)| is_wanted(**fate))
            .map(|(value, _)| *value)
            .collect()
    }
}

/// How often the system has taken the processor from the calling thread: 0 where it does not count.
#[inline]
pub(super) fn preemptions() -> u64 {
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
    {
        use nix::sys::resource::{UsageWho, getrusage};
        let usage = getrusage(UsageWho::RUSAGE_THREAD);
        usage.map_or(0, |usage| {
            usage.involuntary_context_switches().cast_unsigned()
        })
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sieve(times: &[f64], preempted: &[usize]) -> Sieve {
        Sieve::new(
            times,
            (0..times.len()).map(|window| preempted.contains(&window)),
        )
    }

    #[test]
    fn windows_without_a_processor_do_not_count() {
        let chosen = sieve(&[7.0, 5.0, 6.0, 9.0], &[1, 3]);
        assert_eq!(chosen.kept(&[70.0, 50.0, 60.0, 90.0]), [70.0, 60.0]);
        let windows = Windows {
            measured: 4,
            preempted: 2,
            slow: 0,
        };
        assert_eq!(
            (chosen.windows, windows.left(), windows.dropped()),
            (windows, 2, 2)
        );
    }

    /// The fastest window that counts is the measure: a preempted one can end early by chance.
    #[test]
    fn ten_times_the_fastest_is_the_limit() {
        let chosen = sieve(&[50.0, 5.0, 50.1, 500.0, 1.0], &[4]);
        assert_eq!(chosen.kept(&[1.0, 2.0, 3.0, 4.0, 5.0]), [1.0, 2.0]);
        assert_eq!((chosen.windows.preempted, chosen.windows.slow), (1, 2));
        let tail = chosen.not_preempted(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(tail, [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn a_rate_needs_ten_windows_or_all() {
        let too_few = |measured, preempted, slow| {
            Windows {
                measured,
                preempted,
                slow,
            }
            .are_too_few()
        };
        assert!(!too_few(10, 0, 0) && too_few(10, 1, 0) && too_few(10, 0, 1));
        assert!(!too_few(21, 6, 5) && too_few(21, 6, 6));
        assert!(!too_few(3, 0, 0) && too_few(3, 1, 0) && too_few(0, 0, 0));
    }

    #[test]
    fn if_nothing_is_left_all_are_kept_for_show() {
        let chosen = sieve(&[4.0, 8.0], &[0, 1]);
        assert_eq!(chosen.kept(&[4.0, 8.0]), [4.0, 8.0]);
        assert!(chosen.windows.are_too_few());
        assert_eq!(sieve(&[], &[]).kept(&[]), Vec::<f64>::new());
    }

    /// A thread that runs and shares its processor with another one is preempted.
    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_counts_lost_processors() {
        use super::super::machine::Processors;
        use std::sync::atomic::{AtomicBool, Ordering};
        let processors = Processors::allowed();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                processors.pin_receiver();
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let begin = std::time::Instant::now();
            processors.pin_receiver();
            let before = preemptions();
            while preemptions() == before && begin.elapsed().as_secs() < 20 {
                std::hint::spin_loop();
            }
            assert!(preemptions() > before);
            done.store(true, Ordering::Relaxed);
        });
    }
}
