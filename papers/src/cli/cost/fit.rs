use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use dpamatch_papers::cost::fit::{Search, fit, read_csv};
use dpamatch_papers::cost::{Estimate, Profile};
use dpamatch_tools::counted;

use super::{bad_line, file_or_stdin};
use dpamatch_tools::cli::BadInput;
use dpamatch_tools::cli::input::{choice, default};
use dpamatch_tools::table::{Cell, Table};

/// Fit alpha, R_b, R_N, gamma and delta to measured runs.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../help/cost-fit.txt").trim_end())]
pub(super) struct Args {
    /// The runs (CSV); - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Data for the fit of gamma
    #[arg(long, value_parser = choice::<Search>(), value_name = "WHAT", default_value = default::<Search>())]
    queue: Search,
    /// Write the profile with the fitted parameters into this file
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

pub(super) fn run(args: &Args, profile: &Profile) -> anyhow::Result<Vec<Table>> {
    let (name, input) = file_or_stdin(&args.file)?;
    let runs = read_csv(input).map_err(|error| bad_line(&name, &error))?;
    let search = args.queue;
    let fit = fit(&runs, profile, search).map_err(|error| BadInput(format!("{name}: {error}")))?;
    let title = format!(
        "{}, degrees of freedom: {}, root mean square of the relative errors {:.4}; 95 % confidence.",
        counted(fit.runs, "run"),
        fit.freedom,
        fit.relative_error
    );
    let columns = [
        "place",
        "protocol",
        "runs",
        "parameter",
        "value",
        "low",
        "high",
        "from_ppn",
    ];
    let mut table = Table::new("parameters", title, columns).keyed(4);
    let mut row = |head: [Cell; 3], name: &str, estimate: Option<Estimate>, from: Cell| {
        let ends = [
            estimate.map(|e| e.value),
            estimate.map(|e| e.low),
            estimate.map(|e| e.high),
        ];
        table.push(
            head.into_iter()
                .chain([name.into()])
                .chain(ends.map(Cell::from))
                .chain([from]),
        );
    };
    for link in &fit.links {
        let head = || {
            [
                link.place.name().into(),
                link.protocol.name().into(),
                link.runs.into(),
            ]
        };
        row(head(), "alpha_s", link.alpha_s, Cell::None);
        row(
            head(),
            "rate_bytes_per_s",
            link.rate_bytes_per_s,
            Cell::None,
        );
        if link.limited_from.is_some() {
            row(
                head(),
                "node_rate_bytes_per_s",
                link.node_rate_bytes_per_s,
                link.limited_from.into(),
            );
        }
    }
    let gamma = if search == Search::Steps {
        "gamma_step_s"
    } else {
        "gamma_s"
    };
    row(
        ["all".into(), "all".into(), fit.runs.into()],
        gamma,
        fit.gamma_s,
        Cell::None,
    );
    if fit.delta_s_per_byte.is_some() {
        let head = ["network".into(), "all".into(), fit.runs.into()];
        row(head, "delta_s_per_byte", fit.delta_s_per_byte, Cell::None);
    }
    if let Some(file) = &args.write {
        let mut fitted = profile.clone();
        fit.apply(&mut fitted);
        fitted.name = file
            .file_stem()
            .map_or("fitted".into(), |stem| stem.to_string_lossy().into_owned());
        fs::write(file, fitted.to_toml())
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(vec![table])
}
