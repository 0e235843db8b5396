//! Applications of the queue papers as whole jobs: the stream of every rank.
//!
//! A rank runs rounds of *exchanges*, each a set of receives from the ranks behind it in the ring.
//! In each round a random part of the messages arrives early, that is before the round's first
//! receive; the share tells how late the process is. Every process is late in one round, and a
//! little in the others. The numbers of [`Lateness`] are fitted to the lengths and searches that
//! the four-dimensional queue's paper prints (Table 3), so they are inputs, not results.

use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, Tag, choices};

use super::Order;
use super::order::mix;
use dpamatch::engine::{CollName, Collective, MsgId, RecvId};
use dpamatch::stream::Event;

choices! {
    /// An application.
    #[derive(Hash)]
    pub enum App, by default Radix {
        /// Radix sort as the four-dimensional queue's paper has it: each process exchanges
        /// histograms and keys with all others, four receives at a time, and rank 0 collects
        /// several messages of every rank. Nearly all collective.
        Radix = "Radix",
        /// N-body of that paper: receives from all other ranks posted at once, and a small
        /// allgather.
        Nbody = "Nbody",
        /// Radix sort as the dedicated queues' paper has it: many iallgathers at a time by the
        /// ring algorithm, where all messages come from one neighbour, and smaller exchanges.
        RadixCol = "Radix-COL",
        /// N-body of that paper: several exchanges with all ranks and a ring allgather per step,
        /// of which the end overlaps with the exchange.
        NbodyCol = "Nbody-COL",
        /// Adaptive mesh refinement: a few neighbours, and collectives over many ranks.
        MiniAmr = "MiniAMR",
        /// Fire dynamics: rank 0 gathers from all ranks, with several gathers under way.
        Fds = "FDS",
    }
}

/// Rounds of a job. Those of FDS are short, but for rank 0.
const ROUNDS: u64 = 8;
const FDS_ROUNDS: u64 = 64;
/// Steps of [`App::NbodyCol`], which give the published 25,000 posted and 11,000 unexpected
/// collective elements of a process at 512 ranks.
const NBODY_STEPS: u64 = 70;
/// Processes of [`App::NbodyCol`] that are run. All but rank 0 are alike.
const NBODY_SAMPLE: u32 = 8;
/// Receives that a process of Radix posts before it waits.
const RADIX_GROUP: u64 = 4;

/// How late processes are.
#[derive(Clone, Copy, Debug)]
struct Lateness {
    /// Mean share of early messages in a process's worst round.
    worst: f64,
    /// The greatest share of any process.
    most: f64,
    /// Mean share in the other rounds.
    rest: f64,
    /// Share of processes whose early messages arrive in `order`, not in the order of the receives.
    disordered: f64,
    order: Order,
}

/// Iallgathers that a process of [`App::RadixCol`] has under way.
const RADIX_CALLS: u64 = 20;
/// Receives of [`App::NbodyCol`]: of an allgather that is not over when the exchange begins, and of
/// the exchange at a time.
const NBODY_OVERLAP: u64 = 30;
const NBODY_GROUP: u64 = 256;

/// Radix by the logarithm of the number of keys: how late, messages to rank 0, and the share of
/// them that arrives late.
const RADIX: [(u32, Lateness, u64, f64); 3] = [
    (
        28,
        Lateness::new([0.847, 0.99, 0.088], 0.26, Order::Reverse),
        3075,
        0.0,
    ),
    (
        29,
        Lateness::new([0.860, 0.99, 0.080], 0.35, Order::Reverse),
        6950,
        0.12,
    ),
    (
        30,
        Lateness::new([0.919, 0.99, 0.060], 0.82, Order::Reverse),
        14270,
        0.12,
    ),
];

/// N-body by the size of the job.
const NBODY: [(u32, Lateness); 3] = [
    (
        256,
        Lateness::new([0.336, 0.97, 0.006], 0.03, Order::Reverse),
    ),
    (
        512,
        Lateness::new([0.708, 0.974, 0.0303], 0.6, Order::Shuffled),
    ),
    (
        704,
        Lateness::new([0.934, 0.988, 0.088], 0.0, Order::Forward),
    ),
];

impl Lateness {
    const fn new([worst, most, rest]: [f64; 3], disordered: f64, order: Order) -> Self {
        Self {
            worst,
            most,
            rest,
            disordered,
            order,
        }
    }
}

/// An application of a size.
///
/// # Examples
/// ```
/// use dpamatch_tools::workload::{App, Job};
///
/// let job = Job { app: App::Nbody, ranks: 64, keys: 28, seed: 1 };
/// let events = job.events(5);
/// assert_eq!(events.len() % 2, 0, "each receive has a message");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Job {
    pub app: App,
    /// Processes, at least 2.
    pub ranks: u32,
    /// Logarithm of Radix's number of keys, 28 to 30; 28 is the default.
    pub keys: u32,
    pub seed: u64,
}

/// Receives of a round, and when their messages arrive.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    /// The collective operation; `None` for point-to-point.
    coll: Option<&'static str>,
    /// Ranks that send, in ring order behind the receiver.
    peers: u64,
    receives: u64,
    /// Number of early messages.
    early: u64,
    /// Reverse: early are the messages of the last receives; else of any.
    early_order: Order,
    late_order: Order,
    /// Receives posted before the process waits for their messages; `None` if it does not wait
    /// before it posts the next exchange.
    group: Option<u64>,
}

impl App {
    /// Whether the dedicated queues' paper has this application, in this form.
    pub fn has_dedicated_queues(self) -> bool {
        !matches!(self, Self::Radix | Self::Nbody)
    }
}

impl Job {
    /// The processes to run: all, or some that stand for all.
    pub fn processes(&self) -> Vec<u32> {
        let most = match self.app {
            App::NbodyCol => NBODY_SAMPLE,
            _ => u32::MAX,
        };
        (0..self.ranks)
            .step_by(self.ranks.div_ceil(most) as usize)
            .collect()
    }

    /// A random number from 0 to 1 for this purpose.
    fn random(&self, what: u64, rank: u32, round: u64) -> f64 {
        let seed = mix(self.seed ^ what << 56 ^ round << 40 ^ u64::from(rank));
        (seed >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The share of early messages.
    fn early(&self, rank: u32, round: u64, lateness: &Lateness) -> f64 {
        let Lateness {
            worst, most, rest, ..
        } = *lateness;
        let worst_round = (self.random(1, rank, 0) * ROUNDS as f64) as u64;
        let random = self.random(2, rank, round);
        let share = match round == worst_round {
            true => most * random.powf(most / worst - 1.0),
            false => 2.0 * rest * random,
        };
        share.min(1.0)
    }

    fn exchanges(&self, rank: u32, round: u64) -> Vec<Exchange> {
        let others = u64::from(self.ranks - 1);
        let part = |share: f64, of: u64| (share * of as f64).round() as u64;
        let doublings = u64::from(self.ranks.ilog2());
        let usual = Exchange {
            coll: None,
            peers: others,
            receives: others,
            early: 0,
            early_order: Order::Forward,
            late_order: Order::Forward,
            group: Some(u64::MAX),
        };
        let all = |lateness: &Lateness| {
            let early_order = if self.random(3, rank, 0) < lateness.disordered {
                lateness.order
            } else {
                usual.early_order
            };
            Exchange {
                early: part(self.early(rank, round, lateness), others),
                early_order,
                ..usual
            }
        };
        match self.app {
            App::Radix => {
                let (_, lateness, hot, late) = RADIX[(self.keys.clamp(28, 30) - 28) as usize];
                let coll = Some(if round % 3 == 2 {
                    "alltoallv"
                } else {
                    "iallgather"
                });
                let group = Some(RADIX_GROUP);
                if rank == 0 {
                    let hot = hot * others / 511;
                    let early = hot - part(late, hot);
                    let order = Order::Reverse;
                    vec![Exchange {
                        coll,
                        receives: hot,
                        early,
                        early_order: order,
                        group,
                        ..usual
                    }]
                } else {
                    vec![Exchange {
                        coll,
                        group,
                        ..all(&lateness)
                    }]
                }
            }
            App::Nbody => {
                let (_, lateness) = *NBODY
                    .iter()
                    .min_by_key(|(ranks, _)| ranks.abs_diff(self.ranks))
                    .unwrap_or(&NBODY[0]);
                let allgather = Exchange {
                    coll: Some("allgather"),
                    peers: doublings.min(others),
                    receives: doublings,
                    early: (0.3 * doublings as f64 + self.random(4, rank, round)) as u64,
                    ..usual
                };
                let ring = all(&lateness);
                if round % 4 == 3 {
                    vec![ring, allgather]
                } else {
                    vec![allgather, ring]
                }
            }
            App::RadixCol => {
                let (early_order, late_order) = (Order::Shuffled, Order::Shuffled);
                let ring = Exchange {
                    coll: Some("iallgather"),
                    peers: 1,
                    receives: RADIX_CALLS,
                    early: part(0.3, RADIX_CALLS),
                    early_order,
                    late_order,
                    group: None,
                };
                let few = doublings.min(others);
                let rest = Exchange {
                    coll: Some("allreduce"),
                    peers: few,
                    receives: few,
                    early: part(0.3, few),
                    group: usual.group,
                    ..ring
                };
                vec![ring, rest]
            }
            App::NbodyCol => {
                let (early_order, late_order) = (Order::Shuffled, Order::Shuffled);
                let overlap = NBODY_OVERLAP.min(others);
                let ring = |receives, group| Exchange {
                    coll: Some("allgather"),
                    peers: 1,
                    receives,
                    early: part(0.285, receives),
                    group,
                    ..usual
                };
                let exchange = Exchange {
                    receives: 2 * others,
                    early: part(0.2, 2 * others),
                    early_order,
                    late_order,
                    group: Some(NBODY_GROUP),
                    ..usual
                };
                vec![
                    ring(others - overlap, Some(1)),
                    ring(overlap, None),
                    exchange,
                ]
            }
            App::MiniAmr => {
                let many = ((32 * others) as f64).sqrt().min(others as f64) as u64;
                let (early_order, late_order) = (Order::Shuffled, Order::Shuffled);
                let few = others.min(6);
                vec![
                    Exchange {
                        coll: Some("allreduce"),
                        peers: many,
                        receives: many,
                        early: part(0.3, many),
                        early_order,
                        late_order,
                        group: None,
                    },
                    Exchange {
                        peers: few,
                        receives: 3 * few,
                        early: few,
                        early_order,
                        late_order,
                        ..usual
                    },
                ]
            }
            App::Fds => {
                let (early_order, late_order) = (Order::Shuffled, Order::Shuffled);
                let few = others.min(6);
                let own = Exchange {
                    peers: few,
                    receives: few,
                    early: few / 6,
                    ..usual
                };
                if rank > 0 {
                    let coll = Some("allreduce");
                    let doublings = Exchange {
                        peers: doublings.min(others),
                        receives: doublings,
                        ..usual
                    };
                    return vec![
                        Exchange {
                            coll,
                            early: 3,
                            ..doublings
                        },
                        own,
                    ];
                }
                let gathers = Exchange {
                    coll: Some("gatherv"),
                    receives: 4 * others,
                    early: others,
                    early_order,
                    late_order,
                    group: None,
                    ..usual
                };
                let before = others / 8;
                let before = Exchange {
                    receives: before,
                    early: before,
                    ..usual
                };
                vec![
                    before,
                    gathers,
                    Exchange {
                        receives: others,
                        early: others / 32,
                        ..usual
                    },
                ]
            }
        }
    }

    /// The stream of a rank: point-to-point elements in communicator 0, collective ones in 1.
    pub fn events(&self, rank: u32) -> Vec<Event> {
        let mut stream = Stream {
            job: self,
            rank,
            events: Vec::new(),
            receives: 0,
            messages: 0,
        };
        let rounds = match self.app {
            App::Fds => FDS_ROUNDS,
            App::NbodyCol => NBODY_STEPS,
            _ => ROUNDS,
        };
        for round in 0..rounds {
            stream.round(round);
        }
        stream.events
    }
}

struct Stream<'a> {
    job: &'a Job,
    rank: u32,
    events: Vec<Event>,
    receives: u64,
    messages: u64,
}

impl Stream<'_> {
    fn round(&mut self, round: u64) {
        let exchanges = self.job.exchanges(self.rank, round);
        let seed =
            |i: usize| mix(self.job.seed ^ u64::from(self.rank) << 24 ^ round << 8 ^ i as u64);
        let seeds: Vec<u64> = (0..exchanges.len()).map(seed).collect();
        let is_early = |i: usize, element| {
            let Exchange {
                receives,
                early,
                early_order,
                ..
            } = exchanges[i];
            match early_order {
                Order::Reverse => element >= receives - early,
                _ => Order::Shuffled.at(element, receives, seeds[i]) < early,
            }
        };
        let collective_first = [true, false].into_iter().flat_map(|collective| {
            let of_kind = move |(_, it): &(usize, &Exchange)| it.coll.is_some() == collective;
            exchanges.iter().enumerate().filter(of_kind)
        });
        for (i, exchange) in collective_first {
            let early: Vec<u64> = (0..exchange.receives)
                .filter(|&element| is_early(i, element))
                .collect();
            self.arrive(exchange, &early, exchange.early_order, seeds[i]);
        }
        let mut waiting = Vec::new();
        for (i, exchange) in exchanges.iter().enumerate() {
            let group = exchange
                .group
                .unwrap_or(u64::MAX)
                .min(exchange.receives)
                .max(1);
            for start in (0..exchange.receives).step_by(group as usize) {
                let elements = start..(start + group).min(exchange.receives);
                elements
                    .clone()
                    .for_each(|element| self.post(exchange, element));
                let late: Vec<u64> = elements.filter(|&element| !is_early(i, element)).collect();
                match exchange.group {
                    Some(_) => self.arrive(exchange, &late, exchange.late_order, seeds[i]),
                    None => waiting.push((exchange, late, seeds[i])),
                }
            }
        }
        for (exchange, late, seed) in waiting {
            self.arrive(exchange, &late, exchange.late_order, seed);
        }
    }

    fn comm(exchange: &Exchange) -> CommId {
        CommId(u32::from(exchange.coll.is_some()))
    }

    fn key(&self, exchange: &Exchange, element: u64) -> (Rank, Tag) {
        let source =
            (u64::from(self.rank) + 1 + element % exchange.peers) % u64::from(self.job.ranks);
        let tag = Tag::new((element / exchange.peers) as u32).unwrap_or_default();
        (Rank::new(source as u32).unwrap_or_default(), tag)
    }

    fn mark(exchange: &Exchange) -> Option<Collective> {
        Some(Collective {
            name: CollName::new(exchange.coll?)?,
            bytes: Some(8),
        })
    }

    fn post(&mut self, exchange: &Exchange, element: u64) {
        let (source, tag) = self.key(exchange, element);
        self.events.push(Event::Post {
            recv: RecvId(self.receives),
            comm: Self::comm(exchange),
            selector: Selector::new(source, tag),
            size: None,
            coll: Self::mark(exchange),
        });
        self.receives += 1;
    }

    /// The messages of these elements, in this order.
    fn arrive(&mut self, exchange: &Exchange, elements: &[u64], order: Order, seed: u64) {
        let count = elements.len() as u64;
        for place in 0..count {
            let element = elements[order.at(place, count, seed) as usize];
            let (source, tag) = self.key(exchange, element);
            let envelope = Envelope {
                comm: Self::comm(exchange),
                source,
                tag,
            };
            let coll = Self::mark(exchange);
            self.events.push(Event::Arrive {
                msg: MsgId(self.messages),
                envelope,
                bytes: None,
                coll,
                lie: 0,
            });
            self.messages += 1;
        }
    }
}
