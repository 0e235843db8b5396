use std::io::{Write, stderr};
use std::path::PathBuf;

use dpamatch::engine::BinCount;
use dpamatch_papers::cost::from_trace;
use dpamatch_papers::cost::steps::steps_by_rank;
use dpamatch_papers::cost::{
    Distance, MessageList, PhaseCost, Profile, Protocol, QueueTerm, RankCost, Split, by_place,
};
use dpamatch_tools::counted;
use dpamatch_traces::OpenOptions;

use super::{PostingArg, bad_line, file_or_stdin, not_counted, us};
use dpamatch_tools::cli::BadInput;
use dpamatch_tools::cli::engines;
use dpamatch_tools::cli::input::{choice, default};
use dpamatch_tools::cli::nic_args::NicArgs;
use dpamatch_tools::cli::trace::{CollectivesArgs, bad_input, open};
use dpamatch_tools::table::{Cell, Table};

/// Cost of a list of messages, per phase and rank.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../help/cost-messages.txt").trim_end(), mut_arg("collectives", |it| it.requires("trace")))]
pub(super) struct Args {
    /// The messages (CSV); - for standard input. With --trace a folder, archive or file of recorded
    /// MPI calls
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// FILE is a trace
    #[arg(long)]
    trace: bool,
    /// Engine that counts the steps
    #[arg(long, value_name = "NAME", default_value = "list", value_parser = engines::any(&[]))]
    engine: String,
    /// Order in which a rank posts its receives [default: random, or given for a trace]
    #[arg(long, value_enum, value_name = "ORDER")]
    order: Option<PostingArg>,
    /// Term of queue search that is part of the total
    #[arg(long, value_parser = choice::<QueueTerm>(), value_name = "TERM", default_value = default::<QueueTerm>())]
    queue: QueueTerm,
    /// The total of a phase
    #[arg(long, value_enum, value_name = "OF", default_value_t = TotalArg::Slowest)]
    total: TotalArg,
    /// Mean links on a byte's path [default: computed for the smallest torus that holds the job]
    #[arg(long, value_name = "H")]
    hops: Option<f64>,
    /// Adds a table with a row for each of these
    #[arg(long, value_enum, value_name = "WHAT")]
    per: Option<Per>,
    /// Seed of random orders
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Bins of each hash table of the engine, 1 to 65536
    #[arg(long, value_name = "B", default_value_t = BinCount::default())]
    bins: BinCount,
    #[command(flatten)]
    collectives: CollectivesArgs,
    #[command(flatten)]
    nic: NicArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Per {
    /// Every rank
    Rank,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum TotalArg {
    /// The slowest rank's own sum
    Slowest,
    /// The slowest sender plus the longest search, as the paper adds
    Sum,
}

impl Args {
    fn list(&self) -> anyhow::Result<(String, MessageList)> {
        if !self.trace {
            let (name, input) = file_or_stdin(&self.file)?;
            let list = MessageList::read_csv(input).map_err(|error| bad_line(&name, &error))?;
            return Ok((name, list));
        }
        let trace = open(&self.file, OpenOptions::default())?;
        let found = from_trace::read(&*trace, self.collectives.collectives);
        let found = found.map_err(|error| bad_input(error, false))?;
        let notes = [
            (
                found.left_out.unknown_bytes,
                "messages of unknown size are left out",
            ),
            (
                found.left_out.to_no_rank,
                "messages to ranks outside their communicator are left out",
            ),
            (
                found.assumed_ranks,
                "messages use communicators with unknown ranks; their parents' ranks are assumed",
            ),
        ];
        for (count, what) in notes.iter().filter(|(count, _)| *count > 0) {
            writeln!(stderr(), "dpamatch-papers: {count} {what}")?;
        }
        Ok((self.file.display().to_string(), found.list))
    }
}

pub(super) fn run(args: &Args, profile: &Profile) -> anyhow::Result<Vec<Table>> {
    if let Some(hops) = args.hops.filter(|hops| !(hops.is_finite() && *hops >= 0.0)) {
        return Err(BadInput(format!("--hops is {hops}, must be finite and not negative")).into());
    }
    let entry = engines::one(&args.engine)?;
    let (name, list) = args.list()?;
    let options = args.nic.options(args.bins);
    let posting = args.order.unwrap_or(if args.trace {
        PostingArg::Given
    } else {
        PostingArg::Random
    });
    let posting = posting.with_seed(args.seed);
    let title = format!(
        "{name} on {}: {}, {} a node; microseconds of the slowest rank, steps by {} posted in {} order.",
        profile.name,
        counted(list.ranks, "rank"),
        profile.layout.processes_per_node,
        entry.name,
        posting.name(),
    );
    let mut phases: Vec<PhaseRow> = Vec::new();
    let mut places = Table::new(
        "places",
        "Destinations of the messages.",
        ["phase", "place", "protocol", "messages", "bytes"],
    )
    .keyed(3);
    let mut sum = Split::default();
    let mut all = 0;
    for phase in &list.phases {
        let steps =
            steps_by_rank(entry, &options, &phase.messages, posting).map_err(not_counted)?;
        let cost = PhaseCost::new(
            profile,
            list.ranks,
            &phase.messages,
            args.hops,
            Some(&steps),
        );
        let total = match args.total {
            TotalArg::Slowest => cost.split(args.queue),
            TotalArg::Sum => cost.sum(args.queue),
        };
        sum.then(&total);
        all += phase.messages.len();
        phases.push((phase.name.clone(), phase.messages.len(), cost, total));
        let table = by_place(profile, &phase.messages);
        for place in Distance::ALL {
            for protocol in Protocol::ALL {
                let (messages, bytes) = table[place as usize][protocol as usize];
                if messages > 0 {
                    let names =
                        [phase.name.as_str(), place.name(), protocol.name()].map(Cell::from);
                    places.push(names.into_iter().chain([messages.into(), bytes.into()]));
                }
            }
        }
    }
    let columns = [
        "phases",
        "messages",
        "moving_us",
        "searching_us",
        "contention_us",
        "total_us",
    ];
    let mut application =
        Table::new("application", "All phases, one after the other.", columns).keyed(0);
    let parts =
        [sum.transfer_s, sum.queue_s, sum.contention_s, sum.total_s()].map(|s| Cell::from(us(s)));
    application.push(
        [list.phases.len().into(), all.into()]
            .into_iter()
            .chain(parts),
    );
    let mut tables = vec![phases_table(title, &phases), places];
    tables.extend(args.per.map(|Per::Rank| ranks_table(&phases)));
    tables.push(application);
    Ok(tables)
}

/// Columns of phases that a narrow table omits, in this order.
const PHASE_EXTRA: [&str; 7] = [
    "link_bytes",
    "hops",
    "third_us",
    "bound_us",
    "slowest",
    "max_rate_us",
    "postal_us",
];

/// A phase: name, messages, cost, and the parts of its total.
type PhaseRow = (String, usize, PhaseCost, Split);

fn phases_table(title: String, phases: &[PhaseRow]) -> Table {
    fn most(cost: &PhaseCost, value: fn(&RankCost) -> f64) -> Cell {
        us(cost.max_s(value)).into()
    }
    let table = Table::with_rows("phases", title, phases).columns(&[
        ("phase", |it| it.0.as_str().into()),
        ("ranks", |it| it.2.ranks.len().into()),
        ("messages", |it| it.1.into()),
        ("bytes", |it| {
            it.2.ranks
                .iter()
                .map(|rank| rank.sent_bytes)
                .fold(0, u64::saturating_add)
                .into()
        }),
        ("n_max", |it| it.2.received_max().into()),
        ("postal_us", |it| most(&it.2, |rank| rank.postal_s)),
        ("max_rate_us", |it| most(&it.2, |rank| rank.max_rate_s)),
        ("node_aware_us", |it| most(&it.2, |rank| rank.transfer_s)),
        ("bound_us", |it| most(&it.2, |rank| rank.queue_bound_s)),
        ("third_us", |it| most(&it.2, |rank| rank.queue_third_s)),
        ("steps_us", |it| {
            most(&it.2, |rank| rank.queue_steps_s.unwrap_or(0.0))
        }),
        ("hops", |it| it.2.hops.into()),
        ("link_bytes", |it| it.2.link_bytes.into()),
        ("contention_us", |it| us(it.2.contention_s).into()),
        ("slowest", |it| it.3.rank.into()),
        ("total_us", |it| us(it.3.total_s()).into()),
    ]);
    table.extra(PHASE_EXTRA)
}

fn ranks_table(phases: &[PhaseRow]) -> Table {
    let ranks = phases
        .iter()
        .flat_map(|it| it.2.ranks.iter().map(move |rank| (&it.0, rank)));
    let table = Table::with_rows("ranks", "Every rank; microseconds.", ranks).columns(&[
        ("phase", |(phase, _)| phase.as_str().into()),
        ("rank", |(_, it)| it.rank.into()),
        ("sent", |(_, it)| it.sent.into()),
        ("sent_bytes", |(_, it)| it.sent_bytes.into()),
        ("received", |(_, it)| it.received.into()),
        ("postal_us", |(_, it)| us(it.postal_s).into()),
        ("max_rate_us", |(_, it)| us(it.max_rate_s).into()),
        ("node_aware_us", |(_, it)| us(it.transfer_s).into()),
        ("bound_us", |(_, it)| us(it.queue_bound_s).into()),
        ("third_us", |(_, it)| us(it.queue_third_s).into()),
        ("steps", |(_, it)| it.steps.into()),
        ("steps_us", |(_, it)| it.queue_steps_s.map(us).into()),
    ]);
    table.keyed(2)
}
