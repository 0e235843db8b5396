//! Checks a matching against MPI's rules for a given order, independently of any engine.
//!
//! One walk checks three rules. Each receive accepts its message, and both are present when they
//! meet. At that moment no earlier posted receive that accepts the message waits, and no earlier
//! message that the receive accepts waits (from any sender). No partner remains in a queue
//! afterwards.
//!
//! A fourth rule concerns probes ([`Probes`](super::Probes)): the message that the receive behind a
//! probe gets waits when the probe looks, and no earlier message does that the probe accepts.

use std::collections::{HashMap, VecDeque};

use super::order::{Happening, Order};
use super::program::UNKNOWN;
use super::replay::RankView;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Illegal {
    #[error("receive {receive} does not accept message {message}")]
    Refused { receive: u32, message: u32 },
    #[error("message {message} went to receive {receive} although receive {earlier} waited for it")]
    ReceiveOvertaken {
        receive: u32,
        message: u32,
        earlier: u32,
    },
    #[error("receive {receive} got message {message} although message {earlier} waited for it")]
    MessageOvertaken {
        receive: u32,
        message: u32,
        /// The message that the receive should have got.
        earlier: u32,
    },
    #[error("receive {receive} got message {message} but did not wait")]
    NotWaiting { receive: u32, message: u32 },
    #[error("probe {probe} found message {message}, which had not arrived")]
    ProbedTooEarly { probe: u32, message: u32 },
    #[error("probe {probe} found message {message} although message {earlier} waited before it")]
    ProbeOvertaken {
        probe: u32,
        message: u32,
        /// The message that the probe should have found.
        earlier: u32,
    },
    #[error("receive {receive} was posted before its probe {probe}")]
    PostedBeforeProbe { probe: u32, receive: u32 },
}

/// Checks the receive of each message, as [`RankView::run`] returns them, against the order.
///
/// # Errors
/// The first violated rule.
///
/// # Complexity
/// Each event walks both queues of the rank: meant for tests, not for long queues.
pub fn check(view: RankView<'_>, order: &Order, receives: &[u32]) -> Result<(), Illegal> {
    let transfers = &view.program.transfers;
    let mut partner = vec![UNKNOWN; transfers.len()];
    for (message, &receive) in receives.iter().enumerate() {
        if receive == UNKNOWN {
            continue;
        }
        match partner.get_mut(receive as usize) {
            Some(place) if *place == UNKNOWN => *place = message as u32,
            _ => {
                return Err(Illegal::NotWaiting {
                    receive,
                    message: message as u32,
                });
            }
        }
    }
    let accepts = |receive: u32, message: u32| {
        let inbound = view.inbound.at(message);
        view.comm(receive) == inbound.comm
            && transfers.at(receive).accepts(inbound.source, inbound.tag)
    };
    // The probes before each receive that have not looked yet.
    let mut probed: HashMap<u32, VecDeque<u32>> = HashMap::new();
    let looked_for = |probe: u32| {
        let message = view.probes.message(probe)?;
        let receive = view.inbound.at(message).receive;
        match partner.get(receive as usize) {
            Some(&got) => Some((got, receive)),
            None => Some((message, receive)),
        }
    };
    for (probe, _) in view.probes.iter() {
        if let Some((_, receive)) = looked_for(probe)
            && receive != UNKNOWN
            && !order.is_released(probe)
        {
            probed.entry(receive).or_default().push_back(probe);
        }
    }
    // Both queues in order. A pair leaves when both partners are present.
    let (mut posted, mut arrived) = (VecDeque::new(), VecDeque::new());
    for happening in order.iter() {
        match happening {
            Happening::Post(receive) => {
                let got = partner[receive as usize];
                let open = probed.get(&receive).and_then(|probes| probes.front());
                if let Some(&probe) = open {
                    return Err(Illegal::PostedBeforeProbe { probe, receive });
                }
                match arrived
                    .iter()
                    .position(|&message| accepts(receive, message))
                {
                    Some(first) if arrived[first] == got => _ = arrived.remove(first),
                    Some(first) => {
                        return Err(Illegal::MessageOvertaken {
                            receive,
                            message: got,
                            earlier: arrived[first],
                        });
                    }
                    None if arrived.contains(&got) => {
                        return Err(Illegal::Refused {
                            receive,
                            message: got,
                        });
                    }
                    None => posted.push_back(receive),
                }
            }
            Happening::Arrive(message) => {
                let receive = receives[message as usize];
                match posted.iter().position(|&receive| accepts(receive, message)) {
                    Some(first) if posted[first] == receive => _ = posted.remove(first),
                    Some(first) => {
                        return Err(Illegal::ReceiveOvertaken {
                            receive,
                            message,
                            earlier: posted[first],
                        });
                    }
                    None if posted.contains(&receive) => {
                        return Err(Illegal::Refused { receive, message });
                    }
                    None => arrived.push_back(message),
                }
            }
            Happening::Cancel(receive) => posted.retain(|&waiting| waiting != receive),
            Happening::Probe(probe) => {
                let Some((message, receive)) = looked_for(probe) else {
                    continue;
                };
                if let Some(probes) = probed.get_mut(&receive)
                    && let Some(place) = probes.iter().position(|&other| other == probe)
                {
                    probes.remove(place);
                }
                if message == UNKNOWN {
                    continue;
                }
                let accepts = |&message: &u32| accepts(probe, message);
                match arrived.iter().copied().find(accepts) {
                    Some(first) if first == message => {}
                    Some(earlier) if arrived.contains(&message) => {
                        return Err(Illegal::ProbeOvertaken {
                            probe,
                            message,
                            earlier,
                        });
                    }
                    _ => return Err(Illegal::ProbedTooEarly { probe, message }),
                }
            }
        }
    }
    if let Some(&receive) = posted
        .iter()
        .find(|&&receive| partner[receive as usize] != UNKNOWN)
    {
        return Err(Illegal::NotWaiting {
            receive,
            message: partner[receive as usize],
        });
    }
    match arrived
        .iter()
        .find(|&&message| receives[message as usize] != UNKNOWN)
    {
        Some(&message) => Err(Illegal::NotWaiting {
            receive: receives[message as usize],
            message,
        }),
        None => Ok(()),
    }
}

/// Whether each sender's messages arrive in sending order. True for all orders except guided ones,
/// which keep it only within a tag.
pub fn keeps_senders_order(view: RankView<'_>, order: &Order) -> bool {
    let mut last = std::collections::HashMap::new();
    order.iter().all(|happening| {
        let Happening::Arrive(message) = happening else {
            return true;
        };
        let inbound = view.inbound.at(message);
        if inbound.op == UNKNOWN {
            return true;
        }
        let before = last.insert(inbound.sender, inbound.op);
        before.is_none_or(|before| before < inbound.op)
    })
}
