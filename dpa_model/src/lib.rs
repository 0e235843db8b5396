//! The NIC.
#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

mod envelope;

pub use envelope::*;
