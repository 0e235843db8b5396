//! `dpamatch bench --scaling`: shards, one for each processor.

use std::io::{self, Write};

use dpamatch::processors;
use dpamatch_tools::bench::{Machine, Scaling, ScalingRow};
use dpamatch_tools::table::{Cell, Table, wrapped};
use dpamatch_tools::version::VERSION;
use serde_json::Map;

use super::super::progress::bar;
use super::super::{BadInput, document, output};
use super::{Args, Format, REPETITIONS};

/// Messages of a window.
const WINDOW: usize = 1024;

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let nic = args.nic.options(args.bins()).nic;
    nic.validate().map_err(|error| BadInput(error.to_string()))?;
    let scaling = Scaling {
        nic,
        processors: processors::allowed(),
        window: args.windows.first().map_or(WINDOW, |&window| window as usize),
        windows: args.reps.unwrap_or(REPETITIONS) as usize,
        rounds: args.rounds as usize,
    };
    let rows = scaling.rows();
    if rows.is_empty() {
        return Err(BadInput("--scaling: two processors are needed".to_owned()).into());
    }
    let progress = bar(rows.len() * scaling.rounds, "measurements");
    let measured = scaling.measure(|| progress.inc(1));
    progress.finish_and_clear();
    let table = table(&scaling, &measured?);
    let whole = || document::of_tables(&[&table], Map::new());
    args.save.write(whole)?;
    let mut out = output::stdout();
    match args.format {
        Format::Table => text(&mut *out, &table, args.wide.width())?,
        Format::Csv => write!(out, "{}", table.csv())?,
        Format::Json => document::write(&mut *out, &whole())?,
    }
    Ok(out.flush()?)
}

fn text(out: &mut dyn Write, table: &Table, width: usize) -> io::Result<()> {
    writeln!(out, "{}\n", wrapped(&format!("dpamatch {VERSION} on {}", Machine::this()), width))?;
    write!(out, "{}", table.text(width))
}

fn table(scaling: &Scaling, rows: &[ScalingRow]) -> Table {
    let title = format!(
        "Shards: windows of {} messages of 8 bytes with distinct tags, {} a round, {} rounds.",
        scaling.window, scaling.windows, scaling.rounds
    );
    let columns =
        ["shards", "processors", "M messages/s", "min", "max", "per processor", "efficiency"];
    let mut table = Table::new("scaling", title, columns)
        .keyed(2)
        .named(&[
            ("M messages/s", "rate_million_msgs_per_s"),
            ("min", "rate_min_million_msgs_per_s"),
            ("max", "rate_max_million_msgs_per_s"),
            ("per processor", "rate_per_processor_million_msgs_per_s"),
        ])
        .measured(&[
            "rate_million_msgs_per_s",
            "rate_min_million_msgs_per_s",
            "rate_max_million_msgs_per_s",
            "rate_per_processor_million_msgs_per_s",
            "efficiency",
        ])
        .note(
            "One shard: one processor sends, one receives. More: every processor receives on its \
             own shard and sends to the next one's.",
        )
        .note("Efficiency: rate per processor over that of two shards.");
    for row in rows {
        let mega = |rate: f64| Cell::Real(rate / 1e6);
        table.push([
            row.shards.into(),
            row.processors.into(),
            mega(row.rate.median),
            mega(row.rate.min),
            mega(row.rate.max),
            mega(row.rate.median / row.processors as f64),
            row.efficiency.map_or(Cell::None, Cell::Real),
        ]);
        let rounds: Vec<f64> = row.rounds.iter().map(|rate| rate / 1e6).collect();
        table.rounds("rate_million_msgs_per_s", &rounds);
    }
    table
}
