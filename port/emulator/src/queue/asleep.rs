//! Handlers that sleep for good: no completion queue of theirs is armed, so nothing wakes them.
//!
//! A handler that sleeps so may still be right: a call of the host may arm its queue later, or
//! another thread may take its completions. So a line waits until the program has had the time for
//! that, or ends.

use super::{Cq, Nic};
use crate::check::{Fault, device};
use crate::machine::machine;
use crate::process::ended;
use crate::thread::Unit;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks.
const LOOKS: Duration = Duration::from_millis(10);
/// How long a handler sleeps until a running program hears of it.
const WHILE_IT_RUNS: Duration = Duration::from_secs(3);
/// How long it has slept when its program ends: with completions in its queue, and without.
pub(super) const AT_THE_END: [Duration; 2] =
    [Duration::from_millis(200), Duration::from_millis(500)];

/// How long a message waits for a receive until a running program hears of it.
const WHILE_IT_STALLS: Duration = Duration::from_secs(1);

/// Most time that counts between two looks. A program that the system stops, or gives no processor,
/// does nothing meanwhile.
const COUNTS: Duration = Duration::from_millis(250);

/// A moment, and how long the program had run then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    at: Instant,
    ran: Duration,
}

impl Moment {
    fn is_over(self, ran: Duration, limit: Duration) -> bool {
        self.at.elapsed() >= limit && ran - self.ran >= limit
    }
}

/// A queue that is not armed, and whose handler sleeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asleep {
    since: Moment,
    consumed: u32,
    activations: u64,
}

impl Nic {
    /// A look: the program has run until now.
    fn runs_until(&mut self, now: Instant) {
        let before = self.looked.replace(now);
        let passed = before.map_or(Duration::ZERO, |before| now - before);
        self.ran += passed.min(COUNTS);
    }

    pub(super) fn now(&self) -> Moment {
        let (at, ran) = (Instant::now(), self.ran);
        Moment { at, ran }
    }

    /// Whether the program has run for as long since then.
    pub(super) fn has_run(&self, since: Moment, limit: Duration) -> bool {
        since.is_over(self.ran, limit)
    }

    /// Looks for handlers that sleep for good. Answers whether one may, or if the last look was a
    /// moment ago.
    pub(crate) fn look_for_sleepers(&mut self) -> bool {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOKS) {
            return true;
        }
        self.look()
    }

    /// A handler runs from now on, which may never get an event.
    pub(crate) fn runs(&mut self) {
        self.wires.running += 1;
        self.look();
    }

    fn look(&mut self) -> bool {
        self.runs_until(Instant::now());
        let now = self.now();
        let numbers: Vec<u32> = self.cqs.iter().map(|(number, _)| number).collect();
        let mut one_may = false;
        self.look_at_stalled(WHILE_IT_STALLS);
        for number in numbers {
            let found = self.sleeper(number, now);
            let Some(cq) = self.cqs.get_mut(number) else {
                continue;
            };
            cq.asleep = found;
            one_may |= found.is_some();
            if found.is_some_and(|asleep| self.has_run(asleep.since, WHILE_IT_RUNS))
                && let Some(cq) = self.cqs.get(number)
            {
                tell(cq);
            }
        }
        one_may
    }

    /// Names receive queues for which a message has waited for at least `limit`.
    pub(super) fn look_at_stalled(&mut self, limit: Duration) {
        let ran = self.ran;
        let is_over = |since: Moment| since.is_over(ran, limit);
        for number in self.stalled.clone() {
            let Some(wq) = self.wqs.get_mut(number) else {
                continue;
            };
            let remote = wq.pair.map(|pair| pair.remote);
            let Some((send, remote)) = wq.send.as_mut().zip(remote) else {
                continue;
            };
            let is_late = send.stalled.is_some_and(is_over);
            // The program of the receive queue names it.
            let is_far = self.wires.is_far(remote);
            if is_late && !is_far && !std::mem::replace(&mut send.is_reported, true) {
                self.tell_stalled(number, remote, limit);
            }
        }
        let mut late = Vec::new();
        for (&number, operation) in &mut self.operations {
            let is_late = is_over(operation.since);
            if is_late && !std::mem::replace(&mut operation.is_reported, true) {
                late.push((number, operation.to));
            }
        }
        for (number, to) in late {
            self.tell_stalled(number, to, limit);
        }
    }

    fn tell_stalled(&self, number: u32, remote: u32, limit: Duration) {
        let at = self
            .wqs
            .get(remote)
            .and_then(|wq| wq.shared)
            .unwrap_or(remote);
        let receive = self.wqs.get(at).and_then(|wq| wq.receive.as_ref());
        let cq = receive.and_then(|receive| self.cqs.get(receive.cqn));
        let unit = cq.and_then(|cq| cq.unit.as_ref());
        let rests = unit.filter(|unit| unit.state.is_idle() && cq.is_some_and(Cq::is_consumed));
        let why = rests.map_or_else(String::new, |unit| {
            let place = slept_at(unit);
            format!(", and its thread has consumed all completions and given none back{place}")
        });
        let limit = limit.as_millis();
        let text = format_args!(
            "receive queue {at:#x}: a message of send queue {number:#x} waits more than {limit} ms \
             for a receive{why}"
        );
        device(unit.map(|unit| &**unit), Fault::NotReposted, text);
    }

    /// The last look at the queues that `ends` chooses, whose program goes on without them.
    pub(crate) fn look_last(&mut self, ends: impl Fn(&Cq) -> bool) {
        self.runs_until(Instant::now());
        let now = self.now();
        self.look_at_stalled(AT_THE_END[0]);
        let chosen = self.cqs.iter().filter(|(_, cq)| ends(cq));
        let numbers: Vec<u32> = chosen.map(|(number, _)| number).collect();
        for number in numbers {
            let found = self.sleeper(number, now);
            if let (Some(asleep), Some(cq)) = (found, self.cqs.get(number))
                && self.has_run(asleep.since, AT_THE_END[usize::from(cq.is_consumed())])
            {
                tell(cq);
            }
        }
    }

    /// Since when the queue's handler sleeps without anything that wakes it.
    fn sleeper(&self, number: u32, now: Moment) -> Option<Asleep> {
        let cq = self.cqs.get(number)?;
        let unit = cq.unit.as_ref()?;
        let is_armed = cq.armed || cq.always_armed;
        let is_off = cq.broken || cq.overrun_ignore || cq.collapsed;
        let sleeps = unit.state.is_idle() && unit.process.state() == ended::NOT;
        if is_armed || is_off || !sleeps || self.is_woken_otherwise(unit, number) {
            return None;
        }
        let is_empty = cq.is_consumed();
        let never_ends = unit.activations() > 0 && !unit.has_polled_in_vain();
        if is_empty && !(never_ends && self.receives(number)) || is_polled_by_others(cq, unit) {
            return None;
        }
        let (consumed, activations) = (cq.consumed(), unit.activations());
        let as_before =
            |before: &Asleep| (before.consumed, before.activations) == (consumed, activations);
        let new = Asleep {
            since: now,
            consumed,
            activations,
        };
        Some(cq.asleep.filter(as_before).unwrap_or(new))
    }

    /// Whether something else than this queue may wake the handler. A queue that only sends
    /// complete at does not: the handler itself rings for them.
    fn is_woken_otherwise(&self, unit: &Arc<Unit>, number: u32) -> bool {
        unit.was_activated()
            || self.cqs.iter().any(|(other, cq)| {
                let is_its = cq.unit.as_ref().is_some_and(|own| Arc::ptr_eq(own, unit));
                let is_armed = cq.armed || cq.always_armed;
                is_its && other != number && is_armed && (self.receives(other) || cq.users == 0)
            })
    }

    fn receives(&self, number: u32) -> bool {
        let mut receivers = self.wqs.iter().filter_map(|(_, wq)| wq.receive.as_ref());
        receivers.any(|receiver| receiver.cqn == number)
    }
}

/// Whether another thread has looked for completions in the queue.
fn is_polled_by_others(cq: &Cq, unit: &Arc<Unit>) -> bool {
    let objects = machine().objects();
    let mut others = objects.units.iter().map(|(_, other)| other);
    others.any(|other| {
        let looks = other.polled().wrapping_sub(cq.ring.at(0, 1).addr());
        !Arc::ptr_eq(other, unit) && looks < 64 << cq.log_depth
    })
}

/// Where a thread went to sleep, for the end of a line.
fn slept_at(unit: &Unit) -> String {
    let place = unit.slept_at();
    if place == 0 {
        return String::new();
    }
    let line = unit.process.image.source_line(place.wrapping_sub(1));
    format!("; it went to sleep at {line}")
}

fn tell(cq: &Cq) {
    let Some(unit) = &cq.unit else { return };
    let (number, waiting) = (cq.number, cq.waiting());
    let place = slept_at(unit);
    let text = if waiting == 0 {
        format!(
            "the thread sleeps and its completion queue {number:#x} is not armed, so nothing \
             wakes it{place}"
        )
    } else {
        format!(
            "the thread sleeps while {waiting} completions wait in its queue {number:#x}, which is \
             not armed, so nothing wakes it{place}"
        )
    };
    device(Some(unit), Fault::Asleep, format_args!("{text}"));
}
