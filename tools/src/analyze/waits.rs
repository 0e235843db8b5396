//! How long the receives and messages of each communicator waited for each other, and its queues
//! over time.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::order::{Happening, Order};
use super::program::UNKNOWN;
use super::replay::RankView;
use super::run::Run;

/// Parts of the time, or of the order if it has no times.
pub(super) const COLUMNS: usize = 25;
/// Classes of waits. The last one also has all longer waits.
pub(super) const POWERS: usize = 32;
const NEVER: u64 = u64::MAX;

/// First of the posted receives, then of the unexpected messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waits {
    /// Those that found their partner, by their wait: at n, up to 2^n nanoseconds.
    pub waited: [[u64; POWERS]; 2],
    /// Most entries in each column, at the rank that has most.
    pub queues: [[u32; COLUMNS]; 2],
    now: [u32; 2],
}

/// The waits by communicator: linear in the events, plus the communicators in each column.
pub(super) fn waits(
    run: &Run,
    orders: &[Order],
    pairs: &[Vec<u32>],
    end_ns: u64,
) -> BTreeMap<u32, Waits> {
    let rank = |(at, order): (usize, &Order)| walk(run.view(at), order, &pairs[at], end_ns);
    let all = orders
        .par_iter()
        .enumerate()
        .map(rank)
        .reduce(ByComm::new, |mut all, more| {
            for (comm, more) in more {
                let all = all.entry(comm).or_default();
                let sums = all
                    .waited
                    .iter_mut()
                    .flatten()
                    .zip(more.waited.iter().flatten());
                sums.for_each(|(sum, more)| *sum += more);
                let most = all
                    .queues
                    .iter_mut()
                    .flatten()
                    .zip(more.queues.iter().flatten());
                most.for_each(|(most, more)| *most = (*most).max(*more));
            }
            all
        });
    let unboxed = all.into_iter().map(|(comm, waits)| (comm, *waits));
    unboxed.collect()
}

/// Boxed, since a node of the map has room for eleven.
type ByComm = BTreeMap<u32, Box<Waits>>;

fn walk(view: RankView<'_>, order: &Order, pairs: &[u32], end_ns: u64) -> ByComm {
    let mut message_of = vec![UNKNOWN; view.program.transfers.len()];
    for (message, &receive) in pairs.iter().enumerate() {
        if let Some(of) = message_of.get_mut(receive as usize) {
            *of = message as u32;
        }
    }
    // When each receive was posted, and each message arrived; `NEVER` if it does not wait.
    let mut since = [message_of.len(), pairs.len()].map(|len| vec![NEVER; len]);
    let mut comms = ByComm::new();
    let mut reached = 0;
    for (at, happening) in order.iter().enumerate() {
        let column = order.column(at, COLUMNS, end_ns);
        if column > reached {
            comms
                .values_mut()
                .for_each(|comm| comm.note(reached + 1, column));
            reached = column;
        }
        let now = order.time_ns(at).unwrap_or(0);
        let (comm, side, own, partner) = match happening {
            Happening::Post(it) => (view.comm(it), 0, it, message_of[it as usize]),
            Happening::Arrive(it) => (view.inbound.at(it).comm, 1, it, pairs[it as usize]),
            Happening::Cancel(it) => (view.comm(it), 1, UNKNOWN, it),
            Happening::Probe(_) => continue,
        };
        let comm = comms.entry(comm).or_default();
        let waiting = since[1 - side]
            .get_mut(partner as usize)
            .filter(|since| **since != NEVER);
        if let Some(since) = waiting {
            let ns = now.saturating_sub(std::mem::replace(since, NEVER)).max(1);
            let power = POWERS.min(ns.next_power_of_two().ilog2() as usize + 1) - 1;
            comm.waited[1 - side][power] += u64::from(own != UNKNOWN);
            comm.now[1 - side] -= 1;
        } else if own != UNKNOWN {
            since[side][own as usize] = now;
            comm.now[side] += 1;
            comm.note(column, column);
        }
    }
    comms
        .values_mut()
        .for_each(|comm| comm.note(reached, COLUMNS - 1));
    comms
}

impl Waits {
    /// Entries that wait count in each column that passes.
    fn note(&mut self, from: usize, to: usize) {
        for (queue, now) in self.queues.iter_mut().zip(self.now) {
            queue[from..=to]
                .iter_mut()
                .for_each(|most| *most = now.max(*most));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::by_hand::{receive, run, send};
    use crate::analyze::program::End;

    /// Two receives wait 3 and 200 ns, one of them is cancelled, and a message waits 65 ns. The
    /// queues of a column count what waited at its beginning.
    #[test]
    fn waits_are_counted_by_powers_of_two() {
        let posts = [
            receive(0, 4, End::Ignored),
            receive(0, 5, End::CancelAsked),
            receive(0, 6, End::Ignored),
            receive(0, 7, End::Ignored),
        ];
        let run = run(&[send(1, 6), send(1, 4), send(1, 7), send(1, 9)], &posts);
        let mut order = Order::default();
        let happenings = [
            (Happening::Post(0), 0),
            (Happening::Post(1), 10),
            (Happening::Post(2), 47),
            (Happening::Arrive(0), 50),
            (Happening::Cancel(1), 90),
            (Happening::Arrive(2), 130),
            (Happening::Probe(3), 140),
            (Happening::Post(3), 195),
            (Happening::Arrive(1), 200),
            (Happening::Arrive(3), 250),
        ];
        for (happening, at_ns) in happenings {
            order.push_at(happening, at_ns);
        }
        let pairs = [Vec::new(), vec![2, 0, 3, UNKNOWN]];
        let all = waits(&run, &[Order::default(), order], &pairs, 250);
        let [(_, waits)] = all.into_iter().collect::<Vec<_>>()[..] else {
            panic!("one")
        };
        let counts = waits.waited.map(|side| {
            let found = side.iter().enumerate().filter(|(_, count)| **count > 0);
            found
                .map(|(power, &count)| (power, count))
                .collect::<Vec<_>>()
        });
        assert_eq!(counts, [vec![(2, 1), (8, 1)], vec![(7, 1)]]);
        let [posted, unexpected] = waits.queues.map(|queue| queue.map(|most| most.to_string()));
        assert_eq!(posted.concat(), "1222332222111111111110000");
        assert_eq!(unexpected.concat(), "0000000000000111111100001");
    }
}
