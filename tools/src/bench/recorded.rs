//! A rank's recorded sequence of posts and arrivals as a load: how fast the emulated NIC and
//! sequential engines match it.
//!
//! There is no wire and no second thread: one thread feeds the NIC's two queues in the order of the
//! sequence, and runs the NIC unless threads of its own do. Engines are called in the same order.
//! So a rate is that of matching alone, with the queue depths, blocks and wildcards of a real
//! program.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use dpa_model::{
    CommandQueueFull, Counts, HostPort, Leader, Nic, NicConfig, Order, Pool, RequestId, SendError,
    Sender, UnexpectedFull,
};
use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, Tag};

use super::{BenchError, Summary};
use dpamatch::engine::{Engine, MsgId, RecvId};
use dpamatch::host::{Done, Software};
use dpamatch::registry::{ENGINES, EngineEntry, EngineOptions};
use dpamatch::stream::Event;

/// One event, with communicators numbered from 0 as the NIC wants them.
#[derive(Clone, Copy, Debug)]
enum Act {
    Post(CommId, Selector),
    Arrive(Envelope),
    /// Of the n-th post.
    Cancel(u32),
    Probe(CommId, Selector),
}

/// A sequence that can be run again and again.
#[derive(Clone, Debug)]
pub struct Recorded {
    acts: Vec<Act>,
    comms: u32,
    messages: u64,
    size: usize,
}

impl Recorded {
    /// From an event stream. All messages have `size` bytes, receives room for as many; matched
    /// probes are left out.
    pub fn new(events: impl Iterator<Item = Event>, size: usize) -> Self {
        let mut comms = HashMap::new();
        let mut dense = |comm: CommId| {
            let next = CommId(comms.len() as u32);
            *comms.entry(comm).or_insert(next)
        };
        let mut posts = HashMap::new();
        let mut acts = Vec::new();
        let mut messages = 0;
        for event in events {
            acts.push(match event {
                Event::Post { recv, comm, selector, .. } => {
                    let number = posts.len() as u32;
                    posts.insert(recv, number);
                    Act::Post(dense(comm), selector)
                }
                Event::Arrive { envelope, .. } => {
                    messages += 1;
                    Act::Arrive(Envelope { comm: dense(envelope.comm), ..envelope })
                }
                Event::Cancel { recv } => match posts.get(&recv) {
                    Some(&number) => Act::Cancel(number),
                    None => continue,
                },
                Event::Probe { comm, selector, .. } => Act::Probe(dense(comm), selector),
                Event::Mprobe { .. } => continue,
            });
        }
        Self { acts, comms: comms.len() as u32, messages, size }
    }

    /// Messages of the sequence.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Events of the sequence.
    pub fn events(&self) -> u64 {
        self.acts.len() as u64
    }

    /// Measures the emulated NIC and the software engines of these names in turn, so many rounds;
    /// in each the sequence runs for at least `budget`.
    ///
    /// # Errors
    /// The NIC cannot be built, a thread not be started, or a hint forbids a wildcard of the
    /// sequence.
    pub fn measure(
        &self,
        options: &EngineOptions,
        engines: &[&str],
        rounds: usize,
        budget: Duration,
    ) -> Result<Vec<RecordedRow>, BenchError> {
        let chosen = |name: &&str| ENGINES.iter().find(|entry| entry.name == *name);
        let peers: Vec<&EngineEntry> = engines.iter().filter_map(chosen).collect();
        let mut rates = vec![Vec::new(); peers.len()];
        let mut matched = vec![0; peers.len()];
        let mut counts = vec![None; peers.len()];
        for _ in 0..rounds.max(1) {
            for (peer, entry) in peers.iter().enumerate() {
                rates[peer].push(rate(self.messages, budget, || {
                    let (took, pairs) = match entry.engine(options) {
                        Some(mut engine) => self.run_engine(engine.as_mut()),
                        None => {
                            let (took, pairs, seen) = self.run_nic(options)?;
                            counts[peer] = Some(seen);
                            (took, pairs)
                        }
                    };
                    matched[peer] = pairs;
                    Ok(took)
                })?);
            }
        }
        let rows = peers.iter().enumerate().filter_map(|(peer, entry)| {
            let rate = Summary::of(&rates[peer])?;
            Some(RecordedRow {
                engine: entry.name,
                rate,
                matched: matched[peer],
                counts: counts[peer],
            })
        });
        Ok(rows.collect())
    }

    fn run_engine(&self, engine: &mut dyn Engine) -> (Duration, u64) {
        let begin = Instant::now();
        let (mut posts, mut arrivals, mut matched) = (0, 0, 0);
        for act in &self.acts {
            match *act {
                Act::Post(comm, selector) => {
                    matched += u64::from(engine.post(RecvId(posts), comm, selector).is_some());
                    posts += 1;
                }
                Act::Arrive(envelope) => {
                    matched += u64::from(engine.arrive(MsgId(arrivals), envelope).is_some());
                    arrivals += 1;
                }
                Act::Cancel(number) => _ = engine.cancel(RecvId(u64::from(number))),
                Act::Probe(comm, selector) => _ = engine.probe(comm, selector),
            }
        }
        (begin.elapsed(), matched)
    }

    /// One run through a new NIC; building it and its communicators is not in the time.
    fn run_nic(&self, options: &EngineOptions) -> Result<(Duration, u64, Counts), BenchError> {
        let mut config = NicConfig { bins: options.bins.get() as usize, ..options.nic };
        config.options.order = Order::Stamped;
        config.options.unexpected_full = UnexpectedFull::Demote;
        let Nic { leader, workers, host, mut sender, .. } = Nic::new(&config)?;
        sender.set_inline_hashes(options.sender_hashes);
        let monitor = leader.monitor();
        let runner = if options.threads {
            Runner::Threads(Pool::start(leader, workers, |_| ())?)
        } else {
            Runner::Caller(Box::new(leader))
        };
        let mut feeder = Feeder {
            runner,
            port: host,
            sender,
            software: Software::new(options.fallback.build()),
            payload: vec![7; self.size],
            spare: Vec::new(),
            requests: Vec::with_capacity(self.acts.len()),
            arrivals: 0,
            matched: 0,
            open: 0,
        };
        for comm in 0..self.comms {
            while feeder.port.create(CommId(comm), config.bins as u32, options.hints, 0).is_err() {
                feeder.step()?;
            }
        }
        feeder.settle()?;
        let begin = Instant::now();
        for act in &self.acts {
            feeder.feed(act)?;
        }
        feeder.settle()?;
        let took = begin.elapsed();
        let matched = feeder.matched;
        feeder.port.ask_to_stop();
        if let Runner::Threads(pool) = feeder.runner {
            pool.stop();
        }
        Ok((took, matched, monitor.counts()))
    }
}

/// Messages per second of runs of so many messages, each of which says how long it took: until they
/// have taken `budget`, at least one.
fn rate(
    messages: u64,
    budget: Duration,
    mut run: impl FnMut() -> Result<Duration, BenchError>,
) -> Result<f64, BenchError> {
    let (mut time, mut runs) = (Duration::ZERO, 0_u32);
    while runs == 0 || time < budget {
        time += run()?;
        runs += 1;
    }
    Ok(messages as f64 * f64::from(runs) / time.as_secs_f64().max(1e-9))
}

/// What one engine did.
#[derive(Clone, Debug)]
pub struct RecordedRow {
    /// Its name.
    pub engine: &'static str,
    /// Messages per second, over the rounds.
    pub rate: Summary,
    /// Pairs of one run.
    pub matched: u64,
    /// The NIC's counters of one run.
    pub counts: Option<Counts>,
}

enum Runner {
    Caller(Box<Leader>),
    Threads(Pool),
}

struct Feeder {
    runner: Runner,
    port: HostPort,
    sender: Sender,
    software: Software,
    payload: Vec<u8>,
    spare: Vec<Vec<u8>>,
    /// By post.
    requests: Vec<RequestId>,
    arrivals: u64,
    matched: u64,
    /// Probes without an answer.
    open: u64,
}

impl Feeder {
    fn feed(&mut self, act: &Act) -> Result<(), BenchError> {
        match *act {
            Act::Post(comm, selector) => {
                let mut buffer = self.spare.pop().unwrap_or_else(|| vec![0; self.payload.len()]);
                let request = loop {
                    match self.port.post(comm, selector, buffer, self.arrivals) {
                        Ok(request) => break request,
                        Err((CommandQueueFull, back)) => buffer = back,
                    }
                    self.step()?;
                };
                self.requests.push(request);
            }
            Act::Arrive(envelope) => {
                let stamp = self.port.commands_counted();
                loop {
                    match self.sender.try_send(envelope, &self.payload, stamp) {
                        Ok(()) => break,
                        Err(SendError::ReceiverNotReady) => self.step()?,
                        Err(_) => return Err(BenchError::MessageSize),
                    }
                }
                self.arrivals += 1;
            }
            Act::Cancel(number) => {
                while self.port.cancel(self.requests[number as usize], self.arrivals).is_err() {
                    self.step()?;
                }
            }
            Act::Probe(comm, selector) => self.probe(comm, selector)?,
        }
        self.take()
    }

    fn probe(&mut self, comm: CommId, selector: Selector) -> Result<(), BenchError> {
        while self.port.probe(comm, selector, false, self.arrivals).is_err() {
            self.step()?;
        }
        self.open += 1;
        Ok(())
    }

    /// Until everything fed so far is done: a probe is answered in its place.
    fn settle(&mut self) -> Result<(), BenchError> {
        self.probe(CommId(0), Selector::new(Rank::default(), Tag::default()))?;
        while self.open > 0 {
            self.step()?;
        }
        Ok(())
    }

    /// Lets the NIC go on, if that is this thread's job, and takes what it reports.
    fn step(&mut self) -> Result<(), BenchError> {
        match &mut self.runner {
            // Idle only while the host is to blame, which reads its ring right below.
            Runner::Caller(leader) => _ = leader.round(1),
            Runner::Threads(_) => std::thread::yield_now(),
        }
        self.take()?;
        if self.port.is_stopped() { Err(BenchError::Panic) } else { Ok(()) }
    }

    fn take(&mut self) -> Result<(), BenchError> {
        while let Some(done) = self.software.poll(&mut self.port) {
            match done {
                Done::Received { buffer, .. } => {
                    self.matched += 1;
                    self.spare.push(buffer);
                }
                Done::Cancelled { buffer, .. } => self.spare.push(buffer),
                Done::Probed { .. } => self.open -= 1,
                Done::Refused { .. } => return Err(BenchError::Hint),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpamatch::stream::{Generator, Outcome, Profile, StreamMatcher};

    #[test]
    fn runs_go_on_until_the_budget_is_spent() {
        let rate = |budget_ms| {
            let mut runs = 0;
            let run = || {
                runs += 1;
                Ok(Duration::from_millis(10 * runs))
            };
            rate(600, Duration::from_millis(budget_ms), run).expect("no run fails")
        };
        // 600 messages in 10 ms; twice as many in 10 + 20 ms; three times in 10 + 20 + 30 ms.
        assert_eq!([0, 10, 11, 30, 31].map(rate), [60e3, 60e3, 40e3, 40e3, 30e3]);
    }

    #[test]
    fn a_sequence_keeps_what_can_be_fed_again() {
        let text = "post,7,40,0,1\npost,9,30,*,1\ncancel,8\ncancel,9\nmprobe,1,30,*,*\n\
                    probe,2,30,*,*\narrive,5,40,0,1\n";
        let events = dpamatch::stream::Reader::new(text.as_bytes());
        let recorded = Recorded::new(events.map(|event| event.expect("a good line")), 8);
        assert_eq!((recorded.events(), recorded.messages()), (5, 1));
        let (first, second) = (CommId(0), CommId(1));
        let acts = recorded.acts.as_slice();
        assert!(
            matches!(acts, [Act::Post(a, _), Act::Post(b, _), Act::Cancel(1), Act::Probe(c, _), Act::Arrive(message)]
                if [*a, *b, *c, message.comm] == [first, second, second, first]),
            "{acts:?}"
        );
    }

    /// A run through the NIC, falling back and not, gives as many pairs as an engine.
    #[test]
    fn all_find_the_same_pairs() {
        for (profile, receives) in [(Profile::Mixed, 1024), (Profile::Deep, 32)] {
            let events: Vec<_> = Generator::new(5, 4000, profile)
                .filter(|event| !matches!(event, Event::Mprobe { .. }))
                .collect();
            let mut oracle = dpamatch::engine::Oracle::new();
            let mut matched = 0;
            let mut count =
                |outcome| matched += u64::from(matches!(outcome, Outcome::Matched { .. }));
            oracle.run(&mut events.iter().copied(), &mut count).expect("an engine");
            assert!(matched > 300, "{matched} pairs");
            let mut options = EngineOptions { threads: false, ..EngineOptions::default() };
            options.nic.receives = receives;
            let recorded = Recorded::new(events.into_iter(), 8);
            let rows =
                recorded.measure(&options, &["optimistic", "bins", "list"], 1, Duration::ZERO);
            let rows = rows.expect("a NIC");
            assert_eq!(rows.len(), 3);
            for row in rows {
                assert_eq!(row.matched, matched, "{}", row.engine);
                assert_eq!(row.counts.is_some(), row.engine == "optimistic");
                assert!(row.rate.median > 0.0);
            }
        }
    }
}
