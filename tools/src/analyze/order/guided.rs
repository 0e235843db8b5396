//! An order in which every correct matcher reproduces the recorded pairs.
//!
//! At each receiver, messages arrive in the posting order of their receives. Then the first receive
//! is the earliest that accepts the first message, and that message is the earliest that it
//! accepts; by induction every pair follows, whatever the interleaving with the posts. A cancelled
//! receive took nothing, so a message that it would have taken from a later receive arrives after
//! the cancel.
//!
//! A message that a probe found arrives before the probe, and those come first that must arrive
//! before it ([`Gate`]). All other messages keep the order above.
//!
//! The order may reorder one sender's messages with different tags, which no matcher observes.

use std::collections::HashMap;

use foldhash::fast::RandomState as Fast;

use super::gate::{Gate, by_receive};
use super::{Dice, Happening, Order, OrderChoice};
use crate::analyze::inbound::Inbound;
use crate::analyze::program::{ANY, Action, End, Transfer, TransferKind, UNKNOWN};
use crate::analyze::replay::RankView;

#[derive(Debug)]
pub struct Guided<'a> {
    pub view: RankView<'a>,
}

/// A message, and the number of program events that must precede it.
struct Arrival {
    message: u32,
    after: u32,
}

/// The order so far, and the gate of a rank with probes.
struct Made<'a> {
    order: Order,
    gate: Option<Gate<'a>>,
}

impl Made<'_> {
    fn has_arrived(&self, message: u32) -> bool {
        self.gate
            .as_ref()
            .is_some_and(|gate| gate.has_arrived(message))
    }

    /// Lets a message arrive, after those that must come before it.
    fn arrive(&mut self, message: u32) {
        let Some(gate) = &mut self.gate else {
            return self.order.push(Happening::Arrive(message));
        };
        for message in gate.demand(message, false) {
            self.order.push(Happening::Arrive(message));
        }
    }
}

impl Guided<'_> {
    /// Builds the order, at random unless posts or arrivals come first. Messages without a known
    /// receive come last.
    ///
    /// # Complexity
    /// Sorts the messages once.
    pub fn order(&self, choice: OrderChoice) -> Order {
        let view = self.view;
        let events = self.events();
        let arrivals = self.arrivals(&events);
        let mut made = Made {
            order: Order::with_capacity(events.len() + view.inbound.len()),
            gate: Gate::new(view, false),
        };
        let (mut posted, mut arrived) = (0, 0);
        let mut dice = match choice {
            OrderChoice::Random { seed } => Dice::new(seed, view.program.rank),
            _ => Dice::new(0, 0),
        };
        // The remaining length of the current run, of arrivals (true) or posts.
        let mut run = (false, 0_u64);
        loop {
            while arrivals
                .get(arrived)
                .is_some_and(|arrival| made.has_arrived(arrival.message))
            {
                arrived += 1;
            }
            if posted == events.len() && arrived == arrivals.len() {
                break;
            }
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
                made.arrive(arrivals[arrived].message);
                arrived += 1;
            } else {
                if let Happening::Probe(probe) = events[posted]
                    && let Some(message) = view.probes.message(probe)
                    && !made.has_arrived(message)
                {
                    made.arrive(message);
                }
                made.order.push(events[posted]);
                posted += 1;
            }
        }
        for (message, inbound) in (0..).zip(view.inbound.iter()) {
            if inbound.receive == UNKNOWN && !made.has_arrived(message) {
                made.arrive(message);
            }
        }
        made.order
    }

    fn events(&self) -> Vec<Happening> {
        let transfers = &self.view.program.transfers;
        let steps = self.view.program.steps.iter();
        let event = |action| match action {
            Action::Begin(at) => match transfers.at(at).kind {
                TransferKind::Recv => Some(Happening::Post(at)),
                TransferKind::Probe => self.view.probes.message(at).map(|_| Happening::Probe(at)),
                TransferKind::Send | TransferKind::Null => None,
            },
            Action::Cancel(at) if transfers.at(at).end == End::Cancelled => {
                Some(Happening::Cancel(at))
            }
            _ => None,
        };
        steps.filter_map(|step| event(step.action)).collect()
    }

    /// The messages that a receive got or a probe found, in an order that keeps all claims.
    fn claimed(&self) -> Vec<u32> {
        let received = by_receive(self.view.inbound).into_iter();
        let received = received.map(|(_, message)| message);
        match Gate::new(self.view, false) {
            None => received.collect(),
            Some(mut gate) => {
                let mut claimed = Vec::with_capacity(self.view.inbound.len());
                for message in received {
                    if !gate.has_arrived(message) {
                        claimed.extend(gate.demand(message, false));
                    }
                }
                claimed
            }
        }
    }

    fn arrivals(&self, events: &[Happening]) -> Vec<Arrival> {
        let after = self.after_cancels(events);
        let mut latest = 0;
        let arrival = |message: u32| {
            latest = after.get(&message).copied().unwrap_or(0).max(latest);
            Arrival {
                message,
                after: latest,
            }
        };
        self.claimed().into_iter().map(arrival).collect()
    }

    /// The number of events up to the last cancel of a receive that would have taken the message
    /// from a later receive, by message.
    fn after_cancels(&self, events: &[Happening]) -> HashMap<u32, u32, Fast> {
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
        let mut after = HashMap::default();
        if cancels.is_empty() {
            return after;
        }
        let view = self.view;
        let mut cancels = cancels.into_iter().peekable();
        let mut until: HashMap<(u32, i32, i32), u32, Fast> = HashMap::default();
        let mut all = by_receive(view.inbound);
        // A message without receive comes after all receives that would have taken it.
        let found = view.probes.iter().map(|(_, message)| message);
        let is_left = |message: &u32| view.inbound.at(*message).receive == UNKNOWN;
        all.extend(found.filter(is_left).map(|message| (UNKNOWN, message)));
        for (receive, message) in all {
            while let Some((cancelled, place)) =
                cancels.next_if(|&(cancelled, _)| cancelled < receive)
            {
                let Transfer { peer, tag, .. } = view.program.transfers.at(cancelled);
                let last = until.entry((view.comm(cancelled), peer, tag)).or_default();
                *last = place.max(*last);
            }
            let Inbound {
                comm, source, tag, ..
            } = view.inbound.at(message);
            let (source, tag) = (source as i32, tag as i32);
            let patterns = [(source, tag), (ANY, tag), (source, ANY), (ANY, ANY)];
            let places = patterns
                .iter()
                .filter_map(|&(source, tag)| until.get(&(comm, source, tag)));
            after.extend(places.max().map(|&place| (message, place)));
        }
        after
    }
}
