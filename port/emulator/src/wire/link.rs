//! A wire to another program of this machine: a socket with frames, each after its length.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};

/// Bytes of a frame's length, and of the longest frame.
const HEAD: usize = 4;
const FRAME: usize = 1 << 14;
/// Bytes that wait for the other program at most. Frames beyond them are lost, as on a network.
const WAITING: usize = 1 << 24;

pub(crate) struct Link {
    /// Of the program that came first.
    listener: Option<UnixListener>,
    stream: Option<UnixStream>,
    outgoing: VecDeque<u8>,
    incoming: VecDeque<u8>,
}

impl Link {
    /// The first of two programs makes the socket, and the second connects to it.
    pub(crate) fn open(path: &str) -> Result<Self, String> {
        let error = |error: Error| format!("{path}: {error}");
        let (outgoing, incoming) = (VecDeque::new(), VecDeque::new());
        if let Ok(stream) = UnixStream::connect(path) {
            stream.set_nonblocking(true).map_err(error)?;
            return Ok(Self { listener: None, stream: Some(stream), outgoing, incoming });
        }
        // A socket to which nobody listens is that of a program that has ended.
        if std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket()) {
            std::fs::remove_file(path).map_err(error)?;
        }
        let listener = UnixListener::bind(path).map_err(error)?;
        listener.set_nonblocking(true).map_err(error)?;
        Ok(Self { listener: Some(listener), stream: None, outgoing, incoming })
    }

    /// Whether a frame may still come.
    pub(crate) fn is_open(&self) -> bool {
        self.listener.is_some() || self.stream.is_some()
    }

    pub(crate) fn send(&mut self, frame: &[u8]) {
        if self.is_open() && self.outgoing.len() + HEAD + frame.len() <= WAITING {
            self.outgoing.extend((frame.len() as u32).to_le_bytes());
            self.outgoing.extend(frame);
        }
    }

    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        self.exchange();
        let head: Vec<u8> = self.incoming.range(..HEAD.min(self.incoming.len())).copied().collect();
        let length = u32::from_le_bytes(head.try_into().ok()?) as usize;
        if length > FRAME {
            crate::check::line(format_args!("DPA_WIRE: a frame of {length} bytes on the link"));
            self.close();
            return None;
        }
        if self.incoming.len() < HEAD + length {
            return None;
        }
        self.incoming.drain(..HEAD);
        Some(self.incoming.drain(..length).collect())
    }

    fn close(&mut self) {
        (self.listener, self.stream) = (None, None);
        self.incoming.clear();
    }

    /// Moves bytes without waiting. The other program's end closes the link.
    fn exchange(&mut self) {
        if self.stream.is_none() {
            let found = self.listener.as_ref().and_then(|listener| listener.accept().ok());
            self.stream = found.map(|(stream, _)| stream);
            let ready = self.stream.as_ref().map(|stream| stream.set_nonblocking(true));
            if ready.is_some_and(|ready| ready.is_err()) {
                self.close();
            }
        }
        let Some(stream) = &mut self.stream else { return };
        let waiting = self.outgoing.as_slices().0;
        // SAFETY: the pointer and the length of one slice, for a descriptor of ours. The host's
        // program gets no signal when the other has ended.
        let sent = unsafe {
            let (bytes, flags) = (waiting.as_ptr().cast(), libc::MSG_NOSIGNAL);
            libc::send(stream.as_raw_fd(), bytes, waiting.len(), flags)
        };
        self.outgoing.drain(..sent.max(0) as usize);
        let mut bytes = [0; FRAME];
        let room = if self.incoming.len() < 2 * FRAME { FRAME } else { 0 };
        match stream.read(&mut bytes[..room]) {
            Ok(0) if room > 0 => (self.listener, self.stream) = (None, None),
            Ok(count) => self.incoming.extend(&bytes[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => self.close(),
        }
    }
}
