//! The two ends of a repetition (O38): the receiver posts k receives and says so; the sender starts
//! the clock, sends k messages and waits for the acknowledgement that follows the last completion.
//!
//! Where receives are late, the messages come first, and behind them one that says so; these
//! receives are posted when that one has been received, so inside the clock.
//!
//! Of several senders the first does all this; the others wait for its windows and send their
//! messages.

use std::ops::Range;
use std::time::{Duration, Instant};

use dpa_model::{SendError, SendRequest, Sender};
use dpamatch_vocabulary::{Envelope, Selector};

use super::BenchError;
use super::load::Window;
use super::payload;
use super::signal::{Farewell, Gone, Signals, Spin};

/// Windows before the measured ones. Their payloads, and so their order, are checked.
pub const WARM_UP: usize = 20;
/// Repetitions that are made even if the time is over.
pub(super) const REPETITIONS_MIN: usize = 10;

/// The receiving end: something that matches, or does without.
pub(super) trait Receiver {
    /// Posts a receive whose message goes to buffer `slot`.
    fn post(&mut self, slot: usize, selector: Selector) -> Result<(), BenchError>;

    /// Returns when everything posted so far is where messages will look for it.
    fn settle(&mut self) -> Result<(), BenchError>;

    /// Works until `count` receives are complete that were not waited for before.
    fn complete(&mut self, count: usize) -> Result<(), BenchError>;

    /// The buffer of a complete receive.
    fn buffer(&mut self, slot: usize) -> &mut [u8];
}

/// Slots of a window's receives: `0..k`; then these two kinds.
fn slot_of_done(window: &Window) -> usize {
    window.receives.len()
}

fn slot_of_standing(window: &Window, index: usize) -> usize {
    window.receives.len() + 1 + index
}

/// How many slots a window needs.
pub(super) fn slots(window: &Window) -> usize {
    slot_of_standing(window, window.standing.len())
}

/// What the receiver measured, in nanoseconds per window.
#[derive(Debug, Default)]
pub(super) struct ReceiverTimes {
    /// Handing the receives over.
    pub(super) post: Vec<f64>,
    /// From then until they stand in the posted queue, where that is apart.
    pub(super) settle: Vec<f64>,
    /// From the first late post of a window to the last completion.
    pub(super) unexpected: Vec<f64>,
    /// Payloads that were compared.
    pub(super) checked: u64,
}

/// Runs the receiver until the sender has gone.
pub(super) fn receive(
    mut receiver: impl Receiver,
    window: &Window,
    repetitions: usize,
    signals: &Signals,
) -> Result<ReceiverTimes, BenchError> {
    let _farewell = Farewell(&[&signals.ready, &signals.ack]);
    let mut times = ReceiverTimes {
        post: Vec::with_capacity(repetitions),
        settle: Vec::with_capacity(repetitions),
        unexpected: Vec::with_capacity(repetitions),
        checked: 0,
    };
    let count = window.receives.len();
    for (i, selector) in window.standing.iter().enumerate() {
        receiver.post(slot_of_standing(window, i), *selector)?;
    }
    receiver.settle()?;
    let done = Selector::new(window.done.source, window.done.tag);
    for number in 1.. {
        if signals.go.wait_for(number).is_err() {
            break;
        }
        let warming_up = number <= WARM_UP as u64;
        if warming_up {
            (0..count).for_each(|slot| payload::blank(receiver.buffer(slot)));
        }
        if window.has_late() {
            receiver.post(slot_of_done(window), done)?;
            receiver.settle()?;
        }
        let early = post(&mut receiver, window, 0..window.early)?;
        signals.ready.say(number);
        receiver.complete(window.early + usize::from(window.has_late()))?;
        // No clock is read between the last completion and the acknowledgement: two looks take as
        // long as half the way of a single message.
        let start = window.has_late().then(Instant::now);
        let mut late = [Duration::ZERO; 2];
        if window.has_late() {
            late = post(&mut receiver, window, window.late())?;
            receiver.complete(window.late().len())?;
        }
        signals.ack.say(number);
        let received = start.map(|start| start.elapsed());
        if warming_up {
            check(&mut receiver, window)?;
            times.checked += count as u64;
        } else {
            times.post.push(nanoseconds(early[0] + late[0]));
            times.settle.push(nanoseconds(early[1] + late[1]));
            times.unexpected.extend(received.map(nanoseconds));
        }
    }
    Ok(times)
}

/// Posts these receives; how long handing them over took, and from then until they stand in the
/// posted queue.
#[inline]
fn post(
    receiver: &mut impl Receiver,
    window: &Window,
    slots: Range<usize>,
) -> Result<[Duration; 2], BenchError> {
    let start = Instant::now();
    for (slot, selector) in slots.clone().zip(&window.receives[slots]) {
        receiver.post(slot, *selector)?;
    }
    let posted = Instant::now();
    receiver.settle()?;
    Ok([posted - start, posted.elapsed()])
}

fn check(receiver: &mut impl Receiver, window: &Window) -> Result<(), BenchError> {
    for (slot, &message) in window.expected.iter().enumerate() {
        if !payload::holds(receiver.buffer(slot), message) {
            return Err(BenchError::WrongMessage { receive: slot, message });
        }
    }
    Ok(())
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_nanos() as f64
}

/// How long the sender goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Measured windows at most.
    pub(super) repetitions: usize,
    /// Time after which no more than the least number is made.
    pub(super) budget: Duration,
}

/// Runs the first sender; returns the time of each window after the warm-up in nanoseconds. An
/// early end means that the receiver has gone, and knows why.
pub(super) fn send(
    mut sender: Sender,
    window: &Window,
    limits: Limits,
    signals: &Signals,
) -> Vec<f64> {
    let _farewell = Farewell(&[&signals.go]);
    let mut times = Vec::with_capacity(limits.repetitions);
    let mut outbox = Outbox::new(window, 0, sender.eager_limit());
    let mut begin = Instant::now();
    for number in 1..=(WARM_UP + limits.repetitions) as u64 {
        if number == WARM_UP as u64 + 1 {
            begin = Instant::now();
        }
        if times.len() >= REPETITIONS_MIN && begin.elapsed() > limits.budget {
            break;
        }
        match one_window(&mut sender, window, &mut outbox, signals, number) {
            Ok(time) if number > WARM_UP as u64 => times.push(nanoseconds(time)),
            Ok(_) => {}
            Err(Gone) => break,
        }
    }
    times
}

/// Runs another sender, until the first has gone and so the receiver.
pub(super) fn send_along(mut sender: Sender, window: &Window, number: usize, signals: &Signals) {
    let mut outbox = Outbox::new(window, number, sender.eager_limit());
    for number in 1.. {
        let ready = signals.ready.wait_with(number, patience(window));
        let sent =
            ready.and_then(|()| outbox.send(&mut sender, window)).and_then(|()| outbox.take_back());
        if sent.is_err() {
            break;
        }
    }
}

/// Several senders may have to share a processor, so they must give way early.
fn patience(window: &Window) -> Spin {
    if window.senders > 1 { Spin::short() } else { Spin::new() }
}

#[inline]
fn one_window(
    sender: &mut Sender,
    window: &Window,
    outbox: &mut Outbox,
    signals: &Signals,
    number: u64,
) -> Result<Duration, Gone> {
    signals.go.say(number);
    signals.ready.wait_with(number, patience(window))?;
    let start = Instant::now();
    outbox.send(sender, window)?;
    if window.has_late() {
        send_eager(sender, window.done, &[])?;
    }
    outbox.take_back()?;
    signals.ack.wait_with(number, patience(window))?;
    Ok(start.elapsed())
}

#[inline]
fn send_eager(sender: &mut Sender, envelope: Envelope, bytes: &[u8]) -> Result<(), Gone> {
    match sender.try_send(envelope, bytes, 0) {
        Ok(()) => Ok(()),
        Err(SendError::ReceiverNotReady) => send_when_ready(sender, envelope, bytes),
        Err(_) => Err(Gone),
    }
}

#[cold]
fn send_when_ready(sender: &mut Sender, envelope: Envelope, bytes: &[u8]) -> Result<(), Gone> {
    let mut spin = Spin::new();
    loop {
        spin.pause();
        match sender.try_send(envelope, bytes, 0) {
            Ok(()) => return Ok(()),
            Err(SendError::ReceiverNotReady) => {}
            Err(_) => return Err(Gone),
        }
    }
}

fn send_rendezvous(
    sender: &mut Sender,
    envelope: Envelope,
    mut buffer: Vec<u8>,
) -> Result<SendRequest, Gone> {
    let mut spin = Spin::new();
    loop {
        match sender.try_send_rendezvous(envelope, buffer, 0) {
            Ok(request) => return Ok(request),
            Err((SendError::ReceiverNotReady, back)) => buffer = back,
            Err(_) => return Err(Gone),
        }
        spin.pause();
    }
}

/// The messages of one sender.
struct Outbox {
    envelopes: Vec<Envelope>,
    payloads: Payloads,
}

enum Payloads {
    /// Message i at `i * stride`.
    Eager { bytes: Vec<u8>, stride: usize },
    /// Lent to the NIC while a request is open.
    Rendezvous { buffers: Vec<Vec<u8>>, requests: Vec<SendRequest> },
}

impl Outbox {
    /// What sender number `sender` sends of a window. A message carries its number in the window.
    fn new(window: &Window, sender: usize, eager_limit: usize) -> Self {
        let numbers = (sender..window.messages.len()).step_by(window.senders);
        let envelopes: Vec<Envelope> =
            numbers.clone().map(|number| window.messages[number]).collect();
        let count = envelopes.len();
        let payloads = if window.size <= eager_limit {
            let stride = window.size.max(64);
            let mut bytes = vec![0; stride * count];
            for (payload, number) in bytes.chunks_exact_mut(stride).zip(numbers) {
                payload::stamp(&mut payload[..window.size], number);
            }
            Payloads::Eager { bytes, stride }
        } else {
            let mut buffers = payload::buffers(count, window.size);
            buffers
                .iter_mut()
                .zip(numbers)
                .for_each(|(buffer, number)| payload::stamp(buffer, number));
            Payloads::Rendezvous { buffers, requests: Vec::with_capacity(count) }
        };
        Self { envelopes, payloads }
    }

    #[inline]
    fn send(&mut self, sender: &mut Sender, window: &Window) -> Result<(), Gone> {
        let Self { envelopes, payloads } = self;
        match payloads {
            Payloads::Eager { bytes, stride } => {
                for (envelope, payload) in envelopes.iter().zip(bytes.chunks_exact(*stride)) {
                    send_eager(sender, *envelope, &payload[..window.size])?;
                }
            }
            Payloads::Rendezvous { buffers, requests } => {
                for (envelope, buffer) in envelopes.iter().zip(buffers.iter_mut()) {
                    requests.push(send_rendezvous(sender, *envelope, std::mem::take(buffer))?);
                }
            }
        }
        Ok(())
    }

    /// Waits until the NIC has read every buffer.
    fn take_back(&mut self) -> Result<(), Gone> {
        if let Payloads::Rendezvous { buffers, requests } = &mut self.payloads {
            for (request, place) in requests.drain(..).zip(buffers) {
                *place = request.wait().map_err(|_| Gone)?;
            }
        }
        Ok(())
    }
}
