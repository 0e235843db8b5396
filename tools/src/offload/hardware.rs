//! Cards that match in hardware, beside the DPA and the host: what fits, who matches, and what
//! remains for the host.

use dpamatch::NicConfig;
use dpamatch::engine::{BinCount, Counter};
use dpamatch::registry::{self, EngineOptions};
use dpamatch::stream::{Outcome, RunError, StreamMatcher};
use serde::Serialize;

use super::demand::Part;
use super::rooms::{Hardware, PublishedRoom};
use super::{Costs, Demand, Host, Range, Service};
use crate::analyze::tell_sizes;

/// A place where a program's messages can be matched.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Matcher {
    /// `host`, `dpa`, or the engine that stands for a card.
    pub name: &'static str,
    pub posts: u64,
    pub messages: u64,
    /// Messages that the card matched. A probe that finds a message matches nothing.
    pub on_card: u64,
    /// Receives for which the card had no room when they were posted.
    pub no_room: u64,
    /// Receives that fit on the card; of a design in hardware also unexpected messages.
    pub room: Option<u64>,
    /// Time that messages wait for the card itself, summed over all, in microseconds. `None`: no
    /// vendor publishes it.
    pub card_us: Option<f64>,
    /// Times that matching went from the card to the host or back. The DPA's are not counted.
    pub changes: Option<u64>,
    /// Entries that the card and the host passed.
    pub card_steps: Option<u64>,
    pub host_steps: u64,
    /// The host's time for matching, in microseconds.
    pub host_us: Range,
}

/// What a card does of the matching, and what it leaves to the host.
#[derive(Clone, Copy)]
struct Share {
    /// Messages that the card matches.
    on_card: u64,
    /// Receives for which the card has no room.
    no_room: u64,
    /// Entries that move between card and host.
    moved: u64,
    host_steps: u64,
}

/// Prices what a card of this design leaves to the host: commands and completions for its part, and
/// matching for the rest. The card's own searches are not priced: no vendor publishes their time.
fn price(demand: &Demand, host: &Host, share: Share) -> Range {
    let Share {
        on_card,
        no_room,
        moved,
        host_steps,
    } = share;
    let (own, card) = (&host.matching, &host.offloaded);
    let commanded = (demand.posts - no_room) as f64;
    let (by_card, by_host) = (on_card as f64, (demand.messages - on_card) as f64);
    let host_share = by_host / demand.messages.max(1) as f64;
    (card.post_ns * commanded
        + own.post_ns * no_room as f64
        + card.completion_ns * by_card
        + own.message_ns * (by_host + moved as f64)
        + own.step_ns * host_steps as f64
        + own.copy_ns_per_byte * (demand.eager_bytes as f64 * host_share)
        + own.rendezvous_ns * (demand.rendezvous as f64 * host_share))
        * 1e-3
}

fn count(counters: &[Counter], name: &str) -> u64 {
    let counter = counters.iter().find(|counter| counter.name == name);
    counter.map_or(0, |counter| counter.value)
}

/// The DPA's share: the emulated NIC with twice as many bins as receives, as the prototype has, and
/// a host that answers at once, so that a communicator returns as soon as the NIC can hold it.
fn dpa(part: Part<'_>, receives: usize, hardware: Hardware) -> Result<Share, RunError> {
    let bins = (2 * receives).next_power_of_two().min(1 << 16) as u32;
    let options = EngineOptions {
        bins: BinCount::new(bins).expect("2 to 65536"),
        nic: NicConfig {
            receives,
            communicators: part.comms().len().max(1),
            ..NicConfig::default()
        },
        threads: false,
        behind: hardware.behind,
        ..EngineOptions::default()
    };
    let entry = registry::find("optimistic").expect("the registry has the NIC");
    let built = entry.build(&options);
    let mut nic = built.map_err(|error| RunError::Engine(Box::new(error)))?;
    let mut matched = 0;
    nic.run(&mut part.events().map(|(event, _)| event), &mut |outcome| {
        matched += u64::from(matches!(outcome, Outcome::Matched { .. }))
    })?;
    let counters = nic.counters();
    Ok(Share {
        on_card: matched - count(&counters, "software_matches"),
        no_room: count(&counters, "software_posts"),
        moved: 0,
        host_steps: count(&counters, "software_steps"),
    })
}

impl Matcher {
    /// The host, the DPA with this room, and the cards that match in hardware. Each row replays the
    /// events of the part; only a message's time on the DPA comes from virtual time.
    pub(super) fn all(
        part: Part<'_>,
        demand: &Demand,
        service: &Service,
        costs: &Costs,
        host: &Host,
        receives: usize,
        hardware: Hardware,
    ) -> Result<Vec<Self>, RunError> {
        let &Demand {
            posts, messages, ..
        } = demand;
        let none = Self {
            name: "host",
            posts,
            messages,
            on_card: 0,
            no_room: 0,
            room: None,
            card_us: Some(0.0),
            changes: Some(0),
            card_steps: Some(0),
            host_steps: demand.steps,
            host_us: costs.now_us,
        };
        let room = hardware.rooms.of_dpa(receives);
        let share = dpa(part, room, hardware)?;
        let dpa = Self {
            name: "dpa",
            room: Some(room as u64),
            card_us: Some(service.latency_us * messages as f64),
            changes: None,
            card_steps: None,
            ..none.with(share, demand, host)
        };
        let mut all = vec![none, dpa];
        for card in hardware.rooms.cards() {
            all.push(Self::hardware(card, part, none, demand, host, hardware)?);
        }
        Ok(all)
    }

    fn with(self, share: Share, demand: &Demand, host: &Host) -> Self {
        debug_assert!(share.on_card <= demand.messages && share.no_room <= demand.posts);
        Self {
            on_card: share.on_card,
            no_room: share.no_room,
            host_steps: share.host_steps,
            host_us: price(demand, host, share),
            ..self
        }
    }

    fn hardware(
        card: PublishedRoom,
        part: Part<'_>,
        none: Self,
        demand: &Demand,
        host: &Host,
        hardware: Hardware,
    ) -> Result<Self, RunError> {
        let options = EngineOptions {
            list_entries: card.entries,
            behind_cards: hardware.behind,
            ..EngineOptions::default()
        };
        let entry = registry::find(card.engine).expect("the registry has the designs");
        let mut engine = entry.engine(&options).expect("a software engine");
        tell_sizes(part.view, engine.as_mut());
        engine.run(&mut part.events().map(|(event, _)| event), &mut |_| ())?;
        let counters = engine.own_counters();
        let share = Share {
            on_card: count(&counters, "card_matches"),
            no_room: count(&counters, "host_receives"),
            moved: count(&counters, "moved_entries"),
            host_steps: count(&counters, "host_steps"),
        };
        Ok(Self {
            name: card.card,
            room: Some(card.entries.into()),
            card_us: None,
            changes: Some(count(&counters, "control_changes")),
            card_steps: Some(count(&counters, "card_steps")),
            ..none.with(share, demand, host)
        })
    }

    /// Adds another rank's part.
    pub(super) fn add(&mut self, other: &Self) {
        let sum = |mine: Option<u64>, theirs: Option<u64>| Some(mine? + theirs?);
        self.posts += other.posts;
        self.messages += other.messages;
        self.on_card += other.on_card;
        self.no_room += other.no_room;
        self.changes = sum(self.changes, other.changes);
        self.card_us = self.card_us.zip(other.card_us).map(|(a, b)| a + b);
        self.card_steps = sum(self.card_steps, other.card_steps);
        self.host_steps += other.host_steps;
        self.host_us = self.host_us + other.host_us;
    }

    pub fn per_message(&self, steps: u64) -> f64 {
        steps as f64 / self.messages.max(1) as f64
    }

    /// The share of messages that the card matches, and of receives that never fit.
    pub fn shares(&self) -> (f64, f64) {
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        (
            share(self.on_card, self.messages),
            share(self.no_room, self.posts),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::BUILT_IN;

    fn share(on_card: u64, no_room: u64, moved: u64, host_steps: u64) -> Share {
        Share {
            on_card,
            no_room,
            moved,
            host_steps,
        }
    }

    /// All numbers differ: 3 of 10 receives and 4 of 10 messages are the host's.
    #[test]
    fn the_host_pays_for_its_part_and_for_commands() {
        let mut host = Host::parse(BUILT_IN[0].1).expect("a host");
        host.matching.post_ns = Range::exact(10.0);
        host.matching.message_ns = Range::exact(100.0);
        host.matching.step_ns = Range::exact(2.0);
        host.matching.copy_ns_per_byte = Range::exact(0.5);
        host.matching.rendezvous_ns = Range::exact(1000.0);
        host.offloaded.post_ns = Range::exact(50.0);
        host.offloaded.completion_ns = Range::exact(20.0);
        let demand = Demand {
            posts: 10,
            messages: 10,
            eager_bytes: 80,
            rendezvous: 5,
            ..Demand::default()
        };
        let priced = price(&demand, &host, share(6, 3, 2, 7));
        // 7 x 50 + 3 x 10 + 6 x 20 + (4 + 2) x 100 + 7 x 2 + 80 x 0.4 x 0.5 + 5 x 0.4 x 1000 ns.
        assert!((priced.likely - 3.13).abs() < 1e-9, "{priced:?}");
        let all = price(&demand, &host, share(10, 0, 0, 0));
        assert!((all.likely - 0.7).abs() < 1e-9, "{all:?}");
    }
}
