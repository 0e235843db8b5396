//! What one process asks of its matching engine, in an order of posts and arrivals.

use dpamatch::registry::{EngineEntry, EngineOptions};
use dpamatch::stream::{Event, RunError, StreamMatcher};

use crate::analyze::order::{Happening, Order};
use crate::analyze::{RankView, tell_sizes};
use crate::counted_steps;

/// Counts of a rank, of a communicator at a rank, or of all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Demand {
    pub posts: u64,
    pub messages: u64,
    /// Probes that found a message, which they leave in the queue.
    pub probes: u64,
    pub eager_bytes: u64,
    /// Messages too long to be eager.
    pub rendezvous: u64,
    /// Entries passed by the host's engine, in both queues.
    pub steps: u64,
}

impl Demand {
    pub fn add(&mut self, other: &Self) {
        self.posts += other.posts;
        self.messages += other.messages;
        self.probes += other.probes;
        self.eager_bytes += other.eager_bytes;
        self.rendezvous += other.rendezvous;
        self.steps += other.steps;
    }

    /// Mean entries passed per message, in its own search and in that of its receive.
    pub fn steps_per_message(&self) -> f64 {
        self.steps as f64 / self.messages.max(1) as f64
    }
}

/// A rank's order, restricted to one communicator or complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    pub(super) view: RankView<'a>,
    pub(super) order: &'a Order,
    pub(super) comm: Option<u32>,
}

impl<'a> Part<'a> {
    /// The events, each with its time in nanoseconds if the order has times.
    pub(super) fn events(self) -> impl Iterator<Item = (Event, Option<u64>)> + 'a {
        let Self { view, order, comm } = self;
        let comm_of = move |happening: Happening| match happening {
            Happening::Post(at) | Happening::Cancel(at) | Happening::Probe(at) => view.comm(at),
            Happening::Arrive(message) => view.inbound.at(message).comm,
        };
        let times = (0..order.len()).map(|place| order.time_ns(place));
        view.events(order)
            .zip(order.iter())
            .zip(times)
            .filter(move |&((_, happening), _)| comm.is_none_or(|comm| comm_of(happening) == comm))
            .map(|((event, _), time)| (event, time))
    }

    pub(super) fn comms(self) -> std::collections::BTreeSet<u32> {
        let posts = self.order.iter().filter_map(|happening| match happening {
            Happening::Post(at) => Some(self.view.comm(at)),
            Happening::Arrive(message) => Some(self.view.inbound.at(message).comm),
            _ => None,
        });
        posts.collect()
    }

    /// Counts the events and matches them with the host's engine.
    ///
    /// # Errors
    /// The engine gives up.
    ///
    /// # Panics
    /// `entry` is not a software engine.
    pub(super) fn demand(
        self,
        entry: &EngineEntry,
        options: &EngineOptions,
        eager_limit: u64,
    ) -> Result<Demand, RunError> {
        let mut engine = entry.engine(options).expect("a software engine");
        tell_sizes(self.view, engine.as_mut());
        engine
            .as_mut()
            .run(&mut self.events().map(|(event, _)| event), &mut |_| ())?;
        let steps = counted_steps(&engine.as_ref().counters())
            .expect("every software engine counts its steps");
        let mut demand = Demand {
            steps,
            ..Demand::default()
        };
        for (event, _) in self.events() {
            match event {
                Event::Post { .. } => demand.posts += 1,
                Event::Probe { .. } => demand.probes += 1,
                Event::Arrive { bytes, .. } => {
                    demand.messages += 1;
                    let bytes = bytes.unwrap_or(0);
                    if bytes <= eager_limit {
                        demand.eager_bytes += bytes;
                    } else {
                        demand.rendezvous += 1;
                    }
                }
                _ => {}
            }
        }
        Ok(demand)
    }
}
