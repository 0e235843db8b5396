use std::path::Path;

use dpamatch_papers::cost::Profile;
use dpamatch_papers::cost::multigrid::{EDGE_MAX, poisson};
use dpamatch_tools::counted;
use dpamatch_tools::figure::Figure;

use super::folder;
use super::product::{Spread, costs_table, panels};
use dpamatch_tools::cli::progress::bar;
use dpamatch_tools::table::Table;

/// Cost of products on the levels of a multigrid hierarchy of the 3-D Poisson problem.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../help/cost-hierarchy.txt").trim_end())]
pub(super) struct Args {
    /// Cells along each edge of the cube
    #[arg(long, value_name = "CELLS", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=i64::from(EDGE_MAX)))]
    edge: u32,
    /// Most rows of the coarsest level
    #[arg(long, value_name = "ROWS", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    coarsest: u32,
    #[command(flatten)]
    spread: Spread,
}

pub(super) fn run(
    args: &Args,
    profile: &Profile,
    out: Option<&Path>,
) -> anyhow::Result<Vec<Table>> {
    let spread = &args.spread;
    let levels = poisson([args.edge; 3], spread.ranks, args.coarsest as usize);
    let bar = bar(levels.len() * spread.product.len(), "products");
    let patterns: Vec<_> = levels.iter().map(|level| level.matrix.pattern()).collect();
    let mut tables = Vec::new();
    let heading = format!(
        "Cost of products on {}^3 cells, {}",
        args.edge,
        counted(spread.ranks, "process")
    );
    let mut figure = Figure::new(heading);
    for &product in &spread.product {
        let mut costs = Vec::new();
        for (number, (level, pattern)) in levels.iter().zip(&patterns).enumerate() {
            costs.push(spread.cost(
                profile,
                &number.to_string(),
                pattern,
                &level.partition,
                product,
            )?);
            bar.inc(1);
        }
        let title = format!(
            "Matrix times {} on the levels of {}^3 cells, {}, {} a node, {}; microseconds of the slowest process.",
            product.name(),
            args.edge,
            counted(spread.ranks, "process"),
            profile.layout.processes_per_node,
            profile.name
        );
        tables.push(costs_table(
            &format!("hierarchy_{}", product.name()),
            title,
            &costs,
        ));
        let of = format!("matrix times {}", product.name());
        figure = panels(&costs, &of, "level")
            .into_iter()
            .fold(figure, Figure::with);
    }
    bar.finish_and_clear();
    if let Some(path) = out {
        folder(path)?;
        figure.write(path, "hierarchy")?;
    }
    Ok(tables)
}
