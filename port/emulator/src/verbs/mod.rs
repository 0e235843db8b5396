//! The part of libibverbs and mlx5dv that host parts use: one device, protection domains, memory
//! regions, and steering rules.

/// Calls that take back what the host got as a box, or null.
macro_rules! take_back {
    ($($call:ident: $thing:ty;)+) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $call(thing: *mut $thing) -> std::ffi::c_int {
            if !thing.is_null() {
                // SAFETY: the host gives back what it got.
                drop(unsafe { Box::from_raw(thing) });
            }
            0
        }
    )+};
}

mod device;
mod steering;

pub(crate) use device::{free_pd, new_pd};
pub(crate) use steering::Steering;
