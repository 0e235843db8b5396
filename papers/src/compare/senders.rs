//! 4D's micro-benchmark.

use super::case::{FASTER, FEWER_STEPS, Metric, NANOSECONDS, STEPS};
use super::experiment::{Plan, Progress, Report, run_cases};
use super::{Case, CompareError, Sheet};
use dpamatch_tools::figure::{Axis, Figure, Lines, Series};
use dpamatch_tools::table::Table;
use dpamatch_tools::workload::{Order, Pattern, Workload};

/// The two queues: name, and percentage of messages that arrive before their receives.
const QUEUES: [(&str, u32); 2] = [("PRQ", 0), ("UMQ", 100)];
const RANKS: [u32; 5] = [16, 64, 256, PAPER_RANKS, 2048];
/// Job size of the paper's testbed.
const PAPER_RANKS: u32 = 704;
/// Published speed-ups for 10 pending, reverse: array and 4D, PRQ then UMQ.
const PAPER: [(&str, [f64; 2]); 2] = [("PRQ", [44.0, 32.0]), ("UMQ", [31.0, 27.0])];
/// Ranks of the experiment with ANY_SOURCE, and its percentages.
const ANY_RANKS: u32 = 256;
const ANY_SHARES: [u32; 7] = [0, 10, 25, 50, 75, 90, 100];
const RATE_DEPTH: u32 = 8192;

/// All job sizes, both queues, both orders.
pub(super) fn search(plan: &Plan, progress: Progress<'_>) -> Result<Report, CompareError> {
    let mut cases = Vec::new();
    for (queue, early) in QUEUES {
        for order in [Order::Reverse, Order::Forward] {
            for &pending in &plan.pending {
                for ranks in plan.ranks_or(&RANKS) {
                    let seed = plan.seed;
                    let workload = Workload {
                        ranks,
                        pending,
                        order,
                        early,
                        seed,
                        ..Pattern::Senders.usual()
                    };
                    let keys = vec![
                        queue.into(),
                        order.name().into(),
                        pending.into(),
                        ranks.into(),
                    ];
                    cases.push(Case { keys, workload });
                }
            }
        }
    }
    let sheet = run_cases(
        plan,
        &["queue", "order", "pending", "ranks"],
        cases,
        progress,
    )?;
    let most = plan.pending.iter().copied().max().unwrap_or(0);
    // Forward search hardly depends on the number of pending messages.
    let shown = sheet
        .filtered(|case| case.workload.order == Order::Reverse || case.workload.pending == most);
    let steps = shown
        .pivot("search-steps", "4D's micro-benchmark: times fewer steps than the list", FEWER_STEPS)
        .note("Steps are compares and hops, counted; in reverse order the list makes n(n+1)/2 of them.");
    let mut summary = vec![steps];
    if sheet.timed() {
        let times = shown.pivot(
            "search-times",
            "4D's micro-benchmark: times faster than the list",
            FASTER,
        );
        summary.push(times.note("Times depend on the machine and on what else runs on it."));
    }
    let paper = beside_paper(&sheet);
    if !paper.rows.is_empty() {
        summary.push(paper);
    }
    let mut figures = vec![(
        "search-steps".to_owned(),
        search_figure(&sheet, plan, "fewer steps", FEWER_STEPS),
    )];
    if sheet.timed() {
        figures.push((
            "search-times".to_owned(),
            search_figure(&sheet, plan, "less time", FASTER),
        ));
    }
    Ok(Report {
        summary,
        data: vec![sheet.data("search", "4D's micro-benchmark")],
        figures,
    })
}

/// Our numbers and the paper's, at the paper's job size.
fn beside_paper(sheet: &Sheet) -> Table {
    let title = format!(
        "Reverse, 10 pending, {PAPER_RANKS} ranks, beside the paper: times better than the list"
    );
    let columns = [
        "queue",
        "engine",
        "fewer steps",
        "less time",
        "less time, printed",
    ];
    let mut table = Table::new("search-paper", title, columns)
        .note("The paper timed MVAPICH2 on Opterons of 2011, over a network.");
    for (queue, printed) in PAPER {
        let at_paper = |case: &Case| {
            let Workload {
                ranks,
                pending,
                order,
                ..
            } = case.workload;
            case.keys[0].csv() == queue
                && (ranks, pending, order) == (PAPER_RANKS, 10, Order::Reverse)
        };
        let Some((_, all)) = sheet.rows.iter().find(|(case, _)| at_paper(case)) else {
            continue;
        };
        for (engine, printed) in ["rank-array", "4d"].into_iter().zip(printed) {
            let Some(own) = all.iter().find(|own| own.engine == engine) else {
                continue;
            };
            let (fewer, faster) = (own.fewer_steps_than(&all[0]), own.faster_than(&all[0]));
            table.push([
                queue.into(),
                engine.into(),
                fewer.into(),
                faster.into(),
                printed.into(),
            ]);
        }
    }
    table
}

/// Speed-up in reverse order over the job size, at the largest number of pending messages, with the
/// paper's.
fn search_figure(sheet: &Sheet, plan: &Plan, what: &str, metric: Metric) -> Figure {
    let pending = plan.pending.iter().copied().max().unwrap_or(0).to_string();
    let mut figure = Figure::new(format!(
        "4D's micro-benchmark: {what} than the list, {pending} pending"
    ));
    for (queue, [array, four_d]) in PAPER {
        for order in [Order::Reverse, Order::Forward] {
            let title = format!("{queue}, {order}");
            let mut panel = Lines::new(
                title,
                Axis::powers("ranks"),
                Axis::log(format!("times {what}")),
            );
            let x = |case: &Case| {
                let fits = case.keys[0].csv() == queue
                    && case.keys[1].csv() == order.name()
                    && case.keys[2].csv() == pending;
                fits.then_some(f64::from(case.workload.ranks))
            };
            panel.series = sheet.series(x, metric);
            if order == Order::Reverse && pending == "10" {
                let ends = [64.0, f64::from(PAPER_RANKS)];
                panel = panel
                    .with(Series::limit(
                        "paper: array",
                        ends.map(|ranks| (ranks, array)),
                    ))
                    .with(Series::limit(
                        "paper: 4D",
                        ends.map(|ranks| (ranks, four_d)),
                    ));
            }
            figure = figure.with(panel);
        }
    }
    figure.columns = 2;
    figure
}

/// A growing share of receives that take any source, in reverse order.
pub(super) fn any(plan: &Plan, progress: Progress<'_>) -> Result<Report, CompareError> {
    let pending = plan.pending.iter().copied().max().unwrap_or(10);
    let ranks = plan.ranks.iter().copied().max().unwrap_or(ANY_RANKS);
    let mut cases = Vec::new();
    for (queue, early) in QUEUES {
        for any in ANY_SHARES {
            let seed = plan.seed;
            let workload = Workload {
                ranks,
                pending,
                any,
                early,
                seed,
                ..Pattern::Senders.usual()
            };
            cases.push(Case {
                keys: vec![queue.into(), any.into()],
                workload,
            });
        }
    }
    let sheet = run_cases(plan, &["queue", "any_percent"], cases, progress)?;
    let title = format!("{ranks} ranks, {pending} pending, reverse, receives from any source: ");
    let mut summary = vec![
        sheet
            .pivot(
                "any-steps",
                title.clone() + "times fewer steps than the list",
                FEWER_STEPS,
            )
            .note("ANY_SOURCE lowers the gain of searches by source."),
    ];
    if sheet.timed() {
        summary.push(sheet.pivot("any-times", title + "times faster than the list", FASTER));
    }
    let panel = |queue: &str| {
        let x = |case: &Case| (case.keys[0].csv() == queue).then_some(f64::from(case.workload.any));
        let y = Axis::log("times fewer steps");
        let panel = Lines::new(queue, Axis::linear("receives from any source, %"), y);
        Lines {
            series: sheet.series(x, FEWER_STEPS),
            ..panel
        }
    };
    let figure = Figure::new("Fewer steps than the list with receives from any source")
        .with(panel("PRQ"))
        .with(panel("UMQ"));
    let data = vec![sheet.data("any", "4D's micro-benchmark with ANY_SOURCE")];
    Ok(Report {
        summary,
        data,
        figures: vec![("any".to_owned(), figure)],
    })
}

/// One depth, forward and reverse, from many senders and from one.
pub(super) fn rate(plan: &Plan, progress: Progress<'_>) -> Result<Report, CompareError> {
    let mut cases = Vec::new();
    for (senders, ranks, pending) in [("many", RATE_DEPTH + 1, 1), ("one", 2, RATE_DEPTH)] {
        for (queue, early) in QUEUES {
            for order in [Order::Forward, Order::Reverse] {
                let seed = plan.seed;
                let workload = Workload {
                    ranks,
                    pending,
                    order,
                    early,
                    seed,
                    ..Pattern::Senders.usual()
                };
                cases.push(Case {
                    keys: vec![senders.into(), queue.into(), order.name().into()],
                    workload,
                });
            }
        }
    }
    let sheet = run_cases(plan, &["senders", "queue", "order"], cases, progress)?;
    let title = format!("{RATE_DEPTH} entries: ");
    let mut summary = vec![sheet.pivot("rate-steps", title.clone() + "steps per message", STEPS)];
    if sheet.timed() {
        let times = sheet.pivot("rate-times", title + "nanoseconds per message", NANOSECONDS);
        summary.push(times.note(
            "The queue is filled before the clock starts. The emulated NIC also sends and delivers.",
        ));
    }
    Ok(Report {
        summary,
        data: vec![sheet.data("rate", "One depth")],
        figures: Vec::new(),
    })
}
