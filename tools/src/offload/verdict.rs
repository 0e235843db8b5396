//! Whether the card frees more time than it adds.

use std::fmt;

use dpamatch_vocabulary::choices;
use serde::Serialize;

use super::{Demand, Host, Range, Service};

choices! {
    /// Whether offloading pays.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Answer, by default Indifferent {
        /// The run ends earlier for every value in the cost ranges.
        Yes = "yes",
        /// The run ends later for every value in the cost ranges.
        No = "no",
        /// The difference is too small, or the ranges do not decide.
        Indifferent = "indifferent",
        /// Legal orders of posts and arrivals lead to different answers.
        DependsOnOrder = "depends on the order",
        /// The trace has nothing to judge.
        None = "none",
    }
}

/// The strongest reason for a verdict.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "name")]
pub enum Reason {
    /// The trace has no MPI call at all.
    NoCalls,
    /// The trace has no receives, or no messages for them.
    NothingToMatch,
    /// Only one rank was read, so no other rank's waits are known.
    OneRank {
        rank: u32,
    },
    /// Legal orders disagree.
    Order,
    /// The rank or communicator matches nothing: other ranks move its end.
    OtherRanks,
    /// The difference is too small a part of the run.
    TooLittle {
        /// The largest gain or loss, in per cent of the run.
        percent: f64,
    },
    /// Ranks wait for messages, and the way over the card is long.
    Delay {
        each_us: f64,
        /// Delay of the run's end by that alone, in per cent of the run.
        percent: f64,
    },
    LongSearches {
        steps: f64,
    },
    /// The host copies many bytes.
    Copies {
        bytes: f64,
    },
    /// Posts, completions and requests cost more, or less, than with a card.
    Calls,
    /// The ends of the range disagree.
    Uncertain,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoCalls => f.write_str("The trace has no MPI call."),
            Self::NothingToMatch => f.write_str(
                "The trace has no messages with receives; --collectives adds the messages inside \
                 collectives.",
            ),
            Self::OneRank { rank } => write!(
                f,
                "The trace has only rank {rank}, and a verdict needs the ranks that wait for each \
                 other."
            ),
            Self::Order => {
                f.write_str("Legal orders of posts and messages lead to different verdicts.")
            }
            Self::OtherRanks => f.write_str("Other ranks decide when it ends."),
            Self::TooLittle { percent } => {
                write!(f, "The card moves the run's end by {percent:.2} % at most.")
            }
            Self::Delay { each_us, percent } => write!(
                f,
                "Each message arrives {each_us:.2} us later. This alone lengthens the run by \
                 {percent:.2} %."
            ),
            Self::LongSearches { steps } => {
                write!(f, "The host searches {steps:.1} entries for each message.")
            }
            Self::Copies { bytes } => {
                write!(f, "The host copies {bytes:.0} bytes for each message.")
            }
            Self::Calls => f.write_str("The cost of posts and completions decides."),
            Self::Uncertain => {
                f.write_str("The prices are too uncertain to distinguish gain from loss.")
            }
        }
    }
}

/// Costs of matching. Times are in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Costs {
    /// The host's time without a card.
    pub now_us: Range,
    /// The host's time with a card.
    pub after_us: Range,
    /// Delay per message with a card.
    pub delay_us: Range,
}

impl Costs {
    /// The costs of a part of a run.
    pub fn new(demand: &Demand, service: &Service, host: &Host) -> Self {
        let (now, after) = (&host.matching, &host.offloaded);
        let (posts, messages) = (demand.posts as f64, demand.messages as f64);
        let now_us = (now.post_ns * posts
            + now.message_ns * messages
            + now.step_ns * demand.steps as f64
            + now.copy_ns_per_byte * demand.eager_bytes as f64
            + now.rendezvous_ns * demand.rendezvous as f64)
            * (1.0 / NS);
        // What falls back to software costs the host as much as without a card, and the card's
        // command or completion besides. Messages and receives are counted apart.
        let host_share = service.messages_in_software as f64 / messages.max(1.0);
        let in_software = now.post_ns * service.receives_in_software as f64
            + now.message_ns * service.messages_in_software as f64
            + now.step_ns * (demand.steps as f64 * host_share)
            + now.copy_ns_per_byte * (demand.eager_bytes as f64 * host_share)
            + now.rendezvous_ns * (demand.rendezvous as f64 * host_share);
        let on_card = after.post_ns * posts + after.completion_ns * messages;
        let after_us = (on_card + in_software) * (1.0 / NS);
        let delay_us = Range::exact(service.latency_us) + after.handover_ns * (1.0 / NS);
        Self {
            now_us,
            after_us,
            delay_us,
        }
    }

    /// Host time that the card frees.
    pub fn freed_us(&self) -> Range {
        self.now_us - self.after_us
    }

    /// Adds another part. The delay becomes the mean over `mine` and `theirs` messages.
    pub fn add(&mut self, other: &Self, mine: u64, theirs: u64) {
        let share = |part: u64| part as f64 / (mine + theirs).max(1) as f64;
        self.now_us = self.now_us + other.now_us;
        self.after_us = self.after_us + other.after_us;
        self.delay_us = self.delay_us * share(mine) + other.delay_us * share(theirs);
    }
}

const NS: f64 = 1e3;

/// The run's end with a card, compared with the run without one.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Gain {
    /// Likely end of the run without a card, in microseconds.
    pub run_us: f64,
    /// How much earlier the run ends with a card, as a part of the run without one.
    pub share: Range,
    pub share_without_delay: f64,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct BreakEven {
    /// Entries passed per message from which on the card saves host time.
    pub host_steps: Range,
    /// Entries passed per message from which on the card delays no message.
    pub delay_steps: Range,
    /// Highest rate that the card sustains, in messages per microsecond.
    pub card_rate: f64,
}

impl BreakEven {
    pub fn new(demand: &Demand, service: &Service, host: &Host) -> Self {
        let (now, after) = (&host.matching, &host.offloaded);
        let messages = demand.messages.max(1) as f64;
        let own = now.post_ns
            + now.message_ns
            + now.copy_ns_per_byte * (demand.eager_bytes as f64 / messages)
            + now.rendezvous_ns * (demand.rendezvous as f64 / messages);
        let steps = |difference: Range| {
            let divided = |ns: f64, step: f64| (ns / step.max(1e-3)).max(0.0);
            let step = now.step_ns;
            Range::new(
                divided(difference.low, step.high),
                divided(difference.likely, step.likely),
                divided(difference.high, step.low),
            )
        };
        let way = Range::exact(service.latency_us * NS) + after.handover_ns + after.completion_ns;
        Self {
            host_steps: steps(after.post_ns + after.completion_ns - own),
            delay_steps: steps(way - now.message_ns),
            card_rate: demand.messages as f64 / service.busy_us.max(1e-9),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Verdict {
    pub answer: Answer,
    pub reason: Reason,
}

impl Verdict {
    /// No verdict, for this reason.
    pub const fn none(reason: Reason) -> Self {
        Self {
            answer: Answer::None,
            reason,
        }
    }

    /// Judges a gain. Gains and losses below `worth`, a part of the run's time, count as none.
    pub fn judge(demand: &Demand, host: &Host, costs: &Costs, gain: &Gain, worth: f64) -> Self {
        let Range { low, likely, high } = gain.share;
        let largest = low.abs().max(high.abs());
        let (answer, reason) = if low > worth {
            (Answer::Yes, gained(demand, host))
        } else if high < -worth {
            (Answer::No, lost(costs, gain))
        } else if largest <= worth {
            let percent = 100.0 * largest;
            (Answer::Indifferent, Reason::TooLittle { percent })
        } else if likely < -worth {
            // Most of the range is a loss: name its cause.
            (Answer::Indifferent, lost(costs, gain))
        } else {
            (Answer::Indifferent, Reason::Uncertain)
        };
        let reason = if demand.posts == 0 {
            Reason::OtherRanks
        } else {
            reason
        };
        Self { answer, reason }
    }
}

/// The largest part of the host's present time.
fn gained(demand: &Demand, host: &Host) -> Reason {
    let now = &host.matching;
    let searches = now.step_ns.likely * demand.steps as f64;
    let copies = now.copy_ns_per_byte.likely * demand.eager_bytes as f64;
    let messages = demand.messages.max(1) as f64;
    let calls = now.post_ns.likely * demand.posts as f64 + now.message_ns.likely * messages;
    match () {
        () if searches >= copies && searches >= calls => Reason::LongSearches {
            steps: demand.steps_per_message(),
        },
        () if copies >= calls => Reason::Copies {
            bytes: demand.eager_bytes as f64 / messages,
        },
        () => Reason::Calls,
    }
}

/// The larger part of the time that the card adds.
fn lost(costs: &Costs, gain: &Gain) -> Reason {
    let late = gain.share_without_delay - gain.share.likely;
    if late >= -gain.share_without_delay {
        return Reason::Delay {
            each_us: costs.delay_us.likely,
            percent: 100.0 * late,
        };
    }
    Reason::Calls
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::BUILT_IN;

    /// A host with exact costs, all of them different.
    fn host() -> Host {
        let mut host = Host::parse(BUILT_IN[0].1).expect("a host");
        host.matching.post_ns = Range::exact(30.0);
        host.matching.message_ns = Range::exact(100.0);
        host.matching.step_ns = Range::exact(10.0);
        host.matching.copy_ns_per_byte = Range::exact(0.1);
        host.matching.rendezvous_ns = Range::exact(500.0);
        host.offloaded.post_ns = Range::exact(50.0);
        host.offloaded.completion_ns = Range::exact(170.0);
        host.offloaded.handover_ns = Range::exact(900.0);
        host
    }

    const CARD: Service = Service {
        busy_us: 200.0,
        latency_us: 2.0,
        longest_us: 9.0,
        matched: 100,
        messages_in_software: 0,
        receives_in_software: 0,
    };
    const DEEP: Demand = Demand {
        posts: 120,
        messages: 100,
        probes: 0,
        eager_bytes: 800,
        rendezvous: 2,
        steps: 100_000,
    };

    fn judged(demand: Demand, share: [f64; 3], share_without_delay: f64) -> Verdict {
        let gain = Gain {
            run_us: 1000.0,
            share: Range::from(share),
            share_without_delay,
        };
        let costs = Costs::new(&demand, &CARD, &host());
        Verdict::judge(&demand, &host(), &costs, &gain, 0.001)
    }

    #[test]
    fn all_that_the_host_does_has_its_price() {
        let costs = Costs::new(&DEEP, &CARD, &host());
        let near = |range: Range, value: f64| {
            assert!(
                (range.likely - value).abs() < 1e-9 && range.low == range.high,
                "{range:?}"
            );
        };
        // 120 x 30 + 100 x 100 + 100,000 x 10 + 800 x 0.1 + 2 x 500 ns now; 120 x 50 + 100 x 170
        // with the card.
        near(costs.now_us, 1014.68);
        near(costs.after_us, 23.0);
        near(costs.freed_us(), 991.68);
        near(costs.delay_us, 2.9);
        // 30 of 120 receives and 80 of 100 messages fall back: 30 x 30 + 80 x 100 + 0.8 of the
        // steps, bytes and long messages, above the card's commands and completions.
        let mixed = Service {
            receives_in_software: 30,
            messages_in_software: 80,
            ..CARD
        };
        let mixed = Costs::new(&DEEP, &mixed, &host());
        near(
            mixed.after_us,
            23.0 + 0.9 + 8.0 + 0.8 * (1000.0 + 0.08 + 1.0),
        );
        let only_receives = Service {
            receives_in_software: 30,
            ..CARD
        };
        let only_receives = Costs::new(&DEEP, &only_receives, &host());
        near(only_receives.after_us, 23.0 + 0.9);
    }

    #[test]
    fn costs_of_two_parts_are_added_and_delays_averaged() {
        let mut sum = Costs::new(&DEEP, &CARD, &host());
        let other = Costs {
            delay_us: Range::exact(1.9),
            ..sum
        };
        sum.add(&other, 300, 100);
        assert!((sum.now_us.likely - 2029.36).abs() < 1e-9);
        assert_eq!(sum.after_us, Range::exact(46.0));
        assert!((sum.delay_us.likely - 2.65).abs() < 1e-9);
    }

    #[test]
    fn break_even_is_where_both_sides_cost_the_same() {
        let mut host = host();
        host.matching.step_ns = Range::new(5.0, 10.0, 20.0);
        let even = BreakEven::new(&DEEP, &CARD, &host);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{even:?}");
        // 50 + 170 - 30 - 100 - 0.8 - 10 ns over those of a step; 2,000 + 900 + 170 - 100 ns of
        // delay.
        for (range, ns) in [(even.host_steps, 79.2), (even.delay_steps, 2970.0)] {
            near(range.low, ns / 20.0);
            near(range.likely, ns / 10.0);
            near(range.high, ns / 5.0);
        }
        near(even.card_rate, 0.5);
    }

    #[test]
    fn a_verdict_holds_for_the_whole_range() {
        let deep = judged(DEEP, [0.002, 0.05, 0.09], 0.06);
        assert_eq!(deep.answer, Answer::Yes);
        assert_eq!(deep.reason, Reason::LongSearches { steps: 1000.0 });
        assert_eq!(
            judged(DEEP, [-0.002, 0.05, 0.09], 0.06).reason,
            Reason::Uncertain
        );
        // A thousandth counts, a smaller part does not.
        let unsure = |likely| judged(DEEP, [-0.5, likely, 0.002], -0.2).reason;
        assert_eq!([unsure(0.0), unsure(-0.001)], [Reason::Uncertain; 2]);
        assert_eq!(unsure(-0.0011), Reason::Calls);
        assert_eq!(
            judged(DEEP, [0.0005, 0.05, 0.09], 0.0).answer,
            Answer::Indifferent
        );
        let little = judged(DEEP, [-0.0005, 0.0001, 0.00075], 0.0);
        assert_eq!(little.answer, Answer::Indifferent);
        assert_eq!(little.reason, Reason::TooLittle { percent: 0.075 });
    }

    #[test]
    fn a_loss_names_delay_or_calls() {
        let slow = judged(DEEP, [-0.5, -0.25, -0.002], 0.25);
        assert_eq!(slow.answer, Answer::No);
        assert_eq!(
            slow.reason,
            Reason::Delay {
                each_us: 2.9,
                percent: 50.0
            }
        );
        let calls = judged(DEEP, [-0.5, -0.25, -0.002], -0.2);
        assert_eq!(calls.reason, Reason::Calls);
        let unsure = judged(DEEP, [-0.5, -0.25, 0.002], 0.25);
        assert_eq!(
            (unsure.answer, unsure.reason),
            (Answer::Indifferent, slow.reason)
        );
    }

    #[test]
    fn the_largest_part_of_the_host_s_work_is_named() {
        let mut host = host();
        host.matching.post_ns = Range::exact(7.0);
        host.matching.message_ns = Range::exact(11.0);
        host.matching.copy_ns_per_byte = Range::exact(0.5);
        // Ten posts and seven messages cost 147 ns, beside 10 ns a step and half a ns a byte.
        let named = |steps, eager_bytes| {
            let demand = Demand {
                posts: 10,
                messages: 7,
                probes: 3,
                eager_bytes,
                rendezvous: 2,
                steps,
            };
            gained(&demand, &host)
        };
        let copies = |bytes| Reason::Copies {
            bytes: f64::from(bytes) / 7.0,
        };
        assert_eq!(
            [named(14, 292), named(14, 296)],
            [Reason::Calls, copies(296)]
        );
        let deep = || Reason::LongSearches { steps: 15.0 / 7.0 };
        assert_eq!(
            [named(15, 300), named(15, 302), named(15, 0)],
            [deep(), copies(302), deep()]
        );
        let idle = Demand::default();
        assert_eq!(judged(idle, [0.0; 3], 0.0).reason, Reason::OtherRanks);
    }
}
