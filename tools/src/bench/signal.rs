//! How the two ends of a window talk about it, outside the wire that is measured: go, ready,
//! acknowledgement.
//!
//! Each word is on a line of its own and has one writer. Its value is the number of the window it
//! speaks of, counted from 1, so a word that is behind means "not yet".

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

/// The other end has gone, by an error or a panic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gone;

const GONE: u64 = u64::MAX;

/// One number, written by one end and awaited by another.
pub(super) trait Word {
    fn say(&self, value: u64);

    /// Waits until at least `value` is said.
    fn wait_with(&self, value: u64, spin: Spin) -> Result<(), Gone>;

    /// The same with the patience of two threads that have a processor each.
    #[inline]
    fn wait_for(&self, value: u64) -> Result<(), Gone> {
        self.wait_with(value, Spin::new())
    }

    /// Nothing more will be said.
    fn leave(&self);
}

/// The word of two threads.
#[derive(Debug, Default)]
pub(super) struct SharedWord(CachePadded<AtomicU64>);

/// Failed polls before the first yield: about a millisecond, longer than any wait of a window that
/// goes well. A yield would hand the processor to another program in the middle of a window. With a
/// single processor the other end cannot move before this one gives way.
static PATIENCE: LazyLock<u32> = LazyLock::new(|| match std::thread::available_parallelism() {
    Ok(processors) if processors.get() > 1 => 1 << 16,
    _ => PATIENCE_SHORT,
});
/// The same where more threads than processors are at work.
const PATIENCE_SHORT: u32 = 64;

impl SharedWord {
    /// What was said, if at least `value`.
    #[inline]
    fn said(&self, value: u64) -> Result<bool, Gone> {
        match self.0.load(Ordering::Acquire) {
            GONE => Err(Gone),
            word => Ok(word >= value),
        }
    }
}

impl Word for SharedWord {
    #[inline]
    fn say(&self, value: u64) {
        self.0.store(value, Ordering::Release);
    }

    #[inline]
    fn wait_with(&self, value: u64, mut spin: Spin) -> Result<(), Gone> {
        while !self.said(value)? {
            spin.pause();
        }
        Ok(())
    }

    fn leave(&self) {
        self.say(GONE);
    }
}

/// Polls without giving the processor away, unless it takes much longer than it should.
#[derive(Debug)]
pub(super) struct Spin {
    polls: u32,
    patience: u32,
}

impl Spin {
    /// For two threads with a processor each.
    pub(super) fn new() -> Self {
        Self { polls: 0, patience: *PATIENCE }
    }

    /// Gives the processor away after a microsecond or so.
    pub(super) fn short() -> Self {
        Self { polls: 0, patience: PATIENCE_SHORT }
    }

    /// After a poll that went well.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.polls = 0;
    }

    /// After each poll that failed.
    #[inline]
    pub(super) fn pause(&mut self) {
        if self.polls < self.patience {
            self.polls += 1;
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

/// The words of a pair.
#[derive(Debug, Default)]
pub(super) struct Signals<W = SharedWord> {
    /// Sender: the window begins.
    pub(super) go: W,
    /// Receiver: all receives are posted.
    pub(super) ready: W,
    /// Receiver: all receives are complete.
    pub(super) ack: W,
}

/// Says [`Gone`] on the words of one end when that end is left, however that happens.
pub(super) struct Farewell<'a, W: Word>(pub(super) &'a [&'a W]);

impl<W: Word> Drop for Farewell<'_, W> {
    fn drop(&mut self) {
        self.0.iter().for_each(|word| word.leave());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_awaited_and_ends_are_seen() {
        let signals: Signals = Signals::default();
        assert_eq!(signals.ready.said(1), Ok(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _farewell = Farewell(&[&signals.ready]);
                signals.ready.say(1);
                assert_eq!(signals.go.wait_for(1), Ok(()));
            });
            assert_eq!(signals.ready.wait_for(1), Ok(()));
            signals.go.say(1);
        });
        assert_eq!(signals.ready.wait_for(2), Err(Gone));
        assert_eq!(signals.ack.said(1), Ok(false));
    }
}
