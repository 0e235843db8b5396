//! A schedule in words.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;

use dpa_model_explore::Path;
pub use dpa_model_explore::step::Step;

use crate::Ending;

thread_local! {
    static STEPS: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
}

/// Begins to note the steps of this thread that belong to a story; earlier ones are forgotten.
pub(crate) fn listen() {
    STEPS.take();
    dpa_model_explore::step::listen(Some(|step| {
        let told = matches!(
            step,
            Step::BlockCut { .. }
                | Step::Posted { .. }
                | Step::Searched { .. }
                | Step::Booked { .. }
                | Step::BarrierPassed { .. }
                | Step::SlowWaits { .. }
                | Step::SlowFound { .. }
                | Step::Taken { .. }
                | Step::Unmatched { .. }
                | Step::LockMissed { .. }
        );
        if told {
            STEPS.with_borrow_mut(|steps| steps.push(step));
        }
    }));
}

/// The steps since `listen`, which ends. Receives go by the caller's names, of which `names` has
/// one for each request.
pub(crate) fn steps(names: &BTreeMap<u64, u64>) -> Vec<Step> {
    dpa_model_explore::step::listen(None);
    let mut steps = STEPS.take();
    // Which request each descriptor holds.
    let mut requests = BTreeMap::new();
    for step in &mut steps {
        let named = |receive: &mut u32| {
            let name = requests.get(receive).and_then(|request| names.get(request));
            *receive = name.map_or(u32::MAX, |&name| name as u32);
        };
        match step {
            Step::Posted { request, receive, .. } => {
                requests.insert(*receive, *request);
            }
            Step::Searched { found: Some(receive), .. }
            | Step::SlowFound { found: Some(receive), .. }
            | Step::Booked { receive, .. }
            | Step::Taken { receive, .. } => named(receive),
            _ => {}
        }
    }
    steps.retain(|step| !matches!(step, Step::Posted { .. }));
    steps
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
        Step::Booked { handler, receive, .. } => {
            format!("handler {handler} books receive {receive}")
        }
        Step::BarrierPassed { first, end, conflict } => {
            let handler = match end - first {
                1 => format!("handler {first} passes"),
                _ => format!("handlers {first} to {} pass", end - 1),
            };
            match conflict {
                None => format!("{handler} the barrier: no conflict up to here"),
                Some(at) if at >= first => format!(
                    "{handler} the barrier: a lower handler booked the same receive as handler {at}"
                ),
                Some(at) => {
                    format!("{handler} the barrier: forced, because handler {at} is in conflict")
                }
            }
        }
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
        Step::Taken { handler, receive, path } => match path {
            Path::Clean => format!("handler {handler} is clean and takes receive {receive}"),
            Path::Fast => format!("handler {handler} takes receive {receive} on the fast path"),
            Path::Slow => format!("handler {handler} takes receive {receive}"),
            Path::Overtaking => format!("handler {handler} takes receive {receive} at once"),
        },
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
