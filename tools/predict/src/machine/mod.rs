//! A data-path accelerator in virtual time.
//!
//! The handlers of `dpa_model` run here as coroutines, one per execution unit (EU), on one system
//! thread. Each has its own clock. Every cost on a DPA is *charged* (`charge`): the EU's clock
//! advances by the latency of the memory level that holds the line, by the hand-over of a contended
//! word, by the instructions of a phase.
//!
//! Before an access to shared state a coroutine yields to the one with the least clock ([`run`]).
//! Shared accesses therefore happen in the order of virtual time, with no switch that this order
//! does not demand. A waiting coroutine sleeps until another one stores to the word that it read
//! last. The card's atomics call the machine around each access
//! ([`Hooks`](dpa_model_predict::virtual_time::Hooks)).
//!
//! Only `charge` knows the steps of matching. Times are whole picoseconds, and nothing depends on
//! addresses or the system's clock, so equal parameters give equal runs.

pub(crate) mod charge;
mod contention;
mod costs;
mod eu;
mod memory;
mod outside;
mod state;
mod steps;
mod tasks;

pub use contention::Issue;
pub use costs::{BlockBegin, BlockEnd, Costs, Layout, Level, Overlap, Placement, Rules, Work};
pub use eu::{Accesses, Eu, LineKind, Phase, Span, Time};
pub use state::{Machine, Outcome, Schedule};
pub use steps::{Between, Steps};
pub use tasks::{Stop, here, off_clock, pause, run};

/// Virtual time in picoseconds.
pub type Picos = u64;

/// Nanoseconds as picoseconds, rounded.
pub fn picos(nanoseconds: f64) -> Picos {
    (nanoseconds * 1e3).round() as Picos
}
