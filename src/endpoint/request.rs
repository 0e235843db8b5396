//! The receives of an endpoint: handles for the program, and the table behind them.

use dpa_model::Message;

/// A receive that was posted and whose result has not been collected (`MPI_Request`).
///
/// There is one handle per receive. `test` and the calls for several requests take
/// `Option<RecvRequest>` and leave `None`, the counterpart of `MPI_REQUEST_NULL`, when they hand
/// out the result. Dropping a handle leaves the receive posted: it still matches, and its buffer is
/// freed with the endpoint. See also [`Endpoint::release`](super::Endpoint::release).
///
/// # Examples
/// The [module](super) has one.
#[derive(PartialEq, Eq, Hash, Debug)]
#[must_use = "the receive's result and buffer are collected through its handle"]
pub struct RecvRequest {
    pub(super) endpoint: u64,
    pub(super) index: u32,
}

#[derive(Debug)]
pub(super) enum Ended {
    Received(Vec<u8>, Message),
    Cancelled(Vec<u8>),
    Refused(Vec<u8>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    /// The receive has not ended, or the row is free; the port's slot has the state.
    #[default]
    Plain,
    /// It has not ended, and the program has released its handle.
    Released,
    /// The NIC has ended it: the row has the message, the port's slot the buffer.
    Received,
    /// It ended otherwise: `others` has the result.
    Other,
}

/// The table's row of a receive.
#[derive(Debug, Default)]
struct Receive {
    message: Message,
    state: State,
}

/// All receives of an endpoint. A receive has the row with the number of the port's slot that it
/// holds ([`hold_slots`](dpa_model::HostPort::hold_slots)), and its buffer stays in that slot until
/// it is collected. So only the message of a receive moves, and a steady number of receives needs
/// no allocation. A row is written only when its receive ends before the program waits for it.
#[derive(Debug, Default)]
pub(super) struct Requests {
    rows: Vec<Receive>,
    /// By row: results that are not in the port's slot.
    others: Vec<Option<Ended>>,
    /// Receives that have ended and were not collected.
    ended: usize,
    /// Slots of released receives that have ended since.
    gone: Vec<usize>,
}

impl Requests {
    /// Enters a receive that holds this slot of the port.
    #[inline(always)]
    pub(super) fn insert(&mut self, slot: usize) -> u32 {
        if slot >= self.rows.len() {
            self.grow(slot);
        }
        debug_assert!(
            self.rows[slot].state == State::Plain,
            "the slot was another's (S18)"
        );
        slot as u32
    }

    /// Enters a receive that has ended already, under a slot of the port.
    pub(super) fn insert_ended(&mut self, slot: usize, ended: Ended) -> u32 {
        let row = self.insert(slot);
        self.end(slot, ended);
        row
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, slot: usize) {
        self.rows.resize_with(slot + 1, Receive::default);
        self.others.resize_with(slot + 1, || None);
        self.gone.reserve(self.rows.len());
    }

    /// Records that a receive took a message; its buffer is in the port's slot.
    #[inline(always)]
    pub(super) fn receive(&mut self, slot: usize, message: &Message) {
        let row = &mut self.rows[slot];
        if row.state == State::Plain {
            (row.message, row.state) = (*message, State::Received);
            self.ended += 1;
        } else {
            self.end_released(slot);
        }
    }

    /// Records that a receive ended otherwise; its buffer is no longer in the port's slot.
    pub(super) fn end(&mut self, slot: usize, ended: Ended) {
        let Some(row) = self.rows.get_mut(slot) else {
            return;
        };
        if row.state == State::Plain {
            row.state = State::Other;
            self.others[slot] = Some(ended);
            self.ended += 1;
        } else {
            self.end_released(slot);
        }
    }

    #[cold]
    #[inline(never)]
    fn end_released(&mut self, slot: usize) {
        let state = &mut self.rows[slot].state;
        debug_assert!(*state == State::Released, "a receive ended twice (S18)");
        *state = State::Plain;
        self.gone.push(slot);
    }

    /// The slot of a released receive that has ended since. Returns each slot once.
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
        matches!(
            self.rows[request.index as usize].state,
            State::Received | State::Other
        )
    }

    /// The message of a receive that got one. Frees the row; the buffer is in the port's slot.
    #[inline(always)]
    pub(super) fn take(&mut self, request: &RecvRequest) -> Option<&Message> {
        let row = &mut self.rows[request.index as usize];
        if row.state != State::Received {
            return None;
        }
        row.state = State::Plain;
        self.ended -= 1;
        Some(&row.message)
    }

    /// The result of a receive that ended without a message. Frees the row, and its slot may be
    /// free, too.
    pub(super) fn take_other(&mut self, request: &RecvRequest) -> Option<Ended> {
        let slot = request.index as usize;
        let ended = self.others[slot].take()?;
        self.rows[slot].state = State::Plain;
        self.ended -= 1;
        Some(ended)
    }

    /// Marks a receive that has not ended as released: its result will be dropped.
    pub(super) fn release(&mut self, request: &RecvRequest) {
        self.rows[request.index as usize].state = State::Released;
    }

    /// Whether a receive has not ended.
    pub(super) fn is_active(&self, request: &RecvRequest) -> bool {
        self.rows[request.index as usize].state == State::Plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted_until_they_are_collected() {
        let mut requests = Requests::default();
        let one = |requests: &mut Requests, slot| {
            let index = requests.insert_ended(slot, Ended::Cancelled(vec![slot as u8]));
            RecvRequest { endpoint: 0, index }
        };
        let both = [2, 5].map(|slot| one(&mut requests, slot));
        for request in &both {
            assert!(requests.any_ended() && requests.has_ended(request));
            assert!(requests.take(request).is_none(), "it took no message");
            let Some(Ended::Cancelled(buffer)) = requests.take_other(request) else {
                panic!("its own")
            };
            assert_eq!(buffer, [request.index as u8]);
            assert!(!requests.has_ended(request) && requests.take_other(request).is_none());
        }
        assert!(!requests.any_ended() && requests.gone().is_none());
    }

    #[test]
    fn a_message_waits_in_its_row() {
        let mut requests = Requests::default();
        let [request, given_up] = [4, 1].map(|slot| RecvRequest {
            endpoint: 0,
            index: requests.insert(slot),
        });
        assert!(requests.is_active(&request) && !requests.has_ended(&request));
        requests.release(&given_up);
        for slot in [4, 1] {
            requests.receive(
                slot,
                &Message {
                    arrival: 10 + slot as u64,
                    ..Message::default()
                },
            );
        }
        assert!(requests.has_ended(&request) && !requests.is_active(&request));
        assert_eq!(
            requests.take(&request).map(|message| message.arrival),
            Some(14)
        );
        assert!(requests.take(&request).is_none() && !requests.any_ended());
        assert_eq!((requests.gone(), requests.gone()), (Some(1), None));
    }
}
