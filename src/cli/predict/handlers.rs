//! One run in detail: a row per handler in the shape of `dpa-statistics`, and a trace for Chrome or Perfetto.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use dpamatch_predict::{Part, Phase, Setup, predict, write_chrome};

use super::super::table::Table;
use super::{Common, Workload, wrong};

#[derive(Debug, clap::Args)]
pub(super) struct HandlersArgs {
    /// Number of handlers
    #[arg(long, value_name = "N", default_value_t = 8)]
    handlers: usize,
    /// nc, wc-fp, wc-sp or mixed:P
    #[arg(long, value_name = "NAME", default_value = "nc")]
    workload: String,
    #[command(flatten)]
    trace: TraceArgs,
}

/// Where a trace goes.
#[derive(Debug, clap::Args)]
pub(super) struct TraceArgs {
    /// Write a trace for Chrome or Perfetto: a row per EU, phases as spans
    #[arg(long, value_name = "FILE")]
    chrome: Option<PathBuf>,
    /// Spans in it at most
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    spans: u64,
}

impl TraceArgs {
    /// Spans to keep.
    pub(super) fn wanted(&self) -> usize {
        if self.chrome.is_some() { self.spans as usize } else { 0 }
    }

    /// Writes the trace if one is asked for.
    pub(super) fn write(&self, part: &Part) -> anyhow::Result<()> {
        let Some(path) = &self.chrome else { return Ok(()) };
        let name = || path.display().to_string();
        let mut file = BufWriter::new(File::create(path).with_context(name)?);
        write_chrome(part, &mut file).and_then(|()| file.flush()).with_context(name)
    }
}

pub(super) fn run(args: &HandlersArgs, common: &Common) -> anyhow::Result<()> {
    let workload = Workload::parse(&args.workload, common.seed)?;
    let setup = workload.on(&common.setup(args.handlers)?);
    let prediction = predict(&setup, workload.offer(8), args.trace.wanted()).map_err(wrong)?;
    args.trace.write(&prediction.part)?;
    let title = format!(
        "{}: {} handlers, {:.4} M messages/s; one row per handler, times of the last window or stream.",
        args.workload, args.handlers, prediction.rate
    );
    common.show(&[statistics(&setup, &prediction.part, title), times(&prediction.part)])
}

/// Columns as `dpa-statistics` has them (cycles, instructions, time, executions, name), then what it cannot know.
pub(super) fn statistics(setup: &Setup, part: &Part, title: String) -> Table {
    let columns = [
        "thread",
        "EU",
        "core",
        "cycles",
        "instructions",
        "time us",
        "executions",
        "polls empty",
        "polls waiting",
        "walked",
        "bookings",
        "clean",
        "fast",
        "slow",
        "refused",
        "unexpected",
    ];
    let mut table = Table::new("handlers", title, columns);
    for (index, (eu, counters)) in part.outcome.eus.iter().zip(&part.handlers).enumerate() {
        // `walked` and `refused` are several counters.
        let concerns =
            |counter: &str, name: &str| counter == name || (name.ends_with('_') && counter.starts_with(name));
        let count = |name: &str| {
            counters
                .iter()
                .filter(|(counter, _)| concerns(counter, name))
                .map(|(_, value)| value)
                .sum::<u64>()
        };
        let busy_us = eu.time.busy() as f64 / 1e6;
        let work_us = eu.time.work.iter().sum::<u64>() as f64 / 1e6;
        let cycles = setup.profile.eus.clock_ghz * 1e3;
        table.row([
            format!("handler_{index}").into(),
            index.into(),
            eu.core.into(),
            ((busy_us * cycles).round() as u64).into(),
            ((work_us * cycles * setup.profile.eus.issue_demand).round() as u64).into(),
            busy_us.into(),
            eu.executions.into(),
            eu.polls_empty.into(),
            eu.polls_waiting.into(),
            count("walked_").into(),
            count("bookings").into(),
            count("clean").into(),
            count("fast").into(),
            count("slow").into(),
            count("refused_").into(),
            count("unexpected").into(),
        ]);
    }
    table
}

/// Where the EUs' time went.
pub(super) fn times(part: &Part) -> Table {
    let mut table = Table::new("times", "Time of all EUs, by what it went into.", ["what", "us", "%"]);
    let sum = |pick: &dyn Fn(&dpamatch_predict::Time) -> u64| {
        part.outcome.eus.iter().map(|eu| pick(&eu.time)).sum::<u64>()
    };
    let mut rows: Vec<(String, u64)> = Phase::ALL
        .iter()
        .map(|&phase| (format!("work: {}", phase.name()), sum(&|time| time.work[phase as usize])))
        .collect();
    for (level, name) in ["L1", "L2", "L3", "DRAM"].into_iter().enumerate() {
        rows.push((format!("memory: {name}"), sum(&|time| time.memory[level])));
    }
    rows.push(("host memory, completions, doorbells".to_owned(), sum(&|time| time.host)));
    rows.push(("contended words".to_owned(), sum(&|time| time.handover)));
    rows.push(("wait: arrival".to_owned(), sum(&|time| time.arrival)));
    rows.push(("wait: block before".to_owned(), sum(&|time| time.fence)));
    rows.push(("wait: barrier".to_owned(), sum(&|time| time.barrier)));
    rows.push(("wait: slow-path chain".to_owned(), sum(&|time| time.chain)));
    let all = part.time.max(1) as f64 * part.outcome.eus.len() as f64;
    for (name, time) in rows {
        table.row([name.into(), (time as f64 / 1e6).into(), (100.0 * time as f64 / all).into()]);
    }
    table
}
