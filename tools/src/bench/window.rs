//! The two ends of a repetition (O38). The receiver posts k receives and signals it. The sender
//! starts the clock, sends k messages and waits for the acknowledgement, which follows the last
//! completion.
//!
//! With late receives the messages come first, followed by one that announces their end. The
//! receiver then posts its receives, inside the timed interval.
//!
//! The first of several senders does all this; the others wait for its windows and send their
//! messages.

use std::ops::Range;
use std::time::{Duration, Instant};

use dpamatch_vocabulary::CommId;

use super::BenchError;
use super::load::{Key, Window};
use super::payload;
use super::signal::{Farewell, Gone, Signals, Spin, Word};
use super::undisturbed::preemptions;

/// Windows before the measured ones, with checked payloads and order.
pub const WARM_UP: usize = 20;
const REPETITIONS_MIN: usize = 10;

pub(super) trait Receiver {
    /// Posts a receive whose message goes to buffer `slot`.
    fn post(&mut self, slot: usize, key: Key) -> Result<(), BenchError>;

    /// Returns when all posted receives can be found by messages.
    #[inline]
    fn settle(&mut self) -> Result<(), BenchError> {
        Ok(())
    }

    /// Works until `count` further receives are complete.
    fn complete(&mut self, count: usize) -> Result<(), BenchError>;

    fn buffer(&mut self, slot: usize) -> &mut [u8];
}

pub(super) trait Outgoing {
    /// Sends a window's messages, or a sender's share.
    fn send(&mut self) -> Result<(), Gone>;

    /// Sends the message that follows a window with late receives.
    fn send_done(&mut self) -> Result<(), Gone>;

    /// Waits until the receiving end has read every buffer.
    fn take_back(&mut self) -> Result<(), Gone>;
}

pub(super) trait Clock {
    fn now(&self) -> Instant;

    /// How often the system has taken the processor from the calling thread.
    fn preemptions(&self) -> u64;
}

pub(super) struct SystemClock;

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Instant {
        Instant::now()
    }

    #[inline]
    fn preemptions(&self) -> u64 {
        preemptions()
    }
}

/// Tells for each window whether the calling thread lost its processor since the one before.
pub(super) struct Watch<'a, C> {
    clock: &'a C,
    seen: u64,
    pub(super) preempted: Vec<bool>,
}

impl<'a, C: Clock> Watch<'a, C> {
    /// Watches from now on.
    pub(super) fn new(clock: &'a C, windows: usize) -> Self {
        Self {
            clock,
            seen: clock.preemptions(),
            preempted: Vec::with_capacity(windows),
        }
    }

    #[inline]
    pub(super) fn window_ended(&mut self) {
        let seen = self.clock.preemptions();
        self.preempted.push(seen != self.seen);
        self.seen = seen;
    }
}

/// The slot after the window's receives, `0..k`.
pub(super) fn slot_of_done(window: &Window) -> usize {
    window.receives.len()
}

fn slot_of_standing(window: &Window, index: usize) -> usize {
    window.receives.len() + 1 + index
}

/// The first slot of the receives that never match.
pub(super) fn first_standing(window: &Window) -> usize {
    slot_of_standing(window, 0)
}

pub(super) fn slots(window: &Window) -> usize {
    slot_of_standing(window, window.standing.len())
}

#[derive(Debug, Default)]
pub(super) struct ReceiverTimes {
    pub(super) post: Vec<f64>,
    /// From then until the early receives are in the posted queue, where that is a separate step.
    pub(super) settle: Vec<f64>,
    /// From the first late post of a window to the last completion.
    pub(super) unexpected: Vec<f64>,
    /// Whether the thread lost its processor, for each window.
    pub(super) preempted: Vec<bool>,
    pub(super) checked: u64,
}

/// Runs the receiver until the sender has gone.
pub(super) fn receive<W: Word>(
    receiver: &mut impl Receiver,
    window: &Window,
    repetitions: usize,
    signals: &Signals<W>,
    clock: &impl Clock,
) -> Result<ReceiverTimes, BenchError> {
    let _farewell = Farewell(&[&signals.ready, &signals.ack]);
    let mut times = ReceiverTimes {
        post: Vec::with_capacity(repetitions),
        settle: Vec::with_capacity(repetitions),
        unexpected: Vec::with_capacity(repetitions),
        preempted: Vec::new(),
        checked: 0,
    };
    let mut watch = Watch::new(clock, repetitions + WARM_UP);
    let count = window.receives.len();
    post_standing(receiver, window)?;
    let done = window.done_key();
    for number in 1.. {
        if signals.go.wait_for(number).is_err() {
            break;
        }
        let warming_up = number <= WARM_UP as u64;
        if warming_up {
            (0..count).for_each(|slot| payload::blank(receiver.buffer(slot)));
        }
        if window.has_late() {
            receiver.post(slot_of_done(window), done)?;
            receiver.settle()?;
        }
        let early = post(receiver, window, 0..window.early, clock)?;
        receiver.settle()?;
        let settled = clock.now();
        signals.ready.say(number);
        receiver.complete(window.early + usize::from(window.has_late()))?;
        // No clock reading separates the last completion from the acknowledgement: two readings
        // take half the time of a single message. Late posts are timed as the peers time theirs.
        let mut late = None;
        if window.has_late() {
            late = Some(post(receiver, window, window.late(), clock)?);
            receiver.complete(window.late().len())?;
        }
        signals.ack.say(number);
        let received = late.as_ref().map(|posted| clock.now() - posted.start);
        watch.window_ended();
        if warming_up {
            check(receiver, window)?;
            times.checked += count as u64;
        } else {
            let late = late.map_or(Duration::ZERO, |late| late.end - late.start);
            times.post.push(nanoseconds(early.end - early.start + late));
            times.settle.push(nanoseconds(settled - early.end));
            times.unexpected.extend(received.map(nanoseconds));
        }
    }
    times.preempted = watch
        .preempted
        .split_off(WARM_UP.min(watch.preempted.len()));
    Ok(times)
}

/// Posts the receives that never match.
pub(super) fn post_standing(
    receiver: &mut impl Receiver,
    window: &Window,
) -> Result<(), BenchError> {
    for (i, selector) in window.standing.iter().enumerate() {
        let key = Key {
            comm: CommId(0),
            selector: *selector,
        };
        receiver.post(slot_of_standing(window, i), key)?;
    }
    receiver.settle()
}

/// Posts these receives; returns the time span.
#[inline]
pub(super) fn post(
    receiver: &mut impl Receiver,
    window: &Window,
    slots: Range<usize>,
    clock: &impl Clock,
) -> Result<Range<Instant>, BenchError> {
    let start = clock.now();
    for (slot, key) in slots.clone().zip(&window.receives[slots]) {
        receiver.post(slot, *key)?;
    }
    Ok(start..clock.now())
}

pub(super) fn check(receiver: &mut impl Receiver, window: &Window) -> Result<(), BenchError> {
    for (slot, &message) in window.expected.iter().enumerate() {
        if !payload::holds(receiver.buffer(slot), message) {
            return Err(BenchError::WrongMessage {
                receive: slot,
                message,
            });
        }
    }
    Ok(())
}

pub(super) fn nanoseconds(time: Duration) -> f64 {
    time.as_nanos() as f64
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) repetitions: usize,
    /// Time after which only the minimum number of windows is run.
    pub(super) budget: Duration,
}

impl Limits {
    /// Whether to measure another window after `made`.
    #[inline]
    pub(super) fn go_on(&self, made: usize, spent: impl FnOnce() -> Duration) -> bool {
        made < self.repetitions && (made < REPETITIONS_MIN || spent() <= self.budget)
    }
}

/// What the first sender saw of the measured windows.
#[derive(Debug, Default)]
pub(super) struct SenderTimes {
    /// In nanoseconds.
    pub(super) window: Vec<f64>,
    /// Whether the thread lost its processor, for each window.
    pub(super) preempted: Vec<bool>,
}

/// Runs the first sender. An early end means that the receiver has failed and knows the cause.
pub(super) fn send<W: Word>(
    mut outgoing: impl Outgoing,
    window: &Window,
    limits: Limits,
    signals: &Signals<W>,
    clock: &impl Clock,
) -> SenderTimes {
    let _farewell = Farewell(&[&signals.go]);
    let mut times = Vec::with_capacity(limits.repetitions);
    let mut number = 0;
    let mut next = || {
        number += 1;
        one_window(&mut outgoing, window, signals, number, clock)
    };
    for _ in 0..WARM_UP {
        if next().is_err() {
            return SenderTimes::default();
        }
    }
    let mut watch = Watch::new(clock, limits.repetitions);
    let begin = clock.now();
    while limits.go_on(times.len(), || clock.now() - begin) {
        match next() {
            Ok(time) => times.push(nanoseconds(time)),
            Err(Gone) => break,
        }
        watch.window_ended();
    }
    SenderTimes {
        window: times,
        preempted: watch.preempted,
    }
}

/// Runs another sender until the receiver has gone.
pub(super) fn send_along<W: Word>(
    mut outgoing: impl Outgoing,
    window: &Window,
    signals: &Signals<W>,
) {
    for number in 1.. {
        let ready = signals.ready.wait_with(number, patience(window));
        if ready
            .and_then(|()| outgoing.send())
            .and_then(|()| outgoing.take_back())
            .is_err()
        {
            break;
        }
    }
}

/// Several senders may share a processor, so they must yield early.
fn patience(window: &Window) -> Spin {
    if window.senders > 1 {
        Spin::short()
    } else {
        Spin::new()
    }
}

#[inline]
fn one_window<W: Word>(
    outgoing: &mut impl Outgoing,
    window: &Window,
    signals: &Signals<W>,
    number: u64,
    clock: &impl Clock,
) -> Result<Duration, Gone> {
    signals.go.say(number);
    signals.ready.wait_with(number, patience(window))?;
    let start = clock.now();
    outgoing.send()?;
    if window.has_late() {
        outgoing.send_done()?;
    }
    outgoing.take_back()?;
    signals.ack.wait_with(number, patience(window))?;
    Ok(clock.now() - start)
}

#[cfg(test)]
mod tests;
