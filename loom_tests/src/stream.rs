//! A stream of posts, cancels and messages in fixed order, run by the shipped NIC and by the
//! oracle.
//!
//! Stamps (`Order::Stamped`) fix the order, so the NIC gets everything before its workers start.
//! The model then explores the handlers of each block against each other, and each block against
//! the boundary that follows.

use std::mem::ManuallyDrop;

use dpa_model::{
    CommId, Counts, Domains, Envelope, Event, Feeder, Hints, Leader, MsgId, Nic, NicConfig,
    Operation, Options, Order, Outcome, Rank, RecvId, Round, Selector, SourceSel, Tag, TagSel,
    TwoLists, Wait, Worker,
};

use crate::story;
use crate::threads;

/// Number of the receive, arrival number of the message.
type Oracle = TwoLists<usize, u64>;

/// A wildcard.
pub const ANY: Option<u32> = None;

/// A receive of communicator 0; `None` is a wildcard.
pub fn post(source: impl Into<Option<u32>>, tag: impl Into<Option<u32>>) -> Operation {
    post_in(0, source, tag)
}

/// A receive of any communicator; `None` is a wildcard.
pub fn post_in(
    comm: u32,
    source: impl Into<Option<u32>>,
    tag: impl Into<Option<u32>>,
) -> Operation {
    let selector = selector(source.into(), tag.into());
    Operation::Post {
        recv: RecvId::default(),
        comm: CommId(comm),
        selector,
        bytes: 64,
    }
}

/// Cancels the n-th posted receive, counted from 0.
pub fn cancel(receive: usize) -> Operation {
    Operation::Cancel {
        recv: RecvId(receive as u64),
    }
}

/// A selector; `None` is a wildcard.
pub fn selector(source: Option<u32>, tag: Option<u32>) -> Selector {
    Selector {
        source: source.map_or(SourceSel::Any, |rank| {
            SourceSel::Rank(Rank::new(rank).expect("a small rank"))
        }),
        tag: tag.map_or(TagSel::Any, |tag| {
            TagSel::Tag(Tag::new(tag).expect("a small tag"))
        }),
    }
}

/// A message on communicator 0, with its data in the entry.
pub fn send(source: u32, tag: u32) -> Operation {
    send_in(0, source, tag)
}

/// A message on any communicator, with its data in the entry.
pub fn send_in(comm: u32, source: u32, tag: u32) -> Operation {
    let envelope = envelope(comm, source, tag);
    Operation::Arrive {
        msg: MsgId::default(),
        envelope,
        bytes: 8,
    }
}

/// The envelope of a message.
pub fn envelope(comm: u32, source: u32, tag: u32) -> Envelope {
    Envelope {
        comm: CommId(comm),
        source: Rank::new(source).expect("a small rank"),
        tag: Tag::new(tag).expect("a small tag"),
    }
}

/// The defaults, with the paper's rules for a whole block.
pub fn paper() -> Options {
    Options {
        domains: Domains::Paper,
        ..Options::default()
    }
}

/// The smallest NIC with blocks of `handlers` on `workers`. Uncontended parts are tiny, since every
/// atomic costs time. The first sender has its own queue.
pub fn tiny(handlers: usize, workers: usize, options: Options) -> NicConfig {
    NicConfig {
        handlers,
        workers,
        slice_min: 1,
        receives: 8,
        bins: 1,
        communicators: 1,
        index_bins: 0,
        completion_queues: 2,
        completion_queue: handlers.next_power_of_two(),
        bounce_buffers: 1,
        eager_limit: 32,
        unexpected: 8,
        unexpected_buffers: 1,
        command_queue: 8,
        completion_ring: 16.max(handlers.next_power_of_two()),
        regions: 1,
        options,
        ..NicConfig::default()
    }
}

/// What became of a receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It still waits.
    Posted,
    /// It has its message.
    Matched {
        /// The number of the message.
        arrival: u64,
        /// The message was unexpected.
        late: bool,
    },
    /// It was cancelled in time.
    Cancelled,
}

/// Who runs the blocks of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crew {
    /// All workers, with all input present beforehand.
    Shared,
    /// The leader in order, while another thread posts and sends; blocks hold what has arrived.
    Alone,
}

/// A NIC's configuration and hints, with a stream for it.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Configuration of the NIC; queues are just deep enough, and the order is the stream's.
    pub config: NicConfig,
    /// Hints of every communicator.
    pub hints: Hints,
    /// The operations; receives and messages are numbered from 0.
    pub steps: Vec<Operation>,
    /// The leader runs every second block alone, like a pool that compares both ways.
    pub switching: bool,
    /// Each message has other wrong hashes. With one bin it is matched by its fields.
    pub false_hashes: bool,
}

impl Stream {
    /// A stream with numbered operations, and queues that hold it.
    pub fn new(config: NicConfig, steps: &[Operation]) -> Self {
        let mut steps = steps.to_vec();
        let (mut posts, mut sends) = (0, 0);
        for step in &mut steps {
            match step {
                Operation::Post { recv, .. } => (*recv, posts) = (RecvId(posts), posts + 1),
                Operation::Arrive { msg, .. } => (*msg, sends) = (MsgId(sends), sends + 1),
                _ => {}
            }
        }
        let sends = sends as usize;
        let commands = steps.len() - sends;
        let config = NicConfig {
            completion_queue: sends.max(config.handlers).next_power_of_two(),
            command_queue: commands.max(2).next_power_of_two(),
            completion_ring: (steps.len() + config.communicators)
                .max(config.handlers)
                .next_power_of_two(),
            options: Options {
                order: Order::Stamped,
                ..config.options
            },
            ..config
        };
        Self {
            config,
            hints: Hints::default(),
            steps,
            switching: false,
            false_hashes: false,
        }
    }

    /// Runs the stream once under the model checker and compares the outcome with the oracle's.
    /// `rotation` shifts the roles over the checker's threads. Returns the NIC's counters.
    ///
    /// # Panics
    /// When an outcome differs.
    pub fn run(&self, crew: Crew, rotation: usize) -> Counts {
        let Nic {
            leader,
            workers,
            host,
            sender,
        } = Nic::new(&self.config).expect("a valid configuration");
        // Never dropped when a check fails: while unwinding, a drop would use the checker's atomics
        // and hide the message.
        let mut leader = ManuallyDrop::new(Box::new(leader));
        let mut feeder = ManuallyDrop::new(Feeder::new(host, sender));

        for comm in self.comms() {
            let bins = self.config.bins as u32;
            issue(
                &mut feeder,
                &Operation::Create {
                    comm,
                    bins,
                    hints: self.hints,
                },
            );
            assert_eq!(leader.round(1), Round::Worked);
            assert!(matches!(
                feeder.host.poll(),
                Some(Event::Created {
                    offloaded: true,
                    ..
                })
            ));
        }
        story::begin(&self.steps);
        story::expects(|| self.expected_words());
        let (steps, lies) = (self.steps.clone(), self.false_hashes);
        let feed = move || {
            for step in &steps {
                if let (true, Operation::Arrive { msg, .. }) = (lies, step) {
                    feeder.sender.set_hash_fault(msg.0 as u32 + 1);
                }
                issue(&mut feeder, step);
            }
            feeder
        };
        let mut feeder = match crew {
            Crew::Shared => {
                let feeder = feed();
                leader = self.match_concurrently(leader, workers, rotation);
                feeder
            }
            Crew::Alone => {
                let feeding = threads::spawn(feed);
                self.match_alone(&mut leader);
                let feeder = feeding.join().expect("the feeder panicked");
                while leader.round(1) == Round::Worked {}
                feeder
            }
        };

        let (expected, oracle) = self.expected();
        let mut fates = vec![Fate::Posted; expected.len()];
        collect(&mut feeder, &mut fates);
        if self.hints.allow_overtaking {
            assert_eq!(
                taken(&fates),
                taken(&expected),
                "a message was lost or matched twice (S24)"
            );
        } else {
            assert_eq!(fates, expected, "receives matched otherwise than in order");
        }
        self.drain(&mut leader, &mut feeder, expected.len(), oracle);
        let (counts, arrivals) = (leader.monitor().counts(), feeder.arrivals());
        assert_eq!(
            counts.handlers.messages, arrivals,
            "a message was matched twice or not at all"
        );
        drop((
            ManuallyDrop::into_inner(leader),
            ManuallyDrop::into_inner(feeder),
        ));
        counts
    }

    fn comms(&self) -> impl Iterator<Item = CommId> {
        (0..self.config.communicators as u32).map(CommId)
    }

    fn match_alone(&self, leader: &mut Leader) {
        let messages = self.steps.iter().filter(|step| step.is_arrival()).count() as u64;
        let mut wait = Wait::new();
        while leader.monitor().counts().handlers.messages < messages {
            match leader.round(1) {
                Round::Worked => wait = Wait::new(),
                Round::Idle => wait.pause(),
            }
        }
    }

    /// Runs all workers, each on its thread, to the end of the stream.
    fn match_concurrently(
        &self,
        leader: ManuallyDrop<Box<Leader>>,
        workers: Vec<Worker>,
        rotation: usize,
    ) -> ManuallyDrop<Box<Leader>> {
        type Role = Box<dyn FnOnce() -> Option<ManuallyDrop<Box<Leader>>> + Send>;
        let (awake, switching) = (self.config.workers, self.switching);
        let lead = move || {
            let mut leader = leader;
            let mut awake = [awake, if switching { 1 } else { awake }]
                .into_iter()
                .cycle();
            while leader.round(awake.next().unwrap_or(1)) == Round::Worked {}
            Some(leader)
        };
        let mut roles: Vec<Role> = vec![Box::new(lead)];
        for mut worker in workers.into_iter().map(Box::new) {
            let blocks = self
                .slices()
                .filter(|&slices| slices > worker.index())
                .count();
            roles.push(Box::new(move || {
                for _ in 0..blocks {
                    let mut wait = Wait::new();
                    while !worker.round() {
                        wait.pause();
                    }
                }
                None
            }));
        }
        let count = roles.len();
        roles.rotate_left(rotation % count);
        // The main thread only waits: switching away from a waiting thread costs no preemption.
        let others: Vec<_> = roles.into_iter().map(threads::spawn).collect();
        let mut leader = None;
        for other in others {
            leader = leader.or(other.join().expect("a worker panicked"));
        }
        leader.expect("one of the roles was the leader")
    }

    /// Slices of each block of this stream. A command ends a block, as do N messages (S2, S12).
    pub fn slices(&self) -> impl Iterator<Item = usize> + '_ {
        let runs = self.steps.split(|step| !step.is_arrival());
        let blocks = runs.flat_map(|run| run.chunks(self.config.handlers).map(<[Operation]>::len));
        blocks.enumerate().map(|(number, count)| match number % 2 {
            1 if self.switching => 1,
            _ => (count / self.config.slice_min).clamp(1, self.config.workers),
        })
    }

    fn expected(&self) -> (Vec<Fate>, Oracle) {
        let mut oracle = Oracle::default();
        let mut fates = Vec::new();
        let mut arrivals = 0;
        for &step in &self.steps {
            match step {
                Operation::Post { comm, selector, .. } => {
                    let found = oracle.post(fates.len(), comm, selector);
                    fates.push(found.map_or(Fate::Posted, |(_, arrival)| Fate::Matched {
                        arrival,
                        late: true,
                    }));
                }
                Operation::Cancel {
                    recv: RecvId(receive),
                } => {
                    let receive = receive as usize;
                    if oracle.cancel(|&other| other == receive).is_some() {
                        fates[receive] = Fate::Cancelled;
                    }
                }
                Operation::Arrive { envelope, .. } => {
                    if let Some((receive, _)) = oracle.arrive(arrivals, envelope) {
                        fates[receive] = Fate::Matched {
                            arrival: arrivals,
                            late: false,
                        };
                    }
                    arrivals += 1;
                }
                _ => panic!("a stream has no {step:?}"),
            }
        }
        (fates, oracle)
    }

    /// What the oracle gives each receive.
    fn expected_words(&self) -> String {
        let (fates, _) = self.expected();
        let one = |(receive, fate): (usize, &Fate)| match fate {
            Fate::Posted => format!("receive {receive} waits"),
            Fate::Matched { arrival, .. } => format!("receive {receive} has message {arrival}"),
            Fate::Cancelled => format!("receive {receive} is cancelled"),
        };
        let all: Vec<String> = fates.iter().enumerate().map(one).collect();
        let any = if self.hints.allow_overtaking {
            " (with overtaking, as many receives have messages, in any order)"
        } else {
            ""
        };
        all.join(", ") + any
    }

    /// Empties the NIC. Every waiting receive can be cancelled, so the chains are whole; the
    /// unexpected messages come in arrival order (S14), and no more than expected.
    fn drain(&self, leader: &mut Leader, feeder: &mut Feeder, posts: usize, oracle: Oracle) {
        let mut fates = vec![Fate::Posted; posts];
        let mut expected = fates.clone();
        let mut one = |operation, fates: &mut [Fate]| {
            issue(feeder, &operation);
            assert_eq!(leader.round(1), Round::Worked);
            collect(feeder, fates);
        };
        for &(receive, ..) in oracle.posted() {
            one(cancel(receive), &mut fates);
            expected[receive] = Fate::Cancelled;
        }
        for &(arrival, Envelope { comm, source, tag }) in oracle.unexpected() {
            let any = Selector {
                source: if self.hints.no_any_source {
                    source.into()
                } else {
                    SourceSel::Any
                },
                tag: if self.hints.no_any_tag {
                    tag.into()
                } else {
                    TagSel::Any
                },
            };
            let recv = RecvId(fates.len() as u64);
            fates.push(Fate::Posted);
            one(
                Operation::Post {
                    recv,
                    comm,
                    selector: any,
                    bytes: 64,
                },
                &mut fates,
            );
            expected.push(Fate::Matched {
                arrival,
                late: true,
            });
        }
        for comm in self.comms() {
            issue(feeder, &Operation::Free { comm });
            assert_eq!(leader.round(1), Round::Worked);
            match feeder.host.poll() {
                Some(Event::Freed { busy: false, .. }) => {}
                other => panic!("something is left on the NIC: {other:?}"),
            }
        }
        if !self.hints.allow_overtaking {
            assert_eq!(
                fates, expected,
                "what was left came out otherwise than in order"
            );
        }
    }
}

/// Numbers of receives with a message, and of distinct messages.
fn taken(fates: &[Fate]) -> (usize, usize) {
    let mut arrivals: Vec<u64> = fates
        .iter()
        .filter_map(|fate| {
            if let Fate::Matched { arrival, .. } = fate {
                Some(*arrival)
            } else {
                None
            }
        })
        .collect();
    let receives = arrivals.len();
    arrivals.sort_unstable();
    arrivals.dedup();
    (receives, arrivals.len())
}

/// A message's payload, which encodes its arrival number.
pub fn payload(arrival: u64, length: usize) -> Vec<u8> {
    vec![arrival as u8; length]
}

/// Hands an operation to the NIC, which must have room.
fn issue(feeder: &mut Feeder, operation: &Operation) {
    assert_eq!(feeder.try_issue(operation), Ok(true), "{operation:?}");
    if let Operation::Post { recv, .. } = *operation {
        story::posted(feeder.request(recv).map(|request| request.as_u64()));
    }
}

/// Reads all completions and records the fates of the receives.
///
/// # Panics
/// When a receive ends twice or without its message's data.
fn collect(feeder: &mut Feeder, fates: &mut [Fate]) {
    while let Some(event) = feeder.host.poll() {
        let late = matches!(event, Event::Received { late: true, .. });
        let (recv, fate) = match feeder.note(event).expect("a result of this stream") {
            Some(Outcome::Matched { recv, msg }) => (
                recv,
                Fate::Matched {
                    arrival: msg.0,
                    late,
                },
            ),
            Some(Outcome::Cancelled { recv }) => (recv, Fate::Cancelled),
            Some(Outcome::TooLate { .. }) => continue,
            other => panic!("unexpected outcome {other:?}"),
        };
        let fate_so_far = &mut fates[recv.0 as usize];
        assert_eq!(*fate_so_far, Fate::Posted, "receive {recv:?} ended twice");
        *fate_so_far = fate;
    }
}
