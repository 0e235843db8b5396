//! Charges: the handlers of `dpa_model` report each access and phase here.
//!
//! All functions do nothing off the clock and outside of a run.

use super::memory::Place;
use super::tasks::with_machine;
use super::{Kind, Phase};

pub fn slice_begins(worker: usize) {
    with_machine(|machine| machine.begin_slice(worker));
}

/// The handler has announced that its slice is done.
pub fn slice_ends() {
    with_machine(|machine| machine.end_slice());
}

/// The handler has reached the code step with this number.
pub fn step(step: usize) {
    with_machine(|machine| machine.step(step));
}

pub fn arrival(position: u64) {
    with_machine(|machine| machine.arrive(position));
}

pub fn entry(position: u64) {
    with_machine(|machine| {
        machine.read_landed(Place::Entry(position));
        machine.work(machine.costs().work.poll);
    });
}

pub fn hash() {
    with_machine(|machine| machine.work(machine.costs().work.hash));
}

/// A search begins; on the slow path it belongs to that phase.
pub fn search() {
    with_machine(|machine| machine.search());
}

pub fn bin(bin: u32) {
    with_machine(|machine| machine.read(Place::Bin(bin)));
}

pub fn visit(receive: u32) {
    with_machine(|machine| {
        machine.visit(receive);
        machine.work(machine.costs().work.step);
    });
}

/// The handler sets its bit in a receive's booking word; `alone`: with a plain store.
pub fn book(receive: u32, alone: bool) {
    with_machine(|machine| {
        machine.enter(Phase::Book);
        if alone {
            machine.write(Place::Descriptor(receive));
        } else {
            machine.post_modify(Place::Descriptor(receive));
        }
        machine.work(machine.costs().work.book);
    });
}

pub fn publish(handler: usize) {
    with_machine(|machine| machine.write(Place::Candidate(handler)));
}

pub fn barrier() {
    with_machine(|machine| machine.enter(Phase::Barrier));
}

/// The handler sets its bit in the barrier's bitmap.
pub fn set_bit(block: u64) {
    with_machine(|machine| machine.modify(Place::bits(block)));
}

pub fn look_at_bits(block: u64) {
    with_machine(|machine| machine.look(Place::bits(block)));
}

pub fn clear_bits(block: u64) {
    with_machine(|machine| machine.write(Place::bits(block + 1)));
}

pub fn progress(worker: usize) {
    with_machine(|machine| machine.write(Place::Progress(worker)));
}

pub fn look_at_progress(worker: usize) {
    with_machine(|machine| machine.look(Place::Progress(worker)));
}

/// The handler has passed the barrier and looks for conflicts among the candidates of `handlers`.
pub fn detect(handlers: usize) {
    with_machine(|machine| {
        Place::candidates(handlers).for_each(|line| machine.read(line));
        machine.work(machine.costs().work.detect);
    });
}

pub fn write_key(handler: usize) {
    with_machine(|machine| machine.write(Place::Key(handler)));
}

/// The handler reads the keys of all lower handlers.
pub fn read_keys(handlers: usize) {
    with_machine(|machine| Place::keys(handlers).for_each(|line| machine.read(line)));
}

/// The handler reads the candidate of a lower handler of its domain.
pub fn candidate(handler: usize) {
    with_machine(|machine| machine.read(Place::Candidate(handler)));
}

/// The handler looks for conflicts in its domain.
pub fn detect_in_domain(is_first: bool) {
    with_machine(|machine| machine.detect_in_domain(is_first));
}

/// The handler reads more of another's candidate: the message, if unknown, and the receive.
pub fn claim(message: Option<u64>, receive: Option<u32>) {
    with_machine(|machine| {
        let places = [message.map(Place::Entry), receive.map(Place::Descriptor)];
        places.into_iter().flatten().for_each(|place| machine.read(place));
    });
}

/// The handler has a conflict and tries the fast path.
pub fn fast() {
    with_machine(|machine| {
        machine.enter(Phase::Fast);
        machine.work(machine.costs().work.fast);
    });
}

pub fn slow() {
    with_machine(|machine| machine.enter(Phase::Slow));
}

pub fn waited() {
    with_machine(|machine| machine.work(machine.costs().work.slow));
}

pub fn state(receive: u32) {
    with_machine(|machine| machine.read(Place::Descriptor(receive)));
}

/// The handler marks a receive as consumed; `clean`: without a conflict.
pub fn consume(receive: u32, clean: bool) {
    with_machine(|machine| {
        if clean {
            machine.enter(Phase::Clean);
        }
        machine.work(machine.costs().work.consume);
        machine.write(Place::Descriptor(receive));
    });
}

/// A consumed receive leaves its bin's chain, under the bin's lock unless the handler is `alone`.
pub fn remove(bin: u32, receive: u32, alone: bool) {
    with_machine(|machine| {
        if alone {
            machine.read(Place::Bin(bin));
        } else {
            machine.modify(Place::Bin(bin));
        }
        machine.read(Place::Descriptor(receive));
        machine.write(Place::Bin(bin));
    });
}

/// A handler reports its receive to the leader.
pub fn note(handler: usize) {
    with_machine(|machine| machine.write(Place::Taken(handler)));
}

pub fn link(receive: u32) {
    with_machine(|machine| machine.read(Place::Descriptor(receive)));
}

/// The protocol stage begins; `in_conflict`: this handler resolved a conflict.
pub fn protocol(in_conflict: bool) {
    with_machine(|machine| {
        machine.begin_protocol(in_conflict);
        machine.work(machine.costs().work.protocol);
    });
}

pub fn bounce(buffer: usize, bytes: usize) {
    with_machine(|machine| {
        (0..bytes.div_ceil(64)).for_each(|line| machine.read_landed(Place::Bounce(buffer, line)))
    });
}

/// Payload goes to the user's buffer through the window, unless the handler [reads](rendezvous) it
/// from the sender.
pub fn window(bytes: usize) {
    with_machine(|machine| {
        if (1..=machine.eager_bytes()).contains(&bytes) {
            machine.host(Kind::Window, machine.window_cost(bytes));
        }
    });
}

pub fn rendezvous() {
    with_machine(|machine| machine.read_remote());
}

/// The handler writes a result to the completion ring.
pub fn completion() {
    with_machine(|machine| machine.host(Kind::Completion, machine.costs().completion));
}

/// The boundary has cut a block of `count` messages.
pub fn block_begins(first: u64, count: usize) {
    with_machine(|machine| machine.begin_block(first, count));
}

pub fn boundary_for(handler: usize) {
    with_machine(|machine| machine.begin_boundary(handler));
}

pub fn command() {
    with_machine(|machine| machine.begin_command());
}

pub fn boundary_ends() {
    with_machine(|machine| machine.end_boundary());
}

/// Recycles a receive and reposts its message's buffer.
pub fn recycle(receive: u32) {
    with_machine(|machine| {
        machine.write(Place::Descriptor(receive));
        machine.host(Kind::Doorbell, machine.costs().doorbell);
    });
}

/// A handler has no receive for its message.
pub fn unmatched(handler: usize) {
    with_machine(|machine| machine.unmatched(handler));
}

/// Stores a message without a receive in the unexpected store.
pub fn store(entry: u32) {
    with_machine(|machine| machine.store(entry));
}

pub fn visit_unexpected(entry: u32) {
    with_machine(|machine| {
        machine.read(Place::Unexpected(entry));
        machine.work(machine.costs().work.step);
    });
}

/// A post takes an unexpected message and copies its data to the user's buffer.
pub fn late(entry: u32) {
    with_machine(|machine| machine.take_late(entry));
}

pub fn post(bin: u32, receive: u32) {
    with_machine(|machine| {
        machine.command_done();
        machine.write(Place::Descriptor(receive));
        machine.write(Place::Bin(bin));
        machine.work(machine.costs().work.post);
    });
}
