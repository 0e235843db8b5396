//! Schedules of the NIC's real handlers, each handler on a worker of its own: random ones, every
//! one in turn, or one that is given.
//!
//! The handlers are those of `dpa_model`: the same source files, built with another arm of their
//! one door to atomics, so that every access to shared state is a point at which a scheduler may
//! let another handler move. A seed fixes a random schedule, and every schedule is known as the
//! list of its turns, so whatever a run shows can be shown again.
//!
//! What this cannot show: effects of weak memory, since every access is sequentially consistent
//! here (loom explores those), and, unless every schedule was run, that a violation does not exist.
#![forbid(unsafe_code)]

mod explore;
mod paths;
mod run;
mod schedule;
mod test_text;
mod told;

use dpamatch_vocabulary::{
    CommId, Envelope, MsgId, Operation, Rank, RecvId, Selector, SourceSel, Tag, TagSel,
};

pub use dpa_model_explore::FastPath;
pub use dpamatch_story::{Page, Story, Told, tell};
pub use explore::{Report, Violation, every, explore, fault, replay, shorten};
pub use run::{Run, Stuck};
pub use schedule::{BadTurns, Turns};
pub use test_text::test_text;

/// The rules that can be taken out of the handlers: name, and what is then broken.
pub fn faults() -> impl Iterator<Item = (String, &'static str)> {
    dpa_model_explore::Fault::ALL.iter().map(|fault| (kebab(&format!("{fault:?}")), fault.about()))
}

/// Takes a rule out of the handlers of this process, in place of the one before. `false`: there is
/// no such rule.
pub fn break_rule(name: &str) -> bool {
    let found =
        dpa_model_explore::Fault::ALL.iter().find(|fault| kebab(&format!("{fault:?}")) == name);
    found.is_some_and(|&fault| {
        dpa_model_explore::choose_fault(Some(fault));
        true
    })
}

/// Gives the handlers the rule back that was taken out.
pub fn keep_rules() {
    dpa_model_explore::choose_fault(None);
}

/// `ForcingIgnored` as `forcing-ignored`.
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

/// What is explored.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The stream, in its order: posts, arrivals and cancels. Communicators are numbered from 0.
    pub operations: Vec<Operation>,
    /// Handlers of a block, `1..=64`, each on a worker of its own.
    pub handlers: usize,
    /// Bins of each hash table.
    pub bins: usize,
    /// Entry rule of the fast path.
    pub fast_path: FastPath,
    /// Skip receives that a lower handler booked.
    pub early_check: bool,
    /// Remove consumed receives at once, waiting for the bin's lock.
    pub eager_removal: bool,
}

/// What a stream must come to, in any schedule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ending {
    /// Receive and message of each match, sorted.
    pub matches: Vec<(u64, u64)>,
    /// Receives left, sorted.
    pub posted: Vec<u64>,
    /// Messages left, in arrival order in each communicator.
    pub unexpected: Vec<u64>,
}

/// Receive `recv` of communicator `comm`; `None` is a wildcard.
///
/// # Panics
/// The source or tag is above 2,147,483,647.
pub fn post(
    recv: u64,
    comm: u32,
    source: impl Into<Option<u32>>,
    tag: impl Into<Option<u32>>,
) -> Operation {
    let source = source.into().map(|source| Rank::new(source).expect("a source"));
    let tag = tag.into().map(|tag| Tag::new(tag).expect("a tag"));
    let selector = Selector {
        source: source.map_or(SourceSel::Any, SourceSel::Rank),
        tag: tag.map_or(TagSel::Any, TagSel::Tag),
    };
    Operation::Post { recv: RecvId(recv), comm: CommId(comm), selector, bytes: 0 }
}

/// Message `msg` of communicator `comm`.
///
/// # Panics
/// The source or tag is above 2,147,483,647.
pub fn arrive(msg: u64, comm: u32, source: u32, tag: u32) -> Operation {
    let source = Rank::new(source).expect("a source");
    let envelope = Envelope { comm: CommId(comm), source, tag: Tag::new(tag).expect("a tag") };
    Operation::Arrive { msg: MsgId(msg), envelope, bytes: 0 }
}

/// Cancels receive `recv`.
pub fn cancel(recv: u64) -> Operation {
    Operation::Cancel { recv: RecvId(recv) }
}
