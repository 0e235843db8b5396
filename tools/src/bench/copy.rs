//! The time to copy the bytes alone: the limit for long messages.

use std::hint::black_box;

use super::load::Window;
use super::machine::Processors;
use super::window::{Clock, Limits, SenderTimes, SystemClock, WARM_UP, Watch, nanoseconds};
use super::{BenchError, payload};

/// Copies windows of messages on a separate thread. Returns the times, the number of payloads
/// checked, and whether the thread had its own processor.
pub(super) fn copy(
    window: &Window,
    limits: Limits,
) -> Result<(SenderTimes, u64, bool), BenchError> {
    let processors = Processors::allowed();
    std::thread::scope(|scope| {
        let copying = std::thread::Builder::new()
            .name("copy".into())
            .spawn_scoped(scope, || {
                let pinned = processors.pin_receiver();
                let (times, checked) = copy_here(window, limits, copy_all, &SystemClock)?;
                Ok((times, checked, pinned))
            })?;
        copying.join().map_err(|_| BenchError::Panic)?
    })
}

#[inline]
fn copy_all(from: &[Vec<u8>], to: &mut [Vec<u8>]) {
    for (from, to) in from.iter().zip(to) {
        to.copy_from_slice(black_box(from));
    }
}

/// Copies on this thread, after checked warm-up windows like every other receiver's.
fn copy_here(
    window: &Window,
    limits: Limits,
    copy_all: impl Fn(&[Vec<u8>], &mut [Vec<u8>]),
    clock: &impl Clock,
) -> Result<(SenderTimes, u64), BenchError> {
    let count = window.messages.len();
    let [mut from, mut to] = [(); 2].map(|()| payload::buffers(count, window.size));
    from.iter_mut()
        .enumerate()
        .for_each(|(number, bytes)| payload::stamp(bytes, number));
    for _ in 0..WARM_UP {
        to.iter_mut().for_each(|bytes| payload::blank(bytes));
        copy_all(&from, &mut to);
        if let Some(message) = (0..count).find(|&number| !payload::holds(&to[number], number)) {
            return Err(BenchError::WrongMessage {
                receive: message,
                message,
            });
        }
    }
    let mut times = Vec::with_capacity(limits.repetitions);
    let mut watch = Watch::new(clock, limits.repetitions);
    let begin = clock.now();
    while limits.go_on(times.len(), || clock.now() - begin) {
        let start = clock.now();
        copy_all(&from, &mut to);
        black_box(&to);
        times.push(nanoseconds(clock.now() - start));
        watch.window_ended();
    }
    let times = SenderTimes {
        window: times,
        preempted: watch.preempted,
    };
    Ok((times, (WARM_UP * count) as u64))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::{Duration, Instant};

    use super::*;

    struct Counted {
        zero: Instant,
        copies: Cell<u64>,
    }

    impl Clock for Counted {
        fn now(&self) -> Instant {
            self.zero + Duration::from_nanos(7 * self.copies.get())
        }

        /// The thread loses its processor in each sixth copy.
        fn preemptions(&self) -> u64 {
            self.copies.get() / 6
        }
    }

    fn copied(
        budget_ns: u64,
        copy: impl Fn(&[Vec<u8>], &mut [Vec<u8>]),
    ) -> Result<(SenderTimes, u64), BenchError> {
        let window = Window::new(&"NC".parse().expect("a scenario"), 4, 100, 1);
        let clock = Counted {
            zero: Instant::now(),
            copies: Cell::new(0),
        };
        let counting = |from: &[Vec<u8>], to: &mut [Vec<u8>]| {
            clock.copies.set(clock.copies.get() + 1);
            copy(from, to);
        };
        let limits = Limits {
            repetitions: 30,
            budget: Duration::from_nanos(budget_ns),
        };
        copy_here(&window, limits, counting, &clock)
    }

    #[test]
    fn every_copy_is_measured_apart_within_the_limits() {
        for (budget_ns, copies) in [(1_000_000, 30), (0, 10)] {
            let (times, checked) = copied(budget_ns, copy_all).expect("a copy");
            assert_eq!(
                (times.window, checked),
                (vec![7.0; copies], 4 * WARM_UP as u64)
            );
            // Twenty copies of the warm-up come before the measured ones.
            let sixth = |copy: usize| (WARM_UP + copy + 1).is_multiple_of(6);
            assert_eq!(times.preempted, (0..copies).map(sixth).collect::<Vec<_>>());
        }
    }

    #[test]
    fn all_bytes_of_all_messages_are_copied() {
        let window: Vec<Vec<u8>> = (0..5_u8).map(|number| vec![number; 100]).collect();
        let mut to = payload::buffers(5, 100);
        copy_all(&window, &mut to);
        assert_eq!(to, window);
        let half_the_messages = |from: &[Vec<u8>], to: &mut [Vec<u8>]| {
            copy_all(&from[..2], &mut to[..2]);
        };
        let half_the_bytes = |from: &[Vec<u8>], to: &mut [Vec<u8>]| {
            from.iter()
                .zip(to)
                .for_each(|(from, to)| to[..50].copy_from_slice(&from[..50]));
        };
        for (wrong, first) in [
            (copied(0, half_the_messages), 2),
            (copied(0, half_the_bytes), 0),
            (copied(0, |_, _| ()), 0),
        ] {
            let seen = wrong.expect_err("bytes are missing");
            assert!(matches!(seen, BenchError::WrongMessage { receive, .. } if receive == first));
        }
    }
}
