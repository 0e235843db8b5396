//! Restores each sender's order: its messages may use different channels.

use std::collections::{BTreeMap, HashMap};

use dpamatch_vocabulary::{CommId, Rank};

use super::packet::Packet;

type SenderId = (CommId, Rank);

/// Early messages by sender.
#[derive(Debug, Default)]
pub(super) struct Reorder {
    senders: HashMap<SenderId, Stream>,
    held: usize,
}

#[derive(Debug, Default)]
struct Stream {
    next: u64,
    early: BTreeMap<u64, Packet>,
}

impl Reorder {
    /// Accepts a message and passes all messages that are now in order to `ready`.
    pub(super) fn take(&mut self, packet: Packet, mut ready: impl FnMut(Packet)) {
        let sender = (packet.envelope.comm, packet.envelope.source);
        let stream = self.senders.entry(sender).or_default();
        self.held += 1;
        stream.early.insert(packet.sequence, packet);
        while let Some(packet) = stream.early.remove(&stream.next) {
            stream.next += 1;
            self.held -= 1;
            ready(packet);
        }
    }

    /// Messages that wait for an earlier one.
    pub(super) fn held(&self) -> usize {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::{Envelope, Tag};

    use super::*;

    #[test]
    fn order_is_restored_per_sender() {
        let packet = |source, sequence| {
            let source = Rank::new(source).expect("a rank");
            Packet {
                sequence,
                envelope: Envelope { comm: CommId(0), source, tag: Tag::default() },
                payload: Vec::new(),
            }
        };
        let mut reorder = Reorder::default();
        let mut out = Vec::new();
        for (source, sequence) in [(1, 1), (2, 0), (1, 2), (1, 0), (2, 2), (2, 1)] {
            reorder.take(packet(source, sequence), |packet| {
                out.push((packet.envelope.source.get(), packet.sequence));
            });
        }
        assert_eq!(out, [(2, 0), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2)]);
        assert_eq!(reorder.held(), 0);
    }
}
