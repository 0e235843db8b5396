//! Dedicated queues of collectives: their number, benefit and cost.

use super::experiment::{Plan, Progress, Report};
use super::{Candidate, CompareError, measure};
use dpamatch::engine::{DedicatedConfig, DedicatedEngine, ListEngine, dedicated_queue_cap};
use dpamatch_tools::figure::{Axis, Figure, Lines, Series};
use dpamatch_tools::table::Table;
use dpamatch_tools::workload::{Order, Pattern, Workload};

const RANKS: [u32; 7] = [64, 128, 256, 512, 1024, 2048, 4096];
/// Calls of a collective operation, of which the first is profiled. An allreduce has so few
/// elements that it needs more.
const CALLS: u64 = 4;
const ALLREDUCE_CALLS: u64 = 128;
/// Published queue counts: k, processes, queues.
const PRINTED: [(u32, u32, u64); 6] = [
    (1, 1024, 32),
    (1, 2048, 45),
    (1, 4096, 64),
    (2, 512, 44),
    (8, 1024, 256),
    (8, 2048, 360),
];
/// Published speed-ups at k = 1: of MPI_Gather, and the greatest of the others at any size.
const PRINTED_GATHER: [(u32, f64); 3] = [(1024, 1.5), (2048, 2.4), (4096, 5.4)];
const PRINTED_MOST: [(&str, f64); 2] = [("allreduce", 1.16), ("iallgather", 1.26)];
/// An operation's name, its pattern, and how many calls are under way. MPICH's algorithm of an
/// iallgather of short messages is recursive doubling, as that of an allreduce. Ten calls are
/// chosen in view of the published 10 to 20 queues.
const OPERATIONS: [(&str, Pattern, u32); 3] = [
    ("coll-gather", Pattern::CollGather, 1),
    ("allreduce", Pattern::Allreduce, 1),
    ("iallgather", Pattern::Allreduce, 10),
];

fn dedicated(k: u32) -> impl Fn() -> Box<dyn dpamatch::engine::Engine> {
    let config = DedicatedConfig {
        k_collective: Some(k),
        ..DedicatedConfig::COL_LL
    };
    move || Box::new(DedicatedEngine::new(config))
}

/// Gather, allreduce and iallgather at their receivers, for every k.
pub(super) fn queues(plan: &Plan, progress: Progress<'_>) -> Result<Report, CompareError> {
    let mut candidates = vec![Candidate::new("list", || Box::new(ListEngine::new()))];
    candidates.extend(
        plan.k
            .iter()
            .map(|&k| Candidate::new(format!("k = {k}"), dedicated(k))),
    );
    let title = "Dedicated queues of collectives against the cap, k floor(sqrt(n))";
    let mut table = Table::open("queues", title)
        .keyed(3)
        .measured(["faster"])
        .note(format!("{CALLS} calls ({ALLREDUCE_CALLS} of allreduce and iallgather, of which ten are under way), messages in random order."))
        .note("first_call, later_calls, list: steps per message; fewer_steps: list to later_calls. The first is profiled.")
        .note("faster: time of all calls; printed_speedup: the paper's latency of a whole call, the greatest of any size but for gather.");
    let sizes = plan.ranks_or(&RANKS);
    let mut figure = Figure::new("Fewer steps than the list, by k of the cap");
    for (i, (operation, pattern, pending)) in OPERATIONS.into_iter().enumerate() {
        let y = Axis::log("times fewer steps");
        let mut panel = Lines::new(operation, Axis::powers("processes"), y);
        panel.series = plan
            .k
            .iter()
            .map(|k| Series::line(format!("k = {k}"), []))
            .collect();
        for (j, &ranks) in sizes.iter().enumerate() {
            let name = format!("{operation} of {ranks} ranks");
            progress(
                (i * sizes.len() + j) as f64 / (OPERATIONS.len() * sizes.len()) as f64,
                &name,
            )?;
            let rounds = if pattern == Pattern::Allreduce {
                ALLREDUCE_CALLS
            } else {
                CALLS
            };
            let order = Order::Shuffled;
            let workload = Workload {
                ranks,
                rounds,
                pending,
                order,
                seed: plan.seed,
                ..pattern.usual()
            };
            let all = measure(&candidates, &workload, None, plan.rounds, &name)?;
            let first = measure(
                &candidates,
                &Workload {
                    rounds: 1,
                    ..workload
                },
                None,
                0,
                &name,
            )?;
            // Steps per match after the first call.
            let later = |i: usize| {
                let steps = all[i].steps()? - first[i].steps()?;
                Some(steps as f64 / (all[i].matches - first[i].matches) as f64)
            };
            for (((i, &k), own), series) in (1..).zip(&plan.k).zip(&all[1..]).zip(&mut panel.series)
            {
                let printed = PRINTED
                    .into_iter()
                    .find(|(of, n, _)| (*of, *n) == (k, ranks));
                let gather = PRINTED_GATHER.into_iter().find(|(n, _)| *n == ranks);
                let gather = gather
                    .filter(|_| pattern == Pattern::CollGather)
                    .map(|(_, it)| it);
                let most = PRINTED_MOST.into_iter().find(|(of, _)| *of == operation);
                let speedup = gather.or(most.map(|(_, it)| it)).filter(|_| k == 1);
                let fewer = later(0).zip(later(i)).map(|(list, own)| list / own);
                series
                    .points
                    .extend(fewer.map(|fewer| (f64::from(ranks), fewer)));
                table.row([
                    ("operation", operation.into()),
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
                    ("printed_speedup", speedup.into()),
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
