//! What the handlers told in the execution under way.

use std::cell::RefCell;
use std::collections::BTreeMap;

use dpa_model_explore::BinUse;
use dpamatch_story::{Step, Told as ToldStep};

use crate::Ending;
use crate::run::Stuck;
use crate::schedule::worker_of;

/// How an execution ended: the stream's result and the NIC's bins, or why there is none.
pub(crate) type Outcome = Result<(Ending, BinUse), Stuck>;

/// What was told in an execution.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) outcome: Outcome,
    /// The steps that belong to a story.
    pub(crate) told: Vec<ToldStep>,
    /// The caller's name of each request.
    pub(crate) names: BTreeMap<u64, u64>,
}

#[derive(Debug, Default)]
struct Notes {
    outcome: Option<Outcome>,
    told: Vec<ToldStep>,
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

/// The execution has ended; what is told later is no part of it. The first outcome counts.
pub(crate) fn finish(outcome: Outcome) {
    pause();
    NOTES.with_borrow_mut(|notes| {
        notes.outcome.get_or_insert(outcome);
    });
}

/// Whether an assertion has failed in the execution under way.
pub(crate) fn has_failed() -> bool {
    NOTES.with_borrow(|notes| matches!(notes.outcome, Some(Err(_))))
}

/// What was told in the execution that has ended, if one has.
pub(crate) fn end() -> Option<Told> {
    let Notes { outcome, told, names, .. } = NOTES.take();
    outcome.map(|outcome| Told { outcome, told, names })
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
            notes.told.push(ToldStep { actor, step, at: None });
        }
    });
}
