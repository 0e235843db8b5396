//! The message that each successful probe of a rank found.
//!
//! A probe leaves its message in the queue, and the program then receives that message. So the
//! receive behind the probe tells the message: the first receive that was posted after the probe
//! and whose message has the source and tag that the probe reported. Earlier receives of these
//! messages cannot have got it, since it still waited. If no such receive follows, the probe found
//! the first message with this source and tag that no receive got.
//!
//! All orders use this rule, and [`legality`](super::legality) checks it: the message arrives
//! before its probe, and no other message that the probe accepts waits ahead of it.

use std::collections::HashMap;

use foldhash::fast::RandomState as Fast;

use super::communicators::Communicators;
use super::inbound::Messages;
use super::program::{Program, TransferKind, UNKNOWN};

/// Maximum receives behind a wildcard probe with an ignored status that are examined.
const LOOKED_AT: usize = 1024;

/// The messages that a rank's probes found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Probes {
    /// Probe, as a transfer, and its message; ascending by probe.
    found: Vec<(u32, u32)>,
    /// Successful probes whose message is in no trace. They take no part.
    pub without_message: u64,
}

impl Probes {
    /// The message of a probe, or `None` if it is unknown.
    pub fn message(&self, probe: u32) -> Option<u32> {
        let place = self.found.binary_search_by_key(&probe, |&(probe, _)| probe);
        place.ok().map(|place| self.found[place].1)
    }

    /// Probes with their messages, in the order of the program.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.found.iter().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

/// A message with the receive that got it, [`UNKNOWN`] if none did.
type Received = (u32, u32);

/// Finds the messages of a rank's probes. [`Inbound::receive`] must be known.
///
/// # Complexity
/// Sorts the rank's messages once if it has a probe: n log n.
pub(super) fn probes(
    at: usize,
    program: &Program,
    inbound: &Messages,
    comms: &Communicators,
) -> Probes {
    let is_probe = |&probe: &u32| program.transfers.at(probe).kind == TransferKind::Probe;
    let all: Vec<u32> = (0..program.transfers.len() as u32)
        .filter(is_probe)
        .collect();
    if all.is_empty() {
        return Probes::default();
    }
    // By receive, and messages without receive in sending order behind them.
    let mut received: Vec<Received> = (0..)
        .zip(inbound.iter())
        .map(|(message, inbound)| (inbound.receive, message))
        .collect();
    received.sort_unstable();
    let mut by_key: HashMap<(u32, u32, u32), Vec<Received>, Fast> = HashMap::default();
    for &(receive, message) in &received {
        let key = inbound.at(message).key();
        by_key.entry(key).or_default().push((receive, message));
    }
    let mut found = Vec::with_capacity(all.len());
    for &probe in &all {
        let transfer = program.transfers.at(probe);
        let comm = comms.global(at, transfer.comm);
        let message = match transfer.envelope() {
            Some((source, tag)) => by_key
                .get(&(comm, source, tag))
                .and_then(|chain| behind(chain, probe).first().copied()),
            // The status was ignored: the next receive of a message that the probe accepts.
            None => behind(&received, probe)
                .iter()
                .take(LOOKED_AT)
                .take_while(|(receive, _)| *receive != UNKNOWN)
                .find(|(_, message)| {
                    let message = inbound.at(*message);
                    message.comm == comm && transfer.accepts(message.source, message.tag)
                })
                .copied(),
        };
        found.extend(message.map(|(_, message)| (probe, message)));
    }
    let without_message = (all.len() - found.len()) as u64;
    Probes {
        found,
        without_message,
    }
}

/// The part whose receives were posted after the probe, or never.
fn behind(received: &[Received], probe: u32) -> &[Received] {
    &received[received.partition_point(|&(receive, _)| receive < probe)..]
}

#[cfg(test)]
mod tests;
