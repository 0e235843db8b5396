//! A stream of posts, cancels and messages in a fixed order, run by the shipped NIC and by the
//! oracle.
//!
//! The order is given by stamps (`Order::Stamped`), so everything can be handed to the NIC before
//! its workers start: what the model then explores is the handlers of each block against each
//! other, and each block against the boundary that follows.

use std::mem::ManuallyDrop;

use dpa_model::{
    CommId, Counts, Envelope, Event, Hints, Leader, Nic, NicConfig, Options, Order, Rank,
    RequestId, Round, Selector, SourceSel, Tag, TagSel, Wait, Worker,
};

use crate::oracle::Oracle;
use crate::threads;

/// One event of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A receive is posted.
    Post(CommId, Selector),
    /// The receive posted as the n-th, counted from 0, is cancelled.
    Cancel(usize),
    /// A message arrives; its payload of that many bytes says which.
    Send(Envelope, usize),
}

/// A receive of communicator 0; `None` is a wildcard.
pub fn post(source: impl Into<Option<u32>>, tag: impl Into<Option<u32>>) -> Step {
    post_in(0, source, tag)
}

/// A receive of any communicator; `None` is a wildcard.
pub fn post_in(comm: u32, source: impl Into<Option<u32>>, tag: impl Into<Option<u32>>) -> Step {
    Step::Post(CommId(comm), selector(source.into(), tag.into()))
}

/// A selector; `None` is a wildcard.
pub fn selector(source: Option<u32>, tag: Option<u32>) -> Selector {
    Selector {
        source: source
            .map_or(SourceSel::Any, |rank| SourceSel::Rank(Rank::new(rank).expect("a small rank"))),
        tag: tag.map_or(TagSel::Any, |tag| TagSel::Tag(Tag::new(tag).expect("a small tag"))),
    }
}

/// A message of communicator 0 that travels in its entry.
pub fn send(source: u32, tag: u32) -> Step {
    send_in(0, source, tag)
}

/// A message of any communicator that travels in its entry.
pub fn send_in(comm: u32, source: u32, tag: u32) -> Step {
    Step::Send(envelope(comm, source, tag), 8)
}

/// What a message carries.
pub fn envelope(comm: u32, source: u32, tag: u32) -> Envelope {
    Envelope {
        comm: CommId(comm),
        source: Rank::new(source).expect("a small rank"),
        tag: Tag::new(tag).expect("a small tag"),
    }
}

/// The smallest NIC that runs blocks of `handlers` on `workers`: what is not contended is kept
/// tiny, since every atomic costs time.
pub fn tiny(handlers: usize, workers: usize, options: Options) -> NicConfig {
    NicConfig {
        handlers,
        workers,
        slice_min: 1,
        receives: 8,
        bins: 1,
        communicators: 1,
        index_bins: 0,
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
    /// It waits.
    Posted,
    /// It took the message with this arrival number, which had come before it or not.
    Matched {
        /// Arrival number.
        arrival: u64,
        /// The message was unexpected.
        late: bool,
    },
    /// It was cancelled in time.
    Cancelled,
}

/// A NIC's size and hints with a stream for it.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Size of the NIC; queues are just deep enough for the stream, and the order is the stream's.
    pub config: NicConfig,
    /// Hints of all communicators.
    pub hints: Hints,
    /// The events.
    pub steps: Vec<Step>,
}

impl Stream {
    /// A stream for a NIC of this size.
    pub fn new(config: NicConfig, steps: &[Step]) -> Self {
        let commands = steps.iter().filter(|step| !matches!(step, Step::Send(..))).count();
        let sends = steps.len() - commands;
        let config = NicConfig {
            completion_queue: sends.max(config.handlers).next_power_of_two(),
            command_queue: commands.max(2).next_power_of_two(),
            completion_ring: (steps.len() + config.communicators)
                .max(config.handlers)
                .next_power_of_two(),
            options: Options { order: Order::Stamped, ..config.options },
            ..config
        };
        Self { config, hints: Hints::default(), steps: steps.to_vec() }
    }

    /// Runs the stream once under the tool's scheduler and compares the outcome with the oracle's.
    /// `rotation` says how far the roles are moved along the tool's threads. Returns the NIC's
    /// counters.
    ///
    /// # Panics
    /// When anything differs.
    pub fn run(&self, rotation: usize) -> Counts {
        let Nic { leader, workers, host, sender } =
            Nic::new(&self.config).expect("a valid configuration");
        // Nothing is dropped when a check fails: a drop would use the tool's atomics while it
        // unwinds, and hide the message.
        let mut leader = ManuallyDrop::new(Box::new(leader));
        let mut host = ManuallyDrop::new(host);
        let mut sender = ManuallyDrop::new(sender);

        for comm in 0..self.config.communicators as u32 {
            host.create(CommId(comm), self.config.bins as u32, self.hints, 0)
                .expect("room for a command");
            assert_eq!(leader.round(1), Round::Worked);
            assert!(matches!(host.poll(), Some(Event::Created { offloaded: true, .. })));
        }
        let mut requests = Vec::new();
        let mut arrivals = 0;
        for &step in &self.steps {
            match step {
                Step::Post(comm, selector) => {
                    requests.push(
                        host.post(comm, selector, vec![0xFF; 64], arrivals)
                            .expect("room for a command"),
                    );
                }
                Step::Cancel(receive) => {
                    host.cancel(requests[receive], arrivals).expect("room for a command");
                }
                Step::Send(envelope, length) => {
                    let bytes = payload(arrivals, length);
                    sender
                        .try_send(envelope, &bytes, host.commands_counted())
                        .expect("room for a message");
                    arrivals += 1;
                }
            }
        }

        leader = self.match_concurrently(leader, workers, rotation);

        let mut fates = vec![Fate::Posted; requests.len()];
        collect(&mut host, &requests, &mut fates);
        let (expected, oracle) = self.expected();
        if self.hints.allow_overtaking {
            assert_eq!(
                taken(&fates),
                taken(&expected),
                "a message was lost or matched twice (S24)"
            );
        } else {
            assert_eq!(fates, expected, "receives matched otherwise than in order (C1, C2)");
        }
        self.drain(&mut leader, &mut host, requests, arrivals, oracle);
        let counts = leader.monitor().counts();
        assert_eq!(counts.handlers.messages, arrivals, "a message was matched twice or not at all");
        drop((
            ManuallyDrop::into_inner(leader),
            ManuallyDrop::into_inner(host),
            ManuallyDrop::into_inner(sender),
        ));
        counts
    }

    /// All workers on threads of their own, until the stream is used up.
    fn match_concurrently(
        &self,
        leader: ManuallyDrop<Box<Leader>>,
        workers: Vec<Worker>,
        rotation: usize,
    ) -> ManuallyDrop<Box<Leader>> {
        type Role = Box<dyn FnOnce() -> Option<ManuallyDrop<Box<Leader>>> + Send>;
        let awake = self.config.workers;
        let lead = move || {
            let mut leader = leader;
            while leader.round(awake) == Round::Worked {}
            Some(leader)
        };
        let mut roles: Vec<Role> = vec![Box::new(lead)];
        for mut worker in workers.into_iter().map(Box::new) {
            let blocks = self.slices().filter(|&slices| slices > worker.index()).count();
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
        // The main thread only waits: a switch away from a waiting thread costs no preemption,
        // whoever comes next.
        let others: Vec<_> = roles.into_iter().map(threads::spawn).collect();
        let mut leader = None;
        for other in others {
            leader = leader.or(other.join().expect("a worker panicked"));
        }
        leader.expect("one of the roles was the leader")
    }

    /// How many slices each block of this stream has: a command ends a block, and so do N messages
    /// (S2, S12).
    pub fn slices(&self) -> impl Iterator<Item = usize> + '_ {
        let runs = self.steps.split(|step| !matches!(step, Step::Send(..)));
        let blocks = runs.flat_map(|run| run.chunks(self.config.handlers).map(<[Step]>::len));
        blocks.map(|count| (count / self.config.slice_min).clamp(1, self.config.workers))
    }

    /// What must become of each receive, and what must then be left.
    fn expected(&self) -> (Vec<Fate>, Oracle) {
        let mut oracle = Oracle::default();
        let mut fates = Vec::new();
        let mut arrivals = 0;
        for &step in &self.steps {
            match step {
                Step::Post(comm, selector) => {
                    let found = oracle.post(fates.len(), comm, selector);
                    fates.push(
                        found.map_or(Fate::Posted, |arrival| Fate::Matched { arrival, late: true }),
                    );
                }
                Step::Cancel(receive) => {
                    if oracle.cancel(receive) {
                        fates[receive] = Fate::Cancelled;
                    }
                }
                Step::Send(envelope, _) => {
                    if let Some(receive) = oracle.arrive(arrivals, envelope) {
                        fates[receive] = Fate::Matched { arrival: arrivals, late: false };
                    }
                    arrivals += 1;
                }
            }
        }
        (fates, oracle)
    }

    /// Takes everything out that is left: every waiting receive can be cancelled, so the chains are
    /// whole, and the unexpected messages come out in arrival order (S14) and are no more than
    /// there should be.
    fn drain(
        &self,
        leader: &mut Leader,
        host: &mut dpa_model::HostPort,
        mut requests: Vec<RequestId>,
        arrivals: u64,
        oracle: Oracle,
    ) {
        let mut fates = vec![Fate::Posted; requests.len()];
        let mut expected = fates.clone();
        for receive in oracle.posted() {
            host.cancel(requests[receive], arrivals).expect("room for a command");
            assert_eq!(leader.round(1), Round::Worked);
            collect(host, &requests, &mut fates);
            expected[receive] = Fate::Cancelled;
        }
        for &(arrival, envelope) in oracle.unexpected() {
            let any = Selector {
                source: if self.hints.no_any_source {
                    envelope.source.into()
                } else {
                    SourceSel::Any
                },
                tag: if self.hints.no_any_tag { envelope.tag.into() } else { TagSel::Any },
            };
            requests.push(
                host.post(envelope.comm, any, vec![0xFF; 64], arrivals)
                    .expect("room for a command"),
            );
            assert_eq!(leader.round(1), Round::Worked);
            fates.push(Fate::Posted);
            collect(host, &requests, &mut fates);
            expected.push(Fate::Matched { arrival, late: true });
        }
        for comm in 0..self.config.communicators as u32 {
            host.free(CommId(comm), arrivals).expect("room for a command");
            assert_eq!(leader.round(1), Round::Worked);
            match host.poll() {
                Some(Event::Freed { busy: false, .. }) => {}
                other => panic!("something is left on the NIC: {other:?}"),
            }
        }
        if !self.hints.allow_overtaking {
            assert_eq!(fates, expected, "what was left came out otherwise than in order");
        }
    }
}

/// How many receives got a message, and how many different messages they got.
fn taken(fates: &[Fate]) -> (usize, usize) {
    let mut arrivals: Vec<u64> = fates
        .iter()
        .filter_map(
            |fate| if let Fate::Matched { arrival, .. } = fate { Some(*arrival) } else { None },
        )
        .collect();
    let receives = arrivals.len();
    arrivals.sort_unstable();
    arrivals.dedup();
    (receives, arrivals.len())
}

/// The payload of a message, which says its arrival number.
pub fn payload(arrival: u64, length: usize) -> Vec<u8> {
    vec![arrival as u8; length]
}

/// Reads all completions and notes what became of the receives.
///
/// # Panics
/// When a receive ends twice or without its message's data.
pub fn collect(host: &mut dpa_model::HostPort, requests: &[RequestId], fates: &mut [Fate]) {
    while let Some(event) = host.poll() {
        let (request, fate) = match event {
            Event::Received { request, buffer, message, late } => {
                let expected = payload(message.arrival, message.length as usize);
                assert_eq!(buffer[..expected.len()], expected, "the data of another message");
                (request, Fate::Matched { arrival: message.arrival, late })
            }
            Event::Cancelled { request, .. } => (request, Fate::Cancelled),
            Event::TooLate { .. } => continue,
            other => panic!("unexpected event {other:?}"),
        };
        let place =
            requests.iter().position(|&known| known == request).expect("a request of this stream");
        assert_eq!(fates[place], Fate::Posted, "receive {place} ended twice");
        fates[place] = fate;
    }
}
