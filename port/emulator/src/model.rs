//! A model of a card's time: what accesses and doorbells of handlers cost there, by the predictor's
//! numbers. Instructions between accesses are free, so a card takes longer.
//!
//! `DPA_VIRTUAL=1` turns it on. Clocks of device code then show the model's time, and a handler
//! that is destroyed leaves a line. An activation begins with an empty first-level cache of 16
//! lines, whose oldest makes room. Other lines come from the second level, or through a window.
//! Looks that find nothing new, and the stack, are free.

use crate::environment::number;
use crate::thread::Unit;
use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

static ON: LazyLock<bool> = LazyLock::new(|| number("DPA_VIRTUAL", 0, 0..=1) != 0);

/// Picoseconds of a line in the first level, in the second and behind a window, of a doorbell and
/// of an activation: those of the predictor's profile `bluefield3`, which names their sources.
const COSTS: [u64; 5] = [2_000, 35_000, 224_000, 2_000, 0];
const HIT: usize = 0;
pub(crate) const DOORBELL: usize = 3;

#[inline]
pub(crate) fn is_on() -> bool {
    *ON
}

/// A thread's time; its worker alone touches it.
#[derive(Default)]
pub(crate) struct Time {
    /// Lines of the first level, the newest first, each with one added.
    cache: Cell<[usize; 16]>,
    picoseconds: Cell<u64>,
}

impl Time {
    pub(crate) fn add(&self, what: usize) {
        if is_on() {
            self.picoseconds.set(self.picoseconds.get() + COSTS[what]);
        }
    }

    pub(crate) fn activation(&self) {
        self.cache.set([0; 16]);
        self.add(4);
    }

    #[inline(always)]
    pub(crate) fn access(&self, address: usize, bytes: usize, host: bool) {
        if is_on() {
            (address / 64..=(address + bytes.max(1) - 1) / 64).for_each(|at| self.line(at, host));
        }
    }

    #[cold]
    fn line(&self, line: usize, host: bool) {
        let mut cache = self.cache.get();
        let at = cache.iter().position(|&known| known == line + 1);
        cache[..=at.unwrap_or(15)].rotate_right(1);
        cache[0] = line + 1;
        self.cache.set(cache);
        self.add(if at.is_some() {
            HIT
        } else {
            1 + usize::from(host)
        });
    }

    /// The thread's nanoseconds. A look at the clock takes a moment, so that waits for it end.
    pub(crate) fn look(&self) -> u64 {
        self.add(HIT);
        self.picoseconds.get() / 1000
    }
}

/// A thread is over. Only handlers have a line: how long a call lasts in the table of threads after
/// its answer depends on the host.
pub(crate) fn tell(unit: &Unit) {
    // ordering: a statistic.
    let (activations, frames) = (unit.activations(), unit.frames.load(Ordering::Relaxed));
    if !is_on() || activations == 0 || unit.is_call() {
        return;
    }
    let each = |count: u64| {
        let ns = unit.own.time.picoseconds.get() as f64 / 1e3 / count as f64;
        format!("{count} of {ns:.1} ns, {:.3} million/s", 1e3 / ns)
    };
    let frames = if frames > 0 {
        format!("; frames: {}", each(frames))
    } else {
        String::new()
    };
    let (process, thread, name) = (unit.process.id, unit.id, &unit.name);
    crate::check::note(format_args!(
        "process {process}, thread {thread} ({name}): a model of a card, without instructions: \
         activations: {}{frames}",
        each(activations)
    ));
}

#[cfg(test)]
mod tests {
    #[test]
    fn costs_are_those_of_the_profile() {
        let profile = include_str!("../../../tools/predict/profiles/bluefield3.toml");
        let lines = profile.lines().filter_map(|line| line.split_once('='));
        let number = |key: &str| -> f64 {
            let (_, text) = lines
                .clone()
                .find(|(name, _)| name.trim() == key)
                .expect(key);
            let text = text.split('#').next().expect("a value");
            text.trim().parse().expect("a number")
        };
        let keys = [
            "l1_ns",
            "l2_ns",
            "window_write_ns",
            "doorbell_ns",
            "activation_ns",
        ];
        let picoseconds = keys.map(|key| (number(key) * 1e3).round() as u64);
        assert_eq!(picoseconds, super::COSTS);
    }
}
