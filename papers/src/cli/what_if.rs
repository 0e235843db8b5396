//! Assumptions about the card, one by one: what the paper's rule and domains predict under each.

use dpamatch_papers::ASSUMPTIONS;
use dpamatch_predict::{Domains, Setup, predict};
use dpamatch_tools::table::{Cell, Table};

use dpamatch_tools::cli::interrupt::Early;
use dpamatch_tools::cli::predict::recorded::RecordedArgs;
use dpamatch_tools::cli::predict::{Common, Counts, Like, Workload, numbers, options, wrong};
use dpamatch_tools::cli::progress::bar;

/// Unmeasured assumptions about the card, one by one, and the range of the predictions
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: Common,
    /// Numbers of handlers
    #[arg(long, value_name = "N,N-M..", value_delimiter = ',', default_value = "8,32,190", value_parser = clap::value_parser!(Counts))]
    handlers: Vec<Counts>,
    /// Scenarios: nc, wc-fp, wc-sp, mixed:P, senders:P[+PART..]
    #[arg(long, value_name = "NAME,NAME..", value_delimiter = ',', default_value = "nc,mixed:5,mixed:25,wc-fp", conflicts_with = "trace", value_parser = clap::value_parser!(String))]
    scenario: Vec<String>,
    #[command(flatten)]
    recorded: RecordedArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let common = &args.common;
    let workloads: Vec<Workload> = match args.recorded.load(common)? {
        Some(recorded) => vec![recorded],
        None => {
            let parse = |name: &String| Workload::parse(name, common.seed, 8);
            args.scenario.iter().map(parse).collect::<Result<_, _>>()?
        }
    };
    let base = common.common_setup(Like::Nic, &workloads)?;
    let given = options(&Setup {
        domains: Domains::Paper,
        ..base
    });
    let title = format!(
        "Assumptions about the card, one by one: {given}, with the paper's rule and with domains, \
         in M messages/s of virtual time."
    );
    let mut columns = vec!["assumption".to_owned(), "handlers".to_owned()];
    for Workload { name, .. } in &workloads {
        columns.extend([format!("{name} paper"), format!("{name} keyed")]);
    }
    let mut table = Table::new("what_if", title, columns).keyed(2);
    let bar = bar(
        ASSUMPTIONS.len() * numbers(&args.handlers).count(),
        "predictions",
    );
    let early = Early::catch()?;
    // By number of handlers and workload: the rates with the paper's rule and with domains.
    let mut all = Vec::new();
    for handlers in numbers(&args.handlers).take_while(|_| !early.is_stopped()) {
        let mut pairs = vec![Vec::new(); workloads.len()];
        for (name, change) in ASSUMPTIONS {
            let mut row: Vec<Cell> = vec![(*name).into(), handlers.into()];
            for (workload, pairs) in workloads.iter().zip(&mut pairs) {
                let rate = |domains| {
                    let mut setup = workload.setup(common, Like::Nic, handlers)?;
                    setup.domains = domains;
                    change(&mut setup);
                    anyhow::Ok(predict(&setup, &workload.offer, 0).map_err(wrong)?.rate)
                };
                let pair = [rate(Domains::Paper)?, rate(Domains::Keyed)?];
                row.extend(pair.map(Cell::from));
                pairs.push(pair);
            }
            table.push(row);
            bar.inc(1);
        }
        all.push((handlers, pairs));
    }
    early.mark_by(&bar, &mut table)?;
    common.show(&[table, ranges(&workloads, &all)])
}

type Pairs = Vec<Vec<[f64; 2]>>;

/// What of the rates and of their quotient stands under every assumption.
fn ranges(workloads: &[Workload], all: &[(usize, Pairs)]) -> Table {
    let title = "Least, given and highest rate over these assumptions, with the paper's rule and \
                 with domains, and the least and highest quotient of the two.";
    let columns = "handlers, workload, paper min, paper, paper max, keyed min, keyed, keyed max, \
        gain min, gain max"
        .split(", ");
    let mut table = Table::new("range", title, columns).keyed(2);
    for (handlers, pairs) in all {
        for (workload, pairs) in workloads.iter().zip(pairs) {
            let least =
                |value: fn(&[f64; 2]) -> f64| pairs.iter().map(value).fold(f64::INFINITY, f64::min);
            let most = |value: fn(&[f64; 2]) -> f64| {
                pairs.iter().map(value).fold(f64::NEG_INFINITY, f64::max)
            };
            let [given_paper, given_keyed] = pairs[0];
            table.push([
                (*handlers).into(),
                workload.name.as_str().into(),
                least(|pair| pair[0]).into(),
                given_paper.into(),
                most(|pair| pair[0]).into(),
                least(|pair| pair[1]).into(),
                given_keyed.into(),
                most(|pair| pair[1]).into(),
                least(|pair| pair[1] / pair[0]).into(),
                most(|pair| pair[1] / pair[0]).into(),
            ]);
        }
    }
    table
}
