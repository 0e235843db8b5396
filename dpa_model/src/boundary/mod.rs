//! Between two blocks, and only there: posts, cancels and probes are admitted, labels given,
//! consumed descriptors recycled, and the next block is cut (S12). One thread, the leader, does all
//! of it.

mod admit;
mod finish;
mod leader;

pub use leader::{Leader, Round, Worker};
