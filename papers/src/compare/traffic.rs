//! Depth sweeps and application patterns.

use super::case::{FASTER, MEMORY, STEPS};
use super::experiment::{Plan, Progress, Report, run_cases};
use super::{Case, CompareError};
use dpamatch_tools::figure::{Axis, Figure, Lines};
use dpamatch_tools::table::Cell;
use dpamatch_tools::workload::{Pattern, Workload};

const SEARCHES: u64 = 64;
/// Senders of the entries that stay, in the variant with many.
const MANY: u32 = 1025;

/// Search behind entries that stay, from one sender or from many.
pub(super) fn depth(plan: &Plan, progress: Progress<'_>) -> Result<Report, CompareError> {
    let mut cases = Vec::new();
    for (queue, early) in [("PRQ", 0), ("UMQ", 100)] {
        for (senders, ranks) in [("one", 2), ("many", MANY)] {
            for &depth in &plan.depths {
                let workload = Workload {
                    ranks,
                    rounds: SEARCHES,
                    pending: depth,
                    early,
                    seed: plan.seed,
                    ..Pattern::Depth.usual()
                };
                cases.push(Case {
                    keys: vec![queue.into(), senders.into(), depth.into()],
                    workload,
                });
            }
        }
    }
    let sheet = run_cases(plan, &["queue", "senders", "depth"], cases, progress)?;
    let summary = vec![
        sheet
            .pivot(
                "depth-steps",
                "Steps per message behind entries that never match",
                STEPS,
            )
            .note("The entry searched for is the last; the list makes depth + 1 steps."),
    ];
    let mut figure = Figure::new("Steps per message behind entries that never match");
    for queue in ["PRQ", "UMQ"] {
        for senders in ["one", "many"] {
            let x = |case: &Case| {
                let fits = case.keys[0] == Cell::from(queue) && case.keys[1] == Cell::from(senders);
                fits.then_some(f64::from(case.workload.pending))
            };
            let title = format!(
                "{queue}, {senders} sender{}",
                if senders == "one" { "" } else { "s" }
            );
            let panel = Lines::new(
                title,
                Axis::powers("entries in front"),
                Axis::log("steps per message"),
            );
            figure = figure.with(Lines {
                series: sheet.series(x, STEPS),
                ..panel
            });
        }
    }
    figure.columns = 2;
    let data = vec![sheet.data("depth", "Search behind entries that stay")];
    Ok(Report {
        summary,
        data,
        figures: vec![("depth".to_owned(), figure)],
    })
}

/// The patterns with their default numbers, except given job sizes.
pub(super) fn patterns(plan: &Plan, progress: Progress<'_>) -> Result<Report, CompareError> {
    let is_application = |pattern: &Pattern| !matches!(pattern, Pattern::Senders | Pattern::Depth);
    let mut cases = Vec::new();
    for pattern in Pattern::ALL.iter().copied().filter(is_application) {
        for ranks in plan.ranks_or(&[pattern.usual().ranks]) {
            let workload = Workload {
                ranks,
                seed: plan.seed,
                ..pattern.usual()
            };
            cases.push(Case {
                keys: vec![pattern.name().into(), ranks.into()],
                workload,
            });
        }
    }
    let sheet = run_cases(plan, &["pattern", "ranks"], cases, progress)?;
    let mut summary = vec![
        sheet.pivot(
            "patterns-steps",
            "Application patterns: steps per message",
            STEPS,
        ),
        sheet.pivot(
            "patterns-memory",
            "Application patterns: most bytes",
            MEMORY,
        ),
    ];
    if sheet.timed() {
        summary.push(sheet.pivot(
            "patterns-times",
            "Application patterns: times faster than the list",
            FASTER,
        ));
    }
    let name = |Case {
                    workload: Workload { pattern, ranks, .. },
                    ..
                }: &Case| match plan.ranks.len() {
        0 | 1 => pattern.name().to_owned(),
        _ => format!("{pattern}, {ranks}"),
    };
    let names: Vec<String> = sheet.rows.iter().map(|(case, _)| name(case)).collect();
    let mut heat =
        dpamatch_tools::figure::Heat::new("Application patterns", "", "", "steps per message")
            .with_columns(names)
            .logarithmic();
    for (i, engine) in sheet.engines().into_iter().enumerate() {
        let values = sheet
            .rows
            .iter()
            .map(|(_, all)| all[i].steps_per_match().unwrap_or(f64::NAN));
        heat = heat.with_row(engine, values);
    }
    let data = vec![sheet.data("patterns", "Application patterns")];
    let figure = Figure::new("Steps per message").with(heat);
    Ok(Report {
        summary,
        data,
        figures: vec![("patterns".to_owned(), figure)],
    })
}
