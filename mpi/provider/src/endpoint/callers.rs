//! Callers whose hello is not complete yet, and the places where they wait.
//!
//! A caller whose hello is there when it is accepted needs no place. There are few places, so that
//! strangers cannot take all descriptors of the process. A caller that has proved that it knows the
//! key takes none of them. A silent caller loses its place to another
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
pub(super) struct Callers {
    places: Slab<Caller>,
    /// Callers with the right hello that wait for a descriptor.
    welcome: usize,
}

#[derive(Debug)]
struct Caller {
    newcomer: Newcomer,
    since: Instant,
    welcome: bool,
}

impl Caller {
    fn is_stranger(&self) -> bool {
        !self.welcome && !self.newcomer.is_known()
    }
}

impl Callers {
    /// Whether one more caller may be accepted. None may while others wait for descriptors.
    pub(super) fn has_room(&mut self, local: bool) -> bool {
        self.welcome == 0 && self.make_room(PLACES, |source| source.is_local() == local)
    }

    /// Gives a caller a place. Returns the caller if its source has none left.
    pub(super) fn insert(&mut self, caller: Newcomer) -> Result<usize, Newcomer> {
        let source = caller.source();
        match caller.is_known() || self.make_room(PLACES_OF_ONE, |other| other == source) {
            true => Ok(self.place(caller, false)),
            false => Err(caller),
        }
    }

    /// Gives a place to a caller with the right hello, which waits for a descriptor. It keeps the
    /// place until it gets one.
    pub(super) fn insert_welcome(&mut self, caller: Newcomer) -> usize {
        self.welcome += 1;
        self.place(caller, true)
    }

    fn place(&mut self, newcomer: Newcomer, welcome: bool) -> usize {
        let since = Instant::now();
        self.places.insert(Caller {
            newcomer,
            since,
            welcome,
        })
    }

    /// Whether fewer than `most` of the selected callers wait. If not, an overdue one leaves.
    fn make_room(&mut self, most: usize, of_these: impl Fn(Source) -> bool) -> bool {
        let these = self
            .places
            .iter()
            .filter(|(_, caller)| caller.is_stranger() && of_these(caller.newcomer.source()));
        if these.clone().count() < most {
            return true;
        }
        let oldest = these.map(|(key, caller)| (caller.since, key)).min();
        let overdue = oldest.filter(|(since, _)| since.elapsed() >= PATIENCE);
        overdue.map(|(_, key)| self.places.remove(key)).is_some()
    }

    pub(super) fn get_mut(&mut self, key: usize) -> Option<&mut Newcomer> {
        self.places.get_mut(key).map(|caller| &mut caller.newcomer)
    }

    pub(super) fn remove(&mut self, key: usize) -> Newcomer {
        let caller = self.places.remove(key);
        self.welcome -= usize::from(caller.welcome);
        caller.newcomer
    }
}

#[cfg(test)]
#[test]
fn a_caller_that_waits_for_a_descriptor_keeps_others_out_until_it_leaves() {
    use crate::wire::{Address, Listener, TcpChoice, connect};

    let mut own = Address::fresh().expect("an address");
    let listener = Listener::open(&mut own, TcpChoice::Off).expect("a listener");
    let caller = || {
        let from = Address::fresh().expect("an address");
        let _link = connect(&from, &own, 512).expect("a link");
        listener
            .accept(true)
            .expect("a caller")
            .expect("of this user")
    };
    let mut callers = Callers::default();
    let silent = callers.insert(caller()).expect("a place");
    let waiting = [(); 2].map(|()| callers.insert_welcome(caller()));
    for waits in waiting {
        assert!(!callers.has_room(true) && !callers.has_room(false));
        callers.remove(waits);
    }
    assert!(callers.has_room(true) && callers.has_room(false));
    callers.remove(silent);
    assert!(callers.has_room(true) && callers.places.is_empty());
}
