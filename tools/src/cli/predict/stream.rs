use std::io;
use std::path::PathBuf;

use anyhow::Context;
use dpamatch::stream::{Event, ReadError, Reader};
use dpamatch_tools::sequence;

use super::super::BadInput;
use super::super::input::file_or_stdin;
use super::Common;
use super::handlers::{SpanArgs, detail};
use super::recorded::PostArgs;

#[derive(Debug, clap::Args)]
pub(super) struct StreamArgs {
    /// Number of handlers
    #[arg(long, value_name = "N", default_value_t = 32)]
    handlers: usize,
    #[command(flatten)]
    posts: PostArgs,
    #[command(flatten)]
    spans: SpanArgs,
    /// The stream, as for `dpamatch match`; - or nothing for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

pub(super) fn run(args: &StreamArgs, common: &Common) -> anyhow::Result<()> {
    let (name, input) = file_or_stdin(&args.file)?;
    let events = read(&name, input)?;
    detail(&args.posts.workload(name, sequence(events))?, args.handlers, &args.spans, common)
}

fn read(name: &str, input: impl io::BufRead) -> anyhow::Result<Vec<Event>> {
    let mut events = Vec::new();
    for event in Reader::new(input) {
        match event {
            Ok(event) => events.push(event),
            Err(ReadError::Line(at)) => {
                return Err(BadInput(format!("{name}:{}: {}", at.line, at.error)).into());
            }
            Err(error) => return Err(error).context(name.to_owned()),
        }
    }
    Ok(events)
}
