//! Batches against single operations: a NIC that gets posts and messages in batches, and one that
//! gets them one by one with a round after each. Both give equal results, counters and tables.

use alloc::string::String;
use alloc::vec::Vec;

use crate::index::CommView;
use crate::matching::tests::{Random, tables, told};
use crate::{
    BoundaryCounts, CommId, Envelope, Event, FastPath, ForwardedRequest, Hints, InlineHashes, Nic,
    NicConfig, Offload, Options, Order, Rank, RequestId, Round, Selector, SourceSel, Tag, TagSel,
    TakenMessage, WildcardClass,
};

/// Communicators of the NIC. The last one is never created, so the host matches it.
const COMMS: u32 = 4;
const BINS: u32 = 3;
/// Receives that the host offers to the NIC at a time.
const OFFER_MOST: usize = 60;

/// What the host or a sender does.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Post {
        comm: CommId,
        selector: Selector,
        capacity: usize,
    },
    Send {
        envelope: Envelope,
        bytes: usize,
        hashes: bool,
    },
    Cancel {
        request: RequestId,
    },
    Probe {
        comm: CommId,
        selector: Selector,
        take: bool,
    },
    /// Receives the oldest message that a matched probe took.
    Receive,
    /// Hands a communicator back to the NIC, with the receives that the host has.
    HandBack {
        comm: CommId,
    },
}

/// A NIC with the host and the sender that use it.
struct Side {
    nic: Nic,
    /// A round follows each operation.
    single: bool,
    sent: u64,
    number: u8,
    results: Vec<String>,
    posted: Vec<RequestId>,
    taken: Vec<TakenMessage>,
    /// Per communicator: what the NIC sent on to the host, and the receives among it.
    forwarded: [(u64, Vec<ForwardedRequest>); COMMS as usize],
}

impl Side {
    fn new(config: &NicConfig, hints: [Hints; COMMS as usize], single: bool) -> Self {
        let mut nic = Nic::new(config).expect("a NIC");
        for comm in 0..COMMS - 1 {
            nic.host
                .create(CommId(comm), BINS, hints[comm as usize], 0)
                .expect("room");
        }
        let forwarded = core::array::from_fn(|_| (0, Vec::new()));
        let (results, posted, taken) = (Vec::new(), Vec::new(), Vec::new());
        let mut side = Self {
            nic,
            single,
            sent: 0,
            number: 0,
            results,
            posted,
            taken,
            forwarded,
        };
        side.end_phase();
        side
    }

    fn begin(&mut self, operation: Operation) {
        let (stamp, commands) = (self.sent, self.nic.host.commands_counted());
        let host = &mut self.nic.host;
        match operation {
            Operation::Post {
                comm,
                selector,
                capacity,
            } => {
                let buffer = alloc::vec![0xee; capacity];
                self.posted
                    .push(host.post(comm, selector, buffer, stamp).expect("room"));
            }
            Operation::Send {
                envelope,
                bytes,
                hashes,
            } => {
                self.number = self.number.wrapping_add(1);
                self.nic.sender.set_inline_hashes(hashes);
                let payload: [u8; 520] = core::array::from_fn(|at| self.number ^ (at * 3) as u8);
                let sent = self
                    .nic
                    .sender
                    .try_send(envelope, &payload[..bytes], commands);
                sent.expect("room for a message");
                self.sent += 1;
            }
            Operation::Cancel { request } => host.cancel(request, stamp).expect("room"),
            Operation::Probe {
                comm,
                selector,
                take,
            } => {
                host.probe(comm, selector, take, stamp).expect("room");
            }
            Operation::Receive => {
                if !self.taken.is_empty() {
                    let message = self.taken.remove(0);
                    let received = host.receive(message, alloc::vec![0; 24], stamp);
                    received.expect("room for a command");
                }
            }
            Operation::HandBack { comm } => {
                let (forwarded, receives) = &mut self.forwarded[comm.0 as usize];
                // More than the command queue holds: the host ends the younger ones itself.
                for request in receives.drain(receives.len().min(OFFER_MOST)..) {
                    drop(host.withdraw(request));
                }
                host.hand_back(comm, *forwarded, receives)
                    .expect("room for commands");
            }
        }
        if self.single {
            self.rounds();
        }
    }

    fn rounds(&mut self) {
        while self.nic.leader.round(1) == Round::Worked {}
    }

    /// All operations end; the host reads what came of them.
    fn end_phase(&mut self) {
        self.rounds();
        while let Some(event) = self.nic.host.poll() {
            self.note(event);
        }
        self.rounds();
        assert!(self.nic.host.is_settled());
    }

    fn note(&mut self, event: Event) {
        match event {
            Event::PostForwarded { request } => {
                self.results
                    .push(alloc::format!("post forwarded {:?}", request.id()));
                let (comm, _) = self
                    .nic
                    .host
                    .describe(request.id())
                    .expect("a living request");
                let (count, receives) = &mut self.forwarded[comm.0 as usize];
                *count += 1;
                receives.push(request);
            }
            Event::ProbeForwarded { request, take } => {
                self.results
                    .push(alloc::format!("probe forwarded {:?} {take}", request.id()));
                drop(self.nic.host.withdraw(request));
            }
            Event::Probed {
                request,
                found,
                taken,
            } => {
                let is_taken = taken.is_some();
                self.results
                    .push(alloc::format!("probed {request:?} {found:?} {is_taken}"));
                self.taken.extend(taken);
            }
            Event::Declined { comm, receives } => {
                let names: Vec<_> = receives.iter().map(ForwardedRequest::id).collect();
                self.results
                    .push(alloc::format!("declined {comm:?} {names:?}"));
                self.forwarded[comm.0 as usize].1.splice(0..0, receives);
            }
            other => {
                match other {
                    Event::ArrivalForwarded { message, .. } => {
                        self.forwarded[message.envelope.comm.0 as usize].0 += 1;
                    }
                    Event::CancelForwarded { comm, .. } if comm.0 < COMMS => {
                        self.forwarded[comm.0 as usize].0 += 1;
                    }
                    _ => {}
                }
                self.results.push(told(&other));
            }
        }
    }

    /// The host's results and the contents of the NIC's tables.
    fn state(&self) -> String {
        let boundary = &self.nic.leader.boundary;
        let class_of = |bin: usize| {
            let views = boundary.comms.iter().map(|control| control.view);
            let view = views.filter(|view: &CommView| view.bins > 0).find(|view| {
                let end = view.base.index() + 3 * view.bins as usize + 1;
                (view.base.index()..end).contains(&bin)
            });
            view.map_or(WildcardClass::Exact, |view| {
                WildcardClass::ALL[(bin - view.base.index()) / view.bins as usize]
            })
        };
        let store = &boundary.unexpected;
        let forwarded = self.forwarded.each_ref().map(|(count, receives)| {
            let names: Vec<_> = receives.iter().map(ForwardedRequest::id).collect();
            (*count, names)
        });
        alloc::format!(
            "{:?}\n{:?}\n{:?}\n{} stored, {} bytes, room {}\n{} taken {forwarded:?}",
            tables(&self.nic),
            boundary.comms,
            store.chains(class_of),
            store.used(),
            store.bytes,
            store.room(),
            self.taken.len(),
        )
    }

    /// The counts that do not depend on where blocks end.
    fn counts(&self) -> (BoundaryCounts, [u64; 3]) {
        let counts = self.nic.leader.monitor().counts();
        let handlers = counts.handlers;
        let boundary = BoundaryCounts {
            blocks: 0,
            conflict_blocks: 0,
            ring_full: 0,
            arrivals_high: 0,
            ..counts.boundary
        };
        (
            boundary,
            [handlers.messages, handlers.unexpected, handlers.overtaking],
        )
    }
}

/// The operations of a random program.
struct Program {
    random: Random,
    few: u32,
    wild: bool,
    hashes: bool,
}

impl Program {
    fn comm(&mut self) -> CommId {
        // Most operations are of one communicator, so rows come up.
        let comm = self.random.pick(&[0, 0, 0, 0, 0, 1, 1, 2, COMMS - 1]);
        CommId(comm)
    }

    fn envelope(&mut self) -> Envelope {
        let source = Rank::new(self.random.below(u64::from(self.few)) as u32).expect("small");
        let tag = Tag::new(self.random.below(u64::from(self.few)) as u32).expect("small");
        Envelope {
            comm: self.comm(),
            source,
            tag,
        }
    }

    fn selector(&mut self, class: u64) -> (CommId, Selector) {
        let Envelope { comm, source, tag } = self.envelope();
        let source = if class & 1 == 1 {
            SourceSel::Any
        } else {
            source.into()
        };
        let tag = if class & 2 == 2 {
            TagSel::Any
        } else {
            TagSel::Tag(tag)
        };
        (comm, Selector { source, tag })
    }

    fn class(&mut self) -> u64 {
        if self.wild {
            self.random.pick(&[0, 0, 0, 1, 2, 3])
        } else {
            0
        }
    }

    /// Consecutive posts, most of them of one kind.
    fn posts(&mut self, operations: &mut Vec<Operation>) {
        let class = self.class();
        let (comm, selector) = self.selector(class);
        for _ in 0..1 + self.random.below(12) {
            let class = if self.random.below(6) == 0 {
                self.class()
            } else {
                class
            };
            let capacity = self.random.pick(&[40, 40, 520, 64, 17, 15, 8, 5, 0]);
            let (other, another) = self.selector(class);
            let comm = if self.random.below(5) == 0 {
                other
            } else {
                comm
            };
            let selector = if self.random.below(3) == 0 {
                selector
            } else {
                another
            };
            operations.push(Operation::Post {
                comm,
                selector,
                capacity,
            });
        }
    }

    /// Consecutive messages, most of them of one kind.
    fn messages(&mut self, operations: &mut Vec<Operation>) {
        let envelope = self.envelope();
        let bytes = self.random.pick(&[8, 8, 16, 40, 64]);
        for _ in 0..1 + self.random.below(12) {
            let other = self.envelope();
            let envelope = if self.random.below(3) == 0 {
                other
            } else {
                envelope
            };
            let bytes = if self.random.below(4) == 0 {
                self.random.pick(&[0, 3, 8, 24, 25, 32, 65, 256, 512, 513])
            } else {
                bytes
            };
            let hashes = self.hashes || self.random.below(2) == 0;
            operations.push(Operation::Send {
                envelope,
                bytes,
                hashes,
            });
        }
    }

    /// A command other than a post.
    fn other(&mut self, posted: &[RequestId]) -> Operation {
        let class = self.class();
        let (comm, selector) = self.selector(class);
        match self.random.below(4) {
            0 if !posted.is_empty() => Operation::Cancel {
                request: self.random.pick(posted),
            },
            1 => Operation::Receive,
            _ => Operation::Probe {
                comm,
                selector,
                take: self.random.below(3) == 0,
            },
        }
    }
}

fn config(random: &mut Random, order: Order) -> NicConfig {
    let options = Options {
        fast_path: random.pick(&[FastPath::Off, FastPath::Prefix, FastPath::Sequence]),
        early_check: random.below(4) == 0,
        inline_hashes: random.pick(&[
            InlineHashes::Trust,
            InlineHashes::Trust,
            InlineHashes::Verify,
            InlineHashes::Ignore,
        ]),
        log_order: random.below(4) == 0,
        order,
        ..Options::default()
    };
    let unexpected = random.pick(&[4, 20, 100]);
    NicConfig {
        handlers: random.pick(&[1, 2, 8, 32, 100]),
        receives: random.pick(&[5, 20, 100]),
        communicators: COMMS as usize,
        bins: BINS as usize,
        completion_queue: 128,
        command_queue: 128,
        completion_ring: 128,
        unexpected,
        unexpected_buffers: random.pick(&[1, 4, unexpected]),
        bounce_buffers: 64,
        eager_limit: 520,
        regions: 1,
        options,
        ..NicConfig::default()
    }
}

#[test]
fn rows_and_single_operations_agree() {
    let mut seen = BoundaryCounts::default();
    // Under Miri only a few: every access is checked there, not every path.
    let (seeds, phases) = if cfg!(miri) { (2, 6) } else { (500, 24) };
    for seed in 1..=seeds {
        let mut random = Random::new(seed);
        let order = random.pick(&[Order::Free, Order::Stamped]);
        let config = config(&mut random, order);
        let hints = core::array::from_fn(|_| Hints {
            no_any_source: random.below(5) == 0,
            no_any_tag: random.below(5) == 0,
            allow_overtaking: random.below(5) == 0,
            offload: random.pick(&[Offload::IfItFits, Offload::IfItFits, Offload::Never]),
        });
        let few = 1 + random.below(4) as u32;
        let (wild, hashes) = (random.below(2) == 0, random.below(3) > 0);
        let mut program = Program {
            random,
            few,
            wild,
            hashes,
        };
        let mut sides = [false, true].map(|single| Side::new(&config, hints, single));
        for phase in 0..phases {
            let mut operations = Vec::new();
            let posted = &sides[0].posted[..];
            // Without stamps the NIC decides how posts and messages interleave, so that a phase
            // has one kind of them.
            for _ in 0..1 + program.random.below(4) {
                let messages = match order {
                    Order::Free => phase % 2 == 1,
                    Order::Stamped => program.random.below(2) == 0,
                };
                if messages {
                    program.messages(&mut operations);
                } else {
                    program.posts(&mut operations);
                    if program.random.below(3) == 0 {
                        operations.push(program.other(posted));
                    }
                }
            }
            if program.random.below(8) == 0 {
                let comm = CommId(program.random.below(3) as u32);
                operations = Vec::from([Operation::HandBack { comm }]);
            }
            for side in &mut sides {
                operations
                    .iter()
                    .for_each(|&operation| side.begin(operation));
                side.end_phase();
            }
            let [rows, single] = &mut sides;
            let what = || alloc::format!("seed {seed}, phase {phase}, {config:?}");
            let results = [rows, single].map(|side| core::mem::take(&mut side.results));
            assert_eq!(results[0], results[1], "{}", what());
            assert_eq!(sides[0].state(), sides[1].state(), "{}", what());
            assert_eq!(sides[0].counts(), sides[1].counts(), "{}", what());
        }
        seen.add(&sides[0].nic.leader.monitor().counts().boundary);
    }
    if cfg!(miri) {
        return;
    }
    let kinds = [
        [seen.posts_late, seen.posts_admitted],
        [seen.collisions, seen.posts_forwarded],
        [seen.arrivals_stored, seen.arrivals_forwarded],
        [seen.cancelled, seen.fallback_receives],
        [seen.fallback_unexpected, seen.resumed],
    ];
    assert!(
        kinds.as_flattened().iter().all(|&count| count > 100),
        "{seen:?}"
    );
}
