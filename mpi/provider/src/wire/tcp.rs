//! A TCP stream of records: each is its head's words in the machine's byte order, then its payload.
//! The hello checks the byte order.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use super::address::array;
use super::link::LinkError;
use super::memory::gather;
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
    out: Vec<u8>,
    /// Bytes of `out` that the kernel has taken.
    sent: usize,
    into: Vec<u8>,
    /// Bytes of `into` that were handed out.
    read: usize,
    ended: bool,
    /// Bytes that the kernel did not take before the stream ended.
    lost: usize,
}

impl TcpLink {
    /// A link over this socket, which sends `first` before everything else.
    pub(super) fn new(socket: OwnedFd, first: &[u8]) -> Self {
        // Without it small messages wait for each other. An old kernel may refuse it.
        let _ = rustix::net::sockopt::set_tcp_nodelay(&socket, true);
        Self {
            socket,
            out: first.to_vec(),
            sent: 0,
            into: Vec::with_capacity(IN_MAX),
            read: 0,
            ended: false,
            lost: 0,
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
        while self.sent < self.out.len() {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match rustix::net::send(&self.socket, &self.out[self.sent..], flags) {
                Ok(count) => self.sent += count,
                Err(Errno::INTR) => {}
                // Still connecting, or full.
                Err(Errno::AGAIN | Errno::NOTCONN | Errno::ALREADY | Errno::INPROGRESS) => {
                    self.forget_sent();
                    return false;
                }
                Err(_) => {
                    self.ended = true;
                    self.lost += self.out.len() - self.sent;
                    break;
                }
            }
        }
        self.out.clear();
        self.sent = 0;
        true
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
        while self.into.len() < IN_MAX {
            let start = self.into.len();
            self.into.resize(IN_MAX, 0);
            let got = rustix::net::recv(&self.socket, &mut self.into[start..], RecvFlags::DONTWAIT);
            let count = got.map_or(0, |(count, _)| count);
            self.into.truncate(start + count);
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

    fn nothing(&self) -> Result<Option<(Record, Bytes)>, LinkError> {
        if self.ended {
            Err(LinkError::Closed)
        } else {
            Ok(None)
        }
    }

    pub(super) fn release(&mut self) {
        if self.read > 0 {
            self.into.drain(..self.read);
            self.read = 0;
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.out.is_empty() && !self.ended
    }
}
