//! Models of streams: name, NIC, stream, extent of the exploration and expected paths.

use std::sync::Arc;

use dpa_model::{Barrier, Domains, FastPath, NicConfig, Operation, Options, Removal};

use crate::check::{explore, report};
use crate::paths::Paths;
use crate::stream::{Crew, Stream, paper, tiny};

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

    /// Bounded in the everyday set, and exhaustive in the full one.
    pub const fn usually(usual: usize) -> Self {
        Self {
            usual: Some(usual),
            full: None,
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

/// A stream on a small NIC, and what its exploration must show. A test has one model or several.
#[derive(Clone, Debug)]
pub struct Model {
    name: &'static str,
    handlers: usize,
    extent: Extent,
    /// The extent with removal at the block's end, explored first.
    deferred: Option<Extent>,
    options: Options,
    alone: bool,
    workers: Option<usize>,
    receives: Option<usize>,
    bins: usize,
    repeat: usize,
    overtaking: bool,
    switching: bool,
    false_hashes: bool,
    expected: &'static [&'static str],
    never: &'static [&'static str],
}

impl Model {
    /// A model of blocks by the paper's rule, each handler on its own worker. `name`: file and
    /// model.
    pub fn paper(name: &'static str, handlers: usize) -> Self {
        Self {
            name,
            handlers,
            extent: Extent::EXHAUSTIVE,
            deferred: None,
            options: paper(),
            alone: false,
            workers: None,
            receives: None,
            bins: 1,
            repeat: 1,
            overtaking: false,
            switching: false,
            false_hashes: false,
            expected: &[],
            never: &[],
        }
    }

    /// A model of blocks with conflict domains.
    pub fn keyed(name: &'static str, handlers: usize) -> Self {
        let mut model = Self::paper(name, handlers);
        model.options.domains = Domains::Keyed;
        model
    }

    /// Sets the extent.
    pub fn extent(self, extent: Extent) -> Self {
        Self { extent, ..self }
    }

    /// Explores with removal at the boundary, deeply, and then with removal under the bins' locks
    /// during the block.
    pub fn in_both_removals(self, deferred: Extent, removing: Extent) -> Self {
        Self {
            extent: removing,
            deferred: Some(deferred),
            ..self
        }
    }

    /// The leader runs the blocks in order, while a sender sends.
    pub fn alone(self) -> Self {
        Self {
            alone: true,
            ..self
        }
    }

    /// Sets the number of workers.
    pub fn workers(self, workers: usize) -> Self {
        Self {
            workers: Some(workers),
            ..self
        }
    }

    /// Sets the number of descriptors; otherwise each post has its own.
    pub fn receives(self, receives: usize) -> Self {
        Self {
            receives: Some(receives),
            ..self
        }
    }

    /// Sets the bins of each hash table.
    pub fn bins(self, bins: usize) -> Self {
        Self { bins, ..self }
    }

    /// Repeats the steps.
    pub fn repeat(self, repeat: usize) -> Self {
        Self { repeat, ..self }
    }

    /// Sets the rule of the fast path.
    pub fn fast_path(mut self, fast_path: FastPath) -> Self {
        self.options.fast_path = fast_path;
        self
    }

    /// Sets when receives leave their chain.
    pub fn removal(mut self, removal: Removal) -> Self {
        self.options.removal = removal;
        self
    }

    /// Sets the form of the barrier.
    pub fn barrier(mut self, barrier: Barrier) -> Self {
        self.options.barrier = barrier;
        self
    }

    /// Handlers skip receives that a lower one booked.
    pub fn early_check(mut self) -> Self {
        self.options.early_check = true;
        self
    }

    /// Blocks of one message are shared, too.
    pub fn always_shared(mut self) -> Self {
        self.options.always_shared = true;
        self
    }

    /// The communicator allows overtaking.
    pub fn overtaking(self) -> Self {
        Self {
            overtaking: true,
            ..self
        }
    }

    /// The leader shares one block and runs the next in order.
    pub fn switching(self) -> Self {
        Self {
            switching: true,
            ..self
        }
    }

    /// Messages have wrong hashes.
    pub fn false_hashes(self) -> Self {
        Self {
            false_hashes: true,
            ..self
        }
    }

    /// Paths that some execution must take.
    pub fn takes(self, expected: &'static [&'static str]) -> Self {
        Self { expected, ..self }
    }

    /// Paths that no execution may take.
    pub fn never(self, never: &'static [&'static str]) -> Self {
        Self { never, ..self }
    }

    /// Explores these steps: receives and messages in their order.
    ///
    /// # Panics
    /// When an execution differs from the oracle, or the paths are not as expected.
    pub fn explore(self, steps: &[Operation]) {
        let steps = steps.repeat(self.repeat);
        if let Some(deferred) = self.deferred {
            let options = Options {
                removal: Removal::Deferred,
                ..self.options
            };
            let name = format!("{}, deferred", self.name);
            self.explore_with(&name, self.stream(options, &steps), deferred);
        }
        self.explore_with(self.name, self.stream(self.options, &steps), self.extent);
    }

    fn explore_with(&self, name: &str, stream: Stream, extent: Extent) {
        let explore = if self.alone { alone } else { shared };
        explore(name, stream, extent, self.expected, self.never);
    }

    fn stream(&self, options: Options, steps: &[Operation]) -> Stream {
        let posts = steps.iter().filter_map(|step| match step {
            Operation::Post { comm, .. } => Some(comm.0 as usize),
            _ => None,
        });
        let config = NicConfig {
            receives: self.receives.unwrap_or(posts.clone().count().max(1)),
            communicators: posts.max().unwrap_or(0) + 1,
            bins: self.bins,
            ..tiny(
                self.handlers,
                self.workers.unwrap_or(self.handlers),
                options,
            )
        };
        let mut stream = Stream::new(config, steps);
        stream.hints.allow_overtaking = self.overtaking;
        Stream {
            switching: self.switching,
            false_hashes: self.false_hashes,
            ..stream
        }
    }
}

/// Explores a leader that runs a stream's blocks alone while the stream is being issued. Blocks
/// hold the messages that have arrived, so they can be shorter than shared ones.
///
/// # Panics
/// When an execution differs from the oracle; when no execution took a path of `expected`, or one
/// took a path of `never`, booked a receive or shared a block.
fn alone(name: &str, stream: Stream, extent: Extent, expected: &[&str], never: &[&str]) {
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
fn shared(name: &str, stream: Stream, extent: Extent, expected: &[&str], never: &[&str]) {
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
