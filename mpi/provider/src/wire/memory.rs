//! Copies between lists of buffers, and from the memory of another process.

use super::shared::Witness;
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

/// Why another process's memory was not read. Some bytes may have been copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PeerMemory {
    /// The kernel forbids it for good.
    Forbidden,
    /// There is no such memory, or it is no longer this reader's to read.
    Absent,
    /// The process is not the peer: the witness is not there.
    Replaced,
}

/// Reads `length` bytes at `address` of the process `pid` into the list, from `skip` bytes on. The
/// process must have this witness.
///
/// # Safety
/// The list's buffers can be written and hold `skip + length` bytes.
pub(super) unsafe fn copy_from_peer(
    pid: i32,
    witness: Witness,
    mut address: u64,
    iov: &[IoVec],
    skip: usize,
    length: usize,
) -> Result<(), PeerMemory> {
    let mut left = length;
    for (start, count) in pieces(iov, skip, length) {
        let mut done = 0;
        while done < count {
            let rest = count - done;
            // SAFETY: the rest is inside the piece.
            let read = unsafe { read_once(pid, witness, address, start.wrapping_add(done), rest) }?;
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

/// Reads up to `length` bytes in one system call, which concerns one address space. Returns how
/// many bytes it has read, at least one.
///
/// # Safety
/// `target` has room for `length` bytes, at least one.
unsafe fn read_once(
    pid: i32,
    witness: Witness,
    address: u64,
    target: *mut u8,
    length: usize,
) -> Result<usize, PeerMemory> {
    const WORD: usize = size_of::<u64>();
    let mut found = !witness.value;
    let part = |iov_base: *mut u8, iov_len| IoVec {
        iov_base: iov_base.cast(),
        iov_len,
    };
    let local = [part((&raw mut found).cast(), WORD), part(target, length)];
    // The kernel reads the first part first. Without it, it reads nothing.
    let remote = [
        part(witness.address as *mut u8, WORD),
        part(address as *mut u8, length),
    ];
    // SAFETY: the kernel checks the remote ranges; the local ones are a word here and the caller's
    // buffer.
    let read = unsafe { libc::process_vm_readv(pid, local.as_ptr(), 2, remote.as_ptr(), 2, 0) };
    let Ok(read) = usize::try_from(read) else {
        return Err(match std::io::Error::last_os_error().raw_os_error() {
            Some(libc::EPERM | libc::ENOSYS) => PeerMemory::Forbidden,
            // Not even the witness is mapped.
            Some(libc::EFAULT) => PeerMemory::Replaced,
            _ => PeerMemory::Absent,
        });
    };
    if read < WORD || found != witness.value {
        return Err(PeerMemory::Replaced);
    }
    match read - WORD {
        0 => Err(PeerMemory::Absent),
        bytes => Ok(bytes),
    }
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

                let me = std::process::id() as i32;
                let witness = Witness::of_this_process();
                let mut parts = [vec![0; 2], vec![], vec![0; 1], vec![0; 3]];
                let iov = list(&mut parts);
                // SAFETY: see the copy above.
                let read = unsafe {
                    copy_from_peer(me, witness, source.as_ptr() as u64, &iov, skip, length)
                };
                assert_eq!(read, Ok(()), "a process reads its own memory");
                assert_eq!(&parts.concat()[skip..skip + length], &source[..]);
            }
        }
    }

    /// Reads 8 bytes of this process's memory as if it were a peer's.
    fn read(pid: i32, witness: Witness, address: u64) -> Result<(), PeerMemory> {
        let mut parts = [vec![0; 8]];
        let iov = list(&mut parts);
        // SAFETY: the part holds 8 bytes.
        unsafe { copy_from_peer(pid, witness, address, &iov, 0, 8) }
    }

    #[test]
    fn only_the_process_with_the_witness_is_read() {
        let me = std::process::id() as i32;
        let there = [7_u8; 8];
        let address = there.as_ptr() as u64;
        let right = Witness::of_this_process();
        assert_eq!(read(me, right, address), Ok(()));
        assert_eq!(read(me, right, 8), Err(PeerMemory::Absent));
        let others = [
            Witness {
                value: right.value ^ 1,
                ..right
            },
            Witness { address, ..right },
            Witness {
                address: 8,
                ..right
            },
        ];
        for wrong in others {
            assert_eq!(read(me, wrong, address), Err(PeerMemory::Replaced));
        }
        // The number of no process.
        assert_eq!(read(i32::MAX, right, address), Err(PeerMemory::Absent));
    }

    /// Memory that ends before the data do: what is there may be copied, and that is no success.
    #[test]
    fn half_of_the_data_is_no_success() {
        const PAGE: usize = 4096;
        let access = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE;
        let private = rustix::mm::MapFlags::PRIVATE;
        // SAFETY: a new mapping, of which the test unmaps the second half.
        let start = unsafe {
            let none = std::ptr::null_mut();
            let start = rustix::mm::mmap_anonymous(none, 2 * PAGE, access, private);
            let start = start.expect("memory").cast::<u8>();
            rustix::mm::munmap(start.add(PAGE).cast(), PAGE).expect("a mapping");
            start
        };
        let (me, witness) = (std::process::id() as i32, Witness::of_this_process());
        for (length, expected) in [
            (PAGE - 1, Ok(())),
            (PAGE, Ok(())),
            (PAGE + 1, Err(PeerMemory::Absent)),
        ] {
            let mut parts = [vec![0; length - 40], vec![0; 40]];
            let iov = list(&mut parts);
            // SAFETY: the parts hold `length` bytes.
            let read = unsafe { copy_from_peer(me, witness, start as u64, &iov, 0, length) };
            assert_eq!(read, expected, "{length} bytes");
        }
        // SAFETY: mapped above.
        unsafe { rustix::mm::munmap(start.cast(), PAGE).expect("a mapping") };
    }
}
