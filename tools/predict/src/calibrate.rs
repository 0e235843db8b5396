//! Fits the free parameters to runs with one and two threads.
//!
//! A profile has four free parameters, or two where the code's own instructions are charged. Each
//! is fitted to the measurement that it moves most:
//!
//! | parameter | fitted to |
//! |---|---|
//! | one factor for the work of poll, search, book, detect, consume and protocol; or `instructions.own_ns` | NC, one thread |
//! | `word.handover_ns` | NC, two threads |
//! | `work.fast_ns`, without instructions | WC-FP, two threads |
//! | `work.slow_ns`, without instructions | WC-SP, two threads |
//!
//! A rate falls as its parameter grows, so bisection finds each. Every parameter moves all rates a
//! little, so the fit repeats until they settle.

use crate::predict::{predict, series};
use crate::{Profile, Setup, SimulateError};
use dpamatch_vocabulary::PaperWorkload;

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    pub series: PaperWorkload,
    /// Threads: 1 or 2.
    pub threads: usize,
    /// Messages per microsecond.
    pub rate: f64,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Fit {
    pub parameter: &'static str,
    /// Value; for `work` a factor.
    pub value: f64,
    pub measured: Measured,
    pub predicted: f64,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrateError {
    #[error("no rate for {series} with {threads} thread(s); needed: NC with 1 and 2, and if wanted WC-FP and WC-SP with 2", series = .0.name(), threads = .1)]
    Missing(PaperWorkload, usize),
    #[error(transparent)]
    Simulate(#[from] SimulateError),
}

struct Free {
    name: &'static str,
    series: PaperWorkload,
    threads: usize,
    most: f64,
    set: fn(&mut Profile, &Profile, f64),
    needed: bool,
}

static OWN: Free = Free {
    name: "instructions.own_ns",
    series: PaperWorkload::NoConflict,
    threads: 1,
    most: 1_000.0,
    needed: true,
    set: |profile, _, value| profile.instructions.own_ns = value,
};

static FREE: [Free; 4] = [
    Free {
        name: "work",
        series: PaperWorkload::NoConflict,
        threads: 1,
        most: 100.0,
        needed: true,
        set: |profile, base, factor| {
            let (work, from) = (&mut profile.work, &base.work);
            work.poll_ns = from.poll_ns * factor;
            work.search_ns = from.search_ns * factor;
            work.book_ns = from.book_ns * factor;
            work.detect_ns = from.detect_ns * factor;
            work.consume_ns = from.consume_ns * factor;
            work.protocol_ns = from.protocol_ns * factor;
        },
    },
    Free {
        name: "word.handover_ns",
        series: PaperWorkload::NoConflict,
        threads: 2,
        most: 10_000.0,
        needed: true,
        set: |profile, _, value| profile.word.handover_ns = value,
    },
    Free {
        name: "work.fast_ns",
        series: PaperWorkload::FastPath,
        threads: 2,
        most: 1_000.0,
        needed: false,
        set: |profile, _, value| profile.work.fast_ns = value,
    },
    Free {
        name: "work.slow_ns",
        series: PaperWorkload::SlowPath,
        threads: 2,
        most: 1_000.0,
        needed: false,
        set: |profile, _, value| profile.work.slow_ns = value,
    },
];

fn free(profile: &Profile) -> Vec<&'static Free> {
    if profile.instructions.cpi > 0.0 {
        vec![&OWN, &FREE[1]]
    } else {
        FREE.iter().collect()
    }
}

/// The numbers that [`calibrate`] fits in a profile, each with the point that it takes.
pub fn fitted(profile: &Profile) -> Vec<(&'static str, PaperWorkload, usize)> {
    free(profile)
        .iter()
        .map(|free| (free.name, free.series, free.threads))
        .collect()
}

/// Whether the fit determines a parameter, whatever its value in the profile.
pub(crate) fn is_fitted(profile: &Profile, name: &str) -> bool {
    free(profile).iter().any(|free| free.name == name)
}

const ROUNDS: usize = 6;
const HALVINGS: usize = 30;

/// Fits the free parameters of the set-up's profile. `setup` also fixes everything but the number
/// of handlers.
pub fn calibrate(
    setup: &Setup,
    measured: &[Measured],
) -> Result<(Profile, Vec<Fit>), CalibrateError> {
    let find = |free: &Free| {
        measured
            .iter()
            .copied()
            .find(|point| point.series == free.series && point.threads == free.threads)
    };
    let free = free(&setup.profile);
    if let Some(free) = free.iter().find(|free| free.needed && find(free).is_none()) {
        return Err(CalibrateError::Missing(free.series, free.threads));
    }
    let base = setup.profile.clone();
    let mut profile = base.clone();
    let mut fits = Vec::new();
    for _ in 0..ROUNDS {
        let before = std::mem::take(&mut fits);
        for &free in &free {
            if let Some(point) = find(free) {
                fits.push(fit(setup, &base, &mut profile, free, point)?);
            }
        }
        if fits == before {
            break;
        }
    }
    Ok((profile, fits))
}

fn rate(setup: &Setup, profile: &Profile, point: &Measured) -> Result<f64, SimulateError> {
    let setup = Setup {
        profile: profile.clone(),
        handlers: point.threads,
        ..setup.clone()
    };
    let (setup, offer) = series(&setup, point.series);
    Ok(predict(&setup, &offer, 0)?.rate)
}

fn fit(
    setup: &Setup,
    base: &Profile,
    profile: &mut Profile,
    free: &Free,
    measured: Measured,
) -> Result<Fit, CalibrateError> {
    let try_value = |profile: &mut Profile, value| {
        (free.set)(profile, base, value);
        rate(setup, profile, &measured)
    };
    let (mut least, mut most) = (0.0, free.most);
    let fastest = try_value(profile, least)?;
    if fastest < measured.rate {
        // Too slow even at the least value: the best fit there is.
        return Ok(Fit {
            parameter: free.name,
            value: least,
            measured,
            predicted: fastest,
        });
    }
    let slowest = try_value(profile, most)?;
    if slowest > measured.rate && slowest < fastest {
        return Ok(Fit {
            parameter: free.name,
            value: most,
            measured,
            predicted: slowest,
        });
    }
    if slowest >= measured.rate {
        // The rate does not depend on the parameter.
        let predicted = try_value(profile, least)?;
        return Ok(Fit {
            parameter: free.name,
            value: least,
            measured,
            predicted,
        });
    }
    for _ in 0..HALVINGS {
        let middle = (least + most) / 2.0;
        if try_value(profile, middle)? > measured.rate {
            least = middle
        } else {
            most = middle
        }
    }
    let value = (least + most) / 2.0;
    let predicted = try_value(profile, value)?;
    Ok(Fit {
        parameter: free.name,
        value,
        measured,
        predicted,
    })
}
