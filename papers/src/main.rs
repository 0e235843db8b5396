//! The command `dpamatch-papers`; [`cli`] has its subcommands.
#![forbid(unsafe_code)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
