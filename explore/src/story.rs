//! A schedule in words.

use std::collections::BTreeMap;
use std::fmt::Write;

use dpa_model_explore::story::Step;

use crate::Ending;

/// Replaces request numbers by the caller's names.
pub(crate) fn rename(step: &mut Step, names: &BTreeMap<u64, u64>) {
    let named = |request: &mut u64| *request = names.get(request).copied().unwrap_or(u64::MAX);
    match step {
        Step::Searched { found: Some(receive), .. }
        | Step::SlowFound { found: Some(receive), .. }
        | Step::Booked { receive, .. }
        | Step::Consumed { receive, .. } => named(receive),
        _ => {}
    }
}

/// The paths that the handlers took, block by block: one word per handler.
pub(crate) fn paths(steps: &[Step]) -> String {
    let mut blocks: Vec<BTreeMap<usize, &str>> = Vec::new();
    for step in steps {
        let (handler, word) = match *step {
            Step::BlockCut { .. } => {
                blocks.push(BTreeMap::new());
                continue;
            }
            Step::Clean { handler } => (handler, "clean"),
            Step::Fast { handler } => (handler, "fast"),
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

/// The schedule step by step, a line each.
pub fn tell(steps: &[Step]) -> String {
    let mut text = String::new();
    for (number, step) in steps.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:>4}  {}", number + 1, line(step));
    }
    text
}

fn line(step: &Step) -> String {
    match *step {
        Step::BlockCut { first, count } => {
            format!("block: messages {first} to {}", first + count as u64 - 1)
        }
        Step::Searched { handler, found: Some(receive) } => {
            format!("handler {handler} searches and finds receive {receive}")
        }
        Step::Searched { handler, found: None } => {
            format!("handler {handler} searches and finds nothing")
        }
        Step::Booked { handler, receive } => format!("handler {handler} books receive {receive}"),
        Step::PassedBarrier { handler, conflict: None } => {
            format!("handler {handler} passes the barrier: no conflict up to here")
        }
        Step::PassedBarrier { handler, conflict: Some(first) } if handler < first => {
            format!(
                "handler {handler} passes the barrier: the first conflict is handler {first}'s, above"
            )
        }
        Step::PassedBarrier { handler, conflict: Some(first) } if handler == first => {
            format!("handler {handler} passes the barrier: a lower handler booked the same receive")
        }
        Step::PassedBarrier { handler, conflict: Some(first) } => {
            format!(
                "handler {handler} passes the barrier: forced, because handler {first} is in conflict"
            )
        }
        Step::Clean { handler } => format!("handler {handler} is clean"),
        Step::Fast { handler } => format!("handler {handler} takes the fast path"),
        Step::SlowWaits { handler } => {
            format!("handler {handler} takes the slow path and waits for all lower handlers")
        }
        Step::SlowFound { handler, own: true, .. } => {
            format!("handler {handler} finds its own choice still free")
        }
        Step::SlowFound { handler, found: Some(receive), .. } => {
            format!("handler {handler} lost its choice, searches again and finds receive {receive}")
        }
        Step::SlowFound { handler, found: None, .. } => {
            format!("handler {handler} lost its choice, searches again and finds nothing")
        }
        Step::Consumed { handler, receive } => {
            format!("handler {handler} consumes receive {receive}")
        }
        Step::Unmatched { handler } => format!("handler {handler}'s message is unexpected"),
        Step::LockMissed { handler } => {
            format!(
                "handler {handler} leaves the receive in its chain: another handler holds the bin's lock"
            )
        }
        _ => format!("{step:?}"),
    }
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
                    format!(
                        "message {message} must get receive {receive} but got {wrong} (C1 or C2)"
                    )
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
