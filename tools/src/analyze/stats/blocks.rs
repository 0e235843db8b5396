//! Runs one rank's messages, in its order, through an emulated NIC for each number of handlers, and
//! reads the NIC's counters.
//!
//! A block has up to N messages between two commands (O1, S12).

use std::collections::HashMap;

use dpa_model::{CommId, Domains, Hints, Nic, NicConfig, Options, RequestId, Round, SendError};
use foldhash::fast::RandomState as Fast;

use crate::analyze::order::{Happening, Order};
use crate::analyze::replay::RankView;

/// Counts over the handlers of all blocks, named as in the NIC's counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct BlockStats {
    /// Handlers in a block, N.
    pub handlers: u32,
    pub blocks: u64,
    pub conflict_blocks: u64,
    pub messages: u64,
    /// Messages that took their candidate without conflict.
    pub clean: u64,
    pub fast: u64,
    pub slow: u64,
    /// Slow-path messages that kept their candidate, forced by a lower conflict.
    pub forced: u64,
    pub unexpected: u64,
    /// Refusals of the fast path: lower handlers chose receives of other sequences, or none.
    pub refused_mixed: u64,
    /// Refusals of the fast path: the sequence is too short.
    pub refused_end: u64,
}

impl BlockStats {
    pub fn add(&mut self, other: &Self) {
        add_fields! { self + other;
            sum blocks conflict_blocks messages clean fast slow forced unexpected refused_mixed
                refused_end;
        }
    }
}

/// Maximum number of bins of each table. It affects the length of searches, not their results.
const BINS: usize = 64;

/// Most queue entries: nearly all runs of messages form whole blocks. Like the tables the queues of
/// a rank with few events are smaller, so that such a rank costs little.
const QUEUE: usize = 1024;
const _: () = assert!(QUEUE >= 2 * dpa_model::HANDLERS_MAX);

/// Maximum length of the command queue. A command that waits for room changes no block, since the
/// messages before it have arrived.
const COMMANDS: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    pub(super) posted: u32,
    pub(super) unexpected: u32,
    pub(super) comms: usize,
}

/// The messages and commands of an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Events {
    messages: usize,
    commands: usize,
    /// Messages between two commands, at most: no block has more.
    run_max: usize,
}

impl Events {
    fn of(order: &Order, comms: usize) -> Self {
        let mut events = Self {
            // Each communicator is created.
            commands: comms,
            ..Self::default()
        };
        let mut run = 0;
        for happening in order.iter() {
            if let Happening::Arrive(_) = happening {
                events.messages += 1;
                run += 1;
                events.run_max = events.run_max.max(run);
            } else {
                events.commands += 1;
                run = 0;
            }
        }
        events
    }
}

/// Runs one rank's order through a NIC with each number of handlers: linear in the events. Numbers
/// above the longest run of messages give the same blocks, so one of them is run.
pub(super) fn run(
    view: RankView<'_>,
    order: &Order,
    handlers: &[u32],
    needs: Needs,
) -> Vec<BlockStats> {
    let events = Events::of(order, needs.comms);
    let mut known: Vec<BlockStats> = Vec::new();
    let stats = |&handlers: &u32| {
        let handlers = handlers.clamp(1, dpa_model::HANDLERS_MAX as u32);
        let used = (handlers as usize).min(events.run_max);
        let stats = match known.iter().find(|it| it.handlers as usize == used) {
            Some(&stats) => stats,
            None if used == 0 => BlockStats::default(),
            None => {
                let stats = run_with(view, order, used, events, needs);
                known.push(stats);
                stats
            }
        };
        BlockStats { handlers, ..stats }
    };
    handlers.iter().map(stats).collect()
}

fn run_with(
    view: RankView<'_>,
    order: &Order,
    handlers: usize,
    events: Events,
    needs: Needs,
) -> BlockStats {
    // A queue that holds all, or the largest one: a queue's end cuts a block.
    let room = |entries: usize, most: usize| entries.next_power_of_two().min(most);
    let bins = room(needs.posted.max(needs.unexpected) as usize, BINS);
    let results = events.messages + events.commands;
    let config = NicConfig {
        handlers,
        workers: 1,
        receives: needs.posted.max(1) as usize,
        bins,
        communicators: needs.comms.max(1),
        completion_queues: 1,
        completion_queue: room(events.messages, QUEUE),
        bounce_buffers: 1,
        eager_limit: 32,
        // The NIC stores a whole block before the next command can take from it.
        unexpected: needs.unexpected as usize + handlers,
        unexpected_buffers: 1,
        command_queue: room(events.commands, COMMANDS),
        completion_ring: room(results, 2 * QUEUE),
        regions: 1,
        memory_bytes: u64::MAX,
        // Blocks as large as the number of handlers, as on a card with a thread for each. The table
        // shows the paths of the paper's rules.
        options: Options {
            always_shared: true,
            domains: Domains::Paper,
            order: dpa_model::Order::Stamped,
            ..Options::default()
        },
        ..NicConfig::default()
    };
    let mut feed = Feed {
        nic: Nic::new(&config).expect("sizes that the order needs"),
        comms: HashMap::default(),
        requests: HashMap::default(),
        arrivals: 0,
        bins: u32::try_from(bins).expect("at most BINS"),
    };
    for happening in order.iter() {
        feed.happens(view, happening);
    }
    while feed.round() {}
    let counts = feed.nic.leader.monitor().counts();
    let (done, boundary) = (counts.handlers, counts.boundary);
    debug_assert_eq!(
        boundary.posts_forwarded + boundary.arrivals_forwarded,
        0,
        "all has room"
    );
    BlockStats {
        handlers: handlers as u32,
        blocks: boundary.blocks,
        conflict_blocks: boundary.conflict_blocks,
        messages: done.messages,
        clean: done.clean,
        fast: done.fast,
        slow: done.slow,
        forced: done.forced,
        unexpected: done.unexpected,
        refused_mixed: done.refused_mixed,
        refused_end: done.refused_sequence + done.refused_exhausted,
    }
}

struct Feed {
    nic: Nic,
    comms: HashMap<u32, CommId, Fast>,
    requests: HashMap<u32, RequestId, Fast>,
    arrivals: u64,
    /// Of a communicator's tables.
    bins: u32,
}

impl Feed {
    /// Runs one block and the commands before it. `false` if there was no work.
    fn round(&mut self) -> bool {
        let worked = self.nic.leader.round(1) == Round::Worked;
        while self.nic.host.poll().is_some() {}
        worked
    }

    /// The NIC's number of a communicator, created on first use.
    fn comm(&mut self, comm: u32) -> CommId {
        if let Some(&known) = self.comms.get(&comm) {
            return known;
        }
        let number = CommId(self.comms.len() as u32);
        self.comms.insert(comm, number);
        let (stamp, bins) = (self.arrivals, self.bins);
        self.command(|host| host.create(number, bins, Hints::default(), stamp).ok());
        number
    }

    fn command<T>(&mut self, give: impl Fn(&mut dpa_model::HostPort) -> Option<T>) -> T {
        loop {
            if let Some(given) = give(&mut self.nic.host) {
                return given;
            }
            self.round();
        }
    }

    fn happens(&mut self, view: RankView<'_>, happening: Happening) {
        match happening {
            Happening::Post(receive) => {
                let comm = self.comm(view.comm(receive));
                let selector = view.program.transfers.at(receive).selector();
                let stamp = self.arrivals;
                let post = |host: &mut dpa_model::HostPort| {
                    host.post(comm, selector, Vec::new(), stamp).ok()
                };
                let request = self.command(post);
                self.requests.insert(receive, request);
            }
            Happening::Cancel(receive) => {
                let request = self.requests.remove(&receive).unwrap_or(RequestId::NONE);
                let stamp = self.arrivals;
                self.command(|host| host.cancel(request, stamp).ok());
            }
            Happening::Probe(probe) => {
                let comm = self.comm(view.comm(probe));
                let selector = view.program.transfers.at(probe).selector();
                let stamp = self.arrivals;
                self.command(|host| host.probe(comm, selector, false, stamp).ok());
            }
            Happening::Arrive(message) => {
                let mut envelope = view.envelope(message);
                envelope.comm = self.comm(view.inbound.at(message).comm);
                let stamp = self.nic.host.commands_counted();
                loop {
                    match self.nic.sender.try_send(envelope, &[], stamp) {
                        Ok(()) => break,
                        Err(SendError::ReceiverNotReady) => self.round(),
                        Err(error) => unreachable!("an empty message has room: {error}"),
                    };
                }
                self.arrivals += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::by_hand::{question, receive, run as run_of, send};
    use crate::analyze::order::Dice;
    use crate::analyze::program::{ANY, End};
    use crate::analyze::{OrderChoice, Report};

    /// Queues for exactly the events of a rank, and no more handlers than a block can have, count
    /// what a NIC with the largest queues and all handlers counts.
    #[test]
    fn a_small_nic_counts_as_a_large_one() {
        let mut dice = Dice::new(7, 0);
        let mut paths = [0; 4];
        for seed in 0..80 {
            let events = 1 + dice.below(60);
            let mut tag = || dice.below(3) as i32;
            let sends: Vec<_> = (0..events).map(|_| send(1, tag())).collect();
            let wanted = |number: u64, tag: i32| match number % 5 {
                0 => receive(ANY, tag, End::Ignored),
                1 => receive(0, ANY, End::Ignored),
                _ => receive(0, tag, End::Ignored),
            };
            let receives: Vec<_> = (0..events).map(|number| wanted(number, tag())).collect();
            let run = run_of(&sends, &receives);
            let choice = match seed % 4 {
                0 => OrderChoice::PostsFirst,
                1 => OrderChoice::ArrivalsFirst,
                _ => OrderChoice::Random { seed },
            };
            let mut asked = question(choice);
            asked.plan.handlers = vec![1, 2, 3, 8, 64];
            let report = Report::make(&run, &asked, |_| ()).expect("a report");
            let found = &report.ranks[1].totals.blocks;
            let (events, needs) = (
                Events {
                    messages: QUEUE,
                    commands: QUEUE,
                    run_max: 0,
                },
                Needs {
                    posted: 100,
                    unexpected: 100,
                    comms: 1,
                },
            );
            let order = &run.guided(choice)[1];
            for &found in found {
                let handlers = found.handlers as usize;
                let large = run_with(run.view(1), order, handlers, events, needs);
                assert_eq!(found, large, "seed {seed}");
                let BlockStats {
                    fast,
                    slow,
                    clean,
                    unexpected,
                    ..
                } = found;
                for (sum, more) in paths.iter_mut().zip([fast, slow, clean, unexpected]) {
                    *sum += more;
                }
            }
        }
        assert!(paths.iter().all(|&messages| messages > 10), "{paths:?}");
    }
}
