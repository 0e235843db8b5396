//! What came of a schedule, in words.

use std::collections::BTreeMap;

use dpamatch_story::{Path, Step, Told};

use crate::Ending;

/// The paths that the handlers took, block by block: one word per handler.
pub(crate) fn paths(told: &[Told]) -> String {
    let mut blocks: Vec<BTreeMap<usize, &str>> = Vec::new();
    for Told { step, .. } in told {
        let (handler, word) = match *step {
            Step::BlockCut { .. } => {
                blocks.push(BTreeMap::new());
                continue;
            }
            Step::Taken { handler, path: Path::Clean, .. } => (handler, "clean"),
            Step::Taken { handler, path: Path::Fast, .. } => (handler, "fast"),
            Step::SlowFound { handler, own: true, .. } => (handler, "forced"),
            Step::SlowFound { handler, found: Some(_), .. } => (handler, "slow"),
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

/// What differs from what must be, in words.
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
            parts.push(format!("message {message} must stay unexpected but got receive {receive}"));
        }
    }
    if parts.is_empty() && got.posted != expected.posted {
        parts.push(format!("receives left are {:?}, must be {:?}", got.posted, expected.posted));
    }
    if parts.is_empty() {
        parts.push(format!(
            "unexpected messages are {:?}, must be {:?}",
            got.unexpected, expected.unexpected
        ));
    }
    parts.join("; ")
}
