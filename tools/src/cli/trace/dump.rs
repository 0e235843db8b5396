use std::fmt;
use std::io::Write;

use anyhow::Context;
use clap::ValueEnum;
use dpamatch::Rank;
use dpamatch_tools::trace::{Argument, Arguments, Call, Span, Status, Texts};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::json;

use super::super::document;
use super::{BadInput, TraceArgs, bad_input, output};

/// Print the calls of a rank, one a line
///
/// A line has the call's number, the byte of its record, its wall time at entry and its length, the
/// thread, and all arguments as recorded.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    trace: TraceArgs,
    /// The rank [default: the first]
    #[arg(long, value_name = "R")]
    rank: Option<u32>,
    /// Most calls to print
    #[arg(long, value_name = "CALLS")]
    limit: Option<u64>,
    /// Form of the calls
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// A line each
    Text,
    /// An object a line
    Jsonl,
    /// One document with all calls
    Json,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let trace = args.trace.open()?;
    let rank = match args.rank {
        Some(rank) => Rank::new(rank).map_err(|error| BadInput(error.to_string()))?,
        None => *trace.ranks().first().context("the trace has no ranks")?,
    };
    let mut reader = trace.open(rank).map_err(bad_input)?;
    let mut out = output::stdout();
    let mut calls = Vec::new();
    let mut left = args.limit.unwrap_or(u64::MAX);
    while left > 0 {
        left -= 1;
        let Some(Call { sequence, offset, function, thread, cpu, wall, .. }) =
            reader.next_call().map_err(bad_input)?
        else {
            break;
        };
        let arguments = reader.arguments().map(Values);
        match args.format {
            Format::Text => {
                write!(out, "{sequence:>8} {offset:>10} ")?;
                match wall {
                    Some(wall) => write!(out, "{} ", Duration(wall))?,
                    None => write!(out, "- ")?,
                }
                write!(out, "T{} {function}", thread.unwrap_or(0))?;
                if let Some(arguments) = arguments {
                    write!(out, "{arguments}")?;
                }
                writeln!(out)?;
            }
            Format::Jsonl | Format::Json => {
                let ns = |span: Option<Span>| span.map(|span| [span.entry_ns, span.return_ns]);
                let line = Line {
                    call: sequence,
                    byte: offset,
                    function: function.name(),
                    class: function.class().name(),
                    thread,
                    wall_ns: ns(wall),
                    cpu_ns: ns(cpu),
                    arguments,
                };
                if args.format == Format::Json {
                    calls.push(serde_json::to_value(&line)?);
                } else {
                    serde_json::to_writer(&mut out, &line)?;
                    writeln!(out)?;
                }
            }
        }
    }
    if args.format == Format::Json {
        let results = json!({ "rank": rank.get(), "calls": calls });
        document::write(&mut *out, &document::document(&[], document::members(results)))?;
    }
    out.flush()?;
    if let Some(salvage) = reader.salvage() {
        eprintln!("note: salvaged {} calls: {}", salvage.calls, salvage.error);
    }
    Ok(())
}

#[derive(Serialize)]
struct Line<'a> {
    call: u64,
    byte: u64,
    function: &'static str,
    class: &'static str,
    thread: Option<u16>,
    wall_ns: Option<[i64; 2]>,
    cpu_ns: Option<[i64; 2]>,
    arguments: Option<Values<'a>>,
}

/// Seconds at entry and microseconds of the call.
struct Duration(Span);

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { entry_ns, return_ns } = self.0;
        let (seconds, ns) =
            (entry_ns.div_euclid(1_000_000_000), entry_ns.rem_euclid(1_000_000_000));
        let length_ns = return_ns.saturating_sub(entry_ns);
        write!(f, "{seconds}.{ns:09} +{}.{:03} us", length_ns / 1000, (length_ns % 1000).abs())
    }
}

struct Values<'a>(&'a Arguments);

struct Value<'a>(Argument<'a>);

impl fmt::Display for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self.0.iter().filter(|(_, argument)| *argument != Argument::Absent);
        there.into_iter().try_for_each(|(name, argument)| write!(f, " {name}={}", Value(argument)))
    }
}

fn list<T>(
    f: &mut fmt::Formatter<'_>,
    items: impl Iterator<Item = T>,
    item: impl Fn(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    write!(f, "[")?;
    for (k, value) in items.enumerate() {
        write!(f, "{}", if k > 0 { "," } else { "" })?;
        item(f, value)?;
    }
    write!(f, "]")
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Argument::Absent => write!(f, "-"),
            Argument::Number(number) => write!(f, "{number}"),
            Argument::Numbers(numbers) => {
                list(f, numbers.iter(), |f, number| write!(f, "{number}"))
            }
            Argument::Requests(requests) => {
                list(f, requests.iter(), |f, request| write!(f, "{}", request.0))
            }
            Argument::Statuses(statuses) => list(f, statuses.iter(), |f, status| {
                let Status { bytes, source, tag, cancelled, .. } = *status;
                let cancelled = if cancelled { " cancelled" } else { "" };
                write!(f, "{{{source} {tag} {bytes}{cancelled}}}")
            }),
            Argument::Texts(texts) => list(f, words(texts), |f, word| write!(f, "{word:?}")),
        }
    }
}

fn words(texts: Texts<'_>) -> impl Iterator<Item = String> {
    texts.iter().map(|text| String::from_utf8_lossy(text).into_owned())
}

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, argument) in self.0.iter() {
            map.serialize_entry(name, &Value(argument))?;
        }
        map.end()
    }
}

/// A status, with its fields by name.
#[derive(Serialize)]
struct StatusFields {
    bytes: i32,
    source: i32,
    tag: i32,
    cancelled: bool,
    error: u8,
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Argument::Absent => serializer.serialize_none(),
            Argument::Number(number) => serializer.serialize_i64(number),
            Argument::Numbers(numbers) => serializer.collect_seq(numbers),
            Argument::Requests(requests) => {
                serializer.collect_seq(requests.iter().map(|request| request.0))
            }
            Argument::Statuses(statuses) => serializer.collect_seq(statuses.iter().map(|status| {
                let Status { bytes, source, tag, cancelled, error } = *status;
                StatusFields { bytes, source, tag, cancelled, error }
            })),
            Argument::Texts(texts) => serializer.collect_seq(words(texts)),
        }
    }
}
