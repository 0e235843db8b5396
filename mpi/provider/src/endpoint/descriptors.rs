//! The process's descriptors: how many it may have, and one in reserve.
//!
//! A new peer needs two for a moment, one for its socket and one for its memory file, and keeps
//! one. The reserve makes the second one certain before a peer is taken out of the kernel's queue.
//! Where there is none, peers wait in that queue and lose nothing.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Once;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the process's limit of descriptors as far as the system lets every process do it.
pub(super) fn raise_limit() {
    static RAISED: Once = Once::new();
    RAISED.call_once(|| {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current != maximum {
            let current = maximum;
            // Without it there is less room, which is reported when it is used up.
            let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
        }
    });
}

/// What is reported where descriptors are missing.
pub(super) fn shortage(error: Errno) -> String {
    if error == Errno::NFILE {
        return "the system has no descriptor left (fs.file-max)".to_owned();
    }
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.map_or("none".to_owned(), |limit| limit.to_string());
    format!("this process has no descriptor left (RLIMIT_NOFILE is {limit})")
}

/// Whether an error means that there is no descriptor.
pub(super) fn is_shortage(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE)
}

/// A descriptor that is given up for the memory file of a new peer.
#[derive(Debug, Default)]
pub(super) struct Reserve {
    held: Option<OwnedFd>,
    reported: bool,
}

impl Reserve {
    /// Takes a descriptor if none is held. `false`: there is none, which is reported once.
    pub(super) fn fill(&mut self, like: BorrowedFd<'_>) -> bool {
        if self.held.is_none() {
            match rustix::io::fcntl_dupfd_cloexec(like, 0) {
                Ok(held) => self.held = Some(held),
                Err(error) => {
                    self.report(error);
                    return false;
                }
            }
        }
        true
    }

    /// Frees the descriptor for something else.
    pub(super) fn give_up(&mut self) {
        self.held = None;
    }

    /// Reports the endpoint's first shortage.
    pub(super) fn report(&mut self, error: Errno) {
        if !std::mem::replace(&mut self.reported, true) {
            crate::report(&format!("{}: new peers wait", shortage(error)));
        }
    }
}

#[cfg(test)]
#[test]
fn the_line_has_the_limit() {
    use std::os::fd::AsFd as _;

    let limit = getrlimit(Resource::Nofile).current.expect("a limit");
    let line = shortage(Errno::MFILE);
    assert!(
        line.contains(&format!("(RLIMIT_NOFILE is {limit})")),
        "{line}"
    );
    assert!(shortage(Errno::NFILE).contains("fs.file-max"));
    assert!(is_shortage(Errno::NFILE) && !is_shortage(Errno::NOMEM));
    let mut reserve = Reserve::default();
    let socket = rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC);
    let socket = socket.expect("a descriptor");
    assert!(reserve.fill(socket.as_fd()) && reserve.held.is_some());
    reserve.give_up();
    assert!(reserve.held.is_none());
}
