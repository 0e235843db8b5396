//! A thread looks for a short time before it sleeps. A sleep and a wake cost more than the look if
//! the other thread has a separate core, and less if both share one. A look that finds nothing
//! makes the next looks rarer.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Turns of the longest look: some 80 microseconds, more than an idle core takes to wake.
const MOST: u32 = 4096;
/// Looks that are left out after one in vain, at most.
const SKIPPED: u32 = 1024;

/// Whether there is a core for another thread.
static HAS_CORES: LazyLock<bool> =
    LazyLock::new(|| std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1));

#[derive(Debug, Default)]
pub(crate) struct Patience {
    /// Looks that are left out now, and after the last look.
    skips: AtomicU32,
    next: AtomicU32,
}

impl Patience {
    /// Whether what is awaited comes within a short time. False at once if looks were in vain.
    pub(crate) fn sees(&self, is_there: impl Fn() -> bool) -> bool {
        // ordering: a guess; no memory goes with it.
        let skips = self.skips.load(Relaxed);
        if skips > 0 || !*HAS_CORES {
            // ordering: as above.
            self.skips.store(skips.saturating_sub(1), Relaxed);
            return false;
        }
        let sees = (0..MOST).any(|_| {
            std::hint::spin_loop();
            is_there()
        });
        // ordering: as above.
        let next = match (sees, self.next.load(Relaxed)) {
            (true, next) => next / 2,
            (false, next) => (2 * next + 1).min(SKIPPED),
        };
        // ordering: as above.
        self.skips.store(next, Relaxed);
        // ordering: as above.
        self.next.store(next, Relaxed);
        sees
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Looks in vain are followed by 1, 3, 7 and so on sleeps without a look, and those that see by
    /// half as many as before.
    #[test]
    fn looks_in_vain_become_rare() {
        let (patience, turns) = (Patience::default(), Cell::new(0));
        let look = |comes_at: u32| {
            turns.set(0);
            let sees = patience.sees(|| {
                turns.set(turns.get() + 1);
                turns.get() == comes_at
            });
            (sees, turns.get())
        };
        if !*HAS_CORES {
            return assert_eq!(look(1), (false, 0));
        }
        assert_eq!([look(1), look(MOST)], [(true, 1), (true, MOST)]);
        let in_vain = [1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 1024, 1024];
        let seen = [512, 256, 128, 64, 32, 16, 8, 4, 2, 1, 0, 0];
        for (comes_at, all) in [(MOST + 1, in_vain), (5, seen)] {
            for skipped in all {
                let found = (comes_at == 5, comes_at.min(MOST));
                assert_eq!(look(comes_at), found, "{skipped}");
                for _ in 0..skipped {
                    assert_eq!(look(1), (false, 0), "{skipped}");
                }
            }
        }
    }
}
