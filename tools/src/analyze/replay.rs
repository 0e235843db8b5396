//! Runs an order through any matcher and records the pairs.

use dpamatch_vocabulary::{CommId, Envelope, Rank, Tag};

use super::communicators::Communicators;
use super::inbound::{Inbound, Messages};
use super::order::{Happening, Order};
use super::probes::Probes;
use super::program::{Program, UNKNOWN, UNKNOWN_BYTES};
use super::truth::same_length;
use dpamatch::engine::{MsgId, RecvId};
use dpamatch::stream::{CollName, Collective, Event, Outcome, ProbeId, RunError, StreamMatcher};
use dpamatch_traces::CollectiveKind;

#[derive(Clone, Copy, Debug)]
pub struct RankView<'a> {
    /// Its index in the list of programs.
    pub at: usize,
    pub program: &'a Program,
    pub inbound: &'a Messages,
    pub probes: &'a Probes,
    pub comms: &'a Communicators,
}

impl<'a> RankView<'a> {
    #[inline]
    pub fn comm(&self, transfer: u32) -> u32 {
        self.comms
            .global(self.at, self.program.transfers.at(transfer).comm)
    }

    #[inline]
    pub fn envelope(&self, message: u32) -> Envelope {
        let Inbound {
            comm, source, tag, ..
        } = self.inbound.at(message);
        // Both values come from a valid rank or tag, so they are in range.
        let source = Rank::new(source).unwrap_or_default();
        Envelope {
            comm: CommId(comm),
            source,
            tag: Tag::new(tag).unwrap_or_default(),
        }
    }

    /// The mark of a message or receive inside a collective operation, whose number is the tag.
    fn mark(self, comm: u32, tag: i32, bytes: u64) -> Option<Collective> {
        let marked = self.comms.all[comm as usize].collectives;
        let kind = CollectiveKind::ALL
            .get(usize::try_from(tag).ok()?)
            .filter(|_| marked)?;
        let name = CollName::new(kind.name())?;
        Some(Collective {
            name,
            bytes: (bytes != UNKNOWN_BYTES).then_some(bytes),
        })
    }

    /// The order as an event stream. Receives and probes carry the number of their transfer,
    /// messages their own number, and communicators their number in the run.
    pub fn events(self, order: &'a Order) -> impl Iterator<Item = Event> + 'a {
        let known = |bytes: u64| (bytes != UNKNOWN_BYTES).then_some(bytes);
        order.iter().map(move |happening| match happening {
            Happening::Post(at) => {
                let transfer = self.program.transfers.at(at);
                Event::Post {
                    recv: RecvId(u64::from(at)),
                    comm: CommId(self.comm(at)),
                    selector: transfer.selector(),
                    size: known(transfer.bytes),
                    coll: self.mark(self.comm(at), transfer.tag, transfer.bytes),
                }
            }
            Happening::Arrive(message) => {
                let Inbound {
                    comm, tag, bytes, ..
                } = self.inbound.at(message);
                Event::Arrive {
                    msg: MsgId(u64::from(message)),
                    envelope: self.envelope(message),
                    bytes: known(bytes),
                    coll: self.mark(comm, tag as i32, bytes),
                    lie: 0,
                }
            }
            Happening::Cancel(at) => Event::Cancel {
                recv: RecvId(u64::from(at)),
            },
            Happening::Probe(at) => Event::Probe {
                probe: ProbeId(u64::from(at)),
                comm: CommId(self.comm(at)),
                selector: self.program.transfers.at(at).selector(),
            },
        })
    }

    /// Runs the order through a matcher with empty queues. Returns the receive of each message, or
    /// [`UNKNOWN`] for an unmatched one.
    ///
    /// # Errors
    /// The matcher cannot continue.
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
            if let Some(transfer) = self.program.transfers.get(receive)
                && let Some(equal) = same_length(transfer.got_bytes, message.bytes)
            {
                agreement.bytes_equal += u64::from(equal);
                agreement.bytes_differ += u64::from(!equal);
            }
        }
        agreement
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Agreement {
    /// Messages matched to the receive that the trace shows.
    pub same: u64,
    /// Messages matched to another receive.
    pub other: u64,
    /// Messages that stayed unmatched against the trace.
    pub missing: u64,
    /// Messages that were matched while the trace shows no receive.
    pub more: u64,
    /// Pairs whose message has as many bytes as the receive's status.
    pub bytes_equal: u64,
    /// Pairs with another byte count: possible for receives of any source in unguided orders.
    pub bytes_differ: u64,
}

impl Agreement {
    pub fn is_exact(&self) -> bool {
        self.other == 0 && self.missing == 0 && self.bytes_differ == 0
    }

    pub fn add(&mut self, other: &Self) {
        add_fields! { self + other; sum same other missing more bytes_equal bytes_differ; }
    }
}
