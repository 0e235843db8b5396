//! Runs models; a model that explored nothing fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::model::Builder;

use crate::paths::cut;
use crate::story;

/// Most points at which loom may switch threads in one execution; beyond it loom panics, as for an
/// endless wait. Ten times loom's default, since a block's way through four indexes is long.
const BRANCHES_MAX: usize = 10_000;

/// Runs `model` in every interleaving, or in those with at most `bound` preemptions. If all hold,
/// prints `loom: <name>: <N> executions, <exhaustive|bounded K>`.
///
/// Ignores environment variables that would cut the exploration short or change its bound
/// (`LOOM_MAX_PREEMPTIONS`, `LOOM_MAX_PERMUTATIONS`, `LOOM_MAX_DURATION`). The model must be
/// deterministic apart from its loom threads, and create all its state inside the closure.
///
/// # Panics
/// When the model fails in some execution; when it took only one execution, so that no two threads
/// met; when it took fewer than `expect_min`, so that the scenario has lost a race.
pub fn check(
    name: &str,
    bound: Option<usize>,
    expect_min: usize,
    model: impl Fn() + Sync + Send + 'static,
) {
    let executions = explore(name, bound, model);
    assert!(
        executions >= expect_min || cut().is_some(),
        "{name}: {executions} executions, expected at least {expect_min}"
    );
    report(name, executions, bound);
}

/// Runs `model` like [`check`] without printing, and returns the number of executions.
///
/// # Panics
/// When the model fails in some execution, or took only one.
pub fn explore(
    name: &str,
    bound: Option<usize>,
    model: impl Fn() + Sync + Send + 'static,
) -> usize {
    // A std atomic, outside the model: it counts across executions.
    let executions = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&executions);

    let mut builder = Builder::new();
    builder.preemption_bound = bound;
    builder.max_permutations = cut();
    // loom checks its limits only at checkpoints.
    builder.checkpoint_interval = cut().unwrap_or(builder.checkpoint_interval);
    builder.max_duration = None;
    builder.max_branches = BRANCHES_MAX;
    story::told(name, &executions, || {
        builder.check(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            model();
        });
    });

    let executions = executions.load(Ordering::Relaxed);
    assert!(
        executions > 1,
        "{name}: one execution only, so no two threads met"
    );
    executions
}

/// Prints a model's line.
pub fn report(name: &str, executions: usize, bound: Option<usize>) {
    let extent = bound.map_or_else(|| "exhaustive".to_owned(), |k| format!("bounded {k}"));
    println!("loom: {name}: {executions} executions, {extent}");
}
