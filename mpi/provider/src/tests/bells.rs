//! Silent peers: polls read their bells instead of their rings.

use super::rogue::totals;
use super::side::{Side, pattern};
use crate::bindings::*;
use crate::endpoint::FEW;

/// Polls between two looks at the sockets.
const LOOK: usize = 64;
/// Looks after which a silent connection is read by its bell.
const LOOKS: usize = 3;

const ANY_TAG: u64 = 0x7fff_ffff;

/// A side and peers that have each sent it a message.
struct Hub {
    side: Side,
    peers: Vec<(Side, u64)>,
    buffers: Vec<[u8; 8]>,
}

impl Hub {
    fn new(count: usize, open: impl Fn(u64) -> Side) -> Self {
        let side = open(0);
        let peers: Vec<_> = (1..=count as u64)
            .map(|number| {
                let peer = open(number);
                let to_side = peer.insert(&side.name());
                side.insert(&peer.name());
                (peer, to_side)
            })
            .collect();
        let mut hub = Self {
            side,
            peers,
            buffers: vec![[0; 8]; 2 * count],
        };
        hub.post();
        hub.send(0);
        hub.wait_for(count);
        hub.post();
        hub
    }

    /// Posts a receive of each peer's next message.
    fn post(&mut self) {
        let waiting = self.side.state(|state| state.endpoints[0].receives());
        for at in waiting..self.peers.len() {
            let buffer = &mut self.buffers[at];
            assert_eq!(
                self.side.receive(buffer, FI_ADDR_UNSPEC, (0, ANY_TAG), 0),
                0
            );
        }
    }

    /// Each peer sends a message.
    fn send(&self, round: usize) {
        for (number, (peer, to_side)) in self.peers.iter().enumerate() {
            let tag = (number * 16 + round) as u64;
            assert_eq!(peer.send(&pattern(round, 8), *to_side, tag, 0), 0);
        }
    }

    fn received(&self) -> usize {
        totals(&self.side).received as usize
    }

    fn wait_for(&mut self, count: usize) {
        let mut patience = super::side::Patience::default();
        while self.received() < count {
            self.side.progress();
            self.peers.iter().for_each(|(peer, _)| peer.progress());
            assert!(patience.lasts(), "a message is missing");
        }
    }

    /// Tags of the messages that were received, of each peer.
    fn rounds(&self) -> Vec<Vec<u64>> {
        let mut rounds = vec![Vec::new(); self.peers.len()];
        while let Some(done) = self.side.read() {
            assert_eq!(done.err, 0);
            rounds[done.entry.tag as usize / 16].push(done.entry.tag % 16);
        }
        rounds
    }

    fn poll(&self, times: usize) {
        (0..times).for_each(|_| self.side.progress());
    }

    /// Polls up to and with the next look at the sockets.
    fn poll_to_look(&self) {
        let polls = || self.side.state(|state| state.endpoints[0].polls());
        self.side.progress();
        while !polls().is_multiple_of(LOOK as u32) {
            self.side.progress();
        }
    }

    fn read_by_polls(&self) -> usize {
        self.side.state(|state| state.endpoints[0].read_by_polls())
    }

    /// Polls in which nothing comes, until no ring is read.
    fn become_silent(&self) {
        self.poll_to_look();
        self.poll(LOOKS * LOOK);
        assert_eq!(self.read_by_polls(), 0);
    }
}

fn opened(_number: u64) -> Side {
    Side::open(|_| ())
}

/// A few peers need no bells; with one more, no poll reads a silent one.
#[test]
fn polls_read_no_ring_of_a_silent_peer() {
    for (count, left) in [(FEW - 1, FEW - 1), (FEW, FEW), (FEW + 1, 0)] {
        let hub = Hub::new(count, opened);
        hub.poll_to_look();
        assert_eq!(hub.read_by_polls(), count);
        hub.poll((LOOKS - 1) * LOOK - 1);
        assert_eq!(hub.read_by_polls(), count, "before the last look");
        hub.poll(1);
        assert_eq!(hub.read_by_polls(), left, "after it");
    }
}

/// Messages of all peers at the same time, first of peers that have no bells yet, then by their
/// bells: they all come, each peer's in order.
#[test]
fn bells_bring_the_messages_of_all_peers() {
    let count = FEW + 60;
    let mut hub = Hub::new(count, opened);
    hub.become_silent();
    hub.send(1);
    hub.poll(LOOK - 1);
    assert_eq!(hub.received(), count, "no bell yet");
    hub.poll(1);
    assert_eq!(hub.received(), 2 * count, "the look reads every ring");
    // Now the peers get the bells; a look answers 32 of them.
    hub.poll(count.div_ceil(32) * LOOK);
    for (peer, _) in &hub.peers {
        (0..LOOK).for_each(|_| peer.progress());
    }
    for round in 2..5 {
        hub.post();
        hub.become_silent();
        hub.send(round);
        hub.send(round + 3);
        assert_eq!(hub.read_by_polls(), 0);
        hub.poll(1);
        assert_eq!(hub.read_by_polls(), count);
        assert_eq!(
            hub.received(),
            (2 * round - 1) * count,
            "one poll takes one message each"
        );
        hub.post();
        hub.poll(1);
    }
    let mut all = vec![0, 1, 2, 5, 3, 6, 4, 7];
    assert_eq!(hub.received(), all.len() * count);
    let rounds = hub.rounds();
    all.truncate(8);
    assert!(rounds.iter().all(|rounds| *rounds == all), "{rounds:?}");
}

/// Bells that are lost cost a delay: the next look reads all rings.
#[test]
fn a_lost_bell_loses_no_message() {
    let count = FEW + 1;
    let mut hub = Hub::new(count, opened);
    hub.become_silent();
    hub.send(1);
    hub.poll(LOOK);
    for (peer, _) in &hub.peers {
        (0..LOOK).for_each(|_| peer.progress());
    }
    hub.post();
    hub.become_silent();
    hub.send(2);
    hub.side.state(|state| state.endpoints[0].lose_bells());
    hub.poll(LOOK - 1);
    assert_eq!(hub.received(), 2 * count);
    hub.poll(1);
    assert_eq!(hub.received(), 3 * count);
}

/// A stream is read after the kernel has announced bytes.
#[test]
fn polls_read_no_silent_stream() {
    let count = FEW + 1;
    let mut hub = Hub::new(count, |number| Side::over_tcp(number + 1));
    hub.become_silent();
    for round in 1..4 {
        hub.send(round);
        hub.wait_for((round + 1) * count);
        hub.post();
    }
    assert!(hub.rounds().iter().all(|rounds| *rounds == [0, 1, 2, 3]));
}
