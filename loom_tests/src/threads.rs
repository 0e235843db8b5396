//! Threads of the tool that runs the model.

#[cfg(dpamatch_loom)]
pub use loom::thread::{JoinHandle, spawn};
#[cfg(all(dpamatch_shuttle, not(dpamatch_loom)))]
pub use shuttle::thread::{JoinHandle, spawn};
