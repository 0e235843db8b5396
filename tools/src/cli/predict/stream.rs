use std::path::PathBuf;

use dpamatch::stream::Reader;
use dpamatch_tools::sequence;

use super::super::BadInput;
use super::super::input::{file_or_stdin, unreadable};
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
    let events: Result<Vec<_>, _> = Reader::new(input).collect();
    let events = events.map_err(|error| unreadable(&name, error))?;
    if let Some(liar) = events.iter().find(|event| event.lie() != 0) {
        let what = "only match runs senders that lie";
        return Err(BadInput(format!("{name}: {liar}: {what}")).into());
    }
    detail(
        &args.posts.workload(name, sequence(events))?,
        args.handlers,
        &args.spans,
        common,
    )
}
