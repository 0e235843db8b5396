//! Runs an event stream through an emulated NIC in exactly the stream's order, fallback included.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use dpa_model::{BinUse, Counts, Hints, NicConfig, Operation, Order, Selector, UnexpectedFull};
use dpamatch_vocabulary::CommId;

use super::nic_run::{NicRun, NicRunError};
use super::software::SoftwareStats;
use crate::engine::{Behind, Counter, MsgId, QueueStats, Stats};
use crate::stream::{Event, Outcome, ProbeId, RunError, StreamMatcher};

/// The settings of an emulated NIC for a stream.
///
/// # Examples
/// ```
/// use dpamatch::host::NicMatcher;
/// use dpamatch::stream::{Reader, StreamMatcher};
/// use dpamatch::{Hints, NicConfig};
///
/// let mut nic = NicMatcher::new(NicConfig::default(), false, Hints::default())?;
/// let events = Reader::new(&b"arrive,5,0,3,7\npost,8,0,*,7\n"[..]);
/// let mut events = events.collect::<Result<Vec<_>, _>>()?.into_iter();
/// let mut results = Vec::new();
/// nic.run(&mut events, &mut |outcome| results.push(outcome.to_string()))?;
/// assert_eq!(results, ["matched,8,5"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NicMatcher {
    pub(super) config: NicConfig,
    pub(super) threads: bool,
    pub(super) hints: Hints,
    pub(super) inline_hashes: bool,
    behind: Behind,
    counts: Option<(Counts, SoftwareStats)>,
    /// The searches of the software engine.
    software_searches: Stats,
    bins: BinUse,
}

impl std::fmt::Debug for NicMatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NicMatcher")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// Maximum length of a generated message's payload, in bytes; matching never depends on it.
pub const PAYLOAD_BYTES_MAX: u64 = 64 * 1024;

/// Bytes of every receive's buffer unless the stream sets it.
const BUFFER_BYTES: u32 = 64;

impl NicMatcher {
    /// A NIC of this configuration with `hints` on every communicator, run by `config.workers`
    /// threads, or by the calling thread if `threads` is false. The order is always the stream's,
    /// and exhausted unexpected memory always demotes to the host: with a given order, it would
    /// wait for room for ever.
    ///
    /// # Errors
    /// [`dpa_model::ConfigError`] for a configuration that no NIC can be built from.
    pub fn new(
        mut config: NicConfig,
        threads: bool,
        hints: Hints,
    ) -> Result<Self, dpa_model::ConfigError> {
        config.options.order = Order::Stamped;
        config.options.unexpected_full = UnexpectedFull::Demote;
        config.validate()?;
        Ok(Self {
            config,
            threads,
            hints,
            inline_hashes: true,
            behind: Behind::default(),
            counts: None,
            software_searches: Stats::default(),
            bins: BinUse::default(),
        })
    }

    /// Whether senders put hashes in the header.
    ///
    /// Source: O26.
    pub fn set_inline_hashes(&mut self, on: bool) {
        self.inline_hashes = on;
    }

    /// The engine that matches what does not fit on the NIC.
    pub fn set_behind(&mut self, behind: Behind) {
        self.behind = behind;
    }

    /// Feeds the events and waits until the NIC has answered all. `comms` maps the stream's
    /// communicators to the NIC's.
    fn feed(
        &self,
        run: &mut NicRun,
        comms: &mut HashMap<CommId, CommId>,
        events: &mut dyn Iterator<Item = Event>,
        mut sink: &mut dyn FnMut(Outcome),
    ) -> Result<(), NicRunError> {
        for event in events {
            let mut operation = event.operation(BUFFER_BYTES, 0);
            if let Operation::Post { bytes, .. } | Operation::Arrive { bytes, .. } = &mut operation
            {
                *bytes = (*bytes).min(PAYLOAD_BYTES_MAX as u32);
            }
            // The NIC numbers communicators from 0, and creates each on first use.
            if let Some(comm) = operation.comm_mut() {
                let next = CommId(comms.len() as u32);
                let known = *comms.entry(*comm).or_insert(next);
                if known == next {
                    let (bins, hints) = (self.config.bins as u32, self.hints);
                    run.issue(
                        &Operation::Create {
                            comm: known,
                            bins,
                            hints,
                        },
                        &mut sink,
                    )?;
                }
                *comm = known;
            }
            run.lie(event.lie());
            run.issue(&operation, &mut sink)?;
        }
        run.settle(&mut sink)
    }

    /// Runs `work` on a new NIC, keeps the counters, and runs `after`. `checked`: write payloads
    /// and compare them.
    fn on_new_nic<R>(
        &mut self,
        checked: bool,
        work: impl FnOnce(&Self, &mut NicRun) -> Result<R, NicRunError>,
        after: impl FnOnce(&mut NicRun) -> Result<(), NicRunError>,
    ) -> Result<R, RunError> {
        let mut run = NicRun::start(&self.config, self.threads, self.inline_hashes)
            .map_err(boxed)?
            .behind(self.behind);
        if !checked {
            run = run.without_checks();
        }
        let result = work(self, &mut run);
        self.counts = Some((run.monitor().counts(), run.software.stats()));
        self.software_searches = *run.software.engine().stats();
        self.bins = run.monitor().bin_use();
        let result = result.and_then(|result| after(&mut run).map(|()| result));
        run.stop();
        result.map_err(boxed)
    }

    /// The NIC's and the fallback's counters after a run.
    pub fn counts(&self) -> Option<(Counts, SoftwareStats)> {
        self.counts
    }
}

impl StreamMatcher for NicMatcher {
    fn run(
        &mut self,
        events: &mut dyn Iterator<Item = Event>,
        sink: &mut dyn FnMut(Outcome),
    ) -> Result<(), RunError> {
        let sink = RefCell::new(sink);
        let told = |outcome| sink.borrow_mut()(outcome);
        self.on_new_nic(
            true,
            |matcher, run| matcher.feed(run, &mut HashMap::new(), events, &mut { told }),
            |run| drain(run, &mut { told }),
        )
    }

    fn time(&mut self, fill: &[Event], timed: &[Event]) -> Result<Duration, RunError> {
        let work = |matcher: &Self, run: &mut NicRun| {
            let mut comms = HashMap::new();
            matcher.feed(run, &mut comms, &mut fill.iter().copied(), &mut |_| ())?;
            let begin = Instant::now();
            matcher.feed(run, &mut comms, &mut timed.iter().copied(), &mut |_| ())?;
            Ok(begin.elapsed())
        };
        self.on_new_nic(false, work, |_| Ok(()))
    }

    fn counters(&self) -> Vec<Counter> {
        let Some((nic, software)) = self.counts else {
            return Vec::new();
        };
        let steps = |queue: QueueStats| queue.attempts + queue.hops;
        let software_prq = steps(self.software_searches.prq);
        let software_umq = steps(self.software_searches.umq);
        let walked = [
            nic.handlers.walked_exact,
            nic.handlers.walked_any_source,
            nic.handlers.walked_any_tag,
            nic.handlers.walked_any,
        ];
        let walked: u64 = walked.iter().sum();
        let stored = nic.boundary.posts_late + nic.boundary.unexpected_passed;
        let sends = [
            ("prq_steps", walked + software_prq),
            ("umq_steps", stored + software_umq),
            ("send_queue_full", nic.send_queue_full),
            ("send_no_bounce_buffer", nic.send_no_bounce_buffer),
            ("regions_added", nic.regions_added),
            ("software_posts", software.posts),
            ("software_arrivals", software.arrivals),
            ("software_matches", software.matches),
            ("software_steps", software_prq + software_umq),
            ("hand_back_offers", software.offers),
            ("fallback_away_ns", software.away_ns),
            ("bins", self.bins.bins),
            ("bins_used", self.bins.used),
        ];
        let rows = nic.handlers.rows().chain(nic.boundary.rows()).chain(sends);
        rows.map(|(name, value)| Counter::new(name, value))
            .collect()
    }
}

/// Compares the contents of the NIC's queues, in order, with the entries that its answers leave.
fn drain(run: &mut NicRun, sink: &mut dyn FnMut(Outcome)) -> Result<(), NicRunError> {
    let posted = run.feeder().posted();
    posted
        .iter()
        .for_each(|&recv| sink(Outcome::Posted { recv }));
    let mut cancelled = Vec::with_capacity(posted.len());
    let mut note = |outcome| cancelled.push(outcome);
    for &recv in &posted {
        run.issue(&Operation::Cancel { recv }, &mut note)?;
    }
    run.settle(&mut note)?;
    if !cancelled
        .into_iter()
        .eq(posted.iter().map(|&recv| Outcome::Cancelled { recv }))
    {
        return Err(NicRunError::LeftDiffers("a receive could not be cancelled"));
    }
    let left: Vec<_> = run.feeder().unexpected().collect();
    left.iter()
        .for_each(|&(msg, _)| sink(Outcome::Unexpected { msg }));
    let mut taken = Vec::with_capacity(left.len());
    let mut note = |outcome| taken.push(outcome);
    for &(MsgId(name), envelope) in &left {
        let selector = Selector::new(envelope.source, envelope.tag);
        let (probe, comm) = (ProbeId(name), envelope.comm);
        run.issue(
            &Operation::Probe {
                probe,
                comm,
                selector,
                take: true,
            },
            &mut note,
        )?;
    }
    run.settle(&mut note)?;
    let found = |&(msg, _): &(MsgId, _)| Outcome::Mprobed {
        probe: ProbeId(msg.0),
        msg: Some(msg),
    };
    if !taken.into_iter().eq(left.iter().map(found)) {
        return Err(NicRunError::LeftDiffers(
            "a message was not found, or in another order",
        ));
    }
    Ok(())
}

fn boxed(error: impl std::error::Error + Send + Sync + 'static) -> RunError {
    RunError::Engine(Box::new(error))
}

#[cfg(test)]
mod tests {
    use dpa_model::{Rank, RecvId, SourceSel, Tag};
    use dpamatch_vocabulary::Envelope;

    use super::*;

    /// The timed events match the events that fill the queue, on one NIC with one numbering.
    #[test]
    fn timed_events_find_what_the_fill_left() {
        let config = NicConfig::default();
        let mut nic = NicMatcher::new(config, false, Hints::default()).expect("a NIC can be built");
        let comm = CommId(9);
        let (source, tag) = (Rank::default(), Tag::new(3).expect("a small tag"));
        let selector = Selector {
            source: SourceSel::Any,
            tag: tag.into(),
        };
        let post = |recv| Event::Post {
            recv: RecvId(recv),
            comm,
            selector,
            size: None,
            coll: None,
        };
        let envelope = Envelope { comm, source, tag };
        let arrive = |msg| Event::Arrive {
            msg: MsgId(msg),
            envelope,
            bytes: None,
            coll: None,
            lie: 0,
        };
        nic.time(&[post(0), post(1), post(2)], &[arrive(0), arrive(1)])
            .expect("the NIC runs");
        let count = |name: &str| {
            nic.counters()
                .iter()
                .find(|counter| counter.name == name)
                .map(|counter| counter.value)
        };
        assert_eq!(
            (count("posts_admitted"), count("messages")),
            (Some(3), Some(2))
        );
        assert_eq!(
            (count("unexpected"), count("cancelled")),
            (Some(0), Some(0))
        );
    }

    /// Few receives and messages fit on the NIC, so that software matches the others, searching its
    /// bins. The data of two messages stay at their sender.
    #[test]
    fn counters_of_software_and_sends_are_exact() {
        let mut config = NicConfig {
            receives: 4,
            regions: 1,
            ..NicConfig::default()
        };
        (
            config.handlers,
            config.completion_queue,
            config.bounce_buffers,
        ) = (2, 2, 1);
        let mut nic = NicMatcher::new(config, false, Hints::default()).expect("a NIC can be built");
        nic.set_inline_hashes(false);
        let tag = |number| Tag::new(number).expect("a small tag");
        let post = |recv: u64, number: u32| Event::Post {
            recv: RecvId(recv),
            comm: CommId(7),
            selector: Selector {
                source: SourceSel::Any,
                tag: tag(number).into(),
            },
            size: None,
            coll: None,
        };
        let arrive = |msg: u64, number: u32, bytes: u64| Event::Arrive {
            msg: MsgId(msg),
            envelope: Envelope {
                comm: CommId(7),
                source: Rank::default(),
                tag: tag(number),
            },
            bytes: Some(bytes),
            coll: None,
            lie: 0,
        };
        let posts = (0..14).map(|recv| post(recv, recv as u32 % 10));
        let tags = [4, 4, 3, 3, 8, 4, 3, 5, 5, 6, 6, 7, 7, 7];
        let kilo = [65, 99, 0, 0, 70, 66, 30, 0, 0, 0, 0, 0, 70, 70]
            .into_iter()
            .zip(tags)
            .enumerate();
        let arrivals =
            kilo.map(|(at, (kilo, tag))| arrive(at as u64, tag, 1000 * kilo + 5 * at as u64));
        let late = [post(21, 5), post(22, 4)];
        nic.run(&mut posts.chain(arrivals).chain(late), &mut |_| ())
            .expect("the NIC runs");
        let rows = nic.counters().into_iter();
        let rows = rows.skip_while(|row| row.name != "send_queue_full");
        // No fallback has ended, so that none has a time. What the NIC takes back after the stream
        // is not counted.
        let told = rows.map(|row| format!("{}: {}", row.name, row.value));
        assert_eq!(
            told.collect::<Vec<_>>().join(", "),
            "send_queue_full: 4, send_no_bounce_buffer: 5, regions_added: 7, software_posts: 12, \
             software_arrivals: 13, software_matches: 8, software_steps: 8, hand_back_offers: 0, \
             fallback_away_ns: 0, bins: 98320, bins_used: 4"
        );
    }
}
