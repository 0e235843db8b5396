//! Runs an order through anything that matches, and takes down who got what.

use dpamatch_vocabulary::{CommId, Envelope, Rank, Tag};

use super::communicators::Communicators;
use super::inbound::Inbound;
use super::order::{Happening, Order};
use super::program::{Program, UNKNOWN};
use dpamatch::engine::{MsgId, RecvId};
use dpamatch::stream::{Event, Outcome, ProbeId, RunError, StreamMatcher};

/// One rank with all that a replay reads.
#[derive(Clone, Copy, Debug)]
pub struct RankView<'a> {
    /// Its number in the list of programs.
    pub at: usize,
    /// What it did.
    pub program: &'a Program,
    /// What it was sent.
    pub inbound: &'a [Inbound],
    /// All communicators.
    pub comms: &'a Communicators,
}

impl<'a> RankView<'a> {
    /// The communicator of a transfer.
    #[inline]
    pub fn comm(&self, transfer: u32) -> u32 {
        self.comms.global(self.at, self.program.transfers[transfer as usize].comm)
    }

    /// A message's envelope, as matching sees it.
    #[inline]
    pub fn envelope(&self, message: u32) -> Envelope {
        let &Inbound { comm, source, tag, .. } = &self.inbound[message as usize];
        // Both came out of a rank or a tag: in range.
        let source = Rank::new(source).unwrap_or_default();
        Envelope { comm: CommId(comm), source, tag: Tag::new(tag).unwrap_or_default() }
    }

    /// The order as an event stream: receives are named by their transfer, messages by their
    /// number, probes by their transfer, communicators by their number in the run.
    pub fn events(self, order: &'a Order) -> impl Iterator<Item = Event> + 'a {
        let known = |bytes: u32| (bytes != UNKNOWN).then_some(u64::from(bytes));
        order.iter().map(move |happening| match happening {
            Happening::Post(at) => {
                let transfer = &self.program.transfers[at as usize];
                Event::Post {
                    recv: RecvId(u64::from(at)),
                    comm: CommId(self.comm(at)),
                    selector: transfer.selector(),
                    size: known(transfer.bytes),
                    coll: None,
                }
            }
            Happening::Arrive(message) => Event::Arrive {
                msg: MsgId(u64::from(message)),
                envelope: self.envelope(message),
                bytes: known(self.inbound[message as usize].bytes),
                coll: None,
            },
            Happening::Cancel(at) => Event::Cancel { recv: RecvId(u64::from(at)) },
            Happening::Probe(at) => Event::Probe {
                probe: ProbeId(u64::from(at)),
                comm: CommId(self.comm(at)),
                selector: self.program.transfers[at as usize].selector(),
            },
        })
    }

    /// Runs the order through a matcher with empty queues: the receive of each message, [`UNKNOWN`]
    /// for one without.
    ///
    /// # Errors
    /// The matcher cannot go on.
    pub fn run(self, matcher: &mut dyn StreamMatcher, order: &Order) -> Result<Vec<u32>, RunError> {
        let mut receives = vec![UNKNOWN; self.inbound.len()];
        let mut sink = |outcome: Outcome| {
            if let Outcome::Matched { recv, msg } = outcome {
                receives[msg.0 as usize] = recv.0 as u32;
            }
        };
        matcher.run(&mut self.events(order), &mut sink)?;
        Ok(receives)
    }

    /// How far a replay's pairs agree with what was really matched.
    pub fn compare(self, receives: &[u32]) -> Agreement {
        let mut agreement = Agreement::default();
        for (message, &receive) in self.inbound.iter().zip(receives) {
            if message.receive != UNKNOWN {
                agreement.same += u64::from(message.receive == receive);
                agreement.other += u64::from(receive != UNKNOWN && message.receive != receive);
                agreement.missing += u64::from(receive == UNKNOWN);
            } else {
                agreement.more += u64::from(receive != UNKNOWN);
            }
            if let Some(transfer) = self.program.transfers.get(receive as usize)
                && transfer.got_bytes != UNKNOWN
                && message.bytes != UNKNOWN
            {
                agreement.bytes_equal += u64::from(transfer.got_bytes == message.bytes);
                agreement.bytes_differ += u64::from(transfer.got_bytes != message.bytes);
            }
        }
        agreement
    }
}

/// A replay's pairs beside those of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Agreement {
    /// Messages that went to the receive that really got them.
    pub same: u64,
    /// To another one.
    pub other: u64,
    /// To none.
    pub missing: u64,
    /// To one, where the trace does not tell.
    pub more: u64,
    /// Pairs whose message has the bytes of the receive's status.
    pub bytes_equal: u64,
    /// Another number: so for receives of any source in an order that is not guided.
    pub bytes_differ: u64,
}

impl Agreement {
    /// All pairs are as in the trace.
    pub fn is_exact(&self) -> bool {
        self.other == 0 && self.missing == 0 && self.bytes_differ == 0
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        self.same += other.same;
        self.other += other.other;
        self.missing += other.missing;
        self.more += other.more;
        self.bytes_equal += other.bytes_equal;
        self.bytes_differ += other.bytes_differ;
    }
}
