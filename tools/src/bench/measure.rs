//! A measurement: its settings, its two threads, and its result.

use std::time::Duration;

use dpa_model::{Barrier, Domains, Drain, FastPath, INLINE_BYTES, Nic, NicConfig, Sender};

use super::baseline::{NoMatching, Sequential};
use super::by_turns::by_turns;
use super::endpoint_receiver::EndpointReceiver;
use super::error::{BenchError, SIZE_MAX, WINDOW_BYTES_MAX};
use super::latency::Latencies;
use super::load::{Window, rank};
use super::machine::Processors;
use super::nic_receiver::{NicReceiver, Paths};
use super::outbox::{Outbox, Wire};
use super::payload;
use super::point::{Matching, Peer, Point};
use super::scenario::WINDOW_MAX;
use super::signal::Signals;
use super::stats::Summary;
use super::ucx::{Ucx, UcxError};
use super::undisturbed::{Sieve, Windows};
use super::window::{
    Limits, Receiver, ReceiverTimes, SenderTimes, SystemClock, first_standing, receive, send,
    send_along, slots,
};
use dpamatch::engine::{BIN_COUNT_MAX, BinCount, BinEngine, Engine, ListEngine};
use dpamatch::registry::EngineOptions;

/// The sizes of the NIC that a window may enlarge.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Grow {
    /// A hash table gets at least as many bins as receives are posted at a time. Otherwise a search
    /// walks over several receives whatever the hash.
    pub bins: bool,
    /// The posted receives fit, but for the share of FULL.
    pub receives: bool,
    /// The unexpected messages fit, but for the share of UNEXP-FULL.
    pub unexpected: bool,
    /// So do their payloads.
    pub unexpected_buffers: bool,
    pub communicators: bool,
}

impl Grow {
    pub const ALL: Self = Self {
        bins: true,
        receives: true,
        unexpected: true,
        unexpected_buffers: true,
        communicators: true,
    };
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Sizes {
    pub workers: usize,
    pub bins: usize,
    pub receives: usize,
    pub unexpected: usize,
    pub unexpected_buffers: usize,
    pub communicators: usize,
}

impl Sizes {
    fn new(config: &NicConfig) -> Self {
        let &NicConfig {
            workers,
            bins,
            receives,
            unexpected,
            ..
        } = config;
        let &NicConfig {
            unexpected_buffers,
            communicators,
            ..
        } = config;
        Self {
            workers,
            bins,
            receives,
            unexpected,
            unexpected_buffers,
            communicators,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Settings {
    /// The NIC. `threads` runs it on its own threads instead of the receiving thread.
    pub nic: EngineOptions,
    /// The sizes that become as large as a window needs. What does not fit in the others goes to
    /// software matching.
    pub grow: Grow,
    /// Arrange the handlers as on the card: a thread for each, one bitmap as the barrier.
    pub like_card: bool,
    pub repetitions: usize,
    /// Maximum measured windows of one message, which are short, and whose rare long times matter.
    pub repetitions_single: usize,
    /// Time limit, after a minimum of ten windows.
    pub budget: Duration,
    pub seed: u64,
    pub ucx: Option<Ucx>,
    /// Whether to check the placement of the processors before and after each measurement.
    pub look: bool,
    /// One thread sends, matches and completes by turns.
    pub one_thread: bool,
    /// Count also the windows in which other programs had a processor.
    pub keep_disturbed: bool,
}

#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct Sample {
    /// Time of a window that counts, in nanoseconds.
    pub time_ns: Summary,
    /// How many windows count, and why the others do not.
    pub windows: Windows,
    /// Median time to post a receive in nanoseconds: the host's side and, inline, its entry into
    /// the posted queue unless it is late.
    pub post_ns: f64,
    /// The part of `post_ns` after the host's side.
    pub admit_ns: f64,
    /// For windows with late receives, the median time per receive from the first late post to the
    /// last completion.
    pub receive_ns: f64,
    pub checked: u64,
    /// Whether both threads had their own processor; of several senders, the first.
    pub pinned: bool,
    /// The NIC's paths; `None` for another receiver.
    pub paths: Option<Paths>,
    /// The NIC's sizes; `None` for another receiver.
    pub sizes: Option<Sizes>,
    /// Compares and hops per message in a sequential engine's searches, warm-up included; `None`
    /// for another receiver.
    pub steps_per_message: Option<f64>,
    /// The latencies, if each window is one message: of all windows but the preempted ones.
    #[serde(skip)]
    pub latencies: Option<Latencies>,
}

impl Settings {
    /// The requested NIC, enlarged for the point if necessary.
    fn config(&self, point: &Point) -> NicConfig {
        let mut config = self.nic.nic;
        if let Peer::Nic { handlers, matching } = point.peer {
            config.handlers = handlers;
            config.options.always_shared = matching == Matching::Optimistic;
            if matching != Matching::Optimistic {
                config.workers = 1;
            }
        }
        let Point {
            scenario,
            window,
            size,
            ..
        } = point;
        let posted = window + scenario.standing;
        let late = scenario.unexpected || scenario.late > 0;
        let buffered = (INLINE_BYTES + 1..=config.eager_limit).contains(size);
        let room = (window * (100 - scenario.beyond) / 100).max(1);
        let (beyond, grow) = (scenario.beyond > 0, self.grow);
        if grow.receives {
            config.receives = match beyond && !late {
                true => room,
                false => config.receives.max(posted + 1),
            };
        }
        if grow.bins {
            config.bins = config
                .bins
                .max(posted.next_power_of_two().min(BIN_COUNT_MAX as usize));
        }
        if grow.unexpected && late {
            config.unexpected = if beyond {
                room
            } else {
                config.unexpected.max(window + 1)
            };
        }
        if grow.unexpected_buffers && late && buffered {
            config.unexpected_buffers = config.unexpected_buffers.max(window + 1);
        }
        if grow.unexpected_buffers {
            config.unexpected_buffers = config.unexpected_buffers.min(config.unexpected);
        }
        if grow.communicators {
            config.communicators = config.communicators.max(scenario.comms);
        }
        let alone = [Matching::InOrder, Matching::OneByOne].map(Some);
        if self.like_card && !alone.contains(&point.peer.matching()) {
            config.workers = config.handlers;
            config.slice_min = 1;
            config.options.barrier = Barrier::Bitmap;
            config.options.domains = Domains::Paper;
        }
        config.regions = config.regions.max(*window);
        if self.one_thread {
            // Nobody takes messages from the queue while the thread sends, and the receiver gives
            // places back in groups.
            let room = 2 * (window + 1);
            config.completion_queue = config.completion_queue.max(room.next_power_of_two());
            config.bounce_buffers = config.bounce_buffers.max(room);
        }
        config.options.fast_path = match (scenario.fast_path, config.options.fast_path) {
            (Some(FastPath::Off), _) => FastPath::Off,
            (Some(on), FastPath::Off) => on,
            (_, chosen) => chosen,
        };
        config
    }

    pub(super) fn repetitions_of(&self, window: usize) -> usize {
        if window == 1 {
            self.repetitions_single
        } else {
            self.repetitions
        }
    }

    /// The windows that count: those in which both ends kept their processors. If threads must
    /// share processors they take them from each other, which is a part of what is measured.
    fn sieve(&self, sent: &SenderTimes, received: &ReceiverTimes, exclusive: bool) -> Sieve {
        if self.keep_disturbed || !exclusive {
            return Sieve::all(sent.window.len());
        }
        let other_end = received.preempted.iter().chain(std::iter::repeat(&false));
        let ends = sent.preempted.iter().zip(other_end);
        Sieve::new(&sent.window, ends.map(|(one, other)| *one || *other))
    }

    fn limits(&self, window: &Window) -> Limits {
        let repetitions = self.repetitions_of(window.messages.len());
        Limits {
            repetitions,
            budget: self.budget,
        }
    }
}

/// Measures a point once: warm-up windows whose payloads and order are checked, then the measured
/// ones.
pub fn measure(point: &Point, settings: &Settings) -> Result<Sample, BenchError> {
    if !(1..=WINDOW_MAX).contains(&point.window) {
        return Err(BenchError::WindowSize(point.window));
    }
    if point.size > SIZE_MAX || point.size * point.window > WINDOW_BYTES_MAX {
        return Err(BenchError::MessageSize);
    }
    if !point.peer.takes(&point.scenario) {
        return Err(BenchError::NotTaken(point.peer));
    }
    if point.peer == Peer::Ucx {
        let ucx = settings
            .ucx
            .as_ref()
            .ok_or_else(|| UcxError::Missing("the search for it was not requested".to_owned()))?;
        return Ok(ucx.measure(point, settings)?);
    }
    let window = Window::new(&point.scenario, point.window, point.size, settings.seed);
    if point.peer == Peer::Copy {
        let (times, checked, pinned) = super::copy::copy(&window, settings.limits(&window))?;
        let received = ReceiverTimes {
            checked,
            ..ReceiverTimes::default()
        };
        let sieve = settings.sieve(&times, &received, true);
        return sample(&times, &received, &window, sieve, pinned);
    }
    let config = settings.config(point);
    if point.peer == Peer::Endpoint {
        return through_endpoint(point, settings, &window, config);
    }
    // Moved, not cloned: a single sender claims positions without a locked instruction.
    let Nic {
        leader,
        workers,
        host,
        mut sender,
    } = Nic::new(&config)?;
    sender.set_inline_hashes(settings.nic.sender_hashes);
    let run = Run {
        window: &window,
        settings,
        sender,
        processors: Processors::allowed(),
        threads: window.senders + 1,
    };
    let slots = slots(&window);
    match point.peer {
        Peer::Nic { .. } => {
            let options = EngineOptions {
                nic: config,
                ..settings.nic.clone()
            };
            let receiver = NicReceiver::new(
                leader,
                workers,
                host,
                &options,
                window.comms,
                payload::buffers(slots, point.size),
                &run.processors,
            )?;
            let monitor = receiver.monitor();
            let workers = if options.threads { config.workers } else { 0 };
            let run = Run {
                threads: run.threads + workers,
                ..run
            };
            let (sample, _) = run.pair(receiver)?;
            let paths = Some(Paths::from_counts(&monitor.counts()));
            Ok(Sample {
                paths,
                sizes: Some(Sizes::new(&config)),
                ..sample
            })
        }
        Peer::NoMatching => {
            let receiver = NoMatching::new(Drain::new(leader), point.window, point.size);
            run.pair(receiver).map(|(sample, _)| sample)
        }
        Peer::Bins => {
            let bins = BinCount::new(config.bins as u32).map_err(|_| BenchError::NoTables)?;
            run.sequential(Drain::new(leader), Box::new(BinEngine::new(bins)), point)
        }
        Peer::List => run.sequential(Drain::new(leader), Box::new(ListEngine::new()), point),
        Peer::Engine(entry) => {
            let bins = BinCount::new(config.bins as u32).unwrap_or_default();
            let options = EngineOptions {
                bins,
                ..settings.nic.clone()
            };
            let engine = entry
                .engine(&options)
                .ok_or(BenchError::NoEngine(entry.name))?;
            run.sequential(Drain::new(leader), engine, point)
        }
        Peer::Endpoint | Peer::Copy | Peer::Ucx => unreachable!("measured above"),
    }
}

fn through_endpoint(
    point: &Point,
    settings: &Settings,
    window: &Window,
    config: NicConfig,
) -> Result<Sample, BenchError> {
    let options = EngineOptions {
        nic: config,
        ..settings.nic.clone()
    };
    let receiver =
        EndpointReceiver::new(&options, slots(window), first_standing(window), point.size)?;
    // Each sender has its own completion queue, assigned in order.
    let hashes = settings.nic.sender_hashes;
    let sender = |number| receiver.sender(rank(number), hashes);
    let mut senders: Vec<_> = (0..window.senders).map(sender).collect();
    let sender = senders.remove(0);
    let run = Run {
        window,
        settings,
        sender,
        processors: Processors::allowed(),
        threads: window.senders + 1 + if options.threads { config.workers } else { 0 },
    };
    let monitor = receiver.monitor();
    let (sample, _) = run.pair_with(receiver, senders)?;
    let paths = Some(Paths::from_counts(&monitor.counts()));
    Ok(Sample {
        paths,
        sizes: Some(Sizes::new(&config)),
        ..sample
    })
}

/// The parts of a measurement besides the receiver.
struct Run<'a, W> {
    window: &'a Window,
    settings: &'a Settings,
    sender: W,
    processors: Processors,
    /// Threads that spin: the senders, the receiver, and the NIC's.
    threads: usize,
}

impl Run<'_, Sender> {
    fn sequential(
        self,
        drain: Drain,
        engine: Box<impl Engine + ?Sized>,
        point: &Point,
    ) -> Result<Sample, BenchError> {
        let window = self.window;
        let receiver = Sequential::new(drain, engine, slots(window), point.window, point.size);
        let (sample, receiver) = self.pair(receiver)?;
        Ok(Sample {
            steps_per_message: Some(receiver.steps_per_message()),
            ..sample
        })
    }

    fn pair<R: Receiver + Send>(self, receiver: R) -> Result<(Sample, R), BenchError> {
        let others = (1..self.window.senders)
            .map(|_| self.sender.clone())
            .collect();
        self.pair_with(receiver, others)
    }
}

impl<W: Wire> Run<'_, W> {
    /// Runs the pair; `others` holds all senders but the first. A receiver that fails must drop the
    /// NIC at once, since senders may wait for its queue or buffers.
    fn pair_with<R: Receiver + Send>(
        self,
        mut receiver: R,
        others: Vec<W>,
    ) -> Result<(Sample, R), BenchError> {
        let Self {
            window,
            settings,
            sender,
            processors,
            threads,
        } = self;
        let limits = settings.limits(window);
        if settings.one_thread {
            let outboxes = (0..)
                .zip(std::iter::once(sender).chain(others))
                .map(|(number, sender)| Outbox::new(sender, window, number).alone())
                .collect();
            return one_thread(receiver, outboxes, window, settings, &processors);
        }
        let signals: Signals = Signals::default();
        let (times, (received, receiver), pinned) = std::thread::scope(|scope| {
            let (processors, signals) = (&processors, &signals);
            let receiving = std::thread::Builder::new()
                .name("receiver".into())
                .spawn_scoped(scope, move || {
                    let pinned = processors.pin_receiver();
                    let times = receive(
                        &mut receiver,
                        window,
                        limits.repetitions,
                        signals,
                        &SystemClock,
                    );
                    (times.map(|times| (times, receiver)), pinned)
                })?;
            let sending_along = (1..).zip(others).try_for_each(|(number, sender)| {
                let run = move || {
                    processors.pin_other_sender(number);
                    send_along(Outbox::new(sender, window, number), window, signals);
                };
                let thread = std::thread::Builder::new().name(format!("sender {number}"));
                thread.spawn_scoped(scope, run).map(|_| ())
            });
            let sending = sending_along.and_then(|()| {
                std::thread::Builder::new()
                    .name("sender".into())
                    .spawn_scoped(scope, move || {
                        let pinned = processors.pin_sender();
                        let outbox = Outbox::new(sender, window, 0);
                        (send(outbox, window, limits, signals, &SystemClock), pinned)
                    })
            });
            if sending.is_err() {
                // Ends the receiver.
                drop(super::signal::Farewell(&[&signals.go]));
            }
            let (received, receiver_pinned) = receiving.join().map_err(|_| BenchError::Panic)?;
            let (times, sender_pinned) = sending?.join().map_err(|_| BenchError::Panic)?;
            Ok::<_, BenchError>((times, received?, receiver_pinned && sender_pinned))
        })?;
        let sieve = settings.sieve(&times, &received, processors.have_room_for(threads));
        Ok((sample(&times, &received, window, sieve, pinned)?, receiver))
    }
}

/// Runs both ends on one pinned thread.
fn one_thread<W: Wire, R: Receiver + Send>(
    mut receiver: R,
    mut outboxes: Vec<Outbox<W>>,
    window: &Window,
    settings: &Settings,
    processors: &Processors,
) -> Result<(Sample, R), BenchError> {
    let limits = settings.limits(window);
    std::thread::scope(|scope| {
        let both = std::thread::Builder::new()
            .name("both ends".into())
            .spawn_scoped(scope, move || {
                let pinned = processors.pin_receiver();
                let turns = by_turns(&mut outboxes, &mut receiver, window, limits, &SystemClock)?;
                let sieve = settings.sieve(&turns.sender, &turns.receiver, true);
                let sample = sample(&turns.sender, &turns.receiver, window, sieve, pinned)?;
                Ok((sample, receiver))
            })?;
        both.join().map_err(|_| BenchError::Panic)?
    })
}

fn sample(
    times: &SenderTimes,
    received: &ReceiverTimes,
    window: &Window,
    sieve: Sieve,
    pinned: bool,
) -> Result<Sample, BenchError> {
    let share = |times: &[f64], count: usize| {
        Summary::from_values(&sieve.kept(times))
            .map_or(0.0, |summary| summary.median / count as f64)
    };
    let each = |times: &[f64]| share(times, window.receives.len());
    let admit_ns = each(&received.settle);
    let kept = sieve.kept(&times.window);
    Ok(Sample {
        time_ns: Summary::from_values(&kept).ok_or(BenchError::Nothing)?,
        windows: sieve.windows,
        post_ns: each(&received.post) + admit_ns,
        admit_ns,
        receive_ns: share(&received.unexpected, window.late().len()),
        checked: received.checked,
        pinned,
        latencies: (window.messages.len() == 1)
            .then(|| Latencies::from_ns(&sieve.not_preempted(&times.window))),
        ..Sample::default()
    })
}

#[cfg(test)]
pub(in crate::bench) mod tests;
