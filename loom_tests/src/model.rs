//! Models of streams: name, stream, expected paths and extent of the exploration.

use std::sync::Arc;

use dpa_model::NicConfig;

use crate::check::{explore, report};
use crate::paths::Paths;
use crate::stream::{Crew, Stream};

/// Names of paths.
pub type Names<'a> = &'a [&'static str];

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

/// Extent for a leader that runs blocks alone while a sender sends.
const ALONE: Extent = Extent::bounded(1, 2);

/// Paths that do not depend on the schedule, so that a lone leader takes them, too.
const TIMELESS: [&str; 3] = ["clean", "fast", "overtaking"];

/// Whether a crew is explored. `DPAMATCH_LOOM_CREW` selects `shared` or `alone`; the default is
/// both.
fn explores(crew: Crew) -> bool {
    let name = match crew {
        Crew::Shared => "shared",
        Crew::Alone => "alone",
    };
    std::env::var("DPAMATCH_LOOM_CREW").map_or(true, |asked| asked == name)
}

/// Explores a stream with both crews: [`shared`] and [`alone`].
///
/// # Panics
/// See [`shared`] and [`alone`].
pub fn stream(name: &str, stream: Stream, extent: Extent, expected: Names<'_>, never: Names<'_>) {
    alone(name, stream.clone(), expected, &[]);
    shared(name, stream, extent, expected, never);
}

/// Explores a stream like [`stream`], but the lone leader in the full set only. For streams that
/// take a lone leader long and whose paths another stream covers.
///
/// # Panics
/// See [`stream`].
pub fn alone_in_full_set(
    name: &str,
    stream: Stream,
    extent: Extent,
    expected: Names<'_>,
    never: Names<'_>,
) {
    if is_full() {
        alone(name, stream.clone(), expected, &[]);
    }
    shared(name, stream, extent, expected, never);
}

/// Explores a leader that runs a stream's blocks alone while the stream is being issued. Blocks
/// hold the messages that have arrived, so they can be shorter than shared ones.
///
/// # Panics
/// When an execution differs from the oracle; when no execution took a path of `expected` that does
/// not depend on the schedule; when one took a path of `never`.
pub fn alone(name: &str, stream: Stream, expected: &[&'static str], never: &[&'static str]) {
    if !explores(Crew::Alone) {
        return;
    }
    let name = format!("{name}, alone");
    let bound = ALONE.bound();
    let paths = Arc::new(Paths::default());
    let noted = Arc::clone(&paths);
    // With the early check a lone leader sees all bookings and never meets a conflict.
    let early_check = stream.config.options.early_check;
    let config = NicConfig {
        workers: 1,
        ..stream.config
    };
    let stream = Stream { config, ..stream };
    let executions = explore(&name, bound, move || noted.add(&stream.run(Crew::Alone, 0)));
    report(&name, executions, bound);
    let timeless = |path: &&&str| TIMELESS.contains(*path) && !early_check;
    let expected: Vec<&str> = expected.iter().filter(timeless).copied().collect();
    paths.require(&name, &expected, never);
    paths.require(&name, &[], &["shared_blocks"]);
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
    if !explores(Crew::Shared) {
        return;
    }
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
