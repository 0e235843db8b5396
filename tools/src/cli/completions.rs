use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, output};

/// Print a shell's completions of commands, options and values
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/completions.txt").trim_end())]
pub(super) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    // Writing into memory cannot fail.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "dpamatch", &mut script);
    let mut out = output::stdout();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
