//! What network cards match in hardware: a bounded list on the card, and the host's lists behind
//! it.
//!
//! Three designs share this engine. In each, the entries on the card are older than all entries on
//! the host, so that searching the card first gives the oracle's result.
//!
//! - **ConnectX** (`hw-list`): up to L receives stand on the card, in posting order, wildcards
//!   included. A receive goes to the host if the list is full or an older one waits there.
//!   Unexpected messages are always the host's.
//! - **Portals** (`portals`: Cassini, BXI): posted receives (priority list) and headers of
//!   unexpected messages share L entries of the card. If one cannot be had, matching turns to the
//!   host for good, as the hybrid mode of libfabric's CXI provider does: the host takes over the
//!   unexpected headers, receives on the card still match there, and later ones stand on the host.
//! - **ALPU** (`alpu`): a unit compares L entries of each queue at once and answers with the oldest
//!   that fits. The processor beside it searches the rest, and refills the unit.

use dpamatch_vocabulary::{CommId, Envelope, Selector};

use super::chain::{Chain, Slab};
use super::comms::Comms;
use super::entry::{PostedReceive, UnexpectedMessage};
use super::places::{Places, Receives};
use super::{Counter, Engine, Load, MsgId, RecvId, Stats};

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

/// An entry, and whether it stands on the card.
#[derive(Clone, Copy, Debug)]
struct Placed<T> {
    entry: T,
    on_card: bool,
}

/// A queue in two parts.
#[derive(Clone, Debug)]
struct Queue<T: Copy> {
    entries: Slab<Placed<T>, 1>,
    /// All of these are older than the host's.
    card: Chain,
    host: Chain,
    /// Length of `card`.
    on_card: u32,
}

/// A search's result.
struct Found {
    at: Option<u32>,
    compares: u64,
    card_steps: u64,
    host_steps: u64,
}

impl<T: Copy> Queue<T> {
    const fn new() -> Self {
        Self { entries: Slab::new(), card: Chain::EMPTY, host: Chain::EMPTY, on_card: 0 }
    }

    /// The oldest entry that fits. An associative card compares all its entries in one step.
    fn search(&self, associative: bool, fits: impl Fn(&T) -> bool) -> Found {
        let walk = |chain| {
            let mut steps = 0;
            let found = self.entries.walk(chain, 0).find(|(_, placed)| {
                steps += 1;
                fits(&placed.entry)
            });
            (found.map(|(at, _)| at), steps)
        };
        let (at, compares) = walk(self.card);
        let (compares, card_steps) = match associative && !self.card.is_empty() {
            true => (u64::from(at.is_some()), 1),
            false => (compares, compares),
        };
        if at.is_some() {
            return Found { at, compares, card_steps, host_steps: 0 };
        }
        let (at, host_steps) = walk(self.host);
        Found { at, compares: compares + host_steps, card_steps, host_steps }
    }

    fn push(&mut self, entry: T, on_card: bool) -> u32 {
        let at = self.entries.insert(Placed { entry, on_card });
        let chain = if on_card { &mut self.card } else { &mut self.host };
        self.entries.push_back(chain, 0, at);
        self.on_card += u32::from(on_card);
        at
    }

    fn remove(&mut self, at: u32) -> Placed<T> {
        let on_card = self.entries.get(at).on_card;
        let chain = if on_card { &mut self.card } else { &mut self.host };
        self.entries.unlink(chain, 0, at);
        self.on_card -= u32::from(on_card);
        self.entries.remove(at)
    }

    /// Moves the host's oldest entries to the card until it holds `room`; returns their number.
    fn refill(&mut self, room: u32) -> u64 {
        let mut moved = 0;
        while self.on_card < room
            && let Some(at) = self.entries.pop_front(&mut self.host, 0)
        {
            self.entries.get_mut(at).on_card = true;
            self.entries.push_back(&mut self.card, 0, at);
            self.on_card += 1;
            moved += 1;
        }
        moved
    }

    /// Moves the card's entries to the host, which holds none; returns their number.
    fn onload(&mut self) -> u64 {
        let mut moved = 0;
        while let Some(at) = self.entries.pop_front(&mut self.card, 0) {
            self.entries.get_mut(at).on_card = false;
            self.entries.push_back(&mut self.host, 0, at);
            moved += 1;
        }
        self.on_card = 0;
        moved
    }

    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// From the oldest on.
    fn iter(&self) -> impl Iterator<Item = &T> {
        let both = self.entries.walk(self.card, 0).chain(self.entries.walk(self.host, 0));
        both.map(|(_, placed)| &placed.entry)
    }
}

impl Receives for Slab<Placed<PostedReceive>, 1> {
    #[inline]
    fn recv_at(&self, at: u32) -> Option<RecvId> {
        self.find(at).map(|placed| placed.entry.recv)
    }

    fn all(&self) -> impl Iterator<Item = (u32, RecvId)> {
        self.live().map(|(at, placed)| (at, placed.entry.recv))
    }

    #[inline]
    fn count(&self) -> usize {
        self.len() as usize
    }
}

/// Who did the work.
#[derive(Clone, Copy, Debug, Default)]
struct Shares {
    card_steps: u64,
    host_steps: u64,
    card_matches: u64,
    host_matches: u64,
    /// Receives and messages for which the card had no room.
    host_receives: u64,
    host_messages: u64,
    /// Entries moved between card and host.
    moved: u64,
    /// Times that control over new receives went to the host or back.
    changes: u64,
}

/// An engine with a bounded card. A search costs the entries before the one that it finds, but one
/// step for all entries of an associative unit. Insertion and removal take O(1), plus the entries
/// that move between card and host.
#[derive(Clone, Debug)]
pub struct NicListEngine {
    design: NicDesign,
    room: u32,
    posted: Queue<PostedReceive>,
    unexpected: Queue<UnexpectedMessage>,
    /// Whether new receives stand on the host.
    software: bool,
    places: Places,
    entries: Comms<()>,
    shares: Shares,
    stats: Stats,
}

impl NicListEngine {
    /// An engine with empty queues and `room` entries on the card.
    pub fn new(design: NicDesign, room: u32) -> Self {
        Self {
            design,
            room,
            posted: Queue::new(),
            unexpected: Queue::new(),
            software: false,
            places: Places::new(),
            entries: Comms::new(),
            shares: Shares::default(),
            stats: Stats::default(),
        }
    }

    fn note(&mut self, found: &Found, on_card: bool) {
        let shares = &mut self.shares;
        shares.card_steps += found.card_steps;
        shares.host_steps += found.host_steps;
        shares.card_matches += u64::from(found.at.is_some() && on_card);
        shares.host_matches += u64::from(found.at.is_some() && !on_card);
    }

    fn oldest(&mut self, comm: CommId, selector: Selector) -> Option<u32> {
        let associative = self.design == NicDesign::Alpu;
        let found = self.unexpected.search(associative, |message| message.fits(comm, selector));
        self.stats.umq.searched(found.compares, found.at.is_some());
        self.stats.umq.hops += u64::from(associative) * found.card_steps;
        let on_card = found.at.is_some_and(|at| self.unexpected.entries.get(at).on_card);
        self.note(&found, on_card);
        found.at
    }

    fn earliest(&mut self, envelope: &Envelope) -> Option<u32> {
        let associative = self.design == NicDesign::Alpu;
        let found = self.posted.search(associative, |receive| receive.accepts(envelope));
        self.stats.prq.searched(found.compares, found.at.is_some());
        self.stats.prq.hops += u64::from(associative) * found.card_steps;
        let on_card = found.at.is_some_and(|at| self.posted.entries.get(at).on_card);
        self.note(&found, on_card);
        found.at
    }

    fn turn_to(&mut self, software: bool) {
        self.shares.changes += u64::from(self.software != software);
        self.software = software;
    }

    /// Whether the card has an entry for one more receive, or (Portals, ALPU) unexpected message.
    fn takes(&mut self, receive: bool) -> bool {
        match self.design {
            NicDesign::HwList => {
                if receive {
                    self.turn_to(!self.posted.host.is_empty() || self.posted.on_card >= self.room);
                }
                receive && !self.software
            }
            NicDesign::Portals => {
                let used = self.posted.on_card + self.unexpected.on_card;
                if !self.software && used >= self.room {
                    self.turn_to(true);
                    self.shares.moved += self.unexpected.onload();
                }
                !self.software
            }
            // The oldest entries stand in the unit: `refill` leaves none behind it if it has room.
            NicDesign::Alpu if receive => self.posted.on_card < self.room,
            NicDesign::Alpu => self.unexpected.on_card < self.room,
        }
    }

    fn insert_posted(&mut self, receive: PostedReceive) {
        let on_card = self.takes(true);
        self.shares.host_receives += u64::from(!on_card);
        self.stats.prq.inserted(!self.posted.is_empty());
        let at = self.posted.push(receive, on_card);
        self.places.set(&self.posted.entries, receive.recv, at);
        self.entries.enter(receive.comm, || ());
        self.note_memory();
    }

    fn remove_posted(&mut self, at: u32) -> RecvId {
        let receive = self.posted.remove(at).entry;
        if self.design == NicDesign::Alpu {
            self.shares.moved += self.posted.refill(self.room);
        }
        self.entries.leave(receive.comm);
        self.stats.prq.removed();
        receive.recv
    }

    fn insert_unexpected(&mut self, message: UnexpectedMessage) {
        let on_card = self.takes(false);
        self.shares.host_messages += u64::from(!on_card);
        self.stats.umq.inserted(!self.unexpected.is_empty());
        self.unexpected.push(message, on_card);
        self.entries.enter(message.envelope.comm, || ());
        self.note_memory();
    }

    fn remove_unexpected(&mut self, at: u32) -> MsgId {
        let message = self.unexpected.remove(at).entry;
        if self.design == NicDesign::Alpu {
            self.shares.moved += self.unexpected.refill(self.room);
        }
        self.entries.leave(message.envelope.comm);
        self.stats.umq.removed();
        message.msg
    }

    fn note_memory(&mut self) {
        let nodes = self.posted.entries.bytes() + self.unexpected.entries.bytes();
        self.stats.set_memory_bytes(nodes + self.places.bytes() + self.entries.bytes());
    }
}

impl Engine for NicListEngine {
    fn post(&mut self, recv: RecvId, comm: CommId, selector: Selector) -> Option<MsgId> {
        let message = self.mprobe(comm, selector);
        if message.is_none() {
            self.insert_posted(PostedReceive { recv, comm, selector });
        }
        message
    }

    fn arrive(&mut self, msg: MsgId, envelope: Envelope) -> Option<RecvId> {
        if let Some(at) = self.earliest(&envelope) {
            return Some(self.remove_posted(at));
        }
        self.insert_unexpected(UnexpectedMessage { msg, envelope });
        None
    }

    fn cancel(&mut self, recv: RecvId) -> bool {
        let place = self.places.find(&self.posted.entries, recv);
        if let Some(at) = place {
            self.remove_posted(at);
        }
        self.stats.cancel_ended(place.is_some());
        place.is_some()
    }

    fn probe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.oldest(comm, selector).map(|at| self.unexpected.entries.get(at).entry.msg)
    }

    fn mprobe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.oldest(comm, selector).map(|at| self.remove_unexpected(at))
    }

    fn free_comm(&mut self, comm: CommId) -> bool {
        if !self.is_empty(comm) {
            return false;
        }
        self.entries.remove(comm);
        if self.posted.is_empty() && self.unexpected.is_empty() {
            self.posted.entries.release();
            self.unexpected.entries.release();
            self.places.release();
            self.entries.release();
        }
        self.note_memory();
        true
    }

    fn posted(&self) -> Vec<RecvId> {
        self.posted.iter().map(|receive| receive.recv).collect()
    }

    fn unexpected(&self) -> Vec<MsgId> {
        self.unexpected.iter().map(|message| message.msg).collect()
    }

    fn is_empty(&self, comm: CommId) -> bool {
        self.entries.entries(comm) == 0
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn own_counters(&self) -> Vec<Counter> {
        let shares = &self.shares;
        let rows = [
            ("card_matches", shares.card_matches),
            ("host_matches", shares.host_matches),
            ("card_steps", shares.card_steps),
            ("host_steps", shares.host_steps),
            ("host_receives", shares.host_receives),
            ("host_messages", shares.host_messages),
            ("moved_entries", shares.moved),
            ("control_changes", shares.changes),
        ];
        rows.into_iter().map(|(name, value)| Counter::new(name, value)).collect()
    }

    fn memory_bound(&self, load: &Load) -> u64 {
        Slab::<Placed<PostedReceive>, 1>::bytes_bound(load.posted)
            + Slab::<Placed<UnexpectedMessage>, 1>::bytes_bound(load.unexpected)
            + Places::bytes_bound(load.posted)
            + Comms::<()>::bytes_bound(load.comms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::words::{envelope, exact};

    fn post(engine: &mut NicListEngine, number: u32) -> Option<MsgId> {
        engine.post(RecvId(number.into()), CommId(0), exact(0, number))
    }

    fn arrive(engine: &mut NicListEngine, number: u32) -> Option<RecvId> {
        engine.arrive(MsgId(number.into()), envelope(CommId(0), 0, number))
    }

    fn counts(engine: &NicListEngine) -> Vec<u64> {
        engine.own_counters().iter().map(|counter| counter.value).collect()
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
        assert_eq!((engine.software, engine.unexpected.on_card), (false, 2));
        assert_eq!(post(&mut engine, 3), None);
        assert_eq!((engine.software, engine.unexpected.on_card), (true, 0));
        assert_eq!(arrive(&mut engine, 1), Some(RecvId(1)));
        assert_eq!(arrive(&mut engine, 3), Some(RecvId(3)));
        assert_eq!(post(&mut engine, 11), Some(MsgId(11)));
        let [card, host, _, _, receives, messages, moved, changes] = counts(&engine)[..] else {
            panic!("eight counters");
        };
        assert_eq!([card, host, receives, messages, moved, changes], [1, 2, 1, 0, 2, 1]);
        assert_eq!(post(&mut engine, 4), None);
        assert_eq!(engine.posted.on_card, 1, "room on the card does not bring control back");
    }

    /// The unit answers in one step, whatever stands in it, and is refilled from the list.
    #[test]
    fn an_associative_unit_takes_one_step_and_is_refilled() {
        let mut engine = NicListEngine::new(NicDesign::Alpu, 3);
        (0..5).for_each(|number| assert_eq!(post(&mut engine, number), None));
        assert_eq!(arrive(&mut engine, 2), Some(RecvId(2)));
        assert_eq!(counts(&engine), [1, 0, 1, 0, 2, 0, 1, 0]);
        // The unit holds 0, 1, 3; the list 4.
        assert_eq!(arrive(&mut engine, 4), Some(RecvId(4)));
        assert_eq!(counts(&engine), [1, 1, 2, 1, 2, 0, 1, 0]);
        assert_eq!((engine.stats.prq.attempts, engine.stats.prq.hops), (2, 2));
    }
}
