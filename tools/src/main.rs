//! The command `dpamatch`. Its subcommands are modules of [`cli`].
#![forbid(unsafe_code)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
