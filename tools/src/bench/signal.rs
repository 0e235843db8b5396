//! Signals between the two ends of a window, outside the measured wire: go, ready, acknowledgement.
//!
//! Each word is on its own cache line and has one writer. Its value is a window's number, counted
//! from 1, so a lower value means "not yet".

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

/// The other end has gone after an error or a panic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gone;

const GONE: u64 = u64::MAX;

/// A number that one end writes and another awaits.
pub(super) trait Word {
    fn say(&self, value: u64);

    fn wait_with(&self, value: u64, spin: Spin) -> Result<(), Gone>;

    /// Waits with the patience of two threads with a processor each.
    #[inline]
    fn wait_for(&self, value: u64) -> Result<(), Gone> {
        self.wait_with(value, Spin::new())
    }

    /// Announces that no value will follow.
    fn leave(&self);
}

#[derive(Debug, Default)]
pub(super) struct SharedWord(CachePadded<AtomicU64>);

/// Failed polls before the first yield: about a millisecond, longer than any wait in a good window,
/// since a yield may hand the processor to another program. With a single processor the other end
/// cannot move before a yield.
static PATIENCE: LazyLock<u32> = LazyLock::new(|| match std::thread::available_parallelism() {
    Ok(processors) if processors.get() > 1 => 1 << 16,
    _ => PATIENCE_SHORT,
});
/// Failed polls before the first yield with more threads than processors.
const PATIENCE_SHORT: u32 = 64;

impl SharedWord {
    /// Whether the word has reached `value`.
    #[inline]
    fn said(&self, value: u64) -> Result<bool, Gone> {
        // ordering: one release, one acquire: who has read a word sees what was written before it.
        match self.0.load(Ordering::Acquire) {
            GONE => Err(Gone),
            word => Ok(word >= value),
        }
    }
}

impl Word for SharedWord {
    #[inline]
    fn say(&self, value: u64) {
        // ordering: the release of the acquire in `said`.
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

/// Spins, and yields only after an unexpectedly long wait.
#[derive(Debug)]
pub(super) struct Spin {
    polls: u32,
    patience: u32,
}

impl Spin {
    /// For two threads with a processor each.
    pub(super) fn new() -> Self {
        Self {
            polls: 0,
            patience: *PATIENCE,
        }
    }

    /// Yields after about a microsecond.
    pub(super) fn short() -> Self {
        Self {
            polls: 0,
            patience: PATIENCE_SHORT,
        }
    }

    #[inline]
    pub(super) fn reset(&mut self) {
        self.polls = 0;
    }

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

#[derive(Debug, Default)]
pub(super) struct Signals<W = SharedWord> {
    /// Sender: the window begins.
    pub(super) go: W,
    /// Receiver: all receives are posted.
    pub(super) ready: W,
    /// Receiver: all receives are complete.
    pub(super) ack: W,
}

/// Sets the words of one end to [`Gone`] when that end exits for any reason.
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
