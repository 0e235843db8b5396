//! The outcome of a schedule in words.

use std::collections::BTreeMap;

use dpamatch_story::{Path, Step, TimedStep};

use crate::Ending;

/// The handlers' paths block by block, one word per handler.
pub(crate) fn paths(told: &[TimedStep]) -> String {
    let mut blocks: Vec<BTreeMap<usize, &str>> = Vec::new();
    for TimedStep { step, .. } in told {
        let (handler, word) = match *step {
            Step::BlockCut { .. } => {
                blocks.push(BTreeMap::new());
                continue;
            }
            Step::Taken {
                handler,
                path: Path::Clean,
                ..
            } => (handler, "clean"),
            Step::Taken {
                handler,
                path: Path::Fast,
                ..
            } => (handler, "fast"),
            Step::SlowFound {
                handler, own: true, ..
            } => (handler, "forced"),
            Step::SlowFound {
                handler,
                found: Some(_),
                ..
            } => (handler, "slow"),
            Step::SlowFound { handler, .. } => (handler, "slow-none"),
            Step::Unmatched { handler } => (handler, "none"),
            _ => continue,
        };
        if let Some(block) = blocks.last_mut() {
            block.entry(handler).or_insert(word);
        }
    }
    let line =
        |block: &BTreeMap<usize, &str>| block.values().copied().collect::<Vec<_>>().join(" ");
    blocks.iter().map(line).collect::<Vec<_>>().join(" | ")
}

pub(crate) fn difference(expected: &Ending, got: &Ending) -> String {
    let mut parts = Vec::new();
    for &(receive, message) in &expected.matches {
        if !got.matches.contains(&(receive, message)) {
            let other = got.matches.iter().find(|&&(_, other)| other == message);
            parts.push(match other {
                Some((u64::MAX, _)) => {
                    format!("message {message} must get receive {receive}, which was taken twice")
                }
                Some((wrong, _)) => {
                    format!("message {message} must get receive {receive} but got {wrong}")
                }
                None => format!("message {message} must get receive {receive} but got none"),
            });
        }
    }
    for &(receive, message) in &got.matches {
        if !expected.matches.iter().any(|&(_, other)| other == message) {
            parts.push(format!(
                "message {message} must stay unexpected but got receive {receive}"
            ));
        }
    }
    if parts.is_empty() && got.posted != expected.posted {
        parts.push(format!(
            "receives left are {:?}, must be {:?}",
            got.posted, expected.posted
        ));
    }
    if parts.is_empty() {
        parts.push(format!(
            "unexpected messages are {:?}, must be {:?}",
            got.unexpected, expected.unexpected
        ));
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_handler_has_one_word_in_its_block() {
        let steps = [
            // Steps before the first block belong to no handler.
            Step::Unmatched { handler: 0 },
            Step::BlockCut { first: 0, count: 3 },
            Step::Taken {
                handler: 1,
                receive: 1,
                path: Path::Fast,
            },
            Step::Taken {
                handler: 0,
                receive: 0,
                path: Path::Clean,
            },
            Step::SlowFound {
                handler: 2,
                found: Some(2),
                own: true,
            },
            Step::Taken {
                handler: 2,
                receive: 2,
                path: Path::Slow,
            },
            Step::BlockCut { first: 3, count: 3 },
            Step::SlowFound {
                handler: 0,
                found: Some(3),
                own: false,
            },
            Step::SlowFound {
                handler: 1,
                found: None,
                own: false,
            },
            Step::Unmatched { handler: 1 },
            Step::Unmatched { handler: 2 },
        ];
        let told = steps.map(|step| TimedStep {
            actor: 0,
            step,
            at: None,
        });
        assert_eq!(paths(&told), "clean fast forced | slow slow-none none");
        assert_eq!(paths(&[]), "");
    }

    #[test]
    fn a_difference_says_who_got_what() {
        let ending = |matches: &[(u64, u64)], posted: &[u64], unexpected: &[u64]| Ending {
            matches: matches.to_vec(),
            posted: posted.to_vec(),
            unexpected: unexpected.to_vec(),
        };
        let expected = ending(&[(0, 10), (1, 11)], &[2], &[12]);
        for (got, told) in [
            (
                ending(&[(0, 10), (2, 11)], &[1], &[12]),
                "message 11 must get receive 1 but got 2",
            ),
            (
                ending(&[(0, 10), (u64::MAX, 11)], &[2], &[12]),
                "message 11 must get receive 1, which was taken twice",
            ),
            (
                ending(&[(0, 10), (2, 12)], &[1], &[11]),
                "message 11 must get receive 1 but got none; \
                 message 12 must stay unexpected but got receive 2",
            ),
            (
                ending(&expected.matches, &[], &[12]),
                "receives left are [], must be [2]",
            ),
            (
                ending(&expected.matches, &[2], &[]),
                "unexpected messages are [], must be [12]",
            ),
        ] {
            assert_eq!(difference(&expected, &got), told);
        }
    }
}
