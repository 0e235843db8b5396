//! Walks along one rank's order, with engines, tables and counters side by side.

use std::collections::HashMap;

use dpamatch_vocabulary::CommId;
use foldhash::fast::RandomState as Fast;

use super::blocks::{self, Needs};
use super::fit::{self, Fit};
use super::keys::{Key, Keys};
use super::occupancy::Occupancy;
use super::shards::{self, CommMessages, Sources};
use super::sizes;
use super::{
    BinStats, COLUMNS, CommStats, Depths, Fallback, Hints, Plan, RankStats, Searches, Sequences,
    Shares, Shortage, Totals, Traffic, Violation, left,
};
use crate::analyze::inbound::Inbound;
use crate::analyze::order::{Happening, Order};
use crate::analyze::program::{ANY, TransferKind, UNKNOWN, UNKNOWN_BYTES};
use crate::analyze::replay::RankView;
use dpamatch::engine::{BinCount, BinEngine, Engine, MsgId, RecvId, selector_hash};
use dpamatch_traces::Function;

struct Walk<'a> {
    view: RankView<'a>,
    engines: Vec<BinEngine>,
    tables: Vec<Occupancy>,
    fit: Fit,
    receive_keys: Keys,
    message_keys: Keys,
    sources: Sources,
    comms: HashMap<u32, Box<CommStats>, Fast>,
    depths: Depths,
    receives: Vec<u32>,
    posted: u32,
    unexpected: u32,
}

/// Gathers all statistics of one rank. `end_ns` is the end of the run in the order's times; `calls`
/// gives a message's sending call. Each event costs one search per number of bins, and one command
/// or message of an emulated NIC per number of handlers.
pub(crate) fn walk(
    view: RankView<'_>,
    order: &Order,
    plan: &Plan,
    end_ns: u64,
    calls: impl Fn(&Inbound) -> Option<u32>,
) -> (RankStats, Vec<u32>) {
    // One engine drives the walk even without a requested number of bins.
    let numbers = if plan.bins.is_empty() {
        vec![BinCount::default()]
    } else {
        plan.bins.clone()
    };
    let mut walk = Walk {
        view,
        engines: numbers.iter().map(|&bins| BinEngine::new(bins)).collect(),
        tables: plan
            .bins
            .iter()
            .map(|bins| Occupancy::new(bins.get()))
            .collect(),
        fit: Fit::new(plan.nic),
        receive_keys: Keys::default(),
        message_keys: Keys::default(),
        sources: Sources::default(),
        comms: HashMap::default(),
        depths: Depths {
            posted: vec![0; COLUMNS],
            unexpected: vec![0; COLUMNS],
        },
        receives: vec![UNKNOWN; view.inbound.len()],
        posted: 0,
        unexpected: 0,
    };
    let mut reached = 0;
    for (at, happening) in order.iter().enumerate() {
        let column = order.column(at, COLUMNS, end_ns);
        // Waiting entries count in each column that passes.
        walk.note_depths(reached, column);
        walk.happens(at, happening, order);
        walk.note_depths(column, column);
        reached = column;
    }
    walk.note_depths(reached, COLUMNS - 1);
    walk.finish(order, plan, calls)
}

impl Walk<'_> {
    /// The communicator's statistics; a new communicator needs tables on the NIC.
    fn comm(
        &mut self,
        comm: u32,
        at: usize,
        happening: Happening,
        order: &Order,
    ) -> &mut CommStats {
        if !self.comms.contains_key(&comm)
            && let Some(shortage) = self.fit.communicator()
        {
            self.fell_back(shortage, at, happening, order);
        }
        self.comms.entry(comm).or_default()
    }

    fn fell_back(&mut self, shortage: Shortage, at: usize, happening: Happening, order: &Order) {
        let (rank, view) = (self.view.program.rank, self.view);
        self.fit.note(shortage, |shortage| Fallback {
            shortage,
            rank,
            happening: at as u64,
            time_ns: order.time_ns(at),
            call: fit::call_of(view, happening),
            sender: None,
        });
    }

    fn happens(&mut self, at: usize, happening: Happening, order: &Order) {
        self.tables.iter_mut().for_each(Occupancy::sample);
        match happening {
            Happening::Post(receive) => self.post(receive, at, order),
            Happening::Arrive(message) => self.arrive(message, at, order),
            Happening::Cancel(receive) => {
                let comm = self.view.comm(receive);
                let mut gone = false;
                for engine in &mut self.engines {
                    gone = engine.cancel(RecvId(u64::from(receive)));
                }
                if gone {
                    self.takes(receive, comm);
                    self.comm(comm, at, happening, order).traffic.cancelled += 1;
                }
            }
            Happening::Probe(probe) => {
                let comm = self.view.comm(probe);
                let transfer = self.view.program.transfers.at(probe);
                let before = self.steps().1;
                let mut found = false;
                for engine in &mut self.engines {
                    found = engine.probe(CommId(comm), transfer.selector()).is_some();
                }
                let steps = self.steps().1 - before;
                let program = self.view.program;
                let stats = self.comm(comm, at, happening, order);
                stats.umq.searched(steps, found, stats.waiting);
                stats.traffic.probes += 1;
                stats.hints.asked(program, probe);
            }
        }
    }

    /// Steps so far with the first number of bins: among posted receives, and among unexpected
    /// messages.
    fn steps(&self) -> (u64, u64) {
        self.engines.first().map_or((0, 0), |engine| {
            let stats = engine.stats();
            (stats.prq.depth_sum, stats.umq.depth_sum)
        })
    }

    fn post(&mut self, receive: u32, at: usize, order: &Order) {
        let program = self.view.program;
        let transfer = program.transfers.at(receive);
        let comm = self.view.comm(receive);
        let selector = transfer.selector();
        let before = self.steps().1;
        let mut got = None;
        for engine in &mut self.engines {
            got = engine.post(RecvId(u64::from(receive)), CommId(comm), selector);
        }
        let steps = self.steps().1 - before;
        let key: Key = (comm, transfer.peer, transfer.tag);
        self.receive_keys.used(key);
        self.sources.named(comm, transfer.peer, 0);
        let stats = self.comm(comm, at, Happening::Post(receive), order);
        stats.umq.searched(steps, got.is_some(), stats.waiting);
        stats.traffic.receives[selector.class() as usize] += 1;
        stats.hints.asked(program, receive);
        let pattern = Some((transfer.peer, transfer.tag));
        if stats.run.0 != pattern {
            stats.sequences.end(stats.run.1);
            stats.run = (pattern, 0);
        }
        stats.run.1 += 1;
        if let Some(message) = got {
            self.match_stored(receive, message.0 as u32, comm);
            return;
        }
        stats.posted += 1;
        stats.posted_max = stats.posted_max.max(stats.posted);
        self.posted += 1;
        let hash = selector_hash(comm, selector);
        self.tables
            .iter_mut()
            .for_each(|tables| tables.insert(selector.class(), hash));
        self.receive_keys.waits(key);
        if let Some(shortage) = self.fit.posted() {
            self.fell_back(shortage, at, Happening::Post(receive), order);
        }
    }

    fn match_stored(&mut self, receive: u32, message: u32, comm: u32) {
        let program = self.view.program;
        let inbound = self.view.inbound.at(message);
        self.receives[message as usize] = receive;
        self.unexpected -= 1;
        self.fit.fetched(inbound.bytes);
        let key = (comm, inbound.source as i32, inbound.tag as i32);
        let others = self.message_keys.leaves(key);
        let Some(stats) = self.comms.get_mut(&comm) else {
            return;
        };
        stats.waiting -= 1;
        stats.hints.matched(program, receive, &inbound);
        stats.hints.chosen(program, receive, others);
    }

    /// Removes a posted receive from its queue; returns whether another one with its key waits.
    fn takes(&mut self, receive: u32, comm: u32) -> bool {
        let transfer = self.view.program.transfers.at(receive);
        let class = transfer.selector().class();
        let hash = selector_hash(comm, transfer.selector());
        self.tables
            .iter_mut()
            .for_each(|tables| tables.remove(class, hash));
        self.posted -= 1;
        self.fit.taken();
        if let Some(stats) = self.comms.get_mut(&comm) {
            stats.posted -= 1;
        }
        self.receive_keys
            .leaves((comm, transfer.peer, transfer.tag))
    }

    fn arrive(&mut self, message: u32, at: usize, order: &Order) {
        let program = self.view.program;
        let inbound = self.view.inbound.at(message);
        let Inbound {
            comm,
            source,
            tag,
            bytes,
            ..
        } = inbound;
        let envelope = self.view.envelope(message);
        let before = self.steps().0;
        let mut got = None;
        for engine in &mut self.engines {
            got = engine.arrive(MsgId(u64::from(message)), envelope);
        }
        let steps = self.steps().0 - before;
        let stats = self.comm(comm, at, Happening::Arrive(message), order);
        stats.prq.searched(steps, got.is_some(), stats.posted);
        let key: Key = (comm, source as i32, tag as i32);
        self.message_keys.used(key);
        self.sources.named(comm, source as i32, 1);
        let receive = got.map_or(UNKNOWN, |receive| receive.0 as u32);
        if receive != UNKNOWN {
            self.receives[message as usize] = receive;
            let others = self.takes(receive, comm);
            let stats = self.comm(comm, at, Happening::Arrive(message), order);
            stats.traffic.expected += 1;
            stats.hints.matched(program, receive, &inbound);
            stats.hints.chosen(program, receive, others);
            return;
        }
        let stats = self.comm(comm, at, Happening::Arrive(message), order);
        stats.traffic.unexpected += 1;
        stats.waiting += 1;
        stats.unexpected_max = stats.unexpected_max.max(stats.waiting);
        self.unexpected += 1;
        self.message_keys.waits(key);
        if let Some(shortage) = self.fit.stored(bytes) {
            self.fell_back(shortage, at, Happening::Arrive(message), order);
        }
    }

    fn note_depths(&mut self, first: usize, last: usize) {
        for column in first..=last {
            let higher = |place: &mut u32, now: u32| *place = now.max(*place);
            higher(&mut self.depths.posted[column], self.posted);
            higher(&mut self.depths.unexpected[column], self.unexpected);
        }
    }

    /// Counts sends where they are made, and wildcards of calls outside matching, since hints
    /// forbid them as well. Returns the number of transfers with `MPI_PROC_NULL`.
    fn count_the_rest(&mut self) -> u64 {
        let (view, program) = (self.view, self.view.program);
        let mut to_null = 0;
        for transfer in program.transfers.iter() {
            let comm = view.comms.global(view.at, transfer.comm);
            match transfer.kind {
                TransferKind::Send => {
                    let traffic = &mut self.comms.entry(comm).or_default().traffic;
                    traffic.sends += 1;
                    traffic.bytes_sent += if transfer.bytes == UNKNOWN_BYTES {
                        0
                    } else {
                        transfer.bytes
                    };
                }
                TransferKind::Null => {
                    to_null += 1;
                    let is_wild = (
                        transfer.peer == ANY && !transfer.unsure_null,
                        transfer.tag == ANY,
                    );
                    if is_wild != (false, false) {
                        let call = Violation::at(program.rank, &transfer);
                        self.comms
                            .entry(comm)
                            .or_default()
                            .hints
                            .without_message(is_wild.0, is_wild.1, 1, call);
                    }
                }
                TransferKind::Recv | TransferKind::Probe => {}
            }
        }
        for polls in &program.empty_polls {
            let comm = view.comms.global(view.at, polls.comm);
            let call = Violation::of_call(program.rank, polls.call, polls.function);
            let hints = &mut self.comms.entry(comm).or_default().hints;
            hints.without_message(polls.any_source, polls.any_tag, polls.count, call);
        }
        to_null
    }

    fn finish(
        mut self,
        order: &Order,
        plan: &Plan,
        calls: impl Fn(&Inbound) -> Option<u32>,
    ) -> (RankStats, Vec<u32>) {
        let view = self.view;
        let (posted, unexpected) =
            self.engines
                .first()
                .map_or((Vec::new(), Vec::new()), |engine| {
                    let posted = engine
                        .posted()
                        .into_iter()
                        .map(|receive| receive.0 as u32)
                        .collect::<Vec<_>>();
                    (
                        posted,
                        engine
                            .unexpected()
                            .into_iter()
                            .map(|message| message.0 as u32)
                            .collect(),
                    )
                });
        for &receive in &posted {
            let comm = view.comm(receive);
            if let Some(stats) = self.comms.get_mut(&comm) {
                stats.traffic.receives_left += 1;
            }
        }
        for &message in &unexpected {
            if let Some(stats) = self.comms.get_mut(&view.inbound.at(message).comm) {
                stats.traffic.messages_left += 1;
            }
        }
        let to_null = self.count_the_rest();
        let mut traffic = Traffic {
            to_null,
            ..Traffic::default()
        };
        let mut sequences = Sequences::default();
        let mut hints = Hints::default();
        let comms = self.comms.into_iter();
        let mut comms: Vec<(u32, CommStats)> = comms.map(|(comm, stats)| (comm, *stats)).collect();
        comms.sort_unstable_by_key(|&(comm, _)| comm);
        for (_, stats) in &mut comms {
            stats.sequences.end(stats.run.1);
            stats.prq.end(stats.posted_max);
            stats.umq.end(stats.unexpected_max);
            traffic.add(&stats.traffic);
            sequences.add(&stats.sequences);
            hints.add(&stats.hints);
        }
        for (engine, tables) in self.engines.iter().zip(&self.tables) {
            // Both counts must agree.
            let collisions: u64 = tables
                .stats()
                .tables
                .iter()
                .map(|table| table.collisions)
                .sum();
            debug_assert_eq!(
                engine.stats().prq.collisions,
                collisions,
                "collisions are the engine's"
            );
        }
        let bins = plan.bins.iter().zip(&self.engines).zip(&self.tables).map(
            |((bins, engine), tables)| {
                let stats = engine.stats();
                BinStats {
                    bins: bins.get(),
                    prq: Searches::of(&stats.prq),
                    umq: Searches::of(&stats.umq),
                    tables: tables.stats(),
                    umq_collisions: stats.umq.collisions,
                }
            },
        );
        let mut needs = self.fit.finish();
        if let Some(fallback) = &mut needs.fallback
            && let Some(Happening::Arrive(message)) = order.iter().nth(fallback.happening as usize)
        {
            let inbound = view.inbound.at(message);
            fallback.call = calls(&inbound);
            fallback.sender = Some(inbound.sender).filter(|&sender| sender != UNKNOWN);
        }
        let mut sources = self.sources.by_comm();
        let messages = comms.iter().map(|(comm, stats)| CommMessages {
            by_source: sources.remove(comm).unwrap_or_default(),
            any_source: stats.hints.no_any_source.count > 0,
        });
        let shards = shards::spread(&messages.collect::<Vec<_>>());
        let (message_keys, tags) = self.message_keys.stats(&view.comms.all);
        let highest = |depths: &[u32]| depths.iter().copied().max().unwrap_or(0);
        let block_needs = Needs {
            posted: highest(&self.depths.posted),
            unexpected: highest(&self.depths.unexpected),
            comms: comms.len(),
        };
        let program = view.program;
        let spent = program
            .spent
            .iter()
            .filter_map(|(&(number, _), spent)| Some((Function::from_number(number)?, spent.ns)));
        let sizes = view.inbound.iter().map(|message| message.bytes);
        let totals = Totals {
            shares: Shares::of(program.calls.iter()),
            traffic,
            time_ns: Shares::of(spent),
            run_ns: program.run_ns,
            sizes: sizes::classes(sizes, plan.nic.eager_limit),
            bins: bins.collect(),
            receive_keys: self.receive_keys.stats(&view.comms.all).0,
            message_keys,
            tags: tags.len() as u64,
            tag_max: tags.last().copied().unwrap_or(-1),
            sequences,
            blocks: blocks::run(view, order, &plan.handlers, block_needs),
            shards,
            needs,
            hints,
            depths: self.depths,
            agreement: view.compare(&self.receives),
        };
        let stats = RankStats {
            rank: view.program.rank,
            totals,
            comms,
            unmatched: left::explain(view, &posted, &unexpected, &self.receives, calls),
            end_ns: order
                .len()
                .checked_sub(1)
                .and_then(|last| order.time_ns(last))
                .unwrap_or(0),
        };
        (stats, self.receives)
    }
}
