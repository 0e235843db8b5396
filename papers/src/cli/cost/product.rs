//! `dpamatch-papers cost spmv`, and parts shared with `dpamatch-papers cost hierarchy`.

use std::path::{Path, PathBuf};

use dpamatch::engine::BinCount;
use dpamatch::registry::EngineOptions;
use dpamatch_papers::cost::matrix_market::read;
use dpamatch_papers::cost::sparse::Pattern;
use dpamatch_papers::cost::spmv::{Partition, Product, messages};
use dpamatch_papers::cost::steps::steps_by_rank;
use dpamatch_papers::cost::{PhaseCost, Profile, QueueTerm, Split};
use dpamatch_tools::counted;
use dpamatch_tools::figure::{Axis, Bars, Figure};

use super::{PostingArg, bad_line, file_or_stdin, folder, not_counted, us};
use dpamatch_tools::cli::BadInput;
use dpamatch_tools::cli::engines;
use dpamatch_tools::cli::input::choice;
use dpamatch_tools::table::{Cell, Table};

/// Cost of a product with a sparse matrix from a Matrix Market file.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../help/cost-product.txt").trim_end())]
pub(super) struct Args {
    /// The matrix (Matrix Market, coordinate format); - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    spread: Spread,
}

/// Distribution of a product, and engines that count its steps.
#[derive(Debug, clap::Args)]
pub(super) struct Spread {
    /// Processes that share the rows
    #[arg(long, value_name = "P", default_value_t = 2048, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(super) ranks: u32,
    /// The product
    #[arg(long, value_parser = choice::<Product>(), value_name = "WHAT,..", value_delimiter = ',', default_value = "vector,matrix")]
    pub(super) product: Vec<Product>,
    /// Engines that count the steps
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', default_value = "list,bins", value_parser = engines::any(&["all"]))]
    engine: Vec<String>,
    /// Order in which a process posts its receives
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = PostingArg::Random)]
    order: PostingArg,
    /// Bins of each hash table of an engine, 1 to 65536
    #[arg(long, value_name = "B", default_value_t = BinCount::default())]
    bins: BinCount,
    /// Seed of random orders
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

/// The cost of a product, by each way of counting the search.
#[derive(Debug)]
pub(super) struct ProductCost {
    label: String,
    rows: u32,
    entries: usize,
    messages: usize,
    cost: PhaseCost,
    /// By gamma n^2, gamma n^2 / 3, and the steps of each engine.
    splits: Vec<(String, Split)>,
    /// Maximum steps of a process over n^2, by engine.
    shares: Vec<f64>,
}

impl Spread {
    pub(super) fn cost(
        &self,
        profile: &Profile,
        label: &str,
        pattern: &Pattern,
        partition: &Partition,
        product: Product,
    ) -> anyhow::Result<ProductCost> {
        let messages = messages(pattern, partition, product);
        let options = EngineOptions {
            bins: self.bins,
            threads: false,
            ..EngineOptions::default()
        };
        let bound = PhaseCost::new(profile, partition.processes(), &messages, None, None);
        let mut splits = vec![
            ("bound".to_owned(), bound.split(QueueTerm::Bound)),
            ("third".to_owned(), bound.split(QueueTerm::Third)),
        ];
        let mut shares = Vec::new();
        for entry in engines::chosen(&self.engine) {
            let steps = steps_by_rank(entry, &options, &messages, self.order.with_seed(self.seed))
                .map_err(not_counted)?;
            let cost = PhaseCost::new(
                profile,
                partition.processes(),
                &messages,
                None,
                Some(&steps),
            );
            splits.push((entry.name.to_owned(), cost.split(QueueTerm::Steps)));
            let most = steps.values().copied().max().unwrap_or(0) as f64;
            shares.push(most / (cost.received_max() as f64).powi(2).max(1.0));
        }
        Ok(ProductCost {
            label: label.to_owned(),
            rows: pattern.rows,
            entries: pattern.entries().len(),
            messages: messages.len(),
            cost: bound,
            splits,
            shares,
        })
    }
}

pub(super) fn costs_table(name: &str, title: String, costs: &[ProductCost]) -> Table {
    let engines: Vec<&str> = costs.first().map_or(Vec::new(), |cost| {
        cost.splits
            .iter()
            .skip(2)
            .map(|(name, _)| name.as_str())
            .collect()
    });
    let columns = "label rows entries_per_row messages n_max moving_us contention_us bound_us \
        third_us"
        .split(' ');
    let mut columns: Vec<String> = columns.map(str::to_owned).collect();
    columns.extend(engines.iter().map(|name| format!("{name}_us")));
    columns.extend(engines.iter().map(|name| format!("{name}_steps/n2")));
    columns.extend(["total_bound_us".to_owned(), "queue_share".to_owned()]);
    let shares: Vec<String> = engines
        .iter()
        .map(|name| format!("{name}_steps/n2"))
        .collect();
    let extra = shares.iter().rev().map(String::as_str);
    let extra = extra.chain(["entries_per_row", "third_us", "bound_us", "rows"]);
    let mut table = Table::new(name, title, columns).extra(extra);
    for cost in costs {
        let bound = &cost.splits[0].1;
        let mut row: Vec<Cell> = vec![
            cost.label.as_str().into(),
            cost.rows.into(),
            (cost.entries as f64 / f64::from(cost.rows.max(1))).into(),
            cost.messages.into(),
            cost.cost.received_max().into(),
            us(bound.transfer_s).into(),
            us(bound.contention_s).into(),
        ];
        row.extend(
            cost.splits
                .iter()
                .map(|(_, split)| Cell::from(us(split.queue_s))),
        );
        row.extend(cost.shares.iter().map(|&share| Cell::from(share)));
        row.push(us(bound.total_s()).into());
        row.push((bound.queue_s / bound.total_s().max(f64::MIN_POSITIVE)).into());
        table.push(row);
    }
    table
}

/// Stacked costs of the slowest process: a panel for each way of counting except a third of the
/// bound.
pub(super) fn panels(costs: &[ProductCost], of: &str, x_title: &str) -> Vec<Bars> {
    let ways: Vec<&str> = costs.first().map_or(Vec::new(), |cost| {
        cost.splits.iter().map(|(name, _)| name.as_str()).collect()
    });
    let panel = |(way, name): (usize, &&str)| {
        let title = match *name {
            "bound" => format!("{of}: queue search by gamma n^2"),
            name => format!("{of}: by the steps of {name}"),
        };
        let labels = costs.iter().map(|cost| cost.label.as_str());
        let parts = |part: fn(&Split) -> f64| {
            costs
                .iter()
                .map(move |cost| us(part(&cost.splits[way].1)))
                .collect::<Vec<_>>()
        };
        Bars::new(title, x_title, Axis::linear("microseconds"), labels)
            .stacked()
            .with("moving", parts(|split| split.transfer_s))
            .with("queue search", parts(|split| split.queue_s))
            .with("contention", parts(|split| split.contention_s))
    };
    ways.iter()
        .enumerate()
        .filter(|(_, name)| **name != "third")
        .map(panel)
        .collect()
}

pub(super) fn run(
    args: &Args,
    profile: &Profile,
    out: Option<&Path>,
) -> anyhow::Result<Vec<Table>> {
    let spread = &args.spread;
    let (name, input) = file_or_stdin(&args.file)?;
    let pattern = read(input).map_err(|error| bad_line(&name, &error))?;
    if pattern.rows != pattern.columns {
        let text = format!(
            "{name}: {} and {}; a square matrix is needed",
            counted(pattern.rows, "row"),
            counted(pattern.columns, "column")
        );
        return Err(BadInput(text).into());
    }
    let partition = Partition::even(pattern.rows, spread.ranks);
    let cost =
        |&product: &Product| spread.cost(profile, product.name(), &pattern, &partition, product);
    let costs = spread
        .product
        .iter()
        .map(cost)
        .collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(path) = out {
        folder(path)?;
        let figure = panels(&costs, "product with", "what")
            .into_iter()
            .fold(Figure::new(&name), Figure::with);
        figure.write(path, "spmv")?;
    }
    let title = format!(
        "{name} on {}, {}, {} a node; microseconds of the slowest process.",
        profile.name,
        counted(spread.ranks, "process"),
        profile.layout.processes_per_node
    );
    Ok(vec![costs_table("spmv_cost", title, &costs)])
}
