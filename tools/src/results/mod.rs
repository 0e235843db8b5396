//! Results as programs read them: what a document holds, and what moved between two of them.
//!
//! The page `docs/results.md` describes the documents, `docs/schema/results-1.json` is their
//! schema.
//! [`Document`] reads one; [`compare`] says which figures of two documents differ, with an interval
//! where they were measured in rounds.

mod compare;
mod direction;
mod document;
mod rank_sum;

pub use compare::{Change, Comparison, Rule, Verdict, compare};
pub use direction::{Better, better};
pub use document::{Descriptor, Document, DocumentError, Figure, Mismatch, SCHEMA, snake_case};
pub use rank_sum::{Interval, ratio};
