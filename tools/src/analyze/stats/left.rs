//! Lists and explains the entries that are unmatched at the end.

use crate::analyze::inbound::Inbound;
use crate::analyze::program::{End, Transfer, UNKNOWN};
use crate::analyze::replay::RankView;
use crate::counted;

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Unmatched {
    pub rank: u32,
    /// `receive` or `message`.
    pub what: &'static str,
    /// Number of the posting call, or of the sending call at the sender; `None` if in no trace.
    pub call: Option<u32>,
    /// The communicator's number, source and tag as posted or sent; `*` is a wildcard.
    pub envelope: String,
    /// The reason, and the nearest candidate.
    pub reason: String,
}

const TOLD: usize = 4;
const LOOKED_AT: usize = 10_000;

fn pattern(view: RankView<'_>, comm: u32, source: i32, tag: i32) -> String {
    let comm = &view.comms.all[comm as usize];
    let field = |it: i32, told: i32| {
        if it < 0 {
            "*".to_owned()
        } else {
            told.to_string()
        }
    };
    let (source, tag) = (field(source, source), field(tag, comm.tag(tag)));
    format!("communicator {}, source {source}, tag {tag}", comm.label)
}

/// Bits of the fields in which pattern and envelope differ: communicator 4, source 2, tag 1.
fn distance(view: RankView<'_>, receive: u32, message: &Inbound) -> u32 {
    let Transfer { peer, tag, .. } = view.program.transfers.at(receive);
    let differs = |posted: i32, sent: u32| u32::from(posted >= 0 && posted as u32 != sent);
    4 * u32::from(view.comm(receive) != message.comm)
        + 2 * differs(peer, message.source)
        + differs(tag, message.tag)
}

fn difference(distance: u32) -> String {
    let names = [(4, "communicator"), (2, "source"), (1, "tag")];
    let fields: Vec<_> = names
        .into_iter()
        .filter(|(bit, _)| distance & bit != 0)
        .map(|(_, name)| name)
        .collect();
    match fields.as_slice() {
        [] => "nothing".to_owned(),
        [field] => (*field).to_owned(),
        fields => fields.join(" and "),
    }
}

fn sender_of(message: &Inbound) -> String {
    if message.sender == UNKNOWN {
        "an unknown rank".to_owned()
    } else {
        format!("rank {}", message.sender)
    }
}

/// Explains the first unmatched entries of a rank. `posted` and `unexpected` are its final queues,
/// `receives` holds the receive of each message, and `calls` gives a message's sending call.
pub(crate) fn explain(
    view: RankView<'_>,
    posted: &[u32],
    unexpected: &[u32],
    receives: &[u32],
    calls: impl Fn(&Inbound) -> Option<u32>,
) -> Vec<Unmatched> {
    let transfers = &view.program.transfers;
    let mut all = Vec::new();
    for &receive in posted.iter().take(TOLD) {
        let transfer = transfers.at(receive);
        let nearest = unexpected
            .iter()
            .take(LOOKED_AT)
            .map(|&at| view.inbound.at(at));
        let nearest = nearest
            .map(|message| (distance(view, receive, &message), message))
            .min_by_key(|near| near.0);
        let ended = match transfer.end {
            End::Pending => "no call completes it",
            End::Freed => "its request was freed",
            _ => "it got one in the recorded run",
        };
        let reason = match nearest {
            Some((distance, message)) => format!(
                "{ended}; the nearest unmatched message is from {} ({}) and differs in {}",
                sender_of(&message),
                pattern(
                    view,
                    message.comm,
                    message.source as i32,
                    message.tag as i32
                ),
                difference(distance)
            ),
            None => format!("{ended}; this rank has no unmatched message"),
        };
        all.push(Unmatched {
            rank: view.program.rank,
            what: "receive",
            call: Some(transfer.call),
            envelope: pattern(view, view.comm(receive), transfer.peer, transfer.tag),
            reason,
        });
    }
    for &at in unexpected.iter().take(TOLD) {
        let message = view.inbound.at(at);
        let accepting = receives
            .iter()
            .filter(|&&receive| receive != UNKNOWN && distance(view, receive, &message) == 0);
        let count = accepting.count();
        let nearest = posted.iter().take(LOOKED_AT).copied();
        let nearest = nearest
            .map(|receive| (distance(view, receive, &message), receive))
            .min();
        let reason = match nearest {
            _ if count > 0 => {
                format!(
                    "other messages went to {} that accept it, to all (the trace omits matched probes)",
                    counted(count, "receive")
                )
            }
            Some((distance, receive)) => {
                let transfer = transfers.at(receive);
                format!(
                    "no receive accepts it; the nearest waiting receive is of call {} ({}) and differs in {}",
                    transfer.call,
                    pattern(view, view.comm(receive), transfer.peer, transfer.tag),
                    difference(distance)
                )
            }
            None => {
                "no receive in the trace accepts it (the trace omits matched probes)".to_owned()
            }
        };
        all.push(Unmatched {
            rank: view.program.rank,
            what: "message",
            call: calls(&message),
            envelope: format!(
                "from {}: {}",
                sender_of(&message),
                pattern(
                    view,
                    message.comm,
                    message.source as i32,
                    message.tag as i32
                )
            ),
            reason,
        });
    }
    all
}
