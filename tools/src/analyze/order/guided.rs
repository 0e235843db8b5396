//! An order in which every correct matcher reproduces the recorded pairs.
//!
//! At each receiver, messages arrive in the posting order of their receives. Then the first receive
//! is the earliest that accepts the first message, and that message is the earliest that it
//! accepts; by induction every pair follows, whatever the interleaving with the posts. A cancelled
//! receive took nothing, so a message that it would have taken from a later receive arrives after
//! the cancel.
//!
//! The order may reorder one sender's messages with different tags, which no matcher observes.

use std::collections::HashMap;

use foldhash::fast::RandomState as Fast;

use super::{Dice, Happening, Order, OrderChoice};
use crate::analyze::communicators::Communicators;
use crate::analyze::inbound::Inbound;
use crate::analyze::program::{Action, End, Kind, Program, Transfer, UNKNOWN};

#[derive(Debug)]
pub struct Guided<'a> {
    pub program: &'a Program,
    /// Its index in the list of programs.
    pub at: usize,
    pub inbound: &'a [Inbound],
    pub comms: &'a Communicators,
}

/// A message, and the number of program events that must precede it.
struct Arrival {
    message: u32,
    after: u32,
}

impl Guided<'_> {
    /// Builds the order, at random unless posts or arrivals come first. Messages without a known
    /// receive come last.
    ///
    /// # Complexity
    /// Sorts the messages once.
    pub fn order(&self, choice: OrderChoice) -> Order {
        let events = self.events();
        let arrivals = self.arrivals(&events);
        let mut order = Order::with_capacity(events.len() + self.inbound.len());
        let (mut posted, mut arrived) = (0, 0);
        let mut dice = match choice {
            OrderChoice::Random { seed } => Dice::new(seed, self.program.rank),
            _ => Dice::new(0, 0),
        };
        // The remaining length of the current run, of arrivals (true) or posts.
        let mut run = (false, 0_u64);
        while posted < events.len() || arrived < arrivals.len() {
            let due = arrivals
                .get(arrived)
                .is_some_and(|arrival| arrival.after as usize <= posted);
            let arrive = match choice {
                _ if !due => false,
                _ if posted == events.len() => true,
                OrderChoice::PostsFirst => false,
                OrderChoice::ArrivalsFirst => true,
                _ => {
                    if run.1 == 0 {
                        let longest = 1 << dice.below(6);
                        run = (dice.below(2) == 0, dice.below(longest) + 1);
                    }
                    run.1 -= 1;
                    run.0
                }
            };
            if arrive {
                order.push(Happening::Arrive(arrivals[arrived].message));
                arrived += 1;
            } else {
                order.push(events[posted]);
                posted += 1;
            }
        }
        for (message, inbound) in self.inbound.iter().enumerate() {
            if inbound.receive == UNKNOWN {
                order.push(Happening::Arrive(message as u32));
            }
        }
        order
    }

    fn events(&self) -> Vec<Happening> {
        let transfers = &self.program.transfers;
        let steps = self.program.steps.iter();
        let event = |action| match action {
            Action::Begin(at) if transfers[at as usize].kind == Kind::Recv => {
                Some(Happening::Post(at))
            }
            Action::Cancel(at) if transfers[at as usize].end == End::Cancelled => {
                Some(Happening::Cancel(at))
            }
            _ => None,
        };
        steps.filter_map(|step| event(step.action)).collect()
    }

    fn arrivals(&self, events: &[Happening]) -> Vec<Arrival> {
        let mut paired: Vec<u32> = (0..self.inbound.len() as u32)
            .filter(|&message| self.inbound[message as usize].receive != UNKNOWN)
            .collect();
        paired.sort_unstable_by_key(|&message| self.inbound[message as usize].receive);
        // Cancels by receive, each with the number of events up to and including it.
        let mut cancels: Vec<(u32, u32)> = events
            .iter()
            .enumerate()
            .filter_map(|(place, &event)| match event {
                Happening::Cancel(receive) => Some((receive, place as u32 + 1)),
                _ => None,
            })
            .collect();
        cancels.sort_unstable();
        let mut cancels = cancels.into_iter().peekable();
        let mut until: HashMap<(u32, i32, i32), u32, Fast> = HashMap::default();
        let mut after = 0;
        let arrival = |message: u32| {
            let &Inbound {
                receive,
                comm,
                source,
                tag,
                ..
            } = &self.inbound[message as usize];
            while let Some((cancelled, place)) =
                cancels.next_if(|&(cancelled, _)| cancelled < receive)
            {
                let &Transfer {
                    peer, tag, comm, ..
                } = &self.program.transfers[cancelled as usize];
                let last = until
                    .entry((self.comms.global(self.at, comm), peer, tag))
                    .or_default();
                *last = place.max(*last);
            }
            if !until.is_empty() {
                for (source, tag) in [
                    (source as i32, tag as i32),
                    (-1, tag as i32),
                    (source as i32, -1),
                    (-1, -1),
                ] {
                    after = until
                        .get(&(comm, source, tag))
                        .copied()
                        .unwrap_or(0)
                        .max(after);
                }
            }
            Arrival { message, after }
        };
        paired.into_iter().map(arrival).collect()
    }
}
