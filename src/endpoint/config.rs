//! The configuration of an endpoint.

use dpa_model::NicConfig;

/// Who runs the emulated NIC.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Drive {
    /// The calling thread runs it inside the endpoint's calls, and nothing happens between them.
    /// `NicConfig::workers` has no effect.
    #[default]
    Caller,
    /// `NicConfig::workers` threads.
    Threads {
        /// Processor numbers: worker w is pinned to entry w modulo the length. Empty: no pinning.
        pin_to: Vec<usize>,
    },
}

impl Drive {
    /// Threads that the system may place as it likes.
    pub fn threads() -> Self {
        Self::Threads { pin_to: Vec::new() }
    }
}

/// The configuration of an endpoint.
///
/// # Examples
/// ```
/// use dpamatch::NicConfig;
/// use dpamatch::endpoint::{Drive, Endpoint, EndpointConfig};
///
/// // Two threads run blocks of up to 16 handlers, behind 64 descriptors.
/// let nic = NicConfig { handlers: 16, receives: 64, workers: 2, ..NicConfig::default() };
/// let endpoint = Endpoint::new(&EndpointConfig { nic, drive: Drive::threads() })?;
/// assert!(!endpoint.is_stopped());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EndpointConfig {
    /// The NIC. `options.order` has no effect: in an endpoint the NIC always chooses the order.
    pub nic: NicConfig,
    /// Who runs it.
    pub drive: Drive,
}
