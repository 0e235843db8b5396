//! A schedule as a list of moments, each with the state after it.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::stage::Stage;
use crate::words::{Said, sentence, words};
use crate::{Cast, Message, Receive, Scene, Told};

/// What a moment is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Work between two blocks.
    Boundary,
    /// A block is cut.
    Block,
    /// A search has ended.
    Search,
    /// A booking bit is set.
    Book,
    /// A handler says that it has booked.
    Arrive,
    /// It passes the partial barrier.
    Pass,
    /// It waits for all lower handlers.
    Wait,
    /// It has its result.
    Take,
    /// A receive leaves its chain, or stays there for now.
    Unlink,
}

/// One step of a story. All that the boundary does between two blocks is one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Moment {
    /// What it is about.
    pub kind: Kind,
    /// Whose it is.
    pub handler: Option<usize>,
    /// In words.
    pub text: String,
    /// When it was, in picoseconds since the first moment, where there is a clock.
    pub at: Option<u64>,
}

/// What a schedule did and what it came to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Story {
    /// What it is, in words.
    pub title: String,
    /// What it came to, in words; empty if that was not compared with anything.
    pub verdict: String,
    /// Whether that broke the order of matching.
    pub broken: bool,
    /// The schedule's turns; empty if there are none, or they are not known.
    pub turns: String,
    /// The schedule as a test, to be pasted; empty if there is none.
    pub test: String,
    /// Who takes part.
    pub receives: Vec<Receive>,
    /// Who takes part.
    pub messages: Vec<Message>,
    /// Handlers of the widest block.
    pub handlers: usize,
    /// What happened.
    pub moments: Vec<Moment>,
    /// The state after each moment.
    pub scenes: Vec<Scene>,
}

impl Story {
    /// A story out of the steps that were told, in the order of telling, or of the clock where
    /// there is one.
    pub fn new(cast: &Cast, told: &[Told]) -> Self {
        let mut ordered = told.to_vec();
        // Steps of one clock are in order; of several, who was told first need not be.
        ordered.sort_by_key(|told| told.at.unwrap_or(0));
        let begin = ordered.first().and_then(|told| told.at).unwrap_or(0);
        let mut stage = Stage::new(cast);
        let (mut moments, mut scenes): (Vec<Moment>, Vec<Scene>) = (Vec::new(), Vec::new());
        // Of the last moment, if it is the boundary's.
        let mut facts = Vec::new();
        for &told in &ordered {
            let moment = |kind, handler, text| Moment {
                kind,
                handler,
                text,
                at: told.at.map(|at| at - begin),
            };
            let next = match words(&stage, told) {
                Some(Said::Between(fact)) => {
                    facts.push(fact);
                    (facts.len() == 1).then(|| moment(Kind::Boundary, None, String::new()))
                }
                Some(Said::Moment(kind, handler, text)) => {
                    facts.clear();
                    Some(moment(kind, handler, text))
                }
                None => None,
            };
            if let Some(next) = next {
                // What was told since the last moment and not spoken of belongs to that one.
                if !moments.is_empty() {
                    scenes.push(stage.scene.clone());
                }
                moments.push(next);
            }
            if let Some(last) = moments.last_mut().filter(|_| !facts.is_empty()) {
                last.text = sentence(&facts);
            }
            stage.apply(told);
        }
        if !moments.is_empty() {
            scenes.push(stage.scene);
        }
        Self {
            title: String::new(),
            verdict: String::new(),
            broken: false,
            turns: String::new(),
            test: String::new(),
            receives: cast.receives.clone(),
            messages: cast.messages.clone(),
            handlers: scenes.iter().map(|scene| scene.lanes.len()).max().unwrap_or(0),
            moments,
            scenes,
        }
    }

    /// The same without its first `blocks` blocks, and without the receives and messages that no
    /// state speaks of then. What the boundary did before the next block stays.
    pub fn from_block(mut self, blocks: usize) -> Self {
        let cuts = self.moments.iter().enumerate().filter(|(_, moment)| moment.kind == Kind::Block);
        let of_boundary = |place: &usize| self.moments[*place].kind == Kind::Boundary;
        let from = match cuts.map(|(place, _)| place).nth(blocks) {
            _ if blocks == 0 => 0,
            Some(cut) => cut.checked_sub(1).filter(of_boundary).unwrap_or(cut),
            None => self.moments.len(),
        };
        self.moments.drain(..from);
        self.scenes.drain(..from);
        let begin = self.moments.first().and_then(|moment| moment.at).unwrap_or(0);
        for at in self.moments.iter_mut().filter_map(|moment| moment.at.as_mut()) {
            *at -= begin;
        }
        self.trimmed()
    }

    /// The same without the receives and messages that no state speaks of.
    fn trimmed(mut self) -> Self {
        let (mut receives, mut messages) = (BTreeMap::new(), BTreeMap::new());
        for scene in &mut self.scenes {
            for place in scene.receives_mut() {
                let next = receives.len();
                *place = *receives.entry(*place).or_insert(next);
            }
            for place in scene.messages_mut() {
                let next = messages.len();
                *place = *messages.entry(*place).or_insert(next);
            }
        }
        self.receives = picked(&self.receives, &receives);
        self.messages = picked(&self.messages, &messages);
        self.handlers = self.scenes.iter().map(|scene| scene.lanes.len()).max().unwrap_or(0);
        self
    }

    /// The same with a title and what it came to.
    pub fn titled(self, title: String, verdict: String, broken: bool) -> Self {
        Self { title, verdict, broken, ..self }
    }
}

/// Those that are kept, in their new places.
fn picked<T: Clone>(all: &[T], kept: &BTreeMap<usize, usize>) -> Vec<T> {
    let mut order: Vec<(usize, usize)> = kept.iter().map(|(&old, &new)| (new, old)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, old)| all[old].clone()).collect()
}

/// The story step by step, a line each.
pub fn tell(story: &Story) -> String {
    let mut text = String::new();
    for (number, moment) in story.moments.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:>4}  {}", number + 1, moment.text);
    }
    text
}
