//! The reducer: computes the state after a step.
//!
//! The card reuses descriptors and entries of the unexpected store, so the meaning of a number
//! changes from step to step. Here every number becomes a receive or message of the story.

use std::collections::BTreeMap;

use dpamatch_vocabulary::{Path, step::Step};

use crate::scene::{Chain, Lane, Link, Phase, Resolution, Scene};
use crate::{Cast, TimedStep};

/// The present state, with the card's numbers resolved.
#[derive(Clone, Debug)]
pub(crate) struct Stage<'a> {
    pub(crate) cast: &'a Cast,
    pub(crate) scene: Scene,
    pub(crate) first: u64,
    descriptors: BTreeMap<u32, usize>,
    /// The message in each entry of the unexpected store.
    entries: BTreeMap<u32, usize>,
    working_for: BTreeMap<usize, usize>,
    /// The actor in the boundary, and its present work.
    boundary: Option<(usize, Work)>,
    /// The handlers of this block wait within their domains.
    pub(crate) in_domains: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    Command,
    /// The end of a block: the message of this handler.
    Handler(usize),
}

impl<'a> Stage<'a> {
    pub(crate) fn new(cast: &'a Cast) -> Self {
        Self {
            cast,
            scene: Scene::default(),
            first: 0,
            descriptors: BTreeMap::new(),
            entries: BTreeMap::new(),
            working_for: BTreeMap::new(),
            boundary: None,
            in_domains: false,
        }
    }

    pub(crate) fn receive(&self, descriptor: u32) -> Option<usize> {
        self.descriptors.get(&descriptor).copied()
    }

    pub(crate) fn stored(&self, entry: u32) -> Option<usize> {
        self.entries.get(&entry).copied()
    }

    pub(crate) fn message(&self, handler: usize) -> Option<usize> {
        let place = self.first as usize + handler;
        (place < self.cast.messages.len()).then_some(place)
    }

    /// The boundary's work, if `actor` is in the boundary.
    pub(crate) fn work_of(&self, actor: usize) -> Option<Work> {
        self.boundary
            .filter(|&(boundary, _)| boundary == actor)
            .map(|(_, work)| work)
    }

    pub(crate) fn handler_of(&self, actor: usize) -> Option<usize> {
        self.working_for.get(&actor).copied()
    }

    fn lane(&mut self, handler: usize) -> Option<&mut Lane> {
        self.scene.lanes.get_mut(handler)
    }

    fn link(&mut self, receive: Option<usize>) -> Option<&mut Link> {
        let mut links = self
            .scene
            .bins
            .iter_mut()
            .flat_map(|chain| &mut chain.links);
        links.find(|link| Some(link.receive) == receive)
    }

    fn link_mut_of(&mut self, descriptor: u32) -> Option<&mut Link> {
        let receive = self.receive(descriptor);
        self.link(receive)
    }

    fn set_phase(&mut self, handler: usize, phase: Phase) {
        self.lane(handler)
            .into_iter()
            .for_each(|lane| lane.phase = phase);
    }

    fn forget_walk(&mut self, handler: usize) {
        self.lane(handler)
            .into_iter()
            .for_each(|lane| lane.walked.clear());
    }

    pub(crate) fn apply(&mut self, TimedStep { actor, step, .. }: TimedStep) {
        match step {
            Step::CommandBegins => self.boundary = Some((actor, Work::Command)),
            Step::BoundaryBegins { handler } => {
                self.boundary = Some((actor, Work::Handler(handler)));
            }
            Step::BoundaryEnds => self.boundary = None,
            Step::Posted {
                request,
                bin,
                receive,
            } => self.post(request, bin, receive),
            Step::Unlinked { receive } => self.unlink(receive),
            Step::Stored { entry } => {
                if let Some(Work::Handler(handler)) = self.work_of(actor)
                    && let Some(message) = self.message(handler)
                {
                    self.entries.insert(entry, message);
                    self.scene.unexpected.push(message);
                }
            }
            Step::TakenLate { entry } => {
                if let Some(message) = self.entries.remove(&entry) {
                    self.scene.unexpected.retain(|&held| held != message);
                }
            }
            Step::BlockCut { first, count } => {
                self.first = first;
                self.working_for.clear();
                self.in_domains = false;
                let lane = |(handler, domain)| {
                    let message = self.message(handler);
                    Lane {
                        message,
                        domain,
                        ..Lane::default()
                    }
                };
                self.scene.lanes = self
                    .domains(count)
                    .into_iter()
                    .enumerate()
                    .map(lane)
                    .collect();
            }
            Step::EntryRead { position } => {
                let handler = position.saturating_sub(self.first) as usize;
                self.working_for.insert(actor, handler);
                self.set_phase(handler, Phase::Searching);
                self.forget_walk(handler);
            }
            Step::Visited { receive } => {
                let receive = self.receive(receive);
                if self.work_of(actor).is_none()
                    && let Some(handler) = self.handler_of(actor)
                    && let (Some(lane), Some(receive)) = (self.lane(handler), receive)
                    && !lane.walked.contains(&receive)
                {
                    lane.walked.push(receive);
                }
            }
            Step::Searched { handler, found } => {
                let found = found.and_then(|found| self.receive(found));
                self.set_phase(handler, Phase::Booked);
                self.lane(handler)
                    .into_iter()
                    .for_each(|lane| lane.candidate = found);
            }
            Step::Booked {
                handler, receive, ..
            } => {
                self.forget_walk(handler);
                if let Some(link) = self.link_mut_of(receive)
                    && let Err(place) = link.booked_by.binary_search(&handler)
                {
                    link.booked_by.insert(place, handler);
                }
            }
            Step::SliceBooked => {
                // This actor runs the last handler of its slice now.
                let Some(last) = self.handler_of(actor) else {
                    return;
                };
                for lane in self.scene.lanes.iter_mut().take(last + 1) {
                    if lane.phase == Phase::Booked {
                        lane.phase = Phase::AtBarrier;
                        lane.walked.clear();
                    }
                }
            }
            Step::BarrierPassed {
                first,
                end,
                conflict,
            } => {
                for handler in first..end {
                    self.set_phase(handler, Phase::Past);
                    let known = conflict.filter(|&at| at <= handler);
                    self.lane(handler)
                        .into_iter()
                        .for_each(|lane| lane.conflict = known);
                }
                self.working_for.insert(actor, first);
            }
            Step::DomainPassed {
                handler, conflict, ..
            } => {
                self.in_domains = true;
                self.set_phase(handler, Phase::Past);
                let known = conflict.then_some(handler);
                self.lane(handler)
                    .into_iter()
                    .for_each(|lane| lane.conflict = known);
                self.working_for.insert(actor, handler);
            }
            Step::SlowWaits { handler } => {
                self.working_for.insert(actor, handler);
                self.set_phase(handler, Phase::Waiting);
                self.forget_walk(handler);
            }
            Step::SlowFound { handler, own, .. } => {
                self.set_phase(handler, Phase::Past);
                let way = if own {
                    Resolution::Forced
                } else {
                    Resolution::Slow
                };
                self.lane(handler)
                    .into_iter()
                    .for_each(|lane| lane.way = Some(way));
            }
            Step::Taken {
                handler,
                receive,
                path,
            } => {
                self.working_for.insert(actor, handler);
                let taken = self.receive(receive);
                self.link(taken)
                    .into_iter()
                    .for_each(|link| link.taken_by = Some(handler));
                self.forget_walk(handler);
                if let Some(lane) = self.lane(handler) {
                    (lane.took, lane.phase) = (taken, Phase::Done);
                    let slow = lane.way.unwrap_or(Resolution::Slow);
                    lane.way = Some(match path {
                        Path::Clean => Resolution::Clean,
                        Path::Fast => Resolution::Fast,
                        Path::Slow => slow,
                        Path::Overtaking => Resolution::Overtaking,
                    });
                }
            }
            Step::Unmatched { handler } => {
                self.working_for.insert(actor, handler);
                self.forget_walk(handler);
                if let Some(lane) = self.lane(handler) {
                    (lane.phase, lane.way) = (Phase::Done, Some(Resolution::Unexpected));
                }
            }
            _ => {}
        }
    }

    /// The domains of the handlers of a block that begins.
    fn domains(&self, count: usize) -> Vec<usize> {
        let links = self.scene.bins.iter().flat_map(|chain| &chain.links);
        let posted: Vec<usize> = links
            .filter(|link| link.taken_by.is_none())
            .map(|link| link.receive)
            .collect();
        let known = self.cast.messages.len();
        let first = (self.first as usize).min(known);
        let mut domains = self
            .cast
            .domains(first..(first + count).min(known), &posted);
        domains.resize(count, 0);
        domains
    }

    fn post(&mut self, request: u64, bin: u32, descriptor: u32) {
        let Some(&receive) = self.cast.requests.get(&request) else {
            return;
        };
        self.descriptors.insert(descriptor, receive);
        let link = Link {
            receive,
            taken_by: None,
            booked_by: Vec::new(),
        };
        let index = self.cast.receives[receive].index;
        match self
            .scene
            .bins
            .binary_search_by_key(&bin, |chain| chain.bin)
        {
            Ok(place) => self.scene.bins[place].links.push(link),
            Err(place) => {
                self.scene.bins.insert(
                    place,
                    Chain {
                        bin,
                        index,
                        links: vec![link],
                    },
                );
            }
        }
    }

    fn unlink(&mut self, descriptor: u32) {
        let Some(receive) = self.receive(descriptor) else {
            return;
        };
        for chain in &mut self.scene.bins {
            chain.links.retain(|link| link.receive != receive);
        }
    }
}
