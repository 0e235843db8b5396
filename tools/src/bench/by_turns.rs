//! Both ends of a window on one thread, which sends, matches and completes by turns.
//!
//! There is no wire between two processors and nobody waits, so one free processor suffices. A time
//! is the sum of all costs of a message: sending, matching and completing.

use super::BenchError;
use super::load::Window;
use super::payload;
use super::window::{
    Clock, Limits, Outgoing, Receiver, ReceiverTimes, SenderTimes, WARM_UP, Watch, check,
    nanoseconds, post, post_standing, slot_of_done,
};

/// What one thread saw of both ends.
#[derive(Debug, Default)]
pub(super) struct Turns {
    pub(super) sender: SenderTimes,
    pub(super) receiver: ReceiverTimes,
}

/// Runs warm-up windows, whose payloads and order are checked, and the measured ones. The queue
/// between the ends must hold all messages of a window.
pub(super) fn by_turns(
    outboxes: &mut [impl Outgoing],
    receiver: &mut impl Receiver,
    window: &Window,
    limits: Limits,
    clock: &impl Clock,
) -> Result<Turns, BenchError> {
    let mut turns = Turns::default();
    let count = window.receives.len();
    post_standing(receiver, window)?;
    for _ in 0..WARM_UP {
        (0..count).for_each(|slot| payload::blank(receiver.buffer(slot)));
        one_window(outboxes, receiver, window, clock)?;
        check(receiver, window)?;
        turns.receiver.checked += count as u64;
    }
    let mut watch = Watch::new(clock, limits.repetitions);
    let begin = clock.now();
    while limits.go_on(turns.sender.window.len(), || clock.now() - begin) {
        let times = one_window(outboxes, receiver, window, clock)?;
        watch.window_ended();
        turns.sender.window.push(times.window);
        turns.receiver.post.push(times.post);
        turns.receiver.settle.push(times.settle);
        turns.receiver.unexpected.extend(times.unexpected);
    }
    turns.sender.preempted = watch.preempted;
    Ok(turns)
}

/// In nanoseconds; see the fields of [`ReceiverTimes`].
struct Times {
    window: f64,
    post: f64,
    settle: f64,
    unexpected: Option<f64>,
}

#[inline]
fn one_window(
    outboxes: &mut [impl Outgoing],
    receiver: &mut impl Receiver,
    window: &Window,
    clock: &impl Clock,
) -> Result<Times, BenchError> {
    let gone = |_| BenchError::QueueFull;
    let has_late = window.has_late();
    if has_late {
        receiver.post(slot_of_done(window), window.done_key())?;
        receiver.settle()?;
    }
    let early = post(receiver, window, 0..window.early, clock)?;
    receiver.settle()?;
    let start = clock.now();
    for outbox in outboxes.iter_mut() {
        outbox.send().map_err(gone)?;
    }
    if has_late {
        outboxes[0].send_done().map_err(gone)?;
    }
    receiver.complete(window.early + usize::from(has_late))?;
    let mut late = None;
    if has_late {
        late = Some(post(receiver, window, window.late(), clock)?);
        receiver.complete(window.late().len())?;
    }
    for outbox in outboxes.iter_mut() {
        outbox.take_back().map_err(gone)?;
    }
    let end = clock.now();
    let late_span = late.as_ref().map(|late| late.end - late.start);
    let posting = early.end - early.start + late_span.unwrap_or_default();
    Ok(Times {
        window: nanoseconds(end - start),
        post: nanoseconds(posting),
        settle: nanoseconds(start - early.end),
        unexpected: late.map(|late| nanoseconds(end - late.start)),
    })
}
