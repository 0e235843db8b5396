//! A wire to another program of this machine: a socket of each, and a datagram for each frame.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;

/// Bytes of the longest frame.
const FRAME: usize = 1 << 14;
/// Frames that wait for the other program at most. Those beyond are lost, as on a network.
const WAITING: usize = 1 << 10;

pub(crate) struct Link {
    socket: UnixDatagram,
    /// The other program's socket.
    to: String,
    outgoing: VecDeque<Vec<u8>>,
    /// Where the next frame lands.
    room: Box<[u8; FRAME]>,
}

impl Link {
    /// The first of two programs has its socket at `path`, the second one beside it.
    pub(crate) fn open(path: &str) -> Result<Self, String> {
        let other = format!("{path}.2");
        let is_there =
            |path: &str| UnixDatagram::unbound().and_then(|socket| socket.connect(path)).is_ok();
        let (own, to) =
            if is_there(path) { (other, path.to_owned()) } else { (path.to_owned(), other) };
        // A socket to which nobody listens is that of a program that has ended.
        let is_socket =
            std::fs::symlink_metadata(&own).is_ok_and(|file| file.file_type().is_socket());
        if is_socket && !is_there(&own) {
            let _ = std::fs::remove_file(&own);
        }
        let error = |error: Error| format!("{own}: {error}");
        let socket = UnixDatagram::bind(&own).map_err(error)?;
        socket.set_nonblocking(true).map_err(error)?;
        Ok(Self { socket, to, outgoing: VecDeque::new(), room: Box::new([0; FRAME]) })
    }

    pub(crate) fn send(&mut self, frame: &[u8]) {
        if self.outgoing.len() < WAITING {
            self.outgoing.push_back(frame.to_vec());
        }
    }

    /// Moves frames without waiting. They wait for a program that is not there or is slow.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        while let Some(frame) = self.outgoing.front() {
            let sent = self.socket.send_to(frame, &self.to).map_err(|error| error.kind());
            if matches!(sent, Err(ErrorKind::WouldBlock | ErrorKind::NotFound)) {
                break;
            }
            self.outgoing.pop_front();
        }
        let count = self.socket.recv(&mut self.room[..]).ok()?;
        Some(self.room[..count].to_vec())
    }
}
