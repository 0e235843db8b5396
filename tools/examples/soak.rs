//! Random traffic through an endpoint for as long as one likes, every message and every match
//! checked.
//!
//! ```text
//! cargo run --release --example soak -- --messages 100000000
//! ```

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use dpamatch_tools::soak::{self, Fault, Progress, Report, Settings};

/// Sends checked random traffic through the emulated NIC, free running.
#[derive(Parser, Debug)]
#[command(
    name = "soak",
    after_help = "Example: soak --messages 5000000 --senders 2 --workers 4 --seed 7"
)]
struct Arguments {
    /// Messages of all senders together.
    #[arg(long, default_value_t = Settings::default().messages)]
    messages: u64,
    /// Let the senders stop after this many seconds.
    #[arg(long)]
    seconds: Option<u32>,
    /// Fixes what senders and receiver do.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Sender threads.
    #[arg(long, default_value_t = Settings::default().senders)]
    senders: usize,
    /// Threads that run the NIC.
    #[arg(long, default_value_t = Settings::default().nic.workers)]
    workers: usize,
    /// Receive descriptors of the NIC.
    #[arg(long, default_value_t = Settings::default().nic.receives)]
    receives: usize,
    /// Unexpected messages that the NIC can hold.
    #[arg(long, default_value_t = Settings::default().nic.unexpected)]
    unexpected: usize,
}

impl Arguments {
    fn settings(&self) -> Settings {
        let mut settings = Settings {
            messages: self.messages,
            time_max: self.seconds.map(|seconds| Duration::from_secs(seconds.into())),
            seed: self.seed,
            senders: self.senders,
            ..Settings::default()
        };
        settings.nic.workers = self.workers;
        settings.nic.receives = self.receives;
        settings.nic.unexpected = self.unexpected;
        settings.nic.unexpected_buffers = settings.nic.unexpected_buffers.min(self.unexpected);
        settings
    }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn show(progress: &Progress) {
    let seconds = progress.elapsed.as_secs_f64();
    let rate = progress.received as f64 / seconds / 1e6;
    let memory = progress
        .memory_bytes
        .map_or(String::new(), |bytes| format!(", {:.1} MiB", mebibytes(bytes)));
    eprint!("\r{seconds:7.0} s  {:12} messages  {rate:.2} M/s{memory}   ", progress.received);
}

fn print(report: &Report) {
    let (nic, software) = (&report.counts, &report.software);
    println!(
        "{} messages in {:.1} s: {:.3} million per second",
        report.received,
        report.elapsed.as_secs_f64(),
        report.rate_per_s() / 1e6
    );
    println!(
        "order log: {} events, all as the oracle says; both queues were emptied {} times",
        report.log_entries, report.breaks
    );
    println!(
        "truncated {}, taken by matched probes {}, receives cancelled {}",
        report.truncated, report.taken, report.cancelled
    );
    if let Some((before, after)) = report.memory_bytes {
        println!(
            "resident memory: {:.1} MiB after a tenth, {:.1} MiB at the end",
            mebibytes(before),
            mebibytes(after)
        );
    }
    println!(
        "software: {} receives, {} messages, {} matches",
        software.posts, software.arrivals, software.matches
    );
    for (name, value) in
        nic.boundary.rows().chain(nic.handlers.rows()).filter(|(_, value)| *value > 0)
    {
        println!("  {name} {value}");
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result: Result<Report, Fault> = soak::run(&arguments.settings(), &mut show);
    eprintln!();
    let result = result.and_then(|report| {
        print(&report);
        report.check_memory()
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("soak: {fault} (seed {})", arguments.seed);
            ExitCode::FAILURE
        }
    }
}
