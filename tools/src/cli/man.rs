use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Command, CommandFactory};

use super::staged::StagedFolder;
use super::{Cli, output};

/// Print the manual page, or write the pages of all commands
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/man.txt").trim_end())]
pub struct Args {
    /// Write a page for each command into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    write(args, Cli::command())
}

/// Writes the pages of this program.
///
/// # Errors
/// The pages cannot be written.
pub fn write(args: &Args, program: Command) -> anyhow::Result<()> {
    let Some(folder) = &args.out else {
        let mut out = output::stdout();
        clap_mangen::Man::new(program.disable_help_subcommand(true)).render(&mut out)?;
        return Ok(out.flush()?);
    };
    let write = || {
        let staged = StagedFolder::new(folder)?;
        clap_mangen::generate_to(program, staged.path())?;
        staged.commit()
    };
    write().with_context(|| format!("cannot write into {}", folder.display()))
}
