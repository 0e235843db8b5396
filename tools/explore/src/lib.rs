//! Schedules of the NIC's real handlers, each handler on its own worker: random, exhaustive or
//! given.
//!
//! The handlers are the source files of `dpa_model`, built with another implementation of their
//! atomics module. A scheduler may switch handlers at every access to shared state. A seed fixes a
//! random schedule, and a list of turns describes every schedule, so each run can be repeated.
//!
//! Accesses are sequentially consistent here, so effects of weak memory do not show (loom explores
//! those). Only an exhaustive exploration proves the absence of a violation.
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "internal: names speak, docs add what names cannot"
)]

mod explore;
mod meetings;
mod paths;
mod run;
mod schedule;
mod shard;
mod state;
mod test_text;
mod told;

use dpamatch_vocabulary::{
    CommId, Envelope, MsgId, Operation, Rank, RecvId, Selector, SourceSel, Tag, TagSel,
};

pub use dpa_model_explore::{Barrier, Domains, FastPath, Removal};
pub use dpamatch_story::{Page, Story, TimedStep, tell};
pub use explore::{
    Effort, Report, Violation, every, every_with, explore, fault, replay, shorten, stop_by,
};
pub use run::{Run, Stuck};
pub use schedule::{BadTurns, Turns};
pub use shard::{BadShard, Shard};
pub use test_text::test_text;

/// The removable rules of the handlers: name, and consequence of removing it.
pub fn faults() -> impl Iterator<Item = (String, &'static str)> {
    dpa_model_explore::Fault::ALL
        .iter()
        .map(|fault| (kebab(&format!("{fault:?}")), fault.about()))
}

/// Removes a rule from the handlers of this process, and restores the one removed before. Returns
/// `false` for an unknown rule.
pub fn break_rule(name: &str) -> bool {
    let found = dpa_model_explore::Fault::ALL
        .iter()
        .find(|fault| kebab(&format!("{fault:?}")) == name);
    found.is_some_and(|&fault| {
        dpa_model_explore::choose_fault(Some(fault));
        true
    })
}

pub fn keep_rules() {
    dpa_model_explore::choose_fault(None);
}

fn kebab(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

#[derive(Clone, Debug)]
pub struct Setup {
    /// The stream's posts, arrivals and cancels in order. Communicators are numbered from 0.
    pub operations: Vec<Operation>,
    /// Handlers of a block, `1..=64`, each on its own worker.
    pub handlers: usize,
    pub bins: usize,
    pub fast_path: FastPath,
    /// Skip receives booked by a lower handler.
    pub early_check: bool,
    /// When consumed receives leave their chain.
    pub removal: Removal,
    /// Which messages of a block wait for each other.
    pub domains: Domains,
    /// How a handler says that it has booked.
    pub barrier: Barrier,
}

/// The result of a stream, equal in every schedule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ending {
    /// Receive and message of each match, sorted.
    pub matches: Vec<(u64, u64)>,
    /// Remaining receives, sorted.
    pub posted: Vec<u64>,
    /// Remaining messages, in arrival order in each communicator.
    pub unexpected: Vec<u64>,
}

/// Posts receive `recv` on communicator `comm`; `None` is a wildcard.
///
/// # Panics
/// The source or tag is above 2,147,483,647.
pub fn post(
    recv: u64,
    comm: u32,
    source: impl Into<Option<u32>>,
    tag: impl Into<Option<u32>>,
) -> Operation {
    let source = source
        .into()
        .map(|source| Rank::new(source).expect("a source"));
    let tag = tag.into().map(|tag| Tag::new(tag).expect("a tag"));
    let selector = Selector {
        source: source.map_or(SourceSel::Any, SourceSel::Rank),
        tag: tag.map_or(TagSel::Any, TagSel::Tag),
    };
    Operation::Post {
        recv: RecvId(recv),
        comm: CommId(comm),
        selector,
        bytes: 0,
    }
}

/// Delivers message `msg` on communicator `comm`.
///
/// # Panics
/// The source or tag is above 2,147,483,647.
pub fn arrive(msg: u64, comm: u32, source: u32, tag: u32) -> Operation {
    let source = Rank::new(source).expect("a source");
    let envelope = Envelope {
        comm: CommId(comm),
        source,
        tag: Tag::new(tag).expect("a tag"),
    };
    Operation::Arrive {
        msg: MsgId(msg),
        envelope,
        bytes: 0,
    }
}

pub fn cancel(recv: u64) -> Operation {
    Operation::Cancel { recv: RecvId(recv) }
}
