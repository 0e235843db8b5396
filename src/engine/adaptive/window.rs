//! Statistics of a communicator's recent searches.

use super::AdaptiveConfig;

/// Sums over the searches of a window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    searches: u32,
    /// Searches of queues that were not empty. Searches of an empty queue would hide the long ones.
    busy: u32,
    compares: u64,
    /// Sum of the lengths of the queues searched.
    length: u64,
    /// Consecutive windows with short queues.
    calm: u32,
}

impl Window {
    /// Records a search of `compares` compares in a queue of `length` entries.
    #[inline]
    pub(super) fn searched(&mut self, compares: u64, length: u32) {
        self.searches += 1;
        self.busy += u32::from(length > 0);
        self.compares += compares;
        self.length += u64::from(length);
    }

    #[inline]
    pub(super) fn is_full(&self, config: &AdaptiveConfig) -> bool {
        self.searches >= config.window
    }

    /// Whether searches were long on average, provided that a quarter of the window was busy.
    pub(super) fn was_long(&self, config: &AdaptiveConfig) -> bool {
        self.busy >= config.window.div_ceil(4)
            && self.compares > u64::from(self.busy) * u64::from(config.long)
    }

    /// Whether this window is the last of enough consecutive ones with short queues.
    pub(super) fn is_calm(&mut self, config: &AdaptiveConfig) -> bool {
        let short = self.length <= u64::from(self.searches) * u64::from(config.short);
        self.calm = if short {
            self.calm.saturating_add(1)
        } else {
            0
        };
        self.calm >= config.calm
    }

    /// The next window begins.
    pub(super) fn begin(&mut self) {
        *self = Self {
            calm: self.calm,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: AdaptiveConfig = AdaptiveConfig {
        bins: match crate::engine::BinCount::new(16) {
            Ok(bins) => bins,
            Err(_) => unreachable!(),
        },
        window: 8,
        long: 10,
        short: 2,
        calm: 2,
    };

    fn window(compares: u64, busy: u32) -> Window {
        let mut window = Window::default();
        (0..busy).for_each(|_| window.searched(compares, 20));
        (busy..8).for_each(|_| window.searched(0, 0));
        assert!(window.is_full(&CONFIG));
        window
    }

    #[test]
    fn empty_queues_do_not_hide_long_searches() {
        assert!(window(11, 8).was_long(&CONFIG));
        assert!(window(11, 2).was_long(&CONFIG));
        assert!(!window(11, 1).was_long(&CONFIG), "one search is no sign");
        assert!(!window(10, 8).was_long(&CONFIG));
    }

    #[test]
    fn calm_takes_several_windows_in_a_row() {
        let mut calm = Window::default();
        let mut next = |length| {
            calm.begin();
            (0..8).for_each(|_| calm.searched(1, length));
            calm.is_calm(&CONFIG)
        };
        assert_eq!(
            [next(2), next(3), next(2), next(2), next(1)],
            [false, false, false, true, true]
        );
    }
}
