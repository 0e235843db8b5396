//! Copies between lists of buffers, and from the memory of another process.

use crate::bindings::IoVec;

/// The pieces of the list that hold `length` bytes from `skip` on: where each begins, and its
/// bytes. They are inside the list's buffers; fewer bytes come where the list ends before.
fn pieces(
    iov: &[IoVec],
    mut skip: usize,
    length: usize,
) -> impl Iterator<Item = (*mut u8, usize)> + '_ {
    let mut left = length;
    iov.iter().filter_map(move |part| {
        let before = skip.min(part.iov_len);
        skip -= before;
        let count = (part.iov_len - before).min(left);
        left -= count;
        (count > 0).then(|| (part.iov_base.cast::<u8>().wrapping_add(before), count))
    })
}

/// Copies `length` bytes that begin `skip` bytes into the list to `target`.
///
/// # Safety
/// The list's buffers can be read, `skip + length` is no more than they hold, and `target` has
/// room.
pub(crate) unsafe fn gather(iov: &[IoVec], skip: usize, mut target: *mut u8, length: usize) {
    for (start, count) in pieces(iov, skip, length) {
        // SAFETY: the piece is inside a buffer of the list; all pieces together have `length`
        // bytes.
        unsafe {
            start.copy_to_nonoverlapping(target, count);
            target = target.add(count);
        }
    }
}

/// Copies `length` bytes from `source` into the list, from `skip` bytes on.
///
/// # Safety
/// The list's buffers can be written, `skip + length` is no more than they hold, and `source` has
/// that many bytes.
pub(crate) unsafe fn scatter(iov: &[IoVec], skip: usize, mut source: *const u8, length: usize) {
    for (start, count) in pieces(iov, skip, length) {
        // SAFETY: the piece is inside a buffer of the list; all pieces together have `length`
        // bytes.
        unsafe {
            start.copy_from_nonoverlapping(source, count);
            source = source.add(count);
        }
    }
}

/// Why another process's memory cannot be read or written. Some bytes may have been transferred.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PeerMemory {
    /// The kernel forbids it for good.
    Forbidden,
    /// The process or the memory does not exist.
    Absent,
}

impl PeerMemory {
    fn of(error: &std::io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EPERM | libc::ENOSYS) => Self::Forbidden,
            _ => Self::Absent,
        }
    }
}

/// Reads `length` bytes at `address` of process `pid` into the list, from `skip` bytes on.
///
/// # Safety
/// The list's buffers can be written and hold `skip + length` bytes.
pub(crate) unsafe fn copy_from_peer(
    pid: i32,
    mut address: u64,
    iov: &[IoVec],
    skip: usize,
    length: usize,
) -> Result<(), PeerMemory> {
    let mut left = length;
    for (start, count) in pieces(iov, skip, length) {
        let mut done = 0;
        while done < count {
            let local = IoVec {
                iov_base: start.wrapping_add(done).cast(),
                iov_len: count - done,
            };
            let remote = IoVec {
                iov_base: address as *mut _,
                iov_len: count - done,
            };
            // SAFETY: the kernel checks the remote range; the local one is inside the piece.
            let read = unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) };
            let Ok(read @ 1..) = usize::try_from(read) else {
                return Err(PeerMemory::of(&std::io::Error::last_os_error()));
            };
            address = address.wrapping_add(read as u64);
            done += read;
        }
        left -= count;
    }
    if left == 0 {
        Ok(())
    } else {
        Err(PeerMemory::Absent)
    }
}

/// Writes `length` bytes at `source` to `address` of process `pid`. `false`: the kernel forbids it
/// or the memory is not there; some bytes may have been written.
///
/// # Safety
/// `source` begins `length` bytes that can be read.
pub(crate) unsafe fn copy_to_peer(
    pid: i32,
    address: u64,
    source: *const u8,
    length: usize,
) -> bool {
    let mut done = 0;
    while done < length {
        let left = length - done;
        let local = IoVec {
            iov_base: source.wrapping_add(done).cast_mut().cast(),
            iov_len: left,
        };
        let at = address.wrapping_add(done as u64);
        let remote = IoVec {
            iov_base: at as *mut _,
            iov_len: left,
        };
        // SAFETY: the kernel checks the remote range; the local one is inside the source.
        let written = unsafe { libc::process_vm_writev(pid, &local, 1, &remote, 1, 0) };
        let Ok(written @ 1..) = usize::try_from(written) else {
            return false;
        };
        done += written;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(parts: &mut [Vec<u8>]) -> Vec<IoVec> {
        parts
            .iter_mut()
            .map(|part| IoVec {
                iov_base: part.as_mut_ptr().cast(),
                iov_len: part.len(),
            })
            .collect()
    }

    #[test]
    fn copies_go_around_the_seams() {
        for skip in 0..6_usize {
            for length in 0..=(6 - skip) {
                let source: Vec<u8> = (1..=length as u8).collect();
                let mut parts = [vec![0; 2], vec![], vec![0; 1], vec![0; 3]];
                let iov = list(&mut parts);
                // SAFETY: the parts hold 6 bytes, `skip + length` is at most 6.
                unsafe { scatter(&iov, skip, source.as_ptr(), length) };
                let mut back = vec![0; length];
                // SAFETY: see the copy above.
                unsafe { gather(&iov, skip, back.as_mut_ptr(), length) };
                assert_eq!(back, source);
                assert_eq!(
                    parts.concat().iter().filter(|&&byte| byte != 0).count(),
                    length
                );

                let mut other = vec![0; length];
                let address = other.as_mut_ptr() as u64;
                let me = std::process::id() as i32;
                // SAFETY: the source has `length` bytes.
                assert!(unsafe { copy_to_peer(me, address, source.as_ptr(), length) });
                assert_eq!(other, source);

                let mut parts = [vec![0; 2], vec![], vec![0; 1], vec![0; 3]];
                let iov = list(&mut parts);
                // SAFETY: see the copy above.
                let read =
                    unsafe { copy_from_peer(me, source.as_ptr() as u64, &iov, skip, length) };
                assert_eq!(read, Ok(()), "a process reads its own memory");
                assert_eq!(&parts.concat()[skip..skip + length], &source[..]);
            }
        }
    }

    #[test]
    fn memory_that_is_not_there_is_no_success() {
        let mut parts = [vec![0; 8]];
        let iov = list(&mut parts);
        // SAFETY: the part holds 8 bytes.
        let read = unsafe { copy_from_peer(std::process::id() as i32, 8, &iov, 0, 8) };
        assert_eq!(read, Err(PeerMemory::Absent));
        let forbidden = [libc::EPERM, libc::ENOSYS, libc::ESRCH, libc::EFAULT]
            .map(|code| PeerMemory::of(&std::io::Error::from_raw_os_error(code)));
        let (forbids, absent) = (PeerMemory::Forbidden, PeerMemory::Absent);
        assert_eq!(forbidden, [forbids, forbids, absent, absent]);
    }
}
