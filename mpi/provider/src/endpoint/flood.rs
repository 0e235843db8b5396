//! A bound for the messages of one peer that no receive takes. Each of them is memory of this
//! process, and the data of long ones stay at their sender.

use super::{Common, Endpoint};
use crate::wire::LinkError;

/// Arrivals between two counts, at most: a peer may exceed the bound by this number.
const STEP_MAX: u64 = 1024;

/// The endpoint has counted the waiting messages of each peer, and will again.
#[derive(Debug, Default)]
pub(super) struct Flood {
    /// Arrivals before which no peer can exceed the bound.
    count_at: u64,
}

impl Flood {
    /// Whether a peer may exceed the bound after this number of arrivals.
    #[inline]
    pub(super) fn is_due(&self, arrivals: u64) -> bool {
        arrivals >= self.count_at
    }

    /// No peer has more than `highest` messages, of the `most` that it may have.
    fn counted(&mut self, arrivals: u64, highest: u64, most: u64) {
        let least = (most / 16).clamp(1, STEP_MAX);
        let room = most.saturating_sub(highest).saturating_add(1);
        self.count_at = arrivals.saturating_add(room.max(least));
    }
}

impl Endpoint {
    /// Cuts off each peer with more waiting messages than the options allow. Receives still take
    /// those that it has sent.
    #[cold]
    #[inline(never)]
    pub(super) fn stop_floods(&mut self, common: &mut Common) {
        let most = common.options.waiting_max;
        let mut waiting = vec![0_u64; common.peers.count()];
        for (_, message) in self.messages.iter().filter(|(_, message)| message.waiting) {
            waiting[message.peer.index()] += 1;
        }
        let mut highest = 0;
        for index in self.connections.live().to_vec() {
            let peer = self.connections[index].peer;
            let count = waiting[peer.index()];
            if count <= most {
                highest = highest.max(count);
                continue;
            }
            crate::report(&format!(
                "peer {} is cut off: no receive takes {count} of its messages, and \
                 DPAMATCH_WAITING_MAX is {most}",
                peer.0
            ));
            self.fail_connection(common, index, LinkError::Closed);
        }
        self.flood.counted(self.messages_ever, highest, most);
    }
}

#[cfg(test)]
#[test]
fn counts_come_before_a_peer_can_exceed_the_bound() {
    let mut flood = Flood::default();
    assert!(flood.is_due(0));
    for (highest, most, next) in [
        (0, 3, 4),
        (2, 3, 2),
        (3, 3, 1),
        (0, 1 << 20, (1 << 20) + 1),
        (1 << 20, 1 << 20, 1024),
        (5, u64::MAX, u64::MAX - 7),
    ] {
        flood.counted(7, highest, most);
        assert!(!flood.is_due(7 + next - 1), "{highest} of {most}");
        assert!(flood.is_due(7 + next), "{highest} of {most}");
    }
}
