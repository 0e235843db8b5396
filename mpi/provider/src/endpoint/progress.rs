//! Progress: reading the links, settling the matcher, pushing data out.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::epoll;

use super::connections::{Connection, OUTSTANDING_MAX};
use super::receive::untranslated;
use super::sockets::Watched;
use super::stats::Requests;
use super::tables::{Arrived, Body, Push, Source, Target};
use super::{Common, Completion, Endpoint, Sink};
use crate::bindings::{FI_EACCES, FI_EIO, FI_READ, IoVec};
use crate::matcher::MessageHeader;
use crate::wire::{
    Bytes, EAGER_MAX, INLINE, Kind, Link, LinkError, Listener, Record, SharedInner, flag, scatter,
};

/// Polls of the rings between two polls of the sockets, which are system calls.
const LOOK_EVERY: u32 = 64;
/// Polls of the rings between two polls of the sockets, if messages come through sockets.
const LOOK_AT_STREAMS_EVERY: u32 = 4;
/// Records read from one link in one round.
const RECORDS_MAX: u64 = 64;

/// Unexpected messages from which on peers announce long messages, so that their data stay there.
pub(crate) const CROWD: usize = 1024;

/// A record of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming {
    pub(super) connection: usize,
    pub(super) record: Record,
    pub(super) bytes: Bytes,
}

/// What a poll found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    Nothing,
    /// Records of the connection at this place of those that polls read.
    Records(usize),
    /// Perhaps something other than records.
    Any,
}

impl Endpoint {
    /// Begins to listen.
    ///
    /// # Errors
    /// A text that names the cause.
    pub(crate) fn enable(&mut self, common: &Common) -> Result<(), String> {
        if self.listener.is_some() {
            return Ok(());
        }
        super::descriptors::raise_limit();
        let sleeps = |queue: Option<usize>| {
            queue
                .and_then(|queue| common.queues.get(queue))
                .is_some_and(|queue| queue.sleeps)
        };
        self.address.sleeps = sleeps(self.rx.queue) || sleeps(self.tx.queue);
        let mut listener = Listener::open(&mut self.address, common.options.tcp)
            .map_err(|error| format!("cannot listen: {error}"))?;
        if let (Some(provider), Some(at)) = (&common.options.fabric, self.address.tcp) {
            let inner = match common.core {
                Some(core) => SharedInner::open(core, provider, at.ip()),
                None => Err("no libfabric in this process".to_owned()),
            };
            let inner = inner.map_err(|why| format!("DPAMATCH_FABRIC={provider}: {why}"))?;
            listener.mark = inner.mark();
            self.inner = Some(inner);
        }
        for socket in std::iter::once(&listener.unix).chain(&listener.tcp) {
            self.watch(socket.as_fd(), Watched::Listener);
        }
        self.listener = Some(listener);
        if let Some(folder) = &common.options.stats {
            self.requests = Requests::open(folder);
            // So that readers know of an endpoint that will not come to its end.
            self.write_stats_now(common);
        }
        Ok(())
    }

    /// The descriptor that becomes readable when a peer wakes this endpoint.
    pub(crate) fn wait_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    pub(super) fn watch(&self, socket: BorrowedFd<'_>, what: Watched) {
        let added = epoll::add(&self.epoll, socket, what.to_data(), epoll::EventFlags::IN);
        if let Err(error) = added {
            crate::report(&format!(
                "cannot watch a socket, so its peer may wait for ever: {error}"
            ));
        }
    }

    /// One round.
    pub(crate) fn progress(&mut self, common: &mut Common) {
        self.progress_into(common, &mut Sink::none());
    }

    /// What a round would find; counts one that would find nothing.
    #[inline(always)]
    pub(crate) fn poll(&mut self, yield_after: u32) -> Found {
        let polls = self.polls.wrapping_add(1);
        let owes = self.asleep | self.unsettled | self.noted | !self.pushes.is_empty();
        let yields = yield_after > 0 && self.fruitless + 1 >= yield_after;
        if owes || yields || polls & (self.rounds_between_polls() - 1) == 0 {
            return Found::Any;
        }
        if self.inner.is_some() {
            self.progress_inner();
        }
        for (place, &index) in self.connections.hot().iter().enumerate() {
            if !self.connections[index].is_still() {
                return Found::Records(place);
            }
        }
        if self.connections.is_rung() {
            return Found::Any;
        }
        self.polls = polls;
        self.fruitless += 1;
        Found::Nothing
    }

    /// A round that [`poll`](Self::poll) would count and that reads the connection at this place
    /// alone, up to the first record that is not for the short path. `false`: nothing has changed.
    #[inline(always)]
    pub(crate) fn short_round(
        &mut self,
        common: &mut Common,
        place: usize,
        sink: &mut Sink,
    ) -> bool {
        let index = self.connections.hot()[place];
        if self.take_batch(common, index, sink, RECORDS_MAX) == 0 {
            return false;
        }
        self.polls = self.polls.wrapping_add(1);
        self.fruitless = 0;
        self.connections.warm(index);
        if sink.is_full() {
            self.connections.go_on_at(place + 1);
        }
        match self.noted {
            true => self.end_round(common),
            false => self.connections[index].link.release(),
        }
        true
    }

    /// Takes what has come over the inner endpoint.
    #[cold]
    #[inline(never)]
    pub(super) fn progress_inner(&mut self) {
        let Some(inner) = &self.inner else { return };
        inner.progress(&mut self.news);
        for at in 0..self.news.len() {
            let index = self.news[at];
            if let Some(connection) = self.connections.get_mut(index) {
                connection.link.receive_frames();
                self.connections.warm(index);
            }
        }
    }

    /// Rounds between two looks at the sockets, a power of two.
    #[inline(always)]
    fn rounds_between_polls(&self) -> u32 {
        if self.streams {
            LOOK_AT_STREAMS_EVERY
        } else {
            LOOK_EVERY
        }
    }

    /// One round, which may end early when the program's buffer for completions is full.
    #[inline(always)]
    pub(crate) fn progress_into(&mut self, common: &mut Common, sink: &mut Sink) {
        self.polls = self.polls.wrapping_add(1);
        if self.asleep || self.polls & (self.rounds_between_polls() - 1) == 0 {
            self.poll_all(common);
            sink.close();
        }
        if self.inner.is_some() {
            self.progress_inner();
        }
        self.connections.take_bells();
        let mut any = false;
        let mut at = 0;
        while let Some(&index) = self.connections.hot().get(at) {
            if self.connections[index].is_still() {
                at += 1;
                continue;
            }
            any |= self.read(common, index, sink);
            // One that is over has left the list.
            at += usize::from(self.connections.hot().get(at) == Some(&index));
            if sink.is_full() {
                self.connections.go_on_at(at);
                break;
            }
        }
        if any || self.unsettled || self.noted {
            self.end_round(common);
        }
        if !self.pushes.is_empty() {
            self.push();
        }
        if any {
            self.fruitless = 0
        } else {
            self.rest(common)
        }
    }

    /// Settles the matcher and frees the links' memory.
    fn end_round(&mut self, common: &mut Common) {
        if std::mem::take(&mut self.noted)
            && let Some(usage) = &mut self.usage
        {
            usage.settled(self.posted_now, self.unexpected_now);
        }
        if self.unsettled {
            self.settle(common);
        }
        if !self.batch.is_empty() {
            self.hold_batch();
        }
        self.connections.each_hot_link(Link::release);
        let unexpected = self.unexpected_now as usize + self.untagged_messages.len();
        if self.crowded != (unexpected >= CROWD) {
            self.crowded = !self.crowded;
            let crowded = self.crowded;
            self.connections.each_link(|link| link.set_crowded(crowded));
        }
        if self.flood.is_due(self.messages_ever) {
            self.stop_floods(common);
        }
    }

    #[cold]
    #[inline(never)]
    fn poll_all(&mut self, common: &mut Common) {
        let woken = std::mem::take(&mut self.asleep);
        if woken {
            self.connections.each_link(Link::wake);
        }
        self.poll_sockets(common);
        if woken || self.polls & (LOOK_EVERY - 1) == 0 {
            self.connections.update_heat();
        }
        if !self.doubles.is_empty() {
            self.join_doubles();
        }
        self.write_if_asked(common);
    }

    /// Yields after enough consecutive polls that found nothing.
    #[inline(always)]
    fn rest(&mut self, common: &Common) {
        self.fruitless += 1;
        let after = common.options.yield_after;
        if after > 0 && self.fruitless >= after {
            self.fruitless = 0;
            std::thread::yield_now();
        }
    }

    /// Reads what a link has, up to a bound.
    #[inline(always)]
    fn read(&mut self, common: &mut Common, index: usize, sink: &mut Sink) -> bool {
        let mut read = 0;
        while read < RECORDS_MAX && !sink.is_full() {
            let short = !self.unsettled && self.matcher.is_short();
            let taken = if short {
                self.take_batch(common, index, sink, RECORDS_MAX - read)
            } else {
                0
            };
            read += taken;
            if self.connections[index].link.is_still() {
                break;
            }
            if taken > 0 {
                continue;
            }
            // Its completion, if any, is in the queue.
            sink.close();
            if self.read_any(common, index).is_none() {
                break;
            }
            read += 1;
        }
        if read > 0 {
            self.connections.warm(index);
        }
        if self
            .connections
            .get(index)
            .is_some_and(|connection| !connection.outbox.is_empty())
        {
            self.flush_waiting(common, index);
        }
        read > 0
    }

    /// Reads the link's next record, of any kind. `None`: there is none, or the connection is over.
    #[inline(never)]
    fn read_any(&mut self, common: &mut Common, index: usize) -> Option<()> {
        let link = &mut self.connections[index].link;
        let handled = match link.next() {
            Ok(None) => return None,
            Ok(Some((record, bytes))) => self.handle(
                common,
                Incoming {
                    connection: index,
                    record,
                    bytes,
                },
            ),
            Err(error) => {
                self.fail_connection(common, index, error);
                return None;
            }
        };
        if handled.is_none() {
            self.fail_connection(common, index, LinkError::Broken);
        }
        handled
    }

    /// Sends the records that wait for room. A peer for which too many wait is cut off.
    #[inline(never)]
    fn flush_waiting(&mut self, common: &mut Common, index: usize) {
        self.flush_outbox(index);
        if self.connections[index].outbox.len() > OUTSTANDING_MAX {
            self.fail_connection(common, index, LinkError::Broken);
        }
    }

    /// Handles one record. `None`: it breaks the rules.
    #[inline(never)]
    fn handle(&mut self, common: &mut Common, incoming: Incoming) -> Option<()> {
        let Incoming {
            connection, record, ..
        } = incoming;
        match record.kind {
            Kind::Eager | Kind::Rendezvous => self.arrive(common, incoming)?,
            Kind::Fin => self.finished(common, connection, &record)?,
            Kind::Pull => {
                let sending = usize::try_from(record.cookie).ok()?;
                let known = self.sendings.get_mut(sending)?;
                let is_its = known.connection == connection && known.flags & FI_READ == 0;
                if !is_its || std::mem::replace(&mut known.pulled, true) {
                    return None;
                }
                let [token, wanted, _] = record.body;
                let length = known.length.min(usize::try_from(wanted).ok()?);
                let source = Source::Sending { sending };
                self.pushes.push_back(Push {
                    connection,
                    token,
                    source,
                    sent: 0,
                    length,
                });
            }
            Kind::Data => self.piece(common, incoming)?,
            Kind::Write | Kind::WriteLong | Kind::Read => self.remote(common, incoming)?,
            Kind::Grant => self.granted(common, connection, &record)?,
            Kind::Return => self.returned(connection, &record)?,
            Kind::Leave => {
                let peer_left = &mut self.connections[connection].peer_left;
                if std::mem::replace(peer_left, true) {
                    return None;
                }
            }
            // Read by the link.
            Kind::Wrap | Kind::Long => return None,
        }
        Some(())
    }

    /// The message that a record carries; `None` if the record breaks the rules of the wire.
    #[inline(always)]
    pub(super) fn message(
        &self,
        incoming: Incoming,
        header: MessageHeader,
        number: u64,
    ) -> Option<Arrived> {
        let Incoming {
            connection,
            record,
            bytes,
        } = incoming;
        let (length, body) = if record.kind == Kind::Rendezvous {
            let [length, address, _] = record.body;
            (usize::try_from(length).ok()?, Body::Remote { address })
        } else if record.bytes as usize <= INLINE {
            (record.bytes as usize, Body::Inline(record.body))
        } else if bytes.length == record.bytes as usize {
            (bytes.length, Body::InLink(bytes))
        } else {
            return None;
        };
        let waits = record.flags & flag::ACK != 0;
        if matches!(body, Body::Remote { .. }) && !waits {
            return None;
        }
        Some(Arrived {
            connection,
            peer: self.connections[connection].peer,
            tagged: record.flags & flag::TAGGED != 0,
            header,
            data: (record.flags & flag::DATA != 0).then_some(record.data),
            length,
            body,
            cookie: waits.then_some(record.cookie),
            number,
            waiting: true,
            since_ms: 0,
        })
    }

    #[inline(always)]
    fn arrive(&mut self, common: &mut Common, incoming: Incoming) -> Option<()> {
        let Incoming {
            connection, record, ..
        } = incoming;
        let peer = self.connections[connection].peer;
        let tagged = record.flags & flag::TAGGED != 0;
        let by_rule = if tagged {
            self.header(record.tag, peer)
        } else {
            None
        };
        let has_rule = by_rule.is_some();
        let header = by_rule.unwrap_or_else(|| untranslated(record.tag));
        let message = self.message(incoming, header, self.messages_ever)?;
        let in_link = matches!(message.body, Body::InLink(_));
        self.messages_ever += 1;
        let key = self.messages.insert(message);
        if in_link {
            self.batch.push(key);
        }
        match (has_rule, tagged) {
            (true, _) => self.arrive_tagged(common, key),
            (false, false) => self.arrive_untagged(common, key),
            // It takes this message along.
            (false, true) => self.rebuild(common, None),
        }
        Some(())
    }

    /// Ends a send, write or read of this side that the peer has finished.
    fn finished(&mut self, common: &mut Common, connection: usize, record: &Record) -> Option<()> {
        let key = usize::try_from(record.cookie).ok()?;
        let known = self.sendings.get(key)?;
        // A read ends with its data, or with an error.
        let without_data = known.flags & FI_READ != 0 && record.body[0] == 0 && known.length > 0;
        if known.connection != connection || without_data {
            return None;
        }
        let sending = self.take_sending(key)?;
        self.pushes
            .retain(|push| !matches!(push.source, Source::Sending { sending } if sending == key));
        let mut completion = Completion::new(sending.context, sending.flags);
        if record.body[0] != 0 {
            completion = completion.failed(i32::try_from(record.body[0]).unwrap_or(FI_EIO));
        }
        self.end_sending(common, completion, sending.completes);
        Some(())
    }

    /// Takes a piece of data that this side requested.
    fn piece(&mut self, common: &mut Common, incoming: Incoming) -> Option<()> {
        let Incoming {
            connection,
            record,
            bytes,
        } = incoming;
        let key = usize::try_from(record.cookie).ok()?;
        let transfer = self.transfers.get_mut(key)?;
        let fits = bytes.length <= transfer.wanted - transfer.got;
        if transfer.connection != connection || !fits || bytes.length == 0 {
            return None;
        }
        let got = transfer.got;
        transfer.got += bytes.length;
        let memory;
        let (iov, skip) = match transfer.target {
            Target::Receive { recv, at, .. } => (self.posts[recv].buffers.as_slice(), at + got),
            Target::Read { sending } => (self.sendings.get(sending)?.buffers.as_slice(), got),
            // The program closed the region during the transfer: the remaining pieces are dropped.
            Target::Region { ref region, .. } if region.strong_count() == 0 => (&[][..], 0),
            Target::Region { address, .. } => {
                memory = [IoVec {
                    iov_base: address as *mut _,
                    iov_len: transfer.wanted,
                }];
                (&memory[..], got)
            }
        };
        // SAFETY: the target holds what was asked for: a receive reserved it, a read has its
        // buffers, and a region's range was checked when the transfer began and is still
        // registered. An empty list takes nothing.
        unsafe { scatter(iov, skip, bytes.start, bytes.length) };
        if transfer.got < transfer.wanted {
            return Some(());
        }
        let transfer = self.transfers.remove(key);
        self.end_transfer(common, transfer);
        Some(())
    }

    /// Sends data that peers requested, as far as the links have room.
    #[inline(never)]
    fn push(&mut self) {
        for _ in 0..self.pushes.len() {
            let Some(mut push) = self.pushes.pop_front() else {
                return;
            };
            let memory;
            let mut refusal = None;
            let iov = match push.source {
                Source::Sending { sending } => match self.sendings.get(sending) {
                    Some(sending) => sending.buffers.as_slice(),
                    None => continue,
                },
                Source::Region {
                    ref region,
                    cookie,
                    address,
                } => {
                    if region.strong_count() == 0 {
                        // One record without payload represents all of it.
                        push.sent = 0;
                        refusal = Some(Record::fin(cookie, FI_EACCES));
                        &[]
                    } else {
                        memory = [IoVec {
                            iov_base: address as *mut _,
                            iov_len: push.length,
                        }];
                        &memory[..]
                    }
                }
            };
            let Connection { link, moving, .. } = &mut self.connections[push.connection];
            let mut over = false;
            while push.sent < push.length {
                let rest = push.length - push.sent;
                let bytes = rest.min(EAGER_MAX);
                let piece = Record {
                    bytes: bytes as u32,
                    cookie: push.token,
                    ..Record::new(Kind::Data)
                };
                // A refusal takes the pieces' ring, so that it arrives after them.
                let (record, moved) = refusal.map_or((piece, bytes), |refusal| (refusal, rest));
                // SAFETY: a send's buffers are the program's until it completes; a region's range
                // was checked, and the region is still registered. A refusal is empty.
                let put = unsafe { link.put_in(true, record, iov, push.sent) };
                match put {
                    Ok(true) => push.sent += moved,
                    Ok(false) => break,
                    Err(_) => {
                        over = true;
                        break;
                    }
                }
            }
            if !over && push.sent < push.length {
                self.pushes.push_back(push);
            } else if matches!(push.source, Source::Region { .. }) {
                *moving -= 1;
            }
        }
    }
}
