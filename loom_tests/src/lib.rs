//! Model checks of `dpa_model`'s real code: loom runs every interleaving of a few threads, and
//! every value that the memory orderings allow a load to see.
//!
//! `cargo xtask model` builds and runs the models. **Without `--cfg dpamatch_loom` this package is
//! empty**, and its tests need the feature `models`: cargo refuses to run one without it. Success
//! without models proves nothing, so `cargo xtask test` fails if it counts no model.
//!
//! `README.md` in this folder lists what each model proves, and to what bound.
//!
//! A model is a test in `tests/<subject>.rs` below `#![cfg(dpamatch_loom)]`. It hands its closure
//! to `check`, which counts the executions and prints one line for `cargo xtask test` to add up:
//!
//! ```text
//! loom: <model>: <N> executions, <exhaustive|bounded K>
//! ```

#![cfg(any(dpamatch_loom, feature = "models"))]

#[cfg(not(dpamatch_loom))]
compile_error!("the models need `--cfg dpamatch_loom`: run them by `cargo xtask model`");

mod check;
pub mod model;
pub mod paths;
pub mod race;
mod story;
pub mod stream;

pub use check::{check, explore, report};
pub use loom::thread as threads;
