//! The sending ends.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender};

use dpamatch::Tag;

use super::message::{Exposed, Mark, check_length, fill};

/// Buffers of a process in shared memory.
pub(super) const SHARED_BUFFERS: usize = 256;
/// Buffers that a process exposes at a time.
const EXPOSED_MAX: usize = 8;

/// A process on the receiver's node.
///
/// Dropping it leaks the buffers that the receiver has not copied: the receiver still may. Call
/// [`flush`](Self::flush) before.
#[derive(Debug)]
pub struct LocalPeer {
    pub(super) full: SyncSender<Vec<u8>>,
    pub(super) empty: Receiver<Vec<u8>>,
    pub(super) kernel: Option<Kernel>,
    pub(super) sequence: u64,
}

/// The sender's end of the kernel copy.
#[derive(Debug)]
pub(super) struct Kernel {
    socket: UnixStream,
    /// Shortest message that goes this way.
    threshold: usize,
    /// The buffers on loan, by the place of their messages.
    exposed: Vec<(u64, Vec<u8>)>,
    frame: Vec<u8>,
}

impl LocalPeer {
    /// Sends. The message may wait in the buffer itself until the receiver has copied it, so the
    /// buffer moves in, and a buffer for the next message comes back. Waits while the channel is
    /// full.
    ///
    /// # Errors
    /// The channel's; [`io::ErrorKind::BrokenPipe`] if the receiver is gone;
    /// [`io::ErrorKind::InvalidInput`] for more than 16 MiB through shared memory, after
    /// which the peer works on.
    pub fn send(&mut self, tag: Tag, payload: Vec<u8>) -> io::Result<Vec<u8>> {
        let sequence = self.sequence;
        match &mut self.kernel {
            Some(kernel) if payload.len() >= kernel.threshold => {
                self.sequence += 1;
                return kernel.expose(sequence, tag, payload);
            }
            _ => check_length(payload.len())?,
        }
        self.sequence += 1;
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        let mut frame = loop {
            match self.empty.try_recv() {
                Ok(frame) => break frame,
                Err(std::sync::mpsc::TryRecvError::Empty) => std::thread::yield_now(),
                Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
            }
        };
        fill(&mut frame, sequence, tag, Mark::Data, &payload);
        self.full.send(frame).map_err(gone)?;
        Ok(payload)
    }

    /// Waits until the receiver has copied all exposed buffers.
    ///
    /// # Errors
    /// The channel's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.kernel.as_mut().map_or(Ok(()), |kernel| {
            while !kernel.exposed.is_empty() {
                kernel.take_back()?;
            }
            Ok(())
        })
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        std::mem::forget(std::mem::take(&mut self.exposed));
    }
}

impl Kernel {
    pub(super) fn new(socket: UnixStream, threshold: usize) -> Self {
        Self {
            socket,
            threshold,
            exposed: Vec::with_capacity(EXPOSED_MAX),
            frame: Vec::new(),
        }
    }

    fn expose(&mut self, sequence: u64, tag: Tag, payload: Vec<u8>) -> io::Result<Vec<u8>> {
        let spare = if self.exposed.len() == EXPOSED_MAX {
            self.take_back()?
        } else {
            Vec::new()
        };
        let exposed = Exposed {
            process: std::process::id(),
            address: payload.as_ptr() as u64,
            bytes: payload.len() as u64,
            sequence,
        };
        self.exposed.push((sequence, payload));
        let Self { frame, socket, .. } = self;
        fill(frame, sequence, tag, Mark::Exposed, &exposed.to_bytes());
        socket.write_all(frame)?;
        Ok(spare)
    }

    /// Waits until the receiver has copied one more buffer.
    fn take_back(&mut self) -> io::Result<Vec<u8>> {
        let mut sequence = [0; 8];
        self.socket.read_exact(&mut sequence)?;
        let sequence = u64::from_le_bytes(sequence);
        let place = self.exposed.iter().position(|(of, _)| *of == sequence);
        let place = place.ok_or(io::ErrorKind::InvalidData)?;
        Ok(self.exposed.swap_remove(place).1)
    }
}

/// A process on another node.
#[derive(Debug)]
pub struct RemotePeer {
    pub(super) stream: TcpStream,
    pub(super) sequence: u64,
    pub(super) frame: Vec<u8>,
}

impl RemotePeer {
    /// Sends; waits while the connection is full.
    ///
    /// # Errors
    /// The connection's; [`io::ErrorKind::InvalidInput`] for more than 16 MiB, after which the peer
    /// works on.
    pub fn send(&mut self, tag: Tag, payload: &[u8]) -> io::Result<()> {
        check_length(payload.len())?;
        fill(&mut self.frame, self.sequence, tag, Mark::Data, payload);
        self.sequence += 1;
        self.stream.write_all(&self.frame)
    }
}
