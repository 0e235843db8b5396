//! The receives of an endpoint: handles for the program, and the table behind them.

use std::mem;

use dpa_model::{Message, RequestId};
use dpamatch_vocabulary::CommId;

/// A receive that was posted and whose result has not been collected (`MPI_Request`).
///
/// There is one handle per receive. `test` and the calls for several requests take
/// `Option<RecvRequest>` and leave `None`, the counterpart of `MPI_REQUEST_NULL`, when they hand
/// out the result. A handle that is just dropped leaves the receive in place: it will still match,
/// and its buffer is freed with the endpoint; see [`Endpoint::release`](super::Endpoint::release).
#[derive(PartialEq, Eq, Hash, Debug)]
#[must_use = "the receive's result and buffer are collected through its handle"]
pub struct RecvRequest {
    pub(super) endpoint: u64,
    pub(super) index: u32,
}

/// How a receive ended.
#[derive(Debug)]
pub(super) enum Ended {
    Received(Vec<u8>, Message),
    Cancelled(Vec<u8>),
    Refused(Vec<u8>),
}

/// Where a receive stands.
#[derive(Debug)]
enum State {
    /// The row is not used.
    Free,
    /// The NIC or the software has it.
    Active,
    /// As `Active`, but nobody waits for the result.
    Released,
    Ended(Ended),
}

/// What is kept of a receive.
#[derive(Debug)]
struct Row {
    state: State,
    comm: CommId,
    id: RequestId,
}

/// All receives of an endpoint. Each has the row with the number of the port's slot that it holds
/// ([`HostPort::hold_slots`](dpa_model::HostPort::hold_slots)), so a receive is entered in one
/// table only, and a steady number of receives needs no allocation.
#[derive(Debug, Default)]
pub(super) struct Requests {
    rows: Vec<Row>,
    /// Receives that have ended and were not collected.
    ended: usize,
    /// Rows that became free without a call that releases their slot.
    gone: Vec<usize>,
}

impl Requests {
    /// Enters a receive that the port knows as `id`.
    #[inline(always)]
    pub(super) fn insert(&mut self, comm: CommId, id: RequestId) -> u32 {
        self.enter(comm, id.slot(), id, State::Active)
    }

    /// Enters a receive that has ended already, under a slot of the port.
    pub(super) fn insert_ended(&mut self, comm: CommId, slot: usize, ended: Ended) -> u32 {
        self.ended += 1;
        self.enter(comm, slot, RequestId::NONE, State::Ended(ended))
    }

    #[inline(always)]
    fn enter(&mut self, comm: CommId, slot: usize, id: RequestId, state: State) -> u32 {
        if slot >= self.rows.len() {
            self.grow(slot);
        }
        let row = &mut self.rows[slot];
        // The row was free, so there is nothing to drop.
        mem::forget(mem::replace(&mut row.state, state));
        (row.comm, row.id) = (comm, id);
        slot as u32
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, slot: usize) {
        let free = || Row { state: State::Free, comm: CommId::default(), id: RequestId::NONE };
        self.rows.resize_with(slot + 1, free);
        self.gone.reserve(self.rows.len());
    }

    /// Receives of the communicator that are not finished or not collected.
    ///
    /// # Complexity
    /// O(most receives at a time so far).
    pub(super) fn of_comm(&self, comm: CommId) -> usize {
        let in_use = |row: &&Row| row.comm == comm && !matches!(row.state, State::Free);
        self.rows.iter().filter(in_use).count()
    }

    /// The receive that the port called `id` has ended.
    #[inline(always)]
    pub(super) fn end(&mut self, id: RequestId, ended: Ended) {
        let Some(row) = self.rows.get_mut(id.slot()).filter(|row| row.id == id) else { return };
        if let State::Active = row.state {
            // An active receive has nothing to drop.
            mem::forget(mem::replace(&mut row.state, State::Ended(ended)));
            self.ended += 1;
        } else {
            self.end_released(id.slot());
        }
    }

    #[cold]
    #[inline(never)]
    fn end_released(&mut self, index: usize) {
        let state = &mut self.rows[index].state;
        debug_assert!(matches!(state, State::Released), "a receive ended twice (S18)");
        *state = State::Free;
        self.gone.push(index);
    }

    /// Slots of receives that have ended and nobody waited for, once each.
    #[inline]
    pub(super) fn gone(&mut self) -> Option<usize> {
        self.gone.pop()
    }

    /// Whether there is any result to collect.
    #[inline]
    pub(super) fn any_ended(&self) -> bool {
        self.ended > 0
    }

    #[inline]
    pub(super) fn has_ended(&self, request: &RecvRequest) -> bool {
        matches!(self.rows[request.index as usize].state, State::Ended(_))
    }

    /// The result, once there is one; the row is then free, and so may be its slot.
    #[inline(always)]
    pub(super) fn take(&mut self, request: &RecvRequest) -> Option<Ended> {
        let state = &mut self.rows[request.index as usize].state;
        if !matches!(state, State::Ended(_)) {
            return None;
        }
        self.ended -= 1;
        match mem::replace(state, State::Free) {
            State::Ended(ended) => Some(ended),
            _ => None,
        }
    }

    /// Nobody wants the result any more, which is not there yet.
    pub(super) fn release(&mut self, request: &RecvRequest) {
        self.rows[request.index as usize].state = State::Released;
    }

    /// The port's name of a receive that has not ended.
    pub(super) fn active(&self, request: &RecvRequest) -> Option<RequestId> {
        let row = &self.rows[request.index as usize];
        matches!(row.state, State::Active).then_some(row.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted_until_they_are_collected() {
        let mut requests = Requests::default();
        let one = |requests: &mut Requests, slot| {
            let index = requests.insert_ended(CommId(3), slot, Ended::Cancelled(vec![slot as u8]));
            RecvRequest { endpoint: 0, index }
        };
        let both = [2, 5].map(|slot| one(&mut requests, slot));
        assert_eq!((requests.of_comm(CommId(3)), requests.of_comm(CommId(4))), (2, 0));
        for request in &both {
            assert!(requests.any_ended() && requests.has_ended(request));
            let Some(Ended::Cancelled(buffer)) = requests.take(request) else { panic!("its own") };
            assert_eq!(buffer, [request.index as u8]);
            assert!(!requests.has_ended(request) && requests.take(request).is_none());
        }
        assert!(!requests.any_ended());
        assert_eq!((requests.of_comm(CommId(3)), requests.gone()), (0, None));
    }
}
