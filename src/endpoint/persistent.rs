//! Receives that are started again and again with the same arguments and the same buffer.

use std::sync::Arc;

use dpamatch_vocabulary::{CommId, Selector, SourceSel, TagSel};

use super::base::Endpoint;
use super::communicator::Communicator;
use super::error::{PostError, RecvError, Stopped};
use super::request::RecvRequest;
use super::status::{Received, Status};

/// A persistent receive: `MPI_Recv_init` (MPI 4.1, section 3.9). It matches anew at each start.
/// Dropping it (`MPI_Request_free`) leaves an active receive posted, as dropping a [`RecvRequest`]
/// does.
///
/// # Examples
/// ```
/// use dpamatch::endpoint::{Endpoint, EndpointConfig};
/// use dpamatch::{Hints, Rank, Tag};
///
/// let mut endpoint = Endpoint::new(&EndpointConfig::default())?;
/// let world = endpoint.create_comm(Hints::default())?;
/// let (source, tag) = (Rank::new(3)?, Tag::new(7)?);
/// let mut receive = endpoint.recv_init(&world, source, tag, vec![0; 64])?;
/// for text in ["once", "again"] {
///     receive.start(&mut endpoint)?;
///     endpoint.sender(&world, source).try_send(tag, text.as_bytes())?;
///     let status = receive.wait(&mut endpoint).expect("it is active")?;
///     assert_eq!(&receive.buffer()[..status.bytes], text.as_bytes());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PersistentRecv {
    endpoint: u64,
    comm: CommId,
    selector: Selector,
    /// While inactive.
    buffer: Vec<u8>,
    /// While active.
    request: Option<RecvRequest>,
    /// Keeps the communicator from being freed.
    _lease: Arc<()>,
}

impl Endpoint {
    /// Makes an inactive persistent receive: `MPI_Recv_init` (MPI 4.1, section 3.9).
    ///
    /// # Errors
    /// [`PostError::WildcardExcluded`], with the buffer.
    pub fn recv_init(
        &mut self,
        comm: &Communicator,
        source: impl Into<SourceSel>,
        tag: impl Into<TagSel>,
        buffer: Vec<u8>,
    ) -> Result<PersistentRecv, PostError> {
        self.check_own(comm.endpoint);
        let selector = Selector::new(source, tag);
        if !comm.allows(selector) {
            return Err(PostError::WildcardExcluded(buffer));
        }
        let _lease = comm.lease.clone();
        Ok(PersistentRecv {
            endpoint: self.name,
            comm: comm.id,
            selector,
            buffer,
            request: None,
            _lease,
        })
    }
}

impl PersistentRecv {
    /// Posts the receive: `MPI_Start` (MPI 4.1, section 3.9). A receive that is already active
    /// stays as it is.
    ///
    /// # Errors
    /// [`Stopped`].
    ///
    /// # Panics
    /// When it belongs to another endpoint.
    pub fn start(&mut self, endpoint: &mut Endpoint) -> Result<(), Stopped> {
        endpoint.check_own(self.endpoint);
        if self.request.is_some() {
            return Ok(());
        }
        let buffer = std::mem::take(&mut self.buffer);
        match endpoint.post(self.comm, self.selector, buffer) {
            Ok(request) => {
                self.request = Some(request);
                Ok(())
            }
            Err(buffer) => {
                self.buffer = buffer;
                Err(Stopped)
            }
        }
    }

    /// Starts all: `MPI_Startall` (MPI 4.1, section 3.9), in their order.
    ///
    /// # Errors
    /// [`Stopped`].
    ///
    /// # Panics
    /// When one belongs to another endpoint; none is started then.
    pub fn start_all(all: &mut [Self], endpoint: &mut Endpoint) -> Result<(), Stopped> {
        for receive in all.iter() {
            endpoint.check_own(receive.endpoint);
        }
        all.iter_mut()
            .try_for_each(|receive| receive.start(endpoint))
    }

    /// The status, if the receive has ended since its start: `MPI_Test`. `None` while it runs, and
    /// when it is inactive.
    ///
    /// # Errors
    /// [`RecvError`] inside the result, without the buffer: that is in [`buffer`](Self::buffer)
    /// again.
    ///
    /// # Panics
    /// When it belongs to another endpoint; it then stays as it was.
    pub fn test(&mut self, endpoint: &mut Endpoint) -> Option<Result<Status, RecvError>> {
        endpoint.check_own(self.endpoint);
        let result = endpoint.test(&mut self.request)?;
        Some(self.keep_buffer(result))
    }

    /// Waits for the started receive: `MPI_Wait`. `None` when it is inactive.
    ///
    /// # Errors
    /// The errors of [`test`](Self::test).
    ///
    /// # Panics
    /// When it belongs to another endpoint; it then stays as it was.
    pub fn wait(&mut self, endpoint: &mut Endpoint) -> Option<Result<Status, RecvError>> {
        endpoint.check_own(self.endpoint);
        let result = endpoint.wait(self.request.take()?);
        Some(self.keep_buffer(result))
    }

    /// Cancels the started receive: `MPI_Cancel`; see [`Endpoint::cancel`]. Does nothing when it is
    /// inactive.
    ///
    /// # Errors
    /// [`Stopped`].
    ///
    /// # Panics
    /// When it belongs to another endpoint.
    pub fn cancel(&self, endpoint: &mut Endpoint) -> Result<(), Stopped> {
        endpoint.check_own(self.endpoint);
        self.request
            .as_ref()
            .map_or(Ok(()), |request| endpoint.cancel(request))
    }

    /// Whether the receive is active: started, and its result not collected.
    pub fn is_active(&self) -> bool {
        self.request.is_some()
    }

    /// The buffer with the last message; empty while the receive is active.
    pub fn buffer(&self) -> &[u8] {
        &self.buffer
    }

    fn keep_buffer(&mut self, result: Result<Received, RecvError>) -> Result<Status, RecvError> {
        let error = match result {
            Ok(Received { buffer, status }) => {
                self.buffer = buffer;
                return Ok(status);
            }
            Err(error) => error,
        };
        match error {
            RecvError::Truncated {
                received: Received { buffer, status },
                sent,
            } => {
                self.buffer = buffer;
                Err(RecvError::Truncated {
                    received: Received {
                        buffer: Vec::new(),
                        status,
                    },
                    sent,
                })
            }
            RecvError::Cancelled(buffer) => {
                self.buffer = buffer;
                Err(RecvError::Cancelled(Vec::new()))
            }
            other => Err(other),
        }
    }
}
