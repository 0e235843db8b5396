//! A wire to another program of this machine: a socket of each, and datagrams with as many frames
//! as wait, each after its length. A bit of the length tells messages between pairs of queues from
//! frames; no message is lost.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;

/// Bytes of the longest datagram.
const BYTES: usize = 1 << 16;
/// Datagrams that wait for the other program at most. Frames beyond are lost, as on a network.
const WAITING: usize = 1 << 8;
/// The bit of a length that says that a message follows.
const MESSAGE: u32 = 1 << 31;
/// Frames, and messages, that have come and wait at most. Others stay in the socket.
const COME: usize = 1 << 10;

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
    /// What has come.
    frames: VecDeque<Vec<u8>>,
    messages: VecDeque<Vec<u8>>,
    /// Whether this is the second program.
    pub(super) is_second: bool,
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
        // Programs that begin at the same time come one after the other.
        let folder = std::path::Path::new(path).parent();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        let folder = std::fs::File::open(folder.unwrap_or(".".as_ref()))
            .map_err(|error| format!("{path}: {error}"))?;
        // SAFETY: an open file's descriptor. The lock goes with the file.
        unsafe { libc::flock(std::os::fd::AsRawFd::as_raw_fd(&folder), libc::LOCK_EX) };
        let is_second = is_there(path);
        let (own, to) = match is_second {
            true => (other, path.to_owned()),
            false => (path.to_owned(), other),
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
            frames: VecDeque::new(),
            messages: VecDeque::new(),
            is_second,
        })
    }

    /// Whether the other program listens.
    pub(super) fn is_joined(&self) -> bool {
        UnixDatagram::unbound().is_ok_and(|socket| socket.connect(&self.to).is_ok())
    }

    pub(super) fn send(&mut self, frame: &[u8]) {
        let is_full = self.outgoing.len() >= WAITING && !self.has_room(frame);
        if is_full || frame.len() + 4 > BYTES {
            if !std::mem::replace(&mut self.has_dropped, true) {
                crate::check::note(format_args!(
                    "DPA_WIRE: {WAITING} datagrams wait for the other program; frames are lost"
                ));
            }
            return;
        }
        self.put(frame, 0);
    }

    /// Sends a message, which fits into a datagram.
    pub(super) fn tell(&mut self, message: &[u8]) {
        self.put(message, MESSAGE);
    }

    fn has_room(&self, bytes: &[u8]) -> bool {
        let last = self.outgoing.back();
        last.is_some_and(|last| last.len() + bytes.len() + 4 <= BYTES)
    }

    fn put(&mut self, bytes: &[u8], kind: u32) {
        if !self.has_room(bytes) {
            self.outgoing.push_back(Vec::new());
        }
        if let Some(last) = self.outgoing.back_mut() {
            last.extend((bytes.len() as u32 | kind).to_le_bytes());
            last.extend(bytes);
        }
    }

    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.move_datagrams();
        self.frames.pop_front()
    }

    pub(super) fn hear(&mut self) -> Option<Vec<u8>> {
        self.move_datagrams();
        self.messages.pop_front()
    }

    /// Moves datagrams without waiting. They wait for a program that is not there or is slow.
    fn move_datagrams(&mut self) {
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
        while self.frames.len() < COME && self.messages.len() < COME {
            if self.rest.is_empty() {
                let Ok(bytes) = self.socket.recv(&mut self.room[..]) else {
                    break;
                };
                self.rest = 0..bytes;
            }
            let Some((is_message, bytes)) = self.part() else {
                // A datagram of another kind is dropped.
                self.rest = 0..0;
                continue;
            };
            let to = match is_message {
                true => &mut self.messages,
                false => &mut self.frames,
            };
            to.push_back(bytes);
        }
    }

    /// The next part of a datagram, and whether it is a message.
    fn part(&mut self) -> Option<(bool, Vec<u8>)> {
        let (length, parts) = self.room[self.rest.clone()].split_first_chunk()?;
        let length = u32::from_le_bytes(*length);
        let bytes = (length & !MESSAGE) as usize;
        let part = parts.get(..bytes)?.to_vec();
        self.rest.start += 4 + bytes;
        Some((length & MESSAGE != 0, part))
    }
}
