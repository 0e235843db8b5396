//! What an endpoint is built from.

use dpa_model::NicConfig;

use crate::registry::Fallback;

/// Who runs the emulated NIC.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Drive {
    /// The calling thread, inside the endpoint's calls: no other thread, and nothing happens
    /// between calls. `NicConfig::workers` does not matter then.
    #[default]
    Caller,
    /// `NicConfig::workers` threads.
    Threads {
        /// Processors for the workers, by number: worker w is pinned to entry w, round and round.
        /// Empty: not pinned.
        pin_to: Vec<usize>,
    },
}

impl Drive {
    /// Threads that the system may place as it likes.
    pub fn threads() -> Self {
        Self::Threads { pin_to: Vec::new() }
    }
}

/// What an endpoint is built from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EndpointConfig {
    /// The NIC. Its `options.order` is not used: an endpoint always lets the NIC give the order.
    pub nic: NicConfig,
    /// Who runs it.
    pub drive: Drive,
    /// The software engine that takes over what does not fit on the NIC.
    pub fallback: Fallback,
}
