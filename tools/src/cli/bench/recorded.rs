//! `dpamatch bench --trace`: a rank's recorded sequence as the load.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use dpamatch_tools::analyze::Run;
use dpamatch_tools::analyze::order::Network;
use dpamatch_tools::bench::{Machine, Paths, Recorded, RecordedRow};
use dpamatch_tools::results::{Descriptor, Figure, better};
use dpamatch_tools::table::{Grid, wrapped};
use dpamatch_tools::trace::OpenOptions;
use dpamatch_tools::version::VERSION;
use serde_json::{Map, Value, json};

use super::super::progress::{bar, spinner};
use super::super::trace::{bad_input, open};
use super::super::{BadInput, document, engines, output};
use super::{Args, Format, WIRES};

pub(super) fn run(args: &Args, path: &Path) -> anyhow::Result<()> {
    let source = open(path, OpenOptions::default())?;
    let progress = bar(source.ranks().len(), "ranks read");
    let run =
        Run::load(source.as_ref(), |_| progress.inc(1)).map_err(|error| bad_input(error, false))?;
    progress.finish_and_clear();
    let (orders, _, _) = run.causal(Network { seed: args.seed, ..Network::default() });
    let at = match args.rank {
        Some(rank) => run.programs.iter().position(|program| program.rank == rank),
        None => (0..run.programs.len()).max_by_key(|&at| run.inbound[at].len()),
    };
    let Some(at) = at else {
        return Err(BadInput(format!("{}: no trace of this rank", path.display())).into());
    };
    let rank = run.programs[at].rank;
    let size = args.sizes.first().copied().unwrap_or(8);
    let recorded = Recorded::new(run.view(at).events(&orders[at]), size);
    if recorded.messages() == 0 {
        return Err(BadInput(format!("{}: rank {rank} gets no messages", path.display())).into());
    }
    let options = args.nic.options(args.bins());
    options.nic.validate().map_err(|error| BadInput(error.to_string()))?;
    if size > options.nic.eager_limit.max(dpa_model::INLINE_BYTES) {
        return Err(BadInput("--sizes: a recorded sequence is sent eagerly".to_owned()).into());
    }
    let mut entries = vec![engines::one("optimistic")?];
    let baselines = args.baseline.iter().filter(|name| !WIRES.contains(&name.as_str()));
    entries.extend(baselines.filter_map(|name| engines::one(name).ok()));
    let budget = Duration::from_millis(args.budget);
    let progress = spinner("rounds");
    let rows = recorded.measure(&options, &entries, args.rounds as usize, budget);
    progress.finish_and_clear();
    let rows = rows?;
    let load = Load { rank, recorded: &recorded, size, rounds: args.rounds };
    let whole = || document::document(&[descriptor()], results(&load, &rows));
    args.save.write(whole)?;
    let mut out = output::stdout();
    match args.format {
        Format::Table => write!(out, "{}", table(&load, &rows, args.wide.width()))?,
        Format::Csv => csv(&mut *out, &load, &rows)?,
        Format::Json => document::write(&mut *out, &whole())?,
    }
    Ok(out.flush()?)
}

pub(super) struct Load<'a> {
    pub(super) rank: u32,
    pub(super) recorded: &'a Recorded,
    pub(super) size: usize,
    pub(super) rounds: u32,
}

pub(super) fn table(load: &Load<'_>, rows: &[RecordedRow], width: usize) -> String {
    let mut table = Grid::new([
        "engine",
        "million messages/s",
        "from",
        "to",
        "pairs",
        "messages per block",
        "clean",
        "fast",
        "slow",
        "unexpected",
    ])
    .extra(["messages per block"]);
    for row in rows {
        let mega = |rate: f64| format!("{:.3}", rate / 1e6);
        let mut cells = vec![
            row.engine.to_owned(),
            mega(row.rate.median),
            mega(row.rate.min),
            mega(row.rate.max),
            row.matched.to_string(),
        ];
        if let Some(counts) = &row.counts {
            let paths = Paths::of(counts);
            let share = |share: f64| format!("{:.1} %", share * 100.0);
            cells.push(format!("{:.2}", paths.per_block));
            cells.extend([paths.clean, paths.fast, paths.slow, paths.unexpected].map(share));
        }
        table.push(cells);
    }
    let text = format!(
        "dpamatch {} on {}\nrank {}: {} messages of {} bytes in {} events, {} rounds\n{}",
        VERSION,
        Machine::this(),
        load.rank,
        load.recorded.messages(),
        load.size,
        load.recorded.events(),
        load.rounds,
        table.text(width)
    );
    wrapped(&text, width)
}

const COLUMNS: &str = "rank,messages,events,size_bytes,engine,rate_msgs_per_s,rate_min_msgs_per_s,rate_max_msgs_per_s,pairs";

pub(super) fn csv(
    out: &mut dyn Write,
    load: &Load<'_>,
    rows: &[RecordedRow],
) -> std::io::Result<()> {
    writeln!(out, "{COLUMNS}")?;
    for RecordedRow { engine, rate, matched, .. } in rows {
        let (messages, events) = (load.recorded.messages(), load.recorded.events());
        writeln!(
            out,
            "{},{messages},{events},{},{engine},{:.0},{:.0},{:.0},{matched}",
            load.rank, load.size, rate.median, rate.min, rate.max
        )?;
    }
    Ok(())
}

fn descriptor() -> Descriptor {
    let name = "rate_msgs_per_s";
    Descriptor {
        name: "rates".to_owned(),
        title: "Matching rate of a rank's recorded sequence".to_owned(),
        notes: Vec::new(),
        keys: vec!["engine".to_owned()],
        figures: vec![Figure { name: name.to_owned(), better: better(name) }],
    }
}

pub(super) fn results(load: &Load<'_>, rows: &[RecordedRow]) -> Map<String, Value> {
    let row = |row: &RecordedRow| {
        json!({
            "engine": row.engine,
            "rate_msgs_per_s": row.rate.median,
            "rate_min_msgs_per_s": row.rate.min,
            "rate_max_msgs_per_s": row.rate.max,
            "rate_msgs_per_s_rounds": row.rates,
            "pairs": row.matched,
            "paths": row.counts.as_ref().map(Paths::of),
        })
    };
    document::members(json!({
        "rank": load.rank,
        "messages": load.recorded.messages(),
        "events": load.recorded.events(),
        "size_bytes": load.size,
        "rounds": load.rounds,
        "rates": rows.iter().map(row).collect::<Vec<_>>(),
    }))
}
