//! The NIC: completion, receive and send queues, and keys, behind one lock.
//!
//! Rings and doorbell records lie in the device's heap, in the hardware's formats ([`format`]).
//! Device code writes them at any time, so the NIC reads bytes through pointers that were checked
//! when the queue was made, and believes nothing in them.

mod asleep;
mod completion;
mod far;
pub(crate) mod format;
mod host;
mod key;
mod pair;
mod receive;
mod send;

pub(crate) use completion::{Completion, Cq};
pub(crate) use host::{attach, destroy as detach};
pub(crate) use key::{Keys, Mkey};
pub(crate) use pair::Pair;
pub(crate) use receive::Receiver;
pub(crate) use send::Sender;

use crate::check::race::Cause;
use crate::check::{Fault, device};
use crate::environment::number;
use crate::machine::{NicGuard, machine};
use crate::slab::Slab;
use crate::thread::Unit;
use crate::verbs::Steering;
use crate::wire::Wires;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Numbers begin here, apart from each other, so that a wrong one is found.
const FIRST_CQ: u32 = 0x400;
const FIRST_WQ: u32 = 0x100;
/// Bytes of the largest frame.
const FRAME: usize = 1 << 14;

/// A work queue: one for receiving, one for sending, or a pair of both (QP).
#[derive(Default)]
pub(crate) struct Wq {
    pub(crate) process: u32,
    /// The protection domain that its attributes name, by address; 0 for none, which is not
    /// checked.
    pub(crate) pd: usize,
    pub(crate) receive: Option<Receiver>,
    /// The shared work queue of a pair without its own receive queue.
    pub(crate) shared: Option<u32>,
    pub(crate) send: Option<Sender>,
    pub(crate) pair: Option<Pair>,
    /// Steering rules that lead here.
    pub(crate) rules: u32,
}

/// What becomes of a frame that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    Taken,
    /// No rule leads it anywhere.
    Dropped,
    /// No rule yet, no buffer, or no running handler: a file offers it again.
    Later,
}

pub(crate) struct Nic {
    pub(crate) cqs: Slab<Cq>,
    pub(crate) wqs: Slab<Wq>,
    pub(crate) keys: Keys,
    pub(crate) steering: Steering,
    pub(crate) wires: Wires,
    outgoing: Vec<u8>,
    /// Memory of the send queue entry that is worked on.
    entry: Vec<u8>,
    /// Send queues whose peers had no buffer, or have not answered a READ.
    stalled: Vec<u32>,
    /// What pairs of other programs wait for.
    operations: far::Operations,
    /// Signals of events that are due once nobody holds the NIC.
    signals: Vec<crate::doca::Signal>,
    /// Turns until a READ is answered.
    read_turns: u64,
    /// Completions that were written so far, by all queues.
    pub(crate) completions: u64,
    /// Workers that sleep though their threads poll.
    napping: Vec<usize>,
    /// When it last looked for handlers that sleep for good.
    looked: Option<Instant>,
    /// When a handler last began to run, if that was after the last look.
    last_run: Option<asleep::Moment>,
    /// How long the program has run, as far as looks have shown.
    ran: Duration,
}

impl Nic {
    pub(crate) fn new() -> Self {
        let wires = Wires::new();
        // Programs that a link joins have different numbers.
        let first = wires.first_number();
        Self {
            cqs: Slab::new(FIRST_CQ),
            wqs: Slab::new(first + FIRST_WQ),
            keys: Keys::new(first),
            steering: Steering::default(),
            wires,
            outgoing: Vec::new(),
            entry: Vec::new(),
            stalled: Vec::new(),
            operations: far::Operations::new(),
            signals: Vec::new(),
            read_turns: number("DPA_READ_TURNS", 0, 0..=u64::MAX),
            completions: 0,
            napping: Vec::new(),
            looked: None,
            last_run: None,
            ran: Duration::ZERO,
        }
    }

    /// Whether a completion queue wakes this thread.
    pub(crate) fn uses(&self, unit: &Arc<Unit>) -> bool {
        self.cqs.iter().any(|(_, cq)| {
            cq.unit
                .as_ref()
                .is_some_and(|other| Arc::ptr_eq(other, unit))
        })
    }

    pub(crate) fn forget(&mut self, process: u32) {
        self.wqs.retain(|wq| wq.process != process);
        self.cqs.retain(|cq| cq.process != process);
        self.keys.forget(process);
    }

    /// Writes a completion and wakes the queue's thread if it is armed.
    pub(crate) fn complete(&mut self, cqn: u32, completion: &Completion) {
        let Some(cq) = self.cqs.get_mut(cqn) else {
            return;
        };
        crate::trace::completion(cqn, completion.opcode, completion.bytes);
        self.completions += 1;
        if cq.push(completion) {
            cq.wake();
        } else if !self.napping.is_empty() {
            machine().scheduler.rouse(self.napping.drain(..));
        }
    }

    /// A worker whose threads poll wants to sleep. False if a completion has come since it saw
    /// `completions` of them.
    pub(crate) fn naps(&mut self, worker: usize, completions: u64) -> bool {
        if self.completions != completions {
            return false;
        }
        if !self.napping.contains(&worker) {
            self.napping.push(worker);
        }
        true
    }

    /// Arms a completion queue: the next completion after `index` wakes its thread.
    pub(crate) fn arm(&mut self, by: Option<&Unit>, index: u32, cqn: u32) {
        crate::trace::doorbell(by, "arm", cqn, index);
        let Some(cq) = self.cqs.get_mut(cqn) else {
            let text = format_args!("no completion queue {cqn:#x} to arm");
            return device(by, Fault::NoSuchQueue, text);
        };
        if let Some(owner) = strangers(by, cq.process) {
            let text = format_args!("completion queue {cqn:#x} belongs to process {owner}");
            return device(by, Fault::Foreign, text);
        }
        let said = format_args!("completion queue {cqn:#x} is armed at {index}");
        if cq.is_ahead(index) {
            let (written, why) = (cq.producer, cq.why_ahead());
            let text = format_args!("{said}, and {written} completions were written{why}");
            device(by, Fault::Ahead, text);
        }
        if let Some(consumed) = cq.is_behind(index) {
            let why = "though its record says that";
            let text = format_args!("{said}, {why} {consumed} completions are consumed");
            device(by, Fault::OldIndex, text);
        }
        let arms = by.map(|unit| (unit.id, unit.activations(), index));
        if cq.armed && arms.is_some() && cq.armed_by == arms {
            device(
                by,
                Fault::ArmedTwice,
                format_args!("{said} twice in this activation"),
            );
        }
        cq.armed_by = arms;
        let receiver = cq.receiver;
        if cq.arm(index) {
            let waiting = cq.producer.wrapping_sub(index);
            if cq.wakes_in_vain(index) {
                let text = format_args!(
                    "{said} again and again, though {waiting} completions wait there: the handler \
                     is woken and takes none"
                );
                device(by, Fault::TakesNone, text);
            }
            // What the arming thread did before, the woken one knows.
            if let Some((by, unit)) = by.zip(cq.unit.as_ref()) {
                crate::check::race::wakes(by, unit);
            }
            cq.wake();
        }
        let receive = receiver.and_then(|number| self.wqs.get(number)?.receive.as_ref());
        if let Some((receive, number)) = receive.zip(receiver)
            && let Some(given) = receive.excess()
        {
            too_many_buffers(by, number, given, 1 << receive.log_depth);
        }
    }

    /// Writes a completion of zeros, which wakes a thread.
    pub(crate) fn zero_completion(&mut self, by: Option<&Unit>, cqn: u32) {
        let Some(cq) = self.cqs.get(cqn) else {
            let text = format_args!("no completion queue {cqn:#x} to wake");
            return device(by, Fault::NoSuchQueue, text);
        };
        if let Some(owner) = strangers(by, cq.process) {
            let text = format_args!("completion queue {cqn:#x} belongs to process {owner}");
            return device(by, Fault::Foreign, text);
        }
        self.complete(cqn, &Completion::default());
    }

    pub(crate) fn receive_frame(&mut self, frame: &[u8]) -> Arrival {
        let Some(number) = self.steering.receive(frame) else {
            let are_there = self.steering.receiving() >= self.wires.rules;
            return if are_there {
                Arrival::Dropped
            } else {
                Arrival::Later
            };
        };
        let pd = self.wqs.get(number).map_or(0, |wq| wq.pd);
        let wq = self.wqs.get_mut(number).and_then(|wq| wq.receive.as_mut());
        let Some(receiver) = wq else {
            return Arrival::Dropped;
        };
        let cqn = receiver.cqn;
        if self.cqs.get_mut(cqn).is_some_and(Cq::delays) {
            return Arrival::Later;
        }
        let cq = self.cqs.get(cqn);
        let unit = cq.and_then(|cq| cq.unit.as_ref());
        if unit.is_some_and(|unit| unit.state.is_new()) {
            return Arrival::Later;
        }
        if let Some(given) = receiver.excess() {
            let depth = 1_u32 << receiver.log_depth;
            too_many_buffers(unit.map(|unit| &**unit), number, given, depth);
        }
        let Some(buffer) = receiver.take() else {
            if let Some(unit) = unit.filter(|unit| unit.state.is_idle() && !receiver.broken)
                && cq.is_some_and(|cq| cq.armed && cq.is_consumed())
            {
                let text = format_args!(
                    "receive queue {number:#x}: a frame comes and no buffer was given back, though \
                     the thread waits and has consumed all completions"
                );
                device(Some(unit), Fault::NoBuffer, text);
            }
            return Arrival::Later;
        };
        if let (Some(unit), true) = (unit, crate::model::is_on()) {
            // ordering: a statistic.
            unit.frames.fetch_add(1, Ordering::Relaxed);
        }
        let mut completion = buffer.completion(number);
        completion.bytes = frame.len() as u32;
        completion.opcode = format::RECEIVED;
        completion.user_index = receiver.user_index;
        if let Err(why) = buffer.scatter(&self.keys, pd, frame) {
            device(
                None,
                Fault::Key,
                format_args!("receive queue {number:#x}: {why}"),
            );
            completion.fail(format::RESPONDER_ERROR, format::LOCAL_PROTECTION);
        }
        self.complete(cqn, &completion);
        Arrival::Taken
    }

    /// Sends a frame as the rules for leaving frames say.
    pub(crate) fn send_frame(&mut self, frame: &[u8]) {
        if self.steering.send(frame) {
            self.wires.send(frame);
        }
    }

    /// Whether something waits that no event announces.
    pub(crate) fn waits(&self) -> bool {
        self.wires.waits() || !self.stalled.is_empty()
    }

    /// Takes what the wire brings. Answers how many things moved.
    pub(crate) fn pump(&mut self) -> usize {
        let mut moved = 0;
        let cause = Cause::wire(self.wires.may_answer());
        while moved < self.wires.burst
            && let Some(frame) = self.wires.next()
        {
            if self.receive_frame(&frame) == Arrival::Later {
                self.wires.keep(frame);
                break;
            }
            moved += 1;
        }
        drop(cause);
        if self.wires.has_link() {
            moved += self.hear();
        }
        moved + usize::from(self.try_again())
    }
}

/// Lets the NIC go and gives the signals that it has got. What waits for them may need the NIC.
#[inline]
pub(crate) fn let_go(mut nic: NicGuard<'_>) {
    if nic.signals.is_empty() {
        return;
    }
    let signals = std::mem::take(&mut nic.signals);
    drop(nic);
    signals.into_iter().for_each(crate::doca::Signal::give);
}

/// The process of a queue that a thread of another one uses.
fn strangers(by: Option<&Unit>, process: u32) -> Option<u32> {
    by.is_some_and(|unit| unit.process.id != process)
        .then_some(process)
}

fn too_many_buffers(unit: Option<&Unit>, number: u32, given: u16, depth: u32) {
    let text = format_args!(
        "receive queue {number:#x}: its doorbell record gives {given} buffers, and it has {depth}"
    );
    device(unit, Fault::TooManyBuffers, text);
}

impl Cq {
    fn wake(&self) {
        let Some(unit) = &self.unit else { return };
        if unit.state.is_new() {
            let number = self.number;
            let text = format_args!(
                "an event of completion queue {number:#x} comes before event_handler_run, and is \
                 lost; the queue is not armed any more"
            );
            return device(Some(unit), Fault::LostEvent, text);
        }
        crate::check::race::event(self.number, unit);
        machine().scheduler.wake(unit);
    }
}
