//! What conflict domains bring to recorded programs.

use std::path::PathBuf;

use dpamatch_explore::Shard;
use dpamatch_predict::{Domains, Part, Picos, Setup, predict};
use dpamatch_tools::counted;
use dpamatch_tools::table::Table;

use super::super::interrupt::Early;
use super::super::progress::bar;
use super::recorded::{PostArgs, all_ranks};
use super::{Common, Like, Workload, options, wrong};

#[derive(Debug, clap::Args)]
pub(super) struct DomainsArgs {
    /// Number of handlers
    #[arg(long, value_name = "N", default_value_t = 32)]
    handlers: usize,
    /// Only this part of the traces, of N; `dpamatch merge` puts the parts together
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    #[command(flatten)]
    posts: PostArgs,
    /// Traces of MPI calls, as for `dpamatch analyze`; every rank is run
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
}

/// The ranks of a trace, run one after the other.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    pub messages: u64,
    blocks: u64,
    time: Picos,
    waited: Picos,
    pub slow: u64,
    in_domain: u64,
    first_of_domain: u64,
}

/// A recorded program with the paper's rule and with domains.
#[derive(Clone, Debug)]
pub struct Program {
    pub name: String,
    pub ranks: usize,
    pub paper: Sum,
    pub keyed: Sum,
    /// The least and the highest gain of a rank, in per cent.
    pub of_ranks: (f64, f64),
}

impl Program {
    pub fn gain_percent(&self) -> f64 {
        (self.keyed.rate() / self.paper.rate() - 1.0) * 100.0
    }

    /// Messages of a block.
    pub fn per_block(&self) -> f64 {
        self.paper.messages as f64 / self.paper.blocks.max(1) as f64
    }

    /// Share of handlers with a candidate that are the first of their domain, in per cent.
    pub fn first_percent(&self) -> f64 {
        100.0 * self.keyed.first_of_domain as f64 / self.keyed.in_domain.max(1) as f64
    }
}

impl Sum {
    fn add(&mut self, part: &Part) {
        self.messages += part.messages;
        self.blocks += part.count("blocks");
        self.time += part.time;
        self.waited += part.waited();
        self.slow += part.count("slow");
        for eu in &part.outcome.eus {
            self.in_domain += eu.in_domain;
            self.first_of_domain += eu.first_of_domain;
        }
    }

    pub fn rate(&self) -> f64 {
        self.messages as f64 * 1e6 / self.time.max(1) as f64
    }

    /// Nanoseconds that a message's handler waited for others, on average.
    pub fn waited_ns(&self) -> f64 {
        self.waited as f64 / 1e3 / self.messages.max(1) as f64
    }
}

pub(super) fn run(args: &DomainsArgs, common: &Common) -> anyhow::Result<()> {
    let columns = "trace, ranks, messages, per block, first %, rate paper, rate keyed, gain %, \
        waits paper, waits keyed, least gain %, most gain %, slow paper, slow keyed"
        .split(", ");
    let mut table = Table::new("domains", "", columns).keyed(1).named(&[
        ("first %", "first_of_domain_percent"),
        ("waits paper", "waits_paper_ns"),
        ("waits keyed", "waits_keyed_ns"),
        ("rate paper", "rate_paper_msgs_per_us"),
        ("rate keyed", "rate_keyed_msgs_per_us"),
    ]);
    let early = Early::catch()?;
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let traces = (0..).zip(&args.traces).filter(|&(at, _)| shard.has(at));
    for (_, path) in traces.take_while(|_| !early.is_stopped()) {
        let (name, workloads) = all_ranks(path, args.posts, common)?;
        let setup = common.common_setup(Like::Nic, &workloads)?;
        table.title = format!(
            "Conflict domains in recorded programs, {}, {}: all ranks, as fast as the \
             wire brings the messages. Waits are nanoseconds a message for other handlers of its \
             block, rates are M messages/s of virtual time.",
            counted(args.handlers, "handler"),
            options(&Setup {
                domains: Domains::Paper,
                ..setup
            })
        );
        let bar = bar(workloads.len(), "ranks");
        let more = || {
            bar.inc(1);
            !early.is_stopped()
        };
        let program = program(name, &workloads, args.handlers, common, false, more)?;
        early.mark_by(&bar, &mut table)?;
        let Program {
            name,
            ranks,
            paper,
            keyed,
            of_ranks,
        } = &program;
        table.push([
            name.as_str().into(),
            (*ranks).into(),
            paper.messages.into(),
            program.per_block().into(),
            program.first_percent().into(),
            paper.rate().into(),
            keyed.rate().into(),
            program.gain_percent().into(),
            paper.waited_ns().into(),
            keyed.waited_ns().into(),
            of_ranks.0.into(),
            of_ranks.1.into(),
            paper.slow.into(),
            keyed.slow.into(),
        ]);
    }
    common.show(&[table])
}

/// Runs all ranks of a program with the paper's rule and with domains, as long as `more` says.
/// `paper_books`: with the paper's rule every handler books, also where nobody reads bookings.
///
/// # Errors
/// The card cannot be simulated.
pub fn program(
    name: String,
    workloads: &[Workload],
    handlers: usize,
    common: &Common,
    paper_books: bool,
    mut more: impl FnMut() -> bool,
) -> anyhow::Result<Program> {
    let mut sums = [Sum::default(), Sum::default()];
    let mut of_ranks = (f64::INFINITY, f64::NEG_INFINITY);
    for workload in workloads {
        let rates = both(workload, handlers, common, paper_books, &mut sums)?;
        let gain = (rates[1] / rates[0] - 1.0) * 100.0;
        of_ranks = (of_ranks.0.min(gain), of_ranks.1.max(gain));
        if !more() {
            break;
        }
    }
    let [paper, keyed] = sums;
    Ok(Program {
        name,
        ranks: workloads.len(),
        paper,
        keyed,
        of_ranks,
    })
}

/// Runs a rank with the paper's rule and with domains, and gives both rates.
fn both(
    workload: &Workload,
    handlers: usize,
    common: &Common,
    paper_books: bool,
    sums: &mut [Sum; 2],
) -> anyhow::Result<[f64; 2]> {
    let mut rates = [0.0; 2];
    for (which, domains) in [Domains::Paper, Domains::Keyed].into_iter().enumerate() {
        let setup = workload.setup(common, Like::Nic, handlers)?;
        let setup = Setup {
            domains,
            always_book: setup.always_book || paper_books && domains == Domains::Paper,
            ..setup
        };
        let prediction = predict(&setup, &workload.offer, 0).map_err(wrong)?;
        rates[which] = prediction.rate;
        sums[which].add(&prediction.part);
    }
    Ok(rates)
}
