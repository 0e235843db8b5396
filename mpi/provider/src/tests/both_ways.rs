//! One stream of receives, messages, probes and cancels by the short path and by the queues' way:
//! equal completions, equal order logs, and the oracle's results.

use std::fmt::Write as _;

use dpamatch::registry::{self, EngineOptions};
use dpamatch::stream::Reader;

use super::files::Folder;
use super::side::{Done, Side, pattern};
use crate::bindings::*;
use crate::options::ProviderOptions;

const MPICH: u64 = 0x00c0_0000_0000_0000;
const ANY_TAG: u64 = 0x7fff_ffff;
/// Lengths of messages, and capacities of receives; some receives are too short.
const LENGTHS: [usize; 11] = [8, 8, 8, 0, 7, 24, 25, 1000, 8192, 9000, 70_000];

/// What the program at the receivers, or one of the senders, does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Receive { from: Option<usize>, bits: u64, ignore: u64, bytes: usize },
    Send { sender: usize, bits: u64, bytes: usize },
    Cancel { context: usize },
    Peek { bits: u64, ignore: u64, flags: u64 },
    Drain,
    Progress,
}

/// Numbers of a seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}

fn steps(seed: u64, senders: usize, count: usize) -> Vec<Step> {
    let mut random = Random(seed);
    // The first receive teaches the rule its bits.
    let first = Step::Receive { from: None, bits: 6 << 31, ignore: MPICH | ANY_TAG, bytes: 8 };
    let mut steps = vec![first];
    let mut receives = 1;
    while steps.len() < count {
        let bits = (6 + 2 * random.below(3) as u64) << 31 | random.below(4) as u64;
        let bytes = LENGTHS[random.below(LENGTHS.len())];
        let ignore = if random.below(8) == 0 { MPICH | ANY_TAG } else { MPICH };
        steps.push(match random.below(20) {
            0..7 => {
                receives += 1;
                let from = Some(random.below(senders)).filter(|_| random.below(5) > 0);
                Step::Receive { from, bits, ignore, bytes }
            }
            7..14 => Step::Send { sender: random.below(senders), bits, bytes },
            14 => Step::Cancel { context: random.below(receives) },
            15 => Step::Peek { bits, ignore, flags: [0, FI_DISCARD][random.below(2)] },
            16 => Step::Progress,
            _ => Step::Drain,
        });
    }
    steps.push(Step::Drain);
    steps
}

/// A receiver with its senders, and what its program saw.
struct Trial {
    folder: Folder,
    receiver: Side,
    senders: Vec<Side>,
    /// Data of messages, which receivers may read late.
    sent: Vec<Vec<u8>>,
    seen: String,
}

impl Trial {
    fn new(name: &str, senders: usize, change: impl Fn(&mut ProviderOptions)) -> Self {
        let folder = Folder::new(name);
        let receiver = Side::open(|options| {
            options.log = Some(folder.0.clone());
            options.stats = Some(folder.0.clone());
            options.matching.nic.options.log_order = true;
            change(options);
        });
        let senders = (0..senders).map(|_| Side::open(|_| ())).collect();
        Self { folder, receiver, senders, sent: Vec::new(), seen: String::new() }
    }

    /// Runs the steps. Returns the completions, the log and its results, the numbers of receives
    /// and messages that took the short path, and of software's matches.
    fn run(mut self, steps: &[Step]) -> ([String; 3], [u64; 3]) {
        let to = self.receiver.name();
        let to: Vec<u64> = self.senders.iter().map(|sender| sender.insert(&to)).collect();
        let names: Vec<_> = self.senders.iter().map(Side::name).collect();
        let rows: Vec<u64> = names.iter().map(|name| self.receiver.insert(name)).collect();
        // The receiver accepts the senders.
        for (sender, &to) in self.senders.iter().zip(&to) {
            sender.send_now(b"", to, 6 << 31 | 9, 0);
        }
        (0..200).for_each(|_| self.receiver.progress());
        let mut buffers: Vec<Vec<u8>> = Vec::new();
        for (number, &step) in steps.iter().enumerate() {
            match step {
                Step::Receive { from, bits, ignore, bytes } => {
                    let from = from.map_or(FI_ADDR_UNSPEC, |sender| rows[sender]);
                    let context = buffers.len();
                    buffers.push(vec![0; bytes]);
                    let buffer = &mut buffers[context];
                    let posted = self.receiver.receive(buffer, from, (bits, ignore), context);
                    assert_eq!(posted, 0);
                }
                Step::Send { sender, bits, bytes } => {
                    let bytes = pattern(number, bytes);
                    self.senders[sender].send_now(&bytes, to[sender], bits, number);
                    self.sent.push(bytes);
                }
                Step::Cancel { context } => {
                    let _ = writeln!(self.seen, "cancel: {}", self.receiver.cancel(context));
                }
                Step::Peek { bits, ignore, flags } => {
                    let flags = FI_PEEK | flags;
                    self.receiver.receive_flagged(&mut [], (bits, ignore), usize::MAX, flags);
                }
                Step::Drain => self.drain(&buffers),
                Step::Progress => self.receiver.progress(),
            }
        }
        let Self { folder, receiver, senders, seen, .. } = self;
        drop((receiver, senders));
        let stats = folder.only(".json", "matcher_");
        let of = |name: &str| {
            let rest = stats.split_once(&format!("\"matcher_{name}\": ")).expect("a number").1;
            rest.split(&[',', '\n'][..]).next().and_then(|n| n.parse().ok()).expect("a number")
        };
        let counts = ["short_posts", "short_messages", "software_matches"].map(of);
        let events = folder.only(".events", "protocol bits 00c");
        let events = events.lines().filter(|line| !line.starts_with('#'));
        let events = events.map(|line| line.split(",t=").next().unwrap_or_default());
        let results = folder.only(".results", "matched");
        ([seen, events.collect::<Vec<_>>().join("\n") + "\n", results], counts)
    }

    /// Reads completions until there are none. Messages of several senders are read from their
    /// rings before: a read takes one completion, and so as many turns of the senders as messages.
    fn drain(&mut self, buffers: &[Vec<u8>]) {
        if self.senders.len() > 1 {
            self.receiver.progress();
        }
        while let Some(done) = self.receiver.read() {
            let Done { entry, from, err, olen } = done;
            let CqTaggedEntry { flags, len, data, tag, .. } = entry;
            let bytes = buffers.get(done.context()).into_iter().flatten();
            let sum =
                bytes.fold(0_u32, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
            let _ = writeln!(
                self.seen,
                "{}: {flags:x} {len} {data} {tag:x} from {from} error {err} {olen} bytes {sum}",
                done.context()
            );
        }
        for sender in &self.senders {
            while sender.read().is_some() {}
        }
    }
}

/// The oracle's results for a log.
fn oracle(events: &str) -> String {
    let mut events = Reader::new(events.as_bytes()).map(|event| event.expect("an event"));
    let entry = registry::find("oracle").expect("it is registered");
    let mut oracle = entry.build(&EngineOptions::default()).expect("it needs no options");
    let mut results = String::new();
    oracle
        .run(&mut events, &mut |outcome| {
            let _ = writeln!(results, "{outcome}");
        })
        .expect("the oracle runs");
    results
}

#[test]
fn both_ways_match_alike() {
    for seed in 1..=24 {
        let senders = 1 + (seed / 4 % 2) as usize;
        let steps = steps(seed, senders, 400);
        let change = |short| {
            move |options: &mut ProviderOptions| {
                options.short_path = short;
                let nic = &mut options.matching.nic;
                match seed % 4 {
                    1 => nic.receives = 6,
                    2 => (nic.unexpected, nic.communicators) = (8, 2),
                    3 if seed > 12 => options.keep_off = vec!["user 8".to_owned()],
                    _ => {}
                }
                if seed % 3 == 0 {
                    options.matching.set("bins", "1").expect("one bin");
                }
            }
        };
        let (one, [posts, messages, ours]) = Trial::new("short", senders, change(true)).run(&steps);
        let (other, none) = Trial::new("queued", senders, change(false)).run(&steps);
        assert_eq!(none[..2], [0, 0]);
        let kept_off = seed % 4 == 3 && seed > 12;
        assert!(!kept_off || ours > 0 && none[2] > 0, "seed {seed}: the NIC matched all");
        for [_, events, results] in [&one, &other] {
            assert_eq!(*results, oracle(events), "seed {seed}");
        }
        // Where little fits on the NIC, or is kept off it, software soon matches most. It holds
        // decisions back, so those of different communicators may come in another order.
        let small = matches!(seed % 4, 1 | 2) || kept_off;
        let short = posts.min(messages);
        assert!(small || short > 100, "seed {seed}: only {short} were short");
        for (one, other) in one.iter().zip(&other).take(if small { 1 } else { 3 }) {
            let mut lines = [one, other].map(|text| text.lines().collect::<Vec<_>>());
            if small {
                lines.iter_mut().for_each(|lines| lines.sort_unstable());
            }
            let [one, other] = lines;
            let different = one.iter().zip(&other).find(|(one, other)| one != other);
            assert_eq!((different, one.len()), (None, other.len()), "seed {seed}");
        }
    }
}
