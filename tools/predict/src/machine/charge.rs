//! The charges: what the handlers of `dpa_model` touch, told where they touch it.
//!
//! Off the clock, and outside of a run, all of them do nothing.

use super::memory::Place;
use super::tasks::with_machine;
use super::{Kind, Phase};

/// A handler begins its part of a block.
pub fn slice_begins(worker: usize) {
    with_machine(|machine| machine.begin_slice(worker));
}

/// It has told everybody that it has done its part.
pub fn slice_ends() {
    with_machine(|machine| machine.end_slice());
}

/// A handler has come to a step of its code, by the number of the step.
pub fn step(step: usize) {
    with_machine(|machine| machine.step(step));
}

/// The handler waits for its message.
pub fn arrival(position: u64) {
    with_machine(|machine| machine.arrive(position));
}

/// It reads and decodes the entry.
pub fn entry(position: u64) {
    with_machine(|machine| {
        machine.read_landed(Place::Entry(position));
        machine.work(machine.costs().work.poll);
    });
}

/// Hashes are computed.
pub fn hash() {
    with_machine(|machine| machine.work(machine.costs().work.hash));
}

/// A search begins; on the slow path it is part of that phase.
pub fn search() {
    with_machine(|machine| {
        machine.enter(Phase::Search);
        machine.work(machine.costs().work.search);
    });
}

/// A bin's head is read.
pub fn bin(bin: u32) {
    with_machine(|machine| machine.read(Place::Bin(bin)));
}

/// A receive is visited.
pub fn visit(receive: u32) {
    with_machine(|machine| {
        machine.read(Place::Descriptor(receive));
        machine.work(machine.costs().work.step);
    });
}

/// The handler sets its bit in a receive's booking word; `alone`: by a plain store.
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

/// The handler publishes its candidate.
pub fn publish(handler: usize) {
    with_machine(|machine| machine.write(Place::Candidate(handler)));
}

/// The handler comes to the barrier.
pub fn barrier() {
    with_machine(|machine| machine.enter(Phase::Barrier));
}

/// It sets its bit in the barrier's bitmap.
pub fn set_bit(block: u64) {
    with_machine(|machine| machine.modify(Place::bits(block)));
}

/// It looks at that bitmap.
pub fn look_at_bits(block: u64) {
    with_machine(|machine| machine.look(Place::bits(block)));
}

/// The bits of the block before are cleared.
pub fn clear_bits(block: u64) {
    with_machine(|machine| machine.write(Place::bits(block + 1)));
}

/// The handler writes its own progress.
pub fn progress(worker: usize) {
    with_machine(|machine| machine.write(Place::Progress(worker)));
}

/// It looks at the progress of another.
pub fn look_at_progress(worker: usize) {
    with_machine(|machine| machine.look(Place::Progress(worker)));
}

/// The handler has passed the barrier, and detects conflicts among the candidates of `handlers`.
pub fn detect(handlers: usize) {
    with_machine(|machine| {
        Place::candidates(handlers).for_each(|line| machine.read(line));
        machine.work(machine.costs().work.detect);
    });
}

/// The handler has to know more of another's candidate: the message where that is not known, and
/// the receive.
pub fn claim(message: Option<u64>, receive: Option<u32>) {
    with_machine(|machine| {
        let places = [message.map(Place::Entry), receive.map(Place::Descriptor)];
        places.into_iter().flatten().for_each(|place| machine.read(place));
    });
}

/// The handler has a conflict to resolve, and tries the fast path.
pub fn fast() {
    with_machine(|machine| {
        machine.enter(Phase::Fast);
        machine.work(machine.costs().work.fast);
    });
}

/// The handler takes the slow path.
pub fn slow() {
    with_machine(|machine| machine.enter(Phase::Slow));
}

/// It has waited for all lower handlers.
pub fn waited() {
    with_machine(|machine| machine.work(machine.costs().work.slow));
}

/// A receive's state is read.
pub fn state(receive: u32) {
    with_machine(|machine| machine.read(Place::Descriptor(receive)));
}

/// A receive is marked as taken; `clean`: without a conflict.
pub fn consume(receive: u32, clean: bool) {
    with_machine(|machine| {
        if clean {
            machine.enter(Phase::Clean);
        }
        machine.work(machine.costs().work.consume);
        machine.write(Place::Descriptor(receive));
    });
}

/// A taken receive leaves the chain of its bin, which is locked first unless nobody else is there.
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

/// A handler notes for the leader which receive it has taken.
pub fn note(handler: usize) {
    with_machine(|machine| machine.write(Place::Taken(handler)));
}

/// A receive's link is read.
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

/// Payload is read from a bounce buffer.
pub fn bounce(buffer: usize, bytes: usize) {
    with_machine(|machine| {
        (0..bytes.div_ceil(64)).for_each(|line| machine.read_landed(Place::Bounce(buffer, line)))
    });
}

/// Payload goes to the user's buffer: through the window, unless it is [read](rendezvous) from the
/// sender.
pub fn window(bytes: usize) {
    with_machine(|machine| {
        if (1..=machine.eager_bytes()).contains(&bytes) {
            machine.host(Kind::Window, machine.window_cost(bytes));
        }
    });
}

/// Payload is read from the sender's memory.
pub fn rendezvous() {
    with_machine(|machine| machine.host(Kind::Remote, machine.costs().host_read));
}

/// A result is written to the completion ring.
pub fn completion() {
    with_machine(|machine| machine.host(Kind::Completion, machine.costs().completion));
}

/// A handler has ended its part of a block, and goes on to give back what its message used.
pub fn repost_begins() {
    with_machine(|machine| machine.begin_repost());
}

/// It says for the leader what became of its receive.
pub fn repost(receive: u32) {
    with_machine(|machine| machine.repost(receive));
}

/// It counts itself among those that have ended.
pub fn count_ended() {
    with_machine(|machine| {
        machine.modify(Place::Ended);
        machine.end_charges();
    });
}

/// The last gives back the block's entries and says so.
pub fn release_entries() {
    with_machine(|machine| {
        machine.host(Kind::Doorbell, machine.costs().doorbell);
        machine.write(Place::AllEnded);
        machine.end_charges();
    });
}

/// From here on the boundary works for a handler.
pub fn boundary_for(handler: usize) {
    with_machine(|machine| machine.begin_boundary(Some(handler)));
}

/// The boundary executes a command.
pub fn command() {
    with_machine(|machine| machine.begin_command());
}

/// It has done so.
pub fn boundary_ends() {
    with_machine(|machine| machine.end_boundary());
}

/// A receive is recycled, and the buffer of its message reposted.
pub fn recycle(receive: u32) {
    with_machine(|machine| {
        machine.write(Place::Descriptor(receive));
        machine.host(Kind::Doorbell, machine.costs().doorbell);
    });
}

/// A message without a receive is stored in an entry of the unexpected store.
pub fn store(entry: u32) {
    with_machine(|machine| {
        machine.write(Place::Unexpected(entry));
        machine.work(machine.costs().work.unexpected);
    });
}

/// A post looks at an unexpected message.
pub fn visit_unexpected(entry: u32) {
    with_machine(|machine| {
        machine.read(Place::Unexpected(entry));
        machine.work(machine.costs().work.step);
    });
}

/// A post takes an unexpected message, and its data goes to the user's buffer.
pub fn late(entry: u32) {
    with_machine(|machine| {
        machine.write(Place::Unexpected(entry));
        machine.work(machine.costs().work.post);
        machine.host(Kind::Window, machine.costs().window_write);
        machine.host(Kind::Completion, machine.costs().completion);
    });
}

/// A post puts a receive in a bin.
pub fn post(bin: u32, receive: u32) {
    with_machine(|machine| {
        machine.write(Place::Descriptor(receive));
        machine.write(Place::Bin(bin));
        machine.work(machine.costs().work.post);
    });
}
