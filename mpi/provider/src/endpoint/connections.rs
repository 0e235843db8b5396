//! The connections of an endpoint, by number. A number is reused once its connection is over.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use slab::Slab;

use crate::wire::{Link, PeerId, Record};

/// Most operations of one side of a connection that wait for the other side. A program that starts
/// more must make progress first. A peer that starts more is cut off, which bounds the memory that
/// its requests take here.
pub(crate) const OUTSTANDING_MAX: usize = 1 << 16;

/// Stands for a connection that is over in place of its number.
pub(super) const GONE: usize = usize::MAX;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: PeerId,
    pub(super) link: Link,
    /// Records that wait for room.
    pub(super) outbox: VecDeque<Record>,
    /// Sends, writes and reads of this side that the peer has not ended.
    pub(super) outstanding: usize,
    /// The peer's writes and reads whose data move in pieces.
    pub(super) moving: usize,
}

impl Connection {
    /// Whether there is nothing to read or send, as far as the ring shows.
    #[inline(always)]
    pub(super) fn is_still(&self) -> bool {
        self.link.is_still() && self.outbox.is_empty()
    }
}

#[derive(Debug, Default)]
pub(super) struct Connections {
    rows: Slab<Connection>,
    /// The numbers in use, so that a round of progress walks no others.
    live: Vec<usize>,
}

impl Connections {
    pub(super) fn insert(&mut self, peer: PeerId, link: Link) -> usize {
        let outbox = VecDeque::new();
        let key = self.rows.insert(Connection {
            peer,
            link,
            outbox,
            outstanding: 0,
            moving: 0,
        });
        self.live.push(key);
        key
    }

    pub(super) fn remove(&mut self, key: usize) -> Connection {
        self.live.retain(|&other| other != key);
        self.rows.remove(key)
    }

    /// The numbers in use.
    #[inline(always)]
    pub(super) fn live(&self) -> &[usize] {
        &self.live
    }

    /// Lets the next walk of [`live`](Self::live) begin at this place.
    pub(super) fn go_on_at(&mut self, place: usize) {
        if place < self.live.len() {
            self.live.rotate_left(place);
        }
    }

    #[inline(always)]
    pub(super) fn get(&self, key: usize) -> Option<&Connection> {
        self.rows.get(key)
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, key: usize) -> Option<&mut Connection> {
        self.rows.get_mut(key)
    }

    pub(super) fn each_peer(&self, what: impl FnMut(PeerId)) {
        self.rows
            .iter()
            .map(|(_, connection)| connection.peer)
            .for_each(what);
    }

    /// Calls a function with each link.
    #[inline(always)]
    pub(super) fn each_link(&mut self, mut what: impl FnMut(&mut Link)) {
        for &key in &self.live {
            what(&mut self.rows[key].link);
        }
    }
}

#[cfg(test)]
impl super::Endpoint {
    pub(crate) fn receives(&self) -> usize {
        self.posts.iter().count()
    }

    pub(crate) fn moves_into_receives(&self) -> bool {
        self.posts.iter().any(|(_, post)| post.transfers > 0)
    }

    pub(crate) fn connections_and_places(&self) -> (usize, usize) {
        (
            self.connections.live.len(),
            self.connections.rows.capacity(),
        )
    }

    /// What operations hold now, by name.
    pub(crate) fn held(&self) -> Vec<(&'static str, usize)> {
        let sum = |part: fn(&Connection) -> usize| {
            let live = self.connections.live().iter();
            live.map(|&key| part(&self.connections[key])).sum()
        };
        let all = [
            ("receives", self.posts.iter().count()),
            ("messages", self.messages.iter().count()),
            ("untagged receives", self.untagged_posts.len()),
            ("untagged messages", self.untagged_messages.len()),
            ("cancelled receives", self.cancelled.len()),
            ("claimed messages", self.claimed.len()),
            ("sends, writes and reads", self.sendings.len()),
            ("transfers", self.transfers.len()),
            ("pushes", self.pushes.len()),
            ("grants", self.grants.len()),
            ("outstanding", sum(|connection| connection.outstanding)),
            ("moving", sum(|connection| connection.moving)),
            ("answers", sum(|connection| connection.outbox.len())),
        ];
        all.into_iter().filter(|&(_, count)| count > 0).collect()
    }

    /// The most bytes that one of its streams holds, for each direction.
    pub(crate) fn held_by_streams(&self) -> (usize, usize) {
        let held = self.connections.rows.iter();
        let held = held.filter_map(|(_, connection)| connection.link.held());
        held.fold((0, 0), |most, held| {
            (most.0.max(held.0), most.1.max(held.1))
        })
    }
}

impl Index<usize> for Connections {
    type Output = Connection;

    #[inline(always)]
    fn index(&self, key: usize) -> &Connection {
        &self.rows[key]
    }
}

impl IndexMut<usize> for Connections {
    #[inline(always)]
    fn index_mut(&mut self, key: usize) -> &mut Connection {
        &mut self.rows[key]
    }
}
