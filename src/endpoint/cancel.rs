//! Taking receives back, or no longer caring about them.

use super::base::Endpoint;
use super::error::Stopped;
use super::request::RecvRequest;

impl Endpoint {
    /// Asks for a receive to be cancelled: `MPI_Cancel` (MPI 4.1, section 3.8.4). Either the
    /// receive ends as [`Cancelled`](super::RecvError::Cancelled), or a message had come first and
    /// it ends with that one, never both; waiting for it tells which. A receive that has ended
    /// stays as it is.
    ///
    /// # Errors
    /// [`Stopped`].
    ///
    /// # Panics
    /// When the request belongs to another endpoint.
    ///
    /// # Complexity
    /// O(1) here; on the NIC a search of one chain.
    pub fn cancel(&mut self, request: &RecvRequest) -> Result<(), Stopped> {
        self.check_own(request.endpoint);
        self.wait_until(|endpoint| {
            // Asked anew each time: progress may have ended it.
            if !endpoint.requests.is_active(request) {
                return Some(());
            }
            let id = endpoint.port.request_of(request.index as usize);
            endpoint.port.cancel(id, 0).ok()
        })
    }

    /// Gives a request up: `MPI_Request_free` (MPI 4.1, section 3.7.3). The receive stays posted
    /// and will take a message; then its buffer is freed.
    ///
    /// # Panics
    /// When the request belongs to another endpoint.
    pub fn release(&mut self, request: RecvRequest) {
        self.check_own(request.endpoint);
        if self.take(&request).is_none() {
            self.requests.release(&request);
        }
    }
}
