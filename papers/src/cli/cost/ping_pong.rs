use std::path::Path;

use dpamatch::engine::BinCount;
use dpamatch_papers::cost::emulator::{
    EnginePrediction, MeasureError, Measured, Predicted, Settings, measure, predict,
};
use dpamatch_tools::figure::{Axis, Figure, Lines, Series};

use super::{folder, not_counted, us};
use dpamatch_tools::bench::Machine;
use dpamatch_tools::cli::engines;
use dpamatch_tools::cli::nic_args::NicArgs;
use dpamatch_tools::cli::progress::bar;
use dpamatch_tools::table::Table;

/// Measure HighVolumePingPong on the engines and compare with the model.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../help/cost-ping-pong.txt").trim_end(), mut_arg("workers", |workers| workers.default_value("0")))]
pub(super) struct Args {
    /// Engines by name, 'all', and 'endpoint'
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', default_value = "all,endpoint",
          value_parser = engines::any(&["all", "endpoint"]))]
    engine: Vec<String>,
    /// Messages each way
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "16,64,256,1024,2048",
          value_parser = clap::value_parser!(u32).range(1..=MESSAGES_MAX))]
    messages: Vec<u32>,
    /// Bytes each way, all messages together
    #[arg(long, value_name = "BYTES", default_value_t = 32_768, value_parser = clap::value_parser!(u64).range(1..=BYTES_MAX))]
    bytes: u64,
    /// Rounds of the measurement; the shortest counts
    #[arg(long, value_name = "ROUNDS", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Seed of random orders
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print the measured runs as input of 'dpamatch-papers cost fit'
    #[arg(long)]
    runs: bool,
    /// Bins of each hash table, 1 to 65536
    #[arg(long, value_name = "B", default_value_t = BinCount::default())]
    bins: BinCount,
    #[command(flatten)]
    nic: NicArgs,
}

/// Maximum messages: a list's worst order of this many takes half an hour.
const MESSAGES_MAX: i64 = 1_000_000;
const BYTES_MAX: u64 = 1 << 28;

pub(super) fn run(args: &Args, out: Option<&Path>) -> anyhow::Result<Vec<Table>> {
    let (endpoints, names): (Vec<_>, Vec<_>) = args
        .engine
        .iter()
        .cloned()
        .partition(|name| name == "endpoint");
    let engines = engines::chosen(&names);
    let settings = Settings {
        sizes: args.messages.clone(),
        total_bytes: args.bytes,
        rounds: args.rounds,
        seed: args.seed,
        options: args.nic.options(args.bins),
    };
    let kinds = engines.len() + usize::from(!endpoints.is_empty());
    let busy = Machine::this().busy();
    let bar = bar(kinds * args.messages.len() * 3 * args.rounds as usize, "");
    let measured = measure(&engines, !endpoints.is_empty(), &settings, |engine| {
        bar.inc(1);
        bar.set_message(engine.to_owned());
    });
    bar.finish_and_clear();
    let measured = measured.map_err(|error| match error {
        MeasureError::Engine(error) => not_counted(error),
        error => anyhow::Error::from(error),
    })?;
    if args.runs {
        return Ok(vec![warned(runs_table(&measured, args.bytes), busy)]);
    }
    let predictions = predict(&measured);
    if let Some(path) = out {
        folder(path)?;
        figure(&predictions).write(path, "ping-pong")?;
    }
    Ok(vec![
        fitted_table(&predictions),
        warned(predicted_table(&predictions), busy),
    ])
}

/// The last table says what may have made its times longer.
fn warned(table: Table, busy: Option<String>) -> Table {
    match busy {
        Some(busy) => table.note(format!("{busy}: times may be too long")),
        None => table,
    }
}

fn runs_table(measured: &[Measured], bytes: u64) -> Table {
    let runs = measured.iter().map(|run| (run, bytes));
    let table = Table::with_rows("runs", "Measured runs, one way.", runs).columns(&[
        ("engine", |(run, _)| run.engine.into()),
        ("order", |(run, _)| run.order.into()),
        ("messages", |(run, _)| run.messages.into()),
        ("bytes", |(_, bytes)| (*bytes).into()),
        ("steps", |(run, _)| run.steps.into()),
        ("seconds", |(run, _)| (run.seconds / 2.0).into()),
    ]);
    table.keyed(4).measured(["seconds"])
}

fn fitted_table(predictions: &[EnginePrediction]) -> Table {
    let title = "Fitted to best and worst order (nanoseconds, 95 % confidence); mean relative error of the random orders, \
                 predicted by steps, by gamma n^2 and by gamma n^2 / 3.";
    Table::with_rows("ping_pong_fit", title, predictions)
        .columns(&[
            ("engine", |it| it.engine.into()),
            ("message_ns", |it| {
                it.message_s.map(|e| 1e9 * e.value).into()
            }),
            ("gamma_step_ns", |it| {
                it.gamma_step_s.map(|e| 1e9 * e.value).into()
            }),
            ("low", |it| it.gamma_step_s.map(|e| 1e9 * e.low).into()),
            ("high", |it| it.gamma_step_s.map(|e| 1e9 * e.high).into()),
            ("gamma_ns", |it| it.gamma_s.map(|e| 1e9 * e.value).into()),
            ("error_steps", |it| it.error_steps.into()),
            ("error_bound", |it| it.error_bound.into()),
            ("error_third", |it| it.error_third.into()),
        ])
        .measured(
            "message_ns gamma_step_ns low high gamma_ns error_steps error_bound \
            error_third"
                .split(' '),
        )
        .named(&[("low", "low_ns"), ("high", "high_ns")])
        .extra(["error_third"])
}

fn predicted_table(predictions: &[EnginePrediction]) -> Table {
    let tests = predictions.iter().flat_map(|prediction| &prediction.tests);
    Table::with_rows("ping_pong_runs", "Ping-pong, both ways.", tests)
        .columns(&[
            ("engine", |it| it.measured.engine.into()),
            ("order", |it| it.measured.order.into()),
            ("messages", |it| it.measured.messages.into()),
            ("steps", |it| it.measured.steps.into()),
            ("measured_us", |it| us(it.measured.seconds).into()),
            ("by_steps_us", |it| us(it.by_steps_s).into()),
            ("by_bound_us", |it| us(it.by_bound_s).into()),
            ("by_third_us", |it| us(it.by_third_s).into()),
        ])
        .keyed(3)
        .measured(["measured_us", "by_steps_us", "by_bound_us", "by_third_us"])
}

/// A panel for each engine: measured times as solid lines, the model's dashed.
fn figure(predictions: &[EnginePrediction]) -> Figure {
    let mut figure =
        Figure::new("HighVolumePingPong: measured, and predicted by steps (random order unseen)");
    for prediction in predictions {
        let (x, y) = (
            Axis::powers("messages each way"),
            Axis::log("microseconds, both ways"),
        );
        let mut panel = Lines::new(prediction.engine, x, y);
        let points = |order, time: fn(&Predicted) -> f64| {
            let tests = prediction
                .tests
                .iter()
                .filter(move |test| test.measured.order == order);
            tests.map(move |test| (f64::from(test.measured.messages), us(time(test))))
        };
        for order in ["worst", "random", "best"] {
            panel = panel
                .with(Series::line(
                    format!("{order}, measured"),
                    points(order, |test| test.measured.seconds),
                ))
                .with(Series::limit(
                    format!("{order}, by steps"),
                    points(order, |test| test.by_steps_s),
                ));
        }
        let bound = points("random", |test| test.by_bound_s);
        figure = figure.with(panel.with(Series::limit("random, by gamma n^2", bound)));
    }
    figure
}

#[cfg(test)]
mod tests {
    use dpamatch_papers::cost::Estimate;

    use super::*;

    /// A ping-pong goes both ways; a run for the fit goes one way.
    #[test]
    fn runs_are_of_one_way() {
        let (engine, order) = ("list", "worst");
        let run = Measured {
            engine,
            order,
            messages: 10,
            steps: 55,
            seconds: 4e-6,
        };
        let csv = runs_table(&[run], 800).csv();
        assert_eq!(
            csv.lines().last(),
            Some("list,worst,10,800,55,2e-6"),
            "{csv}"
        );
    }

    #[test]
    fn what_was_fitted_is_in_nanoseconds_and_errors_are_parts() {
        let (low, value, high) = (1e-9, 2e-9, 4e-9);
        let gamma_step_s = Some(Estimate { value, low, high });
        let prediction = EnginePrediction {
            engine: "list",
            message_s: Some(Estimate {
                value: 8e-9,
                low,
                high,
            }),
            gamma_step_s,
            gamma_s: Some(Estimate {
                value: 5e-10,
                low,
                high,
            }),
            error_steps: 0.25,
            error_bound: 0.5,
            error_third: 0.75,
            tests: Vec::new(),
        };
        let csv = fitted_table(&[prediction]).csv();
        assert_eq!(
            csv.lines().last(),
            Some("list,8,2,1,4,0.5,0.25,0.5,0.75"),
            "{csv}"
        );
    }
}
