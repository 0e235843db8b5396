//! Measurements on real threads: one receives, one plays the peers in turn.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use dpamatch::{NicConfig, Rank, SourceSel, Tag, TagSel};

use super::super::costs::PollCosts;
use super::super::policy::{Channel, PollingPolicy, RoundRobin};
use super::super::thresholds::Transport;
use super::engine::{ProgressEngine, Received};
use super::peers::{LocalPeer, RemotePeer};
use super::{ChannelError, Polls};

/// Bytes of a message of the bursts: when it was sent, in nanoseconds.
const STAMP: usize = 8;
/// Polls in vain after which the receiver looks whether the sender still lives.
const LOOK_AFTER: u32 = 4096;
/// Empty polls of a calibration, and how often they are repeated; the shortest counts.
const EMPTY_POLLS: u32 = 2000;
const REPEATS: usize = 5;

fn rank(number: u32) -> Rank {
    Rank::new(number).unwrap_or_default()
}

fn now_ns(epoch: Instant) -> u64 {
    epoch.elapsed().as_nanos() as u64
}

/// The message-discovery benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RealBursts {
    /// Messages of a burst.
    pub burst: u32,
    /// Pairs of bursts: one through shared memory, one through the network.
    pub pairs: u32,
}

/// Its result: mean times from just before a message is sent until its receive has ended.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RealDiscovered {
    pub messages: u64,
    pub shared_ns: f64,
    pub network_ns: f64,
    pub mean_ns: f64,
    /// Mean time that the sender took for a message.
    pub gap_ns: f64,
    /// Of shared memory, of the kernel, of the network.
    pub polls: [Polls; 3],
}

/// The cost of polling on this machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Calibration {
    /// An empty poll of shared memory, with one peer.
    pub shared_ns: u64,
    /// An empty poll of the network, with one connection.
    pub network_ns: u64,
    /// An empty poll of the kernel, with one peer.
    pub kernel_ns: u64,
    /// Receiving a message that is there, without polling.
    pub handle_ns: u64,
}

impl Calibration {
    /// The costs for virtual time: one peer on the node, one connection to another node.
    pub fn costs(&self) -> PollCosts {
        let turn_ns = 1;
        PollCosts {
            processes_per_node: 2,
            // The one connection's cost is that of the completion queue.
            nodes: 1,
            completion_queue_ns: self.network_ns,
            turn_ns,
            shared_per_peer_ns: self.shared_ns.saturating_sub(turn_ns).max(1),
            kernel_ns: self.kernel_ns,
            ..PollCosts::default()
        }
    }
}

/// Measures empty polls, and the handling of messages that are there.
///
/// # Errors
/// [`ChannelError`].
pub fn calibrate() -> Result<Calibration, ChannelError> {
    let mut engine = ProgressEngine::new(NicConfig::default(), Box::new(RoundRobin::default()))?;
    let mut local = engine.add_local(rank(1), Some(usize::MAX))?;
    let _remote = engine.add_remote(rank(2))?;
    let shared_ns = shortest(EMPTY_POLLS, || engine.poll(Channel::SharedMemory))?;
    let network_ns = shortest(EMPTY_POLLS, || engine.poll(Channel::Network))?;
    let kernel_ns = shortest(EMPTY_POLLS, || engine.poll_kernel())?;
    let (messages, mut buffer) = (super::peers::SHARED_BUFFERS as u32, Vec::new());
    let mut whole_ns = u64::MAX;
    for _ in 0..REPEATS {
        let mut payload = vec![0; STAMP];
        for _ in 0..messages {
            payload = local.send(Tag::default(), payload)?;
        }
        let begin = Instant::now();
        for _ in 0..messages {
            let message = receive(&mut engine, STAMP, buffer, |engine| {
                engine.poll(Channel::SharedMemory).map(drop)
            })?;
            buffer = message.into_buffer();
        }
        whole_ns = whole_ns.min(now_ns(begin) / u64::from(messages));
    }
    Ok(Calibration {
        shared_ns,
        network_ns,
        kernel_ns,
        handle_ns: whole_ns.saturating_sub(shared_ns).max(1),
    })
}

fn shortest(
    times: u32,
    mut poll: impl FnMut() -> Result<bool, ChannelError>,
) -> Result<u64, ChannelError> {
    let mut shortest = u64::MAX;
    for _ in 0..REPEATS {
        let begin = Instant::now();
        for _ in 0..times {
            poll()?;
        }
        shortest = shortest.min(now_ns(begin) / u64::from(times));
    }
    Ok(shortest.max(1))
}

/// Posts a receive for anything, and polls until it has ended.
fn receive(
    engine: &mut ProgressEngine,
    length: usize,
    buffer: Vec<u8>,
    mut poll: impl FnMut(&mut ProgressEngine) -> Result<(), ChannelError>,
) -> Result<Received, ChannelError> {
    let mut request = engine.post(SourceSel::Any, TagSel::Any, length, buffer)?;
    loop {
        poll(engine)?;
        if let Some(received) = engine.test(&mut request) {
            return received;
        }
    }
}

/// When a message was sent.
fn stamp(message: &Received) -> u64 {
    u64::from_le_bytes(message.bytes().first_chunk().copied().unwrap_or_default())
}

/// A sender's thread, and the receiver's answers to it.
struct Peers<'scope> {
    thread: ScopedJoinHandle<'scope, io::Result<()>>,
    answers: SyncSender<()>,
    in_vain: u32,
}

impl Peers<'_> {
    /// Polls once. Fails if the sender has ended, since it waits for the answer to its last
    /// message.
    fn poll(&mut self, engine: &mut ProgressEngine) -> Result<(), ChannelError> {
        if engine.progress()? {
            self.in_vain = 0;
            return Ok(());
        }
        self.in_vain += 1;
        if self.in_vain == LOOK_AFTER {
            self.in_vain = 0;
            // There may be one processor.
            std::thread::yield_now();
            if self.thread.is_finished() {
                return Err(ChannelError::Sender);
            }
        }
        Ok(())
    }

    fn answer(&self) -> Result<(), ChannelError> {
        self.answers.send(()).map_err(|_| ChannelError::Sender)
    }

    /// The receiver's result, or the sender's error.
    fn join<T>(self, result: Result<T, ChannelError>) -> Result<T, ChannelError> {
        drop(self.answers);
        match self.thread.join() {
            Ok(Err(error)) if result.is_err() => Err(error.into()),
            Ok(_) => result,
            Err(_) => Err(ChannelError::Sender),
        }
    }
}

/// Runs `send` on a thread of its own, and `receive` here. `send` gets the answers, one for each
/// time that `receive` answers. The engine ends before the sender is waited for, so that a sender
/// without receiver fails.
fn beside<T>(
    mut engine: ProgressEngine,
    send: impl FnOnce(Receiver<()>) -> io::Result<()> + Send,
    receive: impl FnOnce(&mut ProgressEngine, &mut Peers<'_>) -> Result<T, ChannelError>,
) -> Result<(T, [Polls; 3]), ChannelError> {
    std::thread::scope(|scope| {
        let (answers, to_sender) = sync_channel(1);
        let thread = std::thread::Builder::new().spawn_scoped(scope, || send(to_sender))?;
        let mut peers = Peers {
            thread,
            answers,
            in_vain: 0,
        };
        let result = receive(&mut engine, &mut peers);
        let polls = engine.polls();
        drop(engine);
        Ok((peers.join(result)?, polls))
    })
}

fn answered(answers: &Receiver<()>) -> io::Result<()> {
    answers.recv().map_err(|_| io::ErrorKind::BrokenPipe.into())
}

/// The message-discovery benchmark on threads: the peers send bursts in turn, each after the answer
/// to the other's. Checks that the messages of each come in the order sent.
///
/// # Errors
/// [`ChannelError`].
pub fn discover_by_threads(
    policy: Box<dyn PollingPolicy>,
    bench: RealBursts,
) -> Result<RealDiscovered, ChannelError> {
    let mut engine = ProgressEngine::new(NicConfig::default(), policy)?;
    let [near, far] = [rank(1), rank(2)];
    let local = engine.add_local(near, None)?;
    let remote = engine.add_remote(far)?;
    let epoch = Instant::now();
    let mut sending_ns = 0;
    let spent = &mut sending_ns;
    let send = move |answers| send_bursts(local, remote, &answers, epoch, bench, spent);
    let (sums, polls) = beside(engine, send, |engine, peers| {
        let (mut sums, mut last) = ([0_u64; 2], [0_u64; 2]);
        let mut buffer = Vec::new();
        for _ in 0..2 * bench.pairs {
            for _ in 0..bench.burst {
                let message = receive(engine, STAMP, buffer, |engine| peers.poll(engine))?;
                let source = usize::from(message.status.source == far);
                let sent = stamp(&message);
                if std::mem::replace(&mut last[source], sent) > sent {
                    return Err(ChannelError::Broken {
                        source_rank: message.status.source.get(),
                        what: "it was overtaken by a message of its own",
                    });
                }
                sums[source] += now_ns(epoch).saturating_sub(sent);
                buffer = message.into_buffer();
            }
            peers.answer()?;
        }
        Ok(sums)
    })?;
    let each = f64::from(bench.burst) * f64::from(bench.pairs);
    Ok(RealDiscovered {
        messages: 2 * u64::from(bench.burst) * u64::from(bench.pairs),
        shared_ns: sums[0] as f64 / each,
        network_ns: sums[1] as f64 / each,
        mean_ns: (sums[0] + sums[1]) as f64 / (2.0 * each),
        gap_ns: sending_ns as f64 / (2.0 * each),
        polls,
    })
}

fn send_bursts(
    mut local: LocalPeer,
    mut remote: RemotePeer,
    answers: &Receiver<()>,
    epoch: Instant,
    bench: RealBursts,
    spent_ns: &mut u64,
) -> io::Result<()> {
    let tag = Tag::default();
    let mut payload = vec![0; STAMP];
    for burst in 0..2 * bench.pairs {
        let begin = now_ns(epoch);
        for _ in 0..bench.burst {
            payload.copy_from_slice(&now_ns(epoch).to_le_bytes());
            if burst.is_multiple_of(2) {
                payload = local.send(tag, payload)?;
            } else {
                remote.send(tag, &payload)?;
            }
        }
        *spent_ns += now_ns(epoch) - begin;
        answered(answers)?;
    }
    Ok(())
}

/// The median time of `rounds` single messages by one way, from just before the sending until the
/// data are in the receive's buffer, and the polls of shared memory, kernel and network. At least 8
/// bytes.
///
/// # Errors
/// [`ChannelError`].
pub fn way_ns(
    way: Transport,
    bytes: usize,
    rounds: u32,
) -> Result<(u64, [Polls; 3]), ChannelError> {
    let bytes = bytes.max(STAMP);
    let nic = NicConfig {
        // The whole message and its mark.
        eager_limit: bytes + 1,
        bounce_buffers: 4,
        unexpected_buffers: 4,
        ..NicConfig::default()
    };
    let mut engine = ProgressEngine::new(nic, Box::new(RoundRobin::default()))?;
    let threshold = (way == Transport::Kernel).then_some(0);
    let mut local = engine.add_local(rank(1), threshold)?;
    let mut remote = engine.add_remote(rank(2))?;
    let epoch = Instant::now();
    let send = move |answers: Receiver<()>| {
        let mut payload = vec![1; bytes];
        for _ in 0..rounds {
            // The kernel copy keeps buffers for a while.
            payload.resize(bytes, 1);
            payload[..STAMP].copy_from_slice(&now_ns(epoch).to_le_bytes());
            match way {
                Transport::Network => remote.send(Tag::default(), &payload)?,
                _ => payload = local.send(Tag::default(), payload)?,
            }
            answered(&answers)?;
        }
        local.flush()
    };
    let (mut times, polls) = beside(engine, send, |engine, peers| {
        let mut times = Vec::with_capacity(rounds as usize);
        let mut buffer = Vec::new();
        for _ in 0..rounds {
            let message = receive(engine, bytes, buffer, |engine| peers.poll(engine))?;
            times.push(now_ns(epoch).saturating_sub(stamp(&message)));
            buffer = message.into_buffer();
            peers.answer()?;
        }
        Ok(times)
    })?;
    times.sort_unstable();
    Ok((times.get(times.len() / 2).copied().unwrap_or(0), polls))
}
