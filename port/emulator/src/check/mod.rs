//! What programs do wrong, as one line each on standard error.
//!
//! Lines of the device part name process, thread and activation. A line that repeats is counted:
//! only the first of a thread is written.

mod report;

pub(crate) use report::{Fault, device, line};
