//! The endpoint's thread of a soak run: random receives, cancels and probes.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use dpa_model::Wait;
use dpamatch_vocabulary::{Rank, SourceSel, Tag, TagSel};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};

use super::run::{Earlier, Report, Settings, resident_bytes};
use super::traffic::{HEADER_BYTES, Lane, MESSAGE_BYTES_MAX, TAGS};
use super::verify::Verifier;
use dpamatch::endpoint::{
    Communicator, Endpoint, LogEntry, Received, RecvError, RecvRequest, Status,
};

pub(super) struct Receiver<'a> {
    settings: &'a Settings,
    random: ChaCha8Rng,
    endpoint: Endpoint,
    comms: Vec<Communicator>,
    lanes: &'a [Lane],
    verifier: Verifier,
    log: Vec<LogEntry>,
    slots: Vec<Option<RecvRequest>>,
    /// Places of `slots` that hold no request.
    vacant: Vec<usize>,
    results: Vec<(usize, Result<Received, RecvError>)>,
    spare: Vec<Vec<u8>>,
    /// Most receives to have posted; every break chooses a new value.
    most: usize,
    /// Receives to have posted now; changes with time, so that both queues are long at times.
    wanted: usize,
    /// Messages that senders may be ahead, each; changes at every break, so that sometimes receives
    /// wait for messages and sometimes messages for receives.
    window: u64,
    /// Next receives that accept everything: after a standstill.
    wild: usize,
    received: u64,
    /// Messages that each sender may be ahead.
    received_of: Vec<u64>,
    /// A break is near: no sender gets a new allowance.
    breaking: bool,
    next_break: u64,
    breaks: u64,
    truncated: u64,
    taken: u64,
    cancelled: u64,
    memory_before: Option<u64>,
}

/// Polls without progress after which receives are cancelled as obstacles: a few milliseconds.
const STANDSTILL_POLLS: u32 = Wait::SPINS + Wait::YIELDS + 12;
/// Polls without progress after which a receive with wildcards is posted for a waiting message.
const IDLE_POLLS: u32 = 16;
/// Receives cancelled at a standstill.
const CANCELS_AT_STANDSTILL: usize = 16;

/// What a long run prints: one line a second, for a plot.
#[derive(Default)]
struct Shown {
    at: Duration,
    received: u64,
    last_result: Duration,
    longest_silence: Duration,
}

impl Shown {
    /// Notes that messages were received.
    fn note(&mut self, elapsed: Duration) {
        self.longest_silence = self
            .longest_silence
            .max(elapsed.saturating_sub(self.last_result));
        self.last_result = elapsed;
    }

    fn show(&mut self, earlier: Earlier, elapsed: Duration, received: u64) {
        let interval = elapsed.saturating_sub(self.at);
        if interval < Duration::from_secs(1) {
            return;
        }
        if self.at.is_zero() && earlier.elapsed.is_zero() {
            eprintln!("seconds,messages,messages_per_s,memory_bytes,longest_silence_us");
        }
        let seconds = (earlier.elapsed + elapsed).as_secs_f64();
        let messages = earlier.messages + received;
        let rate = (received - self.received) as f64 / interval.as_secs_f64();
        let memory = resident_bytes().unwrap_or(0);
        let silence = self.longest_silence.as_micros();
        eprintln!("{seconds:.1},{messages},{rate:.0},{memory},{silence}");
        (self.at, self.received) = (elapsed, received);
        self.longest_silence = Duration::ZERO;
    }
}

impl<'a> Receiver<'a> {
    pub(super) fn new(
        settings: &'a Settings,
        endpoint: Endpoint,
        comms: Vec<Communicator>,
        lanes: &'a [Lane],
    ) -> Self {
        Self {
            settings,
            random: ChaCha8Rng::seed_from_u64(settings.seed),
            endpoint,
            comms,
            lanes,
            verifier: Verifier::new(),
            log: Vec::new(),
            slots: (0..settings.receives_max).map(|_| None).collect(),
            vacant: (0..settings.receives_max).collect(),
            results: Vec::new(),
            spare: Vec::new(),
            most: settings.receives_max,
            wanted: settings.receives_max,
            window: settings.window,
            wild: 0,
            received: 0,
            received_of: vec![0; lanes.len()],
            breaking: false,
            next_break: settings.break_every,
            breaks: 0,
            truncated: 0,
            taken: 0,
            cancelled: 0,
            memory_before: None,
        }
    }

    /// Receives until the senders have ended and all their messages are here.
    pub(super) fn run(&mut self, started: Instant, over: &AtomicBool) {
        let mut shown = Shown::default();
        let mut wait = Wait::new();
        let mut rounds = 0u64;
        loop {
            let dice = self.random.next_u64();
            if dice.is_multiple_of(256) {
                self.wanted = self.random.random_range(1..=self.most);
            }
            if self.breaking {
                self.end_break_if_due();
            } else if self.received >= self.next_break {
                self.breaking = true;
            }
            self.post();
            if self.collect() > 0 {
                wait = Wait::new();
                if self.settings.shows {
                    shown.note(started.elapsed());
                }
                if (dice >> 16).is_multiple_of(16) {
                    self.cancel_one();
                }
                if (dice >> 32).is_multiple_of(16) {
                    self.probe(dice & 1 << 63 == 0);
                }
            } else if self.received == self.sent().unwrap_or(u64::MAX) {
                return;
            } else if wait.failed_polls() >= STANDSTILL_POLLS {
                self.clear_the_way();
                wait = Wait::new();
            } else {
                if wait.failed_polls() >= IDLE_POLLS && self.verifier.unexpected() > 0 {
                    let posted = self.slots.len() - self.vacant.len();
                    if posted >= self.most {
                        self.cancel_one();
                    }
                    self.wanted = (posted + 1).min(self.most);
                    self.wild = 1;
                }
                wait.pause();
            }
            if self.memory_before.is_none() && self.received >= self.settings.messages / 10 {
                self.memory_before = resident_bytes();
            }
            rounds += 1;
            if rounds.is_multiple_of(256) {
                let elapsed = started.elapsed();
                if self.settings.shows {
                    shown.show(self.settings.earlier, elapsed, self.received);
                }
                if self.settings.time_max.is_some_and(|most| elapsed >= most) {
                    over.store(true, Relaxed);
                }
            }
        }
    }

    /// Cancels the last receives and checks that the queues are empty.
    pub(super) fn finish(mut self, elapsed: Duration) -> Report {
        self.empty_queues();
        for comm in self.comms.drain(..) {
            self.endpoint.free_comm(comm).expect("nothing is left");
        }
        let memory_bytes = self.memory_before.zip(resident_bytes());
        let (counts, software) = self.endpoint.counts();
        Report {
            received: self.received,
            elapsed,
            truncated: self.truncated,
            taken: self.taken,
            cancelled: self.cancelled,
            log_entries: self.verifier.entries,
            breaks: self.breaks,
            counts,
            software,
            memory_bytes,
        }
    }

    fn sent(&self) -> Option<u64> {
        self.lanes.iter().map(Lane::sent).sum()
    }

    fn allow(&self, sender: usize) {
        let allowed = self.received_of[sender] + self.window;
        self.lanes[sender].allowed.store(allowed, Relaxed);
    }

    /// Ends a break once every sender has used up its allowance or ended, and its messages are
    /// here.
    fn end_break_if_due(&mut self) {
        let used_up = self
            .lanes
            .iter()
            .zip(&self.received_of)
            .all(|(lane, &received)| {
                lane.sent().unwrap_or_else(|| lane.allowed.load(Relaxed)) == received
            });
        if used_up {
            self.empty_queues();
            self.breaking = false;
            self.breaks += 1;
            self.next_break = self.received + self.settings.break_every;
            self.window = (self.settings.window >> self.random.random_range(0..4)).max(1);
            self.most = (self.settings.receives_max >> self.random.random_range(0..3)).max(1);
            (0..self.lanes.len()).for_each(|sender| self.allow(sender));
        }
    }

    /// Cancels all receives. There are no messages, so both queues must be empty then.
    fn empty_queues(&mut self) {
        for place in 0..self.slots.len() {
            if let Some(request) = &self.slots[place] {
                self.endpoint.cancel(request).expect("the NIC runs");
            }
        }
        let mut wait = Wait::new();
        while self.vacant.len() < self.slots.len() {
            self.collect();
            wait.pause();
        }
        assert_eq!(
            self.verifier.left(),
            (0, 0),
            "receives and messages in the queues"
        );
    }

    fn selector(&mut self) -> (SourceSel, TagSel) {
        let hints = self.settings.hints;
        let dice = self.random.next_u64();
        let source = Rank::new((dice >> 8) as u32 % self.lanes.len() as u32).unwrap_or_default();
        let tag = Tag::new((dice >> 40) as u32 % TAGS).unwrap_or_default();
        let wild = self.breaking || self.wild > 0;
        self.wild = self.wild.saturating_sub(1);
        let any_source = !hints.no_any_source && (wild || dice & 1 == 0);
        let any_tag = !hints.no_any_tag && (wild || dice & 2 == 0);
        (
            if any_source {
                SourceSel::Any
            } else {
                source.into()
            },
            if any_tag { TagSel::Any } else { tag.into() },
        )
    }

    fn comm(&mut self) -> usize {
        self.random.random_range(0..self.comms.len())
    }

    fn buffer(&mut self) -> Vec<u8> {
        // Some are so short that longer messages are truncated.
        let length = if self.random.random_ratio(1, 32) {
            HEADER_BYTES
        } else {
            MESSAGE_BYTES_MAX
        };
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.resize(length, 0);
        buffer
    }

    fn post(&mut self) {
        while self.slots.len() - self.vacant.len() < self.wanted {
            let Some(place) = self.vacant.pop() else {
                break;
            };
            let wild = self.wild;
            let (mut source, mut tag) = self.selector();
            let (mut comm, buffer) = (self.comm(), self.buffer());
            // Without wildcards a fitting receive would come late.
            let hints = self.settings.hints;
            let exact = wild > 0 && (hints.no_any_source || hints.no_any_tag);
            if let Some(name) = exact.then(|| self.verifier.unexpected_at(wild)).flatten() {
                comm = name.comm as usize;
                if hints.no_any_source {
                    source = Rank::new(name.source).unwrap_or_default().into();
                }
                if hints.no_any_tag {
                    tag = Tag::new(name.tag).unwrap_or_default().into();
                }
            }
            let request = self
                .endpoint
                .post_recv(&self.comms[comm], source, tag, buffer);
            self.slots[place] = Some(request.expect("posted"));
        }
    }

    fn cancel_one(&mut self) {
        let place = self.random.random_range(0..self.slots.len());
        if let Some(request) = &self.slots[place] {
            self.endpoint.cancel(request).expect("the NIC runs");
        }
    }

    /// Breaks a standstill: perhaps no posted receive fits the remaining messages.
    fn clear_the_way(&mut self) {
        for _ in 0..CANCELS_AT_STANDSTILL {
            self.cancel_one();
        }
        self.wanted = self.most;
        self.wild = CANCELS_AT_STANDSTILL;
    }

    fn probe(&mut self, take: bool) {
        let (source, tag) = self.selector();
        let comm = self.comm();
        let comm = &self.comms[comm];
        if !take {
            self.endpoint
                .iprobe(comm, source, tag)
                .expect("the NIC runs");
        } else if let Some(matched) = self
            .endpoint
            .improbe(comm, source, tag)
            .expect("the NIC runs")
        {
            let buffer = self.buffer();
            let result = self.endpoint.mrecv(matched, buffer);
            self.follow_log();
            self.check(result);
            self.taken += 1;
        }
    }

    fn follow_log(&mut self) {
        self.endpoint.drain_order_log(&mut self.log);
        self.verifier.follow(&mut self.log);
    }

    /// Checks the receives that have ended. Returns the number of messages.
    fn collect(&mut self) -> u64 {
        let before = self.received;
        self.endpoint.test_some(&mut self.slots, &mut self.results);
        // The log first, because it lists the messages.
        self.follow_log();
        let mut results = std::mem::take(&mut self.results);
        for (place, result) in results.drain(..) {
            self.vacant.push(place);
            self.check(result);
        }
        self.results = results;
        self.received - before
    }

    fn check(&mut self, result: Result<Received, RecvError>) {
        match result {
            Ok(ref received) => {
                self.accept(received.bytes(), &received.status, received.buffer.len());
            }
            Err(RecvError::Truncated { ref received, sent }) => {
                assert!(
                    received.buffer.len() < sent,
                    "{sent} bytes were truncated without need"
                );
                self.truncated += 1;
                self.accept(received.bytes(), &received.status, received.buffer.len());
            }
            Err(RecvError::Cancelled(_)) => self.cancelled += 1,
            Err(error) => panic!("a request ended wrongly: {error}"),
        }
        self.spare
            .push(result.map_or_else(RecvError::into_buffer, |received| received.buffer));
    }

    fn accept(&mut self, bytes: &[u8], status: &Status, capacity: usize) {
        assert!(
            status.bytes <= capacity,
            "{} bytes in a buffer of {capacity}",
            status.bytes
        );
        let sender = self.verifier.receive(bytes, status);
        self.received += 1;
        self.received_of[sender] += 1;
        if !self.breaking {
            self.allow(sender);
        }
    }
}
