//! Executes the ranks' steps.

use super::due::Event;
use super::{Causal, Link, Network, Wait};
use crate::analyze::order::Happening;
use crate::analyze::program::{Action, End, Sync, TransferKind, UNKNOWN, UNKNOWN_BYTES};
use dpamatch::engine::{Engine, RecvId};

impl Causal<'_> {
    /// Runs a rank until it blocks, or until another event is due before its next step.
    pub(super) fn go(&mut self, rank: u32) {
        loop {
            let state = &mut self.ranks[rank as usize];
            if state.wait == Wait::End {
                return;
            }
            if state.wait == Wait::Woken {
                state.wait = Wait::Nothing;
                state.go_on();
                self.schedule(rank);
                return;
            }
            let Some(&step) = state.steps.peek() else {
                state.wait = Wait::End;
                return;
            };
            let wait = self.take_step(rank, step.action);
            let state = &mut self.ranks[rank as usize];
            state.wait = wait;
            if wait != Wait::Nothing {
                return;
            }
            state.go_on();
            let at = self.next_time(rank);
            if self.due.next_ns().is_some_and(|next| next <= at) {
                self.due.push(Event::step(at, rank));
                return;
            }
            self.ranks[rank as usize].now_ns = at;
        }
    }

    fn next_time(&mut self, rank: u32) -> u64 {
        let state = &mut self.ranks[rank as usize];
        let gap = state.steps.peek().map_or(0, |step| step.gap_ns);
        let gap = if self.network.compute == 1.0 {
            gap
        } else {
            (gap as f64 * self.network.compute) as u64
        };
        state
            .now_ns
            .saturating_add(gap)
            .saturating_add(self.network.call_ns)
    }

    fn schedule(&mut self, rank: u32) {
        let at = self.next_time(rank);
        self.due.push(Event::step(at, rank));
    }

    /// Executes the step; returns what it must wait for.
    fn take_step(&mut self, rank: u32, action: Action) -> Wait {
        let now = self.ranks[rank as usize].now_ns;
        match action {
            Action::Begin(at) => {
                let transfer = self.programs[rank as usize].transfers.but_call(at);
                match transfer.kind {
                    TransferKind::Null => Wait::Nothing,
                    TransferKind::Send => {
                        self.send(rank, at, now);
                        let waits = transfer.blocking && transfer.synchronous;
                        if waits && self.receiver(rank, at).is_some() {
                            self.until(rank, at)
                        } else {
                            Wait::Nothing
                        }
                    }
                    TransferKind::Recv => {
                        let global = self.comms.global(rank as usize, transfer.comm);
                        let comm = self.engine_comm(rank, global);
                        self.happens(rank, Happening::Post(at), now);
                        if self.load.counts(global) {
                            let cost = self.load.receive_ns.get(rank as usize);
                            self.ranks[rank as usize].now_ns += cost.copied().unwrap_or(0);
                        }
                        let id = RecvId(u64::from(rank) << 32 | u64::from(at));
                        if let Some(message) = self.engine.post(id, comm, transfer.selector()) {
                            let message = self.inbound[rank as usize].at(message.0 as u32);
                            self.matched(rank, at, &message, now);
                        }
                        if transfer.blocking {
                            self.make_up(rank, at, now);
                        }
                        if transfer.blocking {
                            self.until(rank, at)
                        } else {
                            Wait::Nothing
                        }
                    }
                    TransferKind::Probe => {
                        if let Some(message) = self.probes[rank as usize].message(at) {
                            self.make_up_messages(rank, message, now);
                        }
                        self.probe(rank, at, now)
                    }
                }
            }
            Action::Finish { first, count } => {
                for place in first..first + count {
                    let at = self.programs[rank as usize].finished.at(place);
                    self.make_up(rank, at, now);
                }
                self.finish(rank, first, first + count)
            }
            // A failed cancel is no event: its receive got a message.
            Action::Cancel(at) if !self.is_cancelled(rank, at) => Wait::Nothing,
            Action::Cancel(at) => {
                self.happens(rank, Happening::Cancel(at), now);
                if self
                    .engine
                    .cancel(RecvId(u64::from(rank) << 32 | u64::from(at)))
                {
                    self.ranks[rank as usize].complete.set(at);
                }
                let gate = self.ranks[rank as usize].gate.as_mut();
                for message in gate.map_or(Vec::new(), |gate| gate.cancel(at)) {
                    self.deliver(rank, message, now);
                }
                Wait::Nothing
            }
            Action::Collective { comm, sync, root } => self.meet(rank, comm, sync, root, now),
        }
    }

    fn is_cancelled(&self, rank: u32, at: u32) -> bool {
        self.programs[rank as usize].transfers.but_call(at).end == End::Cancelled
    }

    /// Adds a message without recorded send when its receive is waited for. This is the latest
    /// possible time, so queues are too long rather than too short.
    fn make_up(&mut self, rank: u32, at: u32, now: u64) {
        if self.programs[rank as usize].transfers.but_call(at).kind != TransferKind::Recv {
            return;
        }
        let inbound = &self.inbound[rank as usize];
        if inbound.has_assumed()
            && let Some(message) = inbound.assumed(at)
        {
            self.make_up_messages(rank, message, now);
        }
    }

    /// Adds this message if its send is not recorded, and such messages that must arrive before it.
    fn make_up_messages(&mut self, rank: u32, message: u32, now: u64) {
        let all_before = |causal: &Self, message: u32| {
            let gate = causal.ranks[rank as usize].gate.as_ref();
            gate.map_or(Vec::new(), |gate| gate.all_before(message))
        };
        let mut all = all_before(self, message);
        all.push(message);
        while let Some(message) = all.pop() {
            if self.inbound[rank as usize].at(message).op != UNKNOWN {
                continue;
            }
            if self.ranks[rank as usize].made_up.set(message) {
                let time_ns = now + self.network.latency_ns;
                self.due.push(Event {
                    time_ns,
                    rank,
                    message,
                });
                all.extend(all_before(self, message));
            }
        }
    }

    fn until(&self, rank: u32, at: u32) -> Wait {
        if self.ranks[rank as usize].complete.has(at) {
            Wait::Nothing
        } else {
            Wait::Transfer(at)
        }
    }

    pub(super) fn finish(&self, rank: u32, first: u32, end: u32) -> Wait {
        let program = &self.programs[rank as usize];
        let complete = |place: u32| {
            let at = program.finished.at(place);
            let transfer = program.transfers.but_call(at);
            match transfer.kind {
                TransferKind::Null | TransferKind::Probe => true,
                TransferKind::Recv => self.ranks[rank as usize].complete.has(at),
                TransferKind::Send => {
                    let waits = transfer.synchronous && self.receiver(rank, at).is_some();
                    !waits || self.ranks[rank as usize].complete.has(at)
                }
            }
        };
        match (first..end).find(|&place| !complete(place)) {
            Some(next) => Wait::Finish { next, end },
            None => Wait::Nothing,
        }
    }

    /// Waits for the message that the probe found in the recorded run.
    pub(super) fn probe(&mut self, rank: u32, at: u32, now: u64) -> Wait {
        let Some(message) = self.probes[rank as usize].message(at) else {
            return Wait::Nothing;
        };
        let transfer = self.programs[rank as usize].transfers.but_call(at);
        let comm = self.engine_comm(rank, self.comms.global(rank as usize, transfer.comm));
        let found = self.engine.probe(comm, transfer.selector());
        if found.is_none_or(|found| found.0 as u32 != message) {
            return Wait::Probe(at);
        }
        self.happens(rank, Happening::Probe(at), now);
        Wait::Nothing
    }

    /// The program to which a send goes, if it has a trace.
    fn receiver(&self, rank: u32, at: u32) -> Option<u32> {
        let kind = self.programs[rank as usize].transfers.kind(at);
        let state = &self.ranks[rank as usize];
        let link = state.links.get(state.ways[kind as usize] as usize)?;
        Some(link.receiver)
    }

    fn send(&mut self, rank: u32, at: u32, now: u64) {
        let transfers = &self.programs[rank as usize].transfers;
        let transfer = transfers.but_call(at);
        let state = &mut self.ranks[rank as usize];
        let way = state.ways[transfers.kind(at) as usize];
        let Some(link) = state.links.get_mut(way as usize) else {
            return;
        };
        let &mut Link {
            receiver,
            next: message,
            ..
        } = link;
        link.next += 1;
        debug_assert_eq!(
            self.inbound[receiver as usize].at(message).op,
            at,
            "transfers begin in order"
        );
        let bytes = match transfer.bytes {
            UNKNOWN_BYTES => 0,
            bytes => bytes,
        };
        let Network {
            latency_ns,
            bytes_per_us,
            jitter_ns,
            ..
        } = self.network;
        let jitter = if jitter_ns == 0 {
            0
        } else {
            state.dice.below(jitter_ns)
        };
        let arrives = now + latency_ns + bytes * 1000 / bytes_per_us.max(1) + jitter;
        link.last_arrival_ns = link.last_arrival_ns.max(arrives);
        let arrives = link.last_arrival_ns;
        let comm = self.comms.global(rank as usize, transfer.comm);
        let delay = if self.load.counts(comm) {
            self.load.delay_ns
        } else {
            0
        };
        self.due.push(Event {
            time_ns: arrives + delay,
            rank: receiver,
            message,
        });
    }

    fn meet(&mut self, rank: u32, local: u16, sync: Sync, root: u32, now: u64) -> Wait {
        let comm = self.comms.global(rank as usize, local);
        let present = self.present[comm as usize];
        if present < 2 || sync == Sync::None {
            return Wait::Nothing;
        }
        let count = self.met.entry((rank, comm)).or_default();
        let number = *count;
        *count += 1;
        let meeting = self.meetings.entry((comm, number)).or_default();
        meeting.came += 1;
        meeting.latest_ns = meeting.latest_ns.max(now);
        let is_root = root == self.comms.own_rank(rank as usize, local);
        if is_root {
            meeting.root_came = true;
            meeting.root_ns = now;
        }
        let all_came = meeting.came >= present;
        let (waits, opens) = match sync {
            Sync::All => (!all_came, all_came),
            Sync::FromRoot => (!is_root && !meeting.root_came, is_root),
            Sync::ToRoot => (is_root && !all_came, all_came),
            Sync::None => (false, false),
        };
        if waits {
            meeting.waiting.push(rank);
        }
        let leave = match sync {
            Sync::FromRoot => meeting.root_ns,
            _ => meeting.latest_ns,
        };
        let woken = if opens {
            std::mem::take(&mut meeting.waiting)
        } else {
            Vec::new()
        };
        if all_came {
            self.meetings.remove(&(comm, number));
        }
        for other in woken {
            // The simulation may have released it before.
            if self.ranks[other as usize].wait == Wait::Collective(comm, number) {
                self.wake(other, leave + self.network.latency_ns);
            }
        }
        if waits {
            Wait::Collective(comm, number)
        } else {
            Wait::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::Run;
    use crate::analyze::by_hand::{program, receive, send};
    use crate::analyze::order::Load;
    use crate::analyze::program::{Step, Transfer};

    /// The root stalls: its receive from any source took the message meant for its next receive.
    /// Ranks that wait for the root continue at its release, not when the last rank comes.
    #[test]
    fn who_waits_for_the_root_leaves_when_it_comes() {
        let meet = |rank, transfers: &[Transfer], gap_ns| {
            let mut program = program(rank, transfers);
            let action = Action::Collective {
                comm: 0,
                sync: Sync::FromRoot,
                root: 1,
            };
            program.steps.push(Step {
                at_ns: 0,
                gap_ns,
                action,
            });
            program
        };
        let from = |peer, got_source| Transfer {
            blocking: true,
            got_source,
            got_tag: 0,
            ..receive(peer, 0, End::Known)
        };
        let programs = vec![
            meet(0, &[send(1, 0)], 2_000),
            meet(1, &[from(-1, 2), from(0, 0)], 0),
            meet(2, &[send(1, 0)], 1_000_000),
        ];
        let run = Run::new(programs, Some(3));
        let (latency_ns, call_ns) = (1_500, 100);
        let network = Network {
            latency_ns,
            jitter_ns: 0,
            call_ns,
            ..Network::default()
        };
        // The root has a message at 1,500, asks for the other at 1,600 and enters at 1,700.
        let ends = run.ends(network, Load::default());
        assert_eq!(
            ends,
            [1_700 + latency_ns + call_ns, 1_700 + call_ns, 1_000_200]
        );
    }
}
