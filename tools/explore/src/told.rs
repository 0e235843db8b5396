//! The handlers' steps in the current execution.

use std::cell::RefCell;
use std::collections::BTreeMap;

use dpa_model_explore::BinUse;
use dpamatch_story::{Step, TimedStep};

use crate::Ending;
use crate::run::Stuck;
use crate::schedule::worker_of;

/// End of an execution: the result with the NIC's bins, or why there is none.
pub(crate) type Outcome = Result<(Ending, BinUse), Stuck>;

#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) outcome: Outcome,
    /// Steps that belong to a story.
    pub(crate) told: Vec<TimedStep>,
    /// The caller's name of each request.
    pub(crate) names: BTreeMap<u64, u64>,
}

#[derive(Debug, Default)]
struct Notes {
    outcome: Option<Outcome>,
    told: Vec<TimedStep>,
    names: BTreeMap<u64, u64>,
    /// Bit w: worker w has work in the current block.
    busy: u64,
    /// The execution ends without an outcome.
    is_cut: bool,
    workers: usize,
}

thread_local! {
    static NOTES: RefCell<Notes> = RefCell::default();
}

pub(crate) fn listen(workers: usize) {
    NOTES.set(Notes {
        workers,
        ..Notes::default()
    });
    dpa_model_explore::step::listen(Some(note));
}

pub(crate) fn pause() {
    dpa_model_explore::step::listen(None);
}

/// Ends the execution; later steps do not count. The first outcome wins.
pub(crate) fn finish(outcome: Outcome) {
    pause();
    NOTES.with_borrow_mut(|notes| {
        if !notes.is_cut {
            notes.outcome.get_or_insert(outcome);
        }
    });
}

/// Ends the execution without an outcome.
pub(crate) fn cut() {
    pause();
    NOTES.with_borrow_mut(|notes| notes.is_cut = true);
}

/// Whether the execution was cut or has failed: then its threads end at their next access.
pub(crate) fn is_over() -> bool {
    NOTES.with_borrow(|notes| notes.is_cut || matches!(notes.outcome, Some(Err(_))))
}

pub(crate) fn end() -> Option<Recording> {
    let Notes {
        outcome,
        told,
        names,
        ..
    } = NOTES.take();
    outcome.map(|outcome| Recording {
        outcome,
        told,
        names,
    })
}

pub(crate) fn name(request: u64, name: u64) {
    NOTES.with_borrow_mut(|notes| notes.names.insert(request, name));
}

/// Bitmap of the workers with work in the current block.
pub(crate) fn busy() -> u64 {
    NOTES.with_borrow(|notes| notes.busy)
}

/// Ends the block.
pub(crate) fn rest() {
    NOTES.with_borrow_mut(|notes| notes.busy = 0);
}

fn note(step: Step) {
    NOTES.with_borrow_mut(|notes| {
        let actor = worker_of(shuttle::current::me(), notes.workers);
        match step {
            // Each handler has its own worker.
            Step::BlockCut { count, .. } => notes.busy = u64::MAX >> (64 - count.clamp(1, 64)),
            Step::SliceEnds => notes.busy &= !(1 << actor),
            Step::CommandBegins | Step::BoundaryBegins { .. } => notes.busy = 0,
            _ => {}
        }
        if dpamatch_story::is_shown(&step) {
            notes.told.push(TimedStep {
                actor,
                step,
                at: None,
            });
        }
    });
}
