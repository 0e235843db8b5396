//! Memory files with rings, and how they travel.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::mm::{MapFlags, ProtFlags};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// A mapped memory file.
#[derive(Debug)]
pub(super) struct Mapping {
    pub(super) start: NonNull<c_void>,
    bytes: usize,
}

// SAFETY: this value alone owns the mapping, which is not tied to a thread.
unsafe impl Send for Mapping {}

const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

/// A new memory file. Allocates all of its memory now: a later shortage would kill the process that
/// touches it.
pub(crate) fn new_file(bytes: usize) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("dpamatch-rings", flags)?;
    rustix::fs::ftruncate(&file, bytes as u64)?;
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes as u64)?;
    rustix::fs::fcntl_add_seals(&file, SEALS)?;
    Ok(file)
}

impl Mapping {
    /// Maps a file that [`new_file`] made in this process or another one.
    ///
    /// # Errors
    /// [`Errno::BADMSG`]: the file has another length, or can be shortened.
    pub(super) fn new(file: BorrowedFd<'_>, bytes: usize) -> Result<Self, Errno> {
        let sealed = rustix::fs::fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SEALS));
        let length = rustix::fs::fstat(file).map(|status| status.st_size);
        if !sealed || length != Ok(bytes as i64) {
            return Err(Errno::BADMSG);
        }
        let flags = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; the file has that many bytes
        // and is sealed against shrinking, so that every page of it is there.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                bytes,
                flags,
                MapFlags::SHARED,
                file,
                0,
            )
        }?;
        Ok(Self {
            start: NonNull::new(start).ok_or(Errno::NOMEM)?,
            bytes,
        })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; the rings over it are dropped before it, or together with it and
        // without looking.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr(), self.bytes) };
    }
}

/// Sends bytes and a file over a Unix socket, without waiting.
pub(crate) fn send_file(
    socket: impl AsFd,
    file: BorrowedFd<'_>,
    bytes: &[u8],
) -> Result<(), Errno> {
    let files = [file];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(Errno::NOBUFS);
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, flags).map(|_| ())
}

/// Receives a packet and, if one came with it, a file. The kernel closes further ones.
///
/// # Errors
/// [`Errno::MFILE`]: this process has no descriptor left for the file. The packet stays in the
/// socket, and so does its file.
pub(super) fn recv_with_file(
    socket: &OwnedFd,
    bytes: &mut [u8],
) -> Result<(usize, Option<OwnedFd>), Errno> {
    // The kernel drops a file that it has no descriptor for, but not one that is only peeked at.
    let got = peek_with_file(socket, bytes)?;
    loop {
        match rustix::net::recv(socket, &mut [0_u8; 1][..], RecvFlags::DONTWAIT) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok(got),
        }
    }
}

fn peek_with_file(socket: &OwnedFd, bytes: &mut [u8]) -> Result<(usize, Option<OwnedFd>), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT | RecvFlags::PEEK;
    let into = &mut [IoSliceMut::new(bytes)];
    let got = rustix::net::recvmsg(socket, into, &mut ancillary, flags)?;
    let mut file = None;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(files) = message {
            file = files.last().or(file);
        }
    }
    if file.is_none() && got.flags.contains(ReturnFlags::CTRUNC) {
        return Err(Errno::MFILE);
    }
    Ok((got.bytes, file))
}
