//! The effect of each of a profile's numbers on the prediction.

use dpamatch_predict::sensitivity::{Errors, sensitivity};

use dpamatch_tools::cli::BadInput;
use dpamatch_tools::cli::predict::{Common, Like, options};
use dpamatch_tools::cli::progress::bar;
use dpamatch_tools::table::{Cell, Table};

/// Halve and double each number of a card's profile: its effect on the accuracy
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: Common,
    /// Only these numbers of the profile [default: all that are neither 0 nor fitted]
    #[arg(value_name = "TABLE.KEY")]
    names: Vec<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let common = &args.common;
    let (text, setup) = common.text_and_setup(Like::Prototype)?;
    let bar = bar(1, "numbers");
    let result = sensitivity(
        &text,
        common.overrides(),
        &setup,
        &args.names,
        |done, all| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        },
    );
    bar.finish_and_clear();
    let (base, trials) = result.map_err(|error| BadInput(error.to_string()))?;
    let title = format!(
        "Half and twice each number of {}, the free parameters fitted anew: mean absolute error of \
         the points held out, in per cent.",
        options(&setup)
    );
    let columns = [
        "parameter",
        "value",
        "half: NC",
        "WC-SP",
        "all nine",
        "twice: NC",
        "WC-SP",
        "all nine",
        "fits better",
    ];
    let mut table = Table::new("sensitivity", title, columns);
    let cells = |errors: Option<Errors>| -> [Cell; 3] {
        errors.map_or([Cell::None, Cell::None, Cell::None], |errors| {
            [errors.nc.into(), errors.sp.into(), errors.all.into()]
        })
    };
    let mut row = |name: &str, value: Cell, errors: [Option<Errors>; 2], better: &str| {
        let errors = errors.into_iter().flat_map(cells);
        table.push(
            [name.into(), value]
                .into_iter()
                .chain(errors)
                .chain([better.into()]),
        );
    };
    row("as given", Cell::None, [Some(base); 2], "-");
    let mut better = Vec::new();
    for trial in &trials {
        let is_better = |errors: Option<Errors>| errors.is_some_and(|it| it.all < base.all);
        let which = match trial.errors.map(is_better) {
            [false, false] => "-",
            [true, false] => "half",
            [false, true] => "twice",
            [true, true] => "both",
        };
        if which != "-" {
            better.push(format!("{} ({which})", trial.parameter));
        }
        row(&trial.parameter, trial.value.into(), trial.errors, which);
    }
    table.notes.push(format!(
        "{} of {} numbers fit all nine points better when halved or doubled{}{}.{}",
        better.len(),
        trials.len(),
        if better.is_empty() { "" } else { ": " },
        better.join(", "),
        match better.is_empty() {
            true => "",
            false => " So the points do not say how a message's time splits.",
        }
    ));
    common.show(&[table])
}
