//! A measurement: its settings, its two threads, and its result.

use std::time::Duration;

use dpa_model::{Drain, FastPath, INLINE_BYTES, Nic, NicConfig, Sender};

use super::baseline::{NoMatching, Sequential};
use super::endpoint_receiver::EndpointReceiver;
use super::error::{BenchError, SIZE_MAX, WINDOW_BYTES_MAX};
use super::latency::Latencies;
use super::load::{Window, rank};
use super::machine::Processors;
use super::nic_receiver::{NicReceiver, Paths};
use super::outbox::{Outbox, Wire};
use super::point::{Peer, Point};
use super::scenario::WINDOW_MAX;
use super::signal::Signals;
use super::stats::Summary;
use super::ucx::{Ucx, UcxError};
use super::window::{
    Limits, Receiver, ReceiverTimes, SystemClock, first_standing, receive, send, send_along, slots,
};
use dpamatch::engine::{BIN_COUNT_MAX, BinCount, BinEngine, Engine, ListEngine};
use dpamatch::registry::EngineOptions;

#[derive(Clone, Debug)]
pub struct Settings {
    /// The NIC. `threads` runs it on its own threads instead of the receiving thread. Tables that
    /// are too small for a window are enlarged.
    pub nic: EngineOptions,
    /// Gives a hash table at least as many bins as receives are posted at a time. Otherwise a
    /// search walks over several receives whatever the hash.
    pub grow_bins: bool,
    /// Maximum measured windows.
    pub repetitions: usize,
    /// Maximum measured windows of one message, which are short, and whose rare long times matter.
    pub repetitions_single: usize,
    /// Time limit, after a minimum of ten windows.
    pub budget: Duration,
    /// Seed of random orders.
    pub seed: u64,
    /// UCX, if it is to be measured.
    pub ucx: Option<Ucx>,
    /// Whether to check the placement of the processors before and after each measurement.
    pub look: bool,
}

/// The result of one round of a point.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Sample {
    /// Time of a window in nanoseconds.
    pub time_ns: Summary,
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
    /// Compares and hops per message in a sequential engine's searches, warm-up included; `None`
    /// for another receiver.
    pub steps_per_message: Option<f64>,
    /// The latencies, if each window is one message.
    #[serde(skip)]
    pub latencies: Option<Latencies>,
}

impl Settings {
    /// The requested NIC, enlarged for the point if necessary.
    fn config(&self, point: &Point) -> NicConfig {
        let mut config = self.nic.nic;
        if let Peer::Nic { handlers } = point.peer {
            config.handlers = handlers;
        }
        let Point { scenario, window, size, .. } = point;
        let posted = window + scenario.standing;
        config.receives = config.receives.max(posted + 1);
        if self.grow_bins {
            config.bins = config.bins.max(posted.next_power_of_two().min(BIN_COUNT_MAX as usize));
        }
        if scenario.unexpected || scenario.late > 0 {
            config.unexpected = config.unexpected.max(window + 1);
            if (INLINE_BYTES + 1..=config.eager_limit).contains(size) {
                config.unexpected_buffers = config.unexpected_buffers.max(window + 1);
            }
        }
        config.regions = config.regions.max(*window);
        config.options.fast_path = match (scenario.fast_path, config.options.fast_path) {
            (Some(FastPath::Off), _) => FastPath::Off,
            (Some(on), FastPath::Off) => on,
            (_, chosen) => chosen,
        };
        config
    }

    pub(super) fn repetitions_of(&self, window: usize) -> usize {
        if window == 1 { self.repetitions_single } else { self.repetitions }
    }

    fn limits(&self, window: &Window) -> Limits {
        let repetitions = self.repetitions_of(window.messages.len());
        Limits { repetitions, budget: self.budget }
    }
}

/// Measures a point once: warm-up windows whose payloads and order are checked, then the measured
/// ones.
///
/// # Errors
/// [`BenchError`]; a wrong match is one.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use dpamatch_tools::bench::{Peer, Point, Settings, WARM_UP, measure};
///
/// let peer = Peer::Nic { handlers: 32 };
/// let point = Point { peer, scenario: "NC".parse()?, window: 16, size: 8 };
/// let settings = Settings {
///     nic: dpamatch::registry::EngineOptions { threads: false, ..Default::default() },
///     grow_bins: true,
///     repetitions: 10,
///     repetitions_single: 10,
///     budget: Duration::from_millis(5),
///     seed: 1,
///     ucx: None,
///     look: false,
/// };
/// let sample = measure(&point, &settings)?;
/// assert_eq!(sample.checked, (WARM_UP * 16) as u64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
        let received = ReceiverTimes { checked, ..ReceiverTimes::default() };
        return sample(&times, &received, &window, pinned);
    }
    let config = settings.config(point);
    if point.peer == Peer::Endpoint {
        return through_endpoint(point, settings, &window, config);
    }
    // Moved, not cloned: a single sender claims positions without a locked instruction.
    let Nic { leader, workers, host, mut sender } = Nic::new(&config)?;
    sender.set_inline_hashes(settings.nic.sender_hashes);
    let run = Run { window: &window, settings, sender, processors: Processors::allowed() };
    let slots = slots(&window);
    match point.peer {
        Peer::Nic { .. } => {
            let options = EngineOptions { nic: config, ..settings.nic.clone() };
            let receiver = NicReceiver::new(
                (leader, workers),
                host,
                &options,
                slots,
                point.size,
                &run.processors,
            )?;
            let monitor = receiver.monitor();
            let (sample, _) = run.pair(receiver)?;
            Ok(Sample { paths: Some(Paths::of(&monitor.counts())), ..sample })
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
            let options = EngineOptions { bins, ..settings.nic.clone() };
            let engine = entry.engine(&options).ok_or(BenchError::NoEngine(entry.name))?;
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
    let options = EngineOptions { nic: config, ..settings.nic.clone() };
    let receiver =
        EndpointReceiver::new(&options, slots(window), first_standing(window), point.size)?;
    // Each sender has its own completion queue, assigned in order.
    let hashes = settings.nic.sender_hashes;
    let sender = |number| receiver.sender(rank(number), hashes);
    let mut senders: Vec<_> = (0..window.senders).map(sender).collect();
    let sender = senders.remove(0);
    let run = Run { window, settings, sender, processors: Processors::allowed() };
    let monitor = receiver.monitor();
    let (sample, _) = run.pair_with(receiver, senders)?;
    Ok(Sample { paths: Some(Paths::of(&monitor.counts())), ..sample })
}

/// The parts of a measurement besides the receiver.
struct Run<'a, W> {
    window: &'a Window,
    settings: &'a Settings,
    sender: W,
    processors: Processors,
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
        Ok(Sample { steps_per_message: Some(receiver.steps_per_message()), ..sample })
    }

    fn pair<R: Receiver + Send>(self, receiver: R) -> Result<(Sample, R), BenchError> {
        let others = (1..self.window.senders).map(|_| self.sender.clone()).collect();
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
        let Self { window, settings, sender, processors } = self;
        let limits = settings.limits(window);
        let signals: Signals = Signals::default();
        let (times, (received, receiver), pinned) = std::thread::scope(|scope| {
            let (processors, signals) = (&processors, &signals);
            let receiving = std::thread::Builder::new().name("receiver".into()).spawn_scoped(
                scope,
                move || {
                    let pinned = processors.pin_receiver();
                    let times =
                        receive(&mut receiver, window, limits.repetitions, signals, &SystemClock);
                    (times.map(|times| (times, receiver)), pinned)
                },
            )?;
            let sending_along = (1..).zip(others).try_for_each(|(number, sender)| {
                let run = move || {
                    processors.pin_other_sender(number);
                    send_along(Outbox::new(sender, window, number), window, signals);
                };
                let thread = std::thread::Builder::new().name(format!("sender {number}"));
                thread.spawn_scoped(scope, run).map(|_| ())
            });
            let sending = sending_along.and_then(|()| {
                std::thread::Builder::new().name("sender".into()).spawn_scoped(scope, move || {
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
        Ok((sample(&times, &received, window, pinned)?, receiver))
    }
}

fn sample(
    times: &[f64],
    received: &ReceiverTimes,
    window: &Window,
    pinned: bool,
) -> Result<Sample, BenchError> {
    let share = |times: &[f64], count: usize| {
        Summary::of(times).map_or(0.0, |summary| summary.median / count as f64)
    };
    let each = |times: &[f64]| share(times, window.receives.len());
    let admit_ns = each(&received.settle);
    Ok(Sample {
        time_ns: Summary::of(times).ok_or(BenchError::Nothing)?,
        post_ns: each(&received.post) + admit_ns,
        admit_ns,
        receive_ns: share(&received.unexpected, window.late().len()),
        checked: received.checked,
        pinned,
        paths: None,
        steps_per_message: None,
        latencies: (window.messages.len() == 1).then(|| Latencies::of(times)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::scenario::Scenario;
    use super::*;

    fn settings(threads: bool) -> Settings {
        let nic = EngineOptions { threads, ..EngineOptions::default() };
        Settings {
            nic,
            grow_bins: true,
            repetitions: 3,
            repetitions_single: 3,
            budget: Duration::ZERO,
            seed: 7,
            ucx: None,
            look: false,
        }
    }

    fn point(peer: Peer, scenario: &str, window: usize, size: usize) -> Point {
        Point { peer, scenario: scenario.parse().expect("a scenario"), window, size }
    }

    #[test]
    fn every_scenario_is_matched_right_by_every_peer() {
        for scenario in Scenario::all() {
            let nic = Peer::Nic { handlers: 8 };
            for peer in [nic, Peer::Endpoint, Peer::Bins, Peer::List, Peer::NoMatching] {
                if !peer.takes(&scenario) || scenario.standing > 1024 {
                    continue;
                }
                let sample = measure(&point(peer, scenario.name(), 40, 8), &settings(false));
                let sample = sample.unwrap_or_else(|error| panic!("{peer} {scenario}: {error}"));
                assert_eq!(sample.checked, 40 * super::super::WARM_UP as u64);
                assert_eq!(sample.time_ns.count, 3);
            }
        }
    }

    #[test]
    fn sizes_take_every_protocol() {
        for size in [0, 1, 24, 25, 4096, 4097, 70_000] {
            for peer in [Peer::Nic { handlers: 32 }, Peer::Endpoint, Peer::NoMatching, Peer::Bins] {
                let sample =
                    measure(&point(peer, "NC", 20, size), &settings(false)).expect("a sample");
                assert!(sample.time_ns.median > 0.0);
            }
            measure(&point(Peer::Nic { handlers: 32 }, "UNEXP", 20, size), &settings(false))
                .expect("a sample");
        }
    }

    #[test]
    fn several_senders_and_set_shares_take_every_protocol() {
        for size in [0, 8, 25, 4097] {
            for scenario in ["MANY-3", "HOT-30", "MIX-30-30-30", "MIX-100-100-100"] {
                for peer in [Peer::Nic { handlers: 32 }, Peer::Bins] {
                    let sample = measure(&point(peer, scenario, 20, size), &settings(false));
                    let sample =
                        sample.unwrap_or_else(|error| panic!("{peer} {scenario} {size}: {error}"));
                    assert_eq!(sample.receive_ns > 0.0, scenario.starts_with("MIX"));
                }
            }
        }
        let copied =
            measure(&point(Peer::Copy, "NC", 20, 70_000), &settings(false)).expect("a sample");
        assert!(copied.time_ns.count == 3 && copied.checked == 20 * super::super::WARM_UP as u64);
        measure(&point(Peer::Nic { handlers: 32 }, "MANY-8", 3, 8), &settings(false))
            .expect("a sample");
    }

    #[test]
    fn what_a_peer_does_not_take_is_refused() {
        for (peer, scenario) in [
            (Peer::Ucx, "HOT-10"),
            (Peer::Ucx, "MANY-2"),
            (Peer::NoMatching, "WC"),
            (Peer::Endpoint, "MIX-10-0-0"),
        ] {
            let refused = measure(&point(peer, scenario, 10, 8), &settings(false));
            assert!(
                matches!(refused, Err(BenchError::NotTaken(named)) if named == peer),
                "{peer} {scenario}"
            );
        }
        assert!(Peer::Ucx.takes(&"WDEPTH-64".parse().expect("a scenario")));
    }

    #[test]
    fn tables_grow_with_the_window() {
        let nic = Peer::Nic { handlers: 32 };
        for scenario in ["NC-REV", "UNEXP", "MIX-0-0-90"] {
            measure(&point(nic, scenario, 5000, 8), &settings(false)).expect("a sample");
        }
        measure(&point(nic, "DEPTH-3000", 10, 8), &settings(false)).expect("a sample");
        let bins = |grow_bins, name| {
            Settings { grow_bins, ..settings(false) }.config(&point(nic, name, 100, 8)).bins
        };
        let least = settings(false).nic.nic.bins;
        assert_eq!(
            [bins(true, "DEPTH-8192"), bins(false, "DEPTH-8192"), bins(true, "NC")],
            [16_384, least, least]
        );
        let too_many = measure(&point(nic, "NC", WINDOW_MAX + 1, 8), &settings(false));
        assert!(matches!(too_many, Err(BenchError::WindowSize(_))));
        let too_long = measure(&point(nic, "NC", 10_000, 1 << 20), &settings(false));
        assert!(matches!(too_long, Err(BenchError::MessageSize)));
    }

    #[test]
    fn a_nic_has_room_for_every_message_of_a_window() {
        let config = |handlers, scenario, window, size| {
            settings(false).config(&point(Peer::Nic { handlers }, scenario, window, size))
        };
        let least = settings(false).nic.nic;
        let plain = config(5, "NC", 10, 8);
        assert_eq!(plain.handlers, 5);
        assert_eq!(
            NicConfig { handlers: least.handlers, ..plain },
            NicConfig { bins: plain.bins, ..least }
        );
        let window = 9_000;
        assert_eq!(config(5, "DEPTH-1000", window, 8).receives, 10_001);
        let rooms = |scenario, size| {
            let config = config(5, scenario, window, size);
            [config.receives, config.unexpected, config.unexpected_buffers, config.regions]
        };
        let [receives, unexpected, buffers] =
            [window + 1, least.unexpected, least.unexpected_buffers];
        let small = |unexpected, buffers| [receives, unexpected, buffers, window];
        assert_eq!(rooms("NC", 100), small(unexpected, buffers));
        for scenario in ["UNEXP", "MIX-0-0-1"] {
            assert_eq!(rooms(scenario, INLINE_BYTES), small(window + 1, buffers), "{scenario}");
            assert_eq!(rooms(scenario, INLINE_BYTES + 1), small(window + 1, window + 1));
            assert_eq!(rooms(scenario, least.eager_limit), small(window + 1, window + 1));
            assert_eq!(rooms(scenario, least.eager_limit + 1), small(window + 1, buffers));
        }
    }

    #[test]
    fn threads_of_the_nic_give_the_same_matches() {
        let mut settings = settings(true);
        for workers in [1, 2] {
            settings.nic.nic.workers = workers;
            for scenario in ["NC-RND", "WC", "UNEXP-REV", "MANY-3", "HOT-50", "MIX-30-30-30"] {
                measure(&point(Peer::Nic { handlers: 32 }, scenario, 100, 8), &settings)
                    .expect("a sample");
            }
        }
    }

    #[test]
    fn the_forced_paths_are_taken() {
        let paths = |scenario| {
            let mut settings = settings(false);
            settings.nic.nic.options.fast_path = FastPath::Literal;
            let config = settings.config(&point(Peer::Nic { handlers: 32 }, scenario, 100, 8));
            config.options.fast_path
        };
        assert_eq!([paths("WC"), paths("WC-FP")], [FastPath::Literal, FastPath::Literal]);
        assert_eq!(paths("WC-SP"), FastPath::Off);
        let mut settings = settings(false);
        settings.nic.nic.options.fast_path = FastPath::Off;
        let config = settings.config(&point(Peer::Nic { handlers: 32 }, "WC-FP", 100, 8));
        assert_eq!(config.options.fast_path, FastPath::Sequence);
    }

    #[test]
    fn a_sample_is_made_of_both_ends_times() {
        let window = Window::new(&"MIX-0-0-50".parse().expect("a scenario"), 4, 8, 1);
        let received = ReceiverTimes {
            post: vec![40.0, 80.0, 60.0],
            settle: vec![8.0, 4.0, 100.0],
            unexpected: vec![10.0, 30.0],
            checked: 77,
        };
        let made = sample(&[5.0, 1.0, 3.0], &received, &window, true).expect("a sample");
        let expected = Sample {
            time_ns: Summary { median: 3.0, min: 1.0, max: 5.0, count: 3 },
            // Four receives: 60 / 4 and 8 / 4.
            post_ns: 17.0,
            admit_ns: 2.0,
            // Two of them are late: 20 / 2.
            receive_ns: 10.0,
            checked: 77,
            pinned: true,
            paths: None,
            steps_per_message: None,
            latencies: None,
        };
        assert_eq!(made, expected);
        assert!(matches!(sample(&[], &received, &window, true), Err(BenchError::Nothing)));
    }

    /// The length of searches shows the setup: standing receives in front, and as many bins as the
    /// NIC has.
    #[test]
    fn the_baselines_search_what_the_scenario_says() {
        let steps = |peer, scenario, bins: u32| {
            let mut settings = settings(false);
            settings.grow_bins = bins == 0;
            if bins > 0 {
                settings.nic.nic.bins = bins as usize;
            }
            let sample = measure(&point(peer, scenario, 100, 8), &settings).expect("a sample");
            sample.steps_per_message.expect("a sequential engine")
        };
        // In reverse order each search walks the whole list: 100 + 99 + ... + 1 steps.
        assert_eq!(steps(Peer::List, "NC", 0), 1.0);
        assert_eq!(steps(Peer::List, "NC-REV", 0), 50.5);
        assert_eq!(steps(Peer::List, "DEPTH-300", 0), 301.0);
        assert_eq!(steps(Peer::List, "WDEPTH-300", 0), 301.0);
        let bins = steps(Peer::Bins, "NC-REV", 0);
        assert!((1.0..2.0).contains(&bins), "{bins}");
        assert_eq!(steps(Peer::Bins, "NC-REV", 1), 50.5);
        let deep = [0, 4096, 64, 1].map(|bins| steps(Peer::Bins, "DEPTH-2000", bins));
        assert!(deep[0] < 2.5 && deep[1] < deep[2] && deep[2] < deep[3], "{deep:?}");
        let nic = measure(&point(Peer::Nic { handlers: 8 }, "NC", 20, 8), &settings(false));
        assert_eq!(nic.expect("a sample").steps_per_message, None);
    }

    /// Also if the refused receive follows the messages, whose buffers remain unread.
    #[test]
    fn excluded_wildcards_are_reported() {
        for threads in [false, true] {
            let mut settings = settings(threads);
            settings.nic.hints.no_any_source = true;
            for peer in [Peer::Nic { handlers: 32 }, Peer::Endpoint] {
                for (scenario, size) in
                    [("ANYSRC", 8), ("UNEXP-ANYSRC-REV", 8), ("UNEXP-ANYSRC-REV", 70_000)]
                {
                    let refused = measure(&point(peer, scenario, 10, size), &settings);
                    assert!(matches!(refused, Err(BenchError::Hint)), "{peer} {scenario} {size}");
                }
            }
        }
    }
}
