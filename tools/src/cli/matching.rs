//! `dpamatch match`.

use std::cell::Cell;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use dpamatch::engine::BinCount;
use dpamatch::registry::{EngineOptions, Hashing};
use dpamatch::stream::{Event, Outcome, ReadError, Reader, StreamMatcher};
use dpamatch_tools::counted;
use serde_json::{Map, Value, json};

use super::document::Lines;
use super::nic_args::{NicArgs, settings};
use super::{document, engines, input, output};

/// The emulated NIC's name among the engines.
const NIC: &str = "optimistic";

/// Match a stream of posted receives and arriving messages.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/matching.txt").trim_end())]
pub(super) struct Args {
    /// The matching engine, or the path of an engine's library
    #[arg(long, value_name = "NAME", default_value = NIC, value_parser = engines::any(&[]))]
    engine: String,
    /// Bins of each hash table, 1 to 65536; engines without tables ignore it [default: 256; 'bins'
    /// grows from there]
    #[arg(long, value_name = "B")]
    bins: Option<BinCount>,
    /// Processes in each communicator, if known; sizes the structures of rank-array and 4d
    #[arg(long = "ranks", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    comm_size: Option<u32>,
    /// Print the NIC's options and the engine's counters to standard error at the end
    #[arg(long)]
    stats: bool,
    /// Form of the results
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Lines::Text)]
    format: Lines,
    /// The stream; - or nothing for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    #[command(flatten)]
    nic: NicArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let entry = engines::one(&args.engine)?;
    let options = args.nic.options(args.bins.unwrap_or_default());
    let options = EngineOptions {
        comm_size: args.comm_size,
        grow_bins: args.bins.is_none(),
        ..options
    };
    let mut matcher = entry.build(&options)?;
    let (name, input) = input::file_or_stdin(&args.file)?;
    let mut out = output::stdout();
    let is_nic = args.engine == NIC;
    let settings = if is_nic {
        settings(&options)
    } else {
        Vec::new()
    };
    let lies = Cell::new(0_u64);
    let ran = {
        let json = args.format == Lines::Json;
        let mut outcomes = Vec::new();
        let to: &mut dyn Write = if json { &mut outcomes } else { &mut *out };
        let ran = run_stream(&name, matcher.as_mut(), input, args.format, &lies, to);
        ran.map(|ended| (ended, json.then_some(outcomes)))
    };
    if is_nic && lies.get() > 0 && options.hashing() == Hashing::Trust {
        eprintln!(
            "note: {name}: the senders of {} lie about hashes, and the NIC trusts them, so it can \
             match otherwise than the oracle; --nic hashes=verify and hashes=ignore do not",
            counted(lies.get(), "message")
        );
    }
    let (ended, outcomes) = ran?;
    if let Some(outcomes) = outcomes {
        let complete = ended.is_none();
        let results = results(
            &args.engine,
            matcher.as_ref(),
            &settings,
            complete,
            &outcomes,
        )?;
        document::write(&mut *out, &document::document(&[], results))?;
        out.flush()?;
    }
    match ended {
        Some(error) => Err(input::unreadable(&name, error)),
        None if args.stats => print_counters(matcher.as_ref(), settings),
        None => Ok(()),
    }
}

/// Runs the stream and prints the results as they come. `Ok(Some)` if the stream ended early: the
/// results so far are printed, but not the contents of the queues, which a truncated stream does
/// not determine.
fn run_stream(
    name: &str,
    matcher: &mut dyn StreamMatcher,
    input: impl BufRead,
    format: Lines,
    lies: &Cell<u64>,
    out: &mut dyn Write,
) -> anyhow::Result<Option<ReadError>> {
    let mut reader = Reader::new(input);
    let mut read_error = None;
    // The failing side sets it for the other.
    let cut_off = Cell::new(false);
    let mut events = std::iter::from_fn(|| -> Option<Event> {
        if cut_off.get() {
            return None;
        }
        let event = reader.next()?;
        if let Ok(event) = &event {
            lies.set(lies.get() + u64::from(event.lie() != 0));
        }
        event
            .map_err(|error| (cut_off.set(true), read_error = Some(error)))
            .ok()
    });

    let mut written = Ok(());
    let mut results = 0_u64;
    let mut sink = |outcome: Outcome| {
        if written.is_err() || (cut_off.get() && outcome.is_leftover()) {
            return;
        }
        results += 1;
        written = match format {
            Lines::Text => writeln!(out, "{outcome}"),
            Lines::Jsonl | Lines::Json => writeln!(out, "{}", outcome.to_json()),
        };
        if written.is_err() {
            cut_off.set(true);
        }
    };
    matcher.run(&mut events, &mut sink)?;
    written?;
    if results == 0 && read_error.is_none() {
        eprintln!("note: {name}: the stream is empty");
        if format == Lines::Text {
            // The reference program ends its output with a line feed even without results.
            writeln!(out)?;
        }
    }
    out.flush()?;
    Ok(read_error)
}

/// The results as one object. `outcomes` has an object per line.
fn results(
    engine: &str,
    matcher: &dyn StreamMatcher,
    settings: &[(&'static str, Value)],
    complete: bool,
    outcomes: &[u8],
) -> anyhow::Result<Map<String, Value>> {
    let outcomes = serde_json::Deserializer::from_slice(outcomes).into_iter::<Value>();
    let counters = matcher.counters().into_iter();
    let counters = counters.map(|counter| (counter.name.into_owned(), counter.value.into()));
    let settings = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()));
    Ok(document::members(json!({
        "engine": engine,
        "complete": complete,
        "outcomes": outcomes.collect::<Result<Vec<_>, _>>()?,
        "nic": settings.collect::<Map<_, _>>(),
        "counters": counters.collect::<Map<_, _>>(),
    })))
}

fn print_counters(matcher: &dyn StreamMatcher, settings: Vec<(&str, Value)>) -> anyhow::Result<()> {
    let mut err = io::stderr().lock();
    for (name, value) in settings {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        writeln!(err, "{name:<20} {value:>14}")?;
    }
    for counter in matcher.counters() {
        writeln!(err, "{:<20} {:>14}", counter.name, counter.value)?;
    }
    Ok(())
}
