//! An engine of the registry as the matcher.

use dpamatch::engine::{Counter, Engine, MsgId, RecvId};

use super::{Criteria, Matcher, MessageHeader, MsgKey, RecvKey, Verdict};

pub(crate) struct SoftwareMatcher {
    engine: Box<dyn Engine>,
    verdicts: Vec<Verdict>,
}

impl std::fmt::Debug for SoftwareMatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SoftwareMatcher").finish_non_exhaustive()
    }
}

impl SoftwareMatcher {
    pub(crate) fn new(engine: Box<dyn Engine>) -> Self {
        Self {
            engine,
            verdicts: Vec::new(),
        }
    }
}

impl Matcher for SoftwareMatcher {
    fn post(&mut self, recv: RecvKey, criteria: &Criteria) {
        let msg = self
            .engine
            .post(RecvId(recv.0.into()), criteria.comm, criteria.selector);
        self.verdicts
            .push(msg.map_or(Verdict::Posted(recv), |msg| Verdict::Matched {
                recv,
                msg: key(msg),
                late: true,
            }));
    }

    fn arrive(&mut self, msg: MsgKey, header: &MessageHeader) {
        let recv = self.engine.arrive(MsgId(msg.0.into()), header.envelope);
        self.verdicts.push(
            recv.map_or(Verdict::Unexpected(msg), |recv| Verdict::Matched {
                recv: RecvKey(recv.0 as u32),
                msg,
                late: false,
            }),
        );
    }

    fn cancel(&mut self, recv: RecvKey, _: &Criteria) {
        if self.engine.cancel(RecvId(recv.0.into())) {
            self.verdicts.push(Verdict::Cancelled(recv));
        }
    }

    fn probe(&mut self, criteria: &Criteria, take: bool) {
        let found = match take {
            true => self.engine.mprobe(criteria.comm, criteria.selector),
            false => self.engine.probe(criteria.comm, criteria.selector),
        };
        self.verdicts.push(Verdict::Probed {
            found: found.map(key),
        });
    }

    fn settle(&mut self, sink: &mut Vec<Verdict>) {
        sink.append(&mut self.verdicts);
    }

    fn counters(&self) -> Vec<Counter> {
        let mut counters = self.engine.stats().counters();
        counters.extend(self.engine.own_counters());
        counters
    }
}

fn key(msg: MsgId) -> MsgKey {
    MsgKey(msg.0 as u32)
}
