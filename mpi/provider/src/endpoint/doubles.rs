//! One connection with each peer of this machine, also where both sides have called.
//!
//! Two sides that call each other at the same time get two connections. The call of the side with
//! the smaller identity stays. Each side lets go of the other connection, the *surplus*:
//! 1. It sends over the connection that it has begun with until the peer has taken every record
//!    there. From then on it sends over the one that stays. So its messages keep their order.
//! 2. When it needs the surplus for no operation, it sends `Leave`. From then on it begins nothing
//!    there, but still answers what the peer begins.
//! 3. A peer that has sent and received `Leave` closes the connection. The peer that sends it last
//!    needs nothing more, and the other one began nothing since its own.

use super::connections::GONE;
use super::{Common, Endpoint};
use crate::wire::{Kind, PeerId, Record};

/// Two connections with one peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Double {
    surplus: usize,
    stays: usize,
}

impl Endpoint {
    /// Notes a new connection if there is one by a call of the other side already. An endpoint that
    /// calls itself has both ends of one connection.
    pub(super) fn note_double(&mut self, common: &Common, peer: PeerId, index: usize) {
        let Some(&Some(first)) = self.routes.get(peer.index()) else {
            return;
        };
        let Some(other) = self.connections.get(first) else {
            return;
        };
        let new = &self.connections[index];
        let (mine, its) = (self.address.identity, common.peers.address(peer).identity);
        let both_local = other.link.is_local() && new.link.is_local();
        if other.peer != peer || other.called == new.called || !both_local || mine == its {
            return;
        }
        let (surplus, stays) = match new.called == (mine < its) {
            true => (first, index),
            false => (index, first),
        };
        self.doubles.push_back(Double { surplus, stays });
    }

    /// Goes on to let go of connections. Each call closes at most one.
    #[cold]
    #[inline(never)]
    pub(super) fn join_doubles(&mut self) {
        for at in 0..self.doubles.len() {
            let Double { surplus, stays } = self.doubles[at];
            let connection = &mut self.connections[surplus];
            let route = &mut self.routes[connection.peer.index()];
            let is_taken = connection.outbox.is_empty() && connection.link.is_taken();
            if *route == Some(surplus) && is_taken {
                *route = Some(stays);
            }
        }
        let Some(double) = self.doubles.pop_front() else {
            return;
        };
        if !self.try_close(double) {
            self.doubles.push_back(double);
        }
    }

    /// Lets go of a connection as far as possible. `true`: it is closed.
    fn try_close(&mut self, double: Double) -> bool {
        let index = double.surplus;
        let peer = self.connections[index].peer;
        if self.routes[peer.index()] == Some(index) || self.needs(index) {
            return false;
        }
        if !self.connections[index].left {
            // SAFETY: no payload.
            let put = unsafe { self.put(index, Record::new(Kind::Leave), &[]) };
            self.connections[index].left = put.is_ok();
        }
        let closes =
            self.connections[index].is_left_by_both() && self.connections[index].is_still();
        if closes {
            self.close_surplus(index);
        }
        closes
    }

    /// Whether an operation of either side needs this connection.
    pub(super) fn needs(&self, index: usize) -> bool {
        let row = &self.connections[index];
        row.outstanding > 0
            || !row.outbox.is_empty()
            || self.pushes.iter().any(|push| push.connection == index)
            || self
                .grants
                .iter()
                .any(|(_, grant)| grant.connection == index)
            || self
                .transfers
                .iter()
                .any(|(_, transfer)| transfer.connection == index)
            || self
                .messages
                .iter()
                .any(|(_, message)| message.connection == index && message.cookie.is_some())
    }

    /// Closes a connection that nobody needs. Messages that came over it stay.
    pub(super) fn close_surplus(&mut self, index: usize) {
        self.connections.remove(index);
        self.forget_double(index);
        self.messages
            .iter_mut()
            .filter(|message| message.connection == index)
            .for_each(|message| message.connection = GONE);
    }

    /// Forgets a double, because one of its connections is over.
    pub(super) fn forget_double(&mut self, index: usize) {
        self.doubles
            .retain(|double| double.surplus != index && double.stays != index);
    }
}

#[cfg(test)]
impl Endpoint {
    /// Calls a peer that may have called already.
    pub(crate) fn call_anyway(&mut self, common: &mut Common, peer: PeerId) {
        let to = *common.peers.address(peer);
        let (lines, inner) = (common.options.ring_lines, self.inner.as_ref());
        let link = crate::wire::connect(&self.address, &to, lines, inner);
        self.add_connection(common, peer, link.expect("a connection"), true);
    }
}
