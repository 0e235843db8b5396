//! When the ranks end, with a card and without one.

use rayon::prelude::*;

use super::Range;
use super::report::Weighed;
use super::verdict::{Costs, Gain};
use crate::analyze::Run;
use crate::analyze::order::{Load, Network};

/// The end of each range that counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Case {
    /// Least favourable to the card.
    Worst,
    Likely,
    /// Most favourable to the card.
    Best,
}

impl Case {
    const ALL: [Self; 3] = [Self::Worst, Self::Likely, Self::Best];

    fn of_now(self, range: Range) -> f64 {
        [range.low, range.likely, range.high][self as usize]
    }

    fn of_card(self, range: Range) -> f64 {
        [range.high, range.likely, range.low][self as usize]
    }
}

/// The ends of all ranks in microseconds, for each case: without a card, with it, and with it but
/// without its delay.
pub(super) struct Ends {
    now: [Vec<f64>; 3],
    card: [Vec<f64>; 3],
    not_late: Vec<f64>,
}

/// A simulated run: the matching costs of its receives, and the delay of its messages.
#[derive(Clone, Copy, Debug)]
enum Scene {
    Now(Case),
    Card(Case),
    /// With a card at likely prices, but without its delay.
    NotLate,
}

const SCENES: [Scene; 7] = [
    Scene::Now(Case::Worst),
    Scene::Now(Case::Likely),
    Scene::Now(Case::Best),
    Scene::Card(Case::Worst),
    Scene::Card(Case::Likely),
    Scene::Card(Case::Best),
    Scene::NotLate,
];

impl Scene {
    /// The host's time for this part, in microseconds.
    fn host_us(self, costs: &Costs) -> f64 {
        match self {
            Self::Now(case) => case.of_now(costs.now_us),
            Self::Card(case) => case.of_card(costs.after_us),
            Self::NotLate => Case::Likely.of_card(costs.after_us),
        }
    }

    fn delay_us(self, costs: &Costs) -> f64 {
        match self {
            Self::Card(case) => case.of_card(costs.delay_us),
            Self::Now(_) | Self::NotLate => 0.0,
        }
    }

    fn load(self, ranks: &[Weighed], delay: &Costs, comm: Option<u32>) -> Load {
        let receive_ns = |weighed: &Weighed| {
            let each_us = self.host_us(&weighed.costs) / weighed.demand.posts.max(1) as f64;
            (each_us * 1e3).round() as u64
        };
        Load {
            receive_ns: ranks.iter().map(receive_ns).collect(),
            delay_ns: (self.delay_us(delay) * 1e3).round() as u64,
            comm,
        }
    }
}

impl Ends {
    /// Runs the ranks with these costs, for the receives of one communicator or of all. The
    /// simulations are independent and run in parallel.
    pub(super) fn new(run: &Run, network: Network, ranks: &[Weighed], comm: Option<u32>) -> Self {
        let mut all = Weighed::default();
        ranks.iter().for_each(|rank| all.add(rank));
        let simulate = |scene: Scene| {
            let ends = run.ends(network, scene.load(ranks, &all.costs, comm));
            ends.into_iter().map(|ns| ns as f64 / 1e3).collect()
        };
        let ends: Vec<Vec<f64>> = SCENES.into_par_iter().map(simulate).collect();
        let [a, b, c, d, e, f, not_late] = <[Vec<f64>; 7]>::try_from(ends).expect("seven scenes");
        Self {
            now: [a, b, c],
            card: [d, e, f],
            not_late,
        }
    }

    /// The change of a rank's end, or of the last rank's.
    pub(super) fn gain(&self, rank: Option<usize>) -> Gain {
        let end = |ends: &[f64]| match rank {
            Some(rank) => ends[rank],
            None => ends.iter().copied().fold(0.0, f64::max),
        };
        let share = |now: f64, card: f64| {
            if now > 0.0 { (now - card) / now } else { 0.0 }
        };
        let mut shares = Case::ALL.map(|case| {
            share(
                end(&self.now[case as usize]),
                end(&self.card[case as usize]),
            )
        });
        // A wildcard receive may take another message, so the worst case need not give the least
        // gain.
        shares.sort_by(f64::total_cmp);
        let run_us = end(&self.now[Case::Likely as usize]);
        Gain {
            run_us,
            share: Range::from(shares),
            share_without_delay: share(run_us, end(&self.not_late)),
        }
    }
}
