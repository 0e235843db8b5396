//! The pending operations of each request number.

use std::collections::HashMap;

use foldhash::fast::RandomState as Fast;

use crate::analyze::program::Transfer;
use dpamatch_traces::Request;

pub(super) const NONE: u32 = u32::MAX;

/// First and last pending operation of a request number.
#[derive(Clone, Copy)]
struct Queue {
    first: u32,
    last: u32,
}

#[derive(Default)]
pub(super) struct Requests {
    queues: HashMap<i32, Queue, Fast>,
    pub(super) next: Vec<u32>,
    pub(super) persistent: HashMap<i32, Transfer>,
}

impl Requests {
    pub(super) fn push(&mut self, request: Request, transfer: u32) {
        let end = Queue {
            first: transfer,
            last: transfer,
        };
        match self.queues.entry(request.0) {
            std::collections::hash_map::Entry::Vacant(place) => _ = place.insert(end),
            std::collections::hash_map::Entry::Occupied(mut place) => {
                let queue = place.get_mut();
                if queue.first == NONE {
                    *queue = end;
                } else {
                    self.next[queue.last as usize] = transfer;
                    queue.last = transfer;
                }
            }
        }
    }

    pub(super) fn front(&self, request: Request) -> Option<u32> {
        self.queues
            .get(&request.0)
            .map(|queue| queue.first)
            .filter(|&first| first != NONE)
    }

    pub(super) fn pop(&mut self, request: Request) -> Option<u32> {
        let queue = self
            .queues
            .get_mut(&request.0)
            .filter(|queue| queue.first != NONE)?;
        let first = queue.first;
        queue.first = self.next[first as usize];
        Some(first)
    }
}
