//! What each step of the NIC costs: the listener that moves the clocks of the virtual machine.

use dpa_model_predict::Path;
use dpa_model_predict::step::{Step, listen};
use dpamatch_machine::charge;

/// From now on the steps of this thread are charged to its machine.
pub(crate) fn begin() {
    listen(Some(charge));
}

/// Steps that cost nothing on a card are the story's alone.
fn charge(step: Step) {
    match step {
        Step::EntriesSeen { first, count } => charge::cut(first, count),
        Step::CommandBegins => charge::command(),
        Step::BoundaryBegins { handler } => charge::boundary_for(handler),
        Step::BoundaryEnds => charge::boundary_ends(),
        Step::Posted { bin, receive, .. } => charge::post(bin, receive),
        Step::Recycled { receive } => charge::recycle(receive),
        Step::Stored { entry } => charge::store(entry),
        Step::UnexpectedVisited { entry } => charge::visit_unexpected(entry),
        Step::TakenLate { entry } => charge::late(entry),
        Step::FenceRead { worker } => charge::fence(worker),
        Step::SliceBegins { worker, block } => charge::slice_begins(worker, block),
        Step::EntryRead { position } => charge::entry(position),
        Step::HashesComputed => charge::hash(),
        Step::SearchBegins => charge::search(),
        Step::BinRead { bin } => charge::bin(bin),
        Step::Visited { receive } => charge::visit(receive),
        Step::Booked { receive, alone, .. } => charge::book(receive, alone),
        Step::Claimed { handler } => charge::claim(handler),
        Step::SliceBooked { worker, block } => charge::booked(worker, block),
        Step::ProgressRead { worker, block } => charge::look(worker, block),
        Step::BarrierPassed { first, .. } => charge::detect(first),
        Step::FastPathTried => charge::fast(),
        Step::SlowWaits { .. } => charge::slow(),
        Step::SlowWaited => charge::waited(),
        Step::StateRead { receive } => charge::state(receive),
        Step::Taken { receive, path, .. } => charge::consume(receive, path == Path::Clean),
        Step::Unlinking { bin, receive, alone } => charge::remove(bin, receive, alone),
        Step::LinkRead { receive } => charge::link(receive),
        Step::SliceMatched => charge::matched(),
        Step::DeliveryBegins { conflict } => charge::protocol(conflict),
        Step::Delivered { bytes } => charge::window(bytes),
        Step::BounceRead { buffer, bytes } => charge::bounce(buffer, bytes),
        Step::RemoteRead => charge::rendezvous(),
        Step::Completed => charge::completion(),
        Step::SliceEnds => charge::slice_ends(),
        _ => {}
    }
}
