//! An engine and the oracle side by side.

use std::collections::BTreeSet;

use dpamatch_vocabulary::CommId;

use super::Call;
use super::call::comm_of;
use crate::engine::{Engine, Load, Oracle, QueueStats};
use crate::stream::{Event, Outcome, apply};

/// The first disagreement between an engine and the oracle.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("call {number}, {call}: {what}")]
pub struct Difference {
    /// Which call, from 0.
    pub number: u64,
    /// The call.
    pub call: String,
    /// The compared property, with the engine's and the oracle's value.
    pub what: String,
}

/// An engine and the oracle, given the same calls.
pub struct Pair {
    engine: Box<dyn Engine>,
    oracle: Oracle,
    load: Load,
    comms: BTreeSet<CommId>,
    posts: u64,
    arrivals: u64,
    mprobes: u64,
    calls: u64,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pair")
            .field("oracle", &self.oracle)
            .finish_non_exhaustive()
    }
}

/// `Err` if the two differ; `what` names them.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, engine: T, oracle: T) -> Result<(), String> {
    if engine == oracle {
        Ok(())
    } else {
        Err(format!("{what}: {engine:?}, the oracle {oracle:?}"))
    }
}

fn holds(what: &str, condition: bool) -> Result<(), String> {
    if condition {
        Ok(())
    } else {
        Err(what.to_owned())
    }
}

impl Pair {
    /// A pair of this engine, which must be empty, and a new oracle.
    pub fn new(engine: Box<dyn Engine>) -> Self {
        Self {
            engine,
            oracle: Oracle::new(),
            load: Load::default(),
            comms: BTreeSet::new(),
            posts: 0,
            arrivals: 0,
            mprobes: 0,
            calls: 0,
        }
    }

    /// The engine.
    pub fn engine(&self) -> &dyn Engine {
        self.engine.as_ref()
    }

    /// Makes a call on both and compares what they return.
    ///
    /// # Errors
    /// The [`Difference`].
    pub fn apply(&mut self, call: Call) -> Result<(), Difference> {
        let result = match call {
            Call::Event(event) => self.event(event),
            Call::Free(comm) => {
                let freed = self.oracle.free_comm(comm);
                same("freed", self.engine.free_comm(comm), freed)
            }
            Call::Size(comm, size) => {
                self.comms.insert(comm);
                self.load.comm_size = self.load.comm_size.max(size);
                self.engine.set_comm_size(comm, size);
                Ok(())
            }
        };
        self.calls += 1;
        let result = self.faultless().and(result);
        result.map_err(|what| self.difference(call.to_string(), what))
    }

    fn faultless(&self) -> Result<(), String> {
        self.engine.fault().map_or(Ok(()), Err)
    }

    fn difference(&self, call: String, what: String) -> Difference {
        Difference {
            number: self.calls - 1,
            call,
            what,
        }
    }

    fn event(&mut self, event: Event) -> Result<(), String> {
        self.comms.extend(comm_of(&event));
        self.posts += u64::from(matches!(event, Event::Post { .. }));
        self.arrivals += u64::from(matches!(event, Event::Arrive { .. }));
        let expected = apply(&mut self.oracle, event);
        let took = matches!(expected, Some(Outcome::Mprobed { msg: Some(_), .. }));
        self.mprobes += u64::from(took);
        same("result", apply(self.engine.as_mut(), event), expected)
    }

    /// Compares the visible state between two calls: both queues in order, the communicators with
    /// entries, and the statistics that do not depend on the structure. Takes O(length of the
    /// queues).
    ///
    /// # Errors
    /// The [`Difference`]; its call is the one made last.
    pub fn compare(&mut self) -> Result<(), Difference> {
        let seen = self.compare_queues().and_then(|()| self.compare_stats());
        let seen = self.faultless().and(seen);
        seen.map_err(|what| Difference {
            number: self.calls.saturating_sub(1),
            call: "after it".to_owned(),
            what,
        })
    }

    fn compare_queues(&self) -> Result<(), String> {
        same("PRQ", self.engine.posted(), self.oracle.posted())?;
        same("UMQ", self.engine.unexpected(), self.oracle.unexpected())?;
        // At most some hundred: the oracle needs the length of its queues for each.
        for &comm in self.comms.iter().take(200) {
            same(
                "no entries",
                self.engine.is_empty(comm),
                self.oracle.is_empty(comm),
            )?;
        }
        Ok(())
    }

    /// S28: statistics that do not depend on the structure are equal, the others are possible, and
    /// no entry is lost.
    fn compare_stats(&mut self) -> Result<(), String> {
        let common = |queue: &QueueStats| {
            (
                queue.hits,
                queue.misses,
                queue.length,
                queue.length_max,
                queue.length_sum,
            )
        };
        let (stats, expected) = (self.engine.stats(), self.oracle.stats());
        same(
            "PRQ hits, misses, lengths",
            common(&stats.prq),
            common(&expected.prq),
        )?;
        same(
            "UMQ hits, misses, lengths",
            common(&stats.umq),
            common(&expected.umq),
        )?;
        same(
            "cancels",
            (stats.cancelled, stats.too_late),
            (expected.cancelled, expected.too_late),
        )?;
        for (name, queue) in [("PRQ", &stats.prq), ("UMQ", &stats.umq)] {
            // One search compares an entry at most once.
            holds(
                &format!("{name}: depth above length"),
                queue.depth_max <= queue.length_max,
            )?;
            holds(
                &format!("{name}: depths above lengths"),
                queue.depth_sum <= queue.length_sum,
            )?;
            holds(
                &format!("{name}: attempts below depths"),
                queue.attempts >= queue.depth_sum,
            )?;
        }
        // Every post and arrival is matched, cancelled, taken or still queued.
        let pairs = self.posts - stats.cancelled - stats.prq.length;
        same(
            "matches",
            pairs,
            self.arrivals - self.mprobes - stats.umq.length,
        )?;

        self.load.posted = stats.prq.length_max;
        self.load.unexpected = stats.umq.length_max;
        self.load.comms = self.comms.len() as u64;
        let bound = self.engine.memory_bound(&self.load);
        holds(
            "memory above its maximum",
            stats.memory_bytes <= stats.memory_bytes_max,
        )?;
        holds(
            &format!(
                "memory {} above the bound {bound} for {:?}",
                stats.memory_bytes_max, self.load
            ),
            stats.memory_bytes_max <= bound,
        )
    }
}

/// Makes the calls on an engine, which must be empty, and on the oracle; compares every return
/// value, and the visible state after each of the first calls, at intervals, and at the end.
///
/// # Errors
/// The first [`Difference`].
pub fn check_engine(
    engine: Box<dyn Engine>,
    calls: impl Iterator<Item = Call>,
) -> Result<(), Difference> {
    let mut pair = Pair::new(engine);
    for (number, call) in calls.enumerate() {
        pair.apply(call)?;
        if number < 64 || number % 251 == 0 {
            pair.compare()?;
        }
    }
    pair.compare()
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::{Envelope, Selector, SourceSel, TagSel};

    use super::*;
    use crate::conformance::random_calls;
    use crate::engine::{ListEngine, MsgId, RecvId, Stats};
    use crate::stream::Profile;

    struct Broken(
        ListEngine,
        fn(&mut ListEngine, CommId, Selector) -> Option<MsgId>,
        u64,
    );

    impl Engine for Broken {
        fn post(&mut self, recv: RecvId, comm: CommId, selector: Selector) -> Option<MsgId> {
            self.0.post(recv, comm, selector)
        }
        fn arrive(&mut self, msg: MsgId, envelope: Envelope) -> Option<RecvId> {
            self.0.arrive(msg, envelope)
        }
        fn cancel(&mut self, recv: RecvId) -> bool {
            self.0.cancel(recv)
        }
        fn probe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
            self.0.probe(comm, selector)
        }
        fn mprobe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
            (self.1)(&mut self.0, comm, selector)
        }
        fn free_comm(&mut self, comm: CommId) -> bool {
            self.0.free_comm(comm)
        }
        fn posted(&self) -> Vec<RecvId> {
            self.0.posted()
        }
        fn unexpected(&self) -> Vec<MsgId> {
            self.0.unexpected()
        }
        fn is_empty(&self, comm: CommId) -> bool {
            self.0.is_empty(comm)
        }
        fn stats(&self) -> &Stats {
            self.0.stats()
        }
        fn memory_bound(&self, _load: &Load) -> u64 {
            self.2
        }
    }

    fn differs(
        mprobe: fn(&mut ListEngine, CommId, Selector) -> Option<MsgId>,
        bound: u64,
    ) -> String {
        let engine = Box::new(Broken(ListEngine::new(), mprobe, bound));
        let calls = random_calls(3, 2000, Profile::Mixed).into_iter();
        check_engine(engine, calls).map_or_else(|it| it.to_string(), |()| "none".to_owned())
    }

    #[test]
    fn differences_are_found_and_named() {
        const ANY: Selector = Selector {
            source: SourceSel::Any,
            tag: TagSel::Any,
        };
        assert_eq!(differs(ListEngine::mprobe, u64::MAX), "none");
        let leaves = differs(|list, comm, selector| list.probe(comm, selector), u64::MAX);
        assert!(
            leaves.starts_with("call 112, probe,3,1,0,2147483647: result: "),
            "{leaves}"
        );
        let other = differs(|list, comm, _| list.mprobe(comm, ANY), u64::MAX);
        assert!(
            other.starts_with("call 67, mprobe,2,1,*,2147483647: result: "),
            "{other}"
        );
        let memory = differs(ListEngine::mprobe, 500);
        let above = "call 4, after it: memory 544 above the bound 500 for Load { posted: 0, ";
        assert!(memory.starts_with(above), "{memory}");
        // The first call is number 0.
        let mut engine = ListEngine::new();
        engine.post(RecvId(9), CommId(0), ANY);
        let calls = random_calls(3, 1, Profile::Hot).into_iter();
        assert_eq!(
            check_engine(Box::new(engine), calls).map_err(|it| it.number),
            Err(0)
        );
    }
}
