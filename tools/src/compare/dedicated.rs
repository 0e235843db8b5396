//! Dedicated queues of collectives: their number, benefit and cost.

use super::experiment::{Plan, Progress, Report};
use super::{Candidate, CompareError, Measurement, measure};
use crate::figure::{Axis, Figure, Lines, Series};
use crate::table::Table;
use crate::workload::{Order, Pattern, Workload};
use dpamatch::engine::{DedicatedConfig, DedicatedEngine, ListEngine, dedicated_queue_cap};
use dpamatch::registry::EngineOptions;

const RANKS: [u32; 7] = [64, 128, 256, 512, 1024, 2048, 4096];
/// Calls of a collective operation, of which the first is profiled. An allreduce has so few
/// elements that it needs more.
const CALLS: u64 = 4;
const ALLREDUCE_CALLS: u64 = 128;
/// Published queue counts: k, processes, queues.
const PRINTED: [(u32, u32, u64); 6] =
    [(1, 1024, 32), (1, 2048, 45), (1, 4096, 64), (2, 512, 44), (8, 1024, 256), (8, 2048, 360)];
/// Published speed-ups of MPI_Gather at k = 1.
const PRINTED_GATHER: [(u32, f64); 3] = [(1024, 1.5), (2048, 2.4), (4096, 5.4)];

/// Published ratio of overhead to search time for an application at three job sizes, and the
/// application's typical pattern.
struct Overhead {
    application: &'static str,
    pattern: Pattern,
    sizes: [(u32, f64); 3],
}

const PRINTED_OVERHEADS: [Overhead; 4] = [
    Overhead {
        application: "Radix",
        pattern: Pattern::Iallgather,
        sizes: [(512, 0.0359), (1024, 0.03027), (2048, 0.0175)],
    },
    Overhead {
        application: "Nbody",
        pattern: Pattern::Ring,
        sizes: [(256, 0.1563), (512, 0.0589), (1024, 0.0343)],
    },
    Overhead {
        application: "MiniAMR",
        pattern: Pattern::Amr,
        sizes: [(512, 0.0192), (1024, 0.0366), (2048, 0.0138)],
    },
    Overhead {
        application: "FDS",
        pattern: Pattern::CollGather,
        sizes: [(512, 0.0027), (1024, 0.0021), (2048, 0.0020)],
    },
];

fn dedicated(k: u32) -> impl Fn() -> Box<dyn dpamatch::engine::Engine> {
    let config = DedicatedConfig { k_collective: Some(k), ..DedicatedConfig::COL_LL };
    move || Box::new(DedicatedEngine::new(config))
}

/// Gather, allreduce and iallgather at their receivers, for every k.
pub(super) fn queues(plan: &Plan, progress: Progress<'_>) -> Result<Report, CompareError> {
    let mut candidates = vec![Candidate::new("list", || Box::new(ListEngine::new()))];
    candidates.extend(plan.k.iter().map(|&k| Candidate::new(format!("k = {k}"), dedicated(k))));
    let title = "Dedicated queues of collectives against the cap, k floor(sqrt(n))";
    let mut table = Table::open("queues", title)
        .keyed(3)
        .measured(&["faster"])
        .note(format!("{CALLS} calls ({ALLREDUCE_CALLS} of allreduce), messages in random order."))
        .note("first_call, later_calls, list: steps per message; fewer_steps: list to later_calls. The first is profiled.")
        .note("faster: time of all calls; printed_speedup: the paper's latency of a whole MPI_Gather.");
    let sizes = plan.ranks_or(&RANKS);
    let operations = [Pattern::CollGather, Pattern::Allreduce, Pattern::Iallgather];
    let mut figure = Figure::new("Fewer steps than the list, by k of the cap");
    for (i, pattern) in operations.into_iter().enumerate() {
        let y = Axis::log("times fewer steps");
        let mut panel = Lines::new(pattern.name(), Axis::powers("processes"), y);
        panel.series = plan.k.iter().map(|k| Series::line(format!("k = {k}"), [])).collect();
        for (j, &ranks) in sizes.iter().enumerate() {
            let name = format!("{pattern} of {ranks} ranks");
            progress((i * sizes.len() + j) as f64 / (operations.len() * sizes.len()) as f64, &name);
            let rounds = if pattern == Pattern::Allreduce { ALLREDUCE_CALLS } else { CALLS };
            let order = Order::Shuffled;
            let workload = Workload { ranks, rounds, order, seed: plan.seed, ..pattern.usual() };
            let all = measure(&candidates, &workload, None, plan.rounds, &name)?;
            let first = measure(&candidates, &Workload { rounds: 1, ..workload }, None, 0, &name)?;
            // Steps per match after the first call.
            let later = |i: usize| {
                let steps = all[i].steps()? - first[i].steps()?;
                Some(steps as f64 / (all[i].matches - first[i].matches) as f64)
            };
            for (((i, &k), own), series) in (1..).zip(&plan.k).zip(&all[1..]).zip(&mut panel.series)
            {
                let printed = PRINTED.into_iter().find(|(of, n, _)| (*of, *n) == (k, ranks));
                let speedup = PRINTED_GATHER.into_iter().find(|(n, _)| *n == ranks);
                let speedup = speedup.filter(|_| k == 1 && pattern == Pattern::CollGather);
                let fewer = later(0).zip(later(i)).map(|(list, own)| list / own);
                series.points.extend(fewer.map(|fewer| (f64::from(ranks), fewer)));
                table.row([
                    ("operation", pattern.name().into()),
                    ("ranks", ranks.into()),
                    ("k", k.into()),
                    ("cap", dedicated_queue_cap(k, ranks).into()),
                    ("prq_queues", own.counter("prq_collective_queues").into()),
                    ("umq_queues", own.counter("umq_collective_queues").into()),
                    ("printed_cap", printed.map(|(_, _, queues)| queues).into()),
                    ("first_call", first[i].steps_per_match().into()),
                    ("later_calls", later(i).into()),
                    ("list", later(0).into()),
                    ("fewer_steps", fewer.into()),
                    ("faster", own.faster_than(&all[0]).into()),
                    ("printed_speedup", speedup.map(|(_, times)| times).into()),
                ]);
            }
        }
        figure = figure.with(panel);
    }
    Ok(Report {
        summary: vec![table.clone()],
        data: vec![table],
        figures: vec![("queues".to_owned(), figure)],
    })
}

/// Sum of a counter over both queues.
fn both(measurement: &Measurement, name: &str) -> u64 {
    ["prq", "umq"]
        .into_iter()
        .filter_map(|queue| measurement.counter(&format!("{queue}_{name}")))
        .sum()
}

/// Cost of profiling, extracting parameters and choosing queues, compared with the searches.
pub(super) fn overhead(plan: &Plan, progress: Progress<'_>) -> Result<Report, CompareError> {
    let EngineOptions { k, theta, .. } = plan.options;
    let (k_collective, k_partner) = (Some(k), Some(k));
    let config =
        DedicatedConfig { k_collective, k_partner, theta, timed: true, ..DedicatedConfig::COL_PNP };
    let candidates = [Candidate::new("col-pnp", move || Box::new(DedicatedEngine::new(config)))];
    let mut table = Table::open(
        "overhead",
        "Overhead of dedicated queues to their search time, col-pnp",
    )
    .keyed(3)
    .measured(&["overhead_search_time"])
    .note(
        "Steps are counts: parameter sets, ranks and queue choices, divided by compares and hops.",
    )
    .note(
        "The printed ratios cover whole applications; a row here runs only their typical pattern.",
    )
    .note("Times are single runs. Two clock readings per step cost as much as a short search.");
    for (i, Overhead { application, pattern, sizes }) in PRINTED_OVERHEADS.into_iter().enumerate() {
        progress(i as f64 / PRINTED_OVERHEADS.len() as f64, application);
        for ranks in plan.ranks_or(&sizes.map(|(ranks, _)| ranks)) {
            let printed =
                sizes.into_iter().find(|(size, _)| *size == ranks).map(|(_, ratio)| ratio);
            let workload = Workload { ranks, seed: plan.seed, ..pattern.usual() };
            let all = measure(&candidates, &workload, None, 0, application)?;
            let own = &all[0];
            let time = (plan.rounds > 0)
                .then(|| both(own, "overhead_ns") as f64 / both(own, "search_ns").max(1) as f64);
            let steps = both(own, "overhead_steps") as f64 / own.steps().unwrap_or(0).max(1) as f64;
            table.row([
                ("application", application.into()),
                ("pattern", pattern.name().into()),
                ("ranks", ranks.into()),
                ("overhead/search, steps", steps.into()),
                ("overhead/search, time", time.into()),
                ("overhead/search, printed", printed.into()),
            ]);
        }
    }
    Ok(Report { summary: vec![table.clone()], data: vec![table], figures: Vec::new() })
}
