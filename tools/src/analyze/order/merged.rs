//! The order of the recorded clocks. It is right only if all ranks ran on one node, or if the
//! nodes' clocks agree.

use super::gate::Gate;
use super::{Clock, Happening, Order};
use crate::analyze::program::{Action, End, Program, TransferKind, UNKNOWN};
use crate::analyze::replay::RankView;
use crate::analyze::run::Run;

/// An event at its time. At equal times posts come first, then messages in the order of their
/// lists, then probes.
type Timed = (i64, u32, Happening);

/// The orders of all ranks. A receive is posted when its call is entered, a message arrives when
/// its sending call is entered, and a probe looks when it returns. A message without recorded send
/// arrives when its receive is waited for.
///
/// Clocks may disagree, and a message takes time. So at a rank with probes the recorded pairs count
/// as well (`Gate`): a message that a probe found arrives with the probe at the latest, and a
/// message that would be found or received in its place arrives after it.
#[derive(Debug)]
pub struct Merged<'a> {
    run: &'a Run,
    start: i64,
    /// When each program's transfers began.
    begins: Vec<Clock>,
}

impl<'a> Merged<'a> {
    /// `None` if a trace has no wall times.
    pub fn new(run: &'a Run) -> Option<Self> {
        let programs = &run.programs;
        let recorded = |program: &Program| {
            program.steps.iter().any(|step| step.at_ns != 0) || program.steps.is_empty()
        };
        if !programs.iter().all(recorded) {
            return None;
        }
        let start = programs
            .iter()
            .filter_map(|program| program.steps.iter().next())
            .map(|step| step.at_ns)
            .min();
        let start = start.unwrap_or(0);
        Some(Self {
            run,
            start,
            begins: programs.iter().map(|it| begins(it, start)).collect(),
        })
    }

    /// The order at the n-th program.
    ///
    /// # Complexity
    /// Sorts the events of the rank.
    pub fn order(&self, at: usize) -> Order {
        let view = self.run.view(at);
        let (mut events, latest) = own_events(view);
        let ends = ends(view.program);
        for (at, message) in (0..).zip(view.inbound.iter()) {
            let sender = self.run.program_of(message.sender);
            let begin = sender.filter(|_| message.op != UNKNOWN);
            let begin = begin.and_then(|it| self.begins[it].get(message.op as usize));
            let time = match begin {
                Some(since) => self.start.wrapping_add_unsigned(since),
                None => ends
                    .get(message.receive as usize)
                    .copied()
                    .unwrap_or(latest),
            };
            events.push((time, 1, Happening::Arrive(at)));
        }
        events.sort_by_key(|&(time, class, _)| (time, class));
        gated(view, events, self.start)
    }
}

/// What the rank does itself, and the time of its last event.
fn own_events(view: RankView<'_>) -> (Vec<Timed>, i64) {
    let program = view.program;
    let mut events = Vec::with_capacity(program.steps.len() + view.inbound.len());
    let mut latest = i64::MIN;
    for step in &program.steps {
        // Calls of several threads may overlap: the recorded order counts.
        latest = latest.max(step.at_ns);
        let happening = match step.action {
            Action::Begin(at) => match program.transfers.at(at).kind {
                TransferKind::Recv => Happening::Post(at),
                TransferKind::Probe if view.probes.message(at).is_some() => Happening::Probe(at),
                TransferKind::Probe | TransferKind::Send | TransferKind::Null => continue,
            },
            Action::Cancel(at) if program.transfers.at(at).end == End::Cancelled => {
                Happening::Cancel(at)
            }
            Action::Cancel(_) | Action::Finish { .. } | Action::Collective { .. } => continue,
        };
        // A stable sort: program order among equals.
        let class = if matches!(happening, Happening::Probe(_)) {
            2
        } else {
            0
        };
        events.push((latest, class, happening));
    }
    (events, latest)
}

/// The order of sorted events in which each probe finds its message.
fn gated(view: RankView<'_>, events: Vec<Timed>, start: i64) -> Order {
    let mut order = Order::with_times(events.len());
    let mut gate = Gate::new(view, true);
    let mut now = 0;
    for (time, _, happening) in events {
        now = time.saturating_sub(start).max(0) as u64;
        let Some(gate) = &mut gate else {
            order.push_at(happening, now);
            continue;
        };
        let (before, after) = match happening {
            Happening::Arrive(message) => (Vec::new(), gate.offer(message)),
            Happening::Cancel(receive) => (Vec::new(), gate.cancel(receive)),
            Happening::Probe(probe) => match view.probes.message(probe) {
                Some(message) if !gate.has_arrived(message) => {
                    (gate.demand(message, true), Vec::new())
                }
                _ => (Vec::new(), Vec::new()),
            },
            Happening::Post(_) => (Vec::new(), Vec::new()),
        };
        for message in before {
            order.push_at(Happening::Arrive(message), now);
        }
        if !matches!(happening, Happening::Arrive(_)) {
            order.push_at(happening, now);
        }
        for message in after {
            order.push_at(Happening::Arrive(message), now);
        }
    }
    // The claims of a damaged trace may wait for each other.
    while let Some(message) = gate.as_mut().and_then(Gate::next_held) {
        for message in gate.iter_mut().flat_map(|gate| gate.demand(message, true)) {
            order.push_at(Happening::Arrive(message), now);
        }
    }
    order
}

/// When each transfer began, since the start of the run: in the order of their numbers.
fn begins(program: &Program, start: i64) -> Clock {
    let mut begins = Clock::with_capacity(program.transfers.len());
    let mut latest = i64::MIN;
    for step in &program.steps {
        latest = latest.max(step.at_ns);
        if let Action::Begin(_) = step.action {
            begins.push(latest.wrapping_sub(start).cast_unsigned());
        }
    }
    begins
}

/// When each receive of a rank was waited for; monotonic.
fn ends(program: &Program) -> Vec<i64> {
    let mut ends = vec![i64::MAX; program.transfers.len()];
    let mut latest = i64::MIN;
    for step in &program.steps {
        latest = latest.max(step.at_ns);
        match step.action {
            Action::Begin(at) if program.transfers.at(at).blocking => ends[at as usize] = latest,
            Action::Finish { first, count } => {
                let finished = program.finished.part(first, count);
                finished.for_each(|at| ends[at as usize] = latest);
            }
            _ => {}
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::Inbound;
    use crate::analyze::by_hand::{program, receive};
    use crate::analyze::program::Step;

    #[test]
    fn messages_that_nobody_is_known_to_have_sent_come_with_their_receives_end() {
        let mut receiver = program(
            1,
            &[receive(0, 1, End::Ignored), receive(0, 2, End::Ignored)],
        );
        receiver.finished = [1, 0].into_iter().collect();
        receiver.steps.edit(|steps| {
            let times = steps.iter_mut().zip([100, 110]);
            times.for_each(|(step, at_ns)| step.at_ns = at_ns);
        });
        for (first, at_ns) in [(0, 130), (1, 170)] {
            let action = Action::Finish { first, count: 1 };
            receiver.steps.push(Step {
                at_ns,
                gap_ns: 0,
                action,
            });
        }
        let mut run = Run::new(vec![receiver], Some(2));
        let message = |receive| Inbound {
            sender: 0,
            op: UNKNOWN,
            comm: 0,
            source: 0,
            tag: receive + 1,
            bytes: 4,
            receive,
        };
        run.inbound = vec![[message(0), message(1)].into_iter().collect()];
        let orders = run.merged().expect("wall times");
        let happened: Vec<_> = orders[0]
            .iter()
            .enumerate()
            .map(|(at, happening)| (happening, orders[0].time_ns(at)))
            .collect();
        let [post, arrive] = [Happening::Post, Happening::Arrive];
        let expected = [
            (post(0), Some(0)),
            (post(1), Some(10)),
            (arrive(1), Some(30)),
            (arrive(0), Some(70)),
        ];
        assert_eq!(happened, expected);
    }
}
