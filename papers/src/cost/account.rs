//! Total cost of communication: transfer, queue search and contention, per rank and per phase.

use std::collections::{BTreeMap, BTreeSet};

use dpamatch_vocabulary::choices;

use super::contention::{Torus, contention_s, link_bytes};
use super::message_list::Message;
use super::profile::{Distance, Profile, Protocol};
use super::queue::{bound_s, steps_s, third_s};
use super::transfer::{max_rate_s, node_aware_s, postal_s};

choices! {
    /// How the search of the queue is priced.
    pub enum QueueTerm, by default Steps {
        /// gamma n^2.
        Bound = "bound",
        /// gamma n^2 / 3.
        Third = "third",
        /// gamma per step times the steps of the engine.
        Steps = "steps",
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RankCost {
    pub rank: u32,
    pub sent: u64,
    pub sent_bytes: u64,
    /// Messages received: the n of queue search.
    pub received: u64,
    /// Transfer time by the postal model, as if all messages crossed the network without a node
    /// limit.
    pub postal_s: f64,
    /// Transfer time by the max-rate model, as if all messages crossed the network.
    pub max_rate_s: f64,
    /// Transfer time with the parameters of each place; this one is part of the total.
    pub transfer_s: f64,
    /// gamma n^2.
    pub queue_bound_s: f64,
    /// gamma n^2 / 3.
    pub queue_third_s: f64,
    /// Search steps of an engine, if counted.
    pub steps: Option<u64>,
    /// Time of the search steps.
    pub queue_steps_s: Option<f64>,
}

impl RankCost {
    /// Queue search by `term`; 0 without counted steps.
    pub fn queue_s(&self, term: QueueTerm) -> f64 {
        match term {
            QueueTerm::Bound => self.queue_bound_s,
            QueueTerm::Third => self.queue_third_s,
            QueueTerm::Steps => self.queue_steps_s.unwrap_or(0.0),
        }
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct PhaseCost {
    /// Ranks that send or receive, in rising order.
    pub ranks: Vec<RankCost>,
    /// h: average number of links that a byte between nodes passes.
    pub hops: f64,
    /// b: average bytes that a process sends to other nodes.
    pub bytes_per_process: f64,
    /// l: bytes on the busiest link.
    pub link_bytes: f64,
    /// Contention in seconds, equal for all ranks.
    pub contention_s: f64,
}

/// Cost of the slowest rank by its parts, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Split {
    /// The rank; `None` without messages.
    pub rank: Option<u32>,
    pub transfer_s: f64,
    pub queue_s: f64,
    pub contention_s: f64,
}

impl Split {
    pub fn total_s(&self) -> f64 {
        self.transfer_s + self.queue_s + self.contention_s
    }

    /// Adds the next phase: an application's cost is the sum of its phases.
    pub fn then(&mut self, next: &Self) {
        self.transfer_s += next.transfer_s;
        self.queue_s += next.queue_s;
        self.contention_s += next.contention_s;
    }
}

impl PhaseCost {
    /// The cost of messages that `ranks` processes send concurrently.
    ///
    /// A rank pays for each message that it sends, one after the other, and for searching its
    /// posted receives for each message that it gets. ppn counts the processes of the sender's node
    /// that send to other nodes in this phase. `hops` replaces the average over the smallest torus
    /// that holds the job. `steps` are the counted steps of each receiving rank.
    ///
    /// # Complexity
    /// O(messages log messages).
    pub fn new(
        profile: &Profile,
        ranks: u32,
        messages: &[Message],
        hops: Option<f64>,
        steps: Option<&BTreeMap<u32, u64>>,
    ) -> Self {
        let layout = &profile.layout;
        let far = |message: &Message| layout.node(message.src) != layout.node(message.dst);
        let mut senders: BTreeMap<u32, u32> = BTreeMap::new();
        for rank in messages
            .iter()
            .filter(|message| far(message))
            .map(|m| m.src)
            .collect::<BTreeSet<_>>()
        {
            *senders.entry(layout.node(rank)).or_default() += 1;
        }
        let torus = Torus::holding(ranks, layout);
        let mut by_rank: BTreeMap<u32, RankCost> = BTreeMap::new();
        let (mut far_bytes, mut byte_hops) = (0.0, 0.0);
        for message in messages {
            let &Message {
                src, dst, bytes, ..
            } = message;
            let active = senders.get(&layout.node(src)).copied().unwrap_or(1);
            let network = profile.link(Distance::Network, profile.protocol(bytes));
            let sender = by_rank.entry(src).or_default();
            sender.sent += 1;
            sender.sent_bytes = sender.sent_bytes.saturating_add(bytes);
            sender.postal_s += postal_s(network, bytes);
            sender.max_rate_s += max_rate_s(network, bytes, active);
            sender.transfer_s += node_aware_s(profile, layout.place(src, dst), bytes, active);
            by_rank.entry(dst).or_default().received += 1;
            if far(message) {
                far_bytes += bytes as f64;
                byte_hops +=
                    bytes as f64 * f64::from(torus.hops(layout.node(src), layout.node(dst)));
            }
        }
        for (&rank, cost) in &mut by_rank {
            cost.rank = rank;
            cost.queue_bound_s = bound_s(profile.queue.gamma_s, cost.received);
            cost.queue_third_s = third_s(profile.queue.gamma_s, cost.received);
            cost.steps = steps.and_then(|steps| steps.get(&rank).copied());
            cost.queue_steps_s = cost
                .steps
                .map(|steps| steps_s(profile.queue.gamma_step_s, steps));
        }
        let hops = hops.unwrap_or(if far_bytes > 0.0 {
            byte_hops / far_bytes
        } else {
            0.0
        });
        let bytes_per_process = far_bytes / f64::from(ranks.max(1));
        let link_bytes = link_bytes(hops, bytes_per_process, layout.processes_per_node);
        Self {
            ranks: by_rank.into_values().collect(),
            hops,
            bytes_per_process,
            link_bytes,
            contention_s: contention_s(profile.contention.delta_s_per_byte, link_bytes),
        }
    }

    /// Parts of the slowest rank's cost: the phase ends when that rank does.
    pub fn split(&self, term: QueueTerm) -> Split {
        let time = |cost: &RankCost| cost.transfer_s + cost.queue_s(term);
        // The first of equal ranks, whatever the order of the search.
        let slowest = self
            .ranks
            .iter()
            .rev()
            .max_by(|a, b| time(a).total_cmp(&time(b)));
        slowest.map_or_else(Split::default, |cost| Split {
            rank: Some(cost.rank),
            transfer_s: cost.transfer_s,
            queue_s: cost.queue_s(term),
            contention_s: self.contention_s,
        })
    }

    /// Parts as the paper adds them: the slowest sender, the longest search of any rank, and
    /// contention. [`split`](Self::split) takes the ranks' own sums, which is less where one side
    /// sends and the other receives.
    pub fn sum(&self, term: QueueTerm) -> Split {
        Split {
            rank: None,
            transfer_s: self.max_s(|cost| cost.transfer_s),
            queue_s: self.max_s(|cost| cost.queue_s(term)),
            contention_s: self.contention_s,
        }
    }

    /// Most messages received by one rank.
    pub fn received_max(&self) -> u64 {
        self.ranks
            .iter()
            .map(|cost| cost.received)
            .max()
            .unwrap_or(0)
    }

    /// Maximum of a value over the ranks, in seconds.
    pub fn max_s(&self, value: impl Fn(&RankCost) -> f64) -> f64 {
        self.ranks.iter().map(value).fold(0.0, f64::max)
    }
}

/// Messages and bytes by place (near to far) and protocol (short to long).
pub fn by_place(profile: &Profile, messages: &[Message]) -> [[(u64, u64); 3]; 3] {
    let mut table = [[(0, 0); 3]; 3];
    for message in messages {
        let place = profile.layout.place(message.src, message.dst);
        let protocol: Protocol = profile.protocol(message.bytes);
        let (count, bytes): &mut (u64, u64) = &mut table[place as usize][protocol as usize];
        *count += 1;
        *bytes = bytes.saturating_add(message.bytes);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(src: u32, dst: u32, bytes: u64) -> Message {
        Message {
            src,
            dst,
            bytes,
            ..Message::default()
        }
    }

    #[test]
    fn nothing_costs_nothing() {
        let cost = PhaseCost::new(&Profile::blue_waters(), 0, &[], None, None);
        assert_eq!(
            (cost.split(QueueTerm::Third), cost.received_max()),
            (Split::default(), 0)
        );
        // Without traffic between nodes no link is used either.
        let near = PhaseCost::new(&Profile::blue_waters(), 16, &[message(0, 1, 8)], None, None);
        assert_eq!(
            (near.hops, near.link_bytes, near.contention_s),
            (0.0, 0.0, 0.0)
        );
    }
}
