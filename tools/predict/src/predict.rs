//! The rate of a set-up, measured as the paper's driver does.

use dpamatch_vocabulary::PaperWorkload;

use crate::{Part, Pattern, Profile, Sequence, Setup, SimulateError, simulate};

/// Least number of measured messages of an endless stream.
const STREAM: usize = 8192;
/// Batch of receives in an endless stream: the prototype's receives in flight (O38).
const POSTED: usize = 1024;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Offer {
    /// Windows of the profile's length, or an endless stream.
    Pattern {
        /// Receives and messages.
        pattern: Pattern,
        bytes: u32,
    },
    /// These events, once, starting with cold caches.
    Sequence(Sequence),
}

impl Offer {
    /// Offers messages of the paper's length (O40).
    pub fn pattern(pattern: Pattern) -> Self {
        Self::Pattern { pattern, bytes: 8 }
    }
}

#[derive(Clone, Debug)]
pub struct Prediction {
    pub rate: f64,
    /// Time of a window of one message, in microseconds; `None` without windows.
    pub single_us: Option<f64>,
    /// The underlying window, stream or sequence.
    pub part: Part,
}

/// The set-up and offer of a series of Figure 8.
pub fn series(setup: &Setup, series: PaperWorkload) -> (Setup, Offer) {
    let fast_path = series.fast_path(setup.fast_path);
    (
        Setup {
            fast_path,
            ..setup.clone()
        },
        Offer::pattern(series.into()),
    )
}

/// Predicts the rate. For windows it is 127 / (t128 - t1) as in the paper's raw data (O40),
/// otherwise messages over time. Records up to `spans` spans.
pub fn predict(setup: &Setup, offer: &Offer, spans: usize) -> Result<Prediction, SimulateError> {
    let (pattern, bytes) = match offer {
        Offer::Pattern { pattern, bytes } => (*pattern, *bytes),
        Offer::Sequence(sequence) => {
            return Ok(last(simulate(
                setup,
                std::slice::from_ref(sequence),
                spans,
            )?));
        }
    };
    let make = |count| Sequence::window(pattern, count, bytes);
    let count = setup.profile.driver.window;
    if count > 0 {
        // The first window warms the caches.
        let mut parts = simulate(setup, &[make(count), make(1), make(count)], spans)?;
        let part = parts.pop().expect("three parts");
        let single = parts.pop().expect("two parts");
        let gained = part.time.saturating_sub(single.time).max(1) as f64 / 1e6;
        let rate = if count > 1 {
            (count - 1) as f64 / gained
        } else {
            single.rate()
        };
        return Ok(Prediction {
            rate,
            single_us: Some(single.time as f64 / 1e6),
            part,
        });
    }
    // Whole blocks, so that the end of a batch of posts ends no block early.
    let batch = (POSTED / setup.handlers).max(1) * setup.handlers;
    let batches = STREAM.div_ceil(batch);
    let once = make(batch);
    let stream = once.repeated(batches);
    Ok(last(simulate(setup, &[once, stream], spans)?))
}

/// The least and the highest rate when each cost that conflicts depend on changes by 1 %. Whether
/// two handlers meet is a matter of timing, so a rate may jump; a narrow band says that it does
/// not.
pub fn band(setup: &Setup, offer: &Offer, rate: f64) -> Result<(f64, f64), SimulateError> {
    let (mut least, mut most) = (rate, rate);
    for factor in [0.99, 1.01] {
        for change in [
            |profile: &mut Profile, factor| profile.memory.l2_ns *= factor,
            |profile: &mut Profile, factor| profile.word.handover_ns *= factor,
            |profile: &mut Profile, factor| profile.work.poll_ns *= factor,
            |profile: &mut Profile, factor| profile.instructions.own_ns *= factor,
            |profile: &mut Profile, factor| profile.work.slow_ns *= factor,
        ] {
            let mut setup = setup.clone();
            change(&mut setup.profile, factor);
            let rate = predict(&setup, offer, 0)?.rate;
            (least, most) = (least.min(rate), most.max(rate));
        }
    }
    Ok((least, most))
}

fn last(mut parts: Vec<Part>) -> Prediction {
    let part = parts.pop().expect("at least one part");
    Prediction {
        rate: part.rate(),
        single_us: None,
        part,
    }
}
