//! The handlers' steps in the current execution.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use dpa_model_explore::BinUse;
use dpamatch_story::{Step, TimedStep};

use crate::Ending;
use crate::run::Stuck;
use crate::schedule::current;

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
}

thread_local! {
    static NOTES: RefCell<Notes> = RefCell::default();
    /// Bit w: worker w has work in the current block.
    static BUSY: Cell<u64> = const { Cell::new(0) };
    static IS_OVER: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn listen() {
    NOTES.take();
    BUSY.set(0);
    dpa_model_explore::step::listen(Some(note));
}

pub(crate) fn pause() {
    dpa_model_explore::step::listen(None);
}

/// Ends the execution; later steps do not count. The first outcome wins.
pub(crate) fn finish(outcome: Outcome) {
    pause();
    if is_over() {
        return;
    }
    IS_OVER.set(outcome.is_err());
    NOTES.with_borrow_mut(|notes| {
        notes.outcome.get_or_insert(outcome);
    });
}

/// Ends the execution without an outcome.
pub(crate) fn cut() {
    pause();
    IS_OVER.set(true);
}

/// Whether the execution was cut or has failed: then its threads end at their next access.
pub(crate) fn is_over() -> bool {
    IS_OVER.get()
}

pub(crate) fn end() -> Option<Recording> {
    IS_OVER.set(false);
    BUSY.set(0);
    let Notes {
        outcome,
        told,
        names,
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
    BUSY.get()
}

/// Ends the block.
pub(crate) fn rest() {
    BUSY.set(0);
}

fn note(step: Step) {
    let actor = current();
    match step {
        // Each handler has its own worker.
        Step::BlockCut { count, .. } => BUSY.set(u64::MAX >> (64 - count.clamp(1, 64))),
        Step::SliceEnds => BUSY.set(busy() & !(1 << actor)),
        Step::CommandBegins | Step::BoundaryBegins { .. } => BUSY.set(0),
        _ => {}
    }
    if dpamatch_story::is_shown(&step) {
        let step = TimedStep {
            actor,
            step,
            at: None,
        };
        NOTES.with_borrow_mut(|notes| notes.told.push(step));
    }
}
