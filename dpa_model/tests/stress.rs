//! Senders that come and go, rendezvous sends that are waited for, dropped or outlive the NIC,
//! cancels, matched probes that are received or dropped, a port that goes away while blocks run;
//! two workers that share every block, and every kind of removal.
//!
//! The test checks that each message is taken once, with its own bytes, and that every wait ends.
//! It is small enough for Miri, which checks each access; `DPAMATCH_STRESS`, a factor, enlarges it
//! for ThreadSanitizer. `docs/correctness.md` has the commands.

#[path = "../../tests/watchdog/mod.rs"]
mod watchdog;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use dpa_model::{
    CommId, Envelope, Event, FastPath, Hints, HostPort, Message, Nic, NicConfig, Options, Pool,
    Rank, Removal, RequestId, Selector, SendError, SendRequest, Sender, SourceSel, Tag, TagSel,
    TakenMessage, Wait,
};

const COMM: CommId = CommId(0);
const EAGER: usize = 64;
const LONGEST: usize = 100;
/// Concurrent senders.
const TOGETHER: u64 = 2;

/// Repetitions of everything.
fn factor() -> u64 {
    let asked = std::env::var("DPAMATCH_STRESS").ok();
    asked.map_or(1, |factor| {
        factor.parse().expect("DPAMATCH_STRESS is a number")
    })
}

/// Messages in one sender's life.
fn each() -> u64 {
    if cfg!(miri) { 6 } else { 100 }
}

/// Consecutive lives of each sender.
fn waves() -> u64 {
    if cfg!(miri) { 2 } else { 4 * factor() }
}

/// Numbers from a seed (xorshift): no other crate, so that little is built for Miri.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

fn tag(number: u64) -> Tag {
    Tag::new(number as u32).expect("a small tag")
}

fn source(number: u64) -> Rank {
    Rank::new(number as u32).expect("a small rank")
}

fn nic(removal: Removal, fast_path: FastPath, messages: u64) -> Nic {
    let config = NicConfig {
        handlers: 8,
        workers: 2,
        slice_min: 1,
        receives: 64,
        communicators: 1,
        bins: 2,
        completion_queue: 16,
        bounce_buffers: 4,
        eager_limit: EAGER,
        unexpected: messages as usize,
        unexpected_buffers: messages as usize,
        command_queue: 8,
        completion_ring: 16,
        regions: 1,
        options: Options {
            removal,
            fast_path,
            ..Options::default()
        },
        ..NicConfig::default()
    };
    let mut nic = Nic::new(&config).expect("a sound configuration");
    nic.host.create(COMM, 2, Hints::default(), 0).expect("room");
    nic
}

/// The bytes of a message: its number, then bytes derived from it.
fn bytes(number: u64) -> Vec<u8> {
    let length = [8, 8 + 40, LONGEST, LONGEST][(number % 4) as usize];
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.resize(length, number as u8);
    bytes
}

fn envelope(number: u64) -> Envelope {
    Envelope {
        comm: COMM,
        source: source(number % 2),
        tag: tag(number / 2 % 3),
    }
}

/// Sends one message; a long one is waited for or not. `Stopped` ends a life.
fn send(sender: &mut Sender, number: u64, open: &mut Vec<SendRequest>) -> Result<(), SendError> {
    let (envelope, mut buffer) = (envelope(number), bytes(number));
    if buffer.len() <= EAGER {
        return sender.send(envelope, &buffer);
    }
    let mut wait = Wait::new();
    loop {
        match sender.try_send_rendezvous(envelope, buffer, 0) {
            Ok(request) => {
                if number % 4 == 2 {
                    open.push(request);
                }
                return Ok(());
            }
            Err((SendError::ReceiverNotReady, back)) => buffer = back,
            Err((error, _)) => return Err(error),
        }
        wait.pause();
    }
}

/// One sender's life: `each` messages from number `first` on. Returns whether the NIC outlived it.
fn life(mut sender: Sender, first: u64) -> bool {
    let mut open = Vec::new();
    let sent = (first..first + each()).try_for_each(|number| send(&mut sender, number, &mut open));
    assert!(matches!(sent, Ok(()) | Err(SendError::Stopped)), "{sent:?}");
    // Some requests outlive their sender.
    drop(sender);
    for (place, mut request) in open.into_iter().enumerate() {
        let result = if place % 2 == 0 {
            request.test()
        } else {
            Some(request.wait())
        };
        let back = match result {
            None => continue,
            Some(Ok(back)) => back,
            Some(Err((SendError::Stopped | SendError::NotReceived, back))) => back,
            Some(Err((other, _))) => panic!("{other:?}"),
        };
        let number = u64::from_le_bytes(back[..8].try_into().expect("eight bytes"));
        assert_eq!(back, bytes(number), "another message's buffer");
    }
    sent.is_ok()
}

/// The host with its open requests and its results.
struct Host {
    port: HostPort,
    random: Random,
    /// Receives that may still be posted.
    posted: Vec<RequestId>,
    probes: u64,
    taken: Vec<TakenMessage>,
    /// Numbers of the messages that have ended.
    ended: HashSet<u64>,
    /// Messages taken and then dropped unread.
    dropped: u64,
}

impl Host {
    fn new(port: HostPort) -> Self {
        Self {
            port,
            random: Random(0x9E37_79B9_7F4A_7C15),
            posted: Vec::new(),
            probes: 0,
            taken: Vec::new(),
            ended: HashSet::new(),
            dropped: 0,
        }
    }

    fn done(&self) -> u64 {
        self.ended.len() as u64 + self.dropped
    }

    fn post(&mut self) {
        let selector = Selector::new(
            if self.random.one_in(2) {
                SourceSel::Any
            } else {
                source(self.random.below(2)).into()
            },
            if self.random.one_in(2) {
                TagSel::Any
            } else {
                tag(self.random.below(3)).into()
            },
        );
        if let Ok(request) = self.port.post(COMM, selector, vec![0; LONGEST], 0) {
            self.posted.push(request);
        }
    }

    /// Issues one more request.
    fn ask(&mut self) {
        if self.posted.len() < 20 {
            self.post();
        }
        if self.random.one_in(4) && !self.posted.is_empty() {
            let place = self.random.below(self.posted.len() as u64) as usize;
            // Full: try again later.
            let _ = self.port.cancel(self.posted[place], 0);
        }
        if self.random.one_in(4) && self.probes == 0 {
            let any = Selector::new(SourceSel::Any, TagSel::Any);
            self.probes += u64::from(self.port.probe(COMM, any, true, 0).is_ok());
        }
        if let Some(message) = self.taken.pop() {
            if self.random.one_in(2) {
                drop(message);
                self.dropped += 1;
            } else {
                match self.port.receive(message, vec![0; LONGEST], 0) {
                    Ok(_) => {}
                    Err((_, message, _)) => self.taken.push(message),
                }
            }
        }
    }

    /// Polls all events. Returns whether there were any.
    fn poll(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.port.poll() {
            any = true;
            match event {
                Event::Received {
                    request,
                    buffer,
                    message,
                    ..
                } => {
                    self.posted.retain(|&other| other != request);
                    self.note(message, &buffer);
                }
                Event::Cancelled { request, buffer } => {
                    assert_eq!(buffer, [0; LONGEST], "nothing was received");
                    self.posted.retain(|&other| other != request);
                }
                Event::Probed { taken, .. } => {
                    self.probes -= 1;
                    self.taken.extend(taken);
                }
                Event::TooLate { .. }
                | Event::Created {
                    offloaded: true, ..
                } => {}
                other => panic!("nothing goes to software: {other:?}"),
            }
        }
        any
    }

    fn note(&mut self, message: Message, buffer: &[u8]) {
        let number = u64::from_le_bytes(buffer[..8].try_into().expect("eight bytes"));
        assert_eq!(buffer[..message.length as usize], bytes(number)[..]);
        assert_eq!(message.envelope, envelope(number));
        assert!(self.ended.insert(number), "message {number} came twice");
    }
}

/// Sends the messages of all waves, then ends the NIC in the middle of another wave. `early`: the
/// host's port is dropped first.
fn storm(removal: Removal, fast_path: FastPath, early: bool) {
    let messages = waves() * TOGETHER * each();
    let nic = nic(removal, fast_path, messages + TOGETHER * each());
    let pool = Pool::start(nic.leader, nic.workers, |_| ()).expect("threads");
    let (mut host, sender) = (Host::new(nic.host), nic.sender);
    let numbers = AtomicU64::new(0);
    thread::scope(|scope| {
        let wave = || {
            for _ in 0..waves() {
                let first = numbers.fetch_add(each(), Relaxed);
                assert!(life(sender.clone(), first), "the NIC ended too soon");
            }
        };
        for _ in 0..TOGETHER {
            scope.spawn(wave);
        }
        let mut wait = Wait::new();
        while host.done() < messages {
            host.ask();
            if host.poll() {
                wait = Wait::new();
            } else {
                wait.pause();
            }
        }
    });
    assert_eq!(host.done(), messages);
    assert_eq!(host.port.monitor().counts().boundary.arrivals_forwarded, 0);
    // Ends while messages and receives are on their way.
    let lives: Vec<_> = (0..TOGETHER)
        .map(|_| {
            let (sender, first) = (sender.clone(), numbers.fetch_add(each(), Relaxed));
            thread::spawn(move || life(sender, first))
        })
        .collect();
    host.ask();
    host.poll();
    // A port dropped first leaks the buffers that it lent to the NIC, and Miri would report them.
    if early && !cfg!(miri) {
        drop(host);
        pool.stop();
    } else {
        pool.stop();
        drop(host);
    }
    for life in lives {
        life.join().expect("a sender's checks hold");
    }
}

#[test]
fn lazy_removal() {
    let _dog = watchdog::on("a NIC: stress with lazy removal");
    storm(Removal::Lazy, FastPath::Sequence, false);
}

#[test]
fn eager_removal() {
    let _dog = watchdog::on("a NIC: stress with eager removal");
    storm(Removal::Eager, FastPath::Prefix, true);
}

#[test]
fn deferred_removal() {
    let _dog = watchdog::on("a NIC: stress with deferred removal");
    storm(Removal::Deferred, FastPath::Off, false);
}
