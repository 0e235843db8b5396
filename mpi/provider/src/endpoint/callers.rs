//! Callers whose hello is not complete yet, and the places where they wait.
//!
//! A caller whose hello is there when it is accepted needs no place. There are few places, so that
//! strangers cannot take all descriptors of the process. A silent caller loses its place to another
//! after a while, so that strangers cannot keep peers out.

use std::time::{Duration, Instant};

use slab::Slab;

use crate::wire::{Newcomer, Source};

/// Places for callers of this machine, and as many for callers by TCP.
const PLACES: usize = 128;
/// Places for callers from one process, or from one machine by TCP.
const PLACES_OF_ONE: usize = 96;
/// A caller that is silent for longer loses its place when all are taken.
const PATIENCE: Duration = Duration::from_secs(1);

/// The places.
#[derive(Debug, Default)]
pub(super) struct Callers(Slab<(Newcomer, Instant)>);

impl Callers {
    /// Whether one more caller may wait.
    pub(super) fn has_room(&mut self, local: bool) -> bool {
        self.make_room(PLACES, |source| source.is_local() == local)
    }

    /// Gives a caller a place. Returns the caller if its source has none left.
    pub(super) fn insert(&mut self, caller: Newcomer) -> Result<usize, Newcomer> {
        let source = caller.source();
        match self.make_room(PLACES_OF_ONE, |other| other == source) {
            true => Ok(self.0.insert((caller, Instant::now()))),
            false => Err(caller),
        }
    }

    /// Whether fewer than `most` of the selected callers wait. If not, an overdue one leaves.
    fn make_room(&mut self, most: usize, of_these: impl Fn(Source) -> bool) -> bool {
        let these = self
            .0
            .iter()
            .filter(|(_, (caller, _))| of_these(caller.source()));
        if these.clone().count() < most {
            return true;
        }
        let oldest = these.map(|(key, &(_, since))| (since, key)).min();
        let overdue = oldest.filter(|(since, _)| since.elapsed() >= PATIENCE);
        overdue.map(|(_, key)| self.0.remove(key)).is_some()
    }

    pub(super) fn get_mut(&mut self, key: usize) -> Option<&mut Newcomer> {
        self.0.get_mut(key).map(|(caller, _)| caller)
    }

    pub(super) fn remove(&mut self, key: usize) -> Newcomer {
        self.0.remove(key).0
    }
}
