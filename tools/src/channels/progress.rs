//! The real progress engine: three channels, one matcher, one polling policy.
//!
//! `progress` polls the channel that the policy chooses. It polls the kernel module outside that
//! loop, and only while a message may come from it: while a receive is posted that accepts a
//! process of the node, or while a message of such a process waits for an earlier one. Until then
//! messages stay in the module.

use std::collections::{HashMap, HashSet, VecDeque};

use dpamatch_vocabulary::{CommId, Rank, Selector, SourceSel};

use super::kernel::KernelModule;
use super::network::Network;
use super::packet::Packet;
use super::policy::{Channel, PollingPolicy};
use super::reorder::Reorder;
use super::shared_memory::SharedMemory;
use dpamatch::engine::{Engine, MsgId, RecvId};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completed {
    /// The receive.
    pub recv: RecvId,
    /// Its message, with the payload cut to the buffer's length.
    pub packet: Packet,
}

/// Polls and empty polls of each channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PollCounts {
    pub network: u64,
    pub network_empty: u64,
    pub shared: u64,
    pub shared_empty: u64,
    pub kernel: u64,
    pub kernel_empty: u64,
    /// Messages that waited for an earlier one of their sender.
    pub reordered: u64,
}

/// A process's receiving side over three channels.
#[derive(Debug)]
pub struct ProgressEngine<'a> {
    matcher: Matcher<'a>,
    pub shared: SharedMemory,
    pub kernel: KernelModule,
    pub network: Network,
    policy: Box<dyn PollingPolicy>,
    reorder: Reorder,
    local: HashSet<Rank>,
    counts: PollCounts,
}

/// The matching engine and the data of its entries.
struct Matcher<'a> {
    engine: Box<dyn Engine + 'a>,
    posted: HashMap<RecvId, Posted>,
    unexpected: HashMap<MsgId, Packet>,
    completed: VecDeque<Completed>,
    /// Posted receives that accept a process of the node.
    from_node: usize,
    posts: u64,
    arrivals: u64,
}

struct Posted {
    length: usize,
    from_node: bool,
}

impl std::fmt::Debug for Matcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Matcher")
            .field("posts", &self.posts)
            .field("arrivals", &self.arrivals)
            .finish_non_exhaustive()
    }
}

impl Matcher<'_> {
    fn arrive(&mut self, packet: Packet) {
        let msg = MsgId(self.arrivals);
        self.arrivals += 1;
        match self.engine.arrive(msg, packet.envelope) {
            Some(recv) => self.complete(recv, packet),
            None => drop(self.unexpected.insert(msg, packet)),
        }
    }

    fn complete(&mut self, recv: RecvId, mut packet: Packet) {
        if let Some(posted) = self.posted.remove(&recv) {
            packet.payload.truncate(posted.length);
            self.from_node -= usize::from(posted.from_node);
        }
        self.completed.push_back(Completed { recv, packet });
    }
}

impl<'a> ProgressEngine<'a> {
    /// An engine without peers.
    pub fn new(
        engine: Box<dyn Engine + 'a>,
        policy: Box<dyn PollingPolicy>,
        network: Network,
        kernel: KernelModule,
    ) -> Self {
        let matcher = Matcher {
            engine,
            posted: HashMap::new(),
            unexpected: HashMap::new(),
            completed: VecDeque::new(),
            from_node: 0,
            posts: 0,
            arrivals: 0,
        };
        Self {
            matcher,
            shared: SharedMemory::default(),
            kernel,
            network,
            policy,
            reorder: Reorder::default(),
            local: HashSet::new(),
            counts: PollCounts::default(),
        }
    }

    /// Declares `rank` a process of the node.
    pub fn add_local(&mut self, rank: Rank) {
        self.local.insert(rank);
    }

    /// Posts a receive with a buffer of `length` bytes.
    pub fn post(&mut self, comm: CommId, selector: Selector, length: usize) -> RecvId {
        let matcher = &mut self.matcher;
        let recv = RecvId(matcher.posts);
        matcher.posts += 1;
        let from_node = match selector.source {
            SourceSel::Any => !self.local.is_empty(),
            SourceSel::Rank(rank) => self.local.contains(&rank),
        };
        matcher.from_node += usize::from(from_node);
        matcher.posted.insert(recv, Posted { length, from_node });
        if let Some(packet) = matcher
            .engine
            .post(recv, comm, selector)
            .and_then(|msg| matcher.unexpected.remove(&msg))
        {
            matcher.complete(recv, packet);
        }
        recv
    }

    /// Polls once; if that finds nothing and a message may come from the kernel module, polls it,
    /// too. Returns whether it found a message.
    pub fn progress(&mut self) -> bool {
        let channel = self.policy.next();
        let packet = match channel {
            Channel::Network => self.network.poll(),
            Channel::SharedMemory => self.shared.poll(),
        };
        let empty = u64::from(packet.is_none());
        match channel {
            Channel::Network => {
                self.counts.network += 1;
                self.counts.network_empty += empty;
            }
            Channel::SharedMemory => {
                self.counts.shared += 1;
                self.counts.shared_empty += empty;
            }
        }
        self.policy.polled(channel, packet.is_some());
        let packet = packet.or_else(|| {
            if !self.expects_kernel() {
                return None;
            }
            let packet = self.kernel.poll();
            self.counts.kernel += 1;
            self.counts.kernel_empty += u64::from(packet.is_none());
            packet
        });
        let Some(packet) = packet else { return false };
        let matcher = &mut self.matcher;
        let held = self.reorder.held();
        self.reorder.take(packet, |packet| matcher.arrive(packet));
        self.counts.reordered += u64::from(self.reorder.held() > held);
        true
    }

    /// Whether a message may come from the kernel module.
    pub fn expects_kernel(&self) -> bool {
        self.matcher.from_node > 0 || self.reorder.held() > 0
    }

    /// The next completed receive, in order of completion.
    pub fn completed(&mut self) -> Option<Completed> {
        self.matcher.completed.pop_front()
    }

    /// Unexpected messages, without messages still in channels.
    pub fn unexpected(&self) -> usize {
        self.matcher.unexpected.len()
    }

    pub fn counts(&self) -> PollCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dpa_model::NicConfig;
    use dpamatch_vocabulary::{Tag, TagSel};

    use super::*;
    use crate::channels::{LocalPeer, PolicySpec, PollCosts};
    use dpamatch::engine::{BinCount, BinEngine, ListEngine};

    const COMM: CommId = CommId(0);
    const THRESHOLD: usize = 512;

    fn rank(number: u32) -> Rank {
        Rank::new(number).expect("a rank")
    }

    fn tag(number: u32) -> Tag {
        Tag::new(number).expect("a tag")
    }

    fn engine(spec: PolicySpec, matcher: Box<dyn Engine>) -> ProgressEngine<'static> {
        let network = Network::new(&NicConfig::default()).expect("a wire");
        let kernel = KernelModule::new(Duration::ZERO);
        ProgressEngine::new(matcher, spec.build(&PollCosts::default()), network, kernel)
    }

    fn local(engine: &mut ProgressEngine<'_>, number: u32) -> LocalPeer {
        engine.add_local(rank(number));
        LocalPeer::new(
            rank(number),
            COMM,
            THRESHOLD,
            engine.shared.connect(64),
            engine.kernel.connect(),
        )
    }

    fn payload(sender: u32, i: u32) -> Vec<u8> {
        // Every third message from the node is long enough for the kernel module.
        let length =
            if i.is_multiple_of(3) { THRESHOLD + i as usize % 100 } else { 8 + i as usize % 50 };
        vec![(sender + i) as u8; length]
    }

    /// Four threads send through three channels, under every policy. Each message arrives once,
    /// complete, and in its sender's order, although a third of them use another channel.
    #[test]
    fn one_matcher_gets_everything_in_order_per_sender() {
        const MESSAGES: u32 = 600;
        for spec in PolicySpec::USUAL {
            let mut engine = engine(spec, Box::new(BinEngine::new(BinCount::default())));
            let locals = [1, 2].map(|number| (number, local(&mut engine, number)));
            let remotes = [3, 4].map(|number| (number, engine.network.connect(rank(number), COMM)));
            let mut next = [0_u32; 5];
            std::thread::scope(|scope| {
                for (number, mut peer) in locals {
                    scope.spawn(move || {
                        (0..MESSAGES).for_each(|i| peer.send(tag(i % 4), payload(number, i)))
                    });
                }
                for (number, mut peer) in remotes {
                    scope.spawn(move || {
                        (0..MESSAGES).for_each(|i| {
                            peer.send(tag(i % 4), &payload(number, i)).expect("sent")
                        });
                    });
                }
                let any = Selector::new(SourceSel::Any, TagSel::Any);
                // Half before, half while messages arrive.
                for _ in 0..2 * MESSAGES {
                    engine.post(COMM, any, 4096);
                }
                let mut received = 0;
                while received < 4 * MESSAGES {
                    engine.progress();
                    while let Some(Completed { packet, .. }) = engine.completed() {
                        let number = packet.envelope.source.get();
                        let i = &mut next[number as usize];
                        assert_eq!(
                            packet.sequence,
                            u64::from(*i),
                            "{spec}: order of sender {number}"
                        );
                        assert_eq!(packet.envelope.tag, tag(*i % 4));
                        assert_eq!(packet.payload, payload(number, *i));
                        *i += 1;
                        received += 1;
                        if received <= 2 * MESSAGES {
                            engine.post(COMM, any, 4096);
                        }
                    }
                }
            });
            assert_eq!(next, [0, MESSAGES, MESSAGES, MESSAGES, MESSAGES]);
            let counts = engine.counts();
            let found = counts.network + counts.shared + counts.kernel
                - counts.network_empty
                - counts.shared_empty
                - counts.kernel_empty;
            assert_eq!(found, u64::from(4 * MESSAGES));
            assert_eq!((engine.unexpected(), engine.kernel.waiting()), (0, 0));
        }
    }

    #[test]
    fn the_kernel_module_is_left_alone_until_a_message_is_expected_from_it() {
        let mut engine = engine(PolicySpec::RoundRobin, Box::new(ListEngine::new()));
        let mut peer = local(&mut engine, 1);
        peer.send(tag(0), vec![7; THRESHOLD]);
        engine.post(COMM, Selector::new(rank(9), tag(0)), 8);
        assert!((0..100).all(|_| !engine.progress()));
        assert_eq!((engine.counts().kernel, engine.kernel.waiting()), (0, 1));
        // A receive that accepts the node's process; the message is cut to its short buffer.
        let recv = engine.post(COMM, Selector::new(rank(1), TagSel::Any), 8);
        while !engine.progress() {}
        let completed = engine.completed().expect("a message");
        assert_eq!((completed.recv, completed.packet.payload), (recv, vec![7; 8]));
        assert!(!engine.expects_kernel());
    }

    #[test]
    fn a_message_that_overtook_waits_for_the_one_in_the_kernel() {
        let mut engine = engine(PolicySpec::RunLength, Box::new(ListEngine::new()));
        let mut peer = local(&mut engine, 1);
        peer.send(tag(1), vec![1; THRESHOLD]);
        peer.send(tag(2), vec![2; 8]);
        // No receive is posted, but the second message must wait until the first is known.
        for _ in 0..50 {
            engine.progress();
        }
        assert_eq!((engine.unexpected(), engine.counts().reordered), (2, 1));
        let first = engine.post(COMM, Selector::new(SourceSel::Any, TagSel::Any), 4096);
        let completed = engine.completed().expect("it has arrived");
        assert_eq!((completed.recv, completed.packet.envelope.tag), (first, tag(1)));
    }
}
