//! The sender: its messages of a window, and the wire that carries them.

use dpa_model::{SendError, SendResult, Sender};
use dpamatch::endpoint::{self, CommSender};
use dpamatch_vocabulary::Envelope;

use super::load::Window;
use super::payload;
use super::signal::{Gone, Spin};
use super::window::Outgoing;

pub(super) trait Wire: Clone + Send {
    /// A message whose buffer the NIC has yet to return.
    type Lent: Send;

    fn eager_limit(&self) -> usize;
    fn try_send(&mut self, envelope: Envelope, bytes: &[u8]) -> Result<(), SendError>;
    fn try_lend(
        &mut self,
        envelope: Envelope,
        buffer: Vec<u8>,
    ) -> Result<Self::Lent, (SendError, Vec<u8>)>;
    fn wait(lent: Self::Lent) -> SendResult;
}

impl Wire for Sender {
    type Lent = dpa_model::SendRequest;

    fn eager_limit(&self) -> usize {
        self.eager_limit()
    }

    #[inline(always)]
    fn try_send(&mut self, envelope: Envelope, bytes: &[u8]) -> Result<(), SendError> {
        self.try_send(envelope, bytes, 0)
    }

    fn try_lend(
        &mut self,
        envelope: Envelope,
        buffer: Vec<u8>,
    ) -> Result<Self::Lent, (SendError, Vec<u8>)> {
        self.try_send_rendezvous(envelope, buffer, 0)
    }

    fn wait(lent: Self::Lent) -> SendResult {
        lent.wait()
    }
}

/// The sender itself adds communicator and source.
impl Wire for CommSender {
    type Lent = endpoint::SendRequest;

    fn eager_limit(&self) -> usize {
        self.eager_limit()
    }

    #[inline(always)]
    fn try_send(&mut self, envelope: Envelope, bytes: &[u8]) -> Result<(), SendError> {
        self.try_send(envelope.tag, bytes)
    }

    fn try_lend(
        &mut self,
        envelope: Envelope,
        buffer: Vec<u8>,
    ) -> Result<Self::Lent, (SendError, Vec<u8>)> {
        self.try_issend(envelope.tag, buffer)
    }

    fn wait(lent: Self::Lent) -> SendResult {
        lent.wait()
    }
}

/// Takes the envelope by reference: by value, the waiting call would spill it to memory for each
/// message.
#[inline(always)]
fn send_eager(
    sender: &mut impl Wire,
    envelope: &Envelope,
    bytes: &[u8],
    alone: bool,
) -> Result<(), Gone> {
    match sender.try_send(*envelope, bytes) {
        Ok(()) => Ok(()),
        Err(SendError::ReceiverNotReady) if !alone => send_when_ready(sender, envelope, bytes),
        Err(_) => Err(Gone),
    }
}

#[cold]
#[inline(never)]
fn send_when_ready(sender: &mut impl Wire, envelope: &Envelope, bytes: &[u8]) -> Result<(), Gone> {
    let mut spin = Spin::new();
    loop {
        spin.pause();
        match sender.try_send(*envelope, bytes) {
            Ok(()) => return Ok(()),
            Err(SendError::ReceiverNotReady) => {}
            Err(_) => return Err(Gone),
        }
    }
}

fn lend<W: Wire>(
    sender: &mut W,
    envelope: Envelope,
    mut buffer: Vec<u8>,
    alone: bool,
) -> Result<W::Lent, Gone> {
    let mut spin = Spin::new();
    loop {
        match sender.try_lend(envelope, buffer) {
            Ok(lent) => return Ok(lent),
            Err((SendError::ReceiverNotReady, back)) if !alone => buffer = back,
            Err(_) => return Err(Gone),
        }
        spin.pause();
    }
}

pub(super) struct Outbox<W: Wire> {
    sender: W,
    envelopes: Vec<Envelope>,
    payloads: Payloads<W::Lent>,
    done: Envelope,
    size: usize,
    /// The receiver runs on the same thread, so there is nobody to wait for.
    alone: bool,
}

enum Payloads<Lent> {
    /// Message i begins at `i * stride`.
    Eager { bytes: Vec<u8>, stride: usize },
    Rendezvous {
        buffers: Vec<Vec<u8>>,
        requests: Vec<Lent>,
    },
}

impl<W: Wire> Outbox<W> {
    /// The messages of sender `number` in a window. Each message carries its number in the window.
    pub(super) fn new(sender: W, window: &Window, number: usize) -> Self {
        let numbers = (number..window.messages.len()).step_by(window.senders);
        let envelopes: Vec<Envelope> = numbers
            .clone()
            .map(|number| window.messages[number])
            .collect();
        let count = envelopes.len();
        let payloads = if window.size <= sender.eager_limit() {
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
            Payloads::Rendezvous {
                buffers,
                requests: Vec::with_capacity(count),
            }
        };
        Self {
            sender,
            envelopes,
            payloads,
            done: window.done,
            size: window.size,
            alone: false,
        }
    }

    /// For a thread that has both ends: a full queue is an error.
    pub(super) fn alone(self) -> Self {
        Self {
            alone: true,
            ..self
        }
    }
}

impl<W: Wire> Outgoing for Outbox<W> {
    #[inline]
    fn send(&mut self) -> Result<(), Gone> {
        let Self {
            sender,
            envelopes,
            payloads,
            size,
            alone,
            ..
        } = self;
        match payloads {
            Payloads::Eager { bytes, stride } => {
                let (stride, size) = (*stride, *size);
                for (envelope, payload) in envelopes.iter().zip(bytes.chunks_exact(stride)) {
                    send_eager(sender, envelope, &payload[..size], *alone)?;
                }
            }
            Payloads::Rendezvous { buffers, requests } => {
                for (envelope, buffer) in envelopes.iter().zip(buffers.iter_mut()) {
                    requests.push(lend(sender, *envelope, std::mem::take(buffer), *alone)?);
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn send_done(&mut self) -> Result<(), Gone> {
        send_eager(&mut self.sender, &self.done, &[], self.alone)
    }

    fn take_back(&mut self) -> Result<(), Gone> {
        if let Payloads::Rendezvous { buffers, requests } = &mut self.payloads {
            for (request, place) in requests.drain(..).zip(buffers) {
                *place = W::wait(request).map_err(|_| Gone)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[test]
fn only_what_is_longer_than_the_eager_limit_is_lent() {
    use dpa_model::{Nic, NicConfig};

    let config = NicConfig {
        eager_limit: 70,
        ..NicConfig::default()
    };
    for (size, eager) in [(69, true), (70, true), (71, false)] {
        let window = Window::new(&"NC".parse().expect("a scenario"), 3, size, 1);
        let outbox = Outbox::new(Nic::new(&config).expect("a NIC").sender, &window, 0);
        assert_eq!(
            matches!(outbox.payloads, Payloads::Eager { .. }),
            eager,
            "{size} bytes"
        );
    }
}
