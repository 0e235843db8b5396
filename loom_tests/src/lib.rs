//! Model checks of `dpa_model`'s real code: loom runs every interleaving of a few threads, and
//! every value that the memory orderings allow a load to see.
//!
//! **Without `--cfg dpamatch_loom` this package is empty**: no function, no test, no dependency on
//! loom. Success without models proves nothing, so `cargo xtask test` fails if it counts no model.
//! By hand:
//!
//! ```text
//! RUSTFLAGS="--cfg dpamatch_loom -C debug-assertions" \
//!     cargo test -p loom_tests --profile models --target-dir target/loom --tests -- --nocapture
//!     --test-threads=1
//! ```
//!
//! `README.md` in this folder lists what each model proves, and to what bound.
//!
//! A model is a test in `tests/<subject>.rs` below `#![cfg(dpamatch_loom)]`. It hands its closure
//! to `check`, which counts the executions and prints one line for `cargo xtask test` to add up:
//!
//! ```text
//! loom: <model>: <N> executions, <exhaustive|bounded K>
//! ```

#![cfg(dpamatch_loom)]

mod check;
pub mod model;
pub mod paths;
pub mod race;
mod story;
pub mod stream;
pub mod table;

pub use check::{check, explore, report};
pub use loom::thread as threads;
