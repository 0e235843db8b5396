//! With `DPAMATCH_STORY=FILE`: the execution in which a model failed, as a page for a browser.
//!
//! The page shows the handlers' steps up to the failure. It omits values that a weak ordering let a
//! load see; loom's own log shows them (`LOOM_LOG`).

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

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
    /// What the oracle gives the model's stream, in words.
    static EXPECTED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Notes what is expected of the model, once.
pub(crate) fn expects(words: impl FnOnce() -> String) {
    EXPECTED.with_borrow_mut(|expected| _ = expected.get_or_insert_with(words));
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

/// Runs a model, which counts its executions. On failure prints which model failed in which
/// execution, what the oracle expects and how to see the execution; writes its story, if requested.
///
/// # Panics
/// When the model panics.
pub(crate) fn told<R>(name: &str, executions: &AtomicUsize, model: impl FnOnce() -> R) -> R {
    EXPECTED.take();
    match catch_unwind(AssertUnwindSafe(model)) {
        Ok(result) => result,
        Err(panic) => {
            dpa_model::step::listen(None);
            let expected = EXPECTED.take();
            eprintln!(
                "model {name}: failed in execution {}",
                executions.load(Ordering::Relaxed)
            );
            if let Some(expected) = &expected {
                eprintln!("the oracle gives: {expected}");
            }
            if let Some(file) = file() {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let why = text
                    .or(panic.downcast_ref::<&str>().copied())
                    .unwrap_or("it panicked");
                let oracle =
                    expected.map_or(String::new(), |it| format!(" The oracle gives: {it}."));
                match std::fs::write(&file, page(name, &format!("{why}.{oracle}"))) {
                    Ok(()) => eprintln!("the execution is shown by {}", file.display()),
                    Err(error) => eprintln!("{}: {error}", file.display()),
                }
            } else {
                // A model's name begins with its file. With one thread the main one runs the tests.
                let file = name.split('/').next().unwrap_or("FILE");
                let thread = std::thread::current();
                let test = thread.name().filter(|test| *test != "main");
                let test = test.unwrap_or("TEST");
                let fault = std::env::var("DPAMATCH_FAULT");
                let fault = fault.map_or(String::new(), |name| format!(" --fault {name}"));
                eprintln!("to see it: cargo xtask model {file} {test}{fault} --story story.html");
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
    let cast = Cast::new(&operations, |recv| {
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
