//! How a process knows the memory of its peer.
//!
//! The kernel finds another process by its number, which can belong to another program by the time
//! of the call: the peer has called `exec`, or it has ended and its number was given away. So each
//! process keeps a random number at an address of its private memory, the *witness*. A reader reads
//! it with the data in one system call, which concerns one address space, and takes the data only
//! if the witness is right. A child that the peer has forked has no copy of it.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};

use super::shared::Witness;

impl Witness {
    const NONE: Self = Self {
        address: 0,
        value: 0,
    };

    /// That of this process. Without memory or random numbers there is none, and peers request data
    /// in pieces.
    pub(super) fn of_this_process() -> Self {
        static PAGE: OnceLock<Option<&AtomicU64>> = OnceLock::new();
        let Some(word) = *PAGE.get_or_init(|| word_of_a_new_page().ok()) else {
            return Self::NONE;
        };
        // A child of a fork finds a zero, whatever its parent had.
        // ordering: threads of one process agree on one word, and no other memory goes with it.
        if word.load(Ordering::Relaxed) == 0 {
            let Ok(number) = random_number() else {
                return Self::NONE;
            };
            // Another thread may have been faster.
            let _ = word.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
        }
        Self {
            address: std::ptr::from_ref(word) as u64,
            // ordering: as above.
            value: word.load(Ordering::Relaxed),
        }
    }
}

/// The first word of a page that stays mapped, and that a forked child finds empty.
fn word_of_a_new_page() -> Result<&'static AtomicU64, Errno> {
    // The kernel rounds it up to a whole page.
    let bytes = size_of::<AtomicU64>();
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let page = unsafe {
        rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::PRIVATE)
    }?;
    // SAFETY: the whole mapping, which nothing refers to yet. Under a kernel that is too old for it
    // a child has its parent's witness, and still its own number.
    let _ = unsafe { rustix::mm::madvise(page, bytes, Advice::LinuxWipeOnFork) };
    let page: NonNull<c_void> = NonNull::new(page).ok_or(Errno::NOMEM)?;
    // SAFETY: the page is never unmapped, and is aligned to more than a word; any bytes are a valid
    // number.
    Ok(unsafe { page.cast::<AtomicU64>().as_ref() })
}

fn random_number() -> Result<u64, Errno> {
    let mut bytes = [0; 8];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    match u64::from_ne_bytes(bytes) {
        0 => Err(Errno::AGAIN),
        _ if got < bytes.len() => Err(Errno::AGAIN),
        number => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_one_witness_and_a_child_has_another() {
        let mine = Witness::of_this_process();
        assert_ne!((mine.address, mine.value), (0, 0));
        let others: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(Witness::of_this_process))
            .map(|thread| thread.join().expect("no panic"))
            .collect();
        assert_eq!(others, [mine; 4]);
        // SAFETY: the child calls nothing but what a forked child of several threads may call.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: a mapped word.
            let found = unsafe { *(mine.address as *const u64) };
            // SAFETY: ends the child without any cleaning up.
            unsafe { libc::_exit(i32::from(found != 0)) };
        }
        let mut status = -1;
        // SAFETY: a child of this test, and a place for its status.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "the child has its parent's witness");
        assert_eq!(Witness::of_this_process(), mine);
    }
}
