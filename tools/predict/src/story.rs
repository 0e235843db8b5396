//! A block of a run, step by step with its clock.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use dpamatch_story::{Cast, Step, Story, TimedStep, is_shown};

use crate::{Sequence, Setup, SimulateError, simulate};

#[derive(Debug, Default)]
struct Notes {
    told: Vec<TimedStep>,
    requests: BTreeMap<u64, u64>,
    blocks: usize,
    /// The block to tell, counted from 0.
    wanted: usize,
}

thread_local! {
    static WANTED: Cell<bool> = const { Cell::new(false) };
    static NOTES: RefCell<Notes> = RefCell::default();
}

/// Runs a sequence and tells one of its blocks, counted from 0. Empty if the run has fewer.
pub fn story(setup: &Setup, sequence: &Sequence, block: usize) -> Result<Story, SimulateError> {
    NOTES.set(Notes {
        wanted: block,
        ..Notes::default()
    });
    WANTED.set(true);
    let run = simulate(setup, std::slice::from_ref(sequence), 0);
    WANTED.set(false);
    let Notes { told, requests, .. } = NOTES.take();
    run?;
    let cast = Cast::new(sequence.operations(), |name| requests.get(&name).copied());
    Ok(Story::new(&cast, &told).from_block(block))
}

/// Assigns a receive its request.
pub(crate) fn name(recv: u64, request: u64) {
    if WANTED.get() {
        NOTES.with_borrow_mut(|notes| notes.requests.insert(recv, request));
    }
}

/// Keeps the block's steps, and from earlier blocks those that change the tables.
pub(crate) fn note(step: Step) {
    if !WANTED.get() || !is_shown(&step) {
        return;
    }
    let Some((actor, at)) = crate::machine::here() else {
        return;
    };
    NOTES.with_borrow_mut(|notes| {
        notes.blocks += usize::from(matches!(step, Step::BlockCut { .. }));
        let told = match notes.blocks.checked_sub(notes.wanted + 1) {
            None => dpamatch_story::changes_tables(&step),
            Some(0) => true,
            // The boundary after the block ends it.
            Some(_) => false,
        };
        if told {
            notes.told.push(TimedStep {
                actor,
                step,
                at: Some(at),
            });
        }
    });
}
