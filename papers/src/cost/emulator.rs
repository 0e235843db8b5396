//! Predicted against measured times of HighVolumePingPong, on every engine of the registry and on
//! whole endpoints.
//!
//! The runs in best and worst order give each engine a set-up time, a time per message and a gamma.
//! The runs in random order are then predicted, unseen: from their steps, by the bound gamma n^2,
//! and by gamma n^2 / 3.

use dpamatch_vocabulary::Rank;
use serde::Serialize;

use super::high_volume::{HighVolumePingPong, PingPongError, Side};
use super::least_squares::{Estimate, solve};
use super::steps::{Posting, StepsError, roomy};
use dpamatch::endpoint::{Drive, Endpoint, EndpointConfig};
use dpamatch::registry::{EngineEntry, EngineOptions};
use dpamatch_tools::counted_steps;

#[derive(Clone, Debug)]
pub struct Settings {
    /// Messages each way.
    pub sizes: Vec<u32>,
    pub total_bytes: u64,
    /// Repetitions of each measurement. The shortest time counts, because other programs only add
    /// to it.
    pub rounds: u32,
    pub seed: u64,
    pub options: EngineOptions,
}

/// Name under which runs between two endpoints are listed.
pub const ENDPOINT: &str = "endpoint";

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Measured {
    pub engine: &'static str,
    /// best, worst or random.
    pub order: &'static str,
    pub messages: u32,
    /// Search steps of one side.
    pub steps: u64,
    /// Shortest time for both ways, in seconds.
    pub seconds: f64,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    #[error(transparent)]
    Engine(#[from] StepsError),
    #[error("endpoint: {0}")]
    PingPong(#[from] PingPongError),
}

/// Runs repeat until a timing lasts this long in all; the shortest run counts.
const TIMED_S: f64 = 1e-3;

/// Measures all given engines, and endpoints on request. Calls `progress` after every timing:
/// `rounds` times for each engine, size and order.
pub fn measure(
    engines: &[&EngineEntry],
    endpoints: bool,
    settings: &Settings,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Measured>, MeasureError> {
    let mut all = Vec::new();
    for &entry in engines {
        for test in tests(settings) {
            let mut timing = None;
            for _ in 0..settings.rounds {
                let next = time_engine(entry, &settings.options, &test)?;
                timing = Some(shorter(timing, next));
                progress(entry.name);
            }
            all.extend(timing.map(|timing| measured(entry.name, &test, timing)));
        }
    }
    if endpoints {
        for test in tests(settings) {
            let mut timing = None;
            for _ in 0..settings.rounds {
                let next = time_endpoints(&settings.options, &test)?;
                timing = Some(shorter(timing, next));
                progress(ENDPOINT);
            }
            all.extend(timing.map(|timing| measured(ENDPOINT, &test, timing)));
        }
    }
    Ok(all)
}

fn tests(settings: &Settings) -> impl Iterator<Item = HighVolumePingPong> {
    let total_bytes = settings.total_bytes;
    let orders = [
        Posting::InOrder,
        Posting::Random(settings.seed),
        Posting::Reverse,
    ];
    let of_size = move |&messages: &u32| {
        orders.map(|posting| HighVolumePingPong {
            messages,
            total_bytes,
            posting,
        })
    };
    settings.sizes.iter().flat_map(of_size)
}

#[derive(Clone, Copy)]
struct Timing {
    /// Of one side.
    steps: u64,
    seconds: f64,
}

fn shorter(old: Option<Timing>, new: Timing) -> Timing {
    Timing {
        seconds: old.map_or(new.seconds, |old| old.seconds.min(new.seconds)),
        ..new
    }
}

fn measured(engine: &'static str, test: &HighVolumePingPong, timing: Timing) -> Measured {
    let Timing { steps, seconds } = timing;
    Measured {
        engine,
        order: test.posting.name(),
        messages: test.messages,
        steps,
        seconds,
    }
}

fn time_engine(
    entry: &EngineEntry,
    options: &EngineOptions,
    test: &HighVolumePingPong,
) -> Result<Timing, StepsError> {
    let events = test.events();
    let options = roomy(options, test.messages as usize, 1);
    let mut steps = None;
    let (mut together, mut shortest) = (0.0, f64::INFINITY);
    while together < TIMED_S {
        let mut sides = [entry.build(&options)?, entry.build(&options)?];
        let mut seconds = 0.0;
        for side in &mut sides {
            seconds += side.time(&[], &events)?.as_secs_f64();
        }
        together += seconds;
        shortest = seconds.min(shortest);
        steps = counted_steps(&sides[0].counters());
    }
    Ok(Timing {
        steps: steps.ok_or(StepsError::Uncounted(entry.name))?,
        seconds: shortest,
    })
}

fn time_endpoints(
    options: &EngineOptions,
    test: &HighVolumePingPong,
) -> Result<Timing, PingPongError> {
    let nic = roomy(options, test.messages as usize, 1).nic;
    let config = EndpointConfig {
        nic,
        drive: Drive::Caller,
    };
    let side = || Side::new(Endpoint::new(&config)?, Rank::default());
    let (mut ping, mut pong) = (side()?, side()?);
    let (mut together, mut shortest, mut steps) = (0.0, f64::INFINITY, 0);
    while together < TIMED_S {
        let before = pong.steps();
        let seconds = test.run(&mut ping, &mut pong)?.as_secs_f64();
        steps = pong.steps() - before;
        together += seconds;
        shortest = seconds.min(shortest);
    }
    Ok(Timing {
        steps,
        seconds: shortest,
    })
}

/// A measured test beside its predictions. Times are in seconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Predicted {
    #[serde(flatten)]
    pub measured: Measured,
    pub by_steps_s: f64,
    /// Predicted by gamma n^2.
    pub by_bound_s: f64,
    /// Predicted by gamma n^2 / 3.
    pub by_third_s: f64,
}

/// An engine's fitted parameters and the quality of its predictions.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EnginePrediction {
    pub engine: &'static str,
    /// Time per message apart from searching, in seconds.
    pub message_s: Option<Estimate>,
    /// gamma per step, in seconds; `None` if the runs cannot separate steps from messages.
    pub gamma_step_s: Option<Estimate>,
    /// gamma of gamma n^2, in seconds.
    pub gamma_s: Option<Estimate>,
    /// Mean relative error of the random orders, from steps.
    pub error_steps: f64,
    /// Mean relative error of the random orders, by gamma n^2.
    pub error_bound: f64,
    /// Mean relative error of the random orders, by gamma n^2 / 3.
    pub error_third: f64,
    pub tests: Vec<Predicted>,
}

/// Fits each engine to its runs in best and worst order, and predicts all its runs.
pub fn predict(measured: &[Measured]) -> Vec<EnginePrediction> {
    let mut engines: Vec<&'static str> = Vec::new();
    for run in measured {
        if !engines.contains(&run.engine) {
            engines.push(run.engine);
        }
    }
    let of_engine = |engine| {
        let runs: Vec<&Measured> = measured.iter().filter(|run| run.engine == engine).collect();
        predict_engine(engine, &runs)
    };
    engines.into_iter().map(of_engine).collect()
}

/// Both sides search.
const WAYS: f64 = 2.0;

fn predict_engine(engine: &'static str, runs: &[&Measured]) -> EnginePrediction {
    let seen: Vec<&Measured> = runs
        .iter()
        .copied()
        .filter(|run| run.order != "random")
        .collect();
    let square = |run: &Measured| f64::from(run.messages).powi(2);
    let by_steps = Line::fit(&seen, |run| run.steps as f64);
    let by_square = Line::fit(&seen, |run| {
        if run.order == "worst" {
            square(run)
        } else {
            0.0
        }
    });
    let tests: Vec<Predicted> = runs
        .iter()
        .map(|&run| {
            let shape = |part: f64| match run.order {
                "best" => 0.0,
                "worst" => square(run),
                _ => square(run) * part,
            };
            Predicted {
                measured: run.clone(),
                by_steps_s: by_steps.at(run, run.steps as f64),
                by_bound_s: by_square.at(run, shape(1.0)),
                by_third_s: by_square.at(run, shape(1.0 / 3.0)),
            }
        })
        .collect();
    let error = |predicted: fn(&Predicted) -> f64| {
        let random: Vec<f64> = tests
            .iter()
            .filter(|test| test.measured.order == "random")
            .map(|test| (predicted(test) / test.measured.seconds - 1.0).abs())
            .collect();
        random.iter().sum::<f64>() / random.len().max(1) as f64
    };
    EnginePrediction {
        engine,
        message_s: by_steps.per_message,
        gamma_step_s: by_steps.gamma,
        gamma_s: by_square.gamma,
        error_steps: error(|test| test.by_steps_s),
        error_bound: error(|test| test.by_bound_s),
        error_third: error(|test| test.by_third_s),
        tests,
    }
}

/// seconds = set-up + 2 * (per message * messages + gamma * search).
struct Line {
    set_up: Option<Estimate>,
    per_message: Option<Estimate>,
    gamma: Option<Estimate>,
}

impl Line {
    fn fit(runs: &[&Measured], search: impl Fn(&Measured) -> f64) -> Self {
        let columns = [
            runs.iter().map(|_| 1.0).collect(),
            runs.iter()
                .map(|run| WAYS * f64::from(run.messages))
                .collect(),
            runs.iter().map(|run| WAYS * search(run)).collect(),
        ];
        let seconds: Vec<f64> = runs.iter().map(|run| run.seconds).collect();
        let weights: Vec<f64> = runs.iter().map(|run| 1.0 / run.seconds).collect();
        let [set_up, per_message, gamma] = [0, 1, 2].map({
            let solution = solve(&columns, &seconds, &weights);
            move |column| solution.estimates[column]
        });
        Self {
            set_up,
            per_message,
            gamma,
        }
    }

    fn at(&self, run: &Measured, search: f64) -> f64 {
        let value = |estimate: Option<Estimate>| estimate.map_or(0.0, |estimate| estimate.value);
        value(self.set_up)
            + WAYS
                * (value(self.per_message) * f64::from(run.messages) + value(self.gamma) * search)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::queue::steps_reverse;
    use dpamatch::registry::ENGINES;

    #[test]
    fn a_list_that_obeys_the_model_is_predicted_exactly() {
        let mut runs = Vec::new();
        for messages in [10_u32, 100, 1000, 5000] {
            let n = u64::from(messages);
            for (order, steps) in [
                ("best", n),
                ("random", n * n / 4),
                ("worst", steps_reverse(n)),
            ] {
                let seconds = 1e-6 + 2.0 * (20e-9 * n as f64 + 3e-9 * steps as f64);
                runs.push(Measured {
                    engine: "list",
                    order,
                    messages,
                    steps,
                    seconds,
                });
            }
        }
        let [list] = &predict(&runs)[..] else {
            panic!("one engine")
        };
        assert!((list.gamma_step_s.expect("told").value / 3e-9 - 1.0).abs() < 1e-6);
        assert!((list.message_s.expect("told").value / 20e-9 - 1.0).abs() < 1e-4);
        assert!(list.error_steps < 1e-6);
        // A random order takes half of the worst order's steps: the bound predicts nearly twice the
        // time, a third too little.
        assert!(list.error_bound > 0.3 && list.error_third > 0.1, "{list:?}");
        // The best order needs no search, by either count.
        let best = list
            .tests
            .iter()
            .filter(|test| test.measured.order == "best");
        assert!(best.clone().count() == 4 && best.clone().all(|it| it.by_bound_s == it.by_third_s));
        // n (n + 1) / 2 steps of 3 ns each are 1.5 ns n^2 and a little per message.
        assert!((list.gamma_s.expect("told").value / 1.5e-9 - 1.0).abs() < 0.01);
    }

    #[test]
    fn errors_are_parts_of_the_time_measured() {
        let time = |n: u32, part: f64| {
            let n = f64::from(n);
            1e-6 + 2.0 * (20e-9 * n + 3e-9 * n * n * part)
        };
        let (sizes, mut runs) = ([10_u32, 100, 1000], Vec::new());
        for messages in sizes {
            for (order, part) in [("best", 0.0), ("random", 0.5), ("worst", 1.0)] {
                let steps = (f64::from(messages * messages) * part) as u64;
                let seconds = time(messages, part);
                runs.push(Measured {
                    engine: "list",
                    order,
                    messages,
                    steps,
                    seconds,
                });
            }
        }
        let [list] = &predict(&runs)[..] else {
            panic!("one engine")
        };
        let mean = |part: f64| {
            let errors = sizes.map(|n| (time(n, part) - time(n, 0.5)).abs() / time(n, 0.5));
            errors.iter().sum::<f64>() / 3.0
        };
        for (found, expected) in [
            (list.error_steps, 0.0),
            (list.error_bound, mean(1.0)),
            (list.error_third, mean(1.0 / 3.0)),
        ] {
            assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
        }
    }

    #[test]
    fn every_engine_and_endpoints_are_measured() {
        let settings = Settings {
            sizes: vec![8, 40],
            total_bytes: 4000,
            rounds: 1,
            seed: 1,
            options: EngineOptions {
                threads: false,
                ..EngineOptions::default()
            },
        };
        let engines: Vec<&EngineEntry> = ENGINES.iter().collect();
        let mut heard = 0;
        let measured = measure(&engines, true, &settings, |_| heard += 1).expect("measurements");
        assert_eq!(measured.len(), (ENGINES.len() + 1) * 2 * 3);
        assert_eq!(heard, measured.len());
        assert!(
            measured
                .iter()
                .all(|run| run.seconds > 0.0 && run.steps > 0)
        );
        assert_eq!(predict(&measured).len(), ENGINES.len() + 1);
    }
}
