//! Our own policy: it learns how runs of messages continue, and shares the polls accordingly.
//!
//! A *run* is a sequence of messages from one channel, the *current* one. The policy knows each
//! channel's cost of an empty poll and has four rules:
//!
//! 1. It counts whether the current channel or the other one came next, in each of twelve
//!    situations: by current channel; by run length, shorter than, equal to or longer than the last
//!    run; and by whether a poll has been in vain since the last message. The counts give the odds
//!    that the run continues, and they age, to follow new habits.
//! 2. Right after a message the policy polls the current channel if the odds of finding the next
//!    message there, per poll time, are better than the other channel's.
//! 3. After that only the likely channel of the next message is known, not its time. The
//!    square-root law shares the polls: the likelier channel gets the number of polls between two
//!    polls of the other that makes the mean wait shortest (`polls_between`). Even odds mean
//!    polling in turn. The law is that of visit frequencies in polling systems (Boxma, Levy and
//!    Weststrate, 1991). A channel with messages in batches counts by their mean length, because a
//!    delay of the first message delays the whole batch.
//! 4. No channel is neglected for longer than [`PATIENCE`] of its own polls cost. An endless stream
//!    on one channel delays the other by at most that, and loses a share of at most 1 / `PATIENCE`.
//!
//! With learnt odds, bursts of constant length need hardly any empty poll. For random lengths the
//! odds are all the available information.

use super::policy::{Channel, PollingPolicy};

/// Limit of rule 4, in polls of the neglected channel.
pub const PATIENCE: u64 = 32;

/// Messages after which a situation's counts are halved.
const MEMORY: u32 = 128;

/// Batches after which a channel's counts are halved.
const BATCH_MEMORY: u64 = 32;

/// Initial count of each way: for rule 2, which risks one poll, and for rule 3, which decides the
/// polls of a whole wait.
const SEEN_BEFORE: [u32; 2] = [1, 4];

/// How often the run continued, and how often it ended.
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

    /// The odds that the run continues. Each way starts with a count of `before`, so nothing is
    /// ever impossible, and few messages prove little.
    fn of_same(self, before: u32) -> f64 {
        f64::from(self.same + before) / f64::from(self.other + before)
    }
}

/// Messages found in succession without an empty poll of their channel: they waited together.
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

/// Length of a run relative to its channel's last one.
#[derive(Clone, Copy, Debug)]
enum Length {
    Shorter,
    Equal,
    Longer,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct RunLength {
    cost_ns: [u64; 2],
    /// Rule 1: by channel, by [`Length`], and by whether a poll of the channel was without success.
    odds: [[[Odds; 2]; 3]; 2],
    current: Channel,
    run: u64,
    last_run: [u64; 2],
    /// Rule 3, by channel.
    batches: [Batches; 2],
    batch: u64,
    /// Whether a poll of the current channel was without success since the last message.
    found_nothing: bool,
    /// The last polled channel, and its consecutive polls.
    row: (Channel, u64),
}

impl RunLength {
    /// A policy for these poll costs, each at least 1.
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
            found_nothing: false,
            row: (Channel::Network, 0),
        }
    }

    fn cost_ns(&self, channel: Channel) -> u64 {
        self.cost_ns[channel as usize]
    }

    /// The counts of the present run, fresh and after a poll without success.
    fn situations(&mut self) -> &mut [Odds; 2] {
        let length = match self.run.cmp(&self.last_run[self.current as usize]) {
            std::cmp::Ordering::Less => Length::Shorter,
            std::cmp::Ordering::Equal => Length::Equal,
            std::cmp::Ordering::Greater => Length::Longer,
        };
        &mut self.odds[self.current as usize][length as usize]
    }
}

/// Rule 3: polls of a channel between two polls of the other, if the next message comes from it
/// with odds of `odds` to 1. Its polls cost `cost`, the other's `rare_cost`.
///
/// A round of k polls and one of the other takes T = k cost + rare_cost. A message of the other
/// channel waits T / 2 on average. A message of this one waits only for its own channel's polls,
/// unless it arrives during the other's: then for the rest of that and one more, rare_cost / 2 +
/// cost, with probability rare_cost / T. The mean of both, weighted by the odds, is least at T =
/// sqrt(2 odds rare_cost (rare_cost / 2 + cost)).
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
        let (current, found_nothing) = (self.current, self.found_nothing);
        let odds = self.situations()[usize::from(found_nothing)];
        let cost = |channel| self.cost_ns(channel) as f64;
        if !found_nothing && odds.of_same(SEEN_BEFORE[0]) * cost(current.other()) > cost(current) {
            return current;
        }
        let batch = |channel| self.batches[channel as usize].mean();
        let odds = odds.of_same(SEEN_BEFORE[1]) * batch(current) / batch(current.other());
        let (likely, odds) = if odds >= 1.0 {
            (current, odds)
        } else {
            (current.other(), 1.0 / odds)
        };
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
            self.found_nothing |= same;
            return;
        }
        let found_nothing = std::mem::take(&mut self.found_nothing);
        let [fresh, after] = self.situations();
        fresh.count(same);
        if found_nothing {
            after.count(same);
        }
        if same && !found_nothing {
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

    /// Polls to find the messages of these runs in order, all present from the start.
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

    /// Ten thousand bursts of two from each channel, then of five. After some hundred messages the
    /// policy knows the new habit as well as if it had never known another.
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
        assert!(
            learnt <= known + 2,
            "{learnt} polls, {known} by one who knew nothing else"
        );
    }

    #[test]
    fn nothing_is_left_alone_for_long() {
        // Rule 4 holds for any found messages.
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
