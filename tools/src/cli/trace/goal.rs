use std::path::PathBuf;

use anyhow::Context;
use dpamatch_tools::analyze::goal;
use dpamatch_traces::OpenOptions;

use super::super::output;
use super::super::staged::StagedFile;
use super::{CollectivesArgs, load};

/// Write sends, receives, waits and computations as GOAL, the input of LogGOPSim
///
/// All commands for traces read such a text by its name, FILE.goal. A note names what GOAL cannot
/// say.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder, archive, .meta file, rank file, or folder with order logs
    #[arg(value_name = "TRACE")]
    path: PathBuf,
    /// Read the intact part of broken files
    #[arg(long)]
    salvage: bool,
    #[command(flatten)]
    collectives: CollectivesArgs,
    /// Write into this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let options = OpenOptions {
        salvage: args.salvage,
        ..OpenOptions::default()
    };
    let run = load(&args.path, options, args.collectives, "ranks read")?;
    let left_out = match &args.out {
        None => {
            let mut out = output::stdout();
            let left_out = goal(&run, &mut *out)?;
            std::io::Write::flush(&mut *out)?;
            left_out
        }
        Some(path) => {
            let failed = || format!("cannot write {}", path.display());
            let mut file = StagedFile::new(path).with_context(failed)?;
            let mut left_out = Default::default();
            file.fill(|out| {
                left_out = goal(&run, out)?;
                Ok(())
            })
            .with_context(failed)?;
            file.commit().with_context(failed)?;
            left_out
        }
    };
    for (what, times) in left_out {
        eprintln!("note: not in the GOAL text: {times} {what}");
    }
    Ok(())
}
