//! Searches of point-to-point and of collective elements, counted apart.

use std::fmt;
use std::time::Duration;

use super::matcher::check;
use super::{Event, Outcome, RunError, StreamMatcher, apply};
use crate::engine::{Counter, Engine, QueueStats, Stats};

/// Elements and searches of one kind in one queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KindStats {
    /// Elements that entered the queue.
    pub entered: u64,
    /// Searches for an element of this kind, probes included.
    pub searches: u64,
    /// Full compares of these searches.
    pub attempts: u64,
    /// Their steps over inner nodes.
    pub hops: u64,
}

impl KindStats {
    /// The cost of the searches.
    pub fn steps(&self) -> u64 {
        self.attempts + self.hops
    }

    fn add(&mut self, before: &QueueStats, after: &QueueStats) {
        self.entered += after.length.saturating_sub(before.length);
        self.searches += after.searches() - before.searches();
        self.attempts += after.attempts - before.attempts;
        self.hops += after.hops - before.hops;
    }
}

/// Both queues by kind: point-to-point, then collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kinds {
    /// The posted receive queue.
    pub prq: [KindStats; 2],
    /// The unexpected message queue.
    pub umq: [KindStats; 2],
}

impl Kinds {
    /// Makes the call of one event and counts what it did.
    pub fn apply(&mut self, engine: &mut dyn Engine, event: Event) -> Option<Outcome> {
        let kind = match event {
            Event::Post { coll, .. } | Event::Arrive { coll, .. } => usize::from(coll.is_some()),
            _ => 0,
        };
        let Stats { prq, umq, .. } = *engine.stats();
        let outcome = apply(engine, event);
        self.prq[kind].add(&prq, &engine.stats().prq);
        self.umq[kind].add(&umq, &engine.stats().umq);
        outcome
    }

    /// All numbers by name; none of a stream without collective elements.
    fn counters(&self) -> Vec<Counter> {
        let collective = self.prq[1].searches + self.umq[1].searches > 0;
        let queues = [("prq", &self.prq), ("umq", &self.umq)]
            .into_iter()
            .filter(|_| collective);
        let kinds = queues
            .flat_map(|(queue, [p2p, coll])| [(queue, "p2p", p2p), (queue, "collective", coll)]);
        let named = kinds.flat_map(|(queue, kind, stats)| {
            let KindStats {
                entered,
                searches,
                attempts,
                hops,
            } = *stats;
            [
                ("entered", entered),
                ("searches", searches),
                ("attempts", attempts),
                ("hops", hops),
            ]
            .map(|(name, value)| Counter::new(format!("{queue}_{kind}_{name}"), value))
        });
        named.collect()
    }
}

/// An engine that runs streams and counts by kind.
pub struct ByKind {
    engine: Box<dyn Engine>,
    kinds: Kinds,
}

impl fmt::Debug for ByKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByKind")
            .field("kinds", &self.kinds)
            .finish_non_exhaustive()
    }
}

impl ByKind {
    /// Counts the searches of `engine` from now on.
    pub fn new(engine: Box<dyn Engine>) -> Self {
        Self {
            engine,
            kinds: Kinds::default(),
        }
    }
}

impl StreamMatcher for ByKind {
    fn run(
        &mut self,
        events: &mut dyn Iterator<Item = Event>,
        sink: &mut dyn FnMut(Outcome),
    ) -> Result<(), RunError> {
        for event in events {
            let outcome = self.kinds.apply(self.engine.as_mut(), event);
            check(self.engine.as_ref())?;
            outcome.into_iter().for_each(&mut *sink);
        }
        self.engine.as_mut().run(&mut std::iter::empty(), sink)
    }

    /// Counts nothing by kind, so that the time is the engine's.
    fn time(&mut self, fill: &[Event], timed: &[Event]) -> Result<Duration, RunError> {
        self.engine.as_mut().time(fill, timed)
    }

    fn counters(&self) -> Vec<Counter> {
        [self.engine.as_ref().counters(), self.kinds.counters()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ListEngine;
    use crate::stream::Reader;

    /// A collective receive is in front of a point-to-point one, and so do messages.
    #[test]
    fn each_search_counts_for_the_kind_of_its_element() {
        let text = "post,0,1,3,7,coll=bcast\npost,1,0,3,7\narrive,0,0,3,7\narrive,1,0,5,5\n\
                    arrive,2,1,4,9,coll=bcast\npost,2,1,4,9,coll=bcast\ncancel,0\nprobe,0,0,5,5\n";
        let mut events = Reader::new(text.as_bytes()).map(|event| event.expect("a good line"));
        let mut list = ByKind::new(Box::new(ListEngine::new()));
        list.run(&mut events, &mut |_| ()).expect("an engine");
        let [p2p, collective] = list.kinds.prq;
        let of = |entered, searches, attempts| KindStats {
            entered,
            searches,
            attempts,
            hops: 0,
        };
        assert_eq!((p2p, collective), (of(1, 2, 2 + 1), of(1, 1, 1)));
        let [p2p, collective] = list.kinds.umq;
        assert_eq!((p2p, collective), (of(1, 2, 1), of(1, 2, 2)));
        let named = |name: &str| {
            list.counters()
                .iter()
                .find(|it| it.name == name)
                .map(|it| it.value)
        };
        assert_eq!(named("umq_collective_attempts"), Some(2));
        let plain = ByKind::new(Box::new(ListEngine::new()));
        assert!(
            plain
                .counters()
                .iter()
                .all(|counter| !counter.name.contains("p2p"))
        );
    }
}
