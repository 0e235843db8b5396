//! What network cards match in hardware: a bounded list on the card, and the host's lists behind
//! it, or another engine.
//!
//! Three designs share this engine. In each, the entries on the card are older than all entries on
//! the host, so that searching the card first gives the oracle's result.
//!
//! - **ConnectX** (`hw-list`): up to L receives are on the card, in posting order, wildcards
//!   included. A receive goes to the host if the list is full or an older one waits there.
//!   Unexpected messages are always the host's.
//! - **Portals** (`portals`: Cassini, BXI): posted receives (priority list) and headers of
//!   unexpected messages share L entries of the card. If one cannot be had, matching turns to the
//!   host for good, as the hybrid mode of libfabric's CXI provider does: the host takes over the
//!   unexpected headers, receives on the card still match there, and later ones are on the host.
//! - **ALPU** (`alpu`): a unit compares L entries of each queue in one step and answers with the
//!   oldest that fits. The processor searches the rest, and refills the unit.

use dpamatch_vocabulary::Selector;

use super::chain::{Chain, Slab};
use super::entry::{Entry, Pattern, PostedReceive, UnexpectedMessage};
use super::linear::{Linear, Policy, Queue};
use super::{Behind, Counter, Engine, Load, MsgId, QueueStats, RecvId};

/// A card whose hardware matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NicDesign {
    /// A list of receives, as in ConnectX.
    HwList,
    /// Priority and overflow list, as in Cassini and BXI.
    Portals,
    /// An associative unit in front of lists (Underwood et al.).
    Alpu,
}

/// An entry, and whether it is on the card.
#[derive(Clone, Copy, Debug)]
struct Placed<T> {
    entry: T,
    on_card: bool,
}

/// An entry that an engine can hold for the host. The engine serves one queue, so its other queue
/// is empty between two calls. It knows an entry by its place.
pub trait Hosted: Entry {
    /// Puts the entry at the end of its queue.
    fn put(&self, engine: &mut dyn Engine, at: u32);

    /// The oldest entry that fits. Unless `stays`, it leaves the engine.
    fn seek(wanted: &Self::Wanted, engine: &mut dyn Engine, stays: bool) -> Option<u32>;

    /// Takes the entry out, which is the oldest of its queue unless it is a cancelled receive.
    fn withdraw(&self, engine: &mut dyn Engine, at: u32);

    /// Statistics of the queue.
    fn queue(engine: &dyn Engine) -> &QueueStats;
}

impl Hosted for PostedReceive {
    fn put(&self, engine: &mut dyn Engine, at: u32) {
        let found = engine.post(RecvId(at.into()), self.comm, self.selector);
        debug_assert_eq!(found, None);
    }

    fn seek(envelope: &Self::Wanted, engine: &mut dyn Engine, stays: bool) -> Option<u32> {
        debug_assert!(!stays, "no probe looks for a receive");
        let found = engine.arrive(MsgId(0), *envelope);
        if found.is_none() {
            let exact = Selector::new(envelope.source, envelope.tag);
            engine.mprobe(envelope.comm, exact);
        }
        found.map(|recv| recv.0 as u32)
    }

    fn withdraw(&self, engine: &mut dyn Engine, at: u32) {
        let cancelled = engine.cancel(RecvId(at.into()));
        debug_assert!(cancelled);
    }

    fn queue(engine: &dyn Engine) -> &QueueStats {
        &engine.stats().prq
    }
}

impl Hosted for UnexpectedMessage {
    fn put(&self, engine: &mut dyn Engine, at: u32) {
        let found = engine.arrive(MsgId(at.into()), self.envelope);
        debug_assert_eq!(found, None);
    }

    fn seek(wanted: &Self::Wanted, engine: &mut dyn Engine, stays: bool) -> Option<u32> {
        let &Pattern { comm, selector } = wanted;
        let found = match stays {
            true => engine.probe(comm, selector),
            false => engine.mprobe(comm, selector),
        };
        found.map(|msg| msg.0 as u32)
    }

    fn withdraw(&self, engine: &mut dyn Engine, at: u32) {
        let exact = Selector::new(self.envelope.source, self.envelope.tag);
        let found = engine.mprobe(self.envelope.comm, exact);
        debug_assert_eq!(found, Some(MsgId(at.into())));
    }

    fn queue(engine: &dyn Engine) -> &QueueStats {
        &engine.stats().umq
    }
}

/// An engine that searches the host's part of a queue instead of a walk along its chain.
struct Searcher {
    behind: Behind,
    engine: Box<dyn Engine>,
}

impl std::fmt::Debug for Searcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Searcher").field(&self.behind).finish()
    }
}

impl Searcher {
    /// `None` for the list, which is the chain itself.
    fn new(behind: Behind) -> Option<Self> {
        (behind != Behind::List).then(|| Self {
            behind,
            engine: behind.engine(),
        })
    }

    /// The oldest entry that fits, and the search's compares and hops.
    fn seek<E: Hosted>(&mut self, wanted: &E::Wanted, stays: bool) -> (Option<u32>, u64, u64) {
        let engine = self.engine.as_mut();
        let before = *E::queue(engine);
        let found = E::seek(wanted, engine, stays);
        let after = E::queue(engine);
        let (attempts, hops) = (after.attempts, after.hops);
        (found, attempts - before.attempts, hops - before.hops)
    }
}

/// A queue in two parts.
#[derive(Debug)]
pub struct Parts<E: Copy> {
    entries: Slab<Placed<E>, 1>,
    /// All of these are older than the host's.
    card: Chain,
    host: Chain,
    /// Length of `card`.
    on_card: u32,
    /// Whether the next entry is on the card.
    to_card: bool,
    /// Entries of an associative unit, which is refilled from the host; `None` for a list.
    unit: Option<u32>,
    /// Searches `host`, and holds its entries; `None`: a walk along the chain.
    searcher: Option<Searcher>,
    /// The host's entry that a search has taken out of the searcher, until it is removed.
    taken: Option<u32>,
    shares: Shares,
}

/// Who did the work.
#[derive(Clone, Copy, Debug, Default)]
struct Shares {
    card_steps: u64,
    host_steps: u64,
    /// Searches that took an entry out. A probe's search takes none.
    card_matches: u64,
    host_matches: u64,
    /// Entries for which the card had no room.
    host_entries: u64,
    /// Entries moved between card and host.
    moved: u64,
}

impl<E: Hosted> Parts<E> {
    fn new(unit: Option<u32>, behind: Behind) -> Self {
        Self {
            entries: Slab::new(),
            card: Chain::EMPTY,
            host: Chain::EMPTY,
            on_card: 0,
            to_card: false,
            unit,
            searcher: Searcher::new(behind),
            taken: None,
            shares: Shares::default(),
        }
    }

    fn walk(&self, chain: Chain, wanted: &E::Wanted) -> (Option<u32>, u64) {
        let mut steps = 0;
        let found = self.entries.walk(chain, 0).find(|(_, placed)| {
            steps += 1;
            placed.entry.fits(wanted)
        });
        (found.map(|(at, _)| at), steps)
    }

    /// The oldest entry that fits and whether it is on the card. Counts the search. Without
    /// `stays`, the caller removes what is found.
    ///
    /// An associative unit compares all its entries in one step.
    fn locate(
        &mut self,
        wanted: &E::Wanted,
        stays: bool,
        stats: &mut QueueStats,
    ) -> Option<(u32, bool)> {
        let (on_card, mut compares) = self.walk(self.card, wanted);
        let mut card_steps = compares;
        if self.unit.is_some() && !self.card.is_empty() {
            (compares, card_steps) = (u64::from(on_card.is_some()), 1);
            stats.hops += 1;
        }
        let (mut on_host, mut attempts, mut hops) = (None, 0, 0);
        if on_card.is_none() && !self.host.is_empty() {
            match &mut self.searcher {
                Some(searcher) => {
                    (on_host, attempts, hops) = searcher.seek::<E>(wanted, stays);
                    self.taken = on_host.filter(|_| !stays);
                }
                None => (on_host, attempts) = self.walk(self.host, wanted),
            }
        }
        stats.hops += hops;
        let found = on_card.or(on_host);
        stats.searched(compares + attempts, found.is_some());
        self.shares.card_steps += card_steps;
        self.shares.host_steps += attempts + hops;
        found.map(|at| (at, on_card.is_some()))
    }

    /// Takes an entry out of the host's chain, and out of the searcher unless a search did.
    fn leave_host(&mut self, at: u32) {
        self.entries.unlink(&mut self.host, 0, at);
        let taken = self.taken.take();
        if let Some(searcher) = &mut self.searcher
            && taken != Some(at)
        {
            let entry = self.entries.get(at).entry;
            entry.withdraw(searcher.engine.as_mut(), at);
        }
    }

    /// Puts an entry at the end of the host's chain.
    fn enter_host(&mut self, at: u32) {
        self.entries.push_back(&mut self.host, 0, at);
        if let Some(searcher) = &mut self.searcher {
            self.entries.get(at).entry.put(searcher.engine.as_mut(), at);
        }
    }

    /// Moves the host's oldest entries to the card until it holds `room`.
    fn refill(&mut self, room: u32) {
        while self.on_card < room
            && let Some(at) = self.host.first()
        {
            self.leave_host(at);
            self.entries.get_mut(at).on_card = true;
            self.entries.push_back(&mut self.card, 0, at);
            self.on_card += 1;
            self.shares.moved += 1;
        }
    }

    /// Moves the card's entries to the host, which holds none.
    fn onload(&mut self) {
        while let Some(at) = self.entries.pop_front(&mut self.card, 0) {
            self.entries.get_mut(at).on_card = false;
            self.enter_host(at);
            self.shares.moved += 1;
        }
        self.on_card = 0;
    }
}

impl<E: Hosted> Queue<E> for Parts<E> {
    fn search(&mut self, wanted: &E::Wanted, stats: &mut QueueStats) -> Option<u32> {
        let (at, on_card) = self.locate(wanted, false, stats)?;
        self.shares.card_matches += u64::from(on_card);
        self.shares.host_matches += u64::from(!on_card);
        Some(at)
    }

    fn peek(&mut self, wanted: &E::Wanted, stats: &mut QueueStats) -> Option<u32> {
        self.locate(wanted, true, stats).map(|(at, _)| at)
    }

    fn push(&mut self, entry: E) -> u32 {
        let on_card = self.to_card;
        let at = self.entries.insert(Placed { entry, on_card });
        if on_card {
            self.entries.push_back(&mut self.card, 0, at);
        } else {
            self.enter_host(at);
        }
        self.on_card += u32::from(on_card);
        self.shares.host_entries += u64::from(!on_card);
        at
    }

    fn remove(&mut self, at: u32) -> (E, bool) {
        let on_card = self.entries.get(at).on_card;
        if on_card {
            self.entries.unlink(&mut self.card, 0, at);
        } else {
            self.leave_host(at);
        }
        self.on_card -= u32::from(on_card);
        let entry = self.entries.remove(at).entry;
        self.refill(self.unit.unwrap_or(0));
        (entry, false)
    }

    #[inline]
    fn find(&self, at: u32) -> Option<&E> {
        self.entries.find(at).map(|placed| &placed.entry)
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &E)> {
        let both = self
            .entries
            .walk(self.card, 0)
            .chain(self.entries.walk(self.host, 0));
        both.map(|(at, placed)| (at, &placed.entry))
    }

    #[inline]
    fn len(&self) -> usize {
        self.entries.len() as usize
    }

    fn release(&mut self) {
        self.entries.release();
        if let Some(searcher) = &mut self.searcher {
            searcher.engine = searcher.behind.engine();
        }
    }

    /// With what the searcher holds.
    fn bytes(&self) -> usize {
        let behind = self.searcher.as_ref().map_or(0, |it| {
            size_of_val(it.engine.as_ref()) + it.engine.stats().memory_bytes as usize
        });
        self.entries.bytes() + behind
    }

    fn bytes_bound(entries: u64) -> u64 {
        Slab::<Placed<E>, 1>::bytes_bound(entries)
    }

    /// A search for a receive may put a message into the engine for a moment.
    fn behind_bound(&self, load: &Load) -> u64 {
        let load = Load {
            unexpected: load.unexpected + 1,
            ..*load
        };
        self.searcher.as_ref().map_or(0, |it| {
            size_of_val(it.engine.as_ref()) as u64 + it.engine.memory_bound(&load)
        })
    }
}

/// Decides whether an entry is on the card.
#[derive(Clone, Debug)]
pub struct Card {
    design: NicDesign,
    room: u32,
    /// Whether new receives go to the host.
    software: bool,
    /// Times that control over new receives went to the host or back.
    changes: u64,
}

type Receives = Parts<PostedReceive>;
type Messages = Parts<UnexpectedMessage>;

/// An engine with a bounded card. A search costs the entries before the one that it finds, but one
/// step for all entries of an associative unit. Insertion and removal take O(1), plus the entries
/// that move between card and host.
pub type NicListEngine = Linear<Receives, Messages, Card>;

impl NicListEngine {
    /// An engine with empty queues, `room` entries on the card, and lists behind it.
    pub fn new(design: NicDesign, room: u32) -> Self {
        Self::with_behind(design, room, Behind::List)
    }

    /// An engine with empty queues, `room` entries on the card, and another engine behind it.
    pub fn with_behind(design: NicDesign, room: u32, behind: Behind) -> Self {
        let unit = (design == NicDesign::Alpu).then_some(room);
        let card = Card {
            design,
            room,
            software: false,
            changes: 0,
        };
        Self::with_queues(Parts::new(unit, behind), Parts::new(unit, behind), card)
    }
}

impl Card {
    fn set_software(&mut self, software: bool) {
        self.changes += u64::from(self.software != software);
        self.software = software;
    }

    /// Whether matching stays on a Portals card, which needs an entry for one more.
    fn has_entry(&mut self, receives: &Receives, messages: &mut Messages) -> bool {
        if !self.software && receives.on_card + messages.on_card >= self.room {
            self.set_software(true);
            messages.onload();
        }
        !self.software
    }
}

impl Policy<Receives, Messages> for Card {
    fn before_post(&mut self, receives: &mut Receives, messages: &mut Messages) {
        receives.to_card = match self.design {
            NicDesign::HwList => {
                self.set_software(!receives.host.is_empty() || receives.on_card >= self.room);
                !self.software
            }
            NicDesign::Portals => self.has_entry(receives, messages),
            // The oldest entries are in the unit: `refill` leaves none behind it if it has room.
            NicDesign::Alpu => receives.on_card < self.room,
        };
    }

    fn before_store(&mut self, receives: &mut Receives, messages: &mut Messages) {
        messages.to_card = match self.design {
            NicDesign::HwList => false,
            NicDesign::Portals => self.has_entry(receives, messages),
            NicDesign::Alpu => messages.on_card < self.room,
        };
    }

    fn grows_by_searches(&self, receives: &Receives, messages: &Messages) -> bool {
        receives.searcher.is_some() || messages.searcher.is_some()
    }

    fn own_counters(&self, receives: &Receives, messages: &Messages) -> Vec<Counter> {
        let both = |of: fn(&Shares) -> u64| of(&receives.shares) + of(&messages.shares);
        let rows = [
            ("card_matches", both(|shares| shares.card_matches)),
            ("host_matches", both(|shares| shares.host_matches)),
            ("card_steps", both(|shares| shares.card_steps)),
            ("host_steps", both(|shares| shares.host_steps)),
            ("host_receives", receives.shares.host_entries),
            ("host_messages", messages.shares.host_entries),
            ("moved_entries", both(|shares| shares.moved)),
            ("control_changes", self.changes),
        ];
        rows.into_iter()
            .map(|(name, value)| Counter::new(name, value))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::CommId;

    use super::*;
    use crate::engine::words::{envelope, exact};
    use crate::engine::{Engine, MsgId, RecvId};

    fn post(engine: &mut NicListEngine, number: u32) -> Option<MsgId> {
        engine.post(RecvId(number.into()), CommId(0), exact(0, number))
    }

    fn arrive(engine: &mut NicListEngine, number: u32) -> Option<RecvId> {
        engine.arrive(MsgId(number.into()), envelope(CommId(0), 0, number))
    }

    fn counts(engine: &NicListEngine) -> Vec<u64> {
        engine
            .own_counters()
            .iter()
            .map(|counter| counter.value)
            .collect()
    }

    /// Five receives and room for three: messages in falling order find two on the host. The sixth
    /// receive goes to the card again, since the host's list is empty.
    #[test]
    fn a_list_of_three_leaves_the_rest_to_the_host_until_that_is_empty() {
        let mut engine = NicListEngine::new(NicDesign::HwList, 3);
        (0..5).for_each(|number| assert_eq!(post(&mut engine, number), None));
        for number in (2..5).rev() {
            assert_eq!(arrive(&mut engine, number), Some(RecvId(number.into())));
        }
        assert_eq!(arrive(&mut engine, 9), None, "the host keeps it");
        assert_eq!(post(&mut engine, 9), Some(MsgId(9)));
        assert_eq!(post(&mut engine, 5), None);
        // Cards compare 3 + 3 + 3 + 2; the host 2 + 1, and its one unexpected message.
        assert_eq!(counts(&engine), [1, 3, 11, 4, 2, 1, 0, 2]);
    }

    /// Two receives and two messages fill four entries. The fifth entry turns to the host, which
    /// takes over the two headers. A receive on the card still matches there.
    #[test]
    fn portals_turns_to_the_host_for_good_when_entries_run_out() {
        let mut engine = NicListEngine::new(NicDesign::Portals, 4);
        (0..2).for_each(|number| assert_eq!(post(&mut engine, number), None));
        (10..12).for_each(|number| assert_eq!(arrive(&mut engine, number), None));
        assert_eq!((engine.policy.software, engine.umq.on_card), (false, 2));
        assert_eq!(post(&mut engine, 3), None);
        assert_eq!((engine.policy.software, engine.umq.on_card), (true, 0));
        assert_eq!(arrive(&mut engine, 1), Some(RecvId(1)));
        assert_eq!(arrive(&mut engine, 3), Some(RecvId(3)));
        assert_eq!(post(&mut engine, 11), Some(MsgId(11)));
        let [card, host, _, _, receives, messages, moved, changes] = counts(&engine)[..] else {
            panic!("eight counters");
        };
        assert_eq!(
            [card, host, receives, messages, moved, changes],
            [1, 2, 1, 0, 2, 1]
        );
        assert_eq!(post(&mut engine, 4), None);
        assert_eq!(
            engine.prq.on_card, 1,
            "room on the card does not bring control back"
        );
    }

    #[test]
    fn an_associative_unit_takes_one_step_and_is_refilled() {
        let mut engine = NicListEngine::new(NicDesign::Alpu, 3);
        (0..5).for_each(|number| assert_eq!(post(&mut engine, number), None));
        assert_eq!(arrive(&mut engine, 2), Some(RecvId(2)));
        assert_eq!(counts(&engine), [1, 0, 1, 0, 2, 0, 1, 0]);
        // The unit holds 0, 1, 3; the list 4.
        assert_eq!(arrive(&mut engine, 4), Some(RecvId(4)));
        assert_eq!(counts(&engine), [1, 1, 2, 1, 2, 0, 1, 0]);
        assert_eq!(
            (engine.stats().prq.attempts, engine.stats().prq.hops),
            (2, 2)
        );
    }

    /// Three probes find the same message, a fourth finds nothing, and a matched probe takes
    /// another message. Only what takes a message is a match.
    #[test]
    fn a_probe_is_no_match() {
        for (design, on_card) in [
            (NicDesign::HwList, 0),
            (NicDesign::Portals, 2),
            (NicDesign::Alpu, 2),
        ] {
            let mut engine = NicListEngine::new(design, 16);
            assert_eq!(
                (arrive(&mut engine, 4), arrive(&mut engine, 6)),
                (None, None)
            );
            for _ in 0..3 {
                assert_eq!(engine.probe(CommId(0), exact(0, 6)), Some(MsgId(6)));
            }
            assert_eq!(engine.probe(CommId(0), exact(0, 5)), None);
            let matches = |engine: &NicListEngine| counts(engine)[..2].to_vec();
            assert_eq!(matches(&engine), [0, 0], "{design:?}");
            assert_eq!(post(&mut engine, 6), Some(MsgId(6)));
            assert_eq!(engine.mprobe(CommId(0), exact(0, 4)), Some(MsgId(4)));
            assert_eq!(matches(&engine), [on_card, 2 - on_card], "{design:?}");
        }
    }

    /// Room for two, and the rest behind each card in bins: the same matches and the same share of
    /// the card, but two steps on the host for the two receives there instead of five.
    #[test]
    fn another_engine_searches_behind_a_full_card() {
        let run = |design, behind| {
            let mut engine = NicListEngine::with_behind(design, 2, behind);
            (0..6).for_each(|number| assert_eq!(post(&mut engine, number), None));
            assert!(engine.cancel(RecvId(4)), "a receive on the host");
            for number in [5, 3] {
                assert_eq!(arrive(&mut engine, number), Some(RecvId(number.into())));
            }
            assert_eq!(arrive(&mut engine, 9), None);
            assert_eq!(engine.probe(CommId(0), exact(0, 9)), Some(MsgId(9)));
            assert_eq!(post(&mut engine, 9), Some(MsgId(9)));
            assert_eq!(engine.posted(), [0, 1, 2].map(RecvId));
            counts(&engine)
        };
        // card_matches, host_matches, card_steps, host_steps, host_receives, ..
        for (design, list, bins) in [
            (
                NicDesign::HwList,
                [0, 3, 6, 8, 4, 1, 0, 1],
                [0, 3, 6, 4, 4, 1, 0, 1],
            ),
            (
                NicDesign::Portals,
                [0, 3, 6, 8, 4, 1, 0, 1],
                [0, 3, 6, 4, 4, 1, 0, 1],
            ),
            (
                NicDesign::Alpu,
                [1, 2, 5, 6, 4, 0, 0, 0],
                [1, 2, 5, 2, 4, 0, 0, 0],
            ),
        ] {
            assert_eq!(run(design, Behind::List), list, "{design:?}");
            assert_eq!(run(design, Behind::Bins), bins, "{design:?}");
        }
    }
}
