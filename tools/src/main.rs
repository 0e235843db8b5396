//! The command `dpamatch`; [`cli`] has its subcommands.
#![deny(unsafe_code)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
