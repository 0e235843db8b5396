use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, output};

const EXAMPLES: &str = "\
Examples:
  dpamatch completions bash > ~/.local/share/bash-completion/completions/dpamatch
  dpamatch completions fish > ~/.config/fish/completions/dpamatch.fish
  dpamatch completions zsh > _dpamatch           into a folder of $fpath";

/// Print a shell's completions of commands, options and values
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
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
