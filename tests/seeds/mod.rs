//! Seeds on two threads: `DPAMATCH_STREAMS` sets their number, `DPAMATCH_SEED` the first.
//! `DPAMATCH_SECONDS` ends the run earlier, and prints how many seeds were begun each second.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use dpamatch::engine::Counter;

/// Sums of counters over all seeds. They show that every path ran.
#[derive(Default, Debug)]
pub(crate) struct Totals(BTreeMap<String, u64>);

impl Totals {
    #[allow(dead_code, reason = "not every test sums")]
    pub(crate) fn add(&mut self, counters: impl IntoIterator<Item = Counter>) {
        for counter in counters {
            *self.0.entry(counter.name.into_owned()).or_default() += counter.value;
        }
    }

    /// Names of the counters that stayed 0.
    #[allow(dead_code, reason = "not every test sums")]
    pub(crate) fn idle(&self) -> Vec<&str> {
        self.0
            .iter()
            .filter(|(_, value)| **value == 0)
            .map(|(name, _)| name.as_str())
            .collect()
    }
}

fn variable(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(value) => value
            .parse()
            .unwrap_or_else(|_| panic!("{name} must be a number, is {value:?}")),
        Err(_) => default,
    }
}

/// Checks each seed. Returns their number and the totals. Prints a seed that fails.
pub(crate) fn run<E: Display>(
    usual: u64,
    check: impl Fn(u64, &mut Totals) -> Result<(), E> + Sync,
) -> (u64, Totals) {
    let (first, count) = (
        variable("DPAMATCH_SEED", 0),
        variable("DPAMATCH_STREAMS", usual),
    );
    let time = variable("DPAMATCH_SECONDS", u64::MAX);
    let started = Instant::now();
    let (next, shown) = (AtomicU64::new(first), AtomicU64::new(0));
    let work = || {
        let mut totals = Totals::default();
        loop {
            let second = started.elapsed().as_secs();
            if second >= time {
                return totals;
            }
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return totals;
            }
            if time < u64::MAX && shown.fetch_max(second, Ordering::Relaxed) < second {
                eprintln!("{second},{}", seed - first);
            }
            check(seed, &mut totals).unwrap_or_else(|what| panic!("{what}"));
        }
    };
    let mut all = Totals::default();
    thread::scope(|scope| {
        for thread in [0, 1].map(|_| scope.spawn(work)) {
            let totals = thread.join().expect("a seed failed; it is printed above");
            totals
                .0
                .into_iter()
                .for_each(|(name, value)| *all.0.entry(name).or_default() += value);
        }
    });
    (count.min(next.into_inner() - first), all)
}
