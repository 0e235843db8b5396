//! The host.
#![forbid(unsafe_code)]
