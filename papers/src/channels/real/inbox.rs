//! The receiving ends of the channels. Each keeps its oldest message until it is taken.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender};

use super::message::{HEADER, Header};

/// One sender's messages by one channel, in the order sent.
pub(super) trait Inbox {
    /// The oldest message, with its header, without waiting.
    ///
    /// # Errors
    /// The channel's.
    fn peek(&mut self) -> io::Result<Option<&[u8]>>;

    /// Removes the message that [`peek`](Self::peek) showed.
    fn take(&mut self);
}

/// Shared memory: buffers go to the receiver full and come back empty.
#[derive(Debug)]
pub(super) struct SharedInbox {
    full: Receiver<Vec<u8>>,
    empty: SyncSender<Vec<u8>>,
    oldest: Option<Vec<u8>>,
}

impl SharedInbox {
    pub(super) fn new(full: Receiver<Vec<u8>>, empty: SyncSender<Vec<u8>>) -> Self {
        Self {
            full,
            empty,
            oldest: None,
        }
    }
}

impl Inbox for SharedInbox {
    fn peek(&mut self) -> io::Result<Option<&[u8]>> {
        if self.oldest.is_none() {
            self.oldest = self.full.try_recv().ok();
        }
        Ok(self.oldest.as_deref())
    }

    fn take(&mut self) {
        if let Some(buffer) = self.oldest.take() {
            // There is room for all buffers; a sender that has ended needs none.
            let _ = self.empty.try_send(buffer);
        }
    }
}

/// A socket that never makes its reader wait.
#[derive(Debug)]
pub(super) struct SocketInbox<S> {
    stream: S,
    buffer: Vec<u8>,
    /// Where the bytes begin and end that are read but not taken.
    begin: usize,
    end: usize,
}

/// Bytes that one read may bring.
const READ: usize = 64 << 10;

impl<S: Read> SocketInbox<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            buffer: vec![0; READ],
            begin: 0,
            end: 0,
        }
    }

    pub(super) fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Bytes of the oldest message, and whether they are all here. `None`: its header is not.
    fn oldest(&self) -> io::Result<Option<(usize, bool)>> {
        let here = &self.buffer[self.begin..self.end];
        let Some(header) = Header::read(here) else {
            return Ok(None);
        };
        let header = header.map_err(|what| io::Error::new(io::ErrorKind::InvalidData, what))?;
        let bytes = HEADER + header.body;
        Ok(Some((bytes, bytes <= here.len())))
    }

    /// Reads once, behind what is there.
    fn read(&mut self, wanted: usize) -> io::Result<()> {
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        match self.stream.read(&mut self.buffer[self.end..]) {
            Ok(bytes) => self.end += bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl<S: Read> Inbox for SocketInbox<S> {
    fn peek(&mut self) -> io::Result<Option<&[u8]>> {
        let wanted = match self.oldest()? {
            Some((bytes, true)) => return Ok(Some(&self.buffer[self.begin..self.begin + bytes])),
            Some((bytes, false)) => bytes,
            None => HEADER,
        };
        self.read(wanted)?;
        Ok(match self.oldest()? {
            Some((bytes, true)) => Some(&self.buffer[self.begin..self.begin + bytes]),
            _ => None,
        })
    }

    fn take(&mut self) {
        if let Ok(Some((bytes, true))) = self.oldest() {
            self.begin += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use dpamatch::Tag;

    use super::super::message::{Mark, fill};
    use super::*;

    /// Gives these pieces, one for each read or the part that it has room for, then nothing.
    struct Pieces(VecDeque<Vec<u8>>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let mut piece = self.0.pop_front().ok_or(io::ErrorKind::WouldBlock)?;
            let rest = piece.split_off(piece.len().min(buffer.len()));
            buffer[..piece.len()].copy_from_slice(&piece);
            if !rest.is_empty() {
                self.0.push_front(rest);
            }
            Ok(piece.len())
        }
    }

    /// Messages come out whole and in order wherever the stream is cut, and however long they are.
    #[test]
    fn a_stream_is_cut_into_messages() {
        let mut stream = Vec::new();
        for (sequence, bytes) in [(0, 0), (1, 5), (2, READ), (3, 1)] {
            let mut frame = Vec::new();
            let payload = vec![sequence as u8; bytes];
            fill(&mut frame, sequence, Tag::default(), Mark::Data, &payload);
            stream.push(frame);
        }
        let all = stream.concat();
        for cut in [1, 16, 17, 18, 40, 4096] {
            let pieces = all.chunks(cut).map(<[u8]>::to_vec).collect();
            let mut inbox = SocketInbox::new(Pieces(pieces));
            let mut seen = Vec::new();
            for _ in 0..all.len() + 4 {
                if let Some(frame) = inbox.peek().expect("sound") {
                    seen.push(frame.to_vec());
                    inbox.take();
                }
            }
            assert!(seen == stream, "pieces of {cut} bytes");
        }
    }

    #[test]
    fn a_length_beyond_the_bound_is_an_error() {
        let pieces = VecDeque::from([vec![0xff; HEADER]]);
        let error = SocketInbox::new(Pieces(pieces))
            .peek()
            .expect_err("refused");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
