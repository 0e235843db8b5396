//! Results as programs read them: documents and the differences between two of them.
//!
//! `docs/results.md` describes the documents; their schema is `docs/schema/results-1.json`.
//! [`Document`] reads one. [`compare`] finds the figures that differ, with intervals for figures
//! measured in rounds.

mod compare;
mod direction;
mod document;
mod rank_sum;

pub use compare::{Change, Comparison, Rule, Verdict, compare};
pub use direction::{Better, better};
pub use document::{Descriptor, Document, DocumentError, Figure, Mismatch, SCHEMA, snake_case};
pub use rank_sum::{Interval, ratio};
