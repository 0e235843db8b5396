//! The endpoint API of dpamatch for C: `libdpamatch` and `dpamatch.h`, which cbindgen makes from
//! this crate.
//!
//! Every function returns a code; [`dpamatch_last_error`] describes the last error. A panic does
//! not reach C: the call returns [`DPAMATCH_ERR_INTERNAL`]. The endpoint stays usable unless the
//! emulated NIC itself panicked. Then the NIC has stopped, and calls return
//! [`DPAMATCH_ERR_STOPPED`].
//!
//! - `code`: codes and error messages.
//! - `endpoint`, `communicator`: creation, progress, destruction.
//! - `receive`, `probe`: the receiving side.
//! - `send`: senders, for any thread.

mod code;
mod communicator;
mod endpoint;
mod probe;
mod receive;
mod send;
mod status;

pub use code::*;
pub use communicator::*;
pub use endpoint::*;
pub use probe::*;
pub use receive::*;
pub use send::*;
pub use status::*;

#[cfg(test)]
mod tests;
