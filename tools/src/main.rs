//! The command `dpamatch`; [`dpamatch_tools::cli`] has its subcommands.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    dpamatch_tools::cli::main()
}
