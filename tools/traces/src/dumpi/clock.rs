//! Converts the times of records to nanoseconds.

use crate::Span;

/// The period of the stored seconds, which have 16 bits.
const WRAP_S: i64 = 1 << 16;

/// A recorded time. The seconds are relative to the file's base, or absolute without one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Time {
    pub(super) seconds: i64,
    pub(super) ns: u32,
}

/// One of the two clocks of a rank's trace. Records are in the order of return, so a return more
/// than half a period before the previous one belongs to the next period.
#[derive(Debug, Default)]
pub(super) struct Clock {
    base_s: i64,
    /// Return of the last record, without base, with periods.
    last_s: i64,
}

impl Clock {
    pub(super) fn new(base_s: i32) -> Self {
        Self {
            base_s: i64::from(base_s),
            last_s: 0,
        }
    }

    /// The span between two recorded times. Relative and absolute seconds give one result.
    #[inline]
    pub(super) fn span(&mut self, entry: Time, ret: Time) -> Span {
        let ret_s = ret.seconds + periods(self.last_s - ret.seconds + WRAP_S / 2);
        self.last_s = ret_s;
        // A call may be entered in an earlier period than it returns.
        let entry_s = entry.seconds + periods(ret_s - entry.seconds);
        let ns = |seconds: i64, ns: u32| {
            (self.base_s + seconds)
                .saturating_mul(1_000_000_000)
                .saturating_add(i64::from(ns))
        };
        Span {
            entry_ns: ns(entry_s, entry.ns),
            return_ns: ns(ret_s, ret.ns),
        }
    }
}

/// Rounds down to whole periods; never negative.
#[inline]
fn periods(seconds: i64) -> i64 {
    seconds.max(0) / WRAP_S * WRAP_S
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(seconds: i64, ns: u32) -> Time {
        Time { seconds, ns }
    }

    #[test]
    fn seconds_go_on_after_their_16_bits() {
        let mut clock = Clock::new(100);
        let seconds = |span: Span| {
            (
                span.entry_ns / 1_000_000_000,
                span.return_ns / 1_000_000_000,
            )
        };
        assert_eq!(
            seconds(clock.span(time(0, 5), time(40_000, 0))),
            (100, 40_100),
            "one long call, entered long before"
        );
        assert_eq!(
            seconds(clock.span(time(65_535, 0), time(65_535, 0))),
            (65_635, 65_635)
        );
        assert_eq!(
            seconds(clock.span(time(65_535, 0), time(3, 0))),
            (65_635, 65_639)
        );
        assert_eq!(
            seconds(clock.span(time(2, 0), time(2, 0))),
            (65_638, 65_638),
            "another thread, a little earlier"
        );
        assert_eq!(
            clock.span(time(4, 7), time(4, 9)).return_ns,
            65_640_000_000_009
        );
    }

    /// A call that returns up to half a period before the last one is earlier; further back, it is
    /// in the next period.
    #[test]
    fn half_a_period_back_is_the_next_period() {
        for last in [40_000, 65_535] {
            for (back, period) in [(0, 0), (1, 0), (32_767, 0), (32_768, 1), (32_769, 1)] {
                let mut clock = Clock::new(0);
                clock.span(time(last, 0), time(last, 0));
                let ret = last - back;
                let span = clock.span(time(ret, 0), time(ret, 0));
                let seconds = ret + period * 65_536;
                assert_eq!(
                    span.return_ns,
                    seconds * 1_000_000_000,
                    "{back} before {last}"
                );
                assert_eq!(span.entry_ns, span.return_ns);
            }
        }
    }
}
