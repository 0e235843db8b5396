use std::io::Write;

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::{Cli, output};

/// Print a shell's completions of commands, options and values
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/completions.txt").trim_end())]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    write(args, Cli::command())
}

/// Prints the completions of this program.
///
/// # Errors
/// Standard output cannot be written.
pub fn write(args: &Args, mut program: Command) -> anyhow::Result<()> {
    let name = program.get_name().to_owned();
    // Writing into memory cannot fail.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, name, &mut script);
    let mut out = output::stdout();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
