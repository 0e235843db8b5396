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
use std::collections::HashSet;
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

    /// A handler runs from now on, which may never get an event. If the last look was a moment
    /// ago, the next one finds the handler.
    pub(crate) fn runs(&mut self) {
        self.wires.running += 1;
        self.look_for_sleepers();
        self.last_run = Some(self.now());
    }

    fn look(&mut self) -> bool {
        self.runs_until(Instant::now());
        self.look_at_stalled(WHILE_IT_STALLS);
        let found = self.sleepers(|_| true);
        self.cqs.iter_mut().for_each(|cq| cq.asleep = None);
        for &(number, asleep) in &found {
            if let Some(cq) = self.cqs.get_mut(number) {
                cq.asleep = Some(asleep);
            }
            if self.has_run(asleep.since, WHILE_IT_RUNS)
                && let Some(cq) = self.cqs.get(number)
            {
                tell(cq);
            }
        }
        self.last_run = None;
        !found.is_empty()
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
        self.look_at_stalled(AT_THE_END[0]);
        for (number, asleep) in self.sleepers(ends) {
            if let Some(cq) = self.cqs.get(number)
                && self.has_run(asleep.since, AT_THE_END[usize::from(cq.is_consumed())])
            {
                tell(cq);
            }
        }
    }

    /// The queues, of those that `counts` chooses, whose handlers sleep without anything that wakes
    /// them, and since when they do.
    ///
    /// Complexity: n log n for n queues. Programs have thousands of them.
    fn sleepers(&self, counts: impl Fn(&Cq) -> bool) -> Vec<(u32, Asleep)> {
        let rests = |cq: &Cq| {
            let is_off = cq.broken || cq.overrun_ignore || cq.collapsed;
            let sleeps = |unit: &Arc<Unit>| {
                let is_alive = unit.process.state() == ended::NOT;
                unit.state.is_idle() && is_alive && !unit.was_activated()
            };
            !cq.wakes() && !is_off && cq.unit.as_ref().is_some_and(sleeps)
        };
        let cqs = self.cqs.iter().map(|(_, cq)| cq);
        let resting: Vec<&Cq> = cqs.filter(|cq| counts(cq) && rests(cq)).collect();
        if resting.is_empty() {
            return Vec::new();
        }
        let others = Others::new(self);
        let now = self.now();
        let asleep = |cq: &Cq| {
            let unit = cq.unit.as_ref()?;
            if others.wakes(unit) || others.looks_at(cq, unit) {
                return None;
            }
            let never_ends = unit.activations() > 0 && !unit.has_polled_in_vain();
            if cq.is_consumed() && !(never_ends && others.receiving.contains(&cq.number)) {
                return None;
            }
            let (consumed, activations) = (cq.consumed(), unit.activations());
            let as_before =
                |before: &Asleep| (before.consumed, before.activations) == (consumed, activations);
            // One that began to run after the last look has slept since then.
            let since = self.last_run.filter(|_| activations == 0).unwrap_or(now);
            let new = Asleep {
                since,
                consumed,
                activations,
            };
            Some((cq.number, cq.asleep.filter(as_before).unwrap_or(new)))
        };
        resting.into_iter().filter_map(asleep).collect()
    }
}

/// What else may wake a handler that sleeps, or take its completions.
struct Others {
    /// Queues at which receives complete.
    receiving: HashSet<u32>,
    /// Handlers that an armed queue wakes. A queue that only sends complete at does not: the
    /// handler itself rings for them.
    woken: HashSet<*const Unit>,
    /// Where each thread has looked for completions last, in order.
    polls: Vec<(usize, *const Unit)>,
}

impl Others {
    fn new(nic: &Nic) -> Self {
        let receivers = nic.wqs.iter().filter_map(|(_, wq)| wq.receive.as_ref());
        let receiving: HashSet<u32> = receivers.map(|receiver| receiver.cqn).collect();
        let wakes = |cq: &Cq| cq.wakes() && (receiving.contains(&cq.number) || cq.users == 0);
        let waking = nic.cqs.iter().map(|(_, cq)| cq).filter(|cq| wakes(cq));
        let woken = waking.filter_map(|cq| cq.unit.as_ref()).map(Arc::as_ptr);
        let woken = woken.collect();
        let objects = machine().objects();
        let units = objects.units.iter().map(|(_, unit)| unit);
        let mut polls: Vec<_> = units
            .map(|unit| (unit.polled(), Arc::as_ptr(unit)))
            .collect();
        polls.sort_unstable();
        Self {
            receiving,
            woken,
            polls,
        }
    }

    /// Whether another queue wakes the handler.
    fn wakes(&self, unit: &Arc<Unit>) -> bool {
        self.woken.contains(&Arc::as_ptr(unit))
    }

    /// Whether another thread has looked for completions in the queue.
    fn looks_at(&self, cq: &Cq, unit: &Arc<Unit>) -> bool {
        let ring = cq.ring.at(0, 1).addr();
        let first = self.polls.partition_point(|&(at, _)| at < ring);
        let in_ring = |&&(at, _): &&(usize, _)| at - ring < 64 << cq.log_depth;
        let mut polls = self.polls[first..].iter().take_while(in_ring);
        polls.any(|&(_, other)| other != Arc::as_ptr(unit))
    }
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
