//! How the share of unexpected messages depends on the order of posts and arrivals.
//!
//! A trace does not record arrivals, so several orders are legal. This module counts unexpected
//! messages in some of them: simulated runs with another jitter, without latency and with ten times
//! the latency, the recorded clocks, all receives first, and one random interleaving. It leaves out
//! `arrivals-first`, which makes nearly all messages unexpected by its definition.

use super::order::{Happening, Network, Order, OrderChoice};
use super::replay::RankView;
use super::run::Run;
use dpamatch::engine::{BinCount, BinEngine, Engine, MsgId, RecvId};
use dpamatch_vocabulary::CommId;

/// Maximum sends, receives and probes that all orders of a spread replay together.
const TRANSFERS_MAX: u64 = 40_000_000;

/// The messages in one order.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct InOrder {
    /// The order in words, such as `causal, seed 2`.
    pub order: String,
    /// Messages that found a posted receive.
    pub expected: u64,
    /// Messages that came before their receive.
    pub unexpected: u64,
}

impl InOrder {
    /// The share of unexpected messages in percent; `None` without messages.
    pub fn percent(&self) -> Option<f64> {
        let all = self.expected + self.unexpected;
        (all > 0).then(|| 100.0 * self.unexpected as f64 / all as f64)
    }
}

/// The messages in several legal orders.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Spread {
    pub orders: Vec<InOrder>,
    /// Why further orders were not computed.
    pub left_out: Option<String>,
}

/// A causal network or another order, and its name.
type Choice = (String, OrderChoice, Network);

impl Spread {
    /// Counts the messages of a run in further orders. `known` are those that have been counted,
    /// the chosen order first. Order logs have one order, the real one.
    ///
    /// # Complexity
    /// One simulation, or one order and engine at each rank, for each further order. They take up
    /// to 40 million sends, receives and probes together. Orders beyond are left out.
    pub fn of(run: &Run, network: Network, known: Vec<InOrder>) -> Self {
        let mut spread = Self {
            orders: known,
            left_out: None,
        };
        if run.is_logged() {
            return spread;
        }
        let transfers = run.programs.iter().map(|it| it.transfers.len() as u64);
        let transfers = transfers.sum::<u64>().max(1);
        let mut left = TRANSFERS_MAX / transfers;
        let mut missing = Vec::new();
        for (name, choice, network) in choices(network) {
            if spread.orders.iter().any(|known| known.order == name) {
                continue;
            }
            if left == 0 {
                missing.push(name);
                continue;
            }
            left -= 1;
            let counts = match choice {
                // The simulation matches by itself.
                OrderChoice::Causal => Some(vec![run.causal_counts(network)]),
                others => run.look_at_orders(others, count_rank),
            };
            match counts {
                Some(counts) => spread.orders.push(sum(name, &counts)),
                None => spread.left_out = Some(format!("{name}: the trace has no wall times")),
            }
        }
        if !missing.is_empty() {
            let missing = missing.join("; ");
            spread.left_out = Some(format!(
                "{missing}: the trace has {transfers} sends, receives and probes"
            ));
        }
        spread
    }

    /// The orders with the lowest and the highest share of unexpected messages, the first of equal
    /// ones; `None` without messages.
    pub fn ends(&self) -> Option<[&InOrder; 2]> {
        let shares = || {
            self.orders
                .iter()
                .filter_map(|it| Some((it.percent()?, it)))
        };
        let (_, low) = shares().reduce(|a, b| if b.0 < a.0 { b } else { a })?;
        let (_, high) = shares().reduce(|a, b| if b.0 > a.0 { b } else { a })?;
        Some([low, high])
    }

    /// The lowest and the highest share of unexpected messages in percent; `None` without messages.
    pub fn range(&self) -> Option<[f64; 2]> {
        let [low, high] = self.ends()?;
        Some([low.percent()?, high.percent()?])
    }

    /// The range in words, `None` for a single order or without messages.
    pub fn words(&self) -> Option<String> {
        let [low, high] = self.range()?;
        let orders = self.orders.len();
        (orders > 1).then(|| format!("{low:.1} to {high:.1} % over {orders} orders"))
    }
}

/// The name of an order among those of a spread.
pub fn name(choice: OrderChoice, network: Network) -> String {
    let Network {
        latency_ns, seed, ..
    } = network;
    match choice {
        OrderChoice::Causal => format!("causal, latency {latency_ns} ns, seed {seed}"),
        OrderChoice::Time => "time".to_owned(),
        OrderChoice::Recorded => "recorded".to_owned(),
        OrderChoice::PostsFirst => "posts-first".to_owned(),
        OrderChoice::ArrivalsFirst => "arrivals-first".to_owned(),
        OrderChoice::Random { seed } => format!("random, seed {seed}"),
    }
}

fn choices(network: Network) -> Vec<Choice> {
    let with_latency = |latency_ns| Network {
        latency_ns,
        ..network
    };
    let networks = [
        network,
        Network {
            seed: network.seed.wrapping_add(1),
            ..network
        },
        with_latency(0),
        with_latency(network.latency_ns.saturating_mul(10).max(10_000)),
    ];
    let causal = networks.map(|network| (OrderChoice::Causal, network));
    let others = [
        OrderChoice::PostsFirst,
        OrderChoice::Time,
        OrderChoice::Random { seed: 1 },
    ];
    let others = others.map(|choice| (choice, network));
    causal
        .into_iter()
        .chain(others)
        .map(|(choice, network)| (name(choice, network), choice, network))
        .collect()
}

fn sum(order: String, parts: &[[u64; 2]]) -> InOrder {
    let sum = |place: usize| parts.iter().map(|counts| counts[place]).sum();
    InOrder {
        order,
        expected: sum(0),
        unexpected: sum(1),
    }
}

/// Messages that found a posted receive, and others.
fn count_rank(view: RankView<'_>, order: &Order) -> [u64; 2] {
    // Few bins for few events; the counts do not depend on them.
    let bins = order.len().clamp(1, 128).next_power_of_two();
    let bins = u32::try_from(bins)
        .ok()
        .and_then(|bins| BinCount::new(bins).ok());
    let mut engine = BinEngine::new(bins.expect("1 to 128 bins"));
    let mut counts = [0; 2];
    for happening in order.iter() {
        match happening {
            Happening::Post(at) => {
                let selector = view.program.transfers.at(at).selector();
                _ = engine.post(RecvId(u64::from(at)), CommId(view.comm(at)), selector);
            }
            Happening::Arrive(message) => {
                let matched = engine.arrive(MsgId(u64::from(message)), view.envelope(message));
                counts[usize::from(matched.is_none())] += 1;
            }
            Happening::Cancel(at) => _ = engine.cancel(RecvId(u64::from(at))),
            Happening::Probe(_) => {}
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::by_hand::{receive, report, run, send};
    use crate::analyze::program::{End, Transfer};

    /// The receiver computes 100 us before its third receive, so that the orders differ.
    #[test]
    fn the_share_depends_on_the_order() {
        let blocking = |tag| Transfer {
            blocking: true,
            ..receive(0, tag, End::Ignored)
        };
        let mut run = run(
            &[send(1, 1), send(1, 2), send(1, 3)],
            &[blocking(1), receive(0, 2, End::Ignored), blocking(3)],
        );
        run.programs[1]
            .steps
            .edit(|steps| steps[2].gap_ns = 100_000);
        let report = report(&run, OrderChoice::Causal);
        let spread = &report.unexpected_by_order;
        let counts: Vec<_> = spread
            .orders
            .iter()
            .map(|it| (it.order.as_str(), it.expected, it.unexpected))
            .collect();
        let expected = [
            ("causal, latency 1500 ns, seed 1", 1, 2),
            ("causal, latency 1500 ns, seed 2", 1, 2),
            ("causal, latency 0 ns, seed 1", 2, 1),
            ("causal, latency 15000 ns, seed 1", 1, 2),
            ("posts-first", 3, 0),
            ("random, seed 1", 3, 0),
        ];
        assert_eq!(counts, expected);
        assert_eq!(spread.range(), Some([0.0, 200.0 / 3.0]));
        let words = spread.words();
        assert_eq!(words.as_deref(), Some("0.0 to 66.7 % over 6 orders"));
        let left_out = spread.left_out.as_deref();
        assert_eq!(left_out, Some("time: the trace has no wall times"));
    }

    /// A simulation counts what an engine counts in its orders, also with cancels.
    #[test]
    fn a_simulation_counts_as_an_engine_does() {
        let ends = [End::Ignored, End::CancelAsked, End::Cancelled];
        let receives: Vec<_> = (0..30)
            .map(|at: i32| receive((at % 4).min(1) - 1, at % 3, ends[at as usize % 7 % 3]))
            .collect();
        let sends: Vec<_> = (0..30).map(|at| send(1, at % 3)).collect();
        let run = run(&sends, &receives);
        let mut found = [0; 2];
        for seed in 0..8 {
            let network = Network {
                seed,
                latency_ns: 200 * seed,
                ..Network::default()
            };
            let (orders, ..) = run.causal(network);
            let counts = run.views().zip(&orders);
            let counts: Vec<_> = counts
                .map(|(view, order)| count_rank(view, order))
                .collect();
            let [expected, unexpected] =
                [0, 1].map(|place| counts.iter().map(|it| it[place]).sum::<u64>());
            assert_eq!(run.causal_counts(network), [expected, unexpected]);
            found = [found[0] + expected, found[1] + unexpected];
        }
        assert!(found[0] > 8 && found[1] > 8, "{found:?}");
    }

    #[test]
    fn nothing_has_no_share() {
        let report = report(&run(&[], &[]), OrderChoice::Causal);
        assert_eq!(report.unexpected_by_order.range(), None);
        assert_eq!(report.unexpected_by_order.words(), None);
    }
}
