//! Models of streams: a name, a stream, the paths it is about, and how far it is explored.

use std::sync::Arc;

use crate::check::{explore, report};
use crate::paths::Paths;
use crate::stream::Stream;

/// How far a model is explored. The full set is asked for with `DPAMATCH_LOOM_FULL=1`.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Bound on preemptions in the everyday set; `None` is exhaustive.
    pub usual: Option<usize>,
    /// The same in the full set.
    pub full: Option<usize>,
}

impl Extent {
    /// Every interleaving, in both sets.
    pub const EXHAUSTIVE: Self = Self { usual: None, full: None };

    /// Bounded everyday, more deeply bounded in the full set.
    pub const fn bounded(usual: usize, full: usize) -> Self {
        Self { usual: Some(usual), full: Some(full) }
    }

    /// Bounded everyday, exhaustive in the full set.
    pub const fn bounded_usually(usual: usize) -> Self {
        Self { usual: Some(usual), full: None }
    }

    /// The bound of this run. `DPAMATCH_LOOM_BOUND=<k>` sets it for all models that are bounded, to
    /// see how they grow.
    pub fn bound(self) -> Option<usize> {
        let bound = if is_full() { self.full } else { self.usual };
        let asked = std::env::var("DPAMATCH_LOOM_BOUND").ok();
        bound.map(|bound| {
            asked.map_or(bound, |asked| asked.parse().expect("DPAMATCH_LOOM_BOUND: a number"))
        })
    }
}

/// Whether the full set was asked for.
pub fn is_full() -> bool {
    std::env::var_os("DPAMATCH_LOOM_FULL").is_some_and(|value| value == "1")
}

/// Explores a stream, and again with the roles moved along loom's threads, since loom misses orders
/// that depend on which thread has the smaller number (tokio-rs/loom#392). Three and more workers
/// rotate with a bound one lower; four do not when that leaves none.
///
/// # Panics
/// When an execution differs from the oracle; when a path of `expected` was never taken, or one of
/// `never` was.
pub fn stream(name: &str, stream: Stream, extent: Extent, expected: &[&str], never: &[&str]) {
    let workers = stream.config.workers;
    let bound = extent.bound();
    let stream = Arc::new(stream);
    let paths = Arc::new(Paths::default());
    let run = |rotation, bound| {
        let (stream, paths) = (Arc::clone(&stream), Arc::clone(&paths));
        explore(name, bound, move || paths.add(&stream.run(rotation)))
    };
    let first = run(0, bound);
    report(name, first, bound);
    if workers < 4 || bound.is_none_or(|k| k > 1) {
        let bound = if workers > 2 { bound.map(|k| k.saturating_sub(1).max(1)) } else { bound };
        let others = (1..workers).map(|rotation| run(rotation, bound)).sum();
        report(&format!("{name}, rotated"), others, bound);
    }
    paths.require(name, expected, never);
}
