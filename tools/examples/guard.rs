//! Runs a command, and ends its processes if it fails, exceeds its time or is interrupted. It is
//! for
//! `cargo xtask mpi`, and no part of `dpamatch`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use dpamatch_tools::cli::{guard, program};

#[derive(clap::Parser)]
#[command(name = "guard")]
struct Guard {
    #[command(flatten)]
    args: guard::Args,
}

fn main() -> ExitCode {
    program::main(|guard: Guard| guard::run(&guard.args))
}
