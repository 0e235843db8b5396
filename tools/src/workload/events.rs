//! The stream of a workload.

use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, SourceSel, Tag};

use super::Workload;
use super::order::mix;
use super::pattern::Key;
use dpamatch::engine::{MsgId, RecvId};
use dpamatch::stream::Event;

/// Tags of elements with wildcard sources. A message that any receive may take needs a tag of its
/// own, or some receives would be left over.
const WILD_TAGS: u32 = 1 << 30;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Standing,
    /// Messages before their receives.
    Early,
    /// Receives of a group.
    Posts {
        start: u64,
    },
    /// Messages after the group's receives.
    Late {
        start: u64,
    },
}

/// The events of a [`Workload`], in constant memory.
#[derive(Clone, Debug)]
pub struct Events {
    workload: Workload,
    round: u64,
    phase: Phase,
    place: u64,
    /// Elements of the round over all communicators.
    count: u64,
    receives: u64,
    messages: u64,
}

impl Events {
    pub(super) fn new(workload: Workload) -> Self {
        let count = workload.elements(0) * u64::from(workload.comms);
        Self {
            workload,
            round: 0,
            phase: Phase::Standing,
            place: 0,
            count,
            receives: 0,
            messages: 0,
        }
    }

    fn percent(&self, what: u64, element: u64) -> u64 {
        mix(self.workload.seed ^ what << 60 ^ self.round << 32 ^ element) % 100
    }

    fn is_early(&self, element: u64) -> bool {
        self.percent(1, element) < u64::from(self.workload.early)
    }

    fn is_wild(&self, element: u64) -> bool {
        self.percent(2, element) < u64::from(self.workload.any)
    }

    /// Elements of different communicators alternate.
    fn comm_and_key(&self, element: u64) -> (CommId, Key) {
        let comms = u64::from(self.workload.comms);
        let (comm, i) = (element % comms, element / comms);
        let key = match self.phase {
            Phase::Standing => self.workload.standing_key(i),
            _ => self.workload.key(self.round, i),
        };
        // Collective operations have their own contexts.
        (CommId(2 * comm as u32 + u32::from(key.coll.is_some())), key)
    }

    fn wild_tag(&self, element: u64, tag: u32) -> Tag {
        let wild = self.phase != Phase::Standing && self.is_wild(element);
        Tag::new(tag % WILD_TAGS + if wild { WILD_TAGS } else { 0 }).unwrap_or_default()
    }

    fn post(&mut self, element: u64) -> Event {
        let (comm, key) = self.comm_and_key(element);
        let tag = self.wild_tag(element, key.tag);
        let wild = tag.get() >= WILD_TAGS;
        let source = if wild {
            SourceSel::Any
        } else {
            SourceSel::Rank(Rank::new(key.source).unwrap_or_default())
        };
        self.receives += 1;
        Event::Post {
            recv: RecvId(self.receives - 1),
            comm,
            selector: Selector::new(source, tag),
            size: Some(self.workload.bytes),
            coll: self.workload.mark(key),
        }
    }

    fn arrive(&mut self, element: u64) -> Event {
        let (comm, key) = self.comm_and_key(element);
        let source = Rank::new(key.source).unwrap_or_default();
        let envelope = Envelope {
            comm,
            source,
            tag: self.wild_tag(element, key.tag),
        };
        self.messages += 1;
        Event::Arrive {
            msg: MsgId(self.messages - 1),
            envelope,
            bytes: Some(self.workload.bytes),
            coll: self.workload.mark(key),
            lie: 0,
        }
    }

    fn next_arrival(&mut self, start: u64, count: u64, early: bool) -> Option<Event> {
        let seed = mix(self.workload.seed ^ self.round << 32 ^ start);
        while self.place < count {
            let element = start + self.workload.order.at(self.place, count, seed);
            self.place += 1;
            if self.is_early(element) == early {
                return Some(self.arrive(element));
            }
        }
        None
    }

    fn enter(&mut self, phase: Phase) {
        (self.phase, self.place) = (phase, 0);
    }

    fn group(&self, start: u64) -> u64 {
        self.workload.group().min(self.count - start)
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        while self.round < self.workload.rounds {
            match self.phase {
                Phase::Standing => {
                    if self.place < self.workload.standing() * u64::from(self.workload.comms) {
                        self.place += 1;
                        let unexpected = self.workload.early == 100;
                        let entry = self.place - 1;
                        return Some(if unexpected {
                            self.arrive(entry)
                        } else {
                            self.post(entry)
                        });
                    }
                    self.enter(Phase::Early);
                }
                Phase::Early => match self.next_arrival(0, self.count, true) {
                    Some(event) => return Some(event),
                    None => self.enter(Phase::Posts { start: 0 }),
                },
                Phase::Posts { start } if self.place < self.group(start) => {
                    self.place += 1;
                    return Some(self.post(start + self.place - 1));
                }
                Phase::Posts { start } => self.enter(Phase::Late { start }),
                Phase::Late { start } => {
                    let count = self.group(start);
                    if let Some(event) = self.next_arrival(start, count, false) {
                        return Some(event);
                    }
                    if start + count < self.count {
                        self.enter(Phase::Posts {
                            start: start + count,
                        });
                    } else {
                        self.round += 1;
                        self.count =
                            self.workload.elements(self.round) * u64::from(self.workload.comms);
                        self.enter(Phase::Early);
                    }
                }
            }
        }
        None
    }
}
