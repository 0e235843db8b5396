//! The network channel: the emulated NIC's completion queue and bounce buffers, without its
//! matching: here all channels share one matcher on the host.

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
    /// A wire with the queue and bounce buffers of this configuration.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn new(config: &NicConfig) -> Result<Self, ConfigError> {
        let nic = Nic::new(config)?;
        Ok(Self { drain: Drain::new(nic.leader), sender: nic.sender })
    }

    /// A process of another node.
    pub fn connect(&self, rank: Rank, comm: CommId) -> RemotePeer {
        RemotePeer::new(rank, comm, self.sender.clone())
    }

    /// Takes the next message off the completion queue.
    pub fn poll(&mut self) -> Option<Packet> {
        self.drain.next(|envelope, data| {
            let bytes = match data {
                Data::Eager(bytes) => bytes.to_vec(),
                // No peer sends so; the sender gets its buffer back.
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
