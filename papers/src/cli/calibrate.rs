use std::fs;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use anyhow::Context;
use dpa_model::{Choice, PaperWorkload};
use dpamatch_predict::calibrate::{Fit, Measured, calibrate};
use dpamatch_predict::figure8::mape;
use dpamatch_predict::{Setup, override_text, predict, series};

use super::cost::bad_line;
use dpamatch_papers::cost::rows;
use dpamatch_tools::cli::input::{did_you_mean, file_or_stdin};
use dpamatch_tools::cli::predict::{Common, Like};
use dpamatch_tools::cli::progress::spinner;
use dpamatch_tools::cli::{BadInput, output};
use dpamatch_tools::table::Table;
use serde::Deserialize;

/// Fit a profile's free parameters to measured runs with one and two threads.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/calibrate.txt").trim_end())]
pub(super) struct Args {
    /// Write the fitted profile to this file
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
    /// The measurements; - or nothing for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let (name, input) = file_or_stdin(&args.file)?;
    let measured = read(&name, input)?;
    let (text, setup) = args.common.text_and_setup(Like::Prototype)?;
    let progress = spinner("predictions");
    let fitted = calibrate(&setup, &measured);
    progress.finish_and_clear();
    let (profile, fits) = fitted.map_err(|error| BadInput(error.to_string()))?;
    let columns = [
        "parameter",
        "value",
        "fitted to",
        "threads",
        "measured",
        "predicted",
    ];
    let title = format!("Free parameters of {}.", profile.name);
    let mut table = Table::new("fits", title, columns).named(&[
        ("measured", "measured_msgs_per_us"),
        ("predicted", "predicted_msgs_per_us"),
    ]);
    for fit in &fits {
        table.push([
            fit.parameter.into(),
            fit.value.into(),
            fit.measured.series.name().into(),
            fit.measured.threads.into(),
            fit.measured.rate.into(),
            fit.predicted.into(),
        ]);
    }
    if let Some(path) = &args.write {
        let work = &profile.work;
        let fitted = [
            ("work.poll_ns", work.poll_ns),
            ("work.search_ns", work.search_ns),
            ("work.book_ns", work.book_ns),
            ("work.detect_ns", work.detect_ns),
            ("work.consume_ns", work.consume_ns),
            ("work.protocol_ns", work.protocol_ns),
            ("word.handover_ns", profile.word.handover_ns),
            ("work.fast_ns", work.fast_ns),
            ("work.slow_ns", work.slow_ns),
        ];
        let instructions = &profile.instructions;
        let own = (instructions.cpi > 0.0).then_some(("instructions.own_ns", instructions.own_ns));
        let mut overrides = args.common.overrides().to_vec();
        overrides.extend(
            fitted
                .iter()
                .chain(&own)
                .map(|(name, value)| format!("{name}={value:.3}")),
        );
        let text = override_text(&text, &overrides).map_err(|error| BadInput(error.to_string()))?;
        fs::write(path, text).with_context(|| path.display().to_string())?;
    }
    let mut tables = vec![table];
    tables.extend(judged(&Setup { profile, ..setup }, &measured, &fits)?);
    args.common.show(&tables)?;
    for fit in fits
        .iter()
        .filter(|fit| (fit.predicted / fit.measured.rate - 1.0).abs() > 0.005)
    {
        writeln!(
            io::stderr(),
            "dpamatch-papers: {} stays at {}: no value reaches {} messages/us",
            fit.parameter,
            fit.value,
            fit.measured.rate
        )?;
    }
    Ok(output::stdout().flush()?)
}

/// The measurements outside the fit, and their predictions; `None` without any.
fn judged(setup: &Setup, measured: &[Measured], fits: &[Fit]) -> anyhow::Result<Option<Table>> {
    let held_out = measured
        .iter()
        .filter(|point| fits.iter().all(|fit| fit.measured != **point));
    let mut results = Vec::new();
    for point in held_out {
        let base = Setup {
            handlers: point.threads,
            ..setup.clone()
        };
        let (setup, offer) = series(&base, point.series);
        let predicted = predict(&setup, &offer, 0).map_err(|error| BadInput(error.to_string()))?;
        results.push((point, predicted.rate));
    }
    if results.is_empty() {
        return Ok(None);
    }
    let error = mape(
        results
            .iter()
            .map(|&(point, predicted)| (predicted, point.rate)),
    );
    let columns = ["series", "threads", "measured", "predicted", "error %"];
    let title = format!("Held out, in M messages/s; mean absolute error {error:.2} %.");
    let mut table = Table::new("held_out", title, columns).keyed(2).named(&[
        ("measured", "measured_msgs_per_us"),
        ("predicted", "predicted_msgs_per_us"),
        ("error %", "error_percent"),
    ]);
    for (point, predicted) in results {
        table.push([
            point.series.name().into(),
            point.threads.into(),
            point.rate.into(),
            predicted.into(),
            (100.0 * (predicted / point.rate - 1.0)).into(),
        ]);
    }
    Ok(Some(table))
}

#[derive(Deserialize)]
struct RateRow {
    series: String,
    threads: usize,
    rate: f64,
}

fn read(name: &str, input: impl BufRead) -> anyhow::Result<Vec<Measured>> {
    let mut measured = Vec::new();
    let known = || PaperWorkload::ALL.iter().map(|workload| workload.name());
    rows(input, &["series", "threads", "rate"], |row: RateRow| {
        let RateRow {
            series,
            threads,
            rate,
        } = row;
        let series = PaperWorkload::named(&series).ok_or_else(|| {
            let all = known().collect::<Vec<_>>().join(", ");
            format!(
                "unknown series {series}{}; known: {all}",
                did_you_mean(&series, known())
            )
        })?;
        if !(1e-6..=1e6).contains(&rate) {
            return Err(format!("rate is {rate}, must be 1e-6 to 1e6 messages/us"));
        }
        measured.push(Measured {
            series,
            threads,
            rate,
        });
        Ok(())
    })
    .map_err(|error| bad_line(name, &error))?;
    Ok(measured)
}
