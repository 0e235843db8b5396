//! A data-path accelerator in virtual time.
//!
//! The handlers of `dpa_model` run here as coroutines, one per execution unit (EU), on one thread
//! of the system. Each has a clock of its own. Whatever costs time on a DPA is *charged*
//! ([`charge`]): the clock of the EU moves on by the latency of the memory level that holds the
//! line, by the hand-over of a contended word, by the instructions of a phase. Before an access to
//! shared state a coroutine whose clock is not the least gives way to the one whose is ([`run`]),
//! so shared accesses happen in the order of virtual time, and a switch happens only when that
//! order demands one. A waiting coroutine is not polled: it sleeps until another one stores to the
//! word that it read last. The card's atomics call the machine around each access
//! ([`Hooks`](dpa_model_predict::virtual_time::Hooks)).
//!
//! Nothing here knows of matching. Times are whole picoseconds, and nothing depends on addresses or
//! on the system's clock, so the same parameters give the same run.

pub mod charge;
mod contention;
mod costs;
mod eu;
mod memory;
mod state;
mod steps;
mod tasks;

pub use contention::stretch;
pub use costs::{BlockEnd, Costs, Layout, Level, Overlap, Placement, Rules, Work};
pub use eu::{Accesses, Eu, Kind, Phase, Span, Time};
pub use state::{Machine, Outcome, Schedule};
pub use steps::{Between, Steps};
pub use tasks::{Stop, here, off_clock, pause, run};

/// Virtual time in picoseconds.
pub type Picos = u64;

/// Nanoseconds as picoseconds, rounded.
///
/// # Examples
/// ```
/// assert_eq!(dpamatch_predict::machine::picos(0.5), 500);
/// ```
pub fn picos(nanoseconds: f64) -> Picos {
    (nanoseconds * 1e3).round() as Picos
}
