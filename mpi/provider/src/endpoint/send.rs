//! Sending: short messages immediately, long ones by an announcement after which the receiver
//! fetches the data.

use std::ffi::c_void;

use rustix::io::Errno;

use super::connections::{Connection, OUTSTANDING_MAX};
use super::descriptors::{is_shortage, shortage};
use super::sockets::Watched;
use super::tables::{Buffers, Sending};
use super::{Common, Completion, Endpoint};
use crate::bindings::{
    FI_DELIVERY_COMPLETE, FI_EACCES, FI_EAGAIN, FI_ECONNRESET, FI_EHOSTUNREACH, FI_EINVAL,
    FI_EMFILE, FI_EMSGSIZE, FI_ENOMEM, FI_EOPBADSTATE, FI_INJECT, FI_MSG, FI_SEND, FI_TAGGED,
    IoVec,
};
use crate::wire::{
    Address, EAGER_MAX, INLINE, Kind, LONG_MAX, Link, LinkError, PeerId, Record, connect, flag,
    gather,
};

#[derive(Debug)]
pub(crate) struct SendRequest<'a> {
    pub(crate) iov: &'a [IoVec],
    pub(crate) to: u64,
    /// `None`: not tagged.
    pub(crate) tag: Option<u64>,
    pub(crate) data: Option<u64>,
    pub(crate) context: *mut c_void,
    pub(crate) flags: u64,
    /// It gets a completion.
    pub(crate) completes: bool,
}

impl Endpoint {
    /// Sends. `Err`: a negative error number for the program.
    ///
    /// The compiler inlines the path of a message that fits into a record's head and needs no
    /// answer. In a separate function, moving the request would cost more than the rest.
    ///
    /// # Safety
    /// The buffers can be read until the send completes; with `FI_INJECT`, until this returns.
    #[inline(always)]
    pub(crate) unsafe fn send(
        &mut self,
        common: &mut Common,
        send: &SendRequest<'_>,
    ) -> Result<(), isize> {
        let peer = self.peer(common, send.to)?;
        let connection = self.route(common, peer)?;
        let waits = send.completes && send.flags & FI_DELIVERY_COMPLETE != 0;
        let [one] = send.iov else {
            // SAFETY: the caller's promise.
            return unsafe { self.send_any(common, send, connection, waits) };
        };
        if one.iov_len > INLINE || waits {
            // SAFETY: the caller's promise.
            return unsafe { self.send_any(common, send, connection, waits) };
        }
        // SAFETY: the caller's promise: the buffer has that many bytes.
        let body = unsafe { words(one.iov_base.cast(), one.iov_len) };
        let record = Record {
            flags: flags(send),
            bytes: one.iov_len as u32,
            tag: send.tag.unwrap_or(0),
            data: send.data.unwrap_or(0),
            body,
            ..Record::new(Kind::Eager)
        };
        put_result(self.free_link(connection)?.put_head(record))?;
        self.totals.sent += 1;
        self.totals.sent_bytes += one.iov_len as u64;
        if send.completes || self.tx.counter.is_some() {
            let kind = if send.tag.is_some() {
                FI_TAGGED
            } else {
                FI_MSG
            };
            self.sent(
                common,
                Completion::new(send.context, FI_SEND | kind),
                send.completes,
            );
        }
        Ok(())
    }

    /// Sends a message of any length.
    ///
    /// # Safety
    /// The conditions of [`send`](Self::send).
    #[inline(never)]
    unsafe fn send_any(
        &mut self,
        common: &mut Common,
        send: &SendRequest<'_>,
        connection: usize,
        waits: bool,
    ) -> Result<(), isize> {
        let length: usize = send.iov.iter().map(|part| part.iov_len).sum();
        let mut send_as = |eager| {
            // SAFETY: the caller's promise.
            unsafe { self.send_as(common, send, connection, waits, length, eager) }
        };
        // The receiver would wait longer for the answer to an announcement than for the copy.
        if length > EAGER_MAX && length <= LONG_MAX && send.flags & FI_INJECT == 0 {
            match send_as(true) {
                Err(error) if error == -(FI_EAGAIN as isize) => {}
                sent => return sent,
            }
        }
        send_as(length <= EAGER_MAX)
    }

    /// Sends a message of `length` bytes with its data, or announces it. A message that waits for
    /// its end is kept.
    ///
    /// # Safety
    /// The conditions of [`send`](Self::send).
    unsafe fn send_as(
        &mut self,
        common: &mut Common,
        send: &SendRequest<'_>,
        connection: usize,
        waits: bool,
        length: usize,
        eager: bool,
    ) -> Result<(), isize> {
        let flags = FI_SEND
            | if send.tag.is_some() {
                FI_TAGGED
            } else {
                FI_MSG
            };
        let mut record = Record {
            tag: send.tag.unwrap_or(0),
            data: send.data.unwrap_or(0),
            flags: self::flags(send),
            ..Record::new(Kind::Eager)
        };
        let (mut buffers, mut copy) = (Buffers::new(send.iov), None);
        let mut sending = None;
        if eager {
            record.bytes = length as u32;
            if length <= INLINE {
                // SAFETY: the body has room for `INLINE` bytes, the list holds `length`.
                unsafe { gather(send.iov, 0, record.body.as_mut_ptr().cast(), length) };
            }
        } else {
            if send.flags & FI_INJECT != 0 {
                return Err(-(FI_EMSGSIZE as isize));
            }
            record.kind = Kind::Rendezvous;
            // SAFETY: the caller's promise.
            (buffers, copy) = unsafe { buffers.in_one_piece() };
            record.body = [length as u64, buffers.address(0) as u64, 0];
        }
        if !eager || waits {
            let entry = Sending {
                connection,
                context: send.context,
                flags,
                bits: record.tag,
                since_ms: self.now_ms(),
                completes: send.completes,
                buffers,
                _copy: copy,
                length,
                pulled: false,
                transfer: None,
            };
            let key = self.add_sending(entry)?;
            sending = Some(key);
            record.flags |= flag::ACK;
            record.cookie = key as u64;
        }
        // SAFETY: the list holds `length` bytes, and no more than that are outside the head.
        let put = unsafe { self.put(connection, record, send.iov) };
        if let Err(error) = put {
            if let Some(key) = sending {
                self.take_sending(key);
            }
            return Err(error);
        }
        self.totals.sent += 1;
        self.totals.sent_bytes += length as u64;
        self.totals.rendezvous += u64::from(!eager);
        if sending.is_none() {
            self.sent(common, Completion::new(send.context, flags), send.completes);
        }
        Ok(())
    }

    /// Keeps an operation until the peer ends it. Returns `FI_EAGAIN` if too many are waiting.
    pub(super) fn add_sending(&mut self, sending: Sending) -> Result<usize, isize> {
        let connection = self.connections.get_mut(sending.connection);
        let connection = connection.ok_or(-(FI_ECONNRESET as isize))?;
        if connection.outstanding >= OUTSTANDING_MAX {
            return Err(-(FI_EAGAIN as isize));
        }
        connection.outstanding += 1;
        Ok(self.sendings.insert(sending))
    }

    /// Takes out an operation that has ended. No more data will come for it.
    pub(super) fn take_sending(&mut self, key: usize) -> Option<Sending> {
        let sending = self.sendings.try_remove(key)?;
        if let Some(transfer) = sending.transfer {
            self.transfers.try_remove(transfer);
        }
        if let Some(connection) = self.connections.get_mut(sending.connection) {
            connection.outstanding -= 1;
        }
        Some(sending)
    }

    /// Ends a send; `notify`: the program wants its completion.
    pub(super) fn sent(&self, common: &mut Common, completion: Completion, notify: bool) {
        common.finish(self.tx.counter, self.tx.queue, completion, notify);
    }

    #[inline(always)]
    pub(super) fn peer(&self, common: &Common, to: u64) -> Result<PeerId, isize> {
        let vector = self.vector.and_then(|vector| common.vectors.get(vector));
        vector
            .and_then(|vector| vector.peer(to))
            .ok_or(-(FI_EINVAL as isize))
    }

    /// The connection to send to this peer over; a new one if there is none.
    #[inline(always)]
    pub(super) fn route(&mut self, common: &mut Common, peer: PeerId) -> Result<usize, isize> {
        if let Some(&Some(connection)) = self.routes.get(peer.index()) {
            return Ok(connection);
        }
        self.new_route(common, peer)
    }

    #[cold]
    fn new_route(&mut self, common: &mut Common, peer: PeerId) -> Result<usize, isize> {
        let Some(listener) = &self.listener else {
            return Err(-(FI_EOPBADSTATE as isize));
        };
        if listener.has_caller() {
            // It may be this peer: one connection serves both.
            self.accept(common);
            if let Some(&Some(connection)) = self.routes.get(peer.index()) {
                return Ok(connection);
            }
        }
        let to = *common.peers.address(peer);
        let (lines, inner) = (common.options.ring_lines, self.inner.as_ref());
        match connect(&self.address, &to, lines, inner) {
            Ok(link) => Ok(self.add_connection(common, peer, link, true)),
            Err(Errno::AGAIN | Errno::INTR) => Err(-(FI_EAGAIN as isize)),
            Err(error) => {
                crate::report(&unreachable(&to, self.address.host, error));
                Err(-(cause(error) as isize))
            }
        }
    }

    /// Adds a connection. `called`: this side has called the peer.
    pub(super) fn add_connection(
        &mut self,
        common: &Common,
        peer: PeerId,
        link: Link,
        called: bool,
    ) -> usize {
        self.streams |= link.is_stream();
        self.totals.connected += 1;
        self.totals.inner += u64::from(!link.is_local() && !link.is_stream());
        let index = self.connections.insert(peer, link, called);
        self.connections[index].link.set_connection(index);
        self.watch(
            self.connections[index].link.socket(),
            Watched::Connection(index),
        );
        if peer.index() >= self.routes.len() {
            self.routes.resize(peer.index() + 1, None);
        }
        self.note_double(common, peer, index);
        self.routes[peer.index()].get_or_insert(index);
        index
    }

    /// The link of a connection if no records wait for room.
    #[inline(always)]
    fn free_link(&mut self, connection: usize) -> Result<&mut Link, isize> {
        match self.connections.get_mut(connection) {
            Some(Connection { link, outbox, .. }) if outbox.is_empty() => Ok(link),
            Some(_) => Err(-(FI_EAGAIN as isize)),
            None => Err(-(FI_ECONNRESET as isize)),
        }
    }

    /// Puts a record with the beginning of a list as its payload.
    ///
    /// # Safety
    /// The list can be read and holds the record's payload.
    pub(super) unsafe fn put(
        &mut self,
        connection: usize,
        record: Record,
        iov: &[IoVec],
    ) -> Result<(), isize> {
        // SAFETY: the caller's promise.
        put_result(unsafe { self.free_link(connection)?.put(record, iov, 0) })
    }

    /// Puts a record without payload, now or when there is room. Records beyond the bound are
    /// dropped, and progress cuts the peer off.
    pub(super) fn put_or_queue(&mut self, connection: usize, record: Record) {
        // SAFETY: no payload.
        let put = unsafe { self.put(connection, record, &[]) };
        if put == Err(-(FI_EAGAIN as isize))
            && let Some(Connection { outbox, .. }) = self.connections.get_mut(connection)
            && outbox.len() <= OUTSTANDING_MAX
        {
            outbox.push_back(record);
            self.connections.warm(connection);
        }
    }

    pub(super) fn flush_outbox(&mut self, connection: usize) {
        let Connection { link, outbox, .. } = &mut self.connections[connection];
        while let Some(&record) = outbox.front() {
            // SAFETY: no payload.
            match unsafe { link.put(record, &[], 0) } {
                Ok(true) => drop(outbox.pop_front()),
                Ok(false) => return,
                Err(_) => return outbox.clear(),
            }
        }
    }
}

/// What is reported of a peer to which no connection can be made from this machine.
fn unreachable(to: &Address, here: u64, error: Errno) -> String {
    let why = match (error, to.tcp) {
        (error, _) if is_shortage(error) => shortage(error),
        (Errno::PERM, _) if to.host == here => {
            "a process of another user listens at its address; it got nothing".to_owned()
        }
        (_, None) if to.host != here => {
            "it is on another machine and has no TCP port (DPAMATCH_TCP=on)".to_owned()
        }
        _ => error.to_string(),
    };
    format!("cannot reach peer {:032x}: {why}", to.identity)
}

/// The error number of a call that needs a connection that cannot be made.
fn cause(error: Errno) -> i32 {
    match error {
        Errno::MFILE | Errno::NFILE => FI_EMFILE,
        Errno::PERM => FI_EACCES,
        Errno::NOMEM | Errno::NOBUFS => FI_ENOMEM,
        _ => FI_EHOSTUNREACH,
    }
}

/// The result of a send whose record was put.
#[inline(always)]
fn put_result(put: Result<bool, LinkError>) -> Result<(), isize> {
    match put {
        Ok(true) => Ok(()),
        Ok(false) => Err(-(FI_EAGAIN as isize)),
        // Progress still reads what the peer sent before, and then ends the connection.
        Err(_) => Err(-(FI_ECONNRESET as isize)),
    }
}

/// The record kind of a message.
#[inline(always)]
fn flags(send: &SendRequest<'_>) -> u8 {
    let tagged = if send.tag.is_some() { flag::TAGGED } else { 0 };
    tagged | if send.data.is_some() { flag::DATA } else { 0 }
}

/// The body of a record whose payload these bytes are.
///
/// # Safety
/// `start` begins `length` bytes, no more than [`INLINE`].
#[inline(always)]
unsafe fn words(start: *const u8, length: usize) -> [u64; 3] {
    let mut words = [0; 3];
    // SAFETY: the caller's promise; the body has room for `INLINE` bytes. The most common length
    // needs no call.
    unsafe {
        match length {
            8 => words[0] = start.cast::<u64>().read_unaligned(),
            _ => start.copy_to_nonoverlapping(words.as_mut_ptr().cast(), length),
        }
    }
    words
}

#[cfg(test)]
#[test]
fn the_reason_is_told() {
    let fresh = Address::fresh().expect("an address");
    let peer = Address {
        identity: 0xabc,
        host: 7,
        ..fresh
    };
    let told = |peer: &Address, here| unreachable(peer, here, Errno::CONNREFUSED);
    let refused = Errno::CONNREFUSED;
    let begin = format!("cannot reach peer {}abc: ", "0".repeat(29));
    assert_eq!(told(&peer, 7), format!("{begin}{refused}"));
    let far = format!("{begin}it is on another machine and has no TCP port (DPAMATCH_TCP=on)");
    assert_eq!(told(&peer, 8), far);
    let port = Address {
        tcp: "10.0.0.1:7".parse().ok(),
        ..peer
    };
    assert_eq!(told(&port, 8), format!("{begin}{refused}"));
    let causes = [
        (Errno::MFILE, FI_EMFILE, "RLIMIT_NOFILE is "),
        (Errno::NFILE, FI_EMFILE, "fs.file-max"),
        (Errno::PERM, FI_EACCES, "a process of another user listens"),
        (Errno::NOMEM, FI_ENOMEM, "memory"),
        (refused, FI_EHOSTUNREACH, "refused"),
    ];
    for (error, number, words) in causes {
        let line = unreachable(&peer, 7, error);
        assert!(
            line.to_lowercase().contains(&words.to_lowercase()),
            "{line}"
        );
        assert_eq!(cause(error), number);
    }
}
