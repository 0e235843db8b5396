//! Runs an event stream through an emulated NIC in exactly the stream's order, fallback included.

use std::fmt;

use dpa_model::{BinUse, Counts, Hints, NicConfig, Order, UnexpectedFull};

use super::software::SoftwareStats;
use super::stream_run::Run;
use crate::engine::Counter;
use crate::registry::Fallback;
use crate::stream::{Event, Outcome, RunError, StreamMatcher};

/// How an emulated NIC is built for a stream.
pub struct NicMatcher {
    pub(super) config: NicConfig,
    pub(super) threads: bool,
    pub(super) hints: Hints,
    pub(super) inline_hashes: bool,
    pub(super) fallback: Fallback,
    counts: Option<(Counts, SoftwareStats)>,
    /// Compares and hops of the software engine.
    software_steps: u64,
    bins: BinUse,
}

impl std::fmt::Debug for NicMatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NicMatcher").field("config", &self.config).finish_non_exhaustive()
    }
}

/// A failure of the emulated NIC that the run noticed.
#[derive(Debug)]
#[non_exhaustive]
pub enum NicRunError {
    /// A receive or probe uses a wildcard that the hints exclude.
    HintViolated,
    /// The NIC's queues hold something else at the end than its answers said.
    LeftDiffers(&'static str),
    /// A receive got other bytes than were sent.
    Payload(u64),
    /// The NIC stopped by itself.
    Stopped,
}

impl fmt::Display for NicRunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HintViolated => f.write_str(
                "a receive or probe uses a wildcard that the communicator's hints exclude",
            ),
            Self::LeftDiffers(what) => {
                write!(f, "the NIC's queues at the end do not hold what its answers left: {what}")
            }
            Self::Payload(message) => write!(f, "message {message} was delivered with wrong bytes"),
            Self::Stopped => f.write_str("the emulated NIC stopped unexpectedly"),
        }
    }
}

impl std::error::Error for NicRunError {}

impl NicMatcher {
    /// A NIC of this configuration with `hints` on every communicator, run by `config.workers`
    /// threads, or by the calling thread if `threads` is false. The order is always the stream's,
    /// and exhausted unexpected memory always demotes to the host: with a given order, waiting for
    /// room would be for ever.
    ///
    /// # Errors
    /// [`dpa_model::ConfigError`] for a configuration that no NIC can be built from.
    pub fn new(
        mut config: NicConfig,
        threads: bool,
        hints: Hints,
        fallback: Fallback,
    ) -> Result<Self, dpa_model::ConfigError> {
        config.options.order = Order::Stamped;
        config.options.unexpected_full = UnexpectedFull::Demote;
        config.validate()?;
        Ok(Self {
            config,
            threads,
            hints,
            inline_hashes: true,
            fallback,
            counts: None,
            software_steps: 0,
            bins: BinUse::default(),
        })
    }

    /// Whether senders put hashes in the header (O26).
    pub fn set_inline_hashes(&mut self, on: bool) {
        self.inline_hashes = on;
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
        let mut run = Run::start(self).map_err(boxed)?;
        let result = run.all(events, sink);
        self.counts = Some((run.monitor.counts(), run.software.stats()));
        let searched = run.software.engine().stats();
        self.software_steps =
            [searched.prq, searched.umq].iter().map(|queue| queue.attempts + queue.hops).sum();
        self.bins = run.monitor.bin_use();
        run.stop();
        result.map_err(boxed)
    }

    fn counters(&self) -> Vec<Counter> {
        let Some((nic, software)) = self.counts else { return Vec::new() };
        let sends = [
            ("send_queue_full", nic.send_queue_full),
            ("send_no_bounce_buffer", nic.send_no_bounce_buffer),
            ("regions_added", nic.regions_added),
            ("software_posts", software.posts),
            ("software_arrivals", software.arrivals),
            ("software_matches", software.matches),
            ("software_steps", self.software_steps),
            ("hand_back_offers", software.offers),
            ("fallback_away_ns", software.away_ns),
            ("bins", self.bins.bins),
            ("bins_used", self.bins.used),
        ];
        let rows = nic.handlers.rows().chain(nic.boundary.rows()).chain(sends);
        rows.map(|(name, value)| Counter::new(name, value)).collect()
    }
}

fn boxed(error: impl std::error::Error + Send + Sync + 'static) -> RunError {
    RunError::Engine(Box::new(error))
}
