//! The watchdog: reports device code that does not give its worker back.
//!
//! Threads that pause are looked at by their worker. A thread in a loop without calls and without
//! checked accesses never pauses, so another host thread watches the workers.

use super::worker::Worker;
use crate::check::{Fault, device, note};
use crate::machine::machine;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Looks at the workers in each limit.
const LOOKS: u32 = 20;

/// A worker's step, when it was seen first, and whether it was reported.
struct Seen {
    step: u64,
    since: Instant,
    is_reported: bool,
}

/// Watches workers from now on, on a host thread.
pub(super) fn start(workers: Vec<Arc<Worker>>, limit: Duration) {
    let watch = move || watch(&workers, limit);
    let builder = std::thread::Builder::new().name("dpa-watchdog".to_owned());
    if let Err(error) = builder.spawn(watch) {
        note(format_args!("no host thread for the watchdog: {error}"));
    }
}

fn watch(workers: &[Arc<Worker>], limit: Duration) {
    let look = |worker: &Arc<Worker>| Seen {
        step: worker.steps(),
        since: Instant::now(),
        is_reported: false,
    };
    let mut seen: Vec<_> = workers.iter().map(look).collect();
    loop {
        std::thread::sleep(limit / LOOKS);
        for (worker, seen) in workers.iter().zip(&mut seen) {
            if worker.steps() != seen.step || worker.is_asleep() {
                *seen = look(worker);
            } else if !seen.is_reported && seen.since.elapsed() >= limit {
                // A worker that runs no device code gives no answer and is asked again.
                seen.is_reported = report(worker, limit);
            }
        }
    }
}

/// Reports the thread that a worker runs. False if it runs none.
fn report(worker: &Worker, limit: Duration) -> bool {
    let Some((id, place)) = worker.ask() else {
        return false;
    };
    let Some(unit) = machine().objects().units.get(id).cloned() else {
        return false;
    };
    let at = if unit.process.image.range.contains(&place) {
        format!(", at {}", unit.process.image.source_line(place))
    } else {
        String::new()
    };
    let limit = limit.as_secs();
    let text = format_args!("the activation takes more than {limit} s (DPA_WATCHDOG_S){at}");
    device(Some(&unit), Fault::Watchdog, text);
    true
}
