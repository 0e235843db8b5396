//! A schedule as a list of moments, each with the state after it.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::stage::Stage;
use crate::words::{Said, sentence, words};
use crate::{Cast, Message, Receive, Scene, TimedStep};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MomentKind {
    Boundary,
    Block,
    Search,
    Book,
    Arrive,
    Pass,
    Wait,
    Take,
    /// A receive leaves its chain, or stays there for now.
    Unlink,
    /// A rule is left out.
    LeftOut,
}

/// One moment of a story. The boundary's whole work between two blocks is one moment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Moment {
    pub kind: MomentKind,
    pub handler: Option<usize>,
    pub text: String,
    /// Picoseconds since the first moment, if there is a clock.
    pub at: Option<u64>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Story {
    pub title: String,
    /// Result in words; empty if not compared with an expected one.
    pub verdict: String,
    pub broken: bool,
    /// The schedule's turns; empty if unknown.
    pub turns: String,
    /// The schedule as the source of a test; may be empty.
    pub test: String,
    pub receives: Vec<Receive>,
    pub messages: Vec<Message>,
    pub handlers: usize,
    pub moments: Vec<Moment>,
    pub scenes: Vec<Scene>,
}

impl Story {
    /// Builds a story from steps, in the order of recording or of the clock.
    pub fn new(cast: &Cast, told: &[TimedStep]) -> Self {
        let mut ordered = told.to_vec();
        // The recorded order of several clocks may differ from their times.
        ordered.sort_by_key(|told| told.at.unwrap_or(0));
        let begin = ordered.first().and_then(|told| told.at).unwrap_or(0);
        let mut stage = Stage::new(cast);
        let (mut moments, mut scenes): (Vec<Moment>, Vec<Scene>) = (Vec::new(), Vec::new());
        // Facts of the last moment, if it is the boundary's.
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
                    (facts.len() == 1).then(|| moment(MomentKind::Boundary, None, String::new()))
                }
                Some(Said::Moment(kind, handler, text)) => {
                    facts.clear();
                    Some(moment(kind, handler, text))
                }
                None => None,
            };
            // A rule may be asked about several times.
            let is_again = |next: &Moment| {
                let last: Option<&Moment> = moments.last();
                next.kind == MomentKind::LeftOut
                    && last.is_some_and(|it| (it.kind, it.handler) == (next.kind, next.handler))
            };
            if let Some(next) = next.filter(|next| !is_again(next)) {
                // Steps without their own moment belong to the last one.
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
            handlers: scenes
                .iter()
                .map(|scene| scene.lanes.len())
                .max()
                .unwrap_or(0),
            moments,
            scenes,
        }
    }

    /// Drops the first `blocks` blocks, and the receives and messages that no state refers to any
    /// more. Keeps the boundary's work before the next block.
    pub fn from_block(mut self, blocks: usize) -> Self {
        let cuts = self
            .moments
            .iter()
            .enumerate()
            .filter(|(_, moment)| moment.kind == MomentKind::Block);
        let of_boundary = |place: &usize| self.moments[*place].kind == MomentKind::Boundary;
        let from = match cuts.map(|(place, _)| place).nth(blocks) {
            _ if blocks == 0 => 0,
            Some(cut) => cut.checked_sub(1).filter(of_boundary).unwrap_or(cut),
            None => self.moments.len(),
        };
        self.moments.drain(..from);
        self.scenes.drain(..from);
        let begin = self
            .moments
            .first()
            .and_then(|moment| moment.at)
            .unwrap_or(0);
        for at in self
            .moments
            .iter_mut()
            .filter_map(|moment| moment.at.as_mut())
        {
            *at -= begin;
        }
        self.trimmed()
    }

    /// Drops receives and messages that no state refers to.
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
        self.handlers = self
            .scenes
            .iter()
            .map(|scene| scene.lanes.len())
            .max()
            .unwrap_or(0);
        self
    }

    pub fn titled(self, title: String, verdict: String, broken: bool) -> Self {
        Self {
            title,
            verdict,
            broken,
            ..self
        }
    }
}

/// The kept elements at their new positions.
fn picked<T: Clone>(all: &[T], kept: &BTreeMap<usize, usize>) -> Vec<T> {
    let mut order: Vec<(usize, usize)> = kept.iter().map(|(&old, &new)| (new, old)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, old)| all[old].clone()).collect()
}

/// The story as text, one line per step.
pub fn tell(story: &Story) -> String {
    let mut text = String::new();
    for (number, moment) in story.moments.iter().enumerate() {
        let _ = writeln!(text, "{:>4}  {}", number + 1, moment.text);
    }
    text
}
