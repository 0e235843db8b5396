//! A prediction's sensitivity to each number of a profile.

use crate::calibrate::{self, CalibrateError, Measured, calibrate};
use crate::figure8::{Use, mape, points};
use crate::{Profile, ProfileError, Setup, SimulateError, predict, series};
use dpamatch_vocabulary::PaperWorkload;

/// Mean absolute errors at the held-out points, in per cent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Errors {
    /// NC, 4 to 32 threads.
    pub nc: f64,
    /// WC-SP, 4 to 32 threads.
    pub sp: f64,
    pub all: f64,
}

/// One number, halved and doubled.
#[derive(Clone, PartialEq, Debug)]
pub struct Trial {
    pub parameter: String,
    pub value: f64,
    /// Errors with half and twice the value, after a new fit. `None`: no fit gives the rate of NC
    /// at one thread.
    pub errors: [Option<Errors>; 2],
}

impl Trial {
    /// The spread of the errors of all nine points, with those of the unchanged profile.
    pub fn effect(&self, base: Errors) -> f64 {
        let far = |errors: &Option<Errors>| {
            errors.map_or(f64::INFINITY, |errors| (errors.all - base.all).abs())
        };
        self.errors.iter().map(far).fold(0.0, f64::max)
    }
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SensitivityError {
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    #[error(transparent)]
    Simulate(#[from] SimulateError),
}

/// The measured points to which the built-in profiles are fitted.
fn fitted() -> Vec<Measured> {
    let fitted = points().filter(|point| point.used == Use::Fitted);
    fitted
        .map(|point| Measured {
            series: point.series,
            threads: point.threads,
            rate: point.rate,
        })
        .collect()
}

/// Errors of a set-up's profile at the held-out points.
pub fn held_out(setup: &Setup) -> Result<Errors, SimulateError> {
    let mut results = Vec::new();
    for point in points().filter(|point| point.used == Use::Clean) {
        let base = Setup {
            handlers: point.threads,
            ..setup.clone()
        };
        let (setup, offer) = series(&base, point.series);
        results.push((point.series, predict(&setup, &offer, 0)?.rate, point.rate));
    }
    let of = |wanted: Option<PaperWorkload>| {
        let chosen = results
            .iter()
            .filter(|result| wanted.is_none_or(|series| result.0 == series));
        mape(chosen.map(|&(_, predicted, measured)| (predicted, measured)))
    };
    Ok(Errors {
        nc: of(Some(PaperWorkload::NoConflict)),
        sp: of(Some(PaperWorkload::SlowPath)),
        all: of(None),
    })
}

/// An override with `factor` times this value; sizes and counts stay whole.
pub fn scaled(parameter: &str, value: f64, factor: f64) -> String {
    let product = value * factor;
    let whole = [
        "cores",
        "per_core",
        "usable",
        "issue_slots",
        "_bytes",
        "walk_line",
        "window",
    ];
    match whole.iter().any(|end| parameter.ends_with(end)) {
        true => format!("{parameter}={}", product.max(1.0).floor()),
        false => format!("{parameter}={product}"),
    }
}

/// Halves and doubles each number of the profile, or only the named ones, and repeats the fit.
/// Skips zeros and fitted numbers. The largest effect comes first. `text` and `overrides` define
/// the profile; `setup` gives everything else.
pub fn sensitivity(
    text: &str,
    overrides: &[String],
    setup: &Setup,
    names: &[String],
    mut done: impl FnMut(usize, usize),
) -> Result<(Errors, Vec<Trial>), SensitivityError> {
    let profile = Profile::read(text, overrides)?;
    let base = held_out(&Setup {
        profile: profile.clone(),
        ..setup.clone()
    })?;
    let known: Vec<_> = profile
        .numbers()
        .into_iter()
        .filter(|(name, value)| *value != 0.0 && !calibrate::is_fitted(&profile, name))
        .filter(|(name, _)| name != "driver.window" && name != "eus.usable")
        .collect();
    if let Some(name) = names
        .iter()
        .find(|&name| known.iter().all(|known| known.0 != *name))
    {
        let known: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
        return Err(ProfileError::NoParameter {
            name: name.clone(),
            known: known.join(", "),
        }
        .into());
    }
    let wanted: Vec<_> = known
        .into_iter()
        .filter(|(known, _)| names.is_empty() || names.contains(known))
        .collect();
    let mut trials = Vec::new();
    let all = wanted.len();
    for (index, (parameter, value)) in wanted.into_iter().enumerate() {
        let mut errors = [None; 2];
        for (errors, factor) in errors.iter_mut().zip([0.5, 2.0]) {
            let mut overrides = overrides.to_vec();
            overrides.push(scaled(&parameter, value, factor));
            let setup = Setup {
                profile: Profile::read(text, &overrides)?,
                ..setup.clone()
            };
            let (profile, fits) = calibrate(&setup, &fitted())?;
            let reached = (fits[0].predicted / fits[0].measured.rate - 1.0).abs() < 0.005;
            if reached {
                *errors = Some(held_out(&Setup { profile, ..setup })?);
            }
        }
        trials.push(Trial {
            parameter,
            value,
            errors,
        });
        done(index + 1, all);
    }
    trials.sort_by(|a, b| b.effect(base).total_cmp(&a.effect(base)));
    Ok((base, trials))
}
