//! Our own policy: it expects the next run of messages of a channel to be as long as the last one.
//!
//! A *run* is a stretch of messages from one channel. The policy knows what an empty poll of each channel
//! costs and keeps five rules:
//!
//! 1. While the run is not as long as expected, its channel is the favourite; afterwards the other one.
//! 2. The favourite is polled. Once its empty polls since the last find have cost as much as one of the other
//!    channel, the other is polled once: whichever is right, at most twice the necessary is spent.
//!    If a channel's last empty poll before its run was complete turned out to be the end of the run, one empty
//!    poll is enough to try the other: its messages come all at once, and nothing found means nothing left.
//! 3. A run that goes on beyond expectation is now expected to double, so that a long run is mistrusted only
//!    a logarithmic number of times.
//! 4. No channel is left alone for longer than [`PATIENCE`] of its own polls cost: a stream without end on one
//!    channel delays the other by that much at most, and costs the stream a share of 1 / `PATIENCE` at most.
//!
//! 5. What was learnt about a channel is forgotten as soon as its next run teaches otherwise.
//!
//! Bursts of constant length are thus found without an empty poll, except for rule 4, once both lengths have
//! been seen; for lengths that vary at random it falls back to about what taking turns costs.

use super::policy::{Channel, PollingPolicy};

/// Rule 4, in polls of the channel left alone.
pub const PATIENCE: u64 = 8;

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct RunLength {
    network: Side,
    shared: Side,
    /// Where the last message came from.
    current: Channel,
    /// Messages of the run so far.
    run: u64,
    /// Length that the run is expected to have.
    expected: u64,
    /// What empty polls of the favourite cost since the last find or poll of the other.
    spent_ns: u64,
    /// The current channel was empty before its run was as long as expected.
    in_doubt: bool,
}

#[derive(Clone, Debug)]
struct Side {
    cost_ns: u64,
    /// Length of the last run that ended.
    last_run: u64,
    /// Time spent on the other channel since this one was polled.
    alone_ns: u64,
    /// Empty polls within a run were followed by more of the run (rule 2).
    has_gaps: bool,
}

impl RunLength {
    /// For polls of these costs, each at least 1.
    pub fn new(network_ns: u64, shared_ns: u64) -> Self {
        let side = |cost_ns: u64| Side { cost_ns: cost_ns.max(1), last_run: 1, alone_ns: 0, has_gaps: true };
        Self {
            network: side(network_ns),
            shared: side(shared_ns),
            current: Channel::Network,
            run: 1,
            expected: 1,
            spent_ns: 0,
            in_doubt: false,
        }
    }

    fn side(&mut self, channel: Channel) -> &mut Side {
        match channel {
            Channel::Network => &mut self.network,
            Channel::SharedMemory => &mut self.shared,
        }
    }

    fn cost_ns(&self, channel: Channel) -> u64 {
        match channel {
            Channel::Network => self.network.cost_ns,
            Channel::SharedMemory => self.shared.cost_ns,
        }
    }

    /// Rule 1.
    fn favourite(&self) -> Channel {
        if self.run < self.expected { self.current } else { self.current.other() }
    }
}

impl PollingPolicy for RunLength {
    fn next(&mut self) -> Channel {
        let favourite = self.favourite();
        let other = favourite.other();
        let patience = PATIENCE * self.cost_ns(other);
        let left_alone = self.side(other).alone_ns >= patience;
        let is_over_when_empty = favourite == self.current && !self.side(favourite).has_gaps;
        let enough = if is_over_when_empty { 1 } else { self.cost_ns(other) };
        let tried_enough = self.spent_ns >= enough;
        if left_alone || tried_enough { other } else { favourite }
    }

    fn polled(&mut self, channel: Channel, found: bool) {
        let cost_ns = self.cost_ns(channel);
        self.side(channel).alone_ns = 0;
        self.side(channel.other()).alone_ns += cost_ns;
        if !found {
            let favourite = self.favourite();
            self.in_doubt |= channel == favourite && channel == self.current;
            // The other's turn is over; or one more try of the favourite.
            self.spent_ns = if channel == favourite { self.spent_ns + cost_ns } else { 0 };
            return;
        }
        self.spent_ns = 0;
        if std::mem::take(&mut self.in_doubt) {
            let current = self.current;
            self.side(current).has_gaps = channel == current;
        }
        if channel != self.current {
            let (ended, run) = (self.current, self.run);
            self.side(ended).last_run = run;
            self.current = channel;
            self.run = 1;
            self.expected = self.side(channel).last_run;
        } else {
            if self.run >= self.expected {
                self.expected = 2 * self.run;
            }
            self.run += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Channel::{Network, SharedMemory};

    /// Polls needed to find these messages, all there from the start, in order of the runs.
    fn polls(policy: &mut RunLength, mut runs: Vec<(Channel, u64)>) -> u64 {
        let mut polls = 0;
        runs.reverse();
        while let Some((channel, left)) = runs.last_mut() {
            let polled = policy.next();
            let found = polled == *channel;
            policy.polled(polled, found);
            polls += 1;
            *left -= u64::from(found);
            if *left == 0 {
                runs.pop();
            }
        }
        polls
    }

    #[test]
    fn equal_bursts_are_found_without_an_empty_poll() {
        for burst in [1, 2, 3, 7] {
            let mut policy = RunLength::new(720, 60);
            let runs = |count| (0..count).flat_map(|_| [(SharedMemory, burst), (Network, burst)]).collect();
            polls(&mut policy, runs(3));
            // Rule 4 makes it look at shared memory while it waits for the network, which costs a twelfth.
            let network_only = polls(&mut policy, runs(10)) - 20 * burst;
            assert!(network_only <= 10 * burst, "{burst}: {network_only} empty polls");
        }
    }

    #[test]
    fn a_long_run_is_mistrusted_a_logarithmic_number_of_times() {
        let mut policy = RunLength::new(60, 60);
        let polls = polls(&mut policy, vec![(SharedMemory, 1024)]);
        // Rule 3 ten times; rule 4 after every eight polls.
        assert!(polls <= 1024 + 10 + 1024 / 8 + 2, "{polls}");
    }

    #[test]
    fn nothing_is_left_alone_for_long() {
        // Rule 4, whatever is found.
        for found in [0, SharedMemory as usize, 7] {
            let mut policy = RunLength::new(720, 60);
            let (mut alone_network, mut alone_shared) = (0, 0);
            for poll in 0..10_000 {
                let channel = policy.next();
                match channel {
                    Network => (alone_network, alone_shared) = (0, alone_shared + 720),
                    SharedMemory => (alone_network, alone_shared) = (alone_network + 60, 0),
                }
                assert!(alone_network <= PATIENCE * 720 + 60, "{alone_network}");
                assert!(alone_shared <= PATIENCE * 60 + 720, "{alone_shared}");
                policy.polled(channel, found > 0 && poll % found == 0);
            }
        }
    }
}
