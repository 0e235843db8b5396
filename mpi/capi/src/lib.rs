//! The endpoint API of dpamatch for C: `libdpamatch` and `dpamatch.h`, which cbindgen makes from
//! this crate.
//!
//! Every function returns a code; what went wrong stands in words in [`dpamatch_last_error`]. No
//! panic gets out: the call returns [`DPAMATCH_ERR_INTERNAL`]. The endpoint stays usable, unless
//! the emulated NIC itself panicked: that NIC has stopped, and calls return
//! [`DPAMATCH_ERR_STOPPED`].
//!
//! - `code`: codes and words.
//! - `endpoint`, `communicator`: created, driven, ended.
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
