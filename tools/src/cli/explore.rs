//! `dpamatch explore`.

use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use clap::ValueEnum;
use dpamatch::engine::Oracle;
use dpamatch::stream::{Event, Outcome, ReadError, Reader, StreamMatcher};
use dpamatch_explore::{
    Ending, FastPath, Report, Setup, Violation, break_rule, explore, faults, tell,
};

use dpamatch_vocabulary::Operation;

use super::{BadInput, output};

const EXAMPLES: &str = "\
The handlers are the NIC's real ones, each on a worker of its own; a seeded scheduler decides at every access to shared state who
moves next. Each schedule's result is compared with the oracle's. Seed S is schedule S: it can be shown again.

A path is what each handler did: clean (took its first choice), fast (its number further in the sequence), slow (waited and searched
again), -none (its message is unexpected).

Rules taken out with --fault break a result here if they are about search, barrier, conflicts, fast or slow path and the stream lets them
matter: try x1 to x5. Memory orderings (names that end in -relaxed) never do, since here all accesses have one order; rules of queues and
fallback seldom do, since the stream's order is fixed. Those are for the models, see loom_tests/README.md.

Exit code: 0 if every schedule gave the oracle's result, 3 if one did not, 2 if the input is wrong.

Examples:
  dpamatch explore --example x5                      many schedules of the example x5: which paths occur
  dpamatch explore --example x5 --story 7            schedule 7, step by step
  dpamatch explore --example x5 --fault forcing-ignored   the first schedule that goes wrong without the forcing rule
  dpamatch explore --fault list                      the rules, each with what is then broken
  dpamatch explore --handlers 4 events.txt           a stream of your own: lines post,ID,COMM,SOURCE,TAG (* is a wildcard),
                                                     arrive,ID,COMM,SOURCE,TAG and cancel,ID
  printf 'post,0,0,*,7\\narrive,0,0,3,7\\n' | dpamatch explore";

/// Run random schedules of the real handlers on a stream, and tell what they did.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Schedules to run
    #[arg(long, value_name = "COUNT", default_value_t = 5000)]
    schedules: u64,
    /// First seed
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Tell the schedule of this seed step by step
    #[arg(long, value_name = "S", conflicts_with = "schedules")]
    story: Option<u64>,
    /// Handlers of a block, 1 to 64
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=64))]
    handlers: u64,
    /// Bins of each hash table
    #[arg(long, value_name = "B", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=65536))]
    bins: u64,
    /// Entry rule of the fast path
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Form::Sequence)]
    fast_path: Form,
    /// Skip receives that a lower handler booked
    #[arg(long)]
    early_check: bool,
    /// Remove consumed receives at once, waiting for the bin's lock
    #[arg(long)]
    eager_removal: bool,
    /// Take a rule out of the handlers first; stops at the first schedule that breaks the order of matching.
    /// `list` names the rules and what each is about
    #[arg(long, value_name = "RULE")]
    fault: Option<String>,
    /// A worked example in place of a stream
    #[arg(long, value_enum, value_name = "NAME", conflicts_with = "file")]
    example: Option<Example>,
    /// The stream; - or nothing for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Form {
    /// Never
    Off,
    /// All N handlers booked the same receive
    Literal,
    /// This and all lower handlers chose the same receive
    Prefix,
    /// This and all lower handlers chose receives of one sequence
    Sequence,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Example {
    /// Four equal messages, four equal receives
    X1,
    /// The same with a wildcard receive among them
    X2,
    /// Four equal messages, two receives
    X3,
    /// A forced handler that keeps its receive
    X4,
    /// A forced handler that loses its receive
    X5,
}

impl Example {
    fn stream(self) -> &'static str {
        match self {
            Self::X1 => {
                "post,0,0,0,7\npost,1,0,0,7\npost,2,0,0,7\npost,3,0,0,7\n\
                 arrive,0,0,0,7\narrive,1,0,0,7\narrive,2,0,0,7\narrive,3,0,0,7\n"
            }
            Self::X2 => {
                "post,0,0,0,7\npost,1,0,0,7\npost,2,0,*,7\npost,3,0,0,7\n\
                 arrive,0,0,0,7\narrive,1,0,0,7\narrive,2,0,0,7\narrive,3,0,0,7\n"
            }
            Self::X3 => {
                "post,0,0,0,7\npost,1,0,0,7\n\
                 arrive,0,0,0,7\narrive,1,0,0,7\narrive,2,0,0,7\narrive,3,0,0,7\n"
            }
            Self::X4 => {
                "post,0,0,0,7\npost,1,0,1,9\npost,2,0,*,*\n\
                 arrive,0,0,0,7\narrive,1,0,0,7\narrive,2,0,1,9\narrive,3,0,0,7\n"
            }
            Self::X5 => {
                "post,0,0,0,7\npost,1,0,*,7\narrive,0,0,0,7\narrive,1,0,0,7\narrive,2,0,1,7\n"
            }
        }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    match args.fault.as_deref() {
        Some("list") => return list(),
        Some(rule) if !break_rule(rule) => {
            return Err(BadInput(format!("no rule {rule}; --fault list names them")).into());
        }
        _ => {}
    }
    let events = events(args)?;
    let expected = expected(&events)?;
    let setup = Setup {
        operations: events.iter().map(operation).collect::<Result<_, _>>()?,
        handlers: args.handlers as usize,
        bins: args.bins as usize,
        fast_path: match args.fast_path {
            Form::Off => FastPath::Off,
            Form::Literal => FastPath::Literal,
            Form::Prefix => FastPath::Prefix,
            Form::Sequence => FastPath::Sequence,
        },
        early_check: args.early_check,
        eager_removal: args.eager_removal,
    };
    let mut out = output::stdout();
    if let Some(seed) = args.story {
        let report = explore(&setup, &expected, seed, 1, false);
        writeln!(out, "schedule {seed}:")?;
        if let Some(run) = &report.last {
            write!(out, "{}", tell(&run.steps))?;
        }
        out.flush()?;
        return judge(&report, &mut *out);
    }
    let begun = Instant::now();
    let report = explore(&setup, &expected, args.seed, args.schedules, args.fault.is_some());
    let seconds = begun.elapsed().as_secs_f64();
    summary(&report, seconds, &mut *out)?;
    judge(&report, &mut *out)
}

fn list() -> anyhow::Result<()> {
    let mut out = output::stdout();
    faults().try_for_each(|(name, about)| writeln!(out, "{name:<30}{about}"))?;
    Ok(out.flush()?)
}

/// Streams of this many events are explored at most: more would not be read by anyone.
const EVENTS_MAX: usize = 10_000;

fn events(args: &Args) -> anyhow::Result<Vec<Event>> {
    if let Some(example) = args.example {
        return read("example", example.stream().as_bytes());
    }
    if args.file == Path::new("-") {
        return read("<stdin>", io::stdin().lock());
    }
    let name = args.file.display().to_string();
    let file = std::fs::File::open(&args.file).with_context(|| name.clone())?;
    read(&name, BufReader::new(file))
}

fn read(name: &str, input: impl io::BufRead) -> anyhow::Result<Vec<Event>> {
    let mut events = Vec::new();
    for event in Reader::new(input) {
        match event {
            Ok(event) => events.push(event),
            Err(ReadError::Line(at)) => {
                return Err(BadInput(format!(
                    "{name}:{line}: {error}",
                    line = at.line,
                    error = at.error
                ))
                .into());
            }
            Err(error) => return Err(error).context(name.to_owned()),
        }
        if events.len() > EVENTS_MAX {
            return Err(BadInput(format!("{name}: more than {EVENTS_MAX} events")).into());
        }
    }
    Ok(events)
}

fn operation(event: &Event) -> Result<Operation, BadInput> {
    match event.operation(0, 0) {
        Operation::Probe { .. } => Err(BadInput(format!(
            "{event}: probes are not explored, only posts, arrivals and cancels"
        ))),
        other => Ok(other),
    }
}

/// What the oracle makes of the stream.
fn expected(events: &[Event]) -> anyhow::Result<Ending> {
    let mut ending = Ending::default();
    let comm_of = |wanted| {
        events.iter().find_map(|event| match event {
            Event::Arrive { msg, envelope, .. } if *msg == wanted => Some(envelope.comm),
            _ => None,
        })
    };
    let mut unexpected = Vec::new();
    Oracle::new().run(&mut events.iter().copied(), &mut |outcome| match outcome {
        Outcome::Matched { recv, msg } => ending.matches.push((recv.0, msg.0)),
        Outcome::Posted { recv } => ending.posted.push(recv.0),
        Outcome::Unexpected { msg } => unexpected.push((comm_of(msg), msg.0)),
        _ => {}
    })?;
    // Arrival order within a communicator.
    unexpected.sort_by_key(|&(comm, _)| comm);
    ending.unexpected = unexpected.into_iter().map(|(_, msg)| msg).collect();
    ending.matches.sort_unstable();
    ending.posted.sort_unstable();
    Ok(ending)
}

fn summary(report: &Report, seconds: f64, out: &mut dyn Write) -> anyhow::Result<()> {
    let rate = report.schedules as f64 / seconds;
    writeln!(out, "{} schedules in {seconds:.1} s ({rate:.0} per second)", report.schedules)?;
    writeln!(out, "paths, handler by handler; blocks are separated by |")?;
    let mut paths: Vec<_> = report.paths.iter().collect();
    paths.sort_by_key(|&(path, &count)| (std::cmp::Reverse(count), path));
    const SHOWN: usize = 20;
    for (path, count) in paths.iter().take(SHOWN) {
        writeln!(
            out,
            "{count:>10}  {:>5.1} %  {path}",
            **count as f64 * 100.0 / report.schedules as f64
        )?;
    }
    if let Some(more) = paths.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        writeln!(out, "            and {more} more combinations")?;
    }
    Ok(())
}

/// Says whether the oracle's result came out, and fails with exit code 3 if it did not.
fn judge(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    let Some(Violation { seed, run, what }) = &report.first_violation else {
        writeln!(out, "every schedule gave the oracle's result")?;
        return Ok(out.flush()?);
    };
    writeln!(
        out,
        "{} of {} schedules broke the rules; the first, schedule {seed}:",
        report.violations, report.schedules
    )?;
    if let Some(run) = run {
        write!(out, "{}", tell(&run.steps))?;
    }
    writeln!(out, "{what}")?;
    out.flush()?;
    Err(super::Violated.into())
}
