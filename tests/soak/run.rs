//! Long runs of random traffic through an [`Endpoint`], in which every message and every match is
//! checked.
//!
//! Several sender threads send numbered messages of random tags and sizes (inline, bounce buffer,
//! rendezvous) to random communicators; the endpoint's thread posts receives of all wildcard
//! classes, cancels some, and probes at times. The run checks
//! - *every match*: the NIC's order log, from the first event on, gives the same result in the
//!   oracle;
//! - *every message*: its bytes, and that it is the next one of its sender in the order of
//!   arrival: so none is lost, none comes twice, none overtakes;
//! - *the breaks and the end*: all messages received, both queues empty; and memory has not grown
//!   ([`Report::check_memory`]).
//!
//! Senders run at most a window of messages ahead of the receiver. That bounds the unexpected
//! queue, and so the oracle's work.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use dpa_model::{Counts, Hints, NicConfig, Options};
use dpamatch_vocabulary::Rank;

use dpamatch::endpoint::{Drive, Endpoint, EndpointConfig};
use dpamatch::host::SoftwareStats;

use super::receiver::Receiver;
use super::traffic::{Lane, Source};

/// The runs under smaller seeds.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(crate) struct Earlier {
    pub(crate) messages: u64,
    pub(crate) elapsed: Duration,
}

/// Runs under one seed after the other, each with new endpoints, until the time is over. Without a
/// time there is one run.
#[derive(Debug)]
pub(crate) struct Runs {
    /// The settings of the next run. Its time is what is left.
    pub(crate) next: Option<Settings>,
}

impl Iterator for Runs {
    type Item = Report;

    fn next(&mut self) -> Option<Report> {
        let mut settings = self.next.take()?;
        let report = run(&settings);
        let left = settings
            .time_max
            .map(|most| most.saturating_sub(report.elapsed));
        if left.is_some_and(|left| !left.is_zero()) {
            settings.time_max = left;
            settings.seed += 1;
            settings.earlier.messages += report.received;
            settings.earlier.elapsed += report.elapsed;
            self.next = Some(settings);
        }
        Some(report)
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Settings {
    /// Messages, of all senders together.
    pub(crate) messages: u64,
    /// The senders stop after this time.
    pub(crate) time_max: Option<Duration>,
    /// Print the progress about once a second.
    pub(crate) shows: bool,
    /// Runs before this one, which count in what it prints.
    pub(crate) earlier: Earlier,
    /// Fixes the actions of senders and receiver; their timing depends on the threads.
    pub(crate) seed: u64,
    /// Sender threads, 1 to 64.
    pub(crate) senders: usize,
    /// Communicators, at least 1.
    pub(crate) communicators: usize,
    /// Their hints. The run does not use excluded wildcards. Overtaking must not be allowed: the
    /// oracle would disagree.
    pub(crate) hints: Hints,
    /// Most receives posted at a time, at least 1; each break chooses a new value up to this.
    pub(crate) receives_max: usize,
    /// Messages that a sender may be ahead of the receiver, at least 1; each break chooses a new
    /// value up to this.
    pub(crate) window: u64,
    /// Messages between two breaks, at least 1. A break receives every message and cancels every
    /// receive, so that both queues are empty and software returns its communicators to the NIC.
    pub(crate) break_every: u64,
    /// The NIC; the order log is always on.
    pub(crate) nic: NicConfig,
    pub(crate) drive: Drive,
}

impl Default for Settings {
    /// 100 million messages of 4 senders to 2 communicators, on a NIC with 2 workers. Its tables
    /// are slightly too small, so that the fallback runs at times.
    fn default() -> Self {
        Self {
            messages: 100_000_000,
            time_max: None,
            shows: false,
            earlier: Earlier::default(),
            seed: 0,
            senders: 4,
            communicators: 2,
            hints: Hints::default(),
            receives_max: 256,
            window: 256,
            break_every: 20_000,
            nic: NicConfig {
                workers: 2,
                slice_min: 8,
                receives: 255,
                bins: 32,
                communicators: 2,
                eager_limit: 256,
                unexpected: 960,
                unexpected_buffers: 130,
                regions: 32,
                ..NicConfig::default()
            },
            drive: Drive::threads(),
        }
    }
}

/// The report of a run without a fault.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Report {
    pub(crate) received: u64,
    /// Time from the first message to the last.
    pub(crate) elapsed: Duration,
    /// Messages that were longer than their buffer.
    pub(crate) truncated: u64,
    /// Messages that matched probes took.
    pub(crate) taken: u64,
    pub(crate) cancelled: u64,
    /// Events of the order log, all of which the oracle confirmed.
    pub(crate) log_entries: u64,
    /// Breaks made: moments at which both queues were empty.
    pub(crate) breaks: u64,
    pub(crate) counts: Counts,
    pub(crate) software: SoftwareStats,
    /// Resident memory after a tenth of the messages, and at the end.
    pub(crate) memory_bytes: Option<(u64, u64)>,
}

impl Report {
    pub(crate) fn rate_per_s(&self) -> f64 {
        self.received as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Checks that memory stayed flat. Meaningful only if the process does nothing else.
    pub(crate) fn check_memory(&self) {
        if let Some((before, after)) = self.memory_bytes {
            assert!(
                after <= before + MEMORY_GROWTH_MAX_BYTES,
                "memory grew from {before} to {after}"
            );
        }
    }
}

/// More growth of resident memory than this after the first tenth of a run is a fault: 16 MiB.
pub(crate) const MEMORY_GROWTH_MAX_BYTES: u64 = 16 << 20;

/// Resident memory in bytes, or `None` if the system does not report it.
pub(super) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Makes the senders end when this thread leaves the run; by a panic it prints the settings.
struct EndSenders<'a>(&'a AtomicBool, &'a Settings);

impl Drop for EndSenders<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
        if std::thread::panicking() {
            eprintln!("{:?}", self.1);
        }
    }
}

/// Runs the traffic, and panics at the first fault.
pub(crate) fn run(settings: &Settings) -> Report {
    let over = AtomicBool::new(false);
    let lanes: Vec<Lane> = (0..settings.senders)
        .map(|_| Lane::new(settings.window))
        .collect();
    std::thread::scope(|scope| {
        let _end = EndSenders(&over, settings);
        let options = Options {
            log_order: true,
            ..settings.nic.options
        };
        let config = EndpointConfig {
            nic: NicConfig {
                options,
                ..settings.nic
            },
            drive: settings.drive.clone(),
        };
        let mut endpoint = Endpoint::new(&config).expect("a NIC can be built");
        let create = |_| endpoint.create_comm(settings.hints).expect("the NIC runs");
        let comms: Vec<_> = (0..settings.communicators).map(create).collect();
        for (index, lane) in lanes.iter().enumerate() {
            let rank = Rank::new(index as u32).expect("few senders");
            let peers: Vec<_> = comms
                .iter()
                .map(|comm| endpoint.sender(comm, rank))
                .collect();
            let quota = settings.messages / settings.senders as u64
                + u64::from((index as u64) < settings.messages % settings.senders as u64);
            let mut source = Source::new(settings.seed, peers, quota);
            let over = &over;
            scope.spawn(move || source.send_all(lane, over));
        }
        let started = Instant::now();
        let mut receiver = Receiver::new(settings, endpoint, comms, &lanes);
        receiver.run(started, &over);
        receiver.finish(started.elapsed())
    })
}
