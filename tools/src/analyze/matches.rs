//! Every match of an order, with its times, path and search.

use std::collections::HashMap;

use super::order::{Happening, Order};
use super::program::{UNKNOWN, UNKNOWN_BYTES};
use super::replay::RankView;

/// A match at a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Match {
    /// The receiver's world rank.
    pub rank: u32,
    /// The communicator's number in the run (`id` in the report).
    pub comm: u32,
    /// The sender's world rank, if known.
    pub source: Option<u32>,
    pub tag: i32,
    /// From the receive's status, else as sent; `None` if the trace does not say.
    pub bytes: Option<u64>,
    /// When the receive was posted, the message arrived, and the later of both: nanoseconds since
    /// the first event of all ranks. `None` if the order has no times.
    pub posted_at: Option<u64>,
    pub arrived_at: Option<u64>,
    pub matched_at: Option<u64>,
    /// Whether the message arrived before its receive was posted.
    pub unexpected: bool,
    /// Entries of the communicator's queue that a search from its oldest entry looks at: the one
    /// that matches is the last.
    pub steps: u32,
}

/// Counts the entries of a queue up to one of them: a Fenwick tree.
#[derive(Debug, Default)]
struct Queue {
    tree: Vec<u32>,
    next: usize,
}

impl Queue {
    fn add(&mut self, place: usize, by: u32) {
        let mut at = place + 1;
        while let Some(sum) = self.tree.get_mut(at) {
            *sum = sum.wrapping_add(by);
            at += at & at.wrapping_neg();
        }
    }

    /// The place of a new entry behind all others.
    fn push(&mut self) -> usize {
        let place = self.next;
        self.next += 1;
        self.add(place, 1);
        place
    }

    /// Removes the entry at a place; returns how many were there up to it.
    fn take(&mut self, place: usize) -> u32 {
        let (mut sum, mut at) = (0_u32, place + 1);
        while at > 0 {
            sum = sum.wrapping_add(self.tree[at]);
            at -= at & at.wrapping_neg();
        }
        self.add(place, 1_u32.wrapping_neg());
        sum
    }
}

/// A waiting receive or message: its place in the queue, and since when it waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    place: u32,
    since: Option<u64>,
}

/// Calls `each` for every match at a rank, in the order in which they come about. `receives` has
/// the receive of each message.
///
/// # Complexity
/// A logarithm of the longest queue for each event.
pub fn matches(view: RankView<'_>, order: &Order, receives: &[u32], mut each: impl FnMut(Match)) {
    let transfers = &view.program.transfers;
    let mut message_of = vec![UNKNOWN; transfers.len()];
    for (message, &receive) in (0..).zip(receives) {
        if let Some(of) = message_of.get_mut(receive as usize) {
            *of = message;
        }
    }
    // Receives and messages of each communicator bound its queues.
    let mut queues: HashMap<u32, [Queue; 2]> = HashMap::new();
    for happening in order.iter() {
        let (comm, side) = match happening {
            Happening::Post(it) => (view.comm(it), 0),
            Happening::Arrive(it) => (view.inbound.at(it).comm, 1),
            Happening::Cancel(_) | Happening::Probe(_) => continue,
        };
        let tree = &mut queues.entry(comm).or_default()[side].tree;
        tree.resize(tree.len().max(1) + 1, 0);
    }
    let mut waiting = [message_of.len(), receives.len()].map(|len| vec![None::<Waiting>; len]);
    for (at, happening) in order.iter().enumerate() {
        let now = order.time_ns(at);
        let (comm, side, own, partner) = match happening {
            Happening::Post(it) => (view.comm(it), 0, it, message_of[it as usize]),
            Happening::Arrive(it) => (view.inbound.at(it).comm, 1, it, receives[it as usize]),
            Happening::Cancel(it) => (view.comm(it), 1, UNKNOWN, it),
            Happening::Probe(_) => continue,
        };
        let both = queues.entry(comm).or_default();
        let found = waiting[1 - side].get_mut(partner as usize);
        if let Some(Waiting { place, since }) = found.and_then(Option::take) {
            let steps = both[1 - side].take(place as usize);
            if own == UNKNOWN {
                continue;
            }
            let (receive, message) = match side {
                0 => (own, partner),
                _ => (partner, own),
            };
            let inbound = view.inbound.at(message);
            let known = |bytes: u64| Some(bytes).filter(|&bytes| bytes != UNKNOWN_BYTES);
            let got = known(transfers.at(receive).got_bytes);
            let (posted_at, arrived_at) = match side {
                0 => (now, since),
                _ => (since, now),
            };
            each(Match {
                rank: view.program.rank,
                comm,
                source: Some(inbound.sender).filter(|&sender| sender != UNKNOWN),
                tag: view.comms.all[comm as usize].tag(inbound.tag as i32),
                bytes: got.or(known(inbound.bytes)),
                posted_at,
                arrived_at,
                matched_at: now,
                unexpected: side == 0,
                steps,
            });
        } else if own != UNKNOWN {
            let place = both[side].push() as u32;
            waiting[side][own as usize] = Some(Waiting { place, since: now });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::by_hand::{receive, run, send};
    use crate::analyze::program::End;

    /// Three messages of falling tags; the middle receive is cancelled, and one message is late.
    #[test]
    fn a_search_looks_at_all_that_is_older() {
        let senders = [send(1, 9), send(1, 8), send(1, 7)];
        let receivers = [
            receive(0, 7, End::Ignored),
            receive(0, 5, End::Cancelled),
            receive(0, 9, End::Ignored),
            receive(0, 8, End::Ignored),
        ];
        let run = run(&senders, &receivers);
        let mut order = Order::default();
        let [post, arrive] = [Happening::Post, Happening::Arrive];
        let events = [
            post(0),
            post(1),
            post(2),
            arrive(0),
            arrive(1),
            Happening::Cancel(1),
            arrive(2),
            post(3),
        ];
        for (at, event) in (0..).zip(events) {
            order.push_at(event, 10 * at);
        }
        let mut found = Vec::new();
        matches(run.view(1), &order, &[2, 3, 0], |it| {
            let times =
                [it.posted_at, it.arrived_at, it.matched_at].map(|time| time.expect("a time"));
            found.push((it.tag, it.unexpected, it.steps, times));
            assert_eq!(
                (it.rank, it.comm, it.source, it.bytes),
                (1, 0, Some(0), Some(4))
            );
        });
        let expected = [
            (9, false, 3, [20, 30, 30]),
            (7, false, 1, [0, 60, 60]),
            (8, true, 1, [70, 40, 70]),
        ];
        assert_eq!(found, expected);
    }
}
