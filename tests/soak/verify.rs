//! The judge of a soak run: the oracle for matches, a numbered list for messages.

use std::collections::HashMap;

use super::traffic::Name;
use dpamatch::endpoint::{LogEntry, Status, replay};
use dpamatch::engine::{Engine, Oracle};

#[derive(Debug)]
pub(super) struct Verifier {
    oracle: Oracle,
    /// Messages that arrived and were not received, by arrival number.
    waiting: HashMap<u64, Name>,
    /// Messages that arrived, by sender and communicator.
    arrived: HashMap<(u32, u32), u64>,
    pub(super) entries: u64,
}

impl Verifier {
    pub(super) fn new() -> Self {
        Self {
            oracle: Oracle::new(),
            waiting: HashMap::new(),
            arrived: HashMap::new(),
            entries: 0,
        }
    }

    /// Follows the order log, whose entries are then consumed.
    pub(super) fn follow(&mut self, log: &mut Vec<LogEntry>) {
        for entry in log.drain(..) {
            if let LogEntry::Arrive { msg, envelope, .. } = entry {
                let (source, comm) = (envelope.source.get(), envelope.comm.0);
                let arrived = self.arrived.entry((source, comm)).or_default();
                let name = Name {
                    ordinal: *arrived,
                    source,
                    tag: envelope.tag.get(),
                    comm,
                };
                *arrived += 1;
                self.waiting.insert(msg.0, name);
            }
            replay(&mut self.oracle, &[entry])
                .unwrap_or_else(|error| panic!("entry {}: {error}", self.entries));
            self.entries += 1;
        }
    }

    /// Checks a received message, whose arrival must be in the log so far. Returns its sender.
    pub(super) fn receive(&mut self, bytes: &[u8], status: &Status) -> usize {
        let name = self
            .waiting
            .remove(&status.arrival)
            .expect("the arrival waits for a receive");
        name.check(bytes, status);
        name.source as usize
    }

    /// Messages in the unexpected queue.
    pub(super) fn unexpected(&self) -> u64 {
        self.oracle.stats().umq.length
    }

    /// The unexpected message at this index modulo the length.
    pub(super) fn unexpected_at(&self, place: usize) -> Option<Name> {
        let messages = self.oracle.unexpected();
        let message = messages[place.checked_rem(messages.len())?];
        self.waiting.get(&message.0).copied()
    }

    /// Receives and messages in the queues.
    pub(super) fn left(&self) -> (usize, usize) {
        (
            self.oracle.posted().len(),
            self.oracle.unexpected().len().max(self.waiting.len()),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, SourceSel, Tag, TagSel};

    use super::*;
    use dpamatch::engine::{MsgId, RecvId};

    fn arrival(number: u64, matched: Option<RecvId>) -> LogEntry {
        LogEntry::Arrive {
            msg: MsgId(number),
            envelope: Envelope::default(),
            matched,
        }
    }

    fn status(arrival: u64) -> Status {
        Status {
            source: Rank::default(),
            tag: Tag::default(),
            bytes: 20,
            arrival,
        }
    }

    #[test]
    fn every_kind_of_fault_is_found() {
        let selector = Selector::new(SourceSel::Any, TagSel::Any);
        let post = LogEntry::Post {
            recv: RecvId(0),
            comm: CommId(0),
            selector,
            matched: Some(MsgId(1)),
        };
        // The first byte belongs to the number, the other one to the tag.
        for (arrived, ordinal, tag, wanted) in [
            (Some(7), 0, 0, "the arrival waits for a receive"),
            (Some(0), 1, 0, "lost, or out of order"),
            (Some(1), 1, 1, "wrong bytes"),
            (None, 0, 0, "entry 2: "),
        ] {
            let mut verifier = Verifier::new();
            verifier.follow(&mut vec![arrival(0, None), arrival(1, None)]);
            let mut bytes = [0; 20];
            (bytes[0], bytes[12]) = (ordinal, tag);
            let judge = AssertUnwindSafe(|| match arrived {
                Some(arrived) => _ = verifier.receive(&bytes, &status(arrived)),
                None => verifier.follow(&mut vec![post]),
            });
            let panic = catch_unwind(judge).expect_err(wanted);
            let text = panic.downcast::<String>().expect("words");
            assert!(text.contains(wanted), "{text}");
        }
    }
}
