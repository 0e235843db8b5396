//! Counted steps against the papers' formulas.
//!
//! Each case fills a queue with 256 to 4,096 entries and consumes it whole. The exponent is the
//! slope of the steps per message on logarithmic axes, between the last two sizes: 1 for a walk
//! over the queue, 0 for a search independent of its length.

use super::experiment::{Plan, Progress, Report, run_cases};
use super::{Case, CompareError};
use dpamatch::engine::{GridThreshold, dimension_span};
use dpamatch::registry::EngineOptions;
use dpamatch_tools::figure::{Axis, Figure, Lines};
use dpamatch_tools::table::{Cell, Table};
use dpamatch_tools::workload::{Order, Pattern, Workload};

const SIZES: [u32; 5] = [256, 512, 1024, 2048, 4096];
const UCX_BUCKETS: f64 = 1021.0;

/// A way to fill and consume a queue.
struct Growth {
    name: &'static str,
    /// Many senders with one message each, or one sender.
    many: bool,
    order: Order,
    any: u32,
    early: u32,
}

const GROWTHS: [Growth; 5] = {
    use Order::{Forward, Reverse};
    [
        Growth::new("PRQ, many senders, forward", true, Forward, 0, 0),
        Growth::new("PRQ, many senders, reverse", true, Reverse, 0, 0),
        Growth::new("PRQ, one sender, reverse", false, Reverse, 0, 0),
        Growth::new("PRQ, any source, reverse", true, Reverse, 100, 0),
        Growth::new("UMQ, any source, reverse", true, Reverse, 100, 100),
    ]
};

impl Growth {
    const fn new(name: &'static str, many: bool, order: Order, any: u32, early: u32) -> Self {
        Self {
            name,
            many,
            order,
            any,
            early,
        }
    }

    fn workload(&self, entries: u32, seed: u64) -> Workload {
        let (ranks, pending) = if self.many {
            (entries + 1, 1)
        } else {
            (2, entries)
        };
        let Self {
            order, any, early, ..
        } = *self;
        Workload {
            ranks,
            pending,
            order,
            any,
            early,
            seed,
            ..Pattern::Senders.usual()
        }
    }

    /// Compares per message by the papers' formula for this engine, if it gives a number, and the
    /// formula.
    fn formula(
        &self,
        engine: &str,
        entries: u32,
        options: &EngineOptions,
    ) -> Option<(f64, &'static str)> {
        let n = f64::from(entries);
        let by_key = self.any == 0;
        let reverse = self.order == Order::Reverse;
        // In reverse order a queue of m entries costs (m + 1) / 2 per message, forward 1.
        let queue = |m: f64| if reverse { (m + 1.0) / 2.0 } else { 1.0 };
        let doubling = {
            let bins = f64::from((2 * entries).next_power_of_two());
            Some((
                1.0 + (n - 1.0) / bins / 2.0,
                "1 + (n - 1) / 2 bins, bins >= 2 n",
            ))
        };
        match engine {
            "list" | "oracle" => Some((queue(n), "(n + 1) / 2 or 1")),
            "rank-array" if by_key => {
                let of_source = if self.many { 1.0 } else { n };
                Some((queue(of_source), "entries of the source"))
            }
            // Ranks 1 to n: the first segment lacks a rank, and the ranks after the last full
            // segment form a shorter one.
            "4d" if by_key && self.many && options.grid == GridThreshold::Span => {
                let span = dimension_span(entries + 1);
                let sum: f64 = segments(entries, span)
                    .map(|m| f64::from(m) * queue(f64::from(m)))
                    .sum();
                Some((sum / n, "entries of the segment"))
            }
            "4d" if by_key => Some((queue(n), "entries of the segment")),
            // With n entries in b bins, each shares its bin with (n - 1) / b others on average,
            // half of which are still there.
            "bins" if by_key && reverse && !options.grow_bins => Some((
                1.0 + (n - 1.0) / f64::from(options.bins.get()) / 2.0,
                "1 + (n - 1) / 2 bins",
            )),
            // Tables double when they have half as many entries as bins.
            "bins" if by_key && reverse => doubling,
            "optimistic-seq" if reverse => doubling,
            // UCX's hash spreads consecutive keys evenly.
            "ucx" if by_key => Some((queue((n / UCX_BUCKETS).max(1.0)), "n / buckets entries")),
            // The wildcard queue of receives, the global list of messages.
            "ucx" if reverse => Some((queue(n), "all (wildcard queue, global list)")),
            // One queue for wildcard receives; all heads or segments, older entries, for messages.
            "rank-array" | "4d" if reverse && self.early == 0 => {
                Some((queue(n), "receives from any source"))
            }
            _ => None,
        }
    }
}

fn segments(last: u32, span: u32) -> impl Iterator<Item = u32> {
    (0..=last / span).map(move |i| {
        let (from, to) = ((i * span).max(1), ((i + 1) * span).min(last + 1));
        to.saturating_sub(from)
    })
}

/// Formula and exponent for every engine and growth.
pub(super) fn complexity(plan: &Plan, progress: Progress<'_>) -> Result<Report, CompareError> {
    let mut cases = Vec::new();
    for growth in &GROWTHS {
        for entries in SIZES {
            let keys = vec![growth.name.into(), entries.into()];
            cases.push(Case {
                keys,
                workload: growth.workload(entries, plan.seed),
            });
        }
    }
    // Steps need no rounds.
    let untimed = Plan {
        engines: plan.engines.clone(),
        options: plan.options.clone(),
        ..Plan::usual(Vec::new())
    };
    let sheet = run_cases(
        &Plan {
            rounds: 0,
            seed: plan.seed,
            ..untimed
        },
        &["case", "n"],
        cases,
        progress,
    )?;
    let columns = [
        "case",
        "engine",
        "compares",
        "formula",
        "ratio",
        "hops",
        "exponent",
        "formula is",
    ];
    let title = format!(
        "Compares and hops per message at n = {}, against the papers' formulas",
        SIZES[SIZES.len() - 1]
    );
    let mut table = Table::new("complexity", title, columns)
        .keyed(2)
        .named(&[("formula is", "formula_is")])
        .note("exponent: growth of the steps per message with n, between the last two sizes; 1 is linear, 0 constant.")
        .note("ratio: measured to formula. Where the formula is an average over hash values, it is near 1, not 1.");
    let mut figure = Figure::new("Steps per message over the length of the queue");
    for (growth, rows) in GROWTHS.iter().zip(sheet.rows.chunks(SIZES.len())) {
        let [.., (_, before), (_, last)] = rows else {
            continue;
        };
        for (own, smaller) in last.iter().zip(before) {
            let (Some(steps), Some(less)) = (own.steps_per_match(), smaller.steps_per_match())
            else {
                continue;
            };
            let queue = if growth.early == 0 { "prq" } else { "umq" };
            let per_match = |name: &str| {
                own.rise(&format!("{queue}_{name}"))
                    .map(|count| count as f64 / own.matches.max(1) as f64)
            };
            let compares = per_match("attempts").unwrap_or(steps);
            let formula = growth.formula(&own.engine, SIZES[SIZES.len() - 1], &plan.options);
            table.push([
                growth.name.into(),
                own.engine.as_str().into(),
                compares.into(),
                formula.map(|(value, _)| value).into(),
                formula.map(|(value, _)| compares / value).into(),
                per_match("hops").into(),
                Cell::Real(((steps / less).log2() * 100.0).round() / 100.0),
                formula.map_or("-", |(_, text)| text).into(),
            ]);
        }
        let x = |case: &Case| (case.keys[0] == Cell::from(growth.name)).then(|| entries(case));
        let panel = Lines::new(
            growth.name,
            Axis::powers("entries"),
            Axis::log("steps per message"),
        );
        figure = figure.with(Lines {
            series: sheet.series(x, super::case::STEPS),
            ..panel
        });
    }
    let data = vec![
        table.clone(),
        sheet.data("complexity-data", "Steps over the length of the queue"),
    ];
    Ok(Report {
        summary: vec![table],
        data,
        figures: vec![("complexity".to_owned(), figure)],
    })
}

fn entries(case: &Case) -> f64 {
    f64::from((case.workload.ranks - 1) * case.workload.pending)
}
