//! Scenarios: the receives of a window, and their order relative to the messages (O39, O41).

use std::fmt;
use std::str::FromStr;

use dpa_model::{Choice, FastPath, PaperWorkload};

/// Maximum messages in a window, and maximum standing receives.
pub const WINDOW_MAX: usize = 65_536;
const SENDERS_MAX: usize = 64;
const COMMS_MAX: usize = 64;

/// Order of posting relative to the order of arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Posting {
    #[default]
    Forward,
    Reverse,
    Random,
}

/// A kind of window. [`FromStr`] reads its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scenario {
    name: String,
    pub posting: Posting,
    pub same: bool,
    pub any_source: bool,
    pub any_tag: bool,
    /// The messages come before the receives are posted.
    pub unexpected: bool,
    /// Number of receives before the window's that never match.
    pub standing: usize,
    /// Whether the standing receives accept any source.
    pub standing_wild: bool,
    /// Difference of consecutive tags.
    pub stride: u32,
    pub fast_path: Option<FastPath>,
    /// Sending threads, each with its own source rank.
    pub senders: usize,
    /// Percentage of messages, and of receives, with one common key.
    pub hot: usize,
    /// Percentage of receives with a wildcard: any source and any tag in turn.
    pub wild: usize,
    /// Percentage of receives that are posted after all messages have come.
    pub late: usize,
    /// Percentage of receives, or of unexpected messages, for which the NIC has no room.
    pub beyond: usize,
    /// Communicators, over which the messages are spread in turn.
    pub comms: usize,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown scenario {0}")]
pub struct UnknownScenario(String);

impl Scenario {
    /// Names of all scenarios without a number, and the forms of numbered ones.
    pub const NAMES: &str = "NC, WC, WC-FP, WC-SP, NC-REV, NC-RND, NC-REV-S1021, ANYSRC, \
        ANYSRC-REV, ANYTAG, ANYBOTH, UNEXP, UNEXP-WC, UNEXP-REV, UNEXP-ANYSRC-REV, DEPTH-<d>, \
        WDEPTH-<d>, NC-REV-S<stride>, MANY-<senders>, HOT-<percent>, \
        MIX-<wild>-<conflicts>-<unexpected>, FULL-<percent>, UNEXP-FULL-<percent>, \
        COMMS-<communicators>";

    /// All scenarios of the peers' measurements with their depths, then those with several senders
    /// or shares.
    pub fn all() -> Vec<Self> {
        let depths = ["DEPTH-0", "DEPTH-64", "DEPTH-1024", "DEPTH-8192"];
        let wild_depths = ["WDEPTH-64", "WDEPTH-1024", "WDEPTH-8192"];
        let plain = Self::NAMES.split(", ").filter(|name| !name.contains('<'));
        let mixed = ["MANY-4", "HOT-10", "HOT-50", "MIX-20-20-20"];
        let limits = ["FULL-50", "UNEXP-FULL-50", "COMMS-4"];
        plain
            .chain(depths)
            .chain(wild_depths)
            .chain(mixed)
            .chain(limits)
            .filter_map(|name| name.parse().ok())
            .collect()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn usual_windows(&self) -> &'static [usize] {
        match self.name.as_str() {
            "NC" | "WC" | "WC-FP" | "WC-SP" | "NC-REV" => &[1, 100, 128, 1024],
            _ if self.standing > 0 || self.name == "DEPTH-0" => &[100],
            _ => &[100, 1024],
        }
    }

    /// Whether there are several senders or communicators, or shares.
    pub fn is_mixed(&self) -> bool {
        self.senders > 1 || self.comms > 1 || self.hot + self.wild + self.late + self.beyond > 0
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
            senders: 1,
            hot: 0,
            wild: 0,
            late: 0,
            beyond: 0,
            comms: 1,
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

    /// Reads a name in upper or lower case.
    fn from_str(given: &str) -> Result<Self, UnknownScenario> {
        let unknown = || UnknownScenario(given.to_owned());
        let name = given.to_ascii_uppercase();
        let name = name.as_str();
        let number = |digits: &str, most: usize| {
            digits
                .parse::<usize>()
                .ok()
                .filter(|&number| number <= most)
                .ok_or_else(unknown)
        };
        let base = Self::named(name);
        if let Some(workload) = PaperWorkload::named(name) {
            let same = workload.has_conflicts();
            let fast_path = same.then(|| workload.fast_path(FastPath::Sequence));
            return Ok(Self {
                same,
                fast_path,
                ..base
            });
        }
        Ok(match name {
            "WC" => Self { same: true, ..base },
            "NC-REV" => Self {
                posting: Posting::Reverse,
                ..base
            },
            "NC-RND" => Self {
                posting: Posting::Random,
                ..base
            },
            "ANYSRC" => Self {
                any_source: true,
                ..base
            },
            "ANYSRC-REV" => Self {
                any_source: true,
                posting: Posting::Reverse,
                ..base
            },
            "ANYTAG" => Self {
                any_tag: true,
                ..base
            },
            "ANYBOTH" => Self {
                any_source: true,
                any_tag: true,
                ..base
            },
            "UNEXP" => Self {
                unexpected: true,
                ..base
            },
            "UNEXP-WC" => Self {
                unexpected: true,
                same: true,
                ..base
            },
            "UNEXP-REV" => Self {
                unexpected: true,
                posting: Posting::Reverse,
                ..base
            },
            "UNEXP-ANYSRC-REV" => Self {
                unexpected: true,
                any_source: true,
                posting: Posting::Reverse,
                ..base
            },
            _ => {
                if let Some(digits) = name.strip_prefix("NC-REV-S") {
                    let stride = number(digits, 16_000)?.max(1) as u32;
                    Self {
                        posting: Posting::Reverse,
                        stride,
                        ..base
                    }
                } else if let Some(digits) = name.strip_prefix("DEPTH-") {
                    Self {
                        standing: number(digits, WINDOW_MAX)?,
                        ..base
                    }
                } else if let Some(digits) = name.strip_prefix("WDEPTH-") {
                    Self {
                        standing: number(digits, WINDOW_MAX)?,
                        standing_wild: true,
                        ..base
                    }
                } else if let Some(digits) = name.strip_prefix("MANY-") {
                    let senders = number(digits, SENDERS_MAX)?.max(1);
                    Self {
                        same: true,
                        senders,
                        ..base
                    }
                } else if let Some(digits) = name.strip_prefix("COMMS-") {
                    Self {
                        comms: number(digits, COMMS_MAX)?.max(1),
                        ..base
                    }
                } else if let Some(digits) = name.strip_prefix("FULL-") {
                    Self {
                        beyond: number(digits, 100)?,
                        ..base
                    }
                } else if let Some(digits) = name.strip_prefix("UNEXP-FULL-") {
                    Self {
                        unexpected: true,
                        beyond: number(digits, 100)?,
                        ..base
                    }
                } else if let Some(digits) = name.strip_prefix("HOT-") {
                    Self {
                        hot: number(digits, 100)?,
                        ..base
                    }
                } else if let Some(shares) = name.strip_prefix("MIX-") {
                    let shares: Vec<&str> = shares.split('-').collect();
                    let &[wild, hot, late] = shares.as_slice() else {
                        return Err(unknown());
                    };
                    let [wild, hot, late] =
                        [number(wild, 100)?, number(hot, 100)?, number(late, 100)?];
                    Self {
                        wild,
                        hot,
                        late,
                        ..base
                    }
                } else {
                    return Err(unknown());
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_and_shown() {
        for scenario in Scenario::all() {
            assert_eq!(scenario.to_string().parse(), Ok(scenario));
        }
        assert_eq!(Scenario::all().len(), 29);
        assert_eq!(
            "nc-rev-s7".parse::<Scenario>().map(|it| it.to_string()),
            Ok("NC-REV-S7".into())
        );
        let wrong = [
            "",
            "nc-",
            "DEPTH-",
            "DEPTH-65537",
            "WDEPTH--1",
            "NC-REV-Sx",
            "NC-REV-S16001",
        ];
        let wrong_shares = "MANY-65 MANY-x HOT-101 HOT- MIX MIX-1-2 MIX-1-2-101 MIX-1-2-3-4 \
            FULL-101 UNEXP-FULL-x COMMS-65"
            .split(' ');
        for wrong in wrong.into_iter().chain(wrong_shares) {
            assert!(wrong.parse::<Scenario>().is_err(), "{wrong}");
        }
        for (name, most) in [
            ("DEPTH-", 65_536),
            ("WDEPTH-", 65_536),
            ("NC-REV-S", 16_000),
            ("MANY-", 64),
            ("COMMS-", 64),
            ("HOT-", 100),
            ("FULL-", 100),
            ("UNEXP-FULL-", 100),
        ] {
            for (number, fits) in [(most - 1, true), (most, true), (most + 1, false)] {
                let name = format!("{name}{number}");
                assert_eq!(name.parse::<Scenario>().is_ok(), fits, "{name}");
            }
        }
    }

    /// What each name means, and the usual windows.
    #[test]
    fn names_mean_what_they_say() {
        let more = ["MIX-1-2-3", "DEPTH-0"].map(|name| name.parse().expect("a scenario"));
        let shown = |it: Scenario| format!("{it:?} windows {:?}\n", it.usual_windows());
        let shown: String = Scenario::all().into_iter().chain(more).map(shown).collect();
        expect_test::expect_file!["scenarios.txt"].assert_eq(&shown);
    }
}
