//! A TCP stream of records: each is its head's words in the machine's byte order, then its payload.
//! The hello checks the byte order. Before the hello both sides prove that they know the key
//! ([`proof`](super::proof)).
//!
//! With an inner endpoint the records go over a [`channel`](super::channel) instead. The stream
//! then has each side's card, and the number of its last frame where it ends in good order.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use super::address::array;
use super::channel::{CARD, Channel, SendOutcome};
use super::link::LinkError;
use super::memory::gather;
use super::proof::PROOF;
use super::record::{Bytes, HEAD_WORDS, Record};
use crate::bindings::IoVec;

const HEAD: usize = 8 * HEAD_WORDS;
/// Bytes that may wait for the kernel. Beyond them the link has no room.
pub(crate) const OUT_MAX: usize = 1 << 20;
/// Bytes read ahead. A record is shorter.
pub(crate) const IN_MAX: usize = 1 << 18;

/// Bytes of the number of the last frame.
const LAST: usize = 8;
/// Time in which the frames of a peer that has ended must come.
const PATIENCE: Duration = Duration::from_secs(2);

/// The channel of an inner provider, which carries the records instead of the stream.
#[derive(Debug)]
struct InnerStream {
    channel: Channel,
    /// Bytes of the stream: the card, then the number of the last frame.
    received: Vec<u8>,
    /// The card has come.
    has_card: bool,
    /// The stream has ended: until then frames may come.
    until: Option<Instant>,
}

/// The stream.
#[derive(Debug)]
pub(crate) struct TcpLink {
    socket: OwnedFd,
    first: Preamble,
    out: Vec<u8>,
    /// Bytes of `out` that the kernel has taken.
    sent: usize,
    into: Vec<u8>,
    /// Bytes of `into` that were handed out.
    read: usize,
    ended: bool,
    /// No whole record has come since the last was handed out.
    dry: bool,
    /// Bytes of records that the kernel did not take before the stream ended.
    lost: usize,
    /// The listener has not proved that it is the peer.
    is_stranger: bool,
    inner: Option<Box<InnerStream>>,
}

/// What is sent before the first record.
#[derive(Debug, Default)]
pub(super) struct Preamble {
    /// Bytes that may leave now.
    pub(super) bytes: Vec<u8>,
    /// Those that the kernel has taken.
    pub(super) sent: usize,
    /// The proof that the listener must send, and the bytes that follow it. No record leaves
    /// before.
    pub(super) proof: Option<([u8; PROOF], Vec<u8>)>,
}

/// What the kernel did with bytes that were given to it.
enum WriteOutcome {
    All,
    /// Still connecting, or full.
    Partial,
    Closed,
}

fn write(socket: &OwnedFd, bytes: &[u8], sent: &mut usize) -> WriteOutcome {
    while *sent < bytes.len() {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match rustix::net::send(socket, &bytes[*sent..], flags) {
            Ok(count) => *sent += count,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN | Errno::NOTCONN | Errno::ALREADY | Errno::INPROGRESS) => {
                return WriteOutcome::Partial;
            }
            Err(_) => return WriteOutcome::Closed,
        }
    }
    WriteOutcome::All
}

/// Reads the kernel's data up to `most` bytes in all. Returns whether some came, and whether the
/// stream has ended.
fn read(socket: &OwnedFd, into: &mut Vec<u8>, most: usize) -> (bool, bool) {
    let before = into.len();
    while into.len() < most {
        let start = into.len();
        into.resize(most, 0);
        let got = rustix::net::recv(socket, &mut into[start..], RecvFlags::DONTWAIT);
        into.truncate(start + got.map_or(0, |(count, _)| count));
        match got {
            Ok((0, _)) => return (start > before, true),
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::AGAIN | Errno::NOTCONN) => return (start > before, false),
            Err(_) => return (start > before, true),
        }
    }
    (into.len() > before, false)
}

impl TcpLink {
    /// A link over this socket, which begins with `first`, or over a channel once cards have been
    /// exchanged. This side's card is part of `first`.
    pub(super) fn new(socket: OwnedFd, first: Preamble, channel: Option<Channel>) -> Self {
        // Without it small messages wait for each other. An old kernel may refuse it.
        let _ = rustix::net::sockopt::set_tcp_nodelay(&socket, true);
        Self {
            socket,
            first,
            out: Vec::new(),
            sent: 0,
            into: Vec::with_capacity(IN_MAX),
            read: 0,
            ended: false,
            dry: true,
            lost: 0,
            is_stranger: false,
            inner: channel.map(|channel| {
                Box::new(InnerStream {
                    channel,
                    received: Vec::new(),
                    has_card: false,
                    until: None,
                })
            }),
        }
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// # Safety
    /// The conditions of [`Link::put`](super::Link::put).
    pub(super) unsafe fn put(
        &mut self,
        record: Record,
        iov: &[IoVec],
        skip: usize,
    ) -> Result<bool, LinkError> {
        if self.ended {
            return Err(LinkError::Closed);
        }
        let outside = record.outside();
        if self.out.len() - self.sent + HEAD + outside > OUT_MAX {
            self.flush();
            if self.out.len() - self.sent + HEAD + outside > OUT_MAX {
                return Ok(false);
            }
        }
        for word in record.to_words() {
            self.out.extend_from_slice(&word.to_ne_bytes());
        }
        self.out.reserve(outside);
        let end = self.out.len();
        // SAFETY: the room was reserved; the caller vouches for the list, and all of
        // them are written before they count.
        unsafe {
            gather(iov, skip, self.out.as_mut_ptr().add(end), outside);
            self.out.set_len(end + outside);
        }
        self.flush();
        // The kernel has refused the record, so nobody will read it.
        if self.ended {
            return Err(LinkError::Closed);
        }
        Ok(true)
    }

    pub(super) fn flush(&mut self) -> bool {
        let outcome = match (self.send_preamble(), &self.inner) {
            (WriteOutcome::All, None) => write(&self.socket, &self.out, &mut self.sent),
            (WriteOutcome::All, Some(inner)) => match inner.channel.send(&self.out, &mut self.sent)
            {
                SendOutcome::All => WriteOutcome::All,
                SendOutcome::Pending => WriteOutcome::Partial,
                SendOutcome::Failed => WriteOutcome::Closed,
            },
            (outcome, _) => outcome,
        };
        match outcome {
            WriteOutcome::All => {}
            WriteOutcome::Partial => {
                self.discard_sent();
                return false;
            }
            WriteOutcome::Closed => {
                self.ended = true;
                self.lost += self.out.len() - self.sent;
            }
        }
        self.out.clear();
        self.sent = 0;
        true
    }

    /// Sends what comes before the first record.
    fn send_preamble(&mut self) -> WriteOutcome {
        loop {
            match write(&self.socket, &self.first.bytes, &mut self.first.sent) {
                WriteOutcome::All if self.first.proof.is_none() => return WriteOutcome::All,
                WriteOutcome::All => {}
                outcome => return outcome,
            }
            self.receive_proof();
            match (&self.first.proof, self.ended) {
                (None, _) => {}
                (Some(_), true) => return WriteOutcome::Closed,
                (Some(_), false) => return WriteOutcome::Partial,
            }
        }
    }

    /// Checks what the listener has sent first. Without the right proof it gets nothing.
    #[cold]
    fn receive_proof(&mut self) {
        if self.ended {
            return;
        }
        self.read_stream();
        let Some(proof) = self.into.get(..PROOF) else {
            return;
        };
        let is_right = |owed: &mut ([u8; PROOF], Vec<u8>)| {
            u128::from_ne_bytes(owed.0) == u128::from_ne_bytes(array(proof))
        };
        match self.first.proof.take_if(is_right) {
            Some((_, bytes)) => {
                self.into.drain(..PROOF);
                if let Some(inner) = &mut self.inner {
                    inner.received.append(&mut self.into);
                }
                (self.first.bytes, self.first.sent) = (bytes, 0);
            }
            None => {
                (self.ended, self.is_stranger) = (true, true);
                self.into.clear();
            }
        }
    }

    /// Frees the bytes that the kernel has taken. A stream that is never empty would keep them all.
    /// Few calls move what is left, and each moves no more bytes than the kernel took.
    fn discard_sent(&mut self) {
        if self.sent >= self.out.len() - self.sent {
            self.out.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Bytes that were put and that the kernel never took, if the stream is over.
    pub(super) fn lost(&self) -> usize {
        self.lost + self.out.len() - self.sent
    }

    /// Bytes that this value holds for both directions.
    #[cfg(test)]
    pub(crate) fn held(&self) -> (usize, usize) {
        (self.out.len(), self.into.len())
    }

    /// Reads the kernel's data as far as there is room.
    pub(super) fn fill(&mut self) {
        self.flush();
        if self.first.proof.is_none() {
            self.read_ahead();
        }
    }

    fn read_ahead(&mut self) {
        match self.inner {
            None => self.read_stream(),
            Some(_) => self.read_cards(),
        }
    }

    fn read_stream(&mut self) {
        let (some, ended) = read(&self.socket, &mut self.into, IN_MAX);
        self.dry &= !some;
        self.ended |= ended;
    }

    /// Reads what a stream with a channel has, and what has come over the channel.
    fn read_cards(&mut self) {
        let Some(inner) = &mut self.inner else {
            return;
        };
        // One byte more, so that too many are noticed.
        let (_, ended) = read(&self.socket, &mut inner.received, CARD + LAST + 1);
        if !inner.has_card
            && let Some(card) = inner.received.get(..CARD)
        {
            inner.has_card = true;
            if inner.channel.set_peer(&array(card)).is_none() {
                crate::report("a peer's inner endpoint has an address that cannot be used");
                self.ended = true;
            }
            self.flush();
        }
        let Some(inner) = &mut self.inner else {
            return;
        };
        if ended && inner.until.is_none() {
            inner.until = Some(Instant::now() + PATIENCE);
        }
        if inner.until.is_some() {
            inner.channel.progress();
        }
        self.take_frames();
    }

    /// Takes what has come over the channel.
    pub(super) fn take_frames(&mut self) {
        let Some(inner) = &mut self.inner else {
            return;
        };
        self.dry &= !inner.channel.take(&mut self.into, IN_MAX);
        self.ended |= inner.channel.has_failed() || inner.received.len() > CARD + LAST;
        if let Some(until) = inner.until
            && !inner.channel.has_waiting()
        {
            let last = inner.received.get(CARD..CARD + LAST);
            let last = last.map(|last| u64::from_ne_bytes(array(last)));
            // A peer that did not say which frame is its last was killed.
            let has_all = last.is_none_or(|last| last <= inner.channel.got());
            self.ended |= has_all || Instant::now() >= until;
        }
    }

    /// The connection that hears of what comes over the channel.
    pub(super) fn set_connection(&self, connection: usize) {
        if let Some(inner) = &self.inner {
            inner.channel.set_connection(connection);
        }
    }

    pub(super) fn has_channel(&self) -> bool {
        self.inner.is_some()
    }

    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(Record, Bytes)>, LinkError> {
        let rest = &self.into[self.read..];
        let Some(head) = rest.get(..HEAD) else {
            return self.nothing();
        };
        let words =
            std::array::from_fn(|word| u64::from_ne_bytes(array(&head[8 * word..8 * word + 8])));
        let record = Record::from_words(words).ok_or(LinkError::Broken)?;
        let outside = record.outside();
        let Some(payload) = rest.get(HEAD..HEAD + outside) else {
            return self.nothing();
        };
        let bytes = Bytes {
            start: payload.as_ptr(),
            length: outside,
        };
        self.read += HEAD + outside;
        Ok(Some((record, bytes)))
    }

    fn nothing(&mut self) -> Result<Option<(Record, Bytes)>, LinkError> {
        self.dry = true;
        match (self.ended, self.is_stranger) {
            (false, _) => Ok(None),
            (true, false) => Err(LinkError::Closed),
            (true, true) => Err(LinkError::Stranger),
        }
    }

    /// Whether [`next`](Self::next) has nothing to report.
    pub(super) fn is_still(&self) -> bool {
        self.dry && !self.ended
    }

    pub(super) fn release(&mut self) {
        if self.read > 0 {
            self.into.drain(..self.read);
            self.read = 0;
            if self.inner.is_some() {
                self.take_frames();
            }
        }
    }

    /// The kernel reports no frames, so a side with a channel does not sleep.
    pub(super) fn is_idle(&self) -> bool {
        if self.inner.is_some() {
            return false;
        }
        let waits_for_proof = self.first.proof.is_some();
        let first_has_left = self.first.sent == self.first.bytes.len();
        first_has_left && (waits_for_proof || self.out.is_empty()) && self.is_still()
    }
}

impl Drop for TcpLink {
    /// Tells the peer which frame is the last, if all of them have left.
    fn drop(&mut self) {
        if let Some(inner) = &self.inner
            && inner.has_card
            && !self.ended
            && self.out.is_empty()
        {
            let _ = write(&self.socket, &inner.channel.sent().to_ne_bytes(), &mut 0);
        }
    }
}
