use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use dpamatch::engine::{ArrayLife, Behind, BinCount, GridThreshold};
use dpamatch::registry::{self, ENGINES, EngineEntry, EngineOptions};
use dpamatch_explore::Shard;
use dpamatch_papers::compare::{CardRoom, CompareError, Experiment, Plan, Report, winners};
use dpamatch_tools::table::{self, Table};
use serde_json::{Value, json};

use dpamatch_tools::cli::document::{self, Save};
use dpamatch_tools::cli::input::choice;
use dpamatch_tools::cli::interrupt::Early;
use dpamatch_tools::cli::merge::TABLES_OF_EXPERIMENTS;
use dpamatch_tools::cli::progress::percent;
use dpamatch_tools::cli::table::Wide;
use dpamatch_tools::cli::{BadInput, engines, output};

/// Run the papers' experiments on the engines side by side: steps, memory and times.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/compare.txt").trim_end())]
pub(super) struct Args {
    /// Experiments, by name
    #[arg(value_name = "EXPERIMENT", required_unless_present = "all", hide_possible_values = true,
          value_parser = choice::<Experiment>())]
    experiments: Vec<Experiment>,
    /// All experiments
    #[arg(long, conflicts_with = "experiments")]
    all: bool,
    /// Engines, or paths of engines' libraries [default: all but the oracle]; the list is always
    /// included
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', value_parser = engines::any(&[]))]
    engine: Vec<String>,
    /// Job sizes of 'search', 'queues', 'applications', 'overhead' and 'patterns', 2 to 65536;
    /// 'any' takes the largest
    #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..=65_536))]
    ranks: Vec<u32>,
    /// Messages of each sender in 'search'; 'any' takes the largest
    #[arg(long, value_name = "P,..", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    pending: Vec<u32>,
    /// Entries that stay in 'depth'
    #[arg(long, value_name = "D,..", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    depths: Vec<u32>,
    /// Bins of each hash table of engines that have them, 1 to 65536 [default: 256; 'bins' grows
    /// from there]
    #[arg(long, value_name = "B")]
    bins: Option<BinCount>,
    /// Parts of the cap on dedicated queues in 'queues'; engines with such queues take the largest
    /// [default: 1,2,4,8]
    #[arg(long, value_name = "K,..", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    k: Vec<u32>,
    /// Length of a queue at which engines with dedicated queues look for partners
    #[arg(long, value_name = "T", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    theta: u32,
    /// Entries of the cards ('optimistic', 'hw-list', 'portals', 'alpu'): all of a case, L in each
    /// queue of each card, or what each real card has
    #[arg(long, value_name = "all|real|L", default_value_t = CardRoom::All)]
    room: CardRoom,
    /// Engine behind each full card
    #[arg(long, value_name = "NAME", default_value = Behind::List.name(),
          value_parser = choice::<Behind>())]
    behind: Behind,
    /// How long 'rank-array' keeps its arrays: until the communicator is freed, or until its queues
    /// are empty
    #[arg(long, value_name = "LIFE", default_value_t, value_parser = choice::<ArrayLife>())]
    array_life: ArrayLife,
    /// Entries above which '4d' leaves its list [default: 26, 50, 98 or 194 by the job's size]
    #[arg(long, value_name = "E")]
    threshold: Option<u32>,
    /// Timed rounds; 0: steps only
    #[arg(long, value_name = "R", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=100))]
    rounds: u32,
    /// Seed of random orders
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Run only this part of the experiments, of N, with --rounds 0; `dpamatch merge` puts the
    /// parts together
    #[arg(long, value_name = "I/N", conflicts_with_all = ["all", "out"])]
    shard: Option<Shard>,
    /// Also write tables and figures into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Form of the results
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    save: Save,
    #[command(flatten)]
    wide: Wide,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    Table,
    Csv,
    Json,
    /// Tables to paste into a page
    Markdown,
}

impl Args {
    /// The list first, then the others in the order of the registry.
    fn engines(&self) -> Vec<&'static EngineEntry> {
        let mut chosen = engines::chosen(&self.engine);
        let is_wanted = |entry: &&EngineEntry| match chosen.as_slice() {
            [] => entry.name != "oracle",
            chosen => chosen.iter().any(|one| one.name == entry.name),
        };
        let built_in: Vec<_> = ENGINES.iter().filter(is_wanted).collect();
        chosen.retain(|one| built_in.iter().all(|entry| entry.name != one.name));
        let others = built_in
            .into_iter()
            .chain(chosen)
            .filter(|entry| entry.name != "list");
        registry::find("list").into_iter().chain(others).collect()
    }

    fn plan(&self) -> Plan {
        let mut plan = Plan::usual(self.engines());
        for (given, planned) in [
            (&self.ranks, &mut plan.ranks),
            (&self.pending, &mut plan.pending),
            (&self.depths, &mut plan.depths),
            (&self.k, &mut plan.k),
        ] {
            if !given.is_empty() {
                planned.clone_from(given);
            }
        }
        plan.options = EngineOptions {
            bins: self.bins.unwrap_or_default(),
            grow_bins: self.bins.is_none(),
            k: plan.k.iter().copied().max().unwrap_or(plan.options.k),
            theta: self.theta,
            array_life: self.array_life,
            behind: self.behind,
            behind_cards: self.behind,
            grid: self
                .threshold
                .map_or(GridThreshold::Span, GridThreshold::Entries),
            ..plan.options
        };
        plan.room = self.room;
        (plan.rounds, plan.seed) = (self.rounds as usize, self.seed);
        plan
    }

    /// This shard's part of the distinct experiments, in the given order.
    fn experiments(&self) -> Vec<Experiment> {
        if self.all {
            return Experiment::ALL.to_vec();
        }
        let mut chosen = self.experiments.clone();
        let mut seen = Vec::new();
        chosen.retain(|experiment| {
            !seen.contains(experiment) && {
                seen.push(*experiment);
                true
            }
        });
        let shard = self.shard.unwrap_or(Shard::WHOLE);
        let own = (0..).zip(chosen).filter(|&(at, _)| shard.has(at));
        own.map(|(_, experiment)| experiment).collect()
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let plan = args.plan();
    if args.shard.is_some() && plan.rounds > 0 {
        let what = "--shard goes with --rounds 0: times are of one machine";
        return Err(BadInput(what.to_owned()).into());
    }
    let early = Early::catch()?;
    let mut reports = run_all(&args.experiments(), &plan, &early)?;
    if early.is_stopped() {
        let (done, all) = (reports.len(), args.experiments().len());
        let tables = reports
            .iter_mut()
            .flat_map(|(_, it)| it.summary.iter_mut().chain(&mut it.data));
        early.mark(tables.collect(), &format!("{done} of {all} experiments"))?;
    } else if args.all {
        let table = winners(&reports);
        if let Some((_, last)) = reports.last_mut() {
            last.summary.push(table.clone());
            last.data.push(table);
        }
    }
    let kept = args.out.as_ref().map_or(Ok(()), |folder| {
        write_folder(folder, &reports)
            .with_context(|| format!("cannot write into {}", folder.display()))
    });
    let kept = kept.and(args.save.write(|| document(&reports, &plan, args.shard)));
    let mut out = output::stdout();
    match args.format {
        Format::Table => write!(
            out,
            "{}",
            text(&reports, |table| table.text(args.wide.width()))
        )?,
        Format::Markdown => write!(out, "{}", text(&reports, Table::markdown))?,
        Format::Csv => {
            let tables: Vec<&Table> = reports
                .iter()
                .flat_map(|(_, report)| &report.data)
                .collect();
            write!(out, "{}", table::csv(&tables))?;
        }
        Format::Json => {
            document::write(&mut *out, &document(&reports, &plan, args.shard))?;
        }
    }
    out.flush()?;
    kept.and_then(|()| early.end())
}

fn document(reports: &[(Experiment, Report)], plan: &Plan, shard: Option<Shard>) -> Value {
    let mut more = json!({
        "rounds": plan.rounds,
        "room": plan.room.to_string(),
        "behind": plan.options.behind_cards.name(),
        "engines": plan.engines.iter().map(|entry| entry.name).collect::<Vec<_>>(),
        "experiments": reports.iter().map(|(experiment, _)| experiment.name()).collect::<Vec<_>>(),
    });
    if shard.is_some() {
        // So `merge` finds the tables of each experiment.
        let counts = reports.iter().map(|(_, report)| report.data.len());
        more[TABLES_OF_EXPERIMENTS] = counts.collect();
    }
    let tables: Vec<&Table> = reports
        .iter()
        .flat_map(|(_, report)| &report.data)
        .collect();
    document::of_tables(&tables, document::members(more))
}

/// Runs all experiments up to an interrupt, with a progress bar if standard error is a terminal.
fn run_all(
    experiments: &[Experiment],
    plan: &Plan,
    early: &Early,
) -> anyhow::Result<Vec<(Experiment, Report)>> {
    const STEPS: f64 = 1000.0;
    let bar = percent((experiments.len() as f64 * STEPS) as usize);
    let mut reports = Vec::new();
    for (i, &experiment) in experiments.iter().enumerate() {
        let mut progress = |part: f64, what: &str| {
            bar.set_position(((i as f64 + part) * STEPS) as u64);
            bar.set_message(format!("{experiment}: {what}"));
            if early.is_stopped() {
                Err(CompareError::Stopped)
            } else {
                Ok(())
            }
        };
        let report = progress(0.0, "").and_then(|()| experiment.run(plan, &mut progress));
        let report = match report {
            Err(CompareError::Stopped) => break,
            report => report.map_err(|error| match error {
                CompareError::Workload(error) => BadInput(format!("{experiment}: {error}")).into(),
                error => anyhow::Error::from(error).context(experiment),
            }),
        };
        reports.push((experiment, report.inspect_err(|_| bar.finish_and_clear())?));
    }
    bar.finish_and_clear();
    Ok(reports)
}

fn text(reports: &[(Experiment, Report)], form: impl Fn(&Table) -> String) -> String {
    let tables = reports
        .iter()
        .flat_map(|(_, report)| &report.summary)
        .map(form);
    tables.collect::<Vec<_>>().join("\n")
}

fn write_folder(folder: &Path, reports: &[(Experiment, Report)]) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(
        folder.join("report.txt"),
        text(reports, |table| table.text(usize::MAX)),
    )?;
    for (_, report) in reports {
        for table in &report.data {
            fs::write(folder.join(format!("{}.csv", table.name)), table.csv())?;
        }
        for (name, figure) in &report.figures {
            figure.write(folder, &format!("figure-{name}"))?;
        }
    }
    Ok(())
}
