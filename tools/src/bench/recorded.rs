//! Matching rates of the emulated NIC and of sequential engines for a rank's recorded posts and
//! arrivals.
//!
//! There is no wire and no second thread. One thread feeds the NIC's two queues in the order of the
//! sequence, and runs the NIC unless it has its own threads. Engines are called in this order as
//! well. So a rate is the rate of matching alone, with the queue depths, blocks and wildcards of a
//! real program.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use dpa_model::{Counts, NicConfig, Operation, Order, UnexpectedFull};
use dpamatch_vocabulary::{CommId, Outcome};

use super::{BenchError, Summary};
use dpamatch::engine::{Engine, MsgId, RecvId};
use dpamatch::host::NicRun;
use dpamatch::registry::{EngineEntry, EngineOptions};
use dpamatch::stream::Event;

/// A repeatable sequence, with communicators, receives and messages numbered from 0.
#[derive(Clone, Debug)]
pub struct Recorded {
    operations: Vec<Operation>,
    comms: u32,
    messages: u64,
    left_out: LeftOut,
}

/// Events that a sequence for measurements does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct LeftOut {
    /// Their messages stay unexpected.
    pub matched_probes: u64,
    /// Cancels of receives that were never posted, or are not posted yet.
    pub cancels: u64,
    /// Messages whose recorded length is another.
    pub lengths: u64,
}

impl Recorded {
    /// Converts an event stream. Messages have `size` bytes, and receives room for `size` bytes.
    /// Matched probes and cancels without a receive are [left out](Self::left_out).
    pub fn new(events: impl Iterator<Item = Event>, size: usize) -> Self {
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let (mut comms, mut posts) = (HashMap::new(), HashMap::new());
        let mut operations = Vec::new();
        let mut messages = 0;
        let mut left_out = LeftOut::default();
        for event in events {
            let is_other = |length| length != u64::from(size);
            left_out.lengths += u64::from(event.length().is_some_and(is_other));
            let mut operation = event.operation(size, size);
            if let Some(comm) = operation.comm_mut() {
                let next = CommId(comms.len() as u32);
                *comm = *comms.entry(*comm).or_insert(next);
            }
            match &mut operation {
                Operation::Post { recv, bytes, .. } => {
                    let number = RecvId(posts.len() as u64);
                    posts.insert(*recv, number);
                    (*recv, *bytes) = (number, size);
                }
                Operation::Arrive { msg, bytes, .. } => {
                    (*msg, *bytes) = (MsgId(messages), size);
                    messages += 1;
                }
                Operation::Cancel { recv } => match posts.get(recv) {
                    Some(&number) => *recv = number,
                    None => {
                        left_out.cancels += 1;
                        continue;
                    }
                },
                Operation::Probe { take: true, .. } => {
                    left_out.matched_probes += 1;
                    continue;
                }
                _ => {}
            }
            operations.push(operation);
        }
        Self {
            operations,
            comms: comms.len() as u32,
            messages,
            left_out,
        }
    }

    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    pub fn messages(&self) -> u64 {
        self.messages
    }

    pub fn events(&self) -> u64 {
        self.operations.len() as u64
    }

    /// Measures the emulated NIC and software engines in turn, `rounds` times. In each
    /// round the sequence runs for at least `budget`.
    ///
    /// # Errors
    /// The NIC cannot be built, a thread cannot be started, or a hint forbids a wildcard in the
    /// sequence.
    pub fn measure(
        &self,
        options: &EngineOptions,
        peers: &[&'static EngineEntry],
        rounds: usize,
        budget: Duration,
    ) -> Result<Vec<RecordedRow>, BenchError> {
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
            let rate = Summary::from_values(&rates[peer])?;
            Some(RecordedRow {
                engine: entry.name,
                rate,
                rates: rates[peer].clone(),
                matched: matched[peer],
                counts: counts[peer],
            })
        });
        Ok(rows.collect())
    }

    fn run_engine(&self, engine: &mut dyn Engine) -> (Duration, u64) {
        let begin = Instant::now();
        let mut matched = 0;
        for operation in &self.operations {
            match *operation {
                Operation::Post {
                    recv,
                    comm,
                    selector,
                    ..
                } => {
                    matched += u64::from(engine.post(recv, comm, selector).is_some());
                }
                Operation::Arrive { msg, envelope, .. } => {
                    matched += u64::from(engine.arrive(msg, envelope).is_some());
                }
                Operation::Cancel { recv } => _ = engine.cancel(recv),
                Operation::Probe { comm, selector, .. } => _ = engine.probe(comm, selector),
                Operation::Create { .. } | Operation::Free { .. } => {}
            }
        }
        (begin.elapsed(), matched)
    }

    /// One run through a new NIC; the time excludes building it and its communicators.
    fn run_nic(&self, options: &EngineOptions) -> Result<(Duration, u64, Counts), BenchError> {
        let mut config = NicConfig {
            bins: options.bins.get() as usize,
            ..options.nic
        };
        config.options.order = Order::Stamped;
        // The engine's name is the paper's algorithm.
        config.options.always_shared = true;
        config.options.unexpected_full = UnexpectedFull::Demote;
        let (threads, hashes) = (options.threads, options.sender_hashes);
        let mut run = NicRun::start(&config, threads, hashes)?.without_checks();
        let mut matched = 0;
        let mut count = |outcome| matched += u64::from(matches!(outcome, Outcome::Matched { .. }));
        let (bins, hints) = (config.bins as u32, options.hints);
        for comm in (0..self.comms).map(CommId) {
            run.issue(&Operation::Create { comm, bins, hints }, &mut count)?;
        }
        run.settle(&mut count)?;
        let begin = Instant::now();
        for operation in &self.operations {
            run.issue(operation, &mut count)?;
        }
        run.settle(&mut count)?;
        let took = begin.elapsed();
        let counts = run.monitor().counts();
        run.stop();
        Ok((took, matched, counts))
    }
}

/// Messages per second over runs that take at least `budget` together, at least one. Each run
/// returns its duration.
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

#[derive(Clone, Debug)]
pub struct RecordedRow {
    pub engine: &'static str,
    pub rate: Summary,
    pub rates: Vec<f64>,
    /// Pairs in one run.
    pub matched: u64,
    pub counts: Option<Counts>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpamatch::registry::find;
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
        // 600 messages in 10 ms; 1,200 in 10 + 20 ms; 1,800 in 10 + 20 + 30 ms.
        assert_eq!(
            [0, 10, 11, 30, 31].map(rate),
            [60e3, 60e3, 40e3, 40e3, 30e3]
        );
    }

    #[test]
    fn a_sequence_keeps_what_can_be_fed_again() {
        let text = "post,7,40,0,1\npost,9,30,*,1\ncancel,8\ncancel,9\nmprobe,1,30,*,*\n\
                    probe,2,30,*,*\narrive,5,40,0,1,bytes=9\n";
        let events = dpamatch::stream::Reader::new(text.as_bytes());
        let recorded = Recorded::new(events.map(|event| event.expect("a good line")), 8);
        assert_eq!((recorded.events(), recorded.messages()), (5, 1));
        let left_out = LeftOut {
            matched_probes: 1,
            cancels: 1,
            lengths: 1,
        };
        assert_eq!(recorded.left_out(), left_out);
        let (first, second) = (CommId(0), CommId(1));
        let operations = recorded.operations.as_slice();
        assert!(
            matches!(operations, [
                Operation::Post { recv: RecvId(0), comm: a, bytes: 8, .. },
                Operation::Post { recv: RecvId(1), comm: b, .. },
                Operation::Cancel { recv: RecvId(1) },
                Operation::Probe { comm: c, take: false, .. },
                Operation::Arrive { msg: MsgId(0), envelope, bytes: 8 },
            ] if [*a, *b, *c, envelope.comm] == [first, second, second, first]),
            "{operations:?}"
        );
    }

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
            oracle
                .run(&mut events.iter().copied(), &mut count)
                .expect("an engine");
            assert!(matched > 300, "{matched} pairs");
            let mut options = EngineOptions {
                threads: false,
                ..EngineOptions::default()
            };
            options.nic.receives = receives;
            let recorded = Recorded::new(events.into_iter(), 8);
            let peers = ["optimistic", "bins", "list"].map(|name| find(name).expect("known"));
            let rows = recorded.measure(&options, &peers, 1, Duration::ZERO);
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
