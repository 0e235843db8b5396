//! Costs of the emulated NIC on one thread: the bench calls host, wire and handlers in turn.
//!
//! Ids are `part/size`. Throughput is messages, or cancelled receives, per second.
//!
//! | part | timed |
//! |---|---|
//! | `distinct` | `size` messages, each for its own receive (the paper's NC) |
//! | `equal` | `size` messages for as many equal receives, all in conflict (WC) |
//! | `unexpected` | `size` messages without receives, stored and then received |
//! | `behind` | one message that walks `size` receives of one chain without success |
//! | `cancel` | cancelling `size` receives, both sides |

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dpa_model::{Hints, HostPort, Leader, Nic, NicConfig, RequestId, Round, Sender};
use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, Tag};

const COMM: CommId = CommId(0);
const BYTES: usize = 8;

struct Rig {
    host: HostPort,
    leader: Leader,
    wire: Sender,
    requests: Vec<RequestId>,
}

impl Rig {
    /// Has room for as many messages, commands and results as receives.
    fn new(receives: usize, bins: usize) -> Self {
        let depth = (receives + 1).next_power_of_two().max(128);
        let config = NicConfig {
            receives,
            unexpected: receives,
            unexpected_buffers: 0,
            bins,
            completion_queue: depth,
            command_queue: depth,
            completion_ring: depth,
            bounce_buffers: 1,
            ..NicConfig::default()
        };
        let Nic {
            leader,
            mut host,
            sender,
            ..
        } = Nic::new(&config).expect("valid");
        host.create(COMM, bins as u32, Hints::default(), 0)
            .expect("room for a command");
        let mut rig = Self {
            host,
            leader,
            wire: sender,
            requests: Vec::new(),
        };
        // The communicator is there.
        rig.expect(1);
        rig
    }

    fn post(&mut self, count: usize, tag: impl Fn(usize) -> usize) {
        let (host, source) = (&mut self.host, Rank::default());
        let post = |i| {
            host.post(
                COMM,
                Selector::new(source, number(tag(i))),
                vec![0; BYTES],
                0,
            )
        };
        self.requests = (0..count)
            .map(post)
            .map(|it| it.expect("room for a command"))
            .collect();
    }

    fn send(&mut self, count: usize, tag: impl Fn(usize) -> usize) {
        for i in 0..count {
            let envelope = Envelope {
                comm: COMM,
                source: Rank::default(),
                tag: number(tag(i)),
            };
            self.wire
                .try_send(envelope, &[7; BYTES], 0)
                .expect("room in the queue");
        }
    }

    fn cancel(&mut self) {
        for request in self.requests.drain(..) {
            self.host.cancel(request, 0).expect("room for a command");
        }
    }

    /// Runs the NIC until it is idle, and takes the results.
    fn expect(&mut self, results: usize) {
        while self.leader.round(1) == Round::Worked {}
        assert_eq!(std::iter::from_fn(|| self.host.poll()).count(), results);
    }
}

fn number(tag: usize) -> Tag {
    Tag::new(tag as u32).expect("a small number is a tag")
}

/// What is timed, and what makes it ready and ends it.
struct Part {
    name: &'static str,
    bins: usize,
    sizes: &'static [usize],
    before: fn(&mut Rig, usize),
    timed: fn(&mut Rig, usize),
    after: fn(&mut Rig, usize),
}

const WINDOWS: &[usize] = &[1, 128, 1024];

const PARTS: [Part; 5] = [
    Part {
        name: "distinct",
        bins: 2048,
        sizes: WINDOWS,
        before: |rig, size| rig.post(size, |i| i),
        timed: |rig, size| {
            rig.send(size, |i| i);
            rig.expect(size);
        },
        after: |_, _| {},
    },
    Part {
        name: "equal",
        bins: 2048,
        sizes: WINDOWS,
        before: |rig, size| rig.post(size, |_| 5),
        timed: |rig, size| {
            rig.send(size, |_| 5);
            rig.expect(size);
        },
        after: |_, _| {},
    },
    Part {
        name: "unexpected",
        bins: 2048,
        sizes: WINDOWS,
        before: |_, _| {},
        timed: |rig, size| {
            rig.send(size, |i| i);
            rig.expect(0);
            rig.post(size, |i| i);
            rig.expect(size);
        },
        after: |_, _| {},
    },
    Part {
        name: "behind",
        bins: 1,
        sizes: &[16, 256, 1024],
        before: |rig, size| rig.post(size + 1, |i| i),
        timed: |rig, size| {
            rig.send(1, |_| size);
            rig.expect(1);
        },
        after: |rig, size| {
            rig.send(size, |i| i);
            rig.expect(size);
        },
    },
    Part {
        name: "cancel",
        bins: 2048,
        sizes: WINDOWS,
        before: |rig, size| rig.post(size, |i| i),
        timed: |rig, size| {
            rig.cancel();
            rig.expect(size);
        },
        after: |_, _| {},
    },
];

fn parts(c: &mut Criterion) {
    for part in &PARTS {
        let mut group = c.benchmark_group(part.name);
        for &size in part.sizes {
            let mut rig = Rig::new(size + 1, part.bins);
            let messages = if part.name == "behind" {
                1
            } else {
                size as u64
            };
            group.throughput(Throughput::Elements(messages));
            group.bench_function(size.to_string(), |bencher| {
                bencher.iter_custom(|iterations| {
                    let mut time = Duration::ZERO;
                    for _ in 0..iterations {
                        (part.before)(&mut rig, size);
                        rig.expect(0);
                        let start = Instant::now();
                        (part.timed)(&mut rig, size);
                        time += start.elapsed();
                        (part.after)(&mut rig, size);
                    }
                    time
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, parts);
criterion_main!(benches);
