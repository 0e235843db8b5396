//! What each optimisation of the algorithm contributes, alone, in pairs, and missing.

use dpamatch_predict::{Barrier, Domains, FastPath, Removal, Setup, predict};
use dpamatch_tools::counted;
use dpamatch_tools::figure::{Axis, Figure, Heat, Lines, Series};
use dpamatch_tools::table::{Cell, Table};

use dpamatch_tools::cli::interrupt::Early;
use dpamatch_tools::cli::predict::recorded::RecordedArgs;
use dpamatch_tools::cli::predict::{Common, Counts, Like, Workload, make, numbers, wrong};
use dpamatch_tools::cli::progress::bar;

/// An optimisation's name, and how a set-up gets it or goes without.
type Optimisation = (&'static str, fn(&mut Setup, bool));

const OPTIMISATIONS: [Optimisation; 7] = [
    ("inline hashes", |setup, on| setup.inline_hashes = on),
    ("early check", |setup, on| setup.early_check = on),
    ("removal", |setup, on| {
        setup.removal = if on { Removal::Lazy } else { Removal::Deferred }
    }),
    ("form", |setup, on| {
        setup.fast_path = if on {
            FastPath::Sequence
        } else {
            FastPath::Off
        }
    }),
    ("barrier", |setup, on| {
        setup.profile.nic.barrier = if on { Barrier::Lanes } else { Barrier::Bitmap };
    }),
    // Bookings only where they are read.
    ("booking", |setup, on| setup.always_book = !on),
    ("domains", |setup, on| {
        setup.domains = if on { Domains::Keyed } else { Domains::Paper };
    }),
];
const EARLY: usize = 1;
const DOMAINS: usize = OPTIMISATIONS.len() - 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Chosen(u8);

impl Chosen {
    const NONE: Self = Self(0);
    const ALL: Self = Self((1 << OPTIMISATIONS.len()) - 1);
    /// The NIC's: an early check needs bookings, which domains otherwise omit.
    const USUAL: Self = Self(Self::ALL.0 & !(1 << EARLY));

    fn alone(which: usize) -> Self {
        Self(1 << which)
    }

    fn without(self, which: usize) -> Self {
        Self(self.0 & !(1 << which))
    }

    fn apply(self, mut setup: Setup) -> Setup {
        for (which, (_, switch)) in OPTIMISATIONS.iter().enumerate() {
            switch(&mut setup, self.0 >> which & 1 == 1);
        }
        setup
    }

    fn name(self) -> String {
        let names = |bits: u8| {
            let all = OPTIMISATIONS.iter().enumerate();
            all.filter(move |(which, _)| bits >> which & 1 == 1)
                .map(|(_, (name, _))| *name)
        };
        match (self.0.count_ones(), (Self::USUAL.0 & !self.0).count_ones()) {
            (0, _) => "none".to_owned(),
            (7, _) => "all".to_owned(),
            (_, 0) => "usual".to_owned(),
            (5, 1) => format!(
                "usual but {}",
                names(Self::USUAL.0 & !self.0).collect::<String>()
            ),
            _ => names(self.0).collect::<Vec<_>>().join(" + "),
        }
    }
}

/// None, each alone, each pair, the usual ones, these but each, all.
fn choices() -> Vec<Chosen> {
    let which = 0..OPTIMISATIONS.len();
    let pairs = which
        .clone()
        .flat_map(|a| (a + 1..OPTIMISATIONS.len()).map(move |b| (a, b)));
    let pairs = pairs.map(|(a, b)| Chosen(Chosen::alone(a).0 | Chosen::alone(b).0));
    let mut choices = vec![Chosen::NONE];
    choices.extend(which.clone().map(Chosen::alone));
    choices.extend(pairs);
    let usual = which.filter(|&which| which != EARLY);
    choices.extend(usual.map(|which| Chosen::USUAL.without(which)));
    choices.extend([Chosen::USUAL, Chosen::ALL]);
    choices
}

/// What each optimisation contributes to the rate, alone, in pairs and missing
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: Common,
    /// Numbers of handlers
    #[arg(long, value_name = "N,N-M..", value_delimiter = ',', default_value = "8,32,190", value_parser = clap::value_parser!(Counts))]
    handlers: Vec<Counts>,
    /// Shares of messages with equal source and tag, in per cent
    #[arg(long, value_name = "P,P..", value_delimiter = ',', default_value = "0,5,10,25,50,100", value_parser = clap::value_parser!(u32).range(0..=100), conflicts_with = "trace")]
    conflicts: Vec<u32>,
    #[command(flatten)]
    recorded: RecordedArgs,
}

/// The rates of one number of handlers, by row of `choices` and by workload.
struct Rates {
    handlers: usize,
    rows: Vec<(Chosen, Vec<f64>)>,
}

impl Rates {
    fn of(&self, wanted: Chosen) -> &[f64] {
        let row = self.rows.iter().find(|(chosen, _)| *chosen == wanted);
        row.map_or(&[], |(_, rates)| rates)
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let common = &args.common;
    let workloads = match args.recorded.load(common)? {
        Some(recorded) => vec![recorded],
        None => {
            let parse = |percent| Workload::parse(&format!("mixed:{percent}"), common.seed, 8);
            args.conflicts
                .iter()
                .map(parse)
                .collect::<Result<Vec<_>, _>>()?
        }
    };
    let choices = choices();
    let bar = bar(choices.len() * numbers(&args.handlers).count(), "rows");
    let early = Early::catch()?;
    let mut results = Vec::new();
    for handlers in numbers(&args.handlers).take_while(|_| !early.is_stopped()) {
        let mut rows = Vec::new();
        for &chosen in &choices {
            let rate = |workload: &Workload| {
                let setup = chosen.apply(workload.setup(common, Like::Prototype, handlers)?);
                Ok(predict(&setup, &workload.offer, 0).map_err(wrong)?.rate)
            };
            rows.push((
                chosen,
                workloads.iter().map(rate).collect::<anyhow::Result<_>>()?,
            ));
            bar.inc(1);
        }
        results.push(Rates { handlers, rows });
    }
    let mut note = Table::default();
    early.mark_by(&bar, &mut note)?;
    if let Some(folder) = common.out.as_ref().filter(|_| !args.recorded.is_given()) {
        make(folder)?;
        figure(&results, &args.conflicts).write(folder, "ablation")?;
    }
    let profile = common.setup_like(Like::Prototype, 1)?.profile;
    let title = format!(
        "Rates on {} (version {}) with these optimisations and no others, in M messages/s of \
         virtual time. Usual: the NIC's, that is all but the early check.",
        profile.name, profile.version
    );
    let mut table = table(title, &results, &workloads);
    table.notes.extend(note.notes);
    common.show(&[table])
}

fn table(title: String, results: &[Rates], workloads: &[Workload]) -> Table {
    let names = workloads
        .iter()
        .map(|workload| match workload.name.strip_prefix("mixed:") {
            Some(percent) => format!("{percent} % equal"),
            None => workload.name.clone(),
        });
    let columns = ["handlers", "with"]
        .map(str::to_owned)
        .into_iter()
        .chain(names);
    let mut table = Table::new("ablation", title, columns).keyed(2);
    for Rates { handlers, rows } in results {
        for (chosen, rates) in rows {
            let cells = [Cell::from(*handlers), chosen.name().into()];
            table.push(
                cells
                    .into_iter()
                    .chain(rates.iter().map(|&rate| rate.into())),
            );
        }
    }
    table
}

/// For each number of handlers the rates over the share of equal messages, and what the loss of
/// one optimisation costs.
fn figure(results: &[Rates], equal: &[u32]) -> Figure {
    let mut figure = Figure::new("What each optimisation contributes");
    figure.columns = 2;
    for rates in results {
        let Rates { handlers, .. } = rates;
        let lines = [
            Chosen::NONE,
            Chosen::alone(DOMAINS),
            Chosen::USUAL.without(DOMAINS),
        ];
        let axis = Axis::linear("equal messages, per cent");
        let panel = Lines::new(
            format!("{}: rate", counted(handlers, "handler")),
            axis,
            Axis::linear("M messages/s, virtual"),
        );
        let line = |chosen: Chosen| {
            let points = equal.iter().map(|&percent| f64::from(percent));
            Series::line(chosen.name(), points.zip(rates.of(chosen).iter().copied()))
        };
        figure = figure.with(
            lines
                .into_iter()
                .chain([Chosen::USUAL])
                .map(line)
                .fold(panel, Lines::with),
        );
        let mut heat = Heat::new(
            counted(handlers, "handler"),
            "equal messages, per cent",
            "optimisation",
            "with it / without, beside the usual others",
        )
        .with_columns(equal.iter().map(u32::to_string));
        for (which, (name, _)) in OPTIMISATIONS.iter().enumerate() {
            let with = if which == EARLY {
                Chosen::ALL
            } else {
                Chosen::USUAL
            };
            let without = rates.of(with.without(which));
            let factor = |(all, without): (&f64, &f64)| all / without;
            heat = heat.with_row(*name, rates.of(with).iter().zip(without).map(factor));
        }
        figure = figure.with(heat);
    }
    figure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_has_a_name_of_its_own() {
        let names: Vec<String> = choices().into_iter().map(Chosen::name).collect();
        assert_eq!(names.len(), 1 + 7 + 21 + 7 + 1);
        let unique: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
        assert_eq!((&*names[0], &*names[36]), ("none", "all"));
        assert_eq!(
            (&*names[6], &*names[7], &*names[8]),
            ("booking", "domains", "inline hashes + early check")
        );
        assert_eq!([&names[34], &names[35]], ["usual but domains", "usual"]);
    }
}
