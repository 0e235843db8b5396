//! Completion of several receives. A `None` among the requests is skipped, as `MPI_REQUEST_NULL`
//! is.

use super::base::Endpoint;
use super::error::{RecvError, Stopped};
use super::request::RecvRequest;
use super::status::Received;

impl Endpoint {
    /// Waits for all receives: `MPI_Waitall` (MPI 4.1, section 3.7.5). Results in the order of the
    /// requests.
    ///
    /// # Complexity
    /// One allocation, for the results.
    pub fn wait_all(
        &mut self,
        requests: impl IntoIterator<Item = RecvRequest>,
    ) -> Vec<Result<Received, RecvError>> {
        requests
            .into_iter()
            .map(|request| self.wait(request))
            .collect()
    }

    /// Waits for one of the receives: `MPI_Waitany` (MPI 4.1, section 3.7.5). Returns its index and
    /// its result, and leaves `None` at the index. Returns `None` if no request is left
    /// (`MPI_UNDEFINED`). If several have ended, it takes the first.
    ///
    /// # Complexity
    /// Each poll costs as much as [`test_some`](Self::test_some).
    ///
    /// # Panics
    /// When a request belongs to another endpoint; all requests then stay as they were.
    pub fn wait_any(
        &mut self,
        requests: &mut [Option<RecvRequest>],
    ) -> Option<(usize, Result<Received, RecvError>)> {
        self.check_all_own(requests);
        let first = requests.iter().position(Option::is_some)?;
        let found = self.wait_until(|endpoint| {
            let ended =
                |request: &Option<RecvRequest>| request.as_ref().is_some_and(|r| endpoint.ended(r));
            let place = if endpoint.requests.any_ended() {
                requests.iter().position(ended)?
            } else {
                return None;
            };
            let result = requests[place]
                .take()
                .and_then(|request| endpoint.take(&request))?;
            Some((place, result))
        });
        Some(found.unwrap_or_else(|stopped| {
            requests[first] = None;
            (first, Err(stopped.into()))
        }))
    }

    /// Collects all receives that have ended, with their indices: `MPI_Testsome` (MPI 4.1, section
    /// 3.7.5). Appends them to `results` and returns how many.
    ///
    /// # Complexity
    /// O(requests), and one compare per request if no receive of the endpoint has ended; no
    /// allocation if `results` has room.
    ///
    /// # Panics
    /// When a request belongs to another endpoint; all requests then stay as they were.
    pub fn test_some(
        &mut self,
        requests: &mut [Option<RecvRequest>],
        results: &mut Vec<(usize, Result<Received, RecvError>)>,
    ) -> usize {
        self.check_all_own(requests);
        let stopped = self.is_stopped();
        self.progress();
        self.collect(requests, results, stopped)
    }

    /// Collects the receives that have ended, or all of them if the NIC had `stopped` before.
    fn collect(
        &mut self,
        requests: &mut [Option<RecvRequest>],
        results: &mut Vec<(usize, Result<Received, RecvError>)>,
        stopped: bool,
    ) -> usize {
        let before = results.len();
        if !self.requests.any_ended() && !stopped {
            return 0;
        }
        for (place, slot) in requests.iter_mut().enumerate() {
            let Some(request) = slot else { continue };
            if let Some(result) = self.take(request) {
                results.push((place, result));
            } else if stopped {
                results.push((place, Err(RecvError::Stopped)));
            } else {
                continue;
            }
            *slot = None;
        }
        results.len() - before
    }

    /// Waits until at least one of the receives has ended and collects all that have:
    /// `MPI_Waitsome` (MPI 4.1, section 3.7.5). Appends them to `results` and returns how many; 0
    /// if no request is left (`MPI_UNDEFINED`).
    ///
    /// # Complexity
    /// Each poll costs as much as [`test_some`](Self::test_some).
    ///
    /// # Panics
    /// When a request belongs to another endpoint; all requests then stay as they were.
    pub fn wait_some(
        &mut self,
        requests: &mut [Option<RecvRequest>],
        results: &mut Vec<(usize, Result<Received, RecvError>)>,
    ) -> usize {
        self.check_all_own(requests);
        if requests.iter().all(Option::is_none) {
            return 0;
        }
        let ended = self.wait_until(|endpoint| {
            let count = endpoint.collect(requests, results, false);
            (count > 0).then_some(count)
        });
        ended.unwrap_or_else(|Stopped| self.collect(requests, results, true))
    }

    fn ended(&self, request: &RecvRequest) -> bool {
        self.requests.has_ended(request)
    }

    /// Checks all requests before any changes. Without the check, a wait for another endpoint's
    /// receives alone would never end.
    fn check_all_own(&self, requests: &[Option<RecvRequest>]) {
        for request in requests.iter().flatten() {
            self.check_own(request.endpoint);
        }
    }
}
