//! Unmatched messages on the NIC, by arrival number.
//!
//! Most match soon. So the latest are in a table indexed by the number; a message that still waits
//! when its place is needed moves to a map.

use std::collections::HashMap;

use dpamatch_vocabulary::CommId;
use foldhash::fast::FixedState;

use super::MsgKey;

/// Places of the table, a power of two.
const PLACES: usize = 1024;

/// A place of the table; no message has this number when it is free.
#[derive(Clone, Copy, Debug)]
struct Place {
    arrival: u64,
    key: MsgKey,
    comm: CommId,
}

const FREE: Place = Place {
    arrival: u64::MAX,
    key: MsgKey(0),
    comm: CommId(0),
};

#[derive(Debug)]
pub(super) struct Messages {
    places: Box<[Place; PLACES]>,
    old: HashMap<u64, (MsgKey, CommId), FixedState>,
}

impl Default for Messages {
    fn default() -> Self {
        Self {
            places: Box::new([FREE; PLACES]),
            old: HashMap::default(),
        }
    }
}

impl Messages {
    fn place(&mut self, arrival: u64) -> &mut Place {
        &mut self.places[arrival as usize % PLACES]
    }

    pub(super) fn insert(&mut self, arrival: u64, key: MsgKey, comm: CommId) {
        let before = std::mem::replace(self.place(arrival), Place { arrival, key, comm });
        if before.arrival != FREE.arrival {
            self.old.insert(before.arrival, (before.key, before.comm));
        }
    }

    pub(super) fn get(&self, arrival: u64) -> Option<(MsgKey, CommId)> {
        let place = &self.places[arrival as usize % PLACES];
        match place.arrival == arrival {
            true => Some((place.key, place.comm)),
            false => self.old.get(&arrival).copied(),
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, arrival: u64) -> Option<(MsgKey, CommId)> {
        let place = self.place(arrival);
        if place.arrival != arrival {
            return self.old.remove(&arrival);
        }
        let Place { key, comm, .. } = std::mem::replace(place, FREE);
        Some((key, comm))
    }
}
