//! Our own policy: it learns how runs of messages go on, and shares the polls accordingly.
//!
//! A *run* is a stretch of messages from one channel, the *current* one. The policy knows what an
//! empty poll of each channel costs and keeps four rules:
//!
//! 1. It counts what came next, the current channel again or the other one, in each of twelve
//!    situations: by the current channel; whether its run is shorter than, as long as, or longer
//!    than its last one; and whether it was polled in vain since the last message. The counts give
//!    the odds that the run goes on. They age, so that other habits are learnt.
//! 2. Right after a message the current channel is polled if the odds of finding the next one
//!    there, for the time that the poll takes, are better than those of the other channel.
//! 3. After that nobody knows when the next message comes, only from where, and polls are shared by
//!    the square-root law: the likelier channel is polled as often between two polls of the other
//!    as makes the mean wait shortest (`polls_between`). With even odds that is taking turns. The
//!    law is that of visit frequencies in polling systems (Boxma, Levy and Weststrate, 1991). A
//!    channel whose messages are found in batches counts by their mean length: what delays the
//!    first message of a batch delays all of them.
//! 4. No channel is left alone for longer than [`PATIENCE`] of its own polls cost: a stream without
//!    end on one channel delays the other by that much at most, and costs the stream a share of 1 /
//!    `PATIENCE` at most.
//!
//! Bursts of constant length are found nearly without an empty poll once the odds are learnt; where
//! lengths vary at random, the odds are what is to be known about them.

use super::policy::{Channel, PollingPolicy};

/// Rule 4, in polls of the channel left alone.
pub const PATIENCE: u64 = 32;

/// Messages after which the counts of a situation are halved.
const MEMORY: u32 = 128;

/// Batches of a channel after which their counts are halved.
const BATCH_MEMORY: u64 = 32;

/// Times that each way counts as seen before the first message: for rule 2, which risks one poll,
/// and for rule 3, which lays down the polls of a whole wait.
const SEEN_BEFORE: [u32; 2] = [1, 4];

/// How often the run went on, and how often it did not.
#[derive(Clone, Copy, Debug, Default)]
struct Odds {
    same: u32,
    other: u32,
}

impl Odds {
    fn count(&mut self, same: bool) {
        if same {
            self.same += 1
        } else {
            self.other += 1
        }
        if self.same + self.other > MEMORY {
            self.same /= 2;
            self.other /= 2;
        }
    }

    /// The odds that the run goes on. Each way counts as seen `before` times before the first
    /// message, so nothing is ever impossible, and few messages prove little.
    fn of_same(self, before: u32) -> f64 {
        f64::from(self.same + before) / f64::from(self.other + before)
    }
}

/// Messages found one after the other, without a poll of their channel in vain between them: they
/// waited together.
#[derive(Clone, Copy, Debug, Default)]
struct Batches {
    messages: u64,
    batches: u64,
}

impl Batches {
    fn count(&mut self, messages: u64) {
        self.messages += messages;
        self.batches += 1;
        if self.batches > BATCH_MEMORY {
            self.messages /= 2;
            self.batches /= 2;
        }
    }

    fn mean(self) -> f64 {
        (self.messages + 1) as f64 / (self.batches + 1) as f64
    }
}

/// Length of a run beside that of the last one of its channel.
#[derive(Clone, Copy, Debug)]
enum Length {
    Shorter,
    Equal,
    Longer,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct RunLength {
    /// What an empty poll costs, by channel.
    cost_ns: [u64; 2],
    /// Rule 1: by channel, by [`Length`], and by whether the channel was polled in vain.
    odds: [[[Odds; 2]; 3]; 2],
    /// Where the last message came from.
    current: Channel,
    /// Messages of the run so far.
    run: u64,
    /// Length of the last run that ended, by channel.
    last_run: [u64; 2],
    /// Rule 3, by channel.
    batches: [Batches; 2],
    /// Messages of the batch so far.
    batch: u64,
    /// The current channel was polled in vain since the last message.
    in_vain: bool,
    /// The channel polled last, and how many times in a row.
    row: (Channel, u64),
}

impl RunLength {
    /// For polls of these costs, each at least 1.
    pub fn new(network_ns: u64, shared_ns: u64) -> Self {
        let mut cost_ns = [0; 2];
        cost_ns[Channel::Network as usize] = network_ns.max(1);
        cost_ns[Channel::SharedMemory as usize] = shared_ns.max(1);
        Self {
            cost_ns,
            odds: Default::default(),
            current: Channel::Network,
            run: 1,
            last_run: [1; 2],
            batches: Default::default(),
            batch: 1,
            in_vain: false,
            row: (Channel::Network, 0),
        }
    }

    fn cost_ns(&self, channel: Channel) -> u64 {
        self.cost_ns[channel as usize]
    }

    /// The counts of the present run, fresh and after a poll in vain.
    fn situations(&mut self) -> &mut [Odds; 2] {
        let length = match self.run.cmp(&self.last_run[self.current as usize]) {
            std::cmp::Ordering::Less => Length::Shorter,
            std::cmp::Ordering::Equal => Length::Equal,
            std::cmp::Ordering::Greater => Length::Longer,
        };
        &mut self.odds[self.current as usize][length as usize]
    }
}

/// Rule 3: how often a channel is polled between two polls of the other, if the odds are `odds` to
/// 1 that the next message comes from it; its polls cost `cost`, those of the other `rare_cost`.
///
/// A round of k polls and one of the other takes T = k cost + rare_cost. A message of the other
/// channel waits T / 2 on average. A message of this one waits for no more than its own channel's
/// polls, unless it arrives during the other's: then for the rest of that and one more, rare_cost /
/// 2 + cost, with probability rare_cost / T. The mean of both, weighted by the odds, is least at T
/// = sqrt(2 odds rare_cost (rare_cost / 2 + cost)).
fn polls_between(odds: f64, cost: f64, rare_cost: f64) -> u64 {
    let round = (2.0 * odds * rare_cost * (rare_cost / 2.0 + cost)).sqrt();
    ((round - rare_cost) / cost).round().max(1.0) as u64
}

impl PollingPolicy for RunLength {
    fn next(&mut self) -> Channel {
        let (last, polls) = self.row;
        if polls * self.cost_ns(last) >= PATIENCE * self.cost_ns(last.other()) {
            return last.other();
        }
        let (current, in_vain) = (self.current, self.in_vain);
        let odds = self.situations()[usize::from(in_vain)];
        let cost = |channel| self.cost_ns(channel) as f64;
        if !in_vain && odds.of_same(SEEN_BEFORE[0]) * cost(current.other()) > cost(current) {
            return current;
        }
        let batch = |channel| self.batches[channel as usize].mean();
        let odds = odds.of_same(SEEN_BEFORE[1]) * batch(current) / batch(current.other());
        let (likely, odds) =
            if odds >= 1.0 { (current, odds) } else { (current.other(), 1.0 / odds) };
        let in_a_row = if last == likely { polls } else { 0 };
        if in_a_row < polls_between(odds, cost(likely), cost(likely.other())) {
            likely
        } else {
            likely.other()
        }
    }

    fn polled(&mut self, channel: Channel, found: bool) {
        let (last, polls) = self.row;
        self.row = (channel, if channel == last { polls + 1 } else { 1 });
        let same = channel == self.current;
        if !found {
            self.in_vain |= same;
            return;
        }
        let in_vain = std::mem::take(&mut self.in_vain);
        let [fresh, after] = self.situations();
        fresh.count(same);
        if in_vain {
            after.count(same);
        }
        if same && !in_vain {
            self.batch += 1;
        } else {
            self.batches[self.current as usize].count(self.batch);
            self.batch = 1;
        }
        if same {
            self.run += 1;
        } else {
            self.last_run[self.current as usize] = self.run;
            self.current = channel;
            self.run = 1;
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
            let runs = |count| {
                (0..count).flat_map(|_| [(SharedMemory, burst), (Network, burst)]).collect()
            };
            polls(&mut policy, runs(30));
            // Rule 4 makes it look at shared memory after every third poll of the network in a row.
            let in_vain = polls(&mut policy, runs(10)) - 20 * burst;
            assert!(in_vain <= 10 * (burst / 3), "{burst}: {in_vain} empty polls");
        }
    }

    /// Counts are halved when they are full: the odds of old habits fade.
    #[test]
    fn counts_age() {
        let mut odds = Odds::default();
        (0..MEMORY).for_each(|_| odds.count(true));
        assert_eq!((odds.same, odds.other), (128, 0), "full, not yet too many");
        odds.count(false);
        assert_eq!((odds.same, odds.other), (64, 0));
        (0..64).for_each(|_| odds.count(false));
        assert_eq!((odds.same, odds.other), (64, 64));
        odds.count(false);
        assert_eq!((odds.same, odds.other), (32, 32));
        assert_eq!(Odds { same: 5, other: 2 }.of_same(1), 2.0);

        let mut batches = Batches::default();
        assert_eq!(batches.mean(), 1.0);
        (0..BATCH_MEMORY).for_each(|_| batches.count(3));
        assert_eq!((batches.messages, batches.batches), (96, 32));
        batches.count(5);
        assert_eq!((batches.messages, batches.batches), (50, 16));
        assert_eq!(batches.mean(), 3.0);
    }

    /// Ten thousand bursts of two from each channel, then of five: after some hundred messages the
    /// new habit is known as well as if there had been no other.
    #[test]
    fn a_new_habit_is_learnt() {
        let bursts = |burst: u64, count: u64| {
            (0..count).flat_map(move |_| [(SharedMemory, burst), (Network, burst)])
        };
        let mut fresh = RunLength::new(60, 60);
        polls(&mut fresh, bursts(5, 100).collect());
        let known = polls(&mut fresh, bursts(5, 20).collect());
        let mut old = RunLength::new(60, 60);
        polls(&mut old, bursts(2, 10_000).collect());
        polls(&mut old, bursts(5, 100).collect());
        let learnt = polls(&mut old, bursts(5, 20).collect());
        assert!(learnt <= known + 2, "{learnt} polls, {known} by one who knew nothing else");
    }

    #[test]
    fn a_long_run_is_left_only_out_of_patience() {
        let mut policy = RunLength::new(60, 60);
        let polls = polls(&mut policy, vec![(SharedMemory, 1024)]);
        assert!(polls <= 1024 + 1024 / PATIENCE + 2, "{polls}");
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

    #[test]
    fn the_square_root_law_waits_least() {
        let wait = |polls: u64, odds: f64, cost: f64, rare_cost: f64| {
            let round = polls as f64 * cost + rare_cost;
            let likely =
                (polls as f64 * cost * cost / 2.0 + rare_cost * (rare_cost / 2.0 + cost)) / round;
            (odds * likely + round / 2.0) / (odds + 1.0)
        };
        for (cost, rare_cost) in [(60.0, 720.0), (720.0, 60.0), (100.0, 100.0)] {
            for odds in [1.0, 1.5, 3.0, 10.0, 40.0, 129.0] {
                let best = (1..1000)
                    .map(|polls| wait(polls, odds, cost, rare_cost))
                    .fold(f64::INFINITY, f64::min);
                let ours = wait(polls_between(odds, cost, rare_cost), odds, cost, rare_cost);
                assert!(
                    ours <= best * 1.01,
                    "{odds} to 1 at {cost}, {rare_cost}: {ours} against {best}"
                );
            }
        }
        assert_eq!(polls_between(1.0, 60.0, 720.0), 1, "even odds: in turn");
    }
}
