//! Holds the verdicts of `dpamatch offload` against runs of three programs on this machine.
//!
//! ```text
//! cargo run --release -p dpamatch_tools --example verdicts
//! ```
//!
//! Each program has two ranks, which are two threads. Rank 0 posts receives, lets rank 1 send,
//! computes, and waits for all messages. It runs in two ways over the same wire:
//!
//! - *host*: a list matches on rank 0's processor when it waits;
//! - *card*: the emulated NIC matches on rank 1's processor, while rank 0 computes.
//!
//! The same program goes to `offload` as a trace, with prices that this program measures first: the
//! list's and the port's costs on this processor for the host, and the emulated NIC's time per
//! message for the card. The table has the gain that `offload` gives beside the measured one. Both
//! ways alternate; a gain is the median of the pairs, with the quartiles.
//!
//! Two processors are needed. Other programs on them widen the quartiles.

use std::error::Error;
use std::fmt::Write;
use std::hint::spin_loop;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dpa_model::{Data, Drain, HostPort, Leader, Nic, NicConfig, Sender};
use dpamatch::engine::{Engine, ListEngine, MsgId, RecvId};
use dpamatch::registry::{self, EngineOptions};
use dpamatch::{CommId, Envelope, Hints, Rank, Selector, Tag};
use dpamatch_predict::{Profile, Setup};
use dpamatch_tools::analyze::Run;
use dpamatch_tools::analyze::order::Network;
use dpamatch_tools::offload::{Card, Host, Question, Range, Report};
use dpamatch_traces::OpenOptions;

type Outcome<T> = Result<T, Box<dyn Error>>;

const COMM: CommId = CommId(0);
const BYTES: usize = 8;
/// Receives that fit on the emulated NIC, and its bins.
const ROOM: usize = 4096;
/// Pairs of runs of each program.
const PAIRS: usize = 15;
/// Time of one run, about.
const RUN: Duration = Duration::from_millis(40);
/// A price is uncertain by this part.
const UNCERTAIN: f64 = 0.2;

#[derive(Clone, Copy)]
struct Program {
    name: &'static str,
    receives: u32,
    /// Messages come in the opposite order of the receives.
    reversed: bool,
    compute: Duration,
}

const PROGRAMS: [Program; 3] = [
    Program {
        name: "2,048 in reverse order, 50 us of work",
        receives: 2048,
        reversed: true,
        compute: Duration::from_micros(50),
    },
    Program {
        name: "16 in order, no work",
        receives: 16,
        reversed: false,
        compute: Duration::ZERO,
    },
    Program {
        name: "16 in order, 2 ms of work",
        receives: 16,
        reversed: false,
        compute: Duration::from_millis(2),
    },
];

impl Program {
    fn tags(self) -> Box<dyn Iterator<Item = u32>> {
        if self.reversed {
            Box::new((0..self.receives).rev())
        } else {
            Box::new(0..self.receives)
        }
    }
}

fn envelope(tag: u32) -> Envelope {
    Envelope {
        comm: COMM,
        source: Rank::new(1).expect("a rank"),
        tag: Tag::new(tag).expect("a tag"),
    }
}

fn selector(tag: u32) -> Selector {
    let Envelope { source, tag, .. } = envelope(tag);
    Selector::new(source, tag)
}

fn nic() -> Outcome<Nic> {
    Ok(Nic::new(&NicConfig {
        receives: ROOM,
        bins: ROOM,
        completion_queue: ROOM,
        command_queue: ROOM,
        completion_ring: ROOM,
        ..NicConfig::default()
    })?)
}

/// Where rank 0's messages are matched.
enum Matching {
    Host(Box<ListEngine>, Box<Drain>),
    Card(Box<HostPort>),
}

/// How the two ranks meet.
#[derive(Default)]
struct Meeting {
    /// Iterations that rank 1 may send.
    go: AtomicU64,
    end: AtomicBool,
}

/// Rank 1: sends when it may, and runs the NIC, if there is a card, while it waits.
fn rank_1(meeting: &Meeting, program: Program, mut sender: Sender, mut leader: Option<Leader>) {
    let mut sent = 0;
    let mut turn = move || {
        if let Some(leader) = &mut leader {
            leader.round(1);
        } else {
            spin_loop();
        }
    };
    while !meeting.end.load(Ordering::Acquire) {
        if sent == meeting.go.load(Ordering::Acquire) {
            turn();
            continue;
        }
        sent += 1;
        for tag in program.tags() {
            while sender.try_send(envelope(tag), &[7; BYTES], 0).is_err() {
                turn();
            }
        }
    }
}

/// Rank 0: posts, lets rank 1 send, computes and waits. Returns the time of an iteration.
fn rank_0(
    meeting: &Meeting,
    program: Program,
    matching: &mut Matching,
    iterations: u64,
) -> Outcome<Duration> {
    let mut buffers: Vec<Vec<u8>> = (0..program.receives).map(|_| vec![0; BYTES]).collect();
    let begin = Instant::now();
    for iteration in 1..=iterations {
        for tag in 0..program.receives {
            match matching {
                Matching::Host(list, _) => {
                    list.post(RecvId(u64::from(tag)), COMM, selector(tag));
                }
                Matching::Card(port) => {
                    let mut buffer = buffers.pop().ok_or("a buffer")?;
                    while let Err((_, back)) = port.post(COMM, selector(tag), buffer, 0) {
                        buffer = back;
                        spin_loop();
                    }
                }
            }
        }
        meeting.go.store(iteration, Ordering::Release);
        work(program.compute);
        let mut missing = program.receives;
        while missing > 0 {
            match matching {
                Matching::Host(list, wire) => {
                    wire.next(|envelope, data| {
                        let message = MsgId(u64::from(missing));
                        if let Some(receive) = list.arrive(message, envelope)
                            && let Data::Eager(bytes) = data
                        {
                            buffers[receive.0 as usize].copy_from_slice(bytes);
                            missing -= 1;
                        }
                    });
                }
                Matching::Card(port) => {
                    port.drain(|_, buffer, _, _| {
                        buffers.push(buffer);
                        missing -= 1;
                        missing > 0
                    });
                }
            }
        }
    }
    Ok(begin.elapsed() / u32::try_from(iterations)?)
}

fn work(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        spin_loop();
    }
}

/// Runs a program in one of the two ways. Returns the time of an iteration.
fn run(program: Program, on_card: bool, iterations: u64) -> Outcome<Duration> {
    let Nic {
        leader,
        host,
        sender,
        ..
    } = nic()?;
    let (mut matching, leader) = if on_card {
        let (port, leader) = with_communicator(host, leader)?;
        (Matching::Card(Box::new(port)), Some(leader))
    } else {
        let list = Box::new(ListEngine::new());
        (Matching::Host(list, Box::new(Drain::new(leader))), None)
    };
    let meeting = Meeting::default();
    thread::scope(|scope| {
        scope.spawn(|| rank_1(&meeting, program, sender, leader));
        let time = rank_0(&meeting, program, &mut matching, iterations);
        meeting.end.store(true, Ordering::Release);
        time
    })
}

fn with_communicator(mut port: HostPort, mut leader: Leader) -> Outcome<(HostPort, Leader)> {
    port.create(COMM, ROOM as u32, Hints::default(), 0)
        .map_err(|_| "the command queue is full")?;
    while port.poll().is_none() {
        leader.round(1);
    }
    Ok((port, leader))
}

/// Prices on this machine, in nanoseconds.
struct Prices {
    list_post: f64,
    list_message: f64,
    list_step: f64,
    port_post: f64,
    port_completion: f64,
    /// One message on the emulated NIC.
    card_message: f64,
    /// A word from one processor to the other.
    handover: f64,
}

impl Prices {
    fn measure() -> Outcome<Self> {
        let (list_post, list_message) = list_times(1, false);
        let deep = 1024;
        let (_, reversed) = list_times(deep, true);
        let (port_post, card_message, port_completion) = card_times()?;
        Ok(Self {
            list_post,
            list_message,
            list_step: (reversed - list_message).max(0.0) / (f64::from(deep - 1) / 2.0),
            port_post,
            port_completion,
            card_message,
            handover: handover(),
        })
    }

    fn host(&self) -> Host {
        let range =
            |price: f64| Range::new(price * (1.0 - UNCERTAIN), price, price * (1.0 + UNCERTAIN));
        let mut host = Host::parse(dpamatch_tools::offload::BUILT_IN[0].1).expect("a host");
        host.matching.post_ns = range(self.list_post);
        host.matching.message_ns = range(self.list_message);
        host.matching.step_ns = range(self.list_step);
        host.matching.copy_ns_per_byte = Range::exact(0.0);
        host.offloaded.post_ns = range(self.port_post);
        host.offloaded.completion_ns = range(self.port_completion);
        host.offloaded.handover_ns = range(self.handover);
        host
    }

    /// A card with one handler that takes the measured time for a message, and nothing else.
    fn card(&self) -> Outcome<Card> {
        let text = include_str!("../predict/profiles/generic.toml");
        let settings: Vec<String> = Profile::read(text, &[])?
            .numbers()
            .into_iter()
            .filter(|(name, _)| {
                name.ends_with("_ns")
                    && !name.starts_with("instructions.")
                    && !name.contains("bytes")
            })
            .map(|(name, _)| match name.as_str() {
                "work.protocol_ns" => format!("{name}={}", self.card_message),
                "host.window_write_ns" => format!("{name}={}", self.handover),
                "word.poll_miss_ns" => format!("{name}=0.01"),
                _ => format!("{name}=0"),
            })
            .collect();
        let mut setup = Setup::shipped(Profile::read(text, &settings)?, 1);
        setup.receives = ROOM;
        Ok(Card { setup })
    }
}

/// The list's time for a post and for a message with this many receives posted.
fn list_times(receives: u32, reversed: bool) -> (f64, f64) {
    let program = Program {
        receives,
        reversed,
        ..PROGRAMS[1]
    };
    let rounds = 400_000 / receives;
    let (mut posting, mut arriving) = (Duration::ZERO, Duration::ZERO);
    let mut list = ListEngine::new();
    for _ in 0..rounds {
        let begin = Instant::now();
        for tag in 0..receives {
            list.post(RecvId(u64::from(tag)), COMM, selector(tag));
        }
        let posted = Instant::now();
        for tag in program.tags() {
            assert!(list.arrive(MsgId(0), envelope(tag)).is_some());
        }
        arriving += posted.elapsed();
        posting += posted - begin;
    }
    let each = |time: Duration| time.as_secs_f64() * 1e9 / f64::from(rounds * receives);
    (each(posting), each(arriving))
}

/// Post, message on the NIC and completion, by turns on one thread.
fn card_times() -> Outcome<(f64, f64, f64)> {
    const MESSAGES: u32 = 256;
    const ROUNDS: u32 = 500;
    let Nic {
        leader,
        host,
        mut sender,
        ..
    } = nic()?;
    let (mut port, mut leader) = with_communicator(host, leader)?;
    let mut buffers: Vec<Vec<u8>> = (0..MESSAGES).map(|_| vec![0; BYTES]).collect();
    let mut times = [Duration::ZERO; 3];
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for tag in 0..MESSAGES {
            let buffer = buffers.pop().ok_or("a buffer")?;
            port.post(COMM, selector(tag), buffer, 0)
                .map_err(|_| "the command queue is full")?;
        }
        let posted = Instant::now();
        for tag in 0..MESSAGES {
            sender.try_send(envelope(tag), &[7; BYTES], 0)?;
        }
        let sent = Instant::now();
        while leader.round(1) == dpa_model::Round::Worked {}
        let matched = Instant::now();
        while buffers.len() < MESSAGES as usize {
            port.drain(|_, buffer, _, _| {
                buffers.push(buffer);
                true
            });
        }
        times[0] += posted - begin;
        times[1] += matched - sent;
        times[2] += matched.elapsed();
    }
    let [post, message, completion] =
        times.map(|time| time.as_secs_f64() * 1e9 / f64::from(ROUNDS * MESSAGES));
    Ok((post, message, completion))
}

/// Half of a word's round trip between two threads: the least of several series, because others
/// have shared a processor with another program.
fn handover() -> f64 {
    (0..8).map(|_| series()).fold(f64::INFINITY, f64::min)
}

fn series() -> f64 {
    const TRIPS: u64 = 20_000;
    let (there, back) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            for trip in 1..=TRIPS {
                while there.load(Ordering::Acquire) < trip {
                    spin_loop();
                }
                back.store(trip, Ordering::Release);
            }
        });
        let begin = Instant::now();
        for trip in 1..=TRIPS {
            there.store(trip, Ordering::Release);
            while back.load(Ordering::Acquire) < trip {
                spin_loop();
            }
        }
        begin.elapsed().as_secs_f64() * 1e9 / (2 * TRIPS) as f64
    })
}

/// Writes a program as texts of two ranks, as `dumpi2ascii` does. Calls take no time, so that all
/// of it is the program's work or priced.
fn write_trace(program: Program, iterations: u64, folder: &Path) -> Outcome<()> {
    let mut ranks = [Text::new(0), Text::new(1)];
    for _ in 0..iterations {
        let [receiver, sender] = &mut ranks;
        for tag in 0..program.receives {
            let arguments = format!("int source=1\nint tag={tag}\n{WORLD}\n{}", request(tag));
            receiver.call("MPI_Irecv", &format!("{COUNT}{arguments}"));
        }
        let arguments = format!("{COUNT}int dest=1\nint tag={GO}\n{WORLD}\n");
        receiver.call("MPI_Send", &arguments);
        receiver.now += program.compute.as_nanos() as u64;
        for tag in 0..program.receives {
            let status = format!("[{{bytes={BYTES}, cancelled=0, source=1, tag={tag}, error=0}}]");
            let arguments = format!("{}MPI_Status status={status}\n", request(tag));
            receiver.call("MPI_Wait", &arguments);
        }
        let status = format!("[{{bytes={BYTES}, cancelled=0, source=0, tag={GO}, error=0}}]");
        let arguments =
            format!("{COUNT}int source=0\nint tag={GO}\n{WORLD}\nMPI_Status status={status}\n");
        sender.call("MPI_Recv", &arguments);
        for tag in program.tags() {
            let arguments = format!("{COUNT}int dest=0\nint tag={tag}\n{WORLD}\n");
            sender.call("MPI_Send", &arguments);
        }
    }
    for (rank, mut text) in ranks.into_iter().enumerate() {
        text.call("MPI_Finalize", "");
        std::fs::write(folder.join(format!("rank-{rank:04}.txt")), text.text)?;
    }
    Ok(())
}

const WORLD: &str = "MPI_Comm comm=2 (MPI_COMM_WORLD)";
const COUNT: &str = "int count=8\nMPI_Datatype datatype=2 (MPI_CHAR)\n";
/// The tag of the message that lets rank 1 send.
const GO: u32 = 30_000;

fn request(tag: u32) -> String {
    format!("MPI_Request request=[{}]\n", tag + 2)
}

struct Text {
    text: String,
    now: u64,
}

impl Text {
    fn new(rank: u32) -> Self {
        let mut text = Self {
            text: String::new(),
            now: 1_000_000_000,
        };
        text.call("MPI_Init", "int argc=1\nstring argv[1]=[\"verdicts\"]\n");
        text.call("MPI_Comm_rank", &format!("{WORLD}\nint rank={rank}\n"));
        text.call("MPI_Comm_size", &format!("{WORLD}\nint size=2\n"));
        text
    }

    fn call(&mut self, name: &str, arguments: &str) {
        let (seconds, rest) = (self.now / 1_000_000_000, self.now % 1_000_000_000);
        let at = format!(
            "at walltime {seconds}.{rest:09}, cputime {seconds}.{rest:09} seconds in thread 0."
        );
        writeln!(self.text, "{name} entering {at}").expect("a string");
        self.text.push_str(arguments);
        writeln!(self.text, "{name} returning {at}").expect("a string");
    }
}

/// The answer of `offload` for a program.
fn judge(program: Program, prices: &Prices, folder: &Path) -> Outcome<Report> {
    const ITERATIONS: u64 = 5;
    write_trace(program, ITERATIONS, folder)?;
    let source = dpamatch_traces::open(folder, &OpenOptions::default())?;
    let question = Question {
        network: Network {
            latency_ns: prices.handover as u64,
            bytes_per_us: 1_000_000,
            jitter_ns: 0,
            call_ns: 0,
            ..Network::default()
        },
        engine: registry::find("list").ok_or("a list")?,
        options: EngineOptions::default(),
        host: prices.host(),
        card: prices.card()?,
        worth: 0.01,
        communicators: false,
        hardware: None,
    };
    let run = Run::load(&*source, |_| ())?;
    Ok(Report::make(&run, &question, |_| ())?)
}

fn earlier(percent: f64) -> String {
    let word = if percent < 0.0 { "later" } else { "earlier" };
    format!("{:.1} % {word}", percent.abs())
}

/// Median and quartiles.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}

fn main() -> Outcome<()> {
    if thread::available_parallelism()?.get() < 2 {
        return Err("two processors are needed: each rank has one".into());
    }
    let prices = Prices::measure()?;
    println!(
        "prices: list {:.1} ns a post, {:.1} a message, {:.2} a step; port {:.1} a post, {:.1} a \
         completion; card {:.1} a message; a word {:.1} to the other processor",
        prices.list_post,
        prices.list_message,
        prices.list_step,
        prices.port_post,
        prices.port_completion,
        prices.card_message,
        prices.handover
    );
    let folder = tempfile::tempdir()?;
    for program in PROGRAMS {
        let report = judge(program, &prices, folder.path())?;
        let once = run(program, false, 3)?.max(Duration::from_micros(1));
        let iterations = (RUN.as_nanos() / once.as_nanos()).max(3) as u64;
        let mut gains = Vec::new();
        let (mut host, mut card) = (Vec::new(), Vec::new());
        for _ in 0..PAIRS {
            let times = [
                run(program, false, iterations)?,
                run(program, true, iterations)?,
            ];
            let [without, with] = times.map(|time| time.as_secs_f64() * 1e6);
            gains.push(100.0 * (1.0 - with / without));
            host.push(without);
            card.push(with);
        }
        let [low, median, high] = quartiles(gains);
        let gain = report.application.gain.ok_or("a gain")?.share;
        let orders = report.orders.iter();
        let orders = orders.map(|order| format!("{} {}", order.answer.name(), order.order));
        println!(
            "{}\n  offload:  {}: {} ({} to {}); by order: {}",
            program.name,
            report.application.verdict.answer.name(),
            earlier(100.0 * gain.likely),
            earlier(100.0 * gain.low),
            earlier(100.0 * gain.high),
            orders.collect::<Vec<_>>().join(", "),
        );
        println!(
            "  measured: {} ({} to {}); {:.1} us on the host, {:.1} us with the card",
            earlier(median),
            earlier(low),
            earlier(high),
            quartiles(host)[1],
            quartiles(card)[1],
        );
    }
    Ok(())
}
