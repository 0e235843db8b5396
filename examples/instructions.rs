//! Windows of messages by one thread, without a clock: what `cargo xtask instructions` counts.
//!
//! `instructions SCENARIO WINDOWS HANDLERS MESSAGES WAY BYTES`: the calling thread sends, matches
//! and collects windows of MESSAGES receives and messages of 8, 64 or 256 bytes. Scenarios: `NC`
//! (distinct tags), `WC-FP` (one tag), `WC-SP` (one tag, no fast path), `MIX` (a quarter of the
//! messages have one tag), `UNEXP` (messages first, then the receives; one receive that no message
//! matches is posted meanwhile, as in most programs). Ways: `nic` (host port, leader and sender),
//! `shared-M` and `paper-M` (as `nic`, but M workers run each block as a shared one, within
//! conflict domains or by the rule of the block), `endpoint` (the public API), `bins` (a sequential
//! engine behind the completion queue), `no-matching`.

use std::process::ExitCode;

use dpa_model::{
    Choice, Data, Domains, Drain, FastPath, HostPort, Leader, Nic, NicConfig, Options,
    PaperWorkload, Round, Sender, Worker,
};
use dpamatch::endpoint::{CommSender, Communicator, Drive, Endpoint, EndpointConfig, RecvRequest};
use dpamatch::engine::{BinCount, BinEngine, Engine, MsgId, RecvId};
use dpamatch::{CommId, Envelope, Hints, Rank, Selector, Tag};

const COMM: CommId = CommId(0);
/// Bytes of a message: a constant, as in most programs.
struct Sent<const BYTES: usize>;

impl<const BYTES: usize> Sent<BYTES> {
    const MESSAGE: &[u8; BYTES] = &[1; BYTES];
}

/// Both ends of a way of messages. `tags` are the tags of the window's messages in turn.
trait Way {
    fn send(&mut self, tag: Tag, bytes: &[u8]);
    fn post(&mut self, tag: Tag, buffer: Vec<u8>);
    /// Makes progress at the receiving end.
    fn go_on(&mut self);
    /// Moves the buffers of receives that have ended to the end of `buffers`.
    fn collect(&mut self, buffers: &mut Vec<Vec<u8>>);
}

struct Inner {
    leader: Leader,
    /// Threads that run blocks, with the calling one.
    workers: usize,
    host: HostPort,
    sender: Sender,
    source: Rank,
}

#[inline(always)]
fn send(sender: &mut Sender, source: Rank, tag: Tag, bytes: &[u8]) {
    let envelope = Envelope {
        comm: COMM,
        source,
        tag,
    };
    sender
        .try_send(envelope, bytes, 0)
        .expect("room for a window");
}

impl Way for Inner {
    #[inline(always)]
    fn send(&mut self, tag: Tag, bytes: &[u8]) {
        send(&mut self.sender, self.source, tag, bytes);
    }

    #[inline(always)]
    fn post(&mut self, tag: Tag, buffer: Vec<u8>) {
        let selector = Selector::new(self.source, tag);
        self.host
            .post(COMM, selector, buffer, 0)
            .expect("room for a window");
    }

    fn go_on(&mut self) {
        while self.leader.round(self.workers) == Round::Worked {}
    }

    #[inline(always)]
    fn collect(&mut self, buffers: &mut Vec<Vec<u8>>) {
        self.leader.round(self.workers);
        self.host.drain(|_, buffer, _, _| {
            buffers.push(buffer);
            true
        });
    }
}

struct Public {
    endpoint: Endpoint,
    comm: Communicator,
    sender: CommSender,
    requests: Vec<RecvRequest>,
}

impl Way for Public {
    #[inline(always)]
    fn send(&mut self, tag: Tag, bytes: &[u8]) {
        self.sender.try_send(tag, bytes).expect("room for a window");
    }

    #[inline(always)]
    fn post(&mut self, tag: Tag, buffer: Vec<u8>) {
        let request = self
            .endpoint
            .post_recv(&self.comm, self.sender.rank(), tag, buffer);
        self.requests.push(request.expect("the endpoint runs"));
    }

    fn go_on(&mut self) {
        while self.endpoint.progress() {}
    }

    #[inline(always)]
    fn collect(&mut self, buffers: &mut Vec<Vec<u8>>) {
        for request in self.requests.drain(..) {
            buffers.push(self.endpoint.wait(request).expect("a message").buffer);
        }
    }
}

/// The NIC's completion queue alone.
struct Wire {
    drain: Drain,
    sender: Sender,
    source: Rank,
    /// Without an engine the i-th message goes to the i-th buffer.
    engine: Option<BinEngine>,
    /// Buffers of the window's receives.
    posted: Vec<Vec<u8>>,
    /// Bytes of the window's messages without a receive.
    stored: Vec<Vec<u8>>,
    received: usize,
    arrived: usize,
}

impl Way for Wire {
    #[inline(always)]
    fn send(&mut self, tag: Tag, bytes: &[u8]) {
        send(&mut self.sender, self.source, tag, bytes);
    }

    #[inline(always)]
    fn post(&mut self, tag: Tag, mut buffer: Vec<u8>) {
        let recv = RecvId(self.posted.len() as u64);
        let selector = Selector::new(self.source, tag);
        let engine = self.engine.as_mut();
        if let Some(MsgId(message)) = engine.and_then(|engine| engine.post(recv, COMM, selector)) {
            buffer.copy_from_slice(&self.stored[message as usize]);
            self.received += 1;
        }
        self.posted.push(buffer);
    }

    fn go_on(&mut self) {
        let Self {
            drain,
            engine,
            posted,
            stored,
            received,
            arrived,
            ..
        } = self;
        let mut take = |envelope: Envelope, data: Data<'_>| {
            let Data::Eager(bytes) = data else { return };
            let message = *arrived;
            *arrived += 1;
            let to = match engine {
                Some(engine) => engine.arrive(MsgId(message as u64), envelope),
                None => Some(RecvId(message as u64)),
            };
            match to {
                Some(RecvId(receive)) => {
                    posted[receive as usize].copy_from_slice(bytes);
                    *received += 1;
                }
                None => stored[message].copy_from_slice(bytes),
            }
        };
        while drain.take_waiting(usize::MAX, &mut take) > 0 {}
    }

    #[inline(always)]
    fn collect(&mut self, buffers: &mut Vec<Vec<u8>>) {
        self.go_on();
        if self.received == self.posted.len() {
            buffers.append(&mut self.posted);
            (self.received, self.arrived) = (0, 0);
        }
    }
}

// Each part is its own function, so that its instructions are counted separately.

#[inline(never)]
fn send_window<const BYTES: usize>(way: &mut impl Way, tags: &[Tag]) {
    tags.iter()
        .for_each(|&tag| way.send(tag, Sent::<BYTES>::MESSAGE));
}

#[inline(never)]
fn post_window(way: &mut impl Way, tags: &[Tag], buffers: &mut Vec<Vec<u8>>) {
    tags.iter()
        .zip(buffers.drain(..))
        .for_each(|(&tag, buffer)| way.post(tag, buffer));
}

#[inline(never)]
fn collect_window(way: &mut impl Way, tags: &[Tag], buffers: &mut Vec<Vec<u8>>) {
    while buffers.len() < tags.len() {
        way.collect(buffers);
    }
}

fn run<const BYTES: usize>(mut way: impl Way, tags: &[Tag], windows: u32, messages_first: bool) {
    let mut buffers: Vec<Vec<u8>> = tags.iter().map(|_| vec![0; BYTES]).collect();
    let mut received = 0;
    for _ in 0..windows {
        if messages_first {
            send_window::<BYTES>(&mut way, tags);
            way.go_on();
        }
        post_window(&mut way, tags, &mut buffers);
        if !messages_first {
            way.go_on();
            send_window::<BYTES>(&mut way, tags);
        }
        collect_window(&mut way, tags, &mut buffers);
        received += buffers
            .iter()
            .filter(|buffer| buffer[..] == *Sent::<BYTES>::MESSAGE)
            .count();
        buffers.iter_mut().for_each(|buffer| buffer[0] = 0);
    }
    println!("{received}");
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.get(5).map(String::as_str) {
        Some("8") => windows_of::<8>(&arguments),
        Some("64") => windows_of::<64>(&arguments),
        Some("256") => windows_of::<256>(&arguments),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: instructions NC|WC-FP|WC-SP|MIX|UNEXP WINDOWS HANDLERS MESSAGES \
         nic|shared-M|paper-M|endpoint|bins|no-matching 8|64|256"
    );
    ExitCode::from(2)
}

/// Domains and number of workers of a way of shared blocks.
fn shared(way: &str) -> Option<(Domains, usize)> {
    let (word, workers) = way.split_once('-')?;
    let domains = match word {
        "shared" => Domains::Keyed,
        "paper" => Domains::Paper,
        _ => return None,
    };
    Some((domains, workers.parse().ok()?))
}

/// Runs workers other than the leader until the program ends.
fn start(workers: Vec<Worker>) {
    for mut worker in workers {
        std::thread::spawn(move || {
            loop {
                if !worker.round() {
                    std::thread::yield_now();
                }
            }
        });
    }
}

fn windows_of<const BYTES: usize>(arguments: &[String]) -> ExitCode {
    let number = |place: usize| {
        arguments
            .get(place)
            .and_then(|text| text.parse::<u32>().ok())
    };
    let window = number(3).and_then(|messages| u16::try_from(messages).ok());
    let (Some(scenario), Some(windows), Some(handlers), Some(messages), Some(way)) = (
        arguments.first(),
        number(1),
        number(2),
        window,
        arguments.get(4),
    ) else {
        return usage();
    };
    let messages_first = scenario == "UNEXP";
    let workload = match PaperWorkload::named(scenario) {
        Some(workload) => workload,
        None if messages_first || scenario == "MIX" => PaperWorkload::NoConflict,
        None => return usage(),
    };
    let shared = shared(way);
    let (domains, workers) = shared.unwrap_or((Domains::Keyed, 1));
    let options = Options {
        fast_path: workload.fast_path(FastPath::Sequence),
        always_shared: shared.is_some(),
        domains,
        ..Options::default()
    };
    let config = NicConfig {
        handlers: handlers as usize,
        workers,
        slice_min: usize::from(shared.is_some()),
        bins: 512,
        receives: 2048,
        options,
        ..NicConfig::default()
    };
    // A quarter, at irregular distances.
    let is_common =
        |index: u16| scenario == "MIX" && u32::from(index).wrapping_mul(0x9E37_79B9) >> 30 == 0;
    let tag = |index: u16| {
        if is_common(index) {
            PaperWorkload::COMMON_TAG
        } else {
            workload.tag(index)
        }
    };
    let tags: Vec<Tag> = (0..messages).map(tag).collect();
    let source = Rank::new(1).expect("small");
    let others_tag = Tag::new(1 << 20).expect("small");
    if way == "endpoint" {
        let config = EndpointConfig {
            nic: config,
            drive: Drive::Caller,
        };
        let mut endpoint = Endpoint::new(&config).expect("the default sizes");
        let comm = endpoint
            .create_comm(Hints::default())
            .expect("room for a communicator");
        let sender = endpoint.sender(&comm, source);
        if messages_first {
            let request = endpoint.post_recv(&comm, source, others_tag, Vec::new());
            endpoint.release(request.expect("the endpoint runs"));
        }
        run::<BYTES>(
            Public {
                endpoint,
                comm,
                sender,
                requests: Vec::new(),
            },
            &tags,
            windows,
            messages_first,
        );
        return ExitCode::SUCCESS;
    }
    let Nic {
        mut leader,
        mut host,
        sender,
        workers: others,
        ..
    } = Nic::new(&config).expect("the default sizes");
    start(others);
    let mut engine = match way.as_str() {
        _ if way == "nic" || shared.is_some() => {
            host.create(COMM, 512, Hints::default(), 0)
                .expect("an empty command queue");
            if messages_first {
                let selector = Selector::new(source, others_tag);
                host.post(COMM, selector, Vec::new(), 0)
                    .expect("an empty command queue");
            }
            leader.round(1);
            while host.poll().is_some() {}
            run::<BYTES>(
                Inner {
                    leader,
                    workers,
                    host,
                    sender,
                    source,
                },
                &tags,
                windows,
                messages_first,
            );
            return ExitCode::SUCCESS;
        }
        "bins" => Some(BinEngine::new(BinCount::new(512).expect("a power of two"))),
        "no-matching" if !messages_first => None,
        _ => return usage(),
    };
    if let Some(engine) = engine.as_mut().filter(|_| messages_first) {
        engine.post(RecvId(u64::MAX), COMM, Selector::new(source, others_tag));
    }
    let stored = tags.iter().map(|_| vec![0; BYTES]).collect();
    let drain = Drain::new(leader);
    let wire = Wire {
        drain,
        sender,
        source,
        engine,
        posted: Vec::new(),
        stored,
        received: 0,
        arrived: 0,
    };
    run::<BYTES>(wire, &tags, windows, messages_first);
    ExitCode::SUCCESS
}
