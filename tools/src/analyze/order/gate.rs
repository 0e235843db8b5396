//! Keeps the order of arrivals in which each probe finds its message.
//!
//! A *claim* is a probe with the message that it found, or a receive with the message that it got.
//! The message of a claim arrives before every other message that the claim's pattern accepts and
//! that was received later: otherwise the probe would have found, or the receive would have got,
//! that other message. For the same reason a message that a cancelled receive accepts, and that was
//! received later, arrives after the cancel. The recorded run kept all claims, so they never
//! contradict each other unless the trace does.
//!
//! A rank without a probe has no gate: there a receive of any source may get another message than
//! recorded, unless the order is guided.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use foldhash::fast::RandomState as Fast;

use crate::analyze::inbound::{Inbound, Messages};
use crate::analyze::program::{ANY, End, TransferKind, UNKNOWN};
use crate::analyze::replay::RankView;

#[derive(Clone, Copy, Debug)]
struct Claim {
    /// The probe or receive, as a transfer.
    at: u32,
    message: u32,
}

/// Communicator, source and tag, with wildcards.
type Pattern = (u32, i32, i32);

/// The claims of each pattern, in the order of the program.
type Lines = HashMap<Pattern, Vec<Claim>, Fast>;

/// The cancelled receives that have not been cancelled yet.
#[derive(Debug, Default)]
struct Cancels {
    /// Each receive with its pattern, ascending. Its place is the number of its mark.
    all: Vec<(u32, Pattern)>,
    /// The open ones of each pattern, with their marks.
    open: HashMap<Pattern, BTreeMap<u32, u32>, Fast>,
}

/// Lets messages arrive at one rank, or holds them until others have arrived.
#[derive(Debug)]
pub(super) struct Gate<'a> {
    inbound: &'a Messages,
    lines: Lines,
    cancels: Cancels,
    /// By message, then by mark of a cancel.
    arrived: Vec<bool>,
    held: Vec<bool>,
    /// The messages that wait for a message, in the order of their coming.
    waiting_for: HashMap<u32, Vec<u32>, Fast>,
    /// Held messages in the order of their coming, and others that have left.
    waiting: VecDeque<u32>,
}

impl<'a> Gate<'a> {
    /// The gate of a rank; `None` if no probe there found a known message. With `cancels`, messages
    /// wait for the cancels that must happen first.
    ///
    /// # Complexity
    /// Sorts the rank's receives and probes.
    pub(super) fn new(view: RankView<'a>, cancels: bool) -> Option<Self> {
        if view.probes.is_empty() {
            return None;
        }
        let transfers = &view.program.transfers;
        let messages = view.inbound.len() as u32;
        let is_cancelled = |&at: &u32| {
            let transfer = transfers.at(at);
            transfer.kind == TransferKind::Recv && transfer.end == End::Cancelled
        };
        let pattern = |at: u32| {
            let transfer = transfers.at(at);
            (view.comm(at), transfer.peer, transfer.tag)
        };
        let mut claims = by_receive(view.inbound);
        claims.extend(view.probes.iter());
        claims.sort_unstable();
        let mut lines = Lines::default();
        for (at, message) in claims {
            let line = lines.entry(pattern(at)).or_default();
            line.push(Claim { at, message });
        }
        let mut open = Cancels::default();
        for receive in (0..transfers.len() as u32).filter(is_cancelled) {
            if cancels {
                let mark = messages + open.all.len() as u32;
                let pattern = pattern(receive);
                open.all.push((receive, pattern));
                open.open.entry(pattern).or_default().insert(receive, mark);
            }
        }
        let marks = messages as usize + open.all.len();
        Some(Self {
            inbound: view.inbound,
            lines,
            cancels: open,
            arrived: vec![false; marks],
            held: vec![false; marks],
            waiting_for: HashMap::default(),
            waiting: VecDeque::new(),
        })
    }

    pub(super) fn has_arrived(&self, message: u32) -> bool {
        self.arrived[message as usize]
    }

    /// Offers a message that comes. Returns the messages that arrive now: none if it must wait,
    /// otherwise it and those that waited for it.
    pub(super) fn offer(&mut self, message: u32) -> Vec<u32> {
        let mut arriving = Vec::new();
        let is_new = !self.arrived[message as usize] && !self.held[message as usize];
        if is_new && !self.holds(message) {
            self.arrive(message, &mut arriving);
        }
        arriving
    }

    /// The receive is cancelled: returns the messages that arrive now.
    pub(super) fn cancel(&mut self, receive: u32) -> Vec<u32> {
        let all = &self.cancels.all;
        let Ok(place) = all.binary_search_by_key(&receive, |&(receive, _)| receive) else {
            return Vec::new();
        };
        if let Some(open) = self.cancels.open.get_mut(&all[place].1) {
            open.remove(&receive);
        }
        let mark = (self.inbound.len() + place) as u32;
        let mut arriving = Vec::new();
        self.arrive(mark, &mut arriving);
        arriving.retain(|&arrived| arrived != mark);
        arriving
    }

    /// The messages that arrive if `message` must be there now: those that come before it, each
    /// after those before it, then itself. With `by_sender` a sender's messages keep their order.
    ///
    /// The claims of a damaged trace may contradict each other; then one of them is not kept.
    pub(super) fn demand(&mut self, message: u32, by_sender: bool) -> Vec<u32> {
        let mut arriving = Vec::new();
        let mut stack = vec![message];
        let mut on_stack: HashSet<u32, Fast> = HashSet::from_iter([message]);
        while let Some(&top) = stack.last() {
            let messages = self.inbound.len() as u32;
            let skip = |next: u32| next >= messages || on_stack.contains(&next);
            let mut next = self.before(top, skip);
            if by_sender && next.is_none() {
                next = self
                    .sent_before(top)
                    .filter(|sent| !self.arrived[*sent as usize] && !on_stack.contains(sent));
            }
            if let Some(next) = next {
                on_stack.insert(next);
                stack.push(next);
                continue;
            }
            stack.pop();
            if !self.arrived[top as usize] {
                self.arrive(top, &mut arriving);
            }
        }
        arriving
    }

    /// The message that has been held longest, if any is held.
    pub(super) fn next_held(&mut self) -> Option<u32> {
        while let Some(&first) = self.waiting.front() {
            if self.held[first as usize] {
                return Some(first);
            }
            self.waiting.pop_front();
        }
        None
    }

    /// Lets a held message arrive, although others should come before it.
    pub(super) fn give_up(&mut self, message: u32) -> Vec<u32> {
        let mut arriving = Vec::new();
        self.arrive(message, &mut arriving);
        arriving
    }

    /// The messages that are still to come and must arrive before this one.
    pub(super) fn all_before(&self, message: u32) -> Vec<u32> {
        let receive = self.inbound.at(message).receive;
        let messages = self.inbound.len() as u32;
        let patterns = self.patterns(message);
        let lines = patterns.iter().filter_map(|it| self.lines.get(it));
        lines
            .flat_map(|line| line.iter().take_while(|claim| claim.at < receive))
            .map(|claim| claim.message)
            .filter(|&it| it < messages && it != message && !self.arrived[it as usize])
            .collect()
    }

    /// Whether the message must wait. Then it is held.
    fn holds(&mut self, message: u32) -> bool {
        let sent_before = self.sent_before(message);
        let in_order = sent_before.filter(|&before| self.held[before as usize]);
        let Some(first) = in_order.or_else(|| self.before(message, |_| false)) else {
            return false;
        };
        self.waiting_for.entry(first).or_default().push(message);
        if !std::mem::replace(&mut self.held[message as usize], true) {
            self.waiting.push_back(message);
        }
        true
    }

    fn arrive(&mut self, message: u32, arriving: &mut Vec<u32>) {
        let mut due = VecDeque::from([message]);
        while let Some(message) = due.pop_front() {
            self.arrived[message as usize] = true;
            self.held[message as usize] = false;
            arriving.push(message);
            for waiting in self.waiting_for.remove(&message).unwrap_or_default() {
                if self.held[waiting as usize] && !self.holds(waiting) {
                    due.push_back(waiting);
                }
            }
        }
    }

    /// The sender's previous message to this rank.
    fn sent_before(&self, message: u32) -> Option<u32> {
        let before = message.checked_sub(1)?;
        let [first, second] = [before, message].map(|it| self.inbound.at(it));
        let is_known = first.op != UNKNOWN && second.op != UNKNOWN;
        (is_known && first.sender == second.sender).then_some(before)
    }

    fn patterns(&self, message: u32) -> [Pattern; 4] {
        let Inbound {
            comm, source, tag, ..
        } = self.inbound.at(message);
        let (source, tag) = (source as i32, tag as i32);
        [(source, tag), (ANY, tag), (source, ANY), (ANY, ANY)]
            .map(|(source, tag)| (comm, source, tag))
    }

    /// A message or mark that is still to come and must arrive before `message`, and that is not
    /// among those to skip.
    fn before(&self, message: u32, skip: impl Fn(u32) -> bool) -> Option<u32> {
        let receive = self.inbound.at(message).receive;
        let last = |pattern: &Pattern| {
            let line = self.lines.get(pattern)?;
            let end = line.partition_point(|claim| claim.at < receive);
            // The last claim suffices, since its message arrives after those of the others.
            let mut others = line[..end].iter().rev().map(|claim| claim.message);
            let last = others.find(|&other| other != message)?;
            (!self.arrived[last as usize]).then_some(last)
        };
        let cancel = |pattern: &Pattern| {
            let (_, &mark) = self.cancels.open.get(pattern)?.range(..receive).next()?;
            Some(mark)
        };
        let patterns = self.patterns(message);
        let lasts = patterns.iter().filter_map(last);
        let mut open = lasts.chain(patterns.iter().filter_map(cancel));
        open.find(|&open| !skip(open))
    }
}

/// Receives and the messages that they got, in posting order.
pub(super) fn by_receive(inbound: &Messages) -> Vec<(u32, u32)> {
    let mut all: Vec<(u32, u32)> = (0..)
        .zip(inbound.iter())
        .filter(|(_, message)| message.receive != UNKNOWN)
        .map(|(number, message)| (message.receive, number))
        .collect();
    all.sort_unstable();
    all
}
