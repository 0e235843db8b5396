//! What network cards match in hardware: a bounded list on the card, and the host's lists behind
//! it.
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

use super::chain::{Chain, Slab};
use super::entry::{Entry, PostedReceive, UnexpectedMessage};
use super::linear::{Linear, Policy, Queue};
use super::{Counter, QueueStats};

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

/// A queue in two parts.
#[derive(Clone, Debug)]
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

impl<E: Entry> Parts<E> {
    fn new(unit: Option<u32>) -> Self {
        Self {
            entries: Slab::new(),
            card: Chain::EMPTY,
            host: Chain::EMPTY,
            on_card: 0,
            to_card: false,
            unit,
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

    /// The oldest entry that fits and whether it is on the card. Counts the search.
    ///
    /// An associative unit compares all its entries in one step.
    fn locate(&mut self, wanted: &E::Wanted, stats: &mut QueueStats) -> Option<(u32, bool)> {
        let (on_card, mut compares) = self.walk(self.card, wanted);
        let mut card_steps = compares;
        if self.unit.is_some() && !self.card.is_empty() {
            (compares, card_steps) = (u64::from(on_card.is_some()), 1);
            stats.hops += 1;
        }
        let (on_host, host_steps) = match on_card {
            Some(_) => (None, 0),
            None => self.walk(self.host, wanted),
        };
        let found = on_card.or(on_host);
        stats.searched(compares + host_steps, found.is_some());
        self.shares.card_steps += card_steps;
        self.shares.host_steps += host_steps;
        found.map(|at| (at, on_card.is_some()))
    }

    /// Moves the host's oldest entries to the card until it holds `room`.
    fn refill(&mut self, room: u32) {
        while self.on_card < room
            && let Some(at) = self.entries.pop_front(&mut self.host, 0)
        {
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
            self.entries.push_back(&mut self.host, 0, at);
            self.shares.moved += 1;
        }
        self.on_card = 0;
    }
}

impl<E: Entry> Queue<E> for Parts<E> {
    fn search(&mut self, wanted: &E::Wanted, stats: &mut QueueStats) -> Option<u32> {
        let (at, on_card) = self.locate(wanted, stats)?;
        self.shares.card_matches += u64::from(on_card);
        self.shares.host_matches += u64::from(!on_card);
        Some(at)
    }

    fn look(&mut self, wanted: &E::Wanted, stats: &mut QueueStats) -> Option<u32> {
        self.locate(wanted, stats).map(|(at, _)| at)
    }

    fn push(&mut self, entry: E) -> u32 {
        let on_card = self.to_card;
        let at = self.entries.insert(Placed { entry, on_card });
        let chain = if on_card {
            &mut self.card
        } else {
            &mut self.host
        };
        self.entries.push_back(chain, 0, at);
        self.on_card += u32::from(on_card);
        self.shares.host_entries += u64::from(!on_card);
        at
    }

    fn remove(&mut self, at: u32) -> (E, bool) {
        let on_card = self.entries.get(at).on_card;
        let chain = if on_card {
            &mut self.card
        } else {
            &mut self.host
        };
        self.entries.unlink(chain, 0, at);
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
    }

    fn bytes(&self) -> usize {
        self.entries.bytes()
    }

    fn bytes_bound(entries: u64) -> u64 {
        Slab::<Placed<E>, 1>::bytes_bound(entries)
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
    /// An engine with empty queues and `room` entries on the card.
    pub fn new(design: NicDesign, room: u32) -> Self {
        let unit = (design == NicDesign::Alpu).then_some(room);
        let card = Card {
            design,
            room,
            software: false,
            changes: 0,
        };
        Self::with_queues(Parts::new(unit), Parts::new(unit), card)
    }
}

impl Card {
    fn turn_to(&mut self, software: bool) {
        self.changes += u64::from(self.software != software);
        self.software = software;
    }

    /// Whether matching stays on a Portals card, which needs an entry for one more.
    fn has_entry(&mut self, receives: &Receives, messages: &mut Messages) -> bool {
        if !self.software && receives.on_card + messages.on_card >= self.room {
            self.turn_to(true);
            messages.onload();
        }
        !self.software
    }
}

impl Policy<Receives, Messages> for Card {
    fn before_post(&mut self, receives: &mut Receives, messages: &mut Messages) {
        receives.to_card = match self.design {
            NicDesign::HwList => {
                self.turn_to(!receives.host.is_empty() || receives.on_card >= self.room);
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
}
