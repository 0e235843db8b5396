//! Models of streams: name, stream, extent of the exploration and expected paths.

use std::sync::Arc;

use dpa_model::NicConfig;

use crate::check::{explore, report};
use crate::paths::Paths;
use crate::stream::{Crew, Stream};

/// Extent of a model's exploration. `DPAMATCH_LOOM_FULL=1` selects the full set.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Preemption bound in the everyday set; `None` is exhaustive.
    pub usual: Option<usize>,
    /// Preemption bound in the full set; `None` is exhaustive.
    pub full: Option<usize>,
}

impl Extent {
    /// Every interleaving, in both sets.
    pub const EXHAUSTIVE: Self = Self {
        usual: None,
        full: None,
    };

    /// Bounded in both sets.
    pub const fn bounded(usual: usize, full: usize) -> Self {
        Self {
            usual: Some(usual),
            full: Some(full),
        }
    }

    /// The bound of this run. `DPAMATCH_LOOM_BOUND=<k>` sets it for all bounded models, to show how
    /// they grow.
    pub fn bound(self) -> Option<usize> {
        let bound = if is_full() { self.full } else { self.usual };
        let asked = std::env::var("DPAMATCH_LOOM_BOUND").ok();
        bound.map(|bound| {
            asked.map_or(bound, |asked| {
                asked.parse().expect("DPAMATCH_LOOM_BOUND: a number")
            })
        })
    }
}

/// Whether the full set is selected.
pub fn is_full() -> bool {
    std::env::var_os("DPAMATCH_LOOM_FULL").is_some_and(|value| value == "1")
}

/// Explores a leader that runs a stream's blocks alone while the stream is being issued. Blocks
/// hold the messages that have arrived, so they can be shorter than shared ones.
///
/// # Panics
/// When an execution differs from the oracle; when no execution took a path of `expected`, or one
/// took a path of `never`, booked a receive or shared a block.
pub fn alone(name: &str, stream: Stream, extent: Extent, expected: &[&str], never: &[&str]) {
    let bound = extent.bound();
    let paths = Arc::new(Paths::default());
    let noted = Arc::clone(&paths);
    let config = NicConfig {
        workers: 1,
        ..stream.config
    };
    let stream = Stream { config, ..stream };
    let executions = explore(name, bound, move || noted.add(&stream.run(Crew::Alone, 0)));
    report(name, executions, bound);
    paths.require(name, expected, never);
    paths.require(name, &[], &["shared_blocks", "bookings"]);
}

/// Explores a stream whose blocks all workers share. Repeats it with the roles rotated over loom's
/// threads, since loom misses orders that depend on which thread has the smaller number
/// (tokio-rs/loom#392). With three and more workers the rotations use a bound one lower; four
/// workers do not rotate if that leaves none.
///
/// # Panics
/// When an execution differs from the oracle; when no execution took a path of `expected`, or one
/// took a path of `never`.
pub fn shared(name: &str, stream: Stream, extent: Extent, expected: &[&str], never: &[&str]) {
    let workers = stream.config.workers;
    let bound = extent.bound();
    let stream = Arc::new(stream);
    let paths = Arc::new(Paths::default());
    let run = |rotation, bound| {
        let (stream, paths) = (Arc::clone(&stream), Arc::clone(&paths));
        explore(name, bound, move || {
            paths.add(&stream.run(Crew::Shared, rotation))
        })
    };
    let first = run(0, bound);
    report(name, first, bound);
    if workers < 4 || bound.is_none_or(|k| k > 1) {
        let bound = if workers > 2 {
            bound.map(|k| k.saturating_sub(1).max(1))
        } else {
            bound
        };
        let others = (1..workers).map(|rotation| run(rotation, bound)).sum();
        report(&format!("{name}, rotated"), others, bound);
    }
    paths.require(name, expected, never);
}
