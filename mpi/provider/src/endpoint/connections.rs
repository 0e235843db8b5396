//! The connections of an endpoint, by number. A number is reused once its connection is over.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use slab::Slab;

use crate::wire::{BELLS, Board, Link, PeerId, Record};

/// Most operations of one side of a connection that wait for the other side. A program that starts
/// more must make progress first. A peer that starts more is cut off, which bounds the memory that
/// its requests take here.
pub(crate) const OUTSTANDING_MAX: usize = 1 << 16;

/// Connections up to which a poll reads all rings: that takes no longer than to read the bells, and
/// no peer has to set one.
pub(crate) const FEW: usize = 8;
/// Looks at the sockets after which a silent connection is read by its bell. In the last of them
/// the peer sets the bell already, and the polls still read the ring.
const HEAT: u8 = 3;

/// Replaces the number of a connection that is over.
pub(super) const GONE: usize = usize::MAX;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: PeerId,
    pub(super) link: Link,
    /// By a call of this side.
    pub(super) called: bool,
    /// This side has sent `Leave`.
    pub(super) left: bool,
    pub(super) peer_left: bool,
    /// Records that wait for room.
    pub(super) outbox: VecDeque<Record>,
    /// Sends, writes and reads of this side that the peer has not ended.
    pub(super) outstanding: usize,
    /// The peer's writes and reads whose data move in pieces.
    pub(super) moving: usize,
    /// Looks at the sockets, at most [`HEAT`], for which each poll reads it, though nothing comes.
    /// 0: polls wait for its bell.
    heat: u8,
}

impl Connection {
    /// Whether there is nothing to read or send, as far as the memory shows.
    #[inline(always)]
    pub(super) fn is_still(&self) -> bool {
        self.link.is_still() && self.outbox.is_empty()
    }

    /// Whether no side begins an operation here any more.
    pub(super) fn is_left_by_both(&self) -> bool {
        self.left && self.peer_left
    }
}

#[derive(Debug, Default)]
pub(super) struct Connections {
    rows: Slab<Connection>,
    /// The numbers in use.
    live: Vec<usize>,
    /// Those that each poll reads. A bell or an event of the socket brings back the others.
    hot: Vec<usize>,
    /// The bells, by the numbers of the connections; made when the first peer is silent.
    board: Option<Board>,
    /// Numbers that were ever in use.
    bells: usize,
}

impl Connections {
    pub(super) fn insert(&mut self, peer: PeerId, link: Link, called: bool) -> usize {
        let outbox = VecDeque::new();
        let key = self.rows.insert(Connection {
            peer,
            link,
            called,
            left: false,
            peer_left: false,
            outbox,
            outstanding: 0,
            moving: 0,
            heat: HEAT,
        });
        self.live.push(key);
        self.hot.push(key);
        self.bells = self.bells.max(key + 1);
        key
    }

    pub(super) fn remove(&mut self, key: usize) -> Connection {
        self.live.retain(|&other| other != key);
        self.hot.retain(|&other| other != key);
        self.rows.remove(key)
    }

    /// The numbers in use.
    #[inline(always)]
    pub(super) fn live(&self) -> &[usize] {
        &self.live
    }

    /// Those that a poll reads.
    #[inline(always)]
    pub(super) fn hot(&self) -> &[usize] {
        &self.hot
    }

    /// Lets the next walk of [`hot`](Self::hot) begin at this place.
    pub(super) fn go_on_at(&mut self, place: usize) {
        if place < self.hot.len() {
            self.hot.rotate_left(place);
        }
    }

    /// Lets polls read a connection, because something has come or waits to leave.
    #[inline(always)]
    pub(super) fn warm(&mut self, key: usize) {
        if self.get(key).is_some_and(|row| row.heat < HEAT) {
            self.warm_up(key);
        }
    }

    #[cold]
    #[inline(never)]
    fn warm_up(&mut self, key: usize) {
        let row = &mut self.rows[key];
        row.link.set_bell(None);
        if std::mem::replace(&mut row.heat, HEAT) == 0 {
            self.hot.push(key);
        }
    }

    /// Whether a bell is set.
    #[inline(always)]
    pub(super) fn is_rung(&self) -> bool {
        self.board
            .as_ref()
            .is_some_and(|board| board.is_rung(self.bells))
    }

    /// Lets polls read the connections whose bells are set.
    #[inline(always)]
    pub(super) fn take_bells(&mut self) {
        if self.is_rung() {
            self.warm_rung();
        }
    }

    #[cold]
    #[inline(never)]
    fn warm_rung(&mut self) {
        let mut rung = Vec::new();
        if let Some(board) = &self.board {
            board.take(self.bells, |key| rung.push(key));
        }
        // A connection that is over may have set its bell.
        rung.into_iter().for_each(|key| self.warm(key));
    }

    /// Sends the bells to a peer that has asked for them.
    pub(super) fn send_bells(&mut self, key: usize) {
        if let (Some(row), Some(board)) = (self.rows.get_mut(key), &self.board) {
            row.link.send_bells(board);
        }
    }

    /// Looks at all connections: polls read those with something to read or send from now on, and
    /// no longer those that were silent for [`HEAT`] looks.
    pub(super) fn update_heat(&mut self) {
        for at in 0..self.live.len() {
            let key = self.live[at];
            if self.rows[key].heat == 0 && !self.rows[key].is_still() {
                self.warm_up(key);
            }
        }
        if self.live.len() <= FEW {
            return;
        }
        if self.board.is_none() {
            // Without a descriptor, polls go on to read all rings.
            self.board = Board::new().ok();
        }
        let (rows, has_board) = (&mut self.rows, self.board.is_some());
        self.hot.retain(|&key| {
            let row = &mut rows[key];
            let has_bell = !row.link.is_local() || has_board && key < BELLS;
            if !has_bell || !row.is_still() {
                return true;
            }
            row.heat -= 1;
            if row.heat == 1 {
                row.link.set_bell(Some(key));
            }
            row.heat > 0
        });
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

    /// Calls a function with the links that polls read.
    #[inline(always)]
    pub(super) fn each_hot_link(&mut self, mut what: impl FnMut(&mut Link)) {
        for &key in &self.hot {
            what(&mut self.rows[key].link);
        }
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

    /// Ends the sockets, as the kernel does when the process is killed.
    pub(crate) fn end_sockets(&mut self) {
        self.connections.each_link(|link| {
            let _ = rustix::net::shutdown(link.socket(), rustix::net::Shutdown::Both);
        });
    }

    /// Stands for the inner endpoint in a hello.
    pub(crate) fn mark(&self) -> u32 {
        self.listener.as_ref().expect("it listens").mark
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

    /// Connections that a poll reads.
    pub(crate) fn read_by_polls(&self) -> usize {
        self.connections.hot.len()
    }

    pub(crate) fn polls(&self) -> u32 {
        self.polls
    }

    /// Takes back all bells, as a peer that breaks the rules can.
    pub(crate) fn lose_bells(&self) {
        let connections = &self.connections;
        let board = connections.board.as_ref().expect("a board");
        assert!(connections.is_rung());
        board.take(connections.bells, |_| ());
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
