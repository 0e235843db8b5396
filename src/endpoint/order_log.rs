//! The order that the NIC chose, as a log, and its replay through a sequential engine.

use dpamatch_vocabulary::{CommId, Envelope, Selector};

use crate::engine::{Engine, MsgId, RecvId};

/// One event in the order of matching, with its result. A message's name is its arrival number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LogEntry {
    /// A receive was posted.
    Post {
        /// The receive.
        recv: RecvId,
        /// Its communicator.
        comm: CommId,
        /// What it accepts.
        selector: Selector,
        /// The unexpected message that it took.
        matched: Option<MsgId>,
    },
    /// A message arrived.
    Arrive {
        /// The message.
        msg: MsgId,
        /// Its communicator, source and tag.
        envelope: Envelope,
        /// The receive that it found.
        matched: Option<RecvId>,
    },
    /// A cancel was executed.
    Cancel {
        /// The receive.
        recv: RecvId,
        /// Whether it was still posted.
        cancelled: bool,
    },
    /// A probe was executed.
    Probe {
        /// The communicator.
        comm: CommId,
        /// What it looked for.
        selector: Selector,
        /// A matched probe: the message left matching.
        take: bool,
        /// The message that it found.
        found: Option<MsgId>,
    },
}

/// The first entry of a log on which an engine disagrees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("entry {index} of the order log is {entry:?}, but the engine gives {engine:?}")]
pub struct Mismatch {
    /// Index in the log.
    pub index: usize,
    /// The entry.
    pub entry: LogEntry,
    /// The partner that the engine found: a message for a post or probe, a receive for an arrival,
    /// the receive itself for a cancel that succeeds.
    pub engine: Option<u64>,
}

/// Feeds the log's events to `engine` and compares every result.
///
/// The log starts with both queues empty, and so must the engine.
///
/// # Errors
/// The first [`Mismatch`].
pub fn replay(engine: &mut dyn Engine, log: &[LogEntry]) -> Result<(), Mismatch> {
    for (index, &entry) in log.iter().enumerate() {
        let (engine, logged) = match entry {
            LogEntry::Post {
                recv,
                comm,
                selector,
                matched,
            } => (number(engine.post(recv, comm, selector)), number(matched)),
            LogEntry::Arrive {
                msg,
                envelope,
                matched,
            } => (
                engine.arrive(msg, envelope).map(|recv| recv.0),
                matched.map(|recv| recv.0),
            ),
            LogEntry::Cancel { recv, cancelled } => (
                engine.cancel(recv).then_some(recv.0),
                cancelled.then_some(recv.0),
            ),
            LogEntry::Probe {
                comm,
                selector,
                take: false,
                found,
            } => (number(engine.probe(comm, selector)), number(found)),
            LogEntry::Probe {
                comm,
                selector,
                take: true,
                found,
            } => (number(engine.mprobe(comm, selector)), number(found)),
        };
        if engine != logged {
            return Err(Mismatch {
                index,
                entry,
                engine,
            });
        }
    }
    Ok(())
}

fn number(msg: Option<MsgId>) -> Option<u64> {
    msg.map(|msg| msg.0)
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::{SourceSel, TagSel};

    use super::*;
    use crate::engine::Oracle;

    #[test]
    fn a_wrong_match_is_found() {
        let selector = Selector::new(SourceSel::Any, TagSel::Any);
        let post = |recv| LogEntry::Post {
            recv: RecvId(recv),
            comm: CommId(0),
            selector,
            matched: None,
        };
        let arrive = |matched| LogEntry::Arrive {
            msg: MsgId(0),
            envelope: Envelope::default(),
            matched: Some(matched),
        };
        let right = [post(5), post(6), arrive(RecvId(5))];
        assert_eq!(replay(&mut Oracle::new(), &right), Ok(()));
        let wrong = [post(5), post(6), arrive(RecvId(6))];
        let mismatch = Mismatch {
            index: 2,
            entry: wrong[2],
            engine: Some(5),
        };
        assert_eq!(replay(&mut Oracle::new(), &wrong), Err(mismatch));
    }

    #[test]
    fn a_wrong_message_is_found() {
        let selector = Selector::new(SourceSel::Any, TagSel::Any);
        let arrive = |msg| LogEntry::Arrive {
            msg: MsgId(msg),
            envelope: Envelope::default(),
            matched: None,
        };
        let probe = |take, found| LogEntry::Probe {
            comm: CommId(0),
            selector,
            take,
            found,
        };
        let post = |matched| LogEntry::Post {
            recv: RecvId(9),
            comm: CommId(0),
            selector,
            matched,
        };
        let all = |post_takes| {
            [
                probe(false, None),
                arrive(3),
                arrive(4),
                arrive(5),
                probe(false, Some(MsgId(3))),
                probe(true, Some(MsgId(3))),
                post(post_takes),
            ]
        };
        assert_eq!(replay(&mut Oracle::new(), &all(Some(MsgId(4)))), Ok(()));
        for wrong in [Some(MsgId(5)), None] {
            let log = all(wrong);
            let mismatch = Mismatch {
                index: 6,
                entry: log[6],
                engine: Some(4),
            };
            assert_eq!(replay(&mut Oracle::new(), &log), Err(mismatch));
        }
    }
}
