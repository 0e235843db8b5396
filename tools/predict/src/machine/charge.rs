//! Charges: what each step of the NIC costs on the virtual machine.

use super::memory::Place;
use super::state::Machine;
use super::tasks::with_machine;
use super::{LineKind, Phase};
use dpa_model_predict::Path;
use dpa_model_predict::step::{Step, listen};

/// Charges this thread's steps to its machine from now on. Nothing is charged off the clock and
/// outside of a run.
pub(crate) fn begin() {
    listen(Some(|step| {
        with_machine(|machine| {
            if let Step::EntryRead { position } = step {
                machine.arrive(position);
            }
            machine.step(step.kind() as usize);
            charge(machine, step);
        });
        crate::story::note(step);
    }));
}

/// Charges a step. Steps without cost on a card serve the story only.
fn charge(machine: &mut Machine, step: Step) {
    let work = machine.costs().work;
    match step {
        Step::CommandBegins => machine.begin_command(),
        Step::BlockCut { first, count } => machine.begin_block(first, count),
        Step::BoundaryBegins { handler } => machine.begin_boundary(handler),
        Step::BoundaryEnds => machine.end_boundary(),
        Step::Posted { bin, receive, .. } => {
            machine.command_done();
            machine.write(Place::Descriptor(receive));
            machine.write(Place::Bin(bin));
            machine.work(work.post);
        }
        // The message's buffer is posted again, too.
        Step::Recycled { receive } => {
            machine.write(Place::Descriptor(receive));
            machine.host(LineKind::Doorbell, machine.costs().doorbell);
        }
        Step::Stored { entry } => machine.store(entry),
        Step::UnexpectedVisited { entry } => {
            machine.read(Place::Unexpected(entry));
            machine.work(work.step);
        }
        Step::TakenLate { entry } => machine.take_late(entry),
        Step::SliceBegins { worker, .. } => machine.begin_slice(worker),
        Step::EntryRead { position } => {
            machine.read_landed(Place::Entry(position));
            machine.work(work.poll);
        }
        Step::HashesComputed => machine.work(work.hash),
        Step::SearchBegins => machine.search(),
        Step::BinRead { bin } => machine.read(Place::Bin(bin)),
        Step::Visited { receive } => {
            machine.visit(receive);
            machine.work(work.step);
        }
        Step::Booked { receive, alone, .. } => {
            machine.enter(Phase::Book);
            let booking = if alone {
                Machine::write
            } else {
                Machine::post_modify
            };
            booking(machine, Place::Descriptor(receive));
            machine.work(work.book);
        }
        Step::Published { handler } => machine.write(Place::Candidate(handler)),
        Step::SliceBooked => machine.enter(Phase::Barrier),
        Step::BitSet { block } => machine.modify(Place::bits(block)),
        Step::BitsRead { block } => machine.look(Place::bits(block)),
        Step::BitsCleared { block } => machine.write(Place::bits(block + 1)),
        Step::ProgressWritten { worker } => machine.write(Place::Progress(worker)),
        Step::ProgressRead { worker } => machine.look(Place::Progress(worker)),
        Step::KeyWritten { handler } => machine.write(Place::Key(handler)),
        // The keys of all lower handlers.
        Step::KeysRead { handler } => Place::keys(handler).for_each(|line| machine.read(line)),
        Step::CandidateRead { handler } => machine.read(Place::Candidate(handler)),
        Step::DomainPassed { is_first, .. } => machine.detect_in_domain(is_first),
        // More of another's candidate: the message, if unknown, and the receive.
        Step::ClaimRead { message, receive } => {
            let places = [message.map(Place::Entry), receive.map(Place::Descriptor)];
            places
                .into_iter()
                .flatten()
                .for_each(|place| machine.read(place));
        }
        Step::BarrierPassed { first, .. } => {
            Place::candidates(first).for_each(|line| machine.read(line));
            machine.work(work.detect);
        }
        Step::FastPathTried => {
            machine.enter(Phase::Fast);
            machine.work(work.fast);
        }
        Step::SlowWaits { .. } => machine.enter(Phase::Slow),
        Step::SlowWaited => machine.work(work.slow),
        Step::StateRead { receive } | Step::LinkRead { receive } => {
            machine.read(Place::Descriptor(receive));
        }
        Step::Taken { receive, path, .. } => {
            if path == Path::Clean {
                machine.enter(Phase::Clean);
            }
            machine.work(work.consume);
            machine.write(Place::Descriptor(receive));
        }
        Step::Unmatched { handler } => machine.unmatched(handler),
        Step::Noted { handler } => machine.write(Place::Taken(handler)),
        // Under the bin's lock, unless the handler is alone.
        Step::Unlinking {
            bin,
            receive,
            alone,
        } => {
            let locking = if alone {
                Machine::read
            } else {
                Machine::modify
            };
            locking(machine, Place::Bin(bin));
            machine.read(Place::Descriptor(receive));
            machine.write(Place::Bin(bin));
        }
        Step::DeliveryBegins { conflict } => {
            machine.begin_protocol(conflict);
            machine.work(work.protocol);
        }
        // Longer ones are read from the sender.
        Step::Delivered { bytes } if (1..=machine.eager_bytes()).contains(&bytes) => {
            machine.host(LineKind::Window, machine.window_cost(bytes));
        }
        Step::BounceRead { buffer, bytes } => {
            let lines = 0..bytes.div_ceil(64);
            lines.for_each(|line| machine.read_landed(Place::Bounce(buffer, line)));
        }
        Step::RemoteRead => machine.read_remote(),
        Step::Completed => machine.host(LineKind::Completion, machine.costs().completion),
        Step::SliceEnds => machine.end_slice(),
        _ => {}
    }
}
