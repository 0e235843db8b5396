//! Posting receives, and testing or waiting for one at a time.

use dpa_model::{Message, RequestId};
use dpamatch_vocabulary::{CommId, Selector, SourceSel, TagSel};

use super::base::Endpoint;
use super::communicator::Communicator;
use super::error::{PostError, RecvError, Stopped};
use super::request::{Ended, RecvRequest};
use super::status::{Received, Status};

impl Endpoint {
    /// Posts a receive: `MPI_Irecv` (MPI 4.1, section 3.7.2). The buffer moves in; its length is
    /// the longest message it takes.
    ///
    /// Waits only while the NIC's command queue is full.
    ///
    /// # Errors
    /// [`PostError`], with the buffer.
    ///
    /// # Complexity
    /// O(1) on the host, with an allocation only when more receives are posted than ever before.
    /// The NIC searches one unexpected chain.
    // Inlined: a call would pass the buffer and the handle through memory.
    #[inline(always)]
    pub fn post_recv(
        &mut self,
        comm: &Communicator,
        source: impl Into<SourceSel>,
        tag: impl Into<TagSel>,
        buffer: Vec<u8>,
    ) -> Result<RecvRequest, PostError> {
        self.check_own(comm.endpoint);
        let selector = Selector::new(source, tag);
        if !comm.allows(selector) {
            return Err(PostError::WildcardExcluded(buffer));
        }
        self.post(comm.id, selector, buffer)
            .map_err(PostError::Stopped)
    }

    /// Posts a receive and waits for it: `MPI_Recv` (MPI 4.1, section 3.2.4).
    ///
    /// # Errors
    /// [`RecvError`].
    pub fn recv(
        &mut self,
        comm: &Communicator,
        source: impl Into<SourceSel>,
        tag: impl Into<TagSel>,
        buffer: Vec<u8>,
    ) -> Result<Received, RecvError> {
        let request = self.post_recv(comm, source, tag, buffer)?;
        self.wait(request)
    }

    /// Returns the result of a receive that has ended, and sets `request` to `None`: `MPI_Test`
    /// (MPI 4.1, section 3.7.3). A `None` never has a result. Makes progress if the receive has not
    /// ended.
    ///
    /// # Errors
    /// [`RecvError`], inside the result.
    pub fn test(
        &mut self,
        request: &mut Option<RecvRequest>,
    ) -> Option<Result<Received, RecvError>> {
        let active = request.as_ref()?;
        self.check_own(active.endpoint);
        let result = match self.take(active) {
            Some(result) => result,
            None => {
                let stopped = self.is_stopped();
                self.progress();
                match self.take(active) {
                    Some(result) => result,
                    None if stopped => Err(RecvError::Stopped),
                    None => return None,
                }
            }
        };
        *request = None;
        Some(result)
    }

    /// Waits for a receive: `MPI_Wait` (MPI 4.1, section 3.7.3).
    ///
    /// # Errors
    /// [`RecvError`].
    ///
    /// # Panics
    /// When the request belongs to another endpoint.
    // Inlined: a call would pass each result through memory.
    #[inline(always)]
    pub fn wait(&mut self, request: RecvRequest) -> Result<Received, RecvError> {
        self.check_own(request.endpoint);
        if self.requests.any_ended()
            && let Some((buffer, message)) = self.take_message(&request)
        {
            return received(buffer, &message);
        }
        // No closure: a call would store the message in parts, and loading them as a whole stalls.
        match self.take_next(&request) {
            Some((buffer, message)) => received(buffer, &message),
            // The index stays in a register; the handle would not.
            None => self.wait_longer(request.index),
        }
    }

    #[inline(never)]
    fn wait_longer(&mut self, index: u32) -> Result<Received, RecvError> {
        let request = &self.handle(index);
        self.wait_until_or(
            |endpoint| {
                if endpoint.requests.any_ended() {
                    endpoint.take(request)
                } else {
                    None
                }
            },
            |endpoint| {
                let (buffer, message) = endpoint.take_next(request)?;
                Some(received(buffer, &message))
            },
        )?
    }

    /// Buffer and message of a receive, if its end is the NIC's next report. Bypasses the table.
    #[inline(always)]
    fn take_next(&mut self, request: &RecvRequest) -> Option<(Vec<u8>, Message)> {
        if !self.is_plain() {
            return None;
        }
        self.port.take_next(request.index as usize)
    }

    /// Buffer and message of a receive whose end the table has recorded.
    #[inline(always)]
    fn take_message(&mut self, request: &RecvRequest) -> Option<(Vec<u8>, Message)> {
        let &message = self.requests.take(request)?;
        Some((self.port.free_slot(request.index as usize)?, message))
    }

    /// The result of a receive whose end the table has recorded. The caller drops its handle.
    pub(super) fn take(&mut self, request: &RecvRequest) -> Option<Result<Received, RecvError>> {
        if let Some((buffer, message)) = self.take_message(request) {
            return Some(received(buffer, &message));
        }
        let ended = self.requests.take_other(request)?;
        self.port.free_slot(request.index as usize);
        Some(match ended {
            Ended::Received(buffer, message) => received(buffer, &message),
            Ended::Cancelled(buffer) => Err(RecvError::Cancelled(buffer)),
            Ended::Refused(buffer) => Err(RecvError::WildcardExcluded(buffer)),
        })
    }

    /// Posts a receive that the communicator's hints allow. Gives the buffer back if the NIC has
    /// stopped.
    #[inline(always)]
    pub(super) fn post(
        &mut self,
        comm: CommId,
        selector: Selector,
        buffer: Vec<u8>,
    ) -> Result<RecvRequest, Vec<u8>> {
        let id = match self.port.post(comm, selector, buffer, 0) {
            Ok(id) => id,
            Err((_, buffer)) => self.post_later(comm, selector.source, selector.tag, buffer)?,
        };
        let index = self.requests.insert(id.slot());
        Ok(self.handle(index))
    }

    /// Posts a receive once the full command queue has room again.
    #[cold]
    #[inline(never)]
    fn post_later(
        &mut self,
        comm: CommId,
        source: SourceSel,
        tag: TagSel,
        buffer: Vec<u8>,
    ) -> Result<RequestId, Vec<u8>> {
        let selector = Selector { source, tag };
        let mut waiting = Some(buffer);
        let posted = self.wait_until(|endpoint| {
            // The buffer is present: only a successful post keeps it, and that ends the wait.
            match endpoint.port.post(comm, selector, waiting.take()?, 0) {
                Ok(id) => Some(id),
                Err((_, buffer)) => {
                    waiting = Some(buffer);
                    None
                }
            }
        });
        posted.map_err(|Stopped| waiting.unwrap_or_default())
    }

    pub(super) fn handle(&self, index: u32) -> RecvRequest {
        RecvRequest {
            endpoint: self.name,
            index,
        }
    }
}

#[inline(always)]
fn received(buffer: Vec<u8>, message: &Message) -> Result<Received, RecvError> {
    let sent = message.length as usize;
    let status = Status::new(message, sent.min(buffer.len()));
    let received = Received { buffer, status };
    if sent > status.bytes {
        Err(RecvError::Truncated { received, sent })
    } else {
        Ok(received)
    }
}
