//! The receives of an endpoint: handles for the program, and the table behind them.

use dpa_model::{Message, RequestId};
use dpamatch_vocabulary::{CommId, Selector};

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
    /// `None`: it receives a message that a matched probe took.
    selector: Option<Selector>,
    id: RequestId,
}

/// All receives of an endpoint. Rows are used again, so a steady number of receives needs no
/// allocation.
#[derive(Debug, Default)]
pub(super) struct Requests {
    rows: Vec<Row>,
    free: Vec<u32>,
    /// Row of each request of the port, by [`RequestId::slot`].
    by_slot: Vec<u32>,
    /// Receives that have ended and were not collected.
    ended: usize,
    /// Rows in use per communicator.
    in_use: Vec<usize>,
}

impl Requests {
    /// Enters a receive that the port knows as `id`.
    pub(super) fn insert(
        &mut self,
        comm: CommId,
        selector: Option<Selector>,
        id: RequestId,
    ) -> u32 {
        let index = self.add(Row { state: State::Active, comm, selector, id });
        if self.by_slot.len() <= id.slot() {
            self.by_slot.resize(id.slot() + 1, 0);
        }
        self.by_slot[id.slot()] = index;
        index
    }

    /// Enters a receive that has ended already.
    pub(super) fn insert_ended(&mut self, comm: CommId, ended: Ended) -> u32 {
        self.ended += 1;
        self.add(Row { state: State::Ended(ended), comm, selector: None, id: RequestId::NONE })
    }

    fn add(&mut self, row: Row) -> u32 {
        let comm = row.comm.0 as usize;
        if self.in_use.len() <= comm {
            self.in_use.resize(comm + 1, 0);
        }
        self.in_use[comm] += 1;
        match self.free.pop() {
            Some(index) => {
                self.rows[index as usize] = row;
                index
            }
            None => {
                self.rows.push(row);
                // Room for every row on the free list, so that no later `leave` allocates.
                self.free.reserve(self.rows.len());
                (self.rows.len() - 1) as u32
            }
        }
    }

    /// Receives of the communicator that are not finished or not collected.
    pub(super) fn of_comm(&self, comm: CommId) -> usize {
        self.in_use.get(comm.0 as usize).copied().unwrap_or(0)
    }

    /// Communicator and selector of the receive that the port calls `id`.
    pub(super) fn describe(&self, id: RequestId) -> Option<(CommId, Selector)> {
        let row = self.row_of(id)?;
        Some((row.comm, row.selector?))
    }

    fn row_of(&self, id: RequestId) -> Option<&Row> {
        self.rows.get(*self.by_slot.get(id.slot())? as usize).filter(|row| row.id == id)
    }

    /// The receive that the port called `id` has ended.
    #[inline]
    pub(super) fn end(&mut self, id: RequestId, ended: Ended) {
        let Some(&index) = self.by_slot.get(id.slot()) else { return };
        let Some(row) = self.rows.get_mut(index as usize).filter(|row| row.id == id) else {
            return;
        };
        if let State::Active = row.state {
            row.state = State::Ended(ended);
            self.ended += 1;
        } else {
            self.end_released(index);
        }
    }

    #[cold]
    fn end_released(&mut self, index: u32) {
        let state = &mut self.rows[index as usize].state;
        debug_assert!(matches!(state, State::Released), "a receive ended twice (S18)");
        *state = State::Free;
        self.leave(index);
    }

    /// A row whose state is `Free` by now.
    #[inline]
    fn leave(&mut self, index: u32) {
        let row = &mut self.rows[index as usize];
        // Slots of the port are used again: an old number must not find this row.
        row.id = RequestId::NONE;
        self.in_use[row.comm.0 as usize] -= 1;
        self.free.push(index);
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

    /// The result, once there is one; the row is then free, and the caller drops the handle.
    #[inline(always)]
    pub(super) fn take(&mut self, request: &RecvRequest) -> Option<Ended> {
        if !self.has_ended(request) {
            return None;
        }
        self.ended -= 1;
        self.leave(request.index);
        match std::mem::replace(&mut self.rows[request.index as usize].state, State::Free) {
            State::Ended(ended) => Some(ended),
            _ => None,
        }
    }

    /// Nobody wants the result any more.
    pub(super) fn release(&mut self, request: RecvRequest) {
        if self.take(&request).is_none() {
            self.rows[request.index as usize].state = State::Released;
        }
    }

    /// The port's name of a receive that has not ended.
    pub(super) fn active(&self, request: &RecvRequest) -> Option<RequestId> {
        let row = &self.rows[request.index as usize];
        matches!(row.state, State::Active).then_some(row.id)
    }
}
