//! A run in detail: a row per handler in the form of `dpa-statistics`, and a trace for Chrome or
//! Perfetto.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use dpamatch_predict::{
    Accesses, Gain, Level, LineKind, Offer, Part, Phase, Prediction, Sequence, Setup, limits,
    predict, story, write_chrome,
};
use dpamatch_story::Page;

use super::super::BadInput;
use super::rates::RATE;
use super::recorded::{RecordedArgs, describe};
use super::{Common, Like, Workload, wrong};
use dpamatch_tools::counted;
use dpamatch_tools::table::{Cell, Table};

/// Blocks of a window to run for a page.
const BLOCKS_SHOWN: usize = 4;

#[derive(Debug, clap::Args)]
pub(super) struct HandlersArgs {
    /// Number of handlers
    #[arg(long, value_name = "N", default_value_t = 8)]
    handlers: usize,
    /// nc, wc-fp, wc-sp, mixed:P or senders:P[+PART..]
    #[arg(long, value_name = "NAME", default_value = "nc", conflicts_with = "trace", value_parser = clap::value_parser!(String))]
    scenario: String,
    #[command(flatten)]
    spans: SpanArgs,
    /// Write a block of the run into this file as a page for a browser, step by step with its clock
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The block, counted from 0
    #[arg(long, value_name = "B", default_value_t = 0, requires = "html")]
    block: usize,
    #[command(flatten)]
    recorded: RecordedArgs,
}

#[derive(Debug, clap::Args)]
pub(super) struct SpanArgs {
    /// Write a trace for Chrome or Perfetto: a row per EU, phases as spans
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Most spans in the trace
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    limit: u64,
}

impl SpanArgs {
    fn wanted(&self) -> usize {
        if self.timeline.is_some() {
            self.limit as usize
        } else {
            0
        }
    }

    fn write(&self, part: &Part) -> anyhow::Result<()> {
        let Some(path) = &self.timeline else {
            return Ok(());
        };
        let name = || path.display().to_string();
        let mut file = BufWriter::new(File::create(path).with_context(name)?);
        write_chrome(part, &mut file)
            .and_then(|()| file.flush())
            .with_context(name)
    }
}

pub(super) fn run(args: &HandlersArgs, common: &Common) -> anyhow::Result<()> {
    let workload = match args.recorded.load(common)? {
        Some(recorded) => recorded,
        None => Workload::parse(&args.scenario, common.seed, 8)?,
    };
    if let Some(path) = &args.html {
        page(&workload, args, path, common)?;
    }
    detail(&workload, args.handlers, &args.spans, common)
}

fn page(
    workload: &Workload,
    args: &HandlersArgs,
    path: &Path,
    common: &Common,
) -> anyhow::Result<()> {
    let setup = workload.setup(common, Like::Nic, args.handlers)?;
    let sequence = match &workload.offer {
        Offer::Pattern { pattern, .. } => {
            Sequence::window(*pattern, BLOCKS_SHOWN * args.handlers, 0)
        }
        Offer::Sequence(sequence) => sequence.clone(),
    };
    let story = story(&setup, &sequence, args.block).map_err(wrong)?;
    if story.moments.is_empty() {
        return Err(BadInput(format!("--block {}: there are fewer blocks", args.block)).into());
    }
    let title = format!(
        "Block {} in virtual time; the clock is the predicted card's",
        args.block
    );
    let story = story.titled(title, String::new(), false);
    let page = Page {
        title: format!("A block, step by step: {}", workload.name),
        source: super::super::command_line(),
        stories: vec![story],
    };
    std::fs::write(path, page.html()).with_context(|| path.display().to_string())
}

/// Runs a workload and shows all details.
pub(super) fn detail(
    workload: &Workload,
    handlers: usize,
    spans: &SpanArgs,
    common: &Common,
) -> anyhow::Result<()> {
    let setup = workload.setup(common, Like::Nic, handlers)?;
    let prediction = predict(&setup, &workload.offer, spans.wanted()).map_err(wrong)?;
    let gains = limits(&setup, &workload.offer, &prediction).map_err(wrong)?;
    let part = &prediction.part;
    spans.write(part)?;
    let what = match &workload.offer {
        Offer::Pattern { .. } => "the last window or stream".to_owned(),
        Offer::Sequence(sequence) => describe(sequence),
    };
    let title = format!(
        "{}: {}, {:.4} M messages/s; one row per handler; {what}.",
        workload.name,
        counted(handlers, "handler"),
        prediction.rate
    );
    let mut tables = match workload.offer {
        Offer::Pattern { .. } => vec![],
        Offer::Sequence(_) => vec![came_to(&workload.name, part)],
    };
    tables.extend([
        statistics(&setup, part, title),
        times(part),
        accesses(part),
        limited_by(&prediction, &gains),
    ]);
    common.show(&tables)
}

/// The outcomes of a sequence's messages.
fn came_to(name: &str, part: &Part) -> Table {
    let columns = "messages, us, M messages/s, latency us, longest us, matched, unexpected, \
        sent on to software, blocks, blocks in conflict"
        .split(", ");
    let mut table = Table::new("stream", format!("{name} in virtual time."), columns)
        .keyed(0)
        .named(&[("us", "time_us"), ("M messages/s", "rate_msgs_per_us")]);
    let boundary = |name: &str| {
        part.boundary
            .iter()
            .find(|(counter, _)| *counter == name)
            .map_or(0, |&(_, value)| value)
    };
    let (mean, longest) = part.latency_us();
    table.push([
        part.messages.into(),
        (part.time as f64 / 1e6).into(),
        part.rate().into(),
        mean.into(),
        longest.into(),
        part.matches.len().into(),
        boundary("arrivals_stored").into(),
        (boundary("arrivals_forwarded") + boundary("posts_forwarded")).into(),
        boundary("blocks").into(),
        boundary("conflict_blocks").into(),
    ]);
    table
}

/// The columns of `dpa-statistics` (cycles, instructions, time, executions, name), then further
/// ones.
fn statistics(setup: &Setup, part: &Part, title: String) -> Table {
    let columns = "thread, EU, core, cycles, instructions, time us, executions, polls empty, \
        polls waiting, walked, bookings, clean, fast, slow, refused, unexpected"
        .split(", ");
    let mut table = Table::new("handlers", title, columns).keyed(3);
    for (index, (eu, counters)) in part.outcome.eus.iter().zip(&part.handlers).enumerate() {
        // `walked` and `refused` each combine several counters.
        let concerns = |counter: &str, name: &str| {
            counter == name || (name.ends_with('_') && counter.starts_with(name))
        };
        let count = |name: &str| {
            counters
                .iter()
                .filter(|(counter, _)| concerns(counter, name))
                .map(|(_, value)| value)
                .sum::<u64>()
        };
        let busy_us = eu.time.busy() as f64 / 1e6;
        let cycles = setup.profile.eus.clock_ghz * 1e3;
        table.push([
            format!("handler_{index}").into(),
            index.into(),
            eu.core.into(),
            ((busy_us * cycles).round() as u64).into(),
            (eu.instructions.round() as u64).into(),
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

fn times(part: &Part) -> Table {
    let mut table = Table::new(
        "times",
        "Time of all EUs, by activity.",
        ["what", "us", "%"],
    )
    .named(&[("us", "time_us")]);
    let sum = |pick: &dyn Fn(&dpamatch_predict::Time) -> u64| {
        part.outcome
            .eus
            .iter()
            .map(|eu| pick(&eu.time))
            .sum::<u64>()
    };
    let mut rows: Vec<(String, u64)> = Phase::ALL
        .iter()
        .map(|&phase| {
            (
                format!("work: {}", phase.name()),
                sum(&|time| time.work[phase as usize]),
            )
        })
        .collect();
    for level in Level::ALL {
        rows.push((
            format!("memory: {}", level.name()),
            sum(&|time| time.memory[level as usize]),
        ));
    }
    rows.push((
        "host memory, completions, doorbells".to_owned(),
        sum(&|time| time.host),
    ));
    rows.push(("contended words".to_owned(), sum(&|time| time.handover)));
    rows.push(("wait: arrival".to_owned(), sum(&|time| time.arrival)));
    rows.push(("wait: block before".to_owned(), sum(&|time| time.fence)));
    rows.push(("wait: barrier".to_owned(), sum(&|time| time.barrier)));
    rows.push(("wait: slow-path chain".to_owned(), sum(&|time| time.chain)));
    let all = part.time.max(1) as f64 * part.outcome.eus.len() as f64;
    for (name, time) in rows {
        table.push([
            name.into(),
            (time as f64 / 1e6).into(),
            (100.0 * time as f64 / all).into(),
        ]);
    }
    table
}

fn accesses(part: &Part) -> Table {
    let columns = [
        "accesses",
        "L1",
        "L2",
        "L3",
        "DRAM",
        "handed over",
        "outside",
        "us",
        "per message",
    ];
    let title = "What all EUs touched, and how often it was found where.";
    let mut table = Table::new("accesses", title, columns).named(&[("us", "time_us")]);
    for (kind, name) in LineKind::NAMED {
        let mut sum = Accesses::default();
        for eu in &part.outcome.eus {
            let Accesses {
                found,
                handed_over,
                outside,
                time,
            } = eu.accesses[kind as usize];
            sum.found
                .iter_mut()
                .zip(found)
                .for_each(|(sum, found)| *sum += found);
            sum.handed_over += handed_over;
            sum.outside += outside;
            sum.time += time;
        }
        let count = sum.found.iter().sum::<u64>() + sum.handed_over + sum.outside;
        let mut row: Vec<Cell> = vec![name.into()];
        row.extend(sum.found.map(Cell::from));
        row.extend([
            sum.handed_over.into(),
            sum.outside.into(),
            (sum.time as f64 / 1e6).into(),
        ]);
        row.push((count as f64 / part.messages.max(1) as f64).into());
        table.push(row);
    }
    table
}

/// The limits of the rate: the gain without each cost.
fn limited_by(prediction: &Prediction, gains: &[Gain]) -> Table {
    let first = gains.first().filter(|gain| gain.gain > 0.005);
    let title = match first {
        Some(first) => {
            format!(
                "What limits: {}. M messages/s without each limit.",
                first.limit.name()
            )
        }
        None => "What limits: none of these alone. M messages/s without each limit.".to_owned(),
    };
    let mut table = Table::new("limits", title, ["without", "rate", "gain %"]).named(&[RATE]);
    for gain in gains {
        let rate = prediction.rate * (1.0 + gain.gain);
        table.push([
            gain.limit.name().into(),
            rate.into(),
            (gain.gain * 100.0).into(),
        ]);
    }
    table
}
