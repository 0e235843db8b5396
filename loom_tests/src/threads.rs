//! Threads of the model checker.

#[cfg(dpamatch_loom)]
pub use loom::thread::{JoinHandle, ThreadId, current, spawn};
#[cfg(all(dpamatch_shuttle, not(dpamatch_loom)))]
pub use shuttle::thread::{JoinHandle, ThreadId, current, spawn};
