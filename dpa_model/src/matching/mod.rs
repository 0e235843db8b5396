//! The optimistic algorithm as phases over a slice of a block (O2).
//!
//! `handler` runs them in order: search and book (`optimistic`), partial barrier (`crate::block`),
//! `detect`, then clean, `fast_path` or slow path, then the `protocol` stage. No phase knows which
//! thread runs it. `alone` is the short form for a block that one worker runs from end to end.

mod alone;
mod detect;
mod fast_path;
mod handler;
mod optimistic;
mod protocol;

pub(crate) use alone::{Matched, run_alone};
pub(crate) use handler::{Scratch, run_slice};
pub(crate) use optimistic::key;
pub(crate) use protocol::deliver_stored;
