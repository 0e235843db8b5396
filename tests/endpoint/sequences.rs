//! Random sequences of calls against a model, which knows the oracle's result of each receive and
//! what each communicator still holds. Communicators come and go while their matching moves between
//! the NIC and software, so each history ends with a return to the NIC.

use std::collections::BTreeMap;

use dpamatch::endpoint::{
    BusyReason, CommSender, EndpointConfig, FreeError, RecvError, RecvRequest, ShardedCommunicator,
    Shards, Status,
};
use dpamatch::engine::{Engine, MsgId, Oracle, RecvId};
use dpamatch::{CommId, Hints, NicConfig, Offload, Selector, SendError, SourceSel, TagSel};
use dpamatch_vocabulary::{Envelope, RANK_MAX, TAG_MAX};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::{no_tables, rank, tag, tiny, watchdog};

const COMMS: usize = 4;
const SOURCES: [u32; 5] = [0, 1, 2, 3, RANK_MAX];
const TAGS: [u32; 3] = [0, 1, TAG_MAX];
/// Lengths of messages and capacities of receives: inline, eager, rendezvous, cut off.
const LENGTHS: [usize; 5] = [8, 9, 64, 65, 90];

struct Comm {
    real: ShardedCommunicator,
    hints: Hints,
    senders: BTreeMap<u32, CommSender>,
}

struct Waiting {
    comm: CommId,
    source: SourceSel,
    /// Always there between two calls.
    request: Option<RecvRequest>,
    room: usize,
}

struct Play {
    random: ChaCha8Rng,
    shards: Shards,
    number: usize,
    seed: u64,
    oracle: Oracle,
    comms: BTreeMap<CommId, Comm>,
    next_comm: u32,
    next_id: u64,
    receives: BTreeMap<RecvId, Waiting>,
    /// Communicator, source, length, tag and arrival of each message that no receive has taken.
    messages: BTreeMap<MsgId, (CommId, u32, usize, u32, u64)>,
    /// Messages that arrived at each shard.
    arrived: Vec<u64>,
    /// Refused calls to free a communicator, by their reason.
    busy: [u32; 3],
}

fn bytes_of(msg: MsgId, length: usize) -> Vec<u8> {
    let mut bytes = vec![msg.0 as u8; length];
    bytes[..8].copy_from_slice(&msg.0.to_le_bytes());
    bytes
}

impl Play {
    fn new(seed: u64, nic: NicConfig, number: usize) -> Self {
        let config = EndpointConfig {
            nic,
            ..EndpointConfig::default()
        };
        Self {
            random: ChaCha8Rng::seed_from_u64(seed),
            shards: Shards::new(&config, number).expect("small NICs"),
            number,
            seed,
            oracle: Oracle::new(),
            comms: BTreeMap::new(),
            next_comm: 0,
            next_id: 0,
            receives: BTreeMap::new(),
            messages: BTreeMap::new(),
            arrived: vec![0; number],
            busy: [0; 3],
        }
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.random.random_range(0..bound)
    }

    fn one_of<T: Copy, const N: usize>(&mut self, values: [T; N]) -> T {
        values[self.random.random_range(0..N)]
    }

    fn any_comm(&mut self) -> Option<CommId> {
        let place = self.random.random_range(0..COMMS);
        self.comms.keys().nth(place).copied()
    }

    fn selector(&mut self, hints: Hints) -> Selector {
        let any_source = !hints.no_any_source && self.below(3) == 0;
        let source = rank(self.one_of(SOURCES)).into();
        let source = if any_source { SourceSel::Any } else { source };
        let wanted = tag(self.one_of(TAGS)).into();
        Selector::new(
            source,
            if self.below(3) == 0 {
                TagSel::Any
            } else {
                wanted
            },
        )
    }

    fn create(&mut self) {
        if self.comms.len() == COMMS {
            return;
        }
        let offload = if self.below(6) == 0 {
            Offload::Never
        } else {
            Offload::IfItFits
        };
        let hints = Hints {
            no_any_source: self.below(2) == 0,
            offload,
            ..Hints::default()
        };
        let real = self.shards.create_comm(hints).expect("it runs");
        assert_eq!(real.is_spread(), hints.no_any_source && self.number > 1);
        self.comms.insert(
            CommId(self.next_comm),
            Comm {
                real,
                hints,
                senders: BTreeMap::new(),
            },
        );
        self.next_comm += 1;
    }

    /// Why a communicator cannot be freed: of its parts, the last that holds something.
    fn reason(&self, comm: CommId) -> Option<BusyReason> {
        let Comm { real, senders, .. } = &self.comms[&comm];
        let shard = |source: u32| real.shard(rank(source));
        (0..self.number).rev().find_map(|part| {
            let waits = |receive: &&Waiting| {
                receive.comm == comm
                    && match receive.source {
                        SourceSel::Any => real.part(part).is_some(),
                        SourceSel::Rank(source) => real.shard(source) == part,
                    }
            };
            let receives = self.receives.values().filter(waits).count();
            let mut messages = self.messages.values();
            if receives > 0 {
                Some(BusyReason::Receives(receives))
            } else if senders.keys().any(|&source| shard(source) == part) {
                Some(BusyReason::Handles)
            } else {
                let left = messages.any(|&(of, source, ..)| of == comm && shard(source) == part);
                left.then_some(BusyReason::Messages)
            }
        })
    }

    fn free(&mut self, comm: CommId) {
        let reason = self.reason(comm);
        let Comm {
            real,
            hints,
            senders,
        } = self.comms.remove(&comm).expect("it is there");
        match self.shards.free_comm(real) {
            Ok(()) => assert_eq!(reason, None, "{comm:?} was freed"),
            Err(FreeError::Busy {
                comm: real,
                reason: told,
            }) => {
                assert_eq!(Some(told), reason, "{comm:?}");
                self.busy[match told {
                    BusyReason::Receives(_) => 0,
                    BusyReason::Handles => 1,
                    _ => 2,
                }] += 1;
                // It goes on, as if nobody had tried.
                self.comms.insert(
                    comm,
                    Comm {
                        real,
                        hints,
                        senders,
                    },
                );
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn post_of(&mut self, comm: CommId, selector: Selector, room: usize) {
        let Selector { source, tag } = selector;
        let posted = self
            .shards
            .post_recv(&self.comms[&comm].real, source, tag, vec![0; room]);
        let recv = RecvId(self.next_id);
        self.next_id += 1;
        let request = Some(posted.expect("it runs"));
        self.receives.insert(
            recv,
            Waiting {
                comm,
                source,
                request,
                room,
            },
        );
        if let Some(msg) = self.oracle.post(recv, comm, selector) {
            self.matched(recv, msg);
        }
    }

    fn send_to(&mut self, comm: CommId, source: u32, number: u32, length: usize) {
        let msg = MsgId(self.next_id);
        let Comm { real, senders, .. } = self.comms.get_mut(&comm).expect("it is there");
        let fresh = || self.shards.sender(real, rank(source));
        let sender = senders.entry(source).or_insert_with(fresh);
        match sender.try_send(tag(number), &bytes_of(msg, length)) {
            Ok(()) => {}
            // A long message without a free region. It was not sent, and nothing is changed.
            Err(SendError::ReceiverNotReady) if length > 64 => return,
            Err(error) => panic!("{error}"),
        }
        self.next_id += 1;
        let arrived = &mut self.arrived[real.shard(rank(source))];
        self.messages
            .insert(msg, (comm, source, length, number, *arrived));
        *arrived += 1;
        let envelope = Envelope {
            comm,
            source: rank(source),
            tag: tag(number),
        };
        if let Some(recv) = self.oracle.arrive(msg, envelope) {
            self.matched(recv, msg);
        }
    }

    /// The shards must end this receive with this message.
    fn matched(&mut self, recv: RecvId, msg: MsgId) {
        let Waiting {
            mut request, room, ..
        } = self.receives.remove(&recv).expect("it was posted");
        let (_, source, length, number, arrival) = self.messages.remove(&msg).expect("it was sent");
        while self.shards.progress() {}
        let ended = self.shards.test(&mut request);
        assert!(request.is_none(), "{recv:?} has not ended");
        let expected = bytes_of(msg, length);
        let received = match ended.expect("it has ended") {
            Ok(received) if length <= room => received,
            Err(RecvError::Truncated { received, sent }) if sent == length && length > room => {
                received
            }
            other => panic!("{recv:?}: {length} bytes for {room}: {other:?}"),
        };
        assert_eq!(received.bytes(), &expected[..length.min(room)], "{recv:?}");
        let bytes = length.min(room);
        let status = Status {
            source: rank(source),
            tag: tag(number),
            bytes,
            arrival,
        };
        assert_eq!((received.status, received.buffer.len()), (status, room));
    }

    fn cancel(&mut self, recv: RecvId) {
        let Waiting {
            mut request, room, ..
        } = self.receives.remove(&recv).expect("it was posted");
        // A test of a receive that waits leaves it as it is.
        assert_eq!(self.shards.test(&mut request), None);
        let request = request.expect("still there");
        self.shards.cancel(&request).expect("it runs");
        assert!(self.oracle.cancel(recv));
        assert_eq!(
            self.shards.wait(request),
            Err(RecvError::Cancelled(vec![0; room]))
        );
    }

    fn probe(&mut self, comm: CommId, selector: Selector, take: bool) {
        let Selector { source, tag } = selector;
        let real = &self.comms[&comm].real;
        if !take {
            let found = self.shards.iprobe(real, source, tag).expect("it runs");
            let expected = self
                .oracle
                .probe(comm, selector)
                .map(|msg| self.messages[&msg]);
            let found = found.map(
                |Status {
                     source,
                     tag,
                     bytes,
                     arrival,
                 }| { (comm, source.get(), bytes, tag.get(), arrival) },
            );
            assert_eq!(found, expected);
            return;
        }
        let taken = self.shards.improbe(real, source, tag).expect("it runs");
        let expected = self.oracle.mprobe(comm, selector);
        assert_eq!(taken.is_some(), expected.is_some());
        let (Some(taken), Some(msg)) = (taken, expected) else {
            return;
        };
        let (_, _, length, ..) = self.messages.remove(&msg).expect("it was sent");
        // Some are dropped unread.
        if self.below(4) > 0 {
            let received = self.shards.mrecv(taken, vec![0; 90]).expect("it runs");
            assert_eq!(received.bytes(), bytes_of(msg, length));
        }
    }

    fn step(&mut self) {
        let dice = self.below(32);
        if let (0, 2..) = (dice, self.comms.len()) {
            return self.settle();
        }
        let Some(comm) = self.any_comm() else {
            return self.create();
        };
        let selector = self.selector(self.comms[&comm].hints);
        let length = self.one_of(LENGTHS);
        match dice {
            0..3 => self.create(),
            3..5 => self.free(comm),
            5..7 => {
                let source = self.one_of(SOURCES);
                self.comms
                    .get_mut(&comm)
                    .expect("it is there")
                    .senders
                    .remove(&source);
            }
            7..16 => self.post_of(comm, selector, length),
            16..25 => {
                let (source, number) = (self.one_of(SOURCES), self.one_of(TAGS));
                self.send_to(comm, source, number, length);
            }
            25..27 => {
                let place = self.random.random_range(0..8);
                if let Some((&recv, _)) = self.receives.iter().nth(place) {
                    self.cancel(recv);
                }
            }
            _ => self.probe(comm, selector, dice.is_multiple_of(2)),
        }
        while self.shards.progress() {}
        assert_eq!(self.oracle.posted().len(), self.receives.len());
    }

    /// Matches by software so far.
    fn by_software(&mut self) -> u64 {
        let endpoints = self.shards.endpoints().iter();
        endpoints.map(|endpoint| endpoint.counts().1.matches).sum()
    }

    /// Empties every queue. From then on the NIC matches again what is offloaded.
    fn settle(&mut self) {
        while let Some((&recv, _)) = self.receives.iter().next() {
            self.cancel(recv);
        }
        while let Some((_, &(comm, source, ..))) = self.messages.iter().next() {
            self.probe(comm, Selector::new(rank(source), TagSel::Any), true);
        }
        // A communicator goes back by a few messages between host and NIC.
        (0..100).for_each(|_| _ = self.shards.progress());
        let before = self.by_software();
        let expected = self.exchange();
        assert_eq!(
            self.by_software() - before,
            expected,
            "seed {}: matches by software",
            self.seed
        );
        assert_eq!((self.receives.len(), self.messages.len()), (0, 0));
    }

    /// Sends each communicator a message of each source for a posted receive. Returns how many
    /// software has to match.
    fn exchange(&mut self) -> u64 {
        let comms: Vec<CommId> = self.comms.keys().copied().collect();
        let mut expected = 0;
        for (comm, source) in comms
            .iter()
            .flat_map(|&comm| SOURCES.map(|source| (comm, source)))
        {
            let real = &self.comms[&comm].real;
            let part = real
                .part(real.shard(rank(source)))
                .expect("the part of a source");
            expected += u64::from(!part.is_offloaded());
            self.post_of(comm, Selector::new(rank(source), TagSel::Any), 8);
            self.send_to(comm, source, 1, 8);
        }
        expected
    }
}

#[test]
fn sequences_follow_the_model() {
    let _dog = watchdog::on("sequences of calls against a model");
    let mut busy = [0; 3];
    let mut fallbacks = 0;
    // Room for one communicator's tables, and for few receives and messages.
    let scarce = NicConfig {
        communicators: 1,
        regions: 3,
        unexpected: 3,
        ..tiny()
    };
    for nic in [
        NicConfig {
            eager_limit: 64,
            ..NicConfig::default()
        },
        tiny(),
        no_tables(),
        scarce,
    ] {
        for number in [1, 2, 3, 7] {
            for seed in 0..12 {
                let mut play = Play::new(seed, nic, number);
                (0..250).for_each(|_| play.step());
                play.settle();
                busy.iter_mut()
                    .zip(play.busy)
                    .for_each(|(sum, of)| *sum += of);
                for endpoint in play.shards.endpoints() {
                    let boundary = endpoint.counts().0.boundary;
                    fallbacks += boundary.fallback_receives + boundary.fallback_unexpected;
                }
                while let Some((&comm, _)) = play.comms.iter().next() {
                    play.comms
                        .get_mut(&comm)
                        .expect("it is there")
                        .senders
                        .clear();
                    play.free(comm);
                }
            }
        }
    }
    assert!(
        busy.iter().all(|&count| count > 0) && fallbacks > 500,
        "{busy:?}, {fallbacks}"
    );
}
