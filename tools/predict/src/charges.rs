//! The listener that charges each step of the NIC to the virtual machine.

use crate::machine::charge;
use dpa_model_predict::Path;
use dpa_model_predict::step::{Step, listen};

/// Charges this thread's steps to its machine from now on.
pub(crate) fn begin() {
    listen(Some(|step| {
        if let Step::EntryRead { position } = step {
            charge::arrival(position);
        }
        charge::step(step.kind() as usize);
        charge(step);
        crate::story::note(step);
    }));
}

/// Charges a step. Steps without cost on a card serve the story only.
fn charge(step: Step) {
    match step {
        Step::CommandBegins => charge::command(),
        Step::BlockCut { first, count } => charge::block_begins(first, count),
        Step::BoundaryBegins { handler } => charge::boundary_for(handler),
        Step::BoundaryEnds => charge::boundary_ends(),
        Step::Posted { bin, receive, .. } => charge::post(bin, receive),
        Step::Recycled { receive } => charge::recycle(receive),
        Step::Stored { entry } => charge::store(entry),
        Step::UnexpectedVisited { entry } => charge::visit_unexpected(entry),
        Step::TakenLate { entry } => charge::late(entry),
        Step::SliceBegins { worker, .. } => charge::slice_begins(worker),
        Step::EntryRead { position } => charge::entry(position),
        Step::HashesComputed => charge::hash(),
        Step::SearchBegins => charge::search(),
        Step::BinRead { bin } => charge::bin(bin),
        Step::Visited { receive } => charge::visit(receive),
        Step::Booked { receive, alone, .. } => charge::book(receive, alone),
        Step::Published { handler } => charge::publish(handler),
        Step::SliceBooked => charge::barrier(),
        Step::BitSet { block } => charge::set_bit(block),
        Step::BitsRead { block } => charge::look_at_bits(block),
        Step::BitsCleared { block } => charge::clear_bits(block),
        Step::ProgressWritten { worker } => charge::progress(worker),
        Step::ProgressRead { worker } => charge::look_at_progress(worker),
        Step::KeyWritten { handler } => charge::write_key(handler),
        Step::KeysRead { handler } => charge::read_keys(handler),
        Step::CandidateRead { handler } => charge::candidate(handler),
        Step::DomainPassed { is_first, .. } => charge::detect_in_domain(is_first),
        Step::ClaimRead { message, receive } => charge::claim(message, receive),
        Step::BarrierPassed { first, .. } => charge::detect(first),
        Step::FastPathTried => charge::fast(),
        Step::SlowWaits { .. } => charge::slow(),
        Step::SlowWaited => charge::waited(),
        Step::StateRead { receive } => charge::state(receive),
        Step::Taken { receive, path, .. } => charge::consume(receive, path == Path::Clean),
        Step::Unmatched { handler } => charge::unmatched(handler),
        Step::Noted { handler } => charge::note(handler),
        Step::Unlinking { bin, receive, alone } => charge::remove(bin, receive, alone),
        Step::LinkRead { receive } => charge::link(receive),
        Step::DeliveryBegins { conflict } => charge::protocol(conflict),
        Step::Delivered { bytes } => charge::window(bytes),
        Step::BounceRead { buffer, bytes } => charge::bounce(buffer, bytes),
        Step::RemoteRead => charge::rendezvous(),
        Step::Completed => charge::completion(),
        Step::SliceEnds => charge::slice_ends(),
        _ => {}
    }
}
