//! A wire to another program of this machine: a socket of each, and datagrams with as many frames
//! as wait, each after its length.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;

/// Bytes of the longest datagram.
const BYTES: usize = 1 << 16;
/// Datagrams that wait for the other program at most. Frames beyond are lost, as on a network.
const WAITING: usize = 1 << 8;

pub(crate) struct Link {
    socket: UnixDatagram,
    /// The other program's socket.
    to: String,
    outgoing: VecDeque<Vec<u8>>,
    /// Whether a frame was lost, which is said once.
    has_dropped: bool,
    /// Where the next datagram lands, and what is left of the last.
    room: Box<[u8; BYTES]>,
    rest: Range<usize>,
}

impl Link {
    /// The first of two programs has its socket at `path`, the second one beside it.
    pub(crate) fn open(path: &str) -> Result<Self, String> {
        let other = format!("{path}.2");
        let is_there = |path: &str| {
            UnixDatagram::unbound()
                .and_then(|socket| socket.connect(path))
                .is_ok()
        };
        let (own, to) = if is_there(path) {
            (other, path.to_owned())
        } else {
            (path.to_owned(), other)
        };
        // A socket to which nobody listens is that of a program that has ended.
        let is_socket =
            std::fs::symlink_metadata(&own).is_ok_and(|file| file.file_type().is_socket());
        if is_socket && !is_there(&own) {
            let _ = std::fs::remove_file(&own);
        }
        let error = |error: Error| format!("{own}: {error}");
        let socket = UnixDatagram::bind(&own).map_err(error)?;
        socket.set_nonblocking(true).map_err(error)?;
        let room = Box::new([0; BYTES]);
        Ok(Self {
            socket,
            to,
            outgoing: VecDeque::new(),
            has_dropped: false,
            room,
            rest: 0..0,
        })
    }

    pub(crate) fn send(&mut self, frame: &[u8]) {
        let bytes = frame.len() + 4;
        if self
            .outgoing
            .back()
            .is_none_or(|last| last.len() + bytes > BYTES)
        {
            if self.outgoing.len() == WAITING || bytes > BYTES {
                if !std::mem::replace(&mut self.has_dropped, true) {
                    crate::check::note(format_args!(
                        "DPA_WIRE: {WAITING} datagrams wait for the other program; frames are lost"
                    ));
                }
                return;
            }
            self.outgoing.push_back(Vec::new());
        }
        if let Some(last) = self.outgoing.back_mut() {
            last.extend((frame.len() as u32).to_le_bytes());
            last.extend(frame);
        }
    }

    /// Moves datagrams without waiting. They wait for a program that is not there or is slow.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        while let Some(datagram) = self.outgoing.front() {
            let sent = self
                .socket
                .send_to(datagram, &self.to)
                .map_err(|error| error.kind());
            if matches!(sent, Err(ErrorKind::WouldBlock | ErrorKind::NotFound)) {
                break;
            }
            self.outgoing.pop_front();
        }
        if self.rest.is_empty() {
            self.rest = 0..self.socket.recv(&mut self.room[..]).ok()?;
        }
        let (length, frames) = self.room[self.rest.clone()].split_first_chunk()?;
        let length = u32::from_le_bytes(*length) as usize;
        let frame = frames.get(..length).map(<[u8]>::to_vec);
        // A datagram of another kind is dropped.
        self.rest.start = if frame.is_some() {
            self.rest.start + 4 + length
        } else {
            self.rest.end
        };
        frame
    }
}
