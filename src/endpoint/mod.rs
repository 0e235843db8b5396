//! The host API: an endpoint with its own emulated NIC, communicators, receives, probes and
//! senders.
//!
//! An [`Endpoint`] is one MPI process's receiving side. It owns a NIC and the NIC's threads
//! ([`Drive`]); one thread at a time calls it. [`CommSender`]s represent the other processes and
//! work from any thread. Each method names the MPI call it corresponds to, with the section of MPI
//! 4.1.
//!
//! | MPI | here |
//! |---|---|
//! | `MPI_Comm_dup_with_info`, `MPI_Comm_free` | [`Endpoint::create_comm`], [`Endpoint::free_comm`] |
//! | `MPI_Send`, `MPI_Isend`, `MPI_Issend` | [`CommSender::send`], [`CommSender::isend`], [`CommSender::issend`] |
//! | `MPI_Irecv`, `MPI_Recv` | [`Endpoint::post_recv`], [`Endpoint::recv`] |
//! | `MPI_Test`, `MPI_Wait` and their families | [`Endpoint::test`], [`Endpoint::wait`], `wait_all`, `wait_any`, `wait_some`, `test_some` |
//! | `MPI_Iprobe`, `MPI_Probe` | [`Endpoint::iprobe`], [`Endpoint::probe`] |
//! | `MPI_Improbe`, `MPI_Mprobe`, `MPI_Mrecv`, `MPI_Imrecv` | [`Endpoint::improbe`], [`Endpoint::mprobe`], [`Endpoint::mrecv`], [`Endpoint::imrecv`] |
//! | `MPI_Cancel`, `MPI_Request_free` | [`Endpoint::cancel`], [`Endpoint::release`] |
//! | `MPI_Recv_init`, `MPI_Start` | [`PersistentRecv`] |
//! | `MPI_ANY_SOURCE`, `MPI_ANY_TAG` | [`SourceSel::Any`](crate::SourceSel::Any), [`TagSel::Any`](crate::TagSel::Any) |
//! | many sources, several threads | [`Shards`] |
//! | `MPI_REQUEST_NULL` | `None` instead of a [`RecvRequest`] |
//!
//! **Buffers.** A receive's buffer moves in when the receive is posted and comes back when the
//! receive ends: received, truncated, cancelled or refused. Only a NIC that stopped by itself keeps
//! the buffers it held.
//!
//! **Progress.** With [`Drive::Caller`] the NIC runs only inside the calls of the endpoint; with
//! [`Drive::Threads`] it has its own threads. Every call that waits polls
//! ([`Wait`](crate::Wait)), and ends with an error when the NIC has stopped.
//!
//! ```
//! use dpamatch::endpoint::{Endpoint, EndpointConfig};
//! use dpamatch::{Hints, Rank, SourceSel, Tag};
//!
//! let mut endpoint = Endpoint::new(&EndpointConfig::default())?;
//! let world = endpoint.create_comm(Hints::default())?;
//! let request = endpoint.post_recv(&world, SourceSel::Any, Tag::new(7)?, vec![0; 64])?;
//! let mut peer = endpoint.sender(&world, Rank::new(3)?);
//! peer.send(Tag::new(7)?, b"hello")?;
//! let received = endpoint.wait(request)?;
//! assert_eq!((received.status.source, received.bytes()), (Rank::new(3)?, &b"hello"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod base;
mod cancel;
mod communicator;
mod complete;
mod config;
mod driver;
mod error;
mod order_log;
mod persistent;
mod pin;
mod probe;
mod receive;
mod request;
mod runner;
mod send;
mod shards;
mod status;

pub use base::Endpoint;
pub use communicator::Communicator;
pub use config::{Drive, EndpointConfig};
pub use error::{BusyReason, EndpointError, FreeError, PostError, RecvError, Stopped};
pub use order_log::{LogEntry, Mismatch, replay};
pub use persistent::PersistentRecv;
pub use pin::PinFailure;
pub use probe::MatchedMessage;
pub use request::RecvRequest;
pub use send::{CommSender, SendRequest};
pub use shards::{SOURCES_DEALT, ShardedCommunicator, Shards};
pub use status::{Received, Status};
