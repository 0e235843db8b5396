//! Delivers events to ranks: messages arrive, receives complete, waiting ranks wake or are
//! released.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;

use dpamatch_vocabulary::{Envelope, Rank, Tag};

use super::due::Event;
use super::{Causal, STALLS_TOLD, Stall, Wait};
use crate::analyze::inbound::Inbound;
use crate::analyze::order::Happening;
use crate::analyze::program::UNKNOWN;
use dpamatch::engine::{Engine, MsgId};

impl Causal<'_> {
    /// A message comes. It may have to wait for others, and others may have waited for it.
    pub(super) fn arrive(&mut self, rank: u32, number: u32, time_ns: u64) {
        let Some(gate) = &mut self.ranks[rank as usize].gate else {
            return self.deliver(rank, number, time_ns);
        };
        let arriving = gate.offer(number);
        if arriving.is_empty() {
            self.holding.insert(rank);
        }
        for number in arriving {
            self.deliver(rank, number, time_ns);
        }
    }

    pub(super) fn deliver(&mut self, rank: u32, number: u32, time_ns: u64) {
        let message = self.inbound[rank as usize].at(number);
        let comm = self.engine_comm(rank, message.comm);
        let (Ok(source), Ok(tag)) = (Rank::new(message.source), Tag::new(message.tag)) else {
            return;
        };
        self.happens(rank, Happening::Arrive(number), time_ns);
        let id = MsgId(u64::from(rank) << 32 | u64::from(number));
        let recv = self.engine.arrive(id, Envelope { comm, source, tag });
        self.arrived[usize::from(recv.is_none())] += 1;
        if let Some(recv) = recv {
            self.matched(rank, recv.0 as u32, &message, time_ns);
        }
        if let Wait::Probe(at) = self.ranks[rank as usize].wait
            && self.probe(rank, at, time_ns) == Wait::Nothing
        {
            self.wake(rank, time_ns);
        }
    }

    pub(super) fn matched(&mut self, rank: u32, receive: u32, message: &Inbound, time_ns: u64) {
        self.complete(rank, receive, time_ns);
        if message.op == UNKNOWN {
            return;
        }
        let Some(sender) = self.run.program_of(message.sender) else {
            return;
        };
        let op = message.op;
        // Most ranks have no such send, and their transfers are far away.
        if self.synchronous.has(sender as u32)
            && self.programs[sender].transfers.but_call(op).synchronous
        {
            self.complete(sender as u32, op, time_ns + self.network.latency_ns);
        }
    }

    fn complete(&mut self, rank: u32, at: u32, time_ns: u64) {
        self.ranks[rank as usize].complete.set(at);
        match self.ranks[rank as usize].wait {
            Wait::Transfer(waited) if waited == at => self.wake(rank, time_ns),
            Wait::Finish { next, end } => {
                let wait = self.finish(rank, next, end);
                if wait == Wait::Nothing {
                    self.wake(rank, time_ns);
                } else {
                    self.ranks[rank as usize].wait = wait;
                }
            }
            _ => {}
        }
    }

    pub(super) fn wake(&mut self, rank: u32, time_ns: u64) {
        let state = &mut self.ranks[rank as usize];
        state.now_ns = state.now_ns.max(time_ns);
        state.wait = Wait::Woken;
        let at = state.now_ns;
        self.due.push(Event::step(at, rank));
    }

    /// If every rank waits, delivers a held message or else releases the rank that has waited
    /// longest. `false` if all are done.
    pub(super) fn let_one_go(&mut self) -> bool {
        if self.let_message_go() {
            return true;
        }
        let Some(rank) = self.longest_waiting() else {
            return false;
        };
        let state = &self.ranks[rank];
        let waits_for = match state.wait {
            Wait::Probe(_) => "a message for its probe",
            Wait::Collective(..) => "other ranks in a collective operation",
            _ => "a message",
        };
        let (wait, step) = (state.wait, state.at);
        self.note_stall(rank, step, waits_for);
        let state = &mut self.ranks[rank];
        if let Wait::Probe(probe) = wait {
            state.order.released.push(probe);
        }
        if let Wait::Finish { next, end } = state.wait {
            // Gives up only the current wait, not the rest of the list.
            let wait = self.finish(rank as u32, next + 1, end);
            self.ranks[rank].wait = wait;
            if wait != Wait::Nothing {
                return true;
            }
            self.ranks[rank].wait = Wait::Finish { next, end };
        }
        let now = self.ranks[rank].now_ns;
        self.wake(rank as u32, now);
        true
    }

    /// The rank that has waited longest, the lowest of equal ones. Clocks never go back, so a rank
    /// whose clock went on since its last look takes its place behind.
    fn longest_waiting(&mut self) -> Option<usize> {
        let ranks = &self.ranks;
        let stalled = self.stalled.get_or_insert_with(|| {
            (0..)
                .zip(ranks)
                .map(|(rank, state)| Reverse((state.now_ns, rank)))
                .collect()
        });
        while let Some(mut oldest) = stalled.peek_mut() {
            let Reverse((then_ns, rank)) = *oldest;
            let state = &ranks[rank as usize];
            if state.wait == Wait::End {
                PeekMut::pop(oldest);
            } else if state.now_ns == then_ns {
                return Some(rank as usize);
            } else {
                *oldest = Reverse((state.now_ns, rank));
            }
        }
        None
    }

    /// Delivers the first message that is held behind one that cannot come.
    fn let_message_go(&mut self) -> bool {
        while let Some(&rank) = self.holding.first() {
            let state = &mut self.ranks[rank as usize];
            let gate = state.gate.as_mut();
            let held = gate.and_then(|gate| Some((gate.next_held()?, gate)));
            let Some((message, gate)) = held else {
                self.holding.remove(&rank);
                continue;
            };
            let arriving = gate.give_up(message);
            let (step, now) = (state.at, state.now_ns);
            self.note_stall(
                rank as usize,
                step,
                "a message that was received or probed before another one",
            );
            for message in arriving {
                self.deliver(rank, message, now);
            }
            return true;
        }
        false
    }

    fn note_stall(&mut self, rank: usize, step: u32, waits_for: &'static str) {
        self.stalls += 1;
        if self.first_stalls.len() < STALLS_TOLD {
            let rank = self.programs[rank].rank;
            self.first_stalls.push(Stall {
                rank,
                step,
                waits_for,
            });
        }
    }
}
