//! The network channel: the emulated NIC's completion queue and bounce buffers. The NIC does no
//! matching here, because all channels share one matcher on the host.

use dpa_model::{ConfigError, Data, Drain, Nic, NicConfig, Sender};
use dpamatch_vocabulary::{CommId, Rank};

use super::packet::{HEADER_BYTES, Packet, RemotePeer};

/// The receiver's end of the wire.
#[derive(Debug)]
pub struct Network {
    drain: Drain,
    sender: Sender,
}

impl Network {
    /// A wire with this configuration's queue and bounce buffers.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn new(config: &NicConfig) -> Result<Self, ConfigError> {
        let nic = Nic::new(config)?;
        Ok(Self { drain: Drain::new(nic.leader), sender: nic.sender })
    }

    /// A process on another node.
    pub fn connect(&self, rank: Rank, comm: CommId) -> RemotePeer {
        RemotePeer::new(rank, comm, self.sender.clone())
    }

    /// Takes the next message off the completion queue.
    pub fn poll(&mut self) -> Option<Packet> {
        self.drain.next(|envelope, data| {
            let bytes = match data {
                Data::Eager(bytes) => bytes.to_vec(),
                // No peer uses rendezvous; dropping it returns the sender's buffer.
                Data::Rendezvous(remote) => {
                    remote.read(&mut []);
                    Vec::new()
                }
            };
            let header = bytes.first_chunk::<HEADER_BYTES>().copied().unwrap_or_default();
            let payload = bytes.get(HEADER_BYTES..).unwrap_or_default().to_vec();
            Packet { sequence: u64::from_le_bytes(header), envelope, payload }
        })
    }
}
