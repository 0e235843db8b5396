//! Parameters from measured runs: alpha, R_b and R_N of each place and protocol, gamma and delta,
//! in one least-squares fit.
//!
//! The model of a run has two cases. Below the node limit:
//!
//! ```text
//! seconds = alpha * messages + bytes / R_b + gamma * search + delta * link_bytes
//! ```
//!
//! From some ppn on, the node limits:
//!
//! ```text
//! seconds = alpha * messages + ppn * bytes / R_N + gamma * search + delta * link_bytes
//! ```
//!
//! The model is linear in alpha, 1 / R_b, 1 / R_N, gamma and delta once the runs that the node
//! limits are known. These have the most processes, so the fit tries every ppn as the first limited
//! one and keeps the best. Measurement errors grow with the time measured: each run has the weight
//! 1 / seconds. `search` is the number of steps, or n^2 in the worst order and 0 in the best.

use std::io::BufRead;

use dpamatch_vocabulary::choices;
use serde::{Deserialize, Serialize};

use super::least_squares::{Estimate, Solution, solve};
use super::lines::InputError;
use super::message_list::rows;
use super::profile::{Distance, Link, Profile, Protocol};

/// Order of the tags in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Receives posted in the order of sending.
    Best,
    Worst,
    /// In a random order; unused for gamma n^2.
    Random,
}

fn network() -> Distance {
    Distance::Network
}

fn one() -> u32 {
    1
}

/// A measured run: each of `ppn` processes of a node sends `messages` messages of `bytes` in total
/// to a partner.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub struct Run {
    pub seconds: f64,
    pub messages: u64,
    /// Bytes per process, over all messages.
    pub bytes: u64,
    #[serde(default = "one")]
    pub ppn: u32,
    #[serde(default = "network")]
    pub place: Distance,
    /// Protocol of the messages; derived from their length if absent.
    #[serde(default)]
    pub protocol: Option<Protocol>,
    /// Search steps of a receiver.
    #[serde(default)]
    pub steps: Option<u64>,
    #[serde(default)]
    pub order: Option<Order>,
    #[serde(default)]
    pub link_bytes: Option<u64>,
}

/// Reads measured runs from CSV. The columns are `seconds` (above 0), `messages`, `bytes`, and
/// optionally `ppn` (default 1), `place` (network), `protocol` (by length), `steps`, `order` (best,
/// worst, random) and `link_bytes`.
///
/// # Errors
/// [`InputError`] with the line.
pub fn read_csv(input: impl BufRead) -> Result<Vec<Run>, InputError> {
    let mut runs = Vec::new();
    rows(input, &["seconds", "messages", "bytes"], |run: Run| {
        if !(run.seconds.is_finite() && run.seconds > 0.0) {
            return Err(format!("seconds is {}, must be above 0", run.seconds));
        }
        if run.ppn == 0 {
            return Err("ppn is 0, must be at least 1".to_owned());
        }
        runs.push(run);
        Ok(())
    })?;
    Ok(runs)
}

choices! {
    /// The factor of gamma, which is a time per step, or that of the bound.
    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Search, by default Steps {
        /// The column steps.
        Steps = "steps",
        /// n^2 of the runs in the worst order.
        Square = "square",
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LinkFit {
    pub place: Distance,
    pub protocol: Protocol,
    pub runs: usize,
    /// alpha in seconds; `None` where the runs do not determine it.
    pub alpha_s: Option<Estimate>,
    /// R_b in bytes per second.
    pub rate_bytes_per_s: Option<Estimate>,
    /// R_N in bytes per second.
    pub node_rate_bytes_per_s: Option<Estimate>,
    pub limited_from: Option<u32>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Fit {
    pub search: Search,
    pub links: Vec<LinkFit>,
    /// gamma in seconds; `None` where the runs do not determine it.
    pub gamma_s: Option<Estimate>,
    /// delta in seconds per byte; `None` where the runs do not determine it.
    pub delta_s_per_byte: Option<Estimate>,
    pub runs: usize,
    pub freedom: usize,
    pub relative_error: f64,
}

/// Runs that cannot be fitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    #[error("too few runs for {parameters} parameters and their confidence: {runs}")]
    TooFew { runs: usize, parameters: usize },
}

/// Fits all runs that carry information about `search`. A run without protocol gets the one that
/// `profile` assigns to its message length.
///
/// # Complexity
/// O(places and protocols * distinct ppn * runs * parameters^2).
pub fn fit(runs: &[Run], profile: &Profile, search: Search) -> Result<Fit, FitError> {
    let runs: Vec<Run> = runs
        .iter()
        .filter(|run| search == Search::Steps || run.order != Some(Order::Random))
        .map(|run| Run {
            protocol: Some(
                run.protocol
                    .unwrap_or_else(|| profile.protocol(run.bytes / run.messages.max(1))),
            ),
            ..*run
        })
        .collect();
    let mut groups: Vec<Group> = Vec::new();
    for run in &runs {
        let key = (run.place, run.protocol.unwrap_or(Protocol::Short));
        match groups.iter_mut().find(|group| group.key == key) {
            Some(group) => group.ppn.push(run.ppn),
            None => groups.push(Group {
                key,
                ppn: vec![run.ppn],
                limited_from: None,
            }),
        }
    }
    groups.sort_by_key(|group| group.key);
    let mut best = system(&runs, &groups, search);
    // Groups share gamma only, so one group's choice hardly moves another's: a few passes suffice.
    for _ in 0..4 {
        let before = groups.clone();
        for place in 0..groups.len() {
            for first in groups[place].candidates() {
                let mut trial = groups.clone();
                trial[place].limited_from = Some(first);
                let solution = system(&runs, &trial, search);
                if solution.is_physical() && is_worth(best.residual, solution.residual, runs.len())
                {
                    (best, groups) = (solution, trial);
                }
            }
        }
        if groups == before {
            break;
        }
    }
    best.finish(&runs, &groups, search)
}

/// Whether two more parameters, a limit and its place, improve the fit enough to be worth it
/// (Bayesian information criterion). Relative errors below a millionth count as zero.
fn is_worth(before: f64, after: f64, runs: usize) -> bool {
    let runs = runs as f64;
    before > runs * 1e-12 && runs * (before / after).ln() > 2.0 * runs.ln()
}

#[derive(Clone, PartialEq, Debug)]
struct Group {
    key: (Distance, Protocol),
    ppn: Vec<u32>,
    limited_from: Option<u32>,
}

impl Group {
    /// Process counts from which on the node may limit. The fewest processes are never limited;
    /// otherwise R_b could not be determined.
    fn candidates(&self) -> Vec<u32> {
        let mut distinct = self.ppn.clone();
        distinct.sort_unstable();
        distinct.dedup();
        distinct.split_off(1.min(distinct.len()))
    }
}

/// Columns of each group: alpha, 1 / R_b, 1 / R_N. After all groups come gamma and delta.
const OF_GROUP: usize = 3;

fn system(runs: &[Run], groups: &[Group], search: Search) -> Solution {
    let mut columns = vec![vec![0.0; runs.len()]; groups.len() * OF_GROUP + 2];
    for (row, run) in runs.iter().enumerate() {
        let key = (run.place, run.protocol.unwrap_or(Protocol::Short));
        let Some(place) = groups.iter().position(|group| group.key == key) else {
            continue;
        };
        let first = place * OF_GROUP;
        columns[first][row] = run.messages as f64;
        match groups[place].limited_from {
            Some(limit) if run.ppn >= limit => {
                columns[first + 2][row] = f64::from(run.ppn) * run.bytes as f64;
            }
            _ => columns[first + 1][row] = run.bytes as f64,
        }
        columns[groups.len() * OF_GROUP][row] = match search {
            Search::Steps => run.steps.unwrap_or(0) as f64,
            Search::Square if run.order == Some(Order::Worst) => (run.messages as f64).powi(2),
            Search::Square => 0.0,
        };
        columns[groups.len() * OF_GROUP + 1][row] = run.link_bytes.unwrap_or(0) as f64;
    }
    let seconds: Vec<f64> = runs.iter().map(|run| run.seconds).collect();
    let weights: Vec<f64> = runs.iter().map(|run| 1.0 / run.seconds).collect();
    solve(&columns, &seconds, &weights)
}

impl Solution {
    fn is_physical(&self) -> bool {
        let groups = self.estimates.len() / OF_GROUP * OF_GROUP;
        let mut rates = self.estimates[..groups]
            .chunks(OF_GROUP)
            .flat_map(|group| group.iter().skip(1).flatten());
        rates.all(|rate| rate.value > 0.0)
    }

    fn finish(self, runs: &[Run], groups: &[Group], search: Search) -> Result<Fit, FitError> {
        if self.freedom == 0 {
            let parameters = self.estimates.iter().flatten().count().max(1);
            return Err(FitError::TooFew {
                runs: runs.len(),
                parameters,
            });
        }
        let link = |(place, group): (usize, &Group)| {
            let [alpha, beta, beta_node] = [0, 1, 2].map(|i| self.estimates[place * OF_GROUP + i]);
            LinkFit {
                place: group.key.0,
                protocol: group.key.1,
                runs: group.ppn.len(),
                alpha_s: alpha,
                rate_bytes_per_s: beta.and_then(Estimate::inverse),
                node_rate_bytes_per_s: beta_node.and_then(Estimate::inverse),
                limited_from: group.limited_from,
            }
        };
        Ok(Fit {
            search,
            links: groups.iter().enumerate().map(link).collect(),
            gamma_s: self.estimates[groups.len() * OF_GROUP],
            delta_s_per_byte: self.estimates[groups.len() * OF_GROUP + 1],
            runs: runs.len(),
            freedom: self.freedom,
            relative_error: (self.residual / runs.len() as f64).sqrt(),
        })
    }
}

impl Fit {
    /// Writes the fitted parameters into a profile. A start-up, gamma or delta below 0 becomes 0;
    /// parameters that the runs do not determine stay.
    pub fn apply(&self, profile: &mut Profile) {
        for fitted in &self.links {
            let old = profile.link(fitted.place, fitted.protocol);
            let link = Link {
                alpha_s: fitted
                    .alpha_s
                    .map_or(old.alpha_s, |alpha| alpha.value.max(0.0)),
                rate_bytes_per_s: fitted
                    .rate_bytes_per_s
                    .map_or(old.rate_bytes_per_s, |rate| rate.value),
                node_rate_bytes_per_s: fitted
                    .node_rate_bytes_per_s
                    .map_or(old.node_rate_bytes_per_s, |rate| Some(rate.value)),
            };
            profile.set_link(fitted.place, fitted.protocol, link);
        }
        if let Some(gamma) = self.gamma_s {
            match self.search {
                Search::Steps => profile.queue.gamma_step_s = gamma.value.max(0.0),
                Search::Square => profile.queue.gamma_s = gamma.value.max(0.0),
            }
        }
        if let Some(delta) = self.delta_s_per_byte {
            profile.contention.delta_s_per_byte = delta.value.max(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::cost::contention::{Torus, line_test};
    use crate::cost::queue::steps_reverse;
    use crate::cost::transfer::node_aware_s;

    fn run(seconds: f64, messages: u64, bytes: u64, ppn: u32, place: Distance) -> Run {
        let (protocol, steps, order, link_bytes) = (None, None, None, None);
        Run {
            seconds,
            messages,
            bytes,
            ppn,
            place,
            protocol,
            steps,
            order,
            link_bytes,
        }
    }

    /// Runs whose times follow the model up to a relative error of `noise`.
    fn synthetic(noise: f64, seed: u64) -> Vec<Run> {
        let profile = Profile::blue_waters();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut runs = Vec::new();
        let mut add = |place, bytes: u64, ppn, messages: u64| {
            let one = node_aware_s(&profile, place, bytes, ppn);
            for (order, steps) in [
                (Order::Best, messages),
                (Order::Worst, steps_reverse(messages)),
            ] {
                let exact = one * messages as f64 + profile.queue.gamma_step_s * steps as f64;
                let seconds = exact * (1.0 + noise * random.random_range(-1.0..1.0));
                runs.push(Run {
                    steps: Some(steps),
                    order: Some(order),
                    ..run(seconds, messages, bytes * messages, ppn, place)
                });
            }
        };
        for place in Distance::ALL {
            for bytes in [8, 64, 512, 1024, 2048, 4096, 8192, 65_536, 1 << 20] {
                for ppn in [1, 2, 3, 4, 8, 16] {
                    for messages in [1, 10, 300] {
                        add(place, bytes, ppn, messages);
                    }
                }
            }
        }
        runs
    }

    #[test]
    fn exact_runs_give_the_parameters_back() {
        let profile = Profile::blue_waters();
        let fit = fit(&synthetic(0.0, 0), &profile, Search::Steps).expect("enough runs");
        assert_eq!(fit.links.len(), 9);
        let close = |estimate: Option<Estimate>, truth: f64| {
            let value = estimate.expect("an estimate").value;
            assert!((value / truth - 1.0).abs() < 1e-6, "{value} is not {truth}");
        };
        for link in &fit.links {
            let truth = profile.link(link.place, link.protocol);
            close(link.alpha_s, truth.alpha_s);
            close(link.rate_bytes_per_s, truth.rate_bytes_per_s);
            match truth.node_rate_bytes_per_s {
                Some(rate) => close(link.node_rate_bytes_per_s, rate),
                None => assert_eq!(link.node_rate_bytes_per_s, None, "{link:?}"),
            }
        }
        // The node limits three senders and more.
        assert_eq!(fit.links.last().and_then(|link| link.limited_from), Some(3));
        close(fit.gamma_s, profile.queue.gamma_step_s);
        let mut other = profile.clone();
        other.network.rendezvous.node_rate_bytes_per_s = None;
        other.queue.gamma_step_s = 0.0;
        fit.apply(&mut other);
        assert!(
            (other
                .network
                .rendezvous
                .node_rate_bytes_per_s
                .expect("a limit")
                / 6.6e9
                - 1.0)
                .abs()
                < 1e-6
        );
        assert!(other.queue.gamma_step_s > 0.0);
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        let profile = Profile::blue_waters();
        let (mut held, mut all) = (0, 0);
        for seed in 0..8 {
            let fit = fit(&synthetic(0.05, seed), &profile, Search::Steps).expect("enough runs");
            let mut count = |estimate: Option<Estimate>, truth: f64| {
                let Estimate { low, high, .. } = estimate.expect("an estimate");
                all += 1;
                held += usize::from((low..=high).contains(&truth));
            };
            count(fit.gamma_s, profile.queue.gamma_step_s);
            for link in &fit.links {
                let truth = profile.link(link.place, link.protocol);
                count(link.alpha_s, truth.alpha_s);
                count(link.rate_bytes_per_s, truth.rate_bytes_per_s);
            }
        }
        // 95 % of 152 is 144; five standard deviations below that are 131.
        assert!(all == 152 && held >= 131, "{held} of {all}");
    }

    /// The network's unknown limit causes errors ten times the socket's, which hide the socket's
    /// limit. The first pass looks at the socket first, so a second pass must find it.
    #[test]
    fn a_limit_that_hides_another_is_found_before_it() {
        let mut runs = Vec::new();
        for (place, node_rate) in [(Distance::Socket, 3.6e9), (Distance::Network, 0.4e9)] {
            for (messages, bytes) in [(1_u64, 1000_u64), (1, 10_000), (10, 1000), (1, 100_000)] {
                for ppn in [1_u32, 2, 4] {
                    let rate = if ppn == 4 { node_rate / 4.0 } else { 1e9 };
                    let seconds = 1e-6 * messages as f64 + bytes as f64 / rate;
                    let run = run(seconds, messages, bytes, ppn, place);
                    runs.push(Run {
                        protocol: Some(Protocol::Eager),
                        ..run
                    });
                }
            }
        }
        let fit = fit(&runs, &Profile::blue_waters(), Search::Steps).expect("enough runs");
        let found: Vec<_> = fit
            .links
            .iter()
            .map(|link| (link.place, link.limited_from))
            .collect();
        assert_eq!(
            found,
            [(Distance::Socket, Some(4)), (Distance::Network, Some(4))]
        );
        assert!(fit.relative_error < 1e-6, "{}", fit.relative_error);
    }

    #[test]
    fn gamma_of_the_bound_comes_from_worst_and_best_orders() {
        // Worst minus model. A list takes n (n + 1) / 2 steps, so gamma is half the time of a step.
        let runs: Vec<Run> = synthetic(0.01, 3)
            .into_iter()
            .filter(|run| run.messages >= 10)
            .collect();
        let fit = fit(&runs, &Profile::blue_waters(), Search::Square).expect("enough runs");
        let gamma = fit.gamma_s.expect("worst orders").value;
        assert!((gamma / 8.4e-9 - 1.0).abs() < 0.05, "{gamma}");
    }

    #[test]
    fn the_line_of_routers_gives_delta() {
        // Ping-pongs with and without the link that carries everything. The fit needs both, since
        // delta and R_N act alike on a full node.
        let profile = Profile::blue_waters();
        let mut runs = Vec::new();
        for (bytes, ppn) in [16_384, 65_536, 1 << 20]
            .into_iter()
            .flat_map(|b| [1, 2, 4, 8, 16].map(|p| (b, p)))
        {
            let alone = node_aware_s(&profile, Distance::Network, bytes, ppn);
            let run = run(alone, 1, bytes, ppn, Distance::Network);
            let loads = Torus::line(4, &profile.layout)
                .loads(&profile.layout, &line_test(4, ppn, bytes, &profile.layout));
            let load = loads.values().copied().max().expect("a loaded link");
            assert_eq!(
                load,
                4 * u64::from(ppn) * bytes,
                "four nodes send over one link"
            );
            let seconds = alone + 1.0e-10 * load as f64;
            runs.extend([
                run,
                Run {
                    seconds,
                    link_bytes: Some(load),
                    ..run
                },
            ]);
        }
        let fit = fit(&runs, &profile, Search::Steps).expect("enough runs");
        let delta = fit.delta_s_per_byte.expect("told");
        assert!((delta.value / 1.0e-10 - 1.0).abs() < 1e-6, "{delta:?}");
        let mut other = profile.clone();
        other.contention.delta_s_per_byte = 0.0;
        fit.apply(&mut other);
        assert_eq!(other.contention.delta_s_per_byte, delta.value);
    }

    #[test]
    fn what_the_runs_do_not_tell_has_no_estimate() {
        let text = "seconds,messages,bytes\n1e-6,1,8\n2.1e-6,2,16\n3.0e-6,3,24\n";
        let runs = read_csv(text.as_bytes()).expect("good runs");
        let fit = fit(&runs, &Profile::blue_waters(), Search::Steps).expect("enough runs");
        // Bytes are always eight times the messages, and no run searched.
        assert!(fit.links[0].alpha_s.is_some());
        assert_eq!(
            (
                fit.links[0].rate_bytes_per_s,
                fit.gamma_s,
                fit.delta_s_per_byte
            ),
            (None, None, None)
        );
        // One of the three took a twentieth longer: relative errors of 1.6, 3.3 and 1.6 % remain,
        // whose mean square is 5.2e-4.
        assert!(
            (fit.relative_error - 0.0228).abs() < 1e-4,
            "{}",
            fit.relative_error
        );
        let error = super::fit(&runs[..1], &Profile::blue_waters(), Search::Steps);
        assert_eq!(
            error,
            Err(FitError::TooFew {
                runs: 1,
                parameters: 1
            })
        );
        assert!(super::fit(&[], &Profile::blue_waters(), Search::Steps).is_err());
    }

    #[test]
    fn wrong_runs_are_named() {
        let cases = [
            (
                "seconds,messages,bytes\n0,1,8\n",
                "line 2: seconds is 0, must be above 0",
            ),
            (
                "seconds,messages,bytes\nnan,1,8\n",
                "line 2: seconds is NaN, must be above 0",
            ),
            (
                "seconds,messages,bytes,ppn\n1,1,8,0\n",
                "line 2: ppn is 0, must be at least 1",
            ),
            (
                "seconds,messages,bytes,place\n1,1,8,1\n1,1,8,moon\n",
                "line 2",
            ),
        ];
        for (text, message) in cases {
            let error = read_csv(text.as_bytes()).expect_err(message).to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
