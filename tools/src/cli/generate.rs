//! `dpamatch gen`.

use std::io::Write;
use std::iter;

use anyhow::Context;
use dpamatch::stream::{Event, Generator, Profile};
use dpamatch_tools::workload::{Order, Pattern, Workload, lying};
use serde_json::{Map, Value, json};

use super::document::Lines;
use super::input::choice;
use super::{BadInput, document, output};

/// Print a random stream of events, or the stream of a communication pattern; equal arguments give
/// equal streams on every machine.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/generate.txt").trim_end())]
pub(super) struct Args {
    /// Form of the stream; the other commands read the text
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Lines::Text)]
    format: Lines,
    /// Seed of the random numbers
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Events of a random stream
    #[arg(long, value_name = "E", default_value_t = 2000)]
    events: u64,
    /// Kind of random stream
    #[arg(long, value_name = "KIND", default_value_t = Profile::Mixed, hide_possible_values = true,
          value_parser = choice::<Profile>())]
    kind: Profile,
    /// The stream of this pattern, in place of a random one
    #[arg(long, value_name = "NAME", conflicts_with_all = ["events", "kind"], hide_possible_values = true,
          value_parser = choice::<Pattern>())]
    pattern: Option<Pattern>,
    /// Let the senders of so many per cent of the messages lie about the hashes in their headers
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_value_t = 0,
          default_missing_value = "50", value_parser = clap::value_parser!(u32).range(0..=100))]
    lying: u32,
    #[command(flatten)]
    numbers: Numbers,
}

#[derive(Debug, clap::Args)]
struct Numbers {
    /// Processes of the job, 2 to 1048576
    #[arg(long, value_name = "N", requires = "pattern")]
    ranks: Option<u32>,
    /// Rounds of the pattern
    #[arg(long, value_name = "R", requires = "pattern")]
    rounds: Option<u64>,
    /// Messages of a sender in a round
    #[arg(long, value_name = "P", requires = "pattern")]
    pending: Option<u32>,
    /// Communicators that run the pattern at a time
    #[arg(long, value_name = "K", requires = "pattern")]
    communicators: Option<u32>,
    /// Percentage of receives from any source
    #[arg(long = "wild", value_name = "PERCENT", requires = "pattern")]
    any: Option<u32>,
    /// Percentage of messages that arrive before their round's receives are posted
    #[arg(long = "late", value_name = "PERCENT", requires = "pattern")]
    early: Option<u32>,
    /// Order of arrival
    #[arg(long, value_name = "ORDER", requires = "pattern",
          value_parser = choice::<Order>())]
    order: Option<Order>,
    /// Length of a message
    #[arg(long, value_name = "BYTES", requires = "pattern")]
    bytes: Option<u64>,
}

impl Numbers {
    fn workload(&self, pattern: Pattern, seed: u64) -> Workload {
        let usual = pattern.usual();
        Workload {
            pattern,
            ranks: self.ranks.unwrap_or(usual.ranks),
            rounds: self.rounds.unwrap_or(usual.rounds),
            pending: self.pending.unwrap_or(usual.pending),
            comms: self.communicators.unwrap_or(usual.comms),
            any: self.any.unwrap_or(usual.any),
            early: self.early.unwrap_or(usual.early),
            order: self.order.unwrap_or(usual.order),
            bytes: self.bytes.unwrap_or(usual.bytes),
            seed,
        }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let mut out = output::stdout();
    let Args {
        seed, events, kind, ..
    } = args;
    if let Some(pattern) = args.pattern {
        let workload = args.numbers.workload(pattern, *seed);
        let events = workload
            .events()
            .map_err(|error| BadInput(error.to_string()))
            .context(pattern)?;
        let Workload {
            ranks,
            rounds,
            pending,
            comms,
            any,
            early,
            order,
            bytes,
            seed,
            ..
        } = workload;
        let comment = format!(
            "# dpamatch gen --pattern {pattern} --ranks {ranks} --rounds {rounds} --pending {pending} \
             --communicators {comms} --wild {any} --late {early} --order {order} --bytes {bytes} --seed {seed}"
        );
        return args.write(comment, events, &mut *out);
    }
    let comment = format!("# dpamatch gen --seed {seed} --events {events} --kind {kind}");
    args.write(comment, Generator::new(*seed, *events, *kind), &mut *out)
}

impl Args {
    fn write(
        &self,
        mut comment: String,
        events: impl Iterator<Item = Event>,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        if self.lying > 0 {
            comment += &format!(" --lying {}", self.lying);
        }
        let events = lying(events, self.lying, self.seed);
        write(self.format, &comment, events, out)
    }
}

fn write(
    format: Lines,
    comment: &str,
    mut events: impl Iterator<Item = Event>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    match format {
        Lines::Text => {
            writeln!(out, "{comment}")?;
            events.try_for_each(|event| writeln!(out, "{event}"))?;
        }
        Lines::Jsonl => events.try_for_each(|event| writeln!(out, "{}", object(&event)))?,
        Lines::Json => {
            let events: Vec<Value> = events.map(|event| object(&event)).collect();
            let results = document::members(json!({ "events": events }));
            document::write(out, &document::document(&[], results))?;
        }
    }
    Ok(out.flush()?)
}

/// An event's fields by name; a wildcard is a star as in the text.
fn object(event: &Event) -> Value {
    let line = event.to_string();
    let mut fields = line.split(',');
    let word = fields.next().unwrap_or_default();
    let id = match word {
        "arrive" => "msg",
        "post" | "cancel" => "recv",
        _ => "id",
    };
    let value = |text: &str| {
        text.parse::<u64>()
            .map_or_else(|_| text.into(), Value::from)
    };
    let mut members = Map::from_iter([("event".to_owned(), word.into())]);
    for (field, name) in fields.zip(
        [id, "comm", "source", "tag"]
            .into_iter()
            .chain(iter::repeat("")),
    ) {
        let (name, text) = field.split_once('=').unwrap_or((name, field));
        members.insert(name.replace('-', "_"), value(text));
    }
    Value::Object(members)
}
