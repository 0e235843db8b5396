//! Predicts message rates on a DPA: the handlers of `dpa_model` run in virtual time.
#![deny(unsafe_code)]
#![allow(
    missing_docs,
    reason = "internal: names speak, docs add what names cannot"
)]

pub mod calibrate;
mod chrome;
pub mod figure8;
mod limits;
pub mod machine;
mod predict;
mod profile;
pub mod sdr;
pub mod sensitivity;
mod sequence;
mod simulate;
mod steps;
mod story;
mod workload;

pub use chrome::write_chrome;
pub use dpa_model_predict::{Domains, HANDLERS_MAX, Removal};
pub use limits::{Gain, Limit, limits};
pub use machine::{Accesses, Eu, Issue, Level, LineKind, Outcome, Phase, Picos, Span, Time};
pub use predict::{Offer, Prediction, band, predict, series};
pub use profile::{
    Arrival, Barrier, BlockBegin, BlockEnd, Driver, Eus, Host, Instructions, Memory, Nic, Overlap,
    Placement, Profile, ProfileError, Rules, Word, Work, override_text,
};
pub use sequence::Sequence;
pub use simulate::{FastPath, Part, Setup, SimulateError, simulate};
pub use story::story;
pub use workload::{Pattern, Senders};

pub const WINDOW_MAX: usize = 65_536;
