//! How the two ends of a window talk about it, outside the wire that is measured: go, ready, acknowledgement.
//!
//! Each word is on a line of its own and has one writer. Its value is the number of the window it speaks of, counted
//! from 1, so a word that is behind means "not yet".

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

/// The other end has gone, by an error or a panic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gone;

const GONE: u64 = u64::MAX;

/// One number, written by one thread and awaited by another.
#[derive(Debug, Default)]
pub(super) struct Word(CachePadded<AtomicU64>);

/// Failed polls before the first yield: some tens of microseconds, longer than any wait of a window that goes well. Only
/// a thread that has lost its processor is waited for longer.
const SPINS: u32 = 4096;
/// The same where more threads than processors are at work.
const SPINS_SHORT: u32 = 64;

impl Word {
    /// What was said, if at least `value`.
    #[inline]
    pub(super) fn said(&self, value: u64) -> Result<bool, Gone> {
        match self.0.load(Ordering::Acquire) {
            GONE => Err(Gone),
            word => Ok(word >= value),
        }
    }

    #[inline]
    pub(super) fn say(&self, value: u64) {
        self.0.store(value, Ordering::Release);
    }

    /// Waits until at least `value` is said.
    #[inline]
    pub(super) fn wait_for(&self, value: u64) -> Result<(), Gone> {
        let mut spin = Spin::default();
        while !self.said(value)? {
            spin.pause();
        }
        Ok(())
    }
}

/// Polls without giving the processor away, unless it takes much longer than it should.
#[derive(Debug, Default)]
pub(super) struct Spin(u32);

impl Spin {
    /// Gives the processor away after a microsecond or so.
    pub(super) fn short() -> Self {
        Self(SPINS - SPINS_SHORT)
    }

    /// After each poll that failed.
    #[inline]
    pub(super) fn pause(&mut self) {
        if self.0 < SPINS {
            self.0 += 1;
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

/// The words of a pair.
#[derive(Debug, Default)]
pub(super) struct Signals {
    /// Sender: the window begins.
    pub(super) go: Word,
    /// Receiver: all receives are posted.
    pub(super) ready: Word,
    /// Receiver: all receives are complete.
    pub(super) ack: Word,
}

/// Says [`Gone`] on the words of one end when that end is left, however that happens.
pub(super) struct Farewell<'a>(pub(super) &'a [&'a Word]);

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|word| word.say(GONE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_awaited_and_ends_are_seen() {
        let signals = Signals::default();
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
