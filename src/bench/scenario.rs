//! What the receives of a window look like and how they are ordered against the messages (O39, O41).

use std::fmt;
use std::str::FromStr;

use dpa_model::{CommId, Envelope, FastPath, Rank, Selector, SourceSel, Tag, TagSel};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

/// Most messages in a window, and most receives that stand before it.
pub const WINDOW_MAX: usize = 65_536;

/// Tag of a window's first message.
const FIRST_TAG: u32 = 1_000;
/// Tag of the message that follows an unexpected window.
const DONE_TAG: u32 = 1;
/// Tags of the receives that never match: from here on.
const STANDING_TAG: u32 = 1 << 30;

/// Order of posting against order of arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Posting {
    /// In the order of arrival.
    #[default]
    Forward,
    /// In reverse order of arrival.
    Reverse,
    /// In a random order.
    Random,
}

/// A kind of window. [`FromStr`] reads its name.
///
/// # Examples
/// ```
/// use dpamatch::bench::{Posting, Scenario};
///
/// let scenario: Scenario = "DEPTH-1024".parse()?;
/// assert_eq!((scenario.standing, scenario.standing_wild), (1024, false));
/// assert_eq!("NC-REV".parse::<Scenario>()?.posting, Posting::Reverse);
/// assert!("NC-DIAGONAL".parse::<Scenario>().is_err());
/// # Ok::<(), dpamatch::bench::UnknownScenario>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scenario {
    name: String,
    /// Order of posting.
    pub posting: Posting,
    /// All messages carry the same tag.
    pub same: bool,
    /// The receives accept any source.
    pub any_source: bool,
    /// The receives accept any tag.
    pub any_tag: bool,
    /// The messages come before the receives are posted.
    pub unexpected: bool,
    /// Receives that never match stand before the window's.
    pub standing: usize,
    /// These accept any source.
    pub standing_wild: bool,
    /// Distance of two messages' tags.
    pub stride: u32,
    /// Rule of the fast path, whatever the options say.
    pub fast_path: Option<FastPath>,
}

/// A name that is no scenario.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown scenario {0}")]
pub struct UnknownScenario(String);

impl Scenario {
    /// Names of all scenarios that take no number, and how numbered ones are written.
    pub const NAMES: &[&str] = &[
        "NC",
        "WC",
        "WC-FP",
        "WC-SP",
        "NC-REV",
        "NC-RND",
        "NC-REV-S1021",
        "ANYSRC",
        "ANYSRC-REV",
        "ANYTAG",
        "ANYBOTH",
        "UNEXP",
        "UNEXP-WC",
        "UNEXP-REV",
        "UNEXP-ANYSRC-REV",
        "DEPTH-<d>",
        "WDEPTH-<d>",
        "NC-REV-S<stride>",
    ];

    /// All scenarios of the peers' measurements, with the depths used there.
    pub fn all() -> Vec<Self> {
        let depths = ["DEPTH-0", "DEPTH-64", "DEPTH-1024", "DEPTH-8192"];
        let wild_depths = ["WDEPTH-64", "WDEPTH-1024", "WDEPTH-8192"];
        let plain = Self::NAMES.iter().copied().filter(|name| !name.contains('<'));
        plain.chain(depths).chain(wild_depths).filter_map(|name| name.parse().ok()).collect()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The windows at which it is usually measured.
    pub fn usual_windows(&self) -> &'static [usize] {
        match self.name.as_str() {
            "NC" | "WC" | "WC-FP" | "WC-SP" | "NC-REV" => &[1, 100, 128, 1024],
            _ if self.standing > 0 || self.name == "DEPTH-0" => &[100],
            _ => &[100, 1024],
        }
    }

    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            posting: Posting::Forward,
            same: false,
            any_source: false,
            any_tag: false,
            unexpected: false,
            standing: 0,
            standing_wild: false,
            stride: 1,
            fast_path: None,
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

impl FromStr for Scenario {
    type Err = UnknownScenario;

    fn from_str(name: &str) -> Result<Self, UnknownScenario> {
        let unknown = || UnknownScenario(name.to_owned());
        let number = |digits: &str, most: usize| {
            digits.parse::<usize>().ok().filter(|&number| number <= most).ok_or_else(unknown)
        };
        let base = Self::named(name);
        Ok(match name {
            "NC" => base,
            "WC" => Self { same: true, ..base },
            "WC-FP" => Self { same: true, fast_path: Some(FastPath::Sequence), ..base },
            "WC-SP" => Self { same: true, fast_path: Some(FastPath::Off), ..base },
            "NC-REV" => Self { posting: Posting::Reverse, ..base },
            "NC-RND" => Self { posting: Posting::Random, ..base },
            "ANYSRC" => Self { any_source: true, ..base },
            "ANYSRC-REV" => Self { any_source: true, posting: Posting::Reverse, ..base },
            "ANYTAG" => Self { any_tag: true, ..base },
            "ANYBOTH" => Self { any_source: true, any_tag: true, ..base },
            "UNEXP" => Self { unexpected: true, ..base },
            "UNEXP-WC" => Self { unexpected: true, same: true, ..base },
            "UNEXP-REV" => Self { unexpected: true, posting: Posting::Reverse, ..base },
            "UNEXP-ANYSRC-REV" => {
                Self { unexpected: true, any_source: true, posting: Posting::Reverse, ..base }
            }
            _ => {
                if let Some(digits) = name.strip_prefix("NC-REV-S") {
                    let stride = number(digits, 16_000)?.max(1) as u32;
                    Self { posting: Posting::Reverse, stride, ..base }
                } else if let Some(digits) = name.strip_prefix("DEPTH-") {
                    Self { standing: number(digits, WINDOW_MAX)?, ..base }
                } else if let Some(digits) = name.strip_prefix("WDEPTH-") {
                    Self { standing: number(digits, WINDOW_MAX)?, standing_wild: true, ..base }
                } else {
                    return Err(unknown());
                }
            }
        })
    }
}

/// A scenario at one window size, spelled out.
#[derive(Debug)]
pub(super) struct Window {
    /// Posted before the first window; never match.
    pub(super) standing: Vec<Selector>,
    /// In the order of posting.
    pub(super) receives: Vec<Selector>,
    /// In the order of sending.
    pub(super) messages: Vec<Envelope>,
    /// Which message each receive must get (C1, C2).
    pub(super) expected: Vec<usize>,
    /// The messages come before the receives.
    pub(super) unexpected: bool,
    /// Follows the messages of an unexpected window.
    pub(super) done: Envelope,
    /// Bytes of each message.
    pub(super) size: usize,
}

fn tag(number: u32) -> Tag {
    Tag::new(number).expect("windows, depths and strides are bounded so that tags are in range")
}

impl Window {
    /// `count` messages of `size` bytes; `seed` decides a random order.
    pub(super) fn new(scenario: &Scenario, count: usize, size: usize, seed: u64) -> Self {
        let source = Rank::new(1).unwrap_or_default();
        let comm = CommId(0);
        let mut order: Vec<usize> = (0..count).collect();
        match scenario.posting {
            Posting::Forward => {}
            Posting::Reverse => order.reverse(),
            Posting::Random => order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed)),
        }
        let tag_of = |message: usize| {
            tag(FIRST_TAG + if scenario.same { 0 } else { message as u32 * scenario.stride })
        };
        let selector = |message: usize| Selector {
            source: if scenario.any_source { SourceSel::Any } else { source.into() },
            tag: if scenario.any_tag { TagSel::Any } else { tag_of(message).into() },
        };
        let standing = |i: usize| Selector {
            source: if scenario.standing_wild { SourceSel::Any } else { source.into() },
            tag: tag(STANDING_TAG + i as u32).into(),
        };
        let in_order = scenario.same || scenario.any_tag;
        Self {
            standing: (0..scenario.standing).map(standing).collect(),
            receives: order.iter().map(|&message| selector(message)).collect(),
            messages: (0..count).map(|i| Envelope { comm, source, tag: tag_of(i) }).collect(),
            expected: order.iter().enumerate().map(|(i, &own)| if in_order { i } else { own }).collect(),
            unexpected: scenario.unexpected,
            done: Envelope { comm, source, tag: tag(DONE_TAG) },
            size,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, MsgId, Oracle, RecvId};

    #[test]
    fn every_name_is_read_and_shown() {
        for scenario in Scenario::all() {
            assert_eq!(scenario.to_string().parse(), Ok(scenario));
        }
        assert_eq!(Scenario::all().len(), 22);
        for wrong in ["", "nc", "DEPTH-", "DEPTH-65537", "WDEPTH--1", "NC-REV-Sx", "NC-REV-S16001"] {
            assert!(wrong.parse::<Scenario>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_expected_matches_are_those_of_the_oracle() {
        for scenario in Scenario::all() {
            let window = Window::new(&scenario, 37, 8, 1);
            let mut oracle = Oracle::new();
            let comm = CommId(0);
            let count = window.messages.len();
            let mut matched = vec![None; count];
            let standing = scenario.standing.min(50);
            for (i, selector) in window.standing[..standing].iter().enumerate() {
                assert_eq!(oracle.post(RecvId((count + i) as u64), comm, *selector), None);
            }
            if scenario.unexpected {
                for (i, envelope) in window.messages.iter().enumerate() {
                    assert_eq!(oracle.arrive(MsgId(i as u64), *envelope), None);
                }
                for (i, selector) in window.receives.iter().enumerate() {
                    let message = oracle.post(RecvId(i as u64), comm, *selector).expect("a match");
                    matched[i] = Some(message.0 as usize);
                }
            } else {
                for (i, selector) in window.receives.iter().enumerate() {
                    assert_eq!(oracle.post(RecvId(i as u64), comm, *selector), None);
                }
                for (i, envelope) in window.messages.iter().enumerate() {
                    let receive = oracle.arrive(MsgId(i as u64), *envelope).expect("a match");
                    matched[receive.0 as usize] = Some(i);
                }
            }
            let expected: Vec<_> = window.expected.iter().copied().map(Some).collect();
            assert_eq!(matched, expected, "{scenario}");
            assert_eq!(oracle.posted().len(), standing);
        }
    }

    #[test]
    fn tags_stay_in_range_at_the_largest_sizes() {
        for name in ["NC-REV-S16000", "WDEPTH-65536"] {
            let scenario: Scenario = name.parse().expect("a scenario");
            let window = Window::new(&scenario, WINDOW_MAX, 8, 1);
            let last = window.messages[WINDOW_MAX - 1].tag.get();
            assert!(last < STANDING_TAG, "{name}: {last}");
        }
    }
}
