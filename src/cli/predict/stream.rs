//! A stream of events in virtual time.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use anyhow::Context;
use dpa_model::{SourceSel, TagSel};
use dpamatch::stream::{Event, ReadError, Reader};
use dpamatch_predict::simulate;

use super::super::BadInput;
use super::super::table::Table;
use super::handlers::{TraceArgs, statistics, times};
use super::{Common, wrong};

#[derive(Debug, clap::Args)]
pub(super) struct StreamArgs {
    /// Number of handlers
    #[arg(long, value_name = "N", default_value_t = 32)]
    handlers: usize,
    /// Receive descriptors
    #[arg(long, value_name = "R", default_value_t = 8192, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    receives: u64,
    /// Posts take time of the first EU as well
    #[arg(long)]
    charge_posts: bool,
    #[command(flatten)]
    trace: TraceArgs,
    /// The stream, as for `dpamatch match`; - or nothing for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

/// Communicators of a stream: each takes the memory of its tables.
const COMMUNICATORS_MAX: u32 = 256;

pub(super) fn run(args: &StreamArgs, common: &Common) -> anyhow::Result<()> {
    let mut setup = common.setup(args.handlers)?;
    setup.receives = args.receives as usize;
    setup.profile.rules.post_on_clock |= args.charge_posts;
    let events = events(&args.file)?;
    let (events, comms) = renumbered(events);
    if comms > COMMUNICATORS_MAX {
        let name = args.file.display();
        return Err(BadInput(format!("{name}: more than {COMMUNICATORS_MAX} communicators")).into());
    }
    let parts = simulate(&setup, vec![Box::new(events.into_iter())], comms, args.trace.wanted());
    let part = parts.map_err(wrong)?.pop().context("one part was run")?;
    args.trace.write(&part)?;
    let mut summary = Table::new(
        "stream",
        "The stream in virtual time; messages arrive as fast as the card takes them.",
        [
            "messages",
            "us",
            "M messages/s",
            "matched",
            "unexpected",
            "sent on to software",
            "blocks",
            "blocks in conflict",
        ],
    );
    summary.row([
        part.messages.into(),
        (part.time as f64 / 1e6).into(),
        part.rate().into(),
        part.matches.len().into(),
        boundary(&part, "unexpected").into(),
        boundary(&part, "arrivals_forwarded").into(),
        boundary(&part, "blocks").into(),
        boundary(&part, "conflict_blocks").into(),
    ]);
    let table = statistics(&setup, &part, "One row per handler.".to_owned());
    common.show(&[summary, table, times(&part)])
}

fn boundary(part: &dpamatch_predict::Part, name: &str) -> u64 {
    part.boundary.iter().find(|(counter, _)| *counter == name).map_or(0, |&(_, value)| value)
}

/// The same with communicators numbered from 0 in the order of their first event, and how many there are.
fn renumbered(mut events: Vec<dpamatch_predict::Event>) -> (Vec<dpamatch_predict::Event>, u32) {
    let mut numbers = HashMap::new();
    for event in &mut events {
        if let dpamatch_predict::Event::Post { comm, .. } | dpamatch_predict::Event::Arrive { comm, .. } =
            event
        {
            let next = numbers.len() as u32;
            *comm = *numbers.entry(*comm).or_insert(next);
        }
    }
    let count = numbers.len().max(1) as u32;
    (events, count)
}

fn events(file: &Path) -> anyhow::Result<Vec<dpamatch_predict::Event>> {
    if file == Path::new("-") {
        return read("<stdin>", io::stdin().lock());
    }
    let name = file.display().to_string();
    read(&name, BufReader::new(File::open(file).with_context(|| name.clone())?))
}

fn read(name: &str, input: impl io::BufRead) -> anyhow::Result<Vec<dpamatch_predict::Event>> {
    let mut events = Vec::new();
    for event in Reader::new(input) {
        match event {
            Ok(event) => events.push(translated(name, &event)?),
            Err(ReadError::Line(at)) => {
                return Err(BadInput(format!("{name}:{}: {}", at.line, at.error)).into());
            }
            Err(error) => return Err(error).context(name.to_owned()),
        }
    }
    Ok(events)
}

fn translated(name: &str, event: &Event) -> Result<dpamatch_predict::Event, BadInput> {
    Ok(match *event {
        Event::Post { recv, comm, selector, .. } => dpamatch_predict::Event::Post {
            receive: recv.0,
            comm: comm.0,
            source: match selector.source {
                SourceSel::Any => None,
                SourceSel::Rank(rank) => Some(rank.get()),
            },
            tag: match selector.tag {
                TagSel::Any => None,
                TagSel::Tag(tag) => Some(tag.get()),
            },
        },
        Event::Arrive { msg, envelope, bytes, .. } => dpamatch_predict::Event::Arrive {
            message: msg.0,
            comm: envelope.comm.0,
            source: envelope.source.get(),
            tag: envelope.tag.get(),
            bytes: u32::try_from(bytes.unwrap_or(8)).unwrap_or(u32::MAX),
        },
        Event::Cancel { recv } => dpamatch_predict::Event::Cancel { receive: recv.0 },
        _ => {
            return Err(BadInput(format!("{name}: {event}: only posts, arrivals and cancels are predicted")));
        }
    })
}
