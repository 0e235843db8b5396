//! Random schedules of the NIC's real handlers, each handler on a worker of its own.
//!
//! The handlers are those of `dpa_model`: the same source files, built with another arm of their
//! one door to atomics, so that every access to shared state is a point at which a seeded scheduler
//! may let another handler move. A seed fixes the schedule, so whatever a run shows can be shown
//! again.
//!
//! What this cannot show: effects of weak memory, since every access is sequentially consistent
//! here (loom explores those), and that a violation does not exist.
#![forbid(unsafe_code)]

mod run;
mod schedule;
mod story;

use dpamatch_vocabulary::Operation;

pub use dpa_model_explore::FastPath;
pub use run::{Report, Run, Violation, explore};
pub use story::{Step, tell};

/// The rules that can be taken out of the handlers: name, and what is then broken.
pub fn faults() -> impl Iterator<Item = (String, &'static str)> {
    dpa_model_explore::Fault::ALL.iter().map(|fault| (kebab(&format!("{fault:?}")), fault.about()))
}

/// Takes a rule out of the handlers for the rest of the process. `false`: there is no such rule, or
/// one was chosen before.
pub fn break_rule(name: &str) -> bool {
    let found =
        dpa_model_explore::Fault::ALL.iter().find(|fault| kebab(&format!("{fault:?}")) == name);
    found.is_some_and(|&fault| dpa_model_explore::choose_fault(fault))
}

/// `ForcingIgnored` as `forcing-ignored`.
fn kebab(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

/// What is explored.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The stream, in its order: posts, arrivals and cancels. Communicators are numbered from 0.
    pub operations: Vec<Operation>,
    /// Handlers of a block, `1..=64`, each on a worker of its own.
    pub handlers: usize,
    /// Bins of each hash table.
    pub bins: usize,
    /// Entry rule of the fast path.
    pub fast_path: FastPath,
    /// Skip receives that a lower handler booked.
    pub early_check: bool,
    /// Remove consumed receives at once, waiting for the bin's lock.
    pub eager_removal: bool,
}

/// What a stream must come to, in any schedule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ending {
    /// Receive and message of each match, sorted.
    pub matches: Vec<(u64, u64)>,
    /// Receives left, sorted.
    pub posted: Vec<u64>,
    /// Messages left, in arrival order in each communicator.
    pub unexpected: Vec<u64>,
}
