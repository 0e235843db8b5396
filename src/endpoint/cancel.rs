//! Cancelling receives, and releasing their requests.

use super::base::Endpoint;
use super::error::Stopped;
use super::request::RecvRequest;

impl Endpoint {
    /// Cancels a receive: `MPI_Cancel` (MPI 4.1, section 3.8.4). The receive ends as
    /// [`Cancelled`](super::RecvError::Cancelled), or with a message that came first; its result
    /// states which. A receive that has already ended stays as it is.
    ///
    /// # Errors
    /// [`Stopped`].
    ///
    /// # Complexity
    /// O(1) on the host. The NIC searches one chain.
    pub fn cancel(&mut self, request: &RecvRequest) -> Result<(), Stopped> {
        self.check_own(request.endpoint);
        self.wait_until(|endpoint| {
            // Checked on each try: progress may have ended the receive.
            if !endpoint.requests.is_active(request) {
                return Some(());
            }
            let id = endpoint.port.request_of(request.index as usize);
            endpoint.port.cancel(id, 0).ok()
        })
    }

    /// Releases a request: `MPI_Request_free` (MPI 4.1, section 3.7.3). The receive stays posted
    /// until it takes a message, which frees its buffer.
    pub fn release(&mut self, request: RecvRequest) {
        self.check_own(request.endpoint);
        if self.take(&request).is_none() {
            self.requests.release(&request);
        }
    }
}
