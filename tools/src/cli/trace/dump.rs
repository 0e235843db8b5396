use std::fmt;
use std::io::Write;

use anyhow::Context;
use dpamatch::Rank;
use dpamatch_tools::counted;
use dpamatch_traces::{Argument, Arguments, Call, Op, Span, Status};
use serde_json::{Map, Value, json};

use super::super::document::{self, Lines};
use super::{BadInput, TraceArgs, bad_input, output};

/// Print the calls of a rank, one a line
///
/// A line has the call's number, the byte of its record, its wall time at entry and its length, the
/// thread, and all arguments as recorded, or the operation if the format keeps no arguments.
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
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Lines::Text)]
    format: Lines,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let trace = args.trace.open()?;
    let bad = |error| bad_input(error, !args.trace.salvage);
    let rank = match args.rank {
        Some(rank) => Rank::new(rank).map_err(|error| BadInput(error.to_string()))?,
        None => *trace.ranks().first().context("the trace has no ranks")?,
    };
    let mut reader = trace.open(rank).map_err(bad)?;
    let mut out = output::stdout();
    let mut calls = Vec::new();
    let mut left = args.limit.unwrap_or(u64::MAX);
    let keeps_arguments = reader.arguments().is_some();
    while left > 0 {
        left -= 1;
        let Some(Call {
            sequence,
            offset,
            function,
            thread,
            cpu,
            wall,
            op,
        }) = reader.next_call().map_err(bad)?
        else {
            break;
        };
        let operation = (!keeps_arguments && op != Op::Other).then(|| format!("{op:?}"));
        let arguments = reader.arguments().into_iter().flat_map(Arguments::iter);
        let arguments = arguments.map(|(name, argument)| (name.to_owned(), json_of(argument)));
        if args.format == Lines::Text {
            write!(out, "{sequence:>8} {offset:>10} ")?;
            match wall {
                Some(wall) => write!(out, "{} ", Duration(wall))?,
                None => write!(out, "- ")?,
            }
            write!(out, "T{} {function}", thread.unwrap_or(0))?;
            for (name, value) in arguments.filter(|(_, value)| !value.is_null()) {
                write!(out, " {name}={}", shown(&value))?;
            }
            if let Some(operation) = operation {
                write!(out, " {operation}")?;
            }
            writeln!(out)?;
            continue;
        }
        let ns = |span: Option<Span>| span.map(|span| [span.entry_ns, span.return_ns]);
        let mut line = json!({
            "call": sequence,
            "byte": offset,
            "function": function.name(),
            "class": function.class().name(),
            "thread": thread,
            "wall_ns": ns(wall),
            "cpu_ns": ns(cpu),
            "arguments": arguments.collect::<Map<_, _>>(),
        });
        if let Some(operation) = operation {
            line["operation"] = operation.into();
        }
        match args.format {
            Lines::Json => calls.push(line),
            _ => writeln!(out, "{line}")?,
        }
    }
    if args.format == Lines::Json {
        let results = json!({ "rank": rank.get(), "calls": calls });
        document::write(
            &mut *out,
            &document::document(&[], document::members(results)),
        )?;
    }
    out.flush()?;
    if let Some(salvage) = reader.salvage() {
        eprintln!(
            "note: salvaged {}: {}",
            counted(salvage.calls, "call"),
            salvage.error
        );
    }
    Ok(())
}

/// Seconds at entry and microseconds of the call.
struct Duration(Span);

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span {
            entry_ns,
            return_ns,
        } = self.0;
        let (seconds, ns) = (
            entry_ns.div_euclid(1_000_000_000),
            entry_ns.rem_euclid(1_000_000_000),
        );
        let length_ns = return_ns.saturating_sub(entry_ns);
        write!(
            f,
            "{seconds}.{ns:09} +{}.{:03} us",
            length_ns / 1000,
            (length_ns % 1000).abs()
        )
    }
}

/// An argument as recorded; null if it is not in the record.
fn json_of(argument: Argument<'_>) -> Value {
    match argument {
        Argument::Absent => Value::Null,
        Argument::Number(number) => number.into(),
        Argument::Numbers(numbers) => numbers.into(),
        Argument::Requests(requests) => requests.iter().map(|request| request.0).collect(),
        Argument::Statuses(statuses) => statuses
            .iter()
            .map(
                |&Status {
                     bytes,
                     source,
                     tag,
                     cancelled,
                     error,
                 }| {
                    json!({ "bytes": bytes, "source": source, "tag": tag, "cancelled": cancelled,
                        "error": error })
                },
            )
            .collect(),
        Argument::Texts(texts) => texts.iter().map(String::from_utf8_lossy).collect(),
    }
}

/// An argument in a line for people; a status as source, tag and bytes.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(shown).collect::<Vec<_>>().join(",")
            )
        }
        Value::Object(status) => {
            let cancelled = if status["cancelled"] == true {
                " cancelled"
            } else {
                ""
            };
            format!(
                "{{{} {} {}{cancelled}}}",
                status["source"], status["tag"], status["bytes"]
            )
        }
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}
