//! What the handlers told in the execution under way.

use std::cell::RefCell;
use std::collections::BTreeMap;

use dpamatch_story::{Step, Told};

use crate::schedule::worker_of;

#[derive(Debug, Default)]
struct Notes {
    told: Vec<Told>,
    /// The caller's name of each request.
    names: BTreeMap<u64, u64>,
    /// Bit w: worker w has work in the block under way.
    busy: u64,
    workers: usize,
}

thread_local! {
    static NOTES: RefCell<Notes> = RefCell::default();
}

/// Begins to note the steps of this thread; earlier ones are forgotten.
pub(crate) fn listen(workers: usize) {
    NOTES.set(Notes { workers, ..Notes::default() });
    dpa_model_explore::step::listen(Some(note));
}

/// Nothing more is noted.
pub(crate) fn pause() {
    dpa_model_explore::step::listen(None);
}

/// Ends the noting. Returns the steps that belong to a story, and the caller's name of each
/// request.
pub(crate) fn end() -> (Vec<Told>, BTreeMap<u64, u64>) {
    pause();
    let notes = NOTES.take();
    (notes.told, notes.names)
}

/// A request has this name.
pub(crate) fn name(request: u64, name: u64) {
    NOTES.with_borrow_mut(|notes| notes.names.insert(request, name));
}

/// Which workers have work in the block under way, a bit for each.
pub(crate) fn busy() -> u64 {
    NOTES.with_borrow(|notes| notes.busy)
}

/// The block is over.
pub(crate) fn rest() {
    NOTES.with_borrow_mut(|notes| notes.busy = 0);
}

fn note(step: Step) {
    NOTES.with_borrow_mut(|notes| {
        let actor = worker_of(shuttle::current::me(), notes.workers);
        match step {
            // Each handler is on a worker of its own.
            Step::BlockCut { count, .. } => notes.busy = u64::MAX >> (64 - count.clamp(1, 64)),
            Step::SliceEnds => notes.busy &= !(1 << actor),
            Step::CommandBegins | Step::BoundaryBegins { .. } => notes.busy = 0,
            _ => {}
        }
        if dpamatch_story::is_told(&step) {
            notes.told.push(Told { actor, step, at: None });
        }
    });
}
