//! Limits of a rate: removes one cost at a time and predicts the rate again.

use crate::{FastPath, Offer, Prediction, Setup, SimulateError, predict};

const RECEIVES_MAX: usize = 2 * crate::WINDOW_MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    Arrival,
    /// Bytes that wire and host bus move.
    Bandwidth,
    /// Receives that the card's table does not hold, and their messages.
    Tables,
    /// Serial hand-overs of words between EUs.
    Handover,
    /// The slow path's chain of handlers.
    Chain,
    /// Loads and stores that miss the first level.
    Memory,
    /// Posts, probes and cancels, all executed by one EU.
    Commands,
    /// Number of EUs, each busy with its own message.
    Eus,
}

impl Limit {
    /// All limits in order, with their names.
    pub const NAMED: [(Self, &str); 8] = [
        (Self::Arrival, "arrival"),
        (Self::Bandwidth, "bandwidth"),
        (Self::Tables, "receive table"),
        (Self::Handover, "serial hand-over"),
        (Self::Chain, "slow-path chain"),
        (Self::Memory, "memory level"),
        (Self::Commands, "commands"),
        (Self::Eus, "EU count"),
    ];

    pub fn name(self) -> &'static str {
        Self::NAMED[self as usize].1
    }

    /// Set-up and offer without this limit; `None` if it cannot be removed.
    fn relaxed(self, setup: &Setup, offer: &Offer) -> Option<(Setup, Offer)> {
        let (mut setup, mut offer) = (setup.clone(), offer.clone());
        let profile = &mut setup.profile;
        match self {
            Self::Arrival => {
                profile.arrival.spacing_ns = 0.0;
                if let Offer::Sequence(sequence) = offer {
                    offer = Offer::Sequence(sequence.at_once());
                }
            }
            Self::Bandwidth => {
                (profile.arrival.bytes_per_ns, profile.host.bytes_per_ns) = (1e9, 1e9);
            }
            Self::Tables => setup.receives = RECEIVES_MAX,
            Self::Handover => profile.word.handover_ns = 0.0,
            Self::Chain => setup.fast_path = FastPath::Sequence,
            Self::Memory => {
                let memory = &mut profile.memory;
                (memory.l2_ns, memory.l3_ns, memory.dram_ns) =
                    (memory.l1_ns, memory.l1_ns, memory.l1_ns);
            }
            Self::Commands => {
                if !std::mem::take(&mut setup.charge_commands) {
                    return None;
                }
            }
            Self::Eus => {
                let more = (setup.handlers * 2).min(profile.eus.usable);
                if more == setup.handlers {
                    return None;
                }
                setup.handlers = more;
            }
        }
        Some((setup, offer))
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gain {
    pub limit: Limit,
    /// Relative gain: the rate without the limit over the rate with it, minus 1.
    pub gain: f64,
}

/// The gains, largest first. For [`Limit::Eus`] the number of handlers doubles, up to the card's
/// EUs.
pub fn limits(setup: &Setup, offer: &Offer, now: &Prediction) -> Result<Vec<Gain>, SimulateError> {
    let mut gains = Vec::new();
    for (limit, _) in Limit::NAMED {
        let is_there = match limit {
            Limit::Chain => now.part.count("slow") > 0,
            Limit::Tables => now.part.sent_on() > 0,
            _ => true,
        };
        if !is_there {
            continue;
        }
        if let Some((relaxed, offer)) = limit.relaxed(setup, offer) {
            let gain = predict(&relaxed, &offer, 0)?.rate / now.rate - 1.0;
            gains.push(Gain { limit, gain });
        }
    }
    gains.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    Ok(gains)
}
