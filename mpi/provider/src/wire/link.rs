//! A connection to one peer: rings in shared memory, or a TCP stream.

use std::ffi::c_void;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::net::{RecvFlags, SendFlags};

use super::record::{Bytes, Record};
use super::ring::{Broken, LINES_MAX, LINES_MIN, RingReceiver, RingSender, ring_bytes};
use super::tcp::TcpLink;
use crate::bindings::IoVec;

/// Why a connection is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LinkError {
    /// The peer closed it, or is gone.
    Closed,
    /// The peer broke the rules of the wire.
    Broken,
}

impl From<Broken> for LinkError {
    fn from(_: Broken) -> Self {
        Self::Broken
    }
}

/// A mapped memory file.
#[derive(Debug)]
struct Mapping {
    start: NonNull<c_void>,
    bytes: usize,
}

// SAFETY: this value alone owns the mapping, which is not tied to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(file: BorrowedFd<'_>, bytes: usize) -> Result<Self, Errno> {
        let flags = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; the file has that many bytes
        // and is sealed against shrinking, so that every page of it is there.
        let start = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), bytes, flags, MapFlags::SHARED, file, 0)
        }?;
        Ok(Self { start: NonNull::new(start).ok_or(Errno::NOMEM)?, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; the rings over it are dropped before it (`ShmLink`), or together
        // with it and without looking.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr(), self.bytes) };
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
    /// The socket ended: no more records will come than the ring holds.
    ended: bool,
    _memory: Mapping,
}

// SAFETY: the rings' addresses are into `_memory`, which moves with them.
unsafe impl Send for ShmLink {}

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// A new memory file with two rings. Allocates all of its memory now: a later shortage would kill
/// the process that touches it.
pub(super) fn new_file(lines: usize) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("dpamatch-rings", flags)?;
    let bytes = 2 * ring_bytes(lines) as u64;
    rustix::fs::ftruncate(&file, bytes)?;
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes)?;
    rustix::fs::fcntl_add_seals(&file, SEALS)?;
    Ok(file)
}

/// Whether the file is what [`new_file`] makes: of the right length, and sealed against shortening.
fn is_sound(file: BorrowedFd<'_>, lines: usize) -> bool {
    if !lines.is_power_of_two() || !(LINES_MIN..=LINES_MAX).contains(&lines) {
        return false;
    }
    let sealed = rustix::fs::fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SEALS));
    let length = rustix::fs::fstat(file).map(|status| status.st_size);
    sealed && length == Ok(2 * ring_bytes(lines) as i64)
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
        if !is_sound(file, lines) {
            return Err(Errno::BADMSG);
        }
        let pid = rustix::net::sockopt::socket_peercred(&socket)?.pid.as_raw_nonzero().get();
        let memory = Mapping::new(file, 2 * ring_bytes(lines))?;
        let start = memory.start.cast::<u8>();
        // SAFETY: the mapping holds two rings (`is_sound`).
        let second = unsafe { start.add(ring_bytes(lines)) };
        let (out, into) = if first { (start, second) } else { (second, start) };
        // SAFETY: a page or a multiple of 64 bytes further; mapped as long as `memory` lives, which
        // this value owns; `lines` was checked; a file is handed over once, so there is one end of
        // each kind here.
        let (out, into) = unsafe { (RingSender::new(out, lines), RingReceiver::new(into, lines)) };
        Ok(Self {
            out,
            into,
            socket,
            pid,
            peer_sleeps,
            asleep: false,
            ended: false,
            _memory: memory,
        })
    }

    #[inline(never)]
    fn wake_peer(&self) {
        if self.out.receiver_sleeps() {
            // A full socket has woken the peer already; a closed one is noticed elsewhere.
            let _ =
                rustix::net::send(&self.socket, &[1], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
    }

    /// Reads the socket: bytes that woke this side, or its end.
    fn read_socket(&mut self) {
        let mut bytes = [0_u8; 64];
        loop {
            match rustix::net::recv(&self.socket, &mut bytes[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return self.ended = true,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => return self.ended = true,
            }
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) enum Link {
    /// To a process of this machine.
    Shm(ShmLink),
    /// To another machine.
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
    #[inline(never)]
    pub(crate) unsafe fn put(
        &mut self,
        record: Record,
        iov: &[IoVec],
        skip: usize,
    ) -> Result<bool, LinkError> {
        match self {
            Self::Shm(link) => {
                if link.ended {
                    return Err(LinkError::Closed);
                }
                // SAFETY: the caller's promise.
                let put = unsafe { link.out.put(record, iov, skip) }?;
                if put && link.peer_sleeps {
                    link.wake_peer();
                }
                Ok(put)
            }
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
                if put && link.peer_sleeps {
                    link.wake_peer();
                }
                Ok(put)
            }
            // SAFETY: no payload outside the head.
            link => unsafe { link.put(record, &[], 0) },
        }
    }

    /// Whether [`next`](Self::next) has nothing to report, as far as the ring shows.
    #[inline(always)]
    pub(crate) fn is_still(&self) -> bool {
        matches!(self, Self::Shm(link) if !link.into.ready() && !link.ended)
    }

    /// The next record if it is short and in shared memory: the common case of
    /// [`next`](Self::next), inlined into the caller.
    #[inline(always)]
    pub(crate) fn next_short(&mut self) -> Option<Record> {
        match self {
            Self::Shm(link) => link.into.next_short(),
            Self::Tcp(_) => None,
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
            Self::Shm(link) if !link.ended && !link.into.ready() => Ok(None),
            link => link.next_any(),
        }
    }

    #[inline(never)]
    fn next_any(&mut self) -> Result<Option<(Record, Bytes)>, LinkError> {
        match self {
            Self::Shm(link) => match link.into.next()? {
                // Records may have come between the poll of the ring and the end.
                None if link.ended => link.into.next()?.map(Some).ok_or(LinkError::Closed),
                next => Ok(next),
            },
            Self::Tcp(link) => link.next(),
        }
    }

    /// Frees the payload of all records handed out so far.
    #[inline]
    pub(crate) fn release(&mut self) {
        match self {
            Self::Shm(link) => link.into.release(),
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

    /// Writes buffered data to the kernel. `true`: no data is left.
    pub(crate) fn flush(&mut self) -> bool {
        match self {
            Self::Shm(_) => true,
            Self::Tcp(link) => link.flush(),
        }
    }

    /// The peer's process, whose memory may be read, if it is on this machine.
    pub(crate) fn pid(&self) -> Option<i32> {
        match self {
            Self::Shm(link) => Some(link.pid),
            Self::Tcp(_) => None,
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
                link.into.fall_asleep() && !link.ended
            }
            Self::Tcp(link) => link.is_idle(),
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
