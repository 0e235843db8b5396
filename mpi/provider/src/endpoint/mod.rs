//! An endpoint: sends, receives, and the progress that brings them together.
//!
//! The program makes progress when it reads a completion queue or a counter, or peeks. One round
//! - reads what the links have, up to a bound, and gives each message's envelope to the matcher;
//! - settles the matcher and moves the data of its matches: from the link's memory straight to the
//!   program's buffer if the receive was posted first;
//! - copies unexpected messages out of the link's memory, and frees that memory for the senders.
//!
//! So one round matches many messages at a time, which suits the NIC's blocks.

mod callers;
mod completion;
mod connections;
mod deliver;
mod descriptors;
mod doubles;
mod flood;
pub(crate) mod library;
mod log;
mod progress;
mod receive;
mod region;
mod send;
mod short;
mod sockets;
mod stats;
mod table;
mod tables;
mod usage;
mod waiting;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use slab::Slab;

pub(crate) use completion::{Completion, CompletionSource, Counter, Queue, Sink};
#[cfg(test)]
pub(crate) use progress::CROWD;
pub(crate) use progress::Found;
pub(crate) use receive::Receive;
pub(crate) use region::{Region, Remote};
pub(crate) use send::SendRequest;

use crate::bindings::{FI_ADDR_UNSPEC, FI_COMPLETION};
use crate::core_library::CoreLibrary;
use crate::matcher::{AllBits, Matching, NicMatcher, Rule, SoftwareMatcher, Verdict};
use crate::options::ProviderOptions;
use crate::wire::{Address, Listener, PeerId, Peers, SharedInner};
use callers::Callers;
use connections::Connections;
#[cfg(test)]
pub(crate) use connections::{FEW, OUTSTANDING_MAX};
use descriptors::Reserve;
use doubles::Double;
use flood::Flood;
use library::SoftwareCommunicators;
#[cfg(test)]
pub(crate) use log::file_name;
use log::{Legend, Log};
use stats::Requests;
use table::Table;
use tables::{Arrived, Grant, Post, Push, Sending, Transfer};
use usage::Usage;

/// Longest time that a closing endpoint waits for its peers to take its records.
const LINGER: Duration = Duration::from_secs(2);

/// An address vector: each entry names a peer.
#[derive(Debug, Default)]
pub(crate) struct Vector {
    pub(crate) rows: Vec<Option<PeerId>>,
    /// Gets an event for each insertion.
    pub(crate) events: Option<Arc<crate::objects::Events>>,
    /// The first entry of each peer, by its number.
    of_peer: Vec<u64>,
    /// Removed entries, which later insertions get.
    free: Vec<u64>,
}

impl Vector {
    pub(crate) fn insert(&mut self, peer: PeerId) -> u64 {
        let row = self.free.pop().unwrap_or(self.rows.len() as u64);
        match self.rows.get_mut(row as usize) {
            Some(place) => *place = Some(peer),
            None => self.rows.push(Some(peer)),
        }
        if peer.index() >= self.of_peer.len() {
            self.of_peer.resize(peer.index() + 1, FI_ADDR_UNSPEC);
        }
        if self.of_peer[peer.index()] == FI_ADDR_UNSPEC {
            self.of_peer[peer.index()] = row;
        }
        row
    }

    pub(crate) fn remove(&mut self, row: u64) -> bool {
        let slot = usize::try_from(row)
            .ok()
            .and_then(|row| self.rows.get_mut(row));
        let Some(peer) = slot.and_then(Option::take) else {
            return false;
        };
        let next = self.rows.iter().position(|&other| other == Some(peer));
        self.of_peer[peer.index()] = next.map_or(FI_ADDR_UNSPEC, |row| row as u64);
        self.free.push(row);
        true
    }

    #[inline(always)]
    pub(crate) fn peer(&self, row: u64) -> Option<PeerId> {
        self.rows.get(usize::try_from(row).ok()?).copied().flatten()
    }

    pub(crate) fn row(&self, peer: PeerId) -> u64 {
        self.of_peer
            .get(peer.index())
            .copied()
            .unwrap_or(FI_ADDR_UNSPEC)
    }
}

/// What the endpoints of a domain share.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) options: ProviderOptions,
    pub(crate) queues: Slab<Queue>,
    pub(crate) counters: Slab<Counter>,
    pub(crate) vectors: Slab<Vector>,
    pub(crate) regions: HashMap<u64, Arc<Region>>,
    pub(crate) next_key: u64,
    /// How the program names registered memory: `FI_MR_...`.
    pub(crate) mr_mode: i32,
    pub(crate) peers: Peers,
    /// Where inner endpoints come from.
    pub(crate) core: Option<CoreLibrary>,
}

/// All of a domain.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) common: Common,
    pub(crate) endpoints: Slab<Endpoint>,
}

impl State {
    pub(crate) fn new(options: ProviderOptions) -> Self {
        let common = Common {
            options,
            queues: Slab::new(),
            counters: Slab::new(),
            vectors: Slab::new(),
            regions: HashMap::new(),
            next_key: 1,
            mr_mode: 0,
            peers: Peers::default(),
            core: crate::provider().core,
        };
        Self {
            common,
            endpoints: Slab::new(),
        }
    }

    pub(crate) fn progress(&mut self, endpoints: &[usize]) {
        for &index in endpoints {
            if let Some(endpoint) = self.endpoints.get_mut(index) {
                endpoint.progress(&mut self.common);
            }
        }
        self.forget_peers_if_crowded();
    }

    /// Ends a registration. When this returns, no peer takes what it reads in that memory.
    pub(crate) fn close_region(&mut self, key: u64) {
        let Some(region) = self.common.regions.remove(&key) else {
            return;
        };
        for (_, endpoint) in &mut self.endpoints {
            endpoint.revoke(&region);
        }
    }

    #[inline(always)]
    pub(crate) fn forget_peers_if_crowded(&mut self) {
        if self.common.peers.is_crowded() {
            self.forget_peers();
        }
    }

    /// Forgets the peers without a connection that no address vector, receive, message or
    /// completion refers to. A log names peers by number, so no peer of a logged domain is
    /// forgotten.
    #[cold]
    fn forget_peers(&mut self) {
        let Self { common, endpoints } = self;
        let mut kept = vec![common.options.log.is_some(); common.peers.count()];
        for (_, vector) in &common.vectors {
            vector
                .rows
                .iter()
                .flatten()
                .for_each(|peer| kept[peer.index()] = true);
        }
        for (_, queue) in &common.queues {
            queue
                .ready
                .iter()
                .for_each(|done| kept[done.from.peer.index()] = true);
        }
        for (_, endpoint) in endpoints.iter_mut() {
            endpoint.settle(common);
            endpoint.forget_source();
            endpoint.each_peer(|peer| kept[peer.index()] = true);
        }
        for peer in common.peers.keep(&kept) {
            for (_, endpoint) in endpoints.iter_mut() {
                if let Some(route) = endpoint.routes.get_mut(peer.index()) {
                    *route = None;
                }
            }
        }
    }
}

/// One side of an endpoint's completions.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Side {
    pub(crate) queue: Option<usize>,
    /// Only operations that ask for it get an entry.
    selective: bool,
    pub(crate) counter: Option<usize>,
    pub(crate) op_flags: u64,
    /// Whether operations with these flags get an entry.
    pub(crate) completes: bool,
}

impl Side {
    pub(crate) fn set(&mut self, selective: bool, op_flags: u64) {
        (self.selective, self.op_flags) = (selective, op_flags);
        self.completes = self.completes_with(op_flags);
    }

    /// Whether an operation with these flags gets an entry.
    #[inline(always)]
    pub(crate) fn completes_with(&self, flags: u64) -> bool {
        !self.selective || flags & FI_COMPLETION != 0
    }
}

/// What was done, in the order of the statistics, with its names there.
macro_rules! totals {
    ($($field:ident = $name:literal;)*) => {
        #[derive(Debug, Default, Clone, Copy)]
        pub(crate) struct Totals {
            $(pub(crate) $field: u64,)*
        }

        impl Totals {
            fn rows(&self) -> Vec<(&'static str, u64)> {
                vec![$(($name, self.$field)),*]
            }
        }
    };
}

totals! {
    // Those that were let in or called on.
    connected = "peers";
    // Those over the inner endpoint.
    inner = "peers_inner";
    sent = "sent";
    sent_bytes = "sent_bytes";
    rendezvous = "sent_rendezvous";
    received = "received";
    received_bytes = "received_bytes";
    untagged = "received_untagged";
    late = "received_late";
    pulled = "transfers_in_pieces";
    peeks = "peeks";
    empty_peeks = "peeks_empty";
    cancels = "cancels";
    posted_high = "posted_high";
    unexpected_high = "unexpected_high";
    refused = "peers_refused";
    lost = "peers_lost";
    rebuilds = "rule_changes";
    all_bits = "compares_all_bits";
}

#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) address: Address,
    listener: Option<Listener>,
    /// What carries records to other machines instead of TCP.
    inner: Option<SharedInner>,
    /// Connections with news from there.
    news: Vec<usize>,
    epoll: std::os::fd::OwnedFd,
    callers: Callers,
    reserve: Reserve,
    warned_of_strangers: bool,
    flood: Flood,
    connections: Connections,
    /// The connection to send over, by peer.
    routes: Vec<Option<usize>>,
    /// Connections with peers that have called and were called.
    doubles: VecDeque<Double>,
    pub(crate) vector: Option<usize>,
    /// The last receive's row of the address vector, and its peer.
    last_source: (u64, PeerId),
    pub(crate) tx: Side,
    pub(crate) rx: Side,
    pub(crate) rma_counter: Option<usize>,
    pub(crate) min_multi: usize,

    matcher: Matching,
    rule: Rule,
    all_bits: bool,
    posts: Table<Post>,
    messages: Table<Arrived>,
    untagged_posts: VecDeque<usize>,
    untagged_messages: VecDeque<usize>,
    /// Receives that the program has cancelled, and into which data still move.
    cancelled: Vec<usize>,
    /// Messages that a program peeked at and claimed, by its context.
    claimed: HashMap<usize, usize>,
    sendings: Slab<Sending>,
    transfers: Slab<Transfer>,
    pushes: VecDeque<Push>,
    grants: Slab<Grant>,

    /// Messages read in this round of progress whose data are in a link's memory.
    batch: Vec<usize>,
    verdicts: Vec<Verdict>,
    posted_now: u64,
    unexpected_now: u64,
    posts_ever: u64,
    messages_ever: u64,
    /// Whether the matcher got an operation since it was last settled.
    unsettled: bool,
    /// Whether the short path had something for the statistics since they noted the queues.
    noted: bool,
    /// There are statistics, or a log.
    notes: bool,
    asleep: bool,
    /// Peers announce long messages.
    crowded: bool,
    /// There is a connection by TCP.
    streams: bool,
    polls: u32,
    fruitless: u32,
    log: Option<Log>,
    /// File of the statistics, if enabled.
    usage: Option<Box<Usage>>,
    requests: Requests,
    closed: bool,
    pub(crate) totals: Totals,
}

impl Endpoint {
    /// An endpoint that does not listen yet.
    ///
    /// # Errors
    /// The obstacle, in words.
    pub(crate) fn new(common: &Common) -> Result<Self, String> {
        let options = &common.options;
        let matcher = new_matcher(options, 0)?;
        let address = Address::fresh().map_err(|error| format!("no random numbers: {error}"))?;
        let epoll = rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC)
            .map_err(|error| format!("no epoll descriptor: {error}"))?;
        let log = match &options.log {
            Some(folder) => Some(Log::open(folder, &address)?),
            None => None,
        };
        Ok(Self {
            address,
            listener: None,
            inner: None,
            news: Vec::new(),
            epoll,
            callers: Callers::default(),
            reserve: Reserve::default(),
            warned_of_strangers: false,
            flood: Flood::default(),
            connections: Connections::default(),
            routes: Vec::new(),
            doubles: VecDeque::new(),
            vector: None,
            last_source: (FI_ADDR_UNSPEC, PeerId(0)),
            tx: Side::default(),
            rx: Side::default(),
            rma_counter: None,
            min_multi: 64,
            matcher,
            rule: Rule::default(),
            all_bits: false,
            posts: Table::new(),
            messages: Table::new(),
            untagged_posts: VecDeque::new(),
            untagged_messages: VecDeque::new(),
            cancelled: Vec::new(),
            claimed: HashMap::new(),
            sendings: Slab::new(),
            transfers: Slab::new(),
            pushes: VecDeque::new(),
            grants: Slab::new(),
            batch: Vec::new(),
            verdicts: Vec::new(),
            posted_now: 0,
            unexpected_now: 0,
            posts_ever: 0,
            messages_ever: 0,
            unsettled: false,
            noted: false,
            notes: options.stats.is_some() || log.is_some(),
            asleep: false,
            crowded: false,
            streams: false,
            polls: 0,
            fruitless: 0,
            log,
            usage: options.stats.is_some().then(|| Box::new(Usage::new())),
            requests: Requests::default(),
            closed: false,
            totals: Totals::default(),
        })
    }

    /// Ends the endpoint. Records that wait for room get [`LINGER`] to leave.
    pub(crate) fn close(&mut self, common: &Common) {
        let end = Instant::now() + LINGER;
        while !self.flush() && Instant::now() < end {
            std::thread::sleep(Duration::from_micros(50));
        }
        self.write_out(common);
    }

    fn flush(&mut self) -> bool {
        let mut all = true;
        self.progress_inner();
        for at in 0..self.connections.live().len() {
            let index = self.connections.live()[at];
            self.flush_outbox(index);
            let connection = &mut self.connections[index];
            all &= connection.link.flush() && connection.outbox.is_empty();
        }
        all
    }

    /// A counter was closed.
    pub(crate) fn forget_counter(&mut self, counter: usize) {
        let counters = [
            &mut self.tx.counter,
            &mut self.rx.counter,
            &mut self.rma_counter,
        ];
        for bound in counters {
            bound.take_if(|bound| *bound == counter);
        }
    }

    /// The program is about to sleep until [`wait_fd`](Self::wait_fd) is readable. `false`: there
    /// is work already.
    pub(crate) fn fall_asleep(&mut self) -> bool {
        let mut quiet = true;
        self.connections
            .each_link(|link| quiet &= link.fall_asleep());
        self.asleep = true;
        quiet && self.pushes.is_empty() && !self.unsettled
    }

    /// Whether this queue gets the completions of all receives, and no counter counts them.
    #[inline(always)]
    pub(crate) fn completes_only_in(&self, queue: usize) -> bool {
        self.rx.queue == Some(queue) && self.rx.counter.is_none()
    }

    /// Calls a function with each peer that something here refers to.
    fn each_peer(&self, mut what: impl FnMut(PeerId)) {
        self.connections.each_peer(&mut what);
        self.posts
            .iter()
            .filter_map(|(_, post)| post.source)
            .for_each(&mut what);
        self.messages
            .iter()
            .for_each(|(_, message)| what(message.peer));
        let taken = self.usage.iter().flat_map(|usage| &usage.taken);
        let failed_probe = self
            .usage
            .iter()
            .filter_map(|usage| usage.failed_probe?.0.peer);
        taken
            .map(|taken| taken.peer)
            .chain(failed_probe)
            .for_each(what);
    }

    /// The source of a completion.
    #[inline(always)]
    fn from(&self, peer: PeerId) -> CompletionSource {
        CompletionSource {
            vector: self.vector,
            peer,
        }
    }
}

/// The matcher that the options name, for match bits with these protocol bits.
fn new_matcher(options: &ProviderOptions, protocol: u64) -> Result<Matching, String> {
    match options.engine {
        None => {
            let kept_off = SoftwareCommunicators {
                protocol,
                names: options.keep_off.clone(),
            };
            let matcher = NicMatcher::new(&options.matching, kept_off);
            Ok(Matching::Nic(Box::new(
                matcher.map_err(|error| error.to_string())?,
            )))
        }
        Some(entry) => match entry.engine(&options.matching) {
            Some(engine) => Ok(Matching::Other(Box::new(SoftwareMatcher::new(engine)))),
            None => Err(format!("engine {} cannot be called", entry.name)),
        },
    }
}

impl Endpoint {
    /// Restarts matching under another rule with all receives and messages in the queues, in their
    /// order of arrival, so that none of them match.
    fn rebuild(&mut self, common: &mut Common, rule: Option<Rule>) {
        self.settle(common);
        let (posts, messages) = (self.waiting_posts(), self.waiting_messages());
        let rule = rule.and_then(|rule| self.under(rule, &posts, &messages));
        self.totals.rebuilds += 1;
        self.end_log(common);
        if let Some(usage) = &mut self.usage {
            usage.begin_anew(self.rule.contexts().1, rule.is_none());
        }
        match rule {
            Some(rule) => {
                self.rule = rule;
                if let Some(log) = &mut self.log {
                    log.begin_segment(self.rule.contexts().0);
                }
                // It was built from the same options before.
                if let Ok(matcher) = new_matcher(&common.options, self.rule.contexts().0) {
                    self.matcher = matcher;
                }
            }
            None => {
                self.all_bits = true;
                self.totals.all_bits += 1;
                self.matcher = Matching::Other(Box::new(AllBits::default()));
                self.log = None;
            }
        }
        self.count_left(self.posted_now);
        self.unexpected_now = 0;
        for (_, key) in posts {
            self.post_to_matcher(key);
        }
        for (_, key) in messages {
            let Arrived { header, peer, .. } = &self.messages[key];
            // `under` has asked for all of them.
            let Some(header) = self.header(header.bits, *peer) else {
                continue;
            };
            self.messages[key].header = header;
            self.arrive_at_matcher(key);
        }
        self.settle(common);
    }

    /// Applies a rule to both queues and notes the receives' selectors. `None`: the rule does not
    /// apply.
    fn under(
        &mut self,
        mut rule: Rule,
        posts: &[(u64, usize)],
        messages: &[(u64, usize)],
    ) -> Option<Rule> {
        for &(_, key) in posts {
            let post = &mut self.posts[key];
            post.comm = rule.receive(post.bits, post.ignore)?;
        }
        for &(_, key) in messages {
            rule.message(self.messages[key].header.bits)?;
        }
        Some(rule)
    }

    /// The receives without a message: number and key of each, in order.
    fn waiting_posts(&self) -> Vec<(u64, usize)> {
        let posts = self
            .posts
            .iter()
            .filter(|(_, post)| post.tagged && post.waiting);
        sorted(posts.map(|(key, post)| (post.number, key)).collect())
    }

    /// The messages without a receive: number and key of each, in order.
    fn waiting_messages(&self) -> Vec<(u64, usize)> {
        let messages = self
            .messages
            .iter()
            .filter(|(_, message)| message.tagged && message.waiting);
        sorted(
            messages
                .map(|(key, message)| (message.number, key))
                .collect(),
        )
    }

    /// Writes everything so far to the log, with the meaning of its numbers.
    fn sync_log(&mut self, common: &Common) {
        let Some(log) = &mut self.log else { return };
        let (protocol, contexts) = self.rule.contexts();
        let describe = |&context: &u64| (context, library::describe(protocol, context));
        log.explain(&Legend {
            communicators: contexts.iter().map(describe).collect(),
            peers: common.peers.identities().collect(),
        });
        log.sync();
    }

    fn end_log(&mut self, common: &Common) {
        self.sync_log(common);
        let (posts, messages) = (self.waiting_posts(), self.waiting_messages());
        if let Some(log) = &mut self.log {
            log.end_segment(&posts, &messages);
        }
    }
}

fn sorted(mut rows: Vec<(u64, usize)>) -> Vec<(u64, usize)> {
    rows.sort_unstable();
    rows
}
