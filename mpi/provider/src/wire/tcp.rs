//! A TCP stream of records: each is its head's words in the machine's byte order, then its payload.
//! The hello checks the byte order. Before the hello both sides prove that they know the key
//! ([`proof`](super::proof)).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use super::address::array;
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

/// The stream.
#[derive(Debug)]
pub(crate) struct TcpLink {
    socket: OwnedFd,
    first: First,
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
}

/// What comes before the first record.
#[derive(Debug, Default)]
pub(super) struct First {
    /// Bytes that may leave now.
    pub(super) bytes: Vec<u8>,
    /// Those that the kernel has taken.
    pub(super) sent: usize,
    /// The proof that the listener owes, and the bytes that follow it. No record leaves before.
    pub(super) then: Option<([u8; PROOF], Vec<u8>)>,
}

/// What the kernel did with bytes that were given to it.
enum Gave {
    All,
    /// Still connecting, or full.
    NotAll,
    Ended,
}

fn give(socket: &OwnedFd, bytes: &[u8], sent: &mut usize) -> Gave {
    while *sent < bytes.len() {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match rustix::net::send(socket, &bytes[*sent..], flags) {
            Ok(count) => *sent += count,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN | Errno::NOTCONN | Errno::ALREADY | Errno::INPROGRESS) => {
                return Gave::NotAll;
            }
            Err(_) => return Gave::Ended,
        }
    }
    Gave::All
}

impl TcpLink {
    /// A link over this socket, which begins with `first`.
    pub(super) fn new(socket: OwnedFd, first: First) -> Self {
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
        let gave = match self.begin() {
            Gave::All => give(&self.socket, &self.out, &mut self.sent),
            gave => gave,
        };
        match gave {
            Gave::All => {}
            Gave::NotAll => {
                self.forget_sent();
                return false;
            }
            Gave::Ended => {
                self.ended = true;
                self.lost += self.out.len() - self.sent;
            }
        }
        self.out.clear();
        self.sent = 0;
        true
    }

    /// Sends what comes before the first record.
    fn begin(&mut self) -> Gave {
        loop {
            match give(&self.socket, &self.first.bytes, &mut self.first.sent) {
                Gave::All if self.first.then.is_none() => return Gave::All,
                Gave::All => {}
                gave => return gave,
            }
            self.hear_proof();
            match (&self.first.then, self.ended) {
                (None, _) => {}
                (Some(_), true) => return Gave::Ended,
                (Some(_), false) => return Gave::NotAll,
            }
        }
    }

    /// Checks what the listener has sent first. Without the right proof it gets nothing.
    #[cold]
    fn hear_proof(&mut self) {
        if self.ended {
            return;
        }
        self.read_ahead();
        let Some(proof) = self.into.get(..PROOF) else {
            return;
        };
        let is_right = |owed: &mut ([u8; PROOF], Vec<u8>)| {
            u128::from_ne_bytes(owed.0) == u128::from_ne_bytes(array(proof))
        };
        match self.first.then.take_if(is_right) {
            Some((_, bytes)) => {
                self.into.drain(..PROOF);
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
    fn forget_sent(&mut self) {
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
        if self.first.then.is_none() {
            self.read_ahead();
        }
    }

    fn read_ahead(&mut self) {
        while self.into.len() < IN_MAX {
            let start = self.into.len();
            self.into.resize(IN_MAX, 0);
            let got = rustix::net::recv(&self.socket, &mut self.into[start..], RecvFlags::DONTWAIT);
            let count = got.map_or(0, |(count, _)| count);
            self.into.truncate(start + count);
            self.dry &= count == 0;
            match got {
                Ok((0, _)) => return self.ended = true,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::NOTCONN) => return,
                Err(_) => return self.ended = true,
            }
        }
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
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        let waits_for_proof = self.first.then.is_some();
        let first_has_left = self.first.sent == self.first.bytes.len();
        first_has_left && (waits_for_proof || self.out.is_empty()) && self.is_still()
    }
}
