//! A connection to one peer: rings in shared memory, a TCP stream, or an inner endpoint.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::io::Errno;
use rustix::net::SendFlags;

use super::bells;
use super::board::{BOARD, Board, View};
use super::file::{Mapping, new_file, recv_with_file, send_file};
use super::lease::CLOSED;
use super::memory::{PeerMemory, copy_from_peer};
use super::record::{Bytes, Kind, Record};
use super::ring::{Broken, LINES_MAX, LINES_MIN, RingReceiver, RingSender, ring_bytes};
use super::shared::Witness;
use super::tcp::TcpLink;
use crate::bindings::IoVec;

/// Why a connection is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LinkError {
    /// The peer closed it, or is gone.
    Closed,
    /// The peer broke the rules of the wire.
    Broken,
    /// The process that listens at the peer's port does not know the peer's key.
    Stranger,
}

impl From<Broken> for LinkError {
    fn from(_: Broken) -> Self {
        Self::Broken
    }
}

/// Two rings in a memory file, and the socket over which the file came.
#[derive(Debug)]
pub(crate) struct ShmLink {
    out: RingSender,
    into: RingReceiver,
    socket: OwnedFd,
    pid: i32,
    peer_sleeps: bool,
    asleep: bool,
    /// The peer is gone: no more records will come than the rings hold.
    ended: bool,
    /// The epoch of this side's memory.
    epoch: u64,
    /// That of the process that made this value.
    witness: Witness,
    bulk_out: Option<Box<Bulk<RingSender>>>,
    bulk_into: Option<Box<Bulk<RingReceiver>>>,
    /// The ring for long data exists, or cannot be made.
    widened: bool,
    /// The peer's bells, once it has sent them.
    bells: Option<View>,
    /// This side has asked for them.
    asked_for_bells: bool,
    /// The peer has asked for those of this side, and has not got them.
    must_send_bells: bool,
    has_sent_bells: bool,
    /// A file of the peer waits in the socket until this process has a descriptor for it.
    wants_descriptor: bool,
    _memory: Mapping,
}

// SAFETY: the rings' addresses are into `_memory`, which moves with them.
unsafe impl Send for ShmLink {}

/// Lines of the ring for long data.
const BULK_LINES: usize = 1 << 14;

/// A ring for long data in pieces, in a separate memory file. It holds much more than the usual
/// ring, so few turns of the scheduler pass between the first piece and the last.
#[derive(Debug)]
struct Bulk<Ring> {
    ring: Ring,
    _memory: Mapping,
}

impl<Ring> Bulk<Ring> {
    /// # Safety
    /// `ring` makes an end of a ring, and no other end of that kind has this file in this process.
    unsafe fn new(
        file: BorrowedFd<'_>,
        ring: unsafe fn(NonNull<u8>, usize) -> Ring,
    ) -> Result<Box<Self>, Errno> {
        let memory = Mapping::new(file, ring_bytes(BULK_LINES))?;
        // SAFETY: the mapping holds this ring, begins on a page, and lives as long as the ring; the
        // caller vouches for the rest.
        let ring = unsafe { ring(memory.start.cast(), BULK_LINES) };
        Ok(Box::new(Self {
            ring,
            _memory: memory,
        }))
    }
}

impl ShmLink {
    /// A link over this file. `first`: this side made the file and sends through its first ring.
    ///
    /// # Errors
    /// If the file is not sound or cannot be mapped.
    pub(super) fn new(
        socket: OwnedFd,
        file: BorrowedFd<'_>,
        lines: usize,
        first: bool,
        peer_sleeps: bool,
    ) -> Result<Self, Errno> {
        if !lines.is_power_of_two() || !(LINES_MIN..=LINES_MAX).contains(&lines) {
            return Err(Errno::BADMSG);
        }
        let pid = rustix::net::sockopt::socket_peercred(&socket)?
            .pid
            .as_raw_nonzero()
            .get();
        let memory = Mapping::new(file, 2 * ring_bytes(lines))?;
        let start = memory.start.cast::<u8>();
        // SAFETY: the mapping holds two rings.
        let second = unsafe { start.add(ring_bytes(lines)) };
        let (out, into) = if first {
            (start, second)
        } else {
            (second, start)
        };
        // SAFETY: a page or a multiple of 64 bytes further; mapped as long as `memory` lives, which
        // this value owns; `lines` was checked; a file is handed over once, so there is one end of
        // each kind here.
        let (out, into) = unsafe { (RingSender::new(out, lines), RingReceiver::new(into, lines)) };
        let witness = Witness::of_this_process();
        into.witness().set(witness);
        Ok(Self {
            out,
            into,
            socket,
            pid,
            peer_sleeps,
            asleep: false,
            ended: false,
            epoch: 0,
            witness,
            bulk_out: None,
            bulk_into: None,
            widened: lines >= BULK_LINES,
            bells: None,
            asked_for_bells: false,
            must_send_bells: false,
            has_sent_bells: false,
            wants_descriptor: false,
            _memory: memory,
        })
    }

    /// Notifies the peer of a record, if it asked for that.
    #[inline(always)]
    fn notify_peer(&mut self) {
        if let Some(bell) = self.out.bell() {
            self.ring(bell);
        }
        if self.peer_sleeps {
            self.wake_peer();
        }
    }

    /// Sets a bell at the peer. The first time it asks for the board: meanwhile the peer reads the
    /// ring in its looks at the sockets.
    #[cold]
    #[inline(never)]
    fn ring(&mut self, bell: u64) {
        match &self.bells {
            Some(board) => bells::ring(board.words(), bell),
            None if self.asked_for_bells => {}
            None => {
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                let asked = rustix::net::send(&self.socket, &[BOARD], flags);
                self.asked_for_bells = asked.is_ok();
            }
        }
    }

    #[inline(never)]
    fn wake_peer(&self) {
        if self.out.receiver_sleeps() {
            // A full socket has woken the peer already; a closed one is noticed elsewhere.
            let _ = rustix::net::send(
                &self.socket,
                &[1],
                SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
            );
        }
    }

    /// Reads the socket: bytes that woke this side, files, a wish for the bells, or its end.
    fn read_socket(&mut self) {
        self.wants_descriptor = false;
        loop {
            let mut bytes = [0; 64];
            let got = recv_with_file(&self.socket, &mut bytes);
            let is_board = bytes[0] == BOARD;
            match got {
                Ok((1.., None)) => self.must_send_bells |= is_board && !self.has_sent_bells,
                Err(Errno::INTR) => {}
                Ok((1.., Some(file))) if is_board && self.bells.is_none() => {
                    match View::new(file.as_fd()) {
                        Ok(board) => self.bells = Some(board),
                        Err(_) => return self.ended = true,
                    }
                }
                Ok((1.., Some(file))) if !is_board && self.bulk_into.is_none() => {
                    // SAFETY: a peer that keeps the rules hands a file over once; ends of one that
                    // does not share bytes, which they only access atomically or copy.
                    match unsafe { Bulk::new(file.as_fd(), RingReceiver::new) } {
                        Ok(bulk) => self.bulk_into = Some(bulk),
                        Err(_) => return self.ended = true,
                    }
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::MFILE) => return self.wants_descriptor = true,
                _ => return self.ended = true,
            }
        }
    }

    /// Makes the ring for long data, once.
    fn widen(&mut self) {
        if std::mem::replace(&mut self.widened, true) {
            return;
        }
        let bulk = new_file(ring_bytes(BULK_LINES)).and_then(|file| {
            // SAFETY: a new file.
            let bulk = unsafe { Bulk::new(file.as_fd(), RingSender::new) }?;
            send_file(&self.socket, file.as_fd(), &[1])?;
            Ok(bulk)
        });
        // Without it, long data take the usual ring.
        self.bulk_out = bulk.ok();
    }

    /// See [`Link::read_memory`].
    ///
    /// # Safety
    /// The list's buffers can be written and hold `skip + length` bytes.
    unsafe fn read_memory(
        &mut self,
        lent: Lent,
        iov: &[IoVec],
        skip: usize,
        length: usize,
    ) -> Result<(), PeerMemory> {
        let lease = self.out.lease();
        let witness = self.out.witness().get();
        if witness.value == 0 || !lent.holds(lease.epoch()) {
            return Err(self.cannot_read(PeerMemory::Absent));
        }
        // SAFETY: the caller's promise.
        let read = unsafe { copy_from_peer(self.pid, witness, lent.address, iov, skip, length) };
        match read {
            Ok(()) if lent.holds(lease.epoch()) => Ok(()),
            read => Err(self.cannot_read(read.err().unwrap_or(PeerMemory::Absent))),
        }
    }

    /// Sets the epoch of this side's memory, except in a forked child: the memory is its parent's.
    fn set_epoch(&mut self, epoch: u64) {
        if self.witness == Witness::of_this_process() {
            self.epoch = epoch;
            self.into.lease().set(epoch);
        }
    }

    /// Notes a peer that is gone.
    #[cold]
    fn cannot_read(&mut self, why: PeerMemory) -> PeerMemory {
        // Whatever the peer wrote before this is in the rings.
        self.ended |= why == PeerMemory::Replaced || self.out.lease().epoch() == CLOSED;
        why
    }

    fn ready(&self) -> bool {
        self.into.ready()
            || self
                .bulk_into
                .as_ref()
                .is_some_and(|bulk| bulk.ring.ready())
    }

    /// The head of a long message stays until its data are next in their ring.
    fn next(&mut self) -> Result<Option<(Record, Bytes)>, Broken> {
        let mut long = false;
        let next = self.into.next_if(|record| {
            long = record.is_long();
            !long
        })?;
        if next.is_some() {
            return Ok(next);
        }
        if long && self.bulk_into.is_none() {
            // The sender has sent the file before the head.
            self.read_socket();
        }
        let bulk = self.bulk_into.as_mut().map(|bulk| &mut bulk.ring);
        let next = bulk.map_or(Ok(None), |bulk| {
            bulk.next_if(|record| long || record.kind != Kind::Long)
        })?;
        match next {
            // The head waits for the ring, and the ring for a descriptor.
            None if long && self.wants_descriptor => Ok(None),
            None if long => Err(Broken),
            Some((data, bytes)) if data.kind == Kind::Long => match self.into.next()? {
                Some((head, _)) if head.is_long() && head.bytes == data.bytes => {
                    Ok(Some((head, bytes)))
                }
                _ => Err(Broken),
            },
            next => Ok(next),
        }
    }

    /// Puts an eager message of more than [`EAGER_MAX`] bytes.
    ///
    /// # Safety
    /// The conditions of [`Link::put`].
    unsafe fn put_long(&mut self, head: Record, iov: &[IoVec]) -> Result<bool, Broken> {
        self.widen();
        let Some(bulk) = &mut self.bulk_out else {
            return Ok(false);
        };
        if bulk.ring.receiver_is_crowded() {
            return Ok(false);
        }
        let data = Record {
            bytes: head.bytes,
            ..Record::new(Kind::Long)
        };
        // SAFETY: the caller's promise.
        Ok(self.out.has_room_for_head()?
            && unsafe { bulk.ring.put(data, iov, 0) }?
            && self.out.put_head(head)?)
    }
}

impl Drop for ShmLink {
    /// The memory of operations that have not ended goes back to the program soon.
    fn drop(&mut self) {
        self.set_epoch(CLOSED);
    }
}

/// Memory of a peer that this side may read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lent {
    pub(crate) address: u64,
    /// The epoch in which it is lent; `None`: as long as the connection lasts.
    pub(crate) epoch: Option<u64>,
}

impl Lent {
    fn holds(self, epoch: u64) -> bool {
        epoch != CLOSED && self.epoch.is_none_or(|lent| lent == epoch)
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) enum Link {
    /// To a process of this machine.
    Shm(ShmLink),
    /// To another machine, perhaps over the inner endpoint.
    Tcp(TcpLink),
}

impl Link {
    /// Puts a record and its payload, `skip` bytes into the list. `Ok(false)`: no room now.
    ///
    /// # Safety
    /// The list's buffers can be read and hold `skip +` [`Record::outside`] bytes.
    ///
    /// # Errors
    /// The connection is over.
    pub(crate) unsafe fn put(
        &mut self,
        record: Record,
        iov: &[IoVec],
        skip: usize,
    ) -> Result<bool, LinkError> {
        // SAFETY: the caller's promise.
        unsafe { self.put_in(false, record, iov, skip) }
    }

    /// Works like [`put`](Self::put). `long`: for data in pieces, and for a record that must
    /// come after them. They have an order among themselves only.
    ///
    /// # Safety
    /// See [`put`](Self::put).
    ///
    /// # Errors
    /// The connection is over.
    #[inline(never)]
    pub(crate) unsafe fn put_in(
        &mut self,
        long: bool,
        record: Record,
        iov: &[IoVec],
        skip: usize,
    ) -> Result<bool, LinkError> {
        match self {
            Self::Shm(link) => {
                if link.ended {
                    return Err(LinkError::Closed);
                }
                let put = if record.is_long() {
                    // SAFETY: the caller's promise.
                    unsafe { link.put_long(record, iov) }?
                } else {
                    if long {
                        link.widen();
                    }
                    let long = link.bulk_out.as_mut().filter(|_| long);
                    let ring = long.map_or(&mut link.out, |bulk| &mut bulk.ring);
                    // SAFETY: the caller's promise.
                    unsafe { ring.put(record, iov, skip) }?
                };
                if put {
                    link.notify_peer();
                }
                Ok(put)
            }
            Self::Tcp(_) if record.is_long() => Ok(false),
            // SAFETY: the caller's promise.
            Self::Tcp(link) => unsafe { link.put(record, iov, skip) },
        }
    }

    /// Puts a record whose payload, if any, is in its head.
    ///
    /// # Errors
    /// The connection is over.
    #[inline(always)]
    pub(crate) fn put_head(&mut self, record: Record) -> Result<bool, LinkError> {
        match self {
            Self::Shm(link) if !link.ended => {
                let put = link.out.put_head(record)?;
                if put {
                    link.notify_peer();
                }
                Ok(put)
            }
            // SAFETY: no payload outside the head.
            link => unsafe { link.put(record, &[], 0) },
        }
    }

    /// Whether [`next`](Self::next) has nothing to report, as far as the memory shows.
    #[inline(always)]
    pub(crate) fn is_still(&self) -> bool {
        match self {
            Self::Shm(link) => !link.ready() && !link.ended,
            Self::Tcp(link) => link.is_still(),
        }
    }

    /// Asks the peer to set this bell after each record, or none. A stream needs none: the kernel
    /// tells when bytes have come.
    pub(crate) fn set_bell(&self, bell: Option<usize>) {
        if let Self::Shm(link) = self {
            link.into.set_bell(bell);
        }
    }

    /// Sends the bells to a peer that has asked for them, once. A peer that does not get them sets
    /// none, and its records wait for the looks at the sockets.
    pub(crate) fn send_bells(&mut self, board: &Board) {
        if let Self::Shm(link) = self
            && std::mem::take(&mut link.must_send_bells)
        {
            link.has_sent_bells = board.send(&link.socket).is_ok();
        }
    }

    /// The ring of a connection in shared memory.
    #[inline(always)]
    pub(crate) fn ring(&mut self) -> Option<&mut RingReceiver> {
        match self {
            Self::Shm(link) => Some(&mut link.into),
            Self::Tcp(_) => None,
        }
    }

    /// The next record; its payload stays until [`release`](Self::release).
    ///
    /// # Errors
    /// The connection is over, and all earlier records were handed out.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<Option<(Record, Bytes)>, LinkError> {
        match self {
            Self::Shm(link) if !link.ended && !link.ready() => Ok(None),
            link => link.next_any(),
        }
    }

    #[inline(never)]
    fn next_any(&mut self) -> Result<Option<(Record, Bytes)>, LinkError> {
        match self {
            Self::Shm(link) => match link.next()? {
                // Records may have come between the poll of the rings and the end.
                None if link.ended => link.next()?.map(Some).ok_or(LinkError::Closed),
                next => Ok(next),
            },
            Self::Tcp(link) => link.next(),
        }
    }

    /// Frees the payload of all records handed out so far.
    #[inline]
    pub(crate) fn release(&mut self) {
        match self {
            Self::Shm(link) => {
                link.into.release();
                if let Some(bulk) = &mut link.bulk_into {
                    bulk.ring.release();
                }
            }
            Self::Tcp(link) => link.release(),
        }
    }

    /// Reads the kernel's data for this connection; [`next`](Self::next) reports its end.
    pub(crate) fn on_readable(&mut self) {
        match self {
            Self::Shm(link) => link.read_socket(),
            Self::Tcp(link) => link.fill(),
        }
    }

    /// Bytes of records whose sends may have completed, and that have not left this process.
    pub(crate) fn unsent(&self) -> usize {
        match self {
            Self::Shm(_) => 0,
            Self::Tcp(link) => link.lost(),
        }
    }

    /// Bytes that a stream holds: those that wait for the kernel, and those that were read ahead.
    #[cfg(test)]
    pub(crate) fn held(&self) -> Option<(usize, usize)> {
        match self {
            Self::Shm(_) => None,
            Self::Tcp(link) => Some(link.held()),
        }
    }

    /// Whether a file of the peer waits for a descriptor of this process.
    pub(crate) fn wants_descriptor(&self) -> bool {
        matches!(self, Self::Shm(link) if link.wants_descriptor)
    }

    /// Writes buffered data to the kernel. `true`: no data is left.
    pub(crate) fn flush(&mut self) -> bool {
        match self {
            Self::Shm(_) => true,
            Self::Tcp(link) => link.flush(),
        }
    }

    /// Whether the peer has taken all records, as far as its memory shows.
    pub(crate) fn is_taken(&mut self) -> bool {
        match self {
            Self::Shm(link) => link.out.is_taken() == Ok(true),
            Self::Tcp(_) => false,
        }
    }

    /// Takes what has come over the inner endpoint, and sends what waits.
    pub(crate) fn receive_frames(&mut self) {
        if let Self::Tcp(link) = self {
            link.flush();
            link.take_frames();
        }
    }

    /// The connection that hears of what comes over the inner endpoint.
    pub(crate) fn set_connection(&self, connection: usize) {
        if let Self::Tcp(link) = self {
            link.set_connection(connection);
        }
    }

    /// Whether records come through a socket.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self, Self::Tcp(link) if !link.has_channel())
    }

    /// Whether the peer is a process of this machine.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self, Self::Shm(_))
    }

    /// Reads `length` bytes of the peer's memory into the list, from `skip` bytes on. They are what
    /// the peer's program lent: the peer is still the process that made the connection, and the
    /// memory was lent until after the copy.
    ///
    /// # Safety
    /// The list's buffers can be written and hold `skip + length` bytes.
    ///
    /// # Errors
    /// The bytes are not valid, though some may have been copied. If the peer is gone, the
    /// connection ends as soon as the records that it has sent were read.
    pub(crate) unsafe fn read_memory(
        &mut self,
        lent: Lent,
        iov: &[IoVec],
        skip: usize,
        length: usize,
    ) -> Result<(), PeerMemory> {
        match self {
            // SAFETY: the caller's promise.
            Self::Shm(link) => unsafe { link.read_memory(lent, iov, skip, length) },
            Self::Tcp(_) => Err(PeerMemory::Absent),
        }
    }

    /// The epoch in which this side lends memory now.
    pub(crate) fn epoch(&self) -> u64 {
        match self {
            Self::Shm(link) => link.epoch,
            Self::Tcp(_) => 0,
        }
    }

    /// Begins a new epoch: the peer takes nothing that it reads in memory lent before, except that
    /// of sends and writes.
    pub(crate) fn revoke(&mut self) {
        if let Self::Shm(link) = self {
            link.set_epoch(link.epoch + 1);
        }
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Self::Shm(link) => link.socket.as_fd(),
            Self::Tcp(link) => link.socket(),
        }
    }

    /// Announces that this side will sleep until its sockets are readable. `false`: it must not,
    /// because there is work or unsent data.
    pub(crate) fn fall_asleep(&mut self) -> bool {
        match self {
            Self::Shm(link) => {
                link.asleep = true;
                let long = link.bulk_into.as_ref().map(|bulk| &bulk.ring);
                link.into.fall_asleep(long) && !link.ended
            }
            Self::Tcp(link) => link.is_idle(),
        }
    }

    /// Asks the peer to announce long messages, or no longer.
    pub(crate) fn set_crowded(&mut self, crowded: bool) {
        if let Self::Shm(ShmLink {
            bulk_into: Some(bulk),
            ..
        }) = self
        {
            bulk.ring.set_crowded(crowded);
        }
    }

    /// Announces that this side is awake.
    pub(crate) fn wake(&mut self) {
        if let Self::Shm(link) = self
            && link.asleep
        {
            link.asleep = false;
            link.into.wake();
        }
    }
}
