//! Races of host, senders and leader without a given order. Afterwards the oracle replays the NIC's
//! own order log: the NIC must have matched as the order that it chose demands (S12).

use std::mem::ManuallyDrop;
use std::sync::Arc;

use dpa_model::{
    CommId, Counts, Event, ForwardedRequest, Hints, HostPort, Leader, Nic, NicConfig, Options,
    RequestId, Round, Selector, Sender, TwoLists, Wait, Worker,
};

use crate::paths::Paths;
use crate::stream::{envelope, payload};
use crate::threads;
use crate::{explore, report};

/// What a role returns at its end.
#[derive(Debug, Default)]
pub struct Ends {
    /// The leader, from the role that ran it.
    pub leader: Option<ManuallyDrop<Box<Leader>>>,
    /// The host's port, from the role that ran it.
    pub host: Option<ManuallyDrop<HostPort>>,
    /// Events that the host has read.
    pub events: Vec<Event>,
    /// Receives in posting order.
    pub posted: Vec<(RequestId, Selector)>,
    /// Probes, each with whether it takes the message.
    pub probed: Vec<(RequestId, Selector, bool)>,
}

/// A thread of the model.
pub type Role = Box<dyn FnOnce() -> Ends + Send>;

/// The parts of a NIC, never dropped when a check fails: while unwinding, a drop would use loom's
/// atomics and hide the message.
#[derive(Debug)]
pub struct Parts {
    /// Worker 0.
    pub leader: ManuallyDrop<Box<Leader>>,
    /// All workers but the leader.
    pub workers: Vec<Box<Worker>>,
    /// The host's end.
    pub host: ManuallyDrop<HostPort>,
    /// The wire's end.
    pub sender: ManuallyDrop<Sender>,
}

/// A NIC in free order that logs its order, with communicator 0 created.
pub fn build(config: NicConfig) -> Parts {
    build_as(NicConfig {
        options: Options {
            log_order: true,
            ..config.options
        },
        ..config
    })
}

/// A NIC with communicator 0 created.
pub fn build_as(config: NicConfig) -> Parts {
    let Nic {
        mut leader,
        workers,
        mut host,
        sender,
    } = Nic::new(&config).expect("a valid configuration");
    host.create(CommId(0), config.bins as u32, Hints::default(), 0)
        .expect("room for a command");
    assert_eq!(leader.round(1), Round::Worked);
    assert!(matches!(
        host.poll(),
        Some(Event::Created {
            offloaded: true,
            ..
        })
    ));
    Parts {
        leader: ManuallyDrop::new(Box::new(leader)),
        workers: workers.into_iter().map(Box::new).collect(),
        host: ManuallyDrop::new(host),
        sender: ManuallyDrop::new(sender),
    }
}

/// Posts a receive of 64 bytes in communicator 0.
pub fn post_one(host: &mut HostPort, selector: Selector) -> (RequestId, Selector) {
    let request = host.post(CommId(0), selector, vec![0xFF; 64], 0);
    (request.expect("room for a command"), selector)
}

/// Sends eight bytes with tag 7 in communicator 0.
pub fn send_one(sender: &mut Sender, source: u32, number: u64) {
    let sent = sender.try_send(envelope(0, source, 7), &payload(number, 8), 0);
    sent.expect("room for a message");
}

/// A role that returns nothing.
pub fn act(role: impl FnOnce() + Send + 'static) -> Role {
    Box::new(move || {
        role();
        Ends::default()
    })
}

/// The leader's role until it has admitted this many posts and matched this many messages.
pub fn lead_until(
    leader: ManuallyDrop<Box<Leader>>,
    awake: usize,
    posts: u64,
    messages: u64,
) -> Role {
    lead(leader, awake, move |counts| {
        counts.boundary.posts == posts && counts.handlers.messages == messages
    })
}

/// The leader's role: rounds until `done` holds for the counters.
pub fn lead(
    mut leader: ManuallyDrop<Box<Leader>>,
    awake: usize,
    done: impl Fn(&Counts) -> bool + Send + 'static,
) -> Role {
    Box::new(move || {
        let monitor = leader.monitor();
        let mut wait = Wait::new();
        while !done(&monitor.counts()) {
            match leader.round(awake) {
                Round::Worked => wait = Wait::new(),
                Round::Idle => wait.pause(),
            }
        }
        Ends {
            leader: Some(leader),
            ..Ends::default()
        }
    })
}

/// Another worker's role: its slice of one block.
pub fn work(mut worker: Box<Worker>) -> Role {
    act(move || {
        let mut wait = Wait::new();
        while !worker.round() {
            wait.pause();
        }
    })
}

/// Runs each role on its own thread, started in the order of `rotation`.
pub fn run(mut roles: Vec<Role>, rotation: usize) -> Ends {
    let count = roles.len();
    roles.rotate_left(rotation % count);
    let threads: Vec<_> = roles.into_iter().map(threads::spawn).collect();
    let mut ends = Ends::default();
    for thread in threads {
        let end = thread.join().expect("a role panicked");
        ends.leader = ends.leader.or(end.leader);
        ends.host = ends.host.or(end.host);
        ends.events.extend(end.events);
        ends.posted.extend(end.posted);
        ends.probed.extend(end.probed);
    }
    ends
}

/// Explores a race in every rotation of its `roles`, and prints its line.
///
/// # Panics
/// When an execution fails, when none took a path of `expected`, or when one took a path of
/// `never`.
pub fn model(
    name: &str,
    roles: usize,
    bound: Option<usize>,
    expected: &[&str],
    never: &[&str],
    model: impl Fn(usize, &Paths) + Send + Sync + 'static,
) {
    let paths = Arc::new(Paths::default());
    let model = Arc::new(model);
    let mut executions = 0;
    for rotation in 0..roles {
        let (paths, model) = (Arc::clone(&paths), Arc::clone(&model));
        executions += explore(name, bound, move || model(rotation, &paths));
    }
    paths.require(name, expected, never);
    report(name, executions, bound);
}

impl Ends {
    /// Reads the rest of the completion ring.
    pub fn read(&mut self) {
        let host = self.host.as_mut().expect("the host's role ended");
        while let Some(event) = host.poll() {
            self.events.push(event);
        }
    }

    /// Replays the events through the oracle and the host's software lists, and drops the NIC.
    /// Returns the remaining (receives, messages).
    ///
    /// # Panics
    /// When the NIC matched against its own order, or left a receive and a message that fit.
    pub fn replay(mut self, paths: &Paths) -> (usize, usize) {
        self.read();
        let mut replay = Replay {
            posted: &self.posted,
            probed: &self.probed,
            oracle: TwoLists::default(),
            software: TwoLists::default(),
            next: 0,
        };
        let host = self.host.as_mut().expect("the host's role ended");
        for event in self.events.drain(..) {
            if let Some(forwarded) = replay.event(event, paths) {
                host.withdraw(forwarded);
            }
        }
        let left = (
            replay.oracle.posted().len(),
            replay.oracle.unexpected().len(),
        );
        for &(_, envelope) in replay.oracle.unexpected() {
            for &(_, comm, selector) in replay.oracle.posted() {
                assert!(!envelope.fits(comm, selector), "the lost message (S12)");
            }
        }
        if let Some(leader) = self.leader.take() {
            paths.add(&leader.monitor().counts());
            drop(ManuallyDrop::into_inner(leader));
        }
        if let Some(host) = self.host.take() {
            drop(ManuallyDrop::into_inner(host));
        }
        left
    }
}

struct Replay<'a> {
    posted: &'a [(RequestId, Selector)],
    probed: &'a [(RequestId, Selector, bool)],
    oracle: TwoLists<usize, u64>,
    /// Software matching on the host of forwarded posts and messages (S20).
    software: TwoLists<usize, u64>,
    /// Next receive of the host's only thread, whose posts take effect in order.
    next: usize,
}

impl Replay<'_> {
    fn place(&self, request: RequestId) -> usize {
        self.posted
            .iter()
            .position(|&(known, _)| known == request)
            .expect("a request of this model")
    }

    /// Posts the next receive in the oracle.
    fn post(&mut self, request: RequestId) -> Option<u64> {
        let receive = self.place(request);
        assert_eq!(receive, self.next, "posts took effect out of order");
        self.next += 1;
        let matched = self.oracle.post(receive, CommId(0), self.posted[receive].1);
        matched.map(|(_, arrival)| arrival)
    }

    /// Whether the receive waits; it does not from now on.
    fn cancel(&mut self, request: RequestId) -> bool {
        let place = self.place(request);
        self.oracle.cancel(|&receive| receive == place).is_some()
    }

    fn event(&mut self, event: Event, paths: &Paths) -> Option<ForwardedRequest> {
        match event {
            Event::Admitted { request } => assert_eq!(self.post(request), None),
            Event::Received {
                request,
                message,
                late: true,
                ..
            } => {
                assert_eq!(
                    self.post(request),
                    Some(message.arrival),
                    "not the oldest unexpected message"
                );
            }
            Event::Received {
                request,
                message,
                late: false,
                ..
            } => {
                let matched = self.oracle.arrive(message.arrival, message.envelope);
                let expected = (self.place(request), message.arrival);
                assert_eq!(matched, Some(expected), "not the oldest receive");
            }
            Event::Unexpected { message } => {
                let receive = self.oracle.arrive(message.arrival, message.envelope);
                assert_eq!(receive, None, "unexpected although a receive waited");
            }
            Event::Cancelled { request, .. } => {
                paths.note("cancelled in time");
                assert!(self.cancel(request), "a matched receive was cancelled");
            }
            Event::TooLate { request } => {
                paths.note("cancelled too late");
                assert!(!self.cancel(request), "a waiting receive was not cancelled");
            }
            Event::PostForwarded { request } => {
                let receive = self.place(request.id());
                let here = self
                    .software
                    .post(receive, CommId(0), self.posted[receive].1);
                assert_eq!(
                    self.post(request.id()),
                    here.map(|(_, arrival)| arrival),
                    "the software lists do not follow the order (S20)"
                );
                return Some(request);
            }
            Event::ArrivalForwarded { message, .. } => {
                let here = self.software.arrive(message.arrival, message.envelope);
                let receive = self.oracle.arrive(message.arrival, message.envelope);
                assert_eq!(
                    receive, here,
                    "the software lists do not follow the order (S20)"
                );
            }
            Event::Probed { request, found, .. } => {
                let probe = self.probed.iter().find(|probe| probe.0 == request);
                let &(_, selector, take) = probe.expect("a probe of this model");
                paths.note(if found.is_some() {
                    "probe found"
                } else {
                    "probe missed"
                });
                let oldest = if take {
                    self.oracle.take(CommId(0), selector)
                } else {
                    self.oracle.probe(CommId(0), selector).copied()
                };
                assert_eq!(
                    found.map(|message| message.arrival),
                    oldest,
                    "not the oldest message"
                );
            }
            Event::Declined { receives, .. } => assert!(receives.is_empty()),
            Event::Resumed { .. } => {
                let empty =
                    self.software.posted().is_empty() && self.software.unexpected().is_empty();
                assert!(empty, "software still holds receives or messages (S20)");
            }
            other => panic!("unexpected event {other:?}"),
        }
        None
    }
}
