//! The sending side: one handle per rank, usable from any thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dpa_model::{SendError, SendResult, Sender, Wait};
use dpamatch_vocabulary::{CommId, Envelope, Rank, Tag};

use super::base::Endpoint;
use super::communicator::{Communicator, STANDSTILL_POLLS};
use super::driver::Driver;
use super::error::Stopped;

/// A process that sends to an endpoint: its rank in one communicator, and the wire to the NIC.
///
/// Every clone may send from its own thread. The messages of one clone arrive in the order sent;
/// messages of different clones may overtake each other. Messages up to
/// [`eager_limit`](Self::eager_limit) bytes are sent eagerly: copied into the NIC. Longer ones go
/// by rendezvous: the NIC reads the sender's buffer once a receive matches (O21).
///
/// `send`, `isend` and `issend` wait while the receiver is not ready, never for a receive. The
/// endpoint's own thread uses the calls of [`Endpoint`] or those named `try`: the NIC waits for
/// that thread to take results in, so the thread must not wait for the NIC. If it does, the wait
/// ends with [`SendError::OwnThread`] once the NIC has stopped. Its own thread is the one that
/// last used the endpoint.
///
/// # Examples
/// ```
/// use dpamatch::endpoint::{Endpoint, EndpointConfig};
/// use dpamatch::{Hints, Rank, SourceSel, Tag};
///
/// let mut endpoint = Endpoint::new(&EndpointConfig::default())?;
/// let world = endpoint.create_comm(Hints::default())?;
/// let (tag, mut peer) = (Tag::new(7)?, endpoint.sender(&world, Rank::new(3)?));
/// let sending = std::thread::spawn(move || {
///     let request = peer.issend(tag, b"by rendezvous".to_vec()).map_err(|(error, _)| error);
///     request.expect("the receiver takes it").wait()
/// });
/// let received = endpoint.recv(&world, SourceSel::Any, tag, vec![0; 64])?;
/// assert_eq!(received.bytes(), b"by rendezvous");
/// assert_eq!(sending.join().expect("no panic"), Ok(b"by rendezvous".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CommSender {
    sender: Sender,
    comm: CommId,
    source: Rank,
    /// The endpoint's unique number.
    endpoint: u64,
    /// The thread that last used the endpoint.
    driver: Arc<Driver>,
    /// Keeps the communicator from being freed.
    _lease: Arc<()>,
}

impl CommSender {
    pub(super) fn new(
        sender: Sender,
        driver: Arc<Driver>,
        comm: &Communicator,
        source: Rank,
    ) -> Self {
        Self {
            sender,
            comm: comm.id,
            source,
            endpoint: comm.endpoint,
            driver,
            _lease: comm.lease.clone(),
        }
    }

    /// The source rank of its messages.
    pub fn rank(&self) -> Rank {
        self.source
    }

    /// Maximum length of an eager message, in bytes.
    pub fn eager_limit(&self) -> usize {
        self.sender.eager_limit()
    }

    /// Sets whether this sender puts hashes in the headers; otherwise the NIC computes them.
    ///
    /// Source: O26.
    pub fn set_inline_hashes(&mut self, on: bool) {
        self.sender.set_inline_hashes(on);
    }

    /// Makes this sender put wrong hashes in the headers, see [`Sender::set_hash_fault`].
    pub fn set_hash_fault(&mut self, fault: u32) {
        self.sender.set_hash_fault(fault);
    }

    fn envelope(&self, tag: Tag) -> Envelope {
        Envelope {
            comm: self.comm,
            source: self.source,
            tag,
        }
    }

    /// Sends if the receiver is ready. The caller may reuse `bytes` immediately: a message above
    /// the eager limit is copied into its own buffer.
    ///
    /// # Errors
    /// [`SendError`].
    ///
    /// # Complexity
    /// O(bytes); an allocation above the eager limit only.
    #[inline(always)]
    pub fn try_send(&mut self, tag: Tag, bytes: &[u8]) -> Result<(), SendError> {
        if bytes.len() > self.eager_limit() {
            return self.try_send_long(tag, bytes);
        }
        self.sender.try_send(self.envelope(tag), bytes, 0)
    }

    #[inline(never)]
    fn try_send_long(&mut self, tag: Tag, bytes: &[u8]) -> Result<(), SendError> {
        // Without its request the message is still delivered.
        self.try_issend(tag, bytes.to_vec())
            .map(drop)
            .map_err(|(error, _)| error)
    }

    /// Sends, and waits while the receiver is not ready: `MPI_Send` (MPI 4.1, section 3.2.1). Never
    /// waits for a matching receive: a message above the eager limit is copied.
    ///
    /// # Errors
    /// [`SendError::Stopped`]; [`SendError::OwnThread`]; [`SendError::TooLong`] from 4 GiB on.
    pub fn send(&mut self, tag: Tag, bytes: &[u8]) -> Result<(), SendError> {
        if bytes.len() > self.eager_limit() {
            return self
                .issend(tag, bytes.to_vec())
                .map(drop)
                .map_err(|(error, _)| error);
        }
        let envelope = self.envelope(tag);
        let mut standstill = StallDetector::default();
        loop {
            match self.sender.try_send(envelope, bytes, 0) {
                Err(SendError::ReceiverNotReady) => standstill.pause(self)?,
                done => return done,
            }
        }
    }

    /// Sends a buffer without copying it, if the receiver is ready; see [`isend`](Self::isend).
    ///
    /// # Errors
    /// [`SendError`], with the buffer.
    pub fn try_isend(
        &mut self,
        tag: Tag,
        buffer: Vec<u8>,
    ) -> Result<SendRequest, (SendError, Vec<u8>)> {
        if buffer.len() > self.eager_limit() {
            return self.try_issend(tag, buffer);
        }
        match self.sender.try_send(self.envelope(tag), &buffer, 0) {
            Ok(()) => Ok(SendRequest {
                endpoint: self.endpoint,
                state: State::Copied(Some(buffer)),
            }),
            Err(error) => Err((error, buffer)),
        }
    }

    /// Sends a buffer without copying it, unless it is small: `MPI_Isend` (MPI 4.1, section 3.7.2).
    /// The request returns the buffer: immediately if the message was eager, else when the receiver
    /// has read it.
    ///
    /// # Errors
    /// The errors of [`send`](Self::send), with the buffer.
    pub fn isend(
        &mut self,
        tag: Tag,
        buffer: Vec<u8>,
    ) -> Result<SendRequest, (SendError, Vec<u8>)> {
        self.until_ready(buffer, |sender, buffer| sender.try_isend(tag, buffer))
    }

    /// Sends by rendezvous if the receiver is ready; see [`issend`](Self::issend).
    ///
    /// # Errors
    /// [`SendError`], with the buffer.
    pub fn try_issend(
        &mut self,
        tag: Tag,
        buffer: Vec<u8>,
    ) -> Result<SendRequest, (SendError, Vec<u8>)> {
        let envelope = self.envelope(tag);
        let bytes = buffer.len();
        let request = self.sender.try_send_rendezvous(envelope, buffer, 0)?;
        Ok(SendRequest {
            endpoint: self.endpoint,
            state: State::Exposed {
                request,
                bytes,
                driver: self.driver.clone(),
            },
        })
    }

    /// Sends by rendezvous whatever the length: `MPI_Issend` (MPI 4.1, section 3.7.2), since the
    /// request ends only when a receive has matched and read the buffer.
    ///
    /// # Errors
    /// The errors of [`isend`](Self::isend).
    pub fn issend(
        &mut self,
        tag: Tag,
        buffer: Vec<u8>,
    ) -> Result<SendRequest, (SendError, Vec<u8>)> {
        self.until_ready(buffer, |sender, buffer| sender.try_issend(tag, buffer))
    }

    fn until_ready(
        &mut self,
        mut buffer: Vec<u8>,
        mut attempt: impl FnMut(&mut Self, Vec<u8>) -> Result<SendRequest, (SendError, Vec<u8>)>,
    ) -> Result<SendRequest, (SendError, Vec<u8>)> {
        let mut standstill = StallDetector::default();
        loop {
            match attempt(self, buffer) {
                Err((SendError::ReceiverNotReady, back)) => buffer = back,
                done => return done,
            }
            if let Err(error) = standstill.pause(self) {
                return Err((error, buffer));
            }
        }
    }
}

/// A wait for a receiver that is not ready.
#[derive(Debug, Default)]
struct StallDetector {
    wait: Wait,
    /// Messages that the NIC had handled at the last try.
    seen: u64,
}

impl StallDetector {
    /// Pauses after a failed try.
    fn pause(&mut self, sender: &CommSender) -> Result<(), SendError> {
        let now = sender.sender.dealt_with();
        if now != self.seen {
            *self = Self {
                wait: Wait::new(),
                seen: now,
            };
        } else if self.wait.failed_polls() > STANDSTILL_POLLS && sender.driver.is_here() {
            return Err(SendError::OwnThread);
        }
        self.wait.pause();
        Ok(())
    }
}

/// A sent message whose buffer will come back to the sender. If it is dropped, the message is still
/// delivered, and the buffer is freed afterwards.
///
/// # Examples
/// [`CommSender`] has one.
#[derive(Debug)]
pub struct SendRequest {
    /// The number of the endpoint that receives the message.
    endpoint: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Sent eagerly: the buffer is free for reuse. `None`: already returned.
    Copied(Option<Vec<u8>>),
    /// The receiver reads it.
    Exposed {
        request: dpa_model::SendRequest,
        /// Length of the message.
        bytes: usize,
        driver: Arc<Driver>,
    },
}

impl SendRequest {
    /// Returns the buffer once it is free for reuse: `MPI_Test` (MPI 4.1, section 3.7.3). `None`
    /// before that, and after it was returned.
    ///
    /// # Errors
    /// [`SendError::Stopped`] if the endpoint stopped first, [`SendError::NotReceived`] if it
    /// dropped the message; inside the result, with the buffer.
    pub fn test(&mut self) -> Option<SendResult> {
        match &mut self.state {
            State::Copied(buffer) => buffer.take().map(Ok),
            State::Exposed { request, .. } => {
                let result = request.test()?;
                self.state = State::Copied(None);
                Some(result)
            }
        }
    }

    /// Waits for the buffer: `MPI_Wait` (MPI 4.1, section 3.7.3). The endpoint's own thread uses
    /// [`Endpoint::wait_send`]. The buffer is empty if [`test`](Self::test) has returned it.
    ///
    /// # Errors
    /// The errors of [`test`](Self::test). [`SendError::OwnThread`], with an empty buffer, on the
    /// endpoint's own thread once the NIC has had ample time; the message is on its way all the
    /// same. [`wait_mut`](Self::wait_mut) keeps the request in this case.
    pub fn wait(mut self) -> SendResult {
        self.wait_mut()
    }

    /// Waits for the buffer as [`wait`](Self::wait) does, and keeps the request if the wait ends
    /// with [`SendError::OwnThread`]: [`Endpoint::wait_send`] may end it.
    ///
    /// # Errors
    /// The errors of [`wait`](Self::wait).
    pub fn wait_mut(&mut self) -> SendResult {
        let mut wait = Wait::new();
        let mut alone_since = None;
        loop {
            if let Some(result) = self.test() {
                return result;
            }
            let State::Exposed { bytes, driver, .. } = &self.state else {
                return Ok(Vec::new());
            };
            if wait.failed_polls() < STANDSTILL_POLLS || !driver.is_here() {
                alone_since = None;
            } else if alone_since.get_or_insert_with(Instant::now).elapsed() > patience(*bytes) {
                return Err((SendError::OwnThread, Vec::new()));
            }
            wait.pause();
        }
    }

    /// Whether the buffer has been returned.
    fn is_over(&self) -> bool {
        matches!(self.state, State::Copied(None))
    }
}

/// How long the endpoint's own thread waits for the NIC's threads to read a message: far longer
/// than they take, also on a busy machine.
fn patience(bytes: usize) -> Duration {
    const SLOWEST_BYTES_PER_US: usize = 50;
    Duration::from_secs(2) + Duration::from_micros((bytes / SLOWEST_BYTES_PER_US) as u64)
}

impl Endpoint {
    /// Sends to this endpoint from its own thread, making progress while the receiver is not ready;
    /// see also [`CommSender::send`].
    ///
    /// Under back-pressure only this thread can post the receive that relieves the NIC: use
    /// [`CommSender::try_send`] there. This call gives up after some seconds without progress.
    ///
    /// # Errors
    /// [`SendError::Stopped`]; [`SendError::TooLong`] from 4 GiB on; [`SendError::OwnThread`] under
    /// back-pressure.
    ///
    /// # Panics
    /// When the sender belongs to another endpoint.
    pub fn send(
        &mut self,
        sender: &mut CommSender,
        tag: Tag,
        bytes: &[u8],
    ) -> Result<(), SendError> {
        self.check_own(sender.endpoint);
        let mut wait = Wait::new();
        let mut seen = sender.sender.dealt_with();
        let mut idle_since = None;
        loop {
            // Fails with `Stopped` once the NIC has stopped.
            match sender.try_send(tag, bytes) {
                Err(SendError::ReceiverNotReady) => {}
                done => return done,
            }
            let now = sender.sender.dealt_with();
            if self.progress() || now != seen {
                (wait, seen, idle_since) = (Wait::new(), now, None);
                continue;
            }
            if wait.failed_polls() > STANDSTILL_POLLS
                && idle_since.get_or_insert_with(Instant::now).elapsed() > patience(0)
            {
                return Err(SendError::OwnThread);
            }
            wait.pause();
        }
    }

    /// Waits for a sent buffer, making progress: `MPI_Wait` (MPI 4.1, section 3.7.3). For the
    /// endpoint's own thread; other threads use [`SendRequest::wait`]. The buffer is empty if
    /// [`SendRequest::test`] has returned it. Like MPI, it waits until a receive matches the
    /// message, and only this thread can post one.
    ///
    /// # Errors
    /// The errors of [`SendRequest::test`].
    ///
    /// # Panics
    /// When the message was sent to another endpoint.
    pub fn wait_send(&mut self, mut request: SendRequest) -> SendResult {
        self.check_own(request.endpoint);
        self.wait_until(|_| match request.test() {
            None if request.is_over() => Some(Ok(Vec::new())),
            result => result,
        })
        .unwrap_or_else(|Stopped| Err((SendError::Stopped, Vec::new())))
    }
}
