//! What programs do wrong, as one line each on standard error.
//!
//! The compiler announces each access of the device part (`hooks`), and `access` judges it.
//!
//! Lines of the device part name process, thread and activation. Each thread writes only the first
//! line of a kind.

mod access;
mod hooks;
pub(crate) mod outcome;
pub(crate) mod race;
mod report;
mod window;
mod writes;

pub(crate) use access::{Watch, announce, ends};
pub(crate) use hooks::{Caller, with_place};
pub(crate) use report::{Fault, device, error, note, note_once};
pub(crate) use window::gone;
