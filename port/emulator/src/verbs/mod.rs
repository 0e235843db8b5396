//! The part of libibverbs and mlx5dv that host parts use: one device, protection domains, memory
//! regions, and steering rules.

mod device;
mod steering;

pub(crate) use device::new_pd;
pub(crate) use steering::Steering;
