//! With `DPAMATCH_STORY=FILE`: the execution in which a model failed, as a page for a browser.
//!
//! The page shows the handlers' steps up to the failure. It omits values that a weak ordering let a
//! load see; loom's own log shows them (`LOOM_LOG`).

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use dpa_model::Operation;
use dpamatch_story::{Cast, Page, Step, Story, TimedStep, is_shown};

use crate::threads::ThreadId;

#[derive(Debug, Default)]
struct Notes {
    told: Vec<TimedStep>,
    /// Threads of the execution, in the order of their first step.
    actors: Vec<ThreadId>,
    operations: Vec<Operation>,
    /// Request of each receive, by receive number.
    requests: Vec<Option<u64>>,
}

thread_local! {
    static NOTES: RefCell<Notes> = RefCell::default();
}

fn file() -> Option<std::ffi::OsString> {
    std::env::var_os("DPAMATCH_STORY")
}

/// Starts recording an execution of this stream.
pub(crate) fn begin(operations: &[Operation]) {
    if file().is_none() {
        return;
    }
    NOTES.set(Notes {
        operations: operations.to_vec(),
        ..Notes::default()
    });
    dpa_model::step::listen(Some(note));
}

/// Assigns the next receive its request.
pub(crate) fn posted(request: Option<u64>) {
    NOTES.with_borrow_mut(|notes| notes.requests.push(request));
}

fn note(step: Step) {
    if !is_shown(&step) {
        return;
    }
    let thread = crate::threads::current().id();
    NOTES.with_borrow_mut(|notes| {
        let known = notes.actors.iter().position(|&actor| actor == thread);
        let actor = known.unwrap_or_else(|| {
            notes.actors.push(thread);
            notes.actors.len() - 1
        });
        notes.told.push(TimedStep {
            actor,
            step,
            at: None,
        });
    });
}

/// Runs a model. On failure writes the story of the current execution, if requested.
///
/// # Panics
/// When the model panics.
pub(crate) fn told<R>(name: &str, model: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(model)) {
        Ok(result) => result,
        Err(panic) => {
            dpa_model::step::listen(None);
            if let Some(file) = file() {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let why = text
                    .or(panic.downcast_ref::<&str>().copied())
                    .unwrap_or("it panicked");
                match std::fs::write(&file, page(name, why)) {
                    Ok(()) => eprintln!("the execution is shown by {}", file.display()),
                    Err(error) => eprintln!("{}: {error}", file.display()),
                }
            }
            resume_unwind(panic)
        }
    }
}

fn page(name: &str, why: &str) -> String {
    let Notes {
        told,
        operations,
        requests,
        ..
    } = NOTES.take();
    let cast = Cast::of(&operations, |recv| {
        requests.get(recv as usize).copied().flatten()
    });
    let story = Story::new(&cast, &told).titled(
        "The execution that failed".to_owned(),
        why.to_owned(),
        true,
    );
    let source = format!("model: {name}");
    Page {
        title: "A model that failed".to_owned(),
        source,
        stories: vec![story],
    }
    .html()
}
