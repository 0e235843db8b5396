//! What programs do wrong, as one line each on standard error.
//!
//! The compiler announces each access of the device part (`hooks`), and `access` judges it.
//!
//! Lines of the device part name process, thread and activation. A line that repeats is counted:
//! only the first of a thread is written.

mod access;
mod hooks;
mod report;

pub(crate) use access::{Watch, announce};
pub(crate) use report::{Fault, device, line};
