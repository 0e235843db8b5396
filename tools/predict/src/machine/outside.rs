//! What EUs share outside the DPA: wire, host bus, and the host's core that matches in software.

use super::{Costs, Picos};

/// Transfers and software matching of a window; each is serial.
#[derive(Debug, Default)]
pub(super) struct Outside {
    /// Arrival of each message, and its length.
    messages: Vec<(Picos, u64)>,
    /// End of the last transfer that a handler asked for.
    link_free: Picos,
    /// End of the last message matched in software.
    software_free: Picos,
    /// Earliest end of all transfers.
    transferred: Picos,
}

impl Outside {
    /// Messages of these lengths, no earlier than these times; a missing time is 0. Messages up to
    /// `eager_bytes` bring their data along.
    pub(super) fn new(
        costs: &Costs,
        epoch: Picos,
        times: &[Picos],
        bytes: &[u64],
        eager_bytes: usize,
    ) -> Self {
        let mut earliest = epoch;
        let mut all = 0;
        let message = |(place, &length): (usize, &u64)| {
            let time = times.get(place).map_or(epoch, |time| epoch + time);
            let eager = if length <= eager_bytes as u64 {
                length
            } else {
                0
            };
            let transfer = transfer(costs, eager);
            let arrival = earliest.max(time);
            earliest = arrival + costs.arrival.max(transfer);
            all += length;
            (arrival, length)
        };
        let messages = bytes.iter().enumerate().map(message).collect();
        Self {
            messages,
            link_free: epoch,
            software_free: 0,
            transferred: epoch + transfer(costs, all),
        }
    }

    pub(super) fn arrival(&self, place: u64) -> Picos {
        self.messages
            .get(place as usize)
            .map_or(0, |message| message.0)
    }

    pub(super) fn bytes(&self, place: u64) -> u64 {
        self.messages
            .get(place as usize)
            .map_or(0, |message| message.1)
    }

    /// A handler reads a message's data from its sender: the end of that read.
    pub(super) fn read(&mut self, costs: &Costs, place: u64, now: Picos) -> Picos {
        self.link_free = self.link_free.max(now) + transfer(costs, self.bytes(place));
        self.link_free + costs.remote_read
    }

    /// The host matches a message that left the card at `now`.
    pub(super) fn match_in_software(&mut self, costs: &Costs, now: Picos) {
        self.software_free = self.software_free.max(now) + costs.software;
    }

    pub(super) fn end(&self) -> Picos {
        self.software_free.max(self.transferred)
    }
}

fn transfer(costs: &Costs, bytes: u64) -> Picos {
    (bytes as f64 * costs.byte).round() as Picos
}
