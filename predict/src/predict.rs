//! The rate of a set-up, as the paper's driver would measure it.

use crate::figure8::Series;
use crate::{Event, FastPath, Part, Pattern, Setup, SimulateError, simulate, window};

/// Messages of an endless stream that are measured, at least.
const STREAM: usize = 8192;
/// Receives posted at a time in an endless stream, at least: as many as the prototype holds in flight (O38).
const POSTED: usize = 1024;

/// What is offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Receives and messages.
    pub pattern: Pattern,
    /// Length of each message in bytes.
    pub bytes: u32,
}

/// A predicted rate.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Messages per microsecond.
    pub rate: f64,
    /// Time of a window of one message, in microseconds; `None` for a stream.
    pub single_us: Option<f64>,
    /// The window or stream behind it.
    pub part: Part,
}

/// The set-up and the offer of a series of Figure 8.
pub fn series(setup: &Setup, series: Series) -> (Setup, Offer) {
    let (pattern, fast_path) = match series {
        Series::Nc => (Pattern::Distinct, setup.fast_path),
        Series::Fp => (Pattern::Equal, setup.fast_path),
        Series::Sp => (Pattern::Equal, FastPath::Off),
    };
    (Setup { fast_path, ..setup.clone() }, Offer { pattern, bytes: 8 })
}

/// Predicts the rate: with windows, 127 / (t128 - t1) as the paper's raw data (O40), with an endless stream,
/// messages over time. Keeps up to `spans` spans.
///
/// # Errors
/// As [`simulate`].
pub fn predict(setup: &Setup, offer: Offer, spans: usize) -> Result<Prediction, SimulateError> {
    let boxed = |events: Vec<Event>| Box::new(events.into_iter()) as Box<dyn Iterator<Item = Event>>;
    let make = |count| boxed(window(offer.pattern, count, offer.bytes));
    let count = setup.profile.driver.window;
    if count > 0 {
        // The first window warms the caches.
        let mut parts = simulate(setup, vec![make(count), make(1), make(count)], 1, spans)?;
        let part = parts.pop().expect("three parts");
        let single = parts.pop().expect("two parts");
        let gained = part.time.saturating_sub(single.time).max(1) as f64 / 1e6;
        let rate = if count > 1 { (count - 1) as f64 / gained } else { single.rate() };
        return Ok(Prediction { rate, single_us: Some(single.time as f64 / 1e6), part });
    }
    // Whole blocks, so that the end of a batch of posts ends no block early.
    let batch = POSTED.div_ceil(setup.handlers) * setup.handlers;
    let setup = Setup { receives: setup.receives.max(batch), ..setup.clone() };
    let batches = STREAM.div_ceil(batch);
    let once = window(offer.pattern, batch, offer.bytes);
    let stream = once.iter().copied().cycle().take(once.len() * batches).collect();
    let mut parts = simulate(&setup, vec![boxed(once), boxed(stream)], 1, spans)?;
    let part = parts.pop().expect("two parts");
    Ok(Prediction { rate: part.rate(), single_us: None, part })
}
