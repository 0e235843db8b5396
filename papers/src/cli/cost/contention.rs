use std::path::Path;

use dpamatch_papers::cost::contention::{Torus, contention_s, line_test, link_bytes};
use dpamatch_papers::cost::transfer::node_aware_s;
use dpamatch_papers::cost::{Distance, Layout, Profile};
use dpamatch_tools::counted;
use dpamatch_tools::figure::{Axis, Figure, Lines, Series};

use super::{folder, us};
use dpamatch_tools::cli::BadInput;
use dpamatch_tools::table::Table;

/// The contention test: a line of routers whose middle link carries everything.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../help/cost-contention.txt").trim_end())]
pub(super) struct Args {
    /// Routers in the line
    #[arg(long, value_name = "ROUTERS", default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=1024))]
    routers: u32,
    /// Bytes of each message
    #[arg(long = "bytes", value_name = "BYTES,..", value_delimiter = ',', default_value = "1024,16384,262144,1048576",
          value_parser = clap::value_parser!(u64).range(1..=BYTES_MAX))]
    sizes: Vec<u64>,
    /// Sending processes per node
    #[arg(long, value_name = "P,..", value_delimiter = ',', default_value = "1,2,4,8,16",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    senders: Vec<u32>,
}

const BYTES_MAX: u64 = 1 << 40;
/// Maximum of processes times routers.
const LINKS_MAX: u64 = 1 << 26;

/// The model walks every message's path, and every process needs a rank.
fn check(args: &Args, layout: &Layout) -> Result<(), BadInput> {
    let nodes = u64::from(args.routers) * u64::from(layout.nodes_per_router);
    let links = nodes
        .saturating_mul(u64::from(layout.processes_per_node))
        .saturating_mul(args.routers.into());
    if links > LINKS_MAX {
        let what = format!(
            "{} of {} of {} are too many: processes * routers must be at most {LINKS_MAX}",
            counted(args.routers, "router"),
            counted(layout.nodes_per_router, "node"),
            counted(layout.processes_per_node, "process")
        );
        return Err(BadInput(what));
    }
    Ok(())
}

pub(super) fn run(
    args: &Args,
    profile: &Profile,
    out: Option<&Path>,
) -> anyhow::Result<Vec<Table>> {
    let layout = &profile.layout;
    check(args, layout)?;
    let delta = profile.contention.delta_s_per_byte;
    let torus = Torus::line(args.routers, layout);
    let title = format!(
        "{} in a line, {} each, {}: every process of the first half sends one message half a line further.",
        counted(args.routers, "router"),
        counted(layout.nodes_per_router, "node"),
        profile.name
    );
    let mut table = Table::open("line", title)
        .keyed(2)
        .extra(["cube_contention_us", "cube_link_bytes"]);
    let mut figure = {
        let routers = counted(args.routers, "router");
        Figure::new(format!(
            "Contention on a line of {routers}, {}",
            profile.name
        ))
    };
    let mut all_senders: Vec<u32> = args
        .senders
        .iter()
        .map(|&p| p.min(layout.processes_per_node))
        .collect();
    all_senders.dedup();
    for senders in all_senders {
        let (mut moving, mut total) = (Vec::new(), Vec::new());
        for &bytes in &args.sizes {
            let messages = line_test(args.routers, senders, bytes, layout);
            let load = torus
                .loads(layout, &messages)
                .into_values()
                .max()
                .unwrap_or(0);
            let hops = f64::from(args.routers / 2);
            let cube = link_bytes(hops, bytes as f64, senders);
            let alone_s = node_aware_s(profile, Distance::Network, bytes, senders);
            let waiting_s = contention_s(delta, load as f64);
            moving.push((bytes as f64, us(alone_s)));
            total.push((bytes as f64, us(alone_s + waiting_s)));
            table.row([
                ("bytes", bytes.into()),
                ("senders_per_node", senders.into()),
                ("moving_us", us(alone_s).into()),
                ("busiest_link_bytes", load.into()),
                ("contention_us", us(waiting_s).into()),
                ("total_us", us(alone_s + waiting_s).into()),
                (
                    "contention_share",
                    (waiting_s / (alone_s + waiting_s)).into(),
                ),
                ("cube_link_bytes", cube.into()),
                ("cube_contention_us", us(contention_s(delta, cube)).into()),
            ]);
        }
        let axes = (
            Axis::powers("bytes of a message"),
            Axis::log("microseconds"),
        );
        let panel = Lines::new(
            format!("{} on each node", counted(senders, "sender")),
            axes.0,
            axes.1,
        )
        .with(Series::line("moving and contention", total))
        .with(Series::limit("moving alone", moving));
        figure = figure.with(panel);
    }
    if let Some(path) = out {
        folder(path)?;
        figure.write(path, "contention-line")?;
    }
    Ok(vec![table])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The model walks up to 2^26 paths.
    #[test]
    fn paths_have_a_bound() {
        // One router has `nodes` nodes, and each node has `processes` processes.
        for (nodes, processes, fits) in
            [(8191, 8193, true), (8192, 8192, true), (8065, 8321, false)]
        {
            let args = Args {
                routers: 1,
                sizes: Vec::new(),
                senders: Vec::new(),
            };
            let layout = Layout {
                processes_per_node: processes,
                sockets_per_node: 1,
                nodes_per_router: nodes,
            };
            let said = check(&args, &layout).map_err(|BadInput(what)| what);
            match fits {
                true => assert_eq!(said, Ok(())),
                false => assert_eq!(
                    said.as_ref().map_err(|what| what.rsplit(": ").next()),
                    Err(Some("processes * routers must be at most 67108864"))
                ),
            }
        }
    }
}
