//! The events to come, by time and then in the order in which they were added.
//!
//! A radix heap. An event is in the bucket of the highest bit in which its time differs from that
//! of the last event taken. So the events of a bucket are never earlier than those of a lower one,
//! and events of equal times are in one bucket, in the order in which they were added. When the
//! lower buckets are empty, the events of the first one with any move down. Each bucket is read and
//! written from one end to the other, so the queue of very many ranks needs no cache of its size.

use super::STEP;

/// Buckets: equal times, and one for each bit of a time.
const BUCKETS: usize = u64::BITS as usize + 1;

/// What happens to a rank, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Event {
    pub(super) time_ns: u64,
    pub(super) rank: u32,
    /// The message that arrives, or [`STEP`].
    pub(super) message: u32,
}

impl Event {
    /// The rank's next step.
    pub(super) fn step(time_ns: u64, rank: u32) -> Self {
        Self {
            time_ns,
            rank,
            message: STEP,
        }
    }
}

/// Events of which none is added with a time before that of the last one taken, until there are
/// none.
#[derive(Debug)]
pub(super) struct Due {
    /// The time of the last event taken.
    last_ns: u64,
    buckets: [Vec<Event>; BUCKETS],
    /// The earliest time in each bucket that has events.
    earliest_ns: [u64; BUCKETS],
    /// A bit for each bucket that has events.
    used: u128,
    /// Events of the first bucket that are taken.
    taken: usize,
}

impl Due {
    pub(super) fn new() -> Self {
        Self {
            last_ns: 0,
            buckets: [const { Vec::new() }; BUCKETS],
            earliest_ns: [0; BUCKETS],
            used: 0,
            taken: 0,
        }
    }

    /// Adds an event behind all others of its time.
    pub(super) fn push(&mut self, event: Event) {
        debug_assert!(event.time_ns >= self.last_ns, "time does not go back");
        let differs = event.time_ns ^ self.last_ns;
        let bucket = (u64::BITS - differs.leading_zeros()) as usize;
        let bit = 1 << bucket;
        let earliest = &mut self.earliest_ns[bucket];
        *earliest = match self.used & bit {
            0 => event.time_ns,
            _ => event.time_ns.min(*earliest),
        };
        self.used |= bit;
        self.buckets[bucket].push(event);
    }

    /// The time of the next event.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let first = self.used.trailing_zeros() as usize;
        (self.used != 0).then(|| self.earliest_ns[first])
    }

    /// Takes the next event. After the last one any time may come: a rank that is released goes on
    /// in its own time.
    pub(super) fn pop(&mut self) -> Option<Event> {
        let Some(time_ns) = self.next_ns() else {
            self.last_ns = 0;
            return None;
        };
        if self.used & 1 == 0 {
            let first = self.used.trailing_zeros() as usize;
            self.last_ns = time_ns;
            self.used &= !(1 << first);
            let mut events = std::mem::take(&mut self.buckets[first]);
            events.drain(..).for_each(|event| self.push(event));
            // Its memory serves the bucket's next events.
            self.buckets[first] = events;
        }
        let now = &mut self.buckets[0];
        let event = now[self.taken];
        self.taken += 1;
        if self.taken == now.len() {
            now.clear();
            self.taken = 0;
            self.used &= !1;
        }
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use super::*;
    use crate::analyze::order::Dice;

    fn event(time_ns: u64, rank: u32) -> Event {
        Event {
            time_ns,
            rank,
            message: 0,
        }
    }

    /// Times are dense, so that many are equal, with leaps of all sizes.
    #[test]
    fn events_come_by_time_and_then_in_the_order_of_their_adding() {
        let mut dice = Dice::new(3, 0);
        let (mut due, mut model) = (Due::new(), BinaryHeap::new());
        let (mut now_ns, mut number) = (0, 0);
        for round in 0..20_000 {
            let adds = round % 500 < 300;
            for _ in 0..dice.below(if adds { 4 } else { 2 }) {
                let leap = 1 << dice.below(if round % 64 == 0 { 40 } else { 5 });
                let time_ns = now_ns + dice.below(leap);
                due.push(event(time_ns, number));
                model.push(Reverse((time_ns, number)));
                number += 1;
            }
            assert_eq!(due.next_ns(), model.peek().map(|&Reverse((next, _))| next));
            let found = due.pop().map(|found| (found.time_ns, found.rank));
            assert_eq!(found, model.pop().map(|Reverse(next)| next));
            now_ns = found.map_or(now_ns, |(time_ns, _)| time_ns);
        }
        assert!(number > 10_000 && due.used != 0, "{number} events");
    }

    #[test]
    fn an_empty_queue_takes_any_time() {
        let mut due = Due::new();
        for time_ns in [u64::MAX, 7, 0, 9] {
            assert_eq!(due.pop(), None);
            due.push(event(time_ns, 1));
            due.push(event(u64::MAX, 2));
            assert_eq!(due.pop(), Some(event(time_ns, 1)));
            assert_eq!(due.pop(), Some(event(u64::MAX, 2)));
        }
    }
}
