use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use dpamatch_tools::analyze::{Run, TimelineError, is_log, timeline};

use super::super::staged::StagedFile;
use super::{BadInput, TraceArgs, bad_input, bar, output};

/// Write calls and messages as a timeline for Perfetto or Chrome
///
/// Each rank has a track with its calls. A flow leads from the call that sends a message to the
/// call that completes its receive. Clocks of different nodes are unrelated. Open the file at
/// ui.perfetto.dev.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    trace: TraceArgs,
    /// Write into this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    if is_log(&args.trace.path) {
        let what = "order logs have no calls; a timeline needs a trace";
        return Err(BadInput(format!("{}: {what}", args.trace.path.display())).into());
    }
    let source = args.trace.open()?;
    let bad = |error| bad_input(error, !args.trace.salvage);
    let progress = bar(2 * source.ranks().len(), "ranks read");
    let run = Run::load(source.as_ref(), |_| progress.inc(1)).map_err(bad)?;
    let write = |out: &mut dyn Write| timeline(source.as_ref(), &run, out, || progress.inc(1));
    let written = match &args.out {
        None => {
            let mut out = output::stdout();
            write(&mut *out).and_then(|()| Ok(out.flush()?))
        }
        Some(path) => {
            let failed = || format!("cannot write {}", path.display());
            let mut file = StagedFile::new(path).with_context(failed)?;
            let mut result = Ok(());
            file.fill(|out| {
                result = write(out);
                Ok(())
            })
            .with_context(failed)?;
            result.and_then(|()| Ok(file.commit()?))
        }
    };
    progress.finish_and_clear();
    written.map_err(|error| match error {
        TimelineError::NoTimes(_) => {
            BadInput(format!("{}: {error}", args.trace.path.display())).into()
        }
        TimelineError::Trace(error) => bad(error),
        TimelineError::Io(error) => error.into(),
    })
}
