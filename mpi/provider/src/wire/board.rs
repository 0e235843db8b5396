//! The memory file with an endpoint's bells (`bells`), and a peer's view of it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use dpamatch_door::AtomicU64;
use rustix::io::Errno;

use super::bells::{self, WORD};
use super::file::{Mapping, new_file, send_file};

/// Bytes of a board, a page.
const BYTES: usize = 4096;
/// Bells of a board.
pub(crate) const BELLS: usize = 8 * BYTES;

/// The first byte of a packet that asks for a board, and of one that brings it.
pub(super) const BOARD: u8 = 2;

/// A board in this process's memory: its own, or a peer's.
#[derive(Debug)]
pub(super) struct View {
    memory: Mapping,
}

impl View {
    /// Maps a board's file.
    ///
    /// # Errors
    /// The file is not sound, or cannot be mapped.
    pub(super) fn new(file: BorrowedFd<'_>) -> Result<Self, Errno> {
        let memory = Mapping::new(file, BYTES)?;
        Ok(Self { memory })
    }

    #[inline(always)]
    pub(super) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has `BYTES` bytes, begins on a page, and lives as long as `self`. Any
        // bytes are valid words, and everybody's access is atomic.
        unsafe { std::slice::from_raw_parts(self.memory.start.as_ptr().cast(), BYTES / 8) }
    }
}

/// The board of an endpoint.
#[derive(Debug)]
pub(crate) struct Board {
    file: OwnedFd,
    view: View,
}

impl Board {
    /// A board on which no bell is set.
    ///
    /// # Errors
    /// The process has no descriptor or memory left.
    pub(crate) fn new() -> Result<Self, Errno> {
        let file = new_file(BYTES)?;
        let view = View::new(file.as_fd())?;
        Ok(Self { file, view })
    }

    /// The words with the first `bells` bells.
    #[inline(always)]
    fn words(&self, bells: usize) -> &[AtomicU64] {
        let words = self.view.words();
        &words[..bells.div_ceil(WORD).min(words.len())]
    }

    /// Whether one of the first `bells` bells is set.
    #[inline(always)]
    pub(crate) fn is_rung(&self, bells: usize) -> bool {
        bells::is_rung(self.words(bells))
    }

    /// Takes back the first `bells` bells that are set, and calls a function with the number of
    /// each; it may come to know numbers up to the next multiple of 64.
    pub(crate) fn take(&self, bells: usize, what: impl FnMut(usize)) {
        bells::take(self.words(bells), what);
    }

    pub(super) fn send(&self, socket: &OwnedFd) -> Result<(), Errno> {
        send_file(socket, self.file.as_fd(), &[BOARD])
    }
}

#[cfg(test)]
#[test]
fn bells_are_those_of_the_board() {
    let board = Board::new().expect("a board");
    let there = View::new(board.file.as_fd()).expect("a view");
    let taken = |bells| {
        let mut all = Vec::new();
        board.take(bells, |number| all.push(number));
        all
    };
    let last = BELLS as u64 - 1;
    for number in [last + 2, u64::MAX, last + 1, last, 64, 63, 1, 0, 63] {
        bells::ring(there.words(), number);
    }
    assert!(!board.is_rung(0) && board.is_rung(1) && taken(0).is_empty());
    assert_eq!(taken(64), [0, 1, 63]);
    assert!(!board.is_rung(64) && board.is_rung(65));
    assert_eq!(taken(65), [64]);
    assert!(!board.is_rung(BELLS - 64) && board.is_rung(BELLS + 64));
    assert_eq!(taken(BELLS), [BELLS - 1]);
    assert!(!board.is_rung(BELLS));
    let other = new_file(BYTES + 4096).expect("a file");
    assert!(View::new(other.as_fd()).is_err(), "another length");
}
