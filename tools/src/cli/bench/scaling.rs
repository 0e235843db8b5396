//! `dpamatch bench --scaling`: shards, one per processor.

use std::io::Write;

use dpamatch::processors;
use dpamatch_tools::bench::{Machine, Scaled, Scaling, ScalingRow, ShareRow};
use dpamatch_tools::counted;
use dpamatch_tools::table::{Cell, Table, wrapped};
use dpamatch_tools::version::VERSION;
use serde_json::Map;

use super::super::progress::bar;
use super::super::table::write;
use super::super::{BadInput, document, output};
use super::{Args, Format, REPETITIONS};

const WINDOW: usize = 1024;

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let nic = args.nic.options(args.bins()).nic;
    nic.validate()
        .map_err(|error| BadInput(error.to_string()))?;
    let scaling = Scaling {
        nic,
        processors: processors::allowed(),
        window: args
            .windows
            .first()
            .map_or(WINDOW, |&window| window as usize),
        windows: args.reps.unwrap_or(REPETITIONS) as usize,
        rounds: args.rounds as usize,
    };
    if args.windows.len() > 1 {
        return Err(BadInput("--windows: --scaling takes one size".to_owned()).into());
    }
    let rows = scaling.rows();
    if rows.is_empty() {
        return Err(BadInput("--scaling: two processors are needed".to_owned()).into());
    }
    let each_round = rows.len() + scaling.shares().len();
    let progress = bar(each_round * scaling.rounds, "measurements");
    let measured = scaling.measure(|| progress.inc(1));
    progress.finish_and_clear();
    let Scaled { rows, shares } = measured?;
    let tables = [table(&scaling, &rows), shared(&scaling, &shares)];
    args.save
        .write(|| document::of_tables(&[&tables[0], &tables[1]], Map::new()))?;
    let mut out = output::stdout();
    if args.format == Format::Table {
        let about = format!("dpamatch {VERSION} on {}", Machine::this());
        writeln!(out, "{}\n", wrapped(&about, args.wide.width()))?;
    }
    write(&mut *out, &tables, args.format, args.wide)?;
    Ok(out.flush()?)
}

fn table(scaling: &Scaling, rows: &[ScalingRow]) -> Table {
    let title = format!(
        "Shards: windows of {} of 8 bytes with distinct tags, {} a round, {}.",
        counted(scaling.window, "message"),
        scaling.windows,
        counted(scaling.rounds, "round")
    );
    let columns = [
        "shards",
        "processors",
        "M messages/s",
        "min",
        "max",
        "per processor",
        "efficiency",
    ];
    let mut table = Table::new("scaling", title, columns)
        .keyed(2)
        .named(&[
            ("M messages/s", "rate_million_msgs_per_s"),
            ("min", "rate_min_million_msgs_per_s"),
            ("max", "rate_max_million_msgs_per_s"),
            ("per processor", "rate_per_processor_million_msgs_per_s"),
        ])
        .measured(
            "rate_million_msgs_per_s rate_min_million_msgs_per_s rate_max_million_msgs_per_s \
            rate_per_processor_million_msgs_per_s efficiency"
                .split(' '),
        )
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

/// A model for more shards than processors, from one shard's time for a share.
fn shared(scaling: &Scaling, rows: &[ShareRow]) -> Table {
    let title = format!(
        "Model: one program's window of {}, in equal shares for the shards.",
        counted(scaling.window, "message")
    );
    let columns = [
        "shards",
        "share",
        "us",
        "min",
        "max",
        "M messages/s",
        "speed-up",
        "efficiency",
    ];
    let mut table = Table::new("shares", title, columns)
        .keyed(2)
        .named(&[
            ("us", "time_us"),
            ("min", "time_min_us"),
            ("max", "time_max_us"),
            ("M messages/s", "rate_million_msgs_per_s"),
            ("speed-up", "speed_up"),
        ])
        .measured(
            "time_us time_min_us time_max_us rate_million_msgs_per_s speed_up \
            efficiency"
                .split(' '),
        )
        .note(
            "Measured: how long one shard on two processors takes for a window as long as the \
             share. Shards share nothing but memory, so all take that long at the same time, if \
             each has a processor of its own.",
        );
    for row in rows {
        let micro = |nanoseconds: f64| Cell::Real(nanoseconds / 1e3);
        table.push([
            row.shards.into(),
            row.share.into(),
            micro(row.time_ns.median),
            micro(row.time_ns.min),
            micro(row.time_ns.max),
            Cell::Real(scaling.window as f64 * 1e3 / row.time_ns.median),
            row.speed_up.into(),
            row.efficiency().into(),
        ]);
        let rounds: Vec<f64> = row.rounds.iter().map(|time| time / 1e3).collect();
        table.rounds("time_us", &rounds);
    }
    table
}

#[cfg(test)]
mod tests {
    use dpamatch_tools::bench::Summary;

    use super::*;

    fn scaling() -> Scaling {
        let nic = dpa_model::NicConfig::default();
        Scaling {
            nic,
            processors: vec![0, 1],
            window: 1000,
            windows: 1,
            rounds: 1,
        }
    }

    #[test]
    fn rates_and_shares_in_numbers() {
        let rate = Summary::from_values(&[6e6, 8e6, 18e6]).expect("three values");
        let rounds = vec![6e6, 8e6, 18e6];
        let row = ScalingRow {
            shards: 1,
            processors: 2,
            rate,
            rounds,
            efficiency: Some(0.5),
        };
        let alone = ScalingRow {
            shards: 4,
            processors: 4,
            efficiency: None,
            ..row.clone()
        };
        let rates = table(&scaling(), &[row, alone]);
        let time_ns = Summary::from_values(&[4_000.0, 5_000.0, 8_000.0]).expect("three values");
        let row = ShareRow {
            shards: 4,
            share: 250,
            time_ns,
            rounds: vec![5_000.0],
            speed_up: 3.0,
        };
        let shares = shared(&scaling(), &[row]);
        let shown =
            [rates, shares].map(|table| format!("{}{:#}\n", table.csv(), table.rows_json()));
        expect_test::expect_file!["scaling.txt"].assert_eq(&shown.concat());
    }
}
