//! Callers whose hello is not complete yet, and the places where they wait.
//!
//! A caller whose hello is there when it is accepted needs no place. There are few places, so that
//! strangers cannot take all descriptors of the process. A caller that has proved that it knows the
//! key takes none of them. A silent caller loses its place to another
//! after a while, so that strangers cannot keep peers out.

use std::time::{Duration, Instant};

use slab::Slab;

use crate::wire::{PendingPeer, Source};

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
    newcomer: PendingPeer,
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
    pub(super) fn has_room(&mut self, local: bool, now: Instant) -> bool {
        self.welcome == 0 && self.make_room(PLACES, now, |source| source.is_local() == local)
    }

    /// Gives a caller a place. Returns the caller if its source has none left.
    pub(super) fn insert(
        &mut self,
        caller: PendingPeer,
        now: Instant,
    ) -> Result<usize, PendingPeer> {
        let source = caller.source();
        match caller.is_known() || self.make_room(PLACES_OF_ONE, now, |other| other == source) {
            true => Ok(self.place(caller, false, now)),
            false => Err(caller),
        }
    }

    /// Gives a place to a caller with the right hello, which waits for a descriptor. It keeps the
    /// place until it gets one.
    pub(super) fn insert_welcome(&mut self, caller: PendingPeer, now: Instant) -> usize {
        self.welcome += 1;
        self.place(caller, true, now)
    }

    fn place(&mut self, newcomer: PendingPeer, welcome: bool, since: Instant) -> usize {
        self.places.insert(Caller {
            newcomer,
            since,
            welcome,
        })
    }

    /// Whether fewer than `most` of the selected callers wait. If not, an overdue one leaves.
    fn make_room(&mut self, most: usize, now: Instant, of_these: impl Fn(Source) -> bool) -> bool {
        let these = self
            .places
            .iter()
            .filter(|(_, caller)| caller.is_stranger() && of_these(caller.newcomer.source()));
        if these.clone().count() < most {
            return true;
        }
        let oldest = these.map(|(key, caller)| (caller.since, key)).min();
        let overdue = oldest.filter(|(since, _)| now.duration_since(*since) >= PATIENCE);
        overdue.map(|(_, key)| self.places.remove(key)).is_some()
    }

    pub(super) fn get_mut(&mut self, key: usize) -> Option<&mut PendingPeer> {
        self.places.get_mut(key).map(|caller| &mut caller.newcomer)
    }

    pub(super) fn remove(&mut self, key: usize) -> PendingPeer {
        let caller = self.places.remove(key);
        self.welcome -= usize::from(caller.welcome);
        caller.newcomer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Address, Listener, TcpChoice, connect};

    /// Callers from this process that say nothing.
    fn silent() -> impl Fn() -> PendingPeer {
        let mut own = Address::fresh().expect("an address");
        let listener = Listener::open(&mut own, TcpChoice::Off).expect("a listener");
        move || {
            let from = Address::fresh().expect("an address");
            let _link = connect(&from, &own, 512, None).expect("a link");
            let caller = listener.accept(true).expect("a caller");
            caller.expect("of this user")
        }
    }

    #[test]
    fn a_caller_that_waits_for_a_descriptor_keeps_others_out_until_it_leaves() {
        let (caller, now) = (silent(), Instant::now());
        let mut callers = Callers::default();
        let silent = callers.insert(caller(), now).expect("a place");
        let waiting = [(); 2].map(|()| callers.insert_welcome(caller(), now));
        for waits in waiting {
            assert!(!callers.has_room(true, now) && !callers.has_room(false, now));
            callers.remove(waits);
        }
        assert!(callers.has_room(true, now) && callers.has_room(false, now));
        callers.remove(silent);
        assert!(callers.has_room(true, now) && callers.places.is_empty());
    }

    /// Of a full source the caller that came first leaves, when it has been silent for long enough.
    /// One that waits for a descriptor never does.
    #[test]
    fn the_oldest_silent_caller_loses_its_place_after_its_patience() {
        let (caller, begin) = (silent(), Instant::now());
        let at = |millis| begin + Duration::from_millis(millis);
        let mut callers = Callers::default();
        callers.insert_welcome(caller(), begin);
        let place = |callers: &mut Callers, now| callers.insert(caller(), now).ok();
        let first = place(&mut callers, at(20)).expect("a place");
        let second = place(&mut callers, at(10)).expect("a place");
        for _ in 2..PLACES_OF_ONE {
            assert!(place(&mut callers, at(30)).is_some());
        }
        assert_eq!(place(&mut callers, at(1_009)), None);
        assert_eq!(callers.places.len(), 1 + PLACES_OF_ONE);
        assert_eq!(place(&mut callers, at(1_010)), Some(second));
        assert_eq!(place(&mut callers, at(1_019)), None);
        assert_eq!(place(&mut callers, at(1_020)), Some(first));
        assert_eq!(callers.places.len(), 1 + PLACES_OF_ONE);
    }
}
