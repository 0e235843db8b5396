//! A sequence of operations, fed into a NIC in exactly its order.
//!
//! Host and wire are two queues; stamps order their entries for a NIC with `Order::Stamped`. The
//! caller runs leader and workers.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

use super::id_map::IdMap;
use super::payload_pattern::PayloadPattern;
use super::{Event, HostPort, RequestId, SendError, Sender, TakenMessage};
use crate::message::Message;
use crate::{Envelope, MsgId, Operation, Outcome, ProbeId, RecvId};

/// An error that stops a sequence of operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FeedError {
    /// A receive or probe uses a wildcard that the communicator's hints exclude.
    Refused,
    /// The NIC sent a request or message on to software, but the caller has none.
    Forwarded,
    /// A message could not be sent.
    Send(SendError),
    /// A message arrived with other bytes than were sent.
    WrongBytes(MsgId),
    /// The named receive or message had already matched, or was cancelled.
    MatchedTwice(Option<RecvId>, Option<MsgId>),
    /// The NIC answered a request that was not made.
    Unknown(&'static str),
}

impl fmt::Display for FeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str(
                "a receive or probe uses a wildcard that the communicator's hints exclude",
            ),
            Self::Forwarded => f.write_str("the NIC has no room and there is no software matching"),
            Self::Send(error) => error.fmt(f),
            Self::WrongBytes(msg) => write!(f, "message {} was delivered with wrong bytes", msg.0),
            Self::MatchedTwice(Some(recv), _) => {
                write!(
                    f,
                    "receive {} got a message that was matched before",
                    recv.0
                )
            }
            Self::MatchedTwice(..) => f.write_str("a receive was matched twice"),
            Self::Unknown(what) => write!(f, "the NIC answered a {what} that was not requested"),
        }
    }
}

impl core::error::Error for FeedError {}

/// The operation behind a request of the port.
#[derive(Clone, Copy, Debug)]
enum PortOperation {
    /// `order`: place among all posts.
    Receive {
        recv: RecvId,
        order: u64,
    },
    Probe {
        probe: ProbeId,
        take: bool,
    },
    /// The data of a message that a matched probe took.
    Data(MsgId),
}

impl PortOperation {
    fn receive(self) -> Option<RecvId> {
        match self {
            Self::Receive { recv, .. } => Some(recv),
            _ => None,
        }
    }
}

/// Both ends of a NIC, and the caller's names for operations in flight.
///
/// # Examples
/// ```
/// use dpa_model::*;
///
/// let mut nic = Nic::new(&NicConfig::default())?;
/// let mut feeder = Feeder::new(nic.host, nic.sender);
/// let (comm, tag) = (CommId(0), Tag::new(7)?);
/// let envelope = Envelope { comm, source: Rank::new(3)?, tag };
/// let operations = [
///     Operation::Create { comm, bins: 128, hints: Hints::default() },
///     Operation::Post {
///         recv: RecvId(1),
///         comm,
///         selector: Selector::new(SourceSel::Any, tag),
///         bytes: 8,
///     },
///     Operation::Arrive { msg: MsgId(5), envelope, bytes: 8 },
/// ];
/// for operation in &operations {
///     while !feeder.try_issue(operation)? {
///         nic.leader.round(1);
///     }
/// }
/// nic.leader.round(1);
/// let mut outcomes = Vec::new();
/// feeder.collect(|outcome| outcomes.push(outcome))?;
/// assert_eq!(outcomes, [Outcome::Matched { recv: RecvId(1), msg: MsgId(5) }]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Feeder {
    /// The host's end; pass each of its events to [`note`](Self::note).
    pub host: HostPort,
    /// The wire's end.
    pub sender: Sender,
    /// Operations, by the request's slot.
    asked: Vec<Option<(RequestId, PortOperation)>>,
    /// Receives without a result, by name.
    receives: IdMap<RequestId>,
    /// Messages without a receive, by arrival number.
    messages: IdMap<(MsgId, Envelope)>,
    /// Cancels without an answer; `None`: a flush.
    cancels: VecDeque<Option<RecvId>>,
    /// Unanswered probes and fetches of data.
    open: usize,
    /// Taken messages whose data is not requested yet.
    held: Vec<(TakenMessage, MsgId, u32)>,
    posts: u64,
    arrivals: u64,
    /// Payload of all messages if checks are off.
    payload: Vec<u8>,
    pattern: PayloadPattern,
    spare: Vec<Vec<u8>>,
    checks: bool,
}

impl Feeder {
    /// Feeds a NIC that has had no request yet.
    pub fn new(host: HostPort, sender: Sender) -> Self {
        Self {
            host,
            sender,
            asked: Vec::new(),
            receives: IdMap::new(),
            messages: IdMap::new(),
            cancels: VecDeque::new(),
            open: 0,
            held: Vec::new(),
            posts: 0,
            arrivals: 0,
            payload: Vec::new(),
            pattern: PayloadPattern::new(),
            spare: Vec::new(),
            checks: true,
        }
    }

    /// Turns checks off, for measurements: messages carry arbitrary bytes. Otherwise each byte
    /// identifies its message, and every delivery is checked.
    pub fn without_checks(self) -> Self {
        Self {
            checks: false,
            ..self
        }
    }

    /// Hands the operation to the NIC. `false`: a queue is full; let the NIC run, collect its
    /// events, and try again.
    ///
    /// # Errors
    /// [`FeedError::Send`] for a message that can never be sent.
    pub fn try_issue(&mut self, operation: &Operation) -> Result<bool, FeedError> {
        let stamp = self.arrivals;
        let issued = match *operation {
            Operation::Post {
                recv,
                comm,
                selector,
                bytes,
            } => {
                let buffer = self.buffer(bytes);
                match self.host.post(comm, selector, buffer, stamp) {
                    Ok(request) => {
                        self.expect(
                            request,
                            PortOperation::Receive {
                                recv,
                                order: self.posts,
                            },
                        );
                        self.receives.insert(recv.0, request);
                        self.posts += 1;
                        true
                    }
                    Err((_, buffer)) => {
                        self.spare.push(buffer);
                        false
                    }
                }
            }
            Operation::Arrive {
                msg,
                envelope,
                bytes,
            } => match self.send(msg, envelope, bytes as usize) {
                Ok(()) => true,
                Err(SendError::ReceiverNotReady) => false,
                Err(error) => return Err(FeedError::Send(error)),
            },
            Operation::Cancel { recv } => {
                let request = self
                    .receives
                    .get(recv.0)
                    .copied()
                    .unwrap_or(RequestId::NONE);
                self.try_cancel(request, Some(recv))
            }
            Operation::Probe {
                probe,
                comm,
                selector,
                take,
            } => match self.host.probe(comm, selector, take, stamp) {
                Ok(request) => {
                    self.expect(request, PortOperation::Probe { probe, take });
                    self.open += 1;
                    true
                }
                Err(_) => false,
            },
            Operation::Create { comm, bins, hints } => {
                self.host.create(comm, bins, hints, stamp).is_ok()
            }
            Operation::Free { comm } => self.host.free(comm, stamp).is_ok(),
        };
        Ok(issued)
    }

    /// Requests an answer that follows the answers to everything before it. `false`: the queue is
    /// full.
    pub fn try_flush(&mut self) -> bool {
        self.try_cancel(RequestId::NONE, None)
    }

    /// Whether every cancel, probe and flush is answered and all data of taken messages has
    /// arrived.
    pub fn is_settled(&mut self) -> bool {
        self.waits_for().is_none()
    }

    /// What [`is_settled`](Self::is_settled) still waits for.
    pub fn waits_for(&mut self) -> Option<&'static str> {
        self.fetch();
        let missing = [
            (
                !self.held.is_empty(),
                "room to ask for the data of a message that a probe took",
            ),
            (
                !self.cancels.is_empty(),
                "the answer to a cancel or a flush",
            ),
            (
                self.open > 0,
                "the answer to a probe, or the data of a message that one took",
            ),
        ];
        missing
            .into_iter()
            .find(|(missing, _)| *missing)
            .map(|(_, what)| what)
    }

    /// Collects all events of the NIC so far.
    ///
    /// # Errors
    /// The errors of [`note`](Self::note).
    pub fn collect(&mut self, mut each: impl FnMut(Outcome)) -> Result<(), FeedError> {
        while let Some(event) = self.host.poll() {
            if let Some(outcome) = self.note(event)? {
                each(outcome);
            }
        }
        Ok(())
    }

    /// Records one event of the port or of software matching, and returns the operation's outcome.
    ///
    /// # Errors
    /// Any [`FeedError`] but [`FeedError::Send`].
    pub fn note(&mut self, event: Event) -> Result<Option<Outcome>, FeedError> {
        Ok(match event {
            Event::Received {
                request,
                buffer,
                message,
                ..
            } => match self.ended(request) {
                Some(PortOperation::Data(msg)) => {
                    self.open -= 1;
                    self.take_back(msg, buffer, message)?;
                    None
                }
                asked => {
                    let msg = self.messages.remove(message.arrival).map(|(msg, _)| msg);
                    let (Some(PortOperation::Receive { recv, .. }), Some(msg)) = (asked, msg)
                    else {
                        return Err(FeedError::MatchedTwice(
                            asked.and_then(PortOperation::receive),
                            msg,
                        ));
                    };
                    self.forget(recv, request);
                    self.take_back(msg, buffer, message)?;
                    Some(Outcome::Matched { recv, msg })
                }
            },
            Event::Cancelled { request, buffer } => {
                self.spare.push(buffer);
                let cancelled = self.cancels.pop_front().flatten();
                match self.ended(request).and_then(PortOperation::receive) {
                    Some(recv) if Some(recv) == cancelled => {
                        self.forget(recv, request);
                        Some(Outcome::Cancelled { recv })
                    }
                    _ => return Err(FeedError::Unknown("cancel")),
                }
            }
            // Neither on the NIC nor in software, which would have reported it.
            Event::TooLate { .. } | Event::CancelForwarded { .. } => {
                let cancelled = self
                    .cancels
                    .pop_front()
                    .ok_or(FeedError::Unknown("cancel"))?;
                cancelled.map(|recv| Outcome::TooLate { recv })
            }
            Event::Probed {
                request,
                found,
                taken,
            } => {
                let Some(PortOperation::Probe { probe, take }) = self.ended(request) else {
                    return Err(FeedError::Unknown("probe"));
                };
                self.open -= 1;
                let msg = found.map(|message| self.found(message, take)).transpose()?;
                if let (Some(taken), Some(message), Some(msg)) = (taken, found, msg) {
                    self.receive(taken, msg, message)?;
                }
                Some(match take {
                    true => Outcome::Mprobed { probe, msg },
                    false => Outcome::Probed { probe, msg },
                })
            }
            Event::Refused { .. } => return Err(FeedError::Refused),
            Event::PostForwarded { .. }
            | Event::ArrivalForwarded { .. }
            | Event::ProbeForwarded { .. } => return Err(FeedError::Forwarded),
            Event::Admitted { .. }
            | Event::Unexpected { .. }
            | Event::Created { .. }
            | Event::Freed { .. }
            | Event::Resumed { .. }
            | Event::Declined { .. } => None,
        })
    }

    /// The request of a receive that has no result yet.
    pub fn request(&self, recv: RecvId) -> Option<RequestId> {
        self.receives.get(recv.0).copied()
    }

    /// Receives without a result, in posting order.
    pub fn posted(&self) -> Vec<RecvId> {
        let receive = |asked: &(RequestId, PortOperation)| match asked.1 {
            PortOperation::Receive { recv, order } => Some((order, recv)),
            _ => None,
        };
        let mut posted: Vec<_> = self.asked.iter().flatten().filter_map(receive).collect();
        posted.sort_unstable();
        posted.into_iter().map(|(_, recv)| recv).collect()
    }

    /// Messages that no receive or matched probe took, in arrival order.
    pub fn unexpected(&self) -> impl Iterator<Item = (MsgId, Envelope)> {
        self.messages.values().copied()
    }

    /// Whether no receive or matched probe took the message with this arrival number.
    pub fn is_unexpected(&self, arrival: u64) -> bool {
        self.messages.get(arrival).is_some()
    }

    /// Messages sent.
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// Requests the data of a message that a probe took.
    fn receive(
        &mut self,
        taken: TakenMessage,
        msg: MsgId,
        message: Message,
    ) -> Result<(), FeedError> {
        match taken.into_payload() {
            Ok(payload) => {
                let mut buffer = self.buffer(message.length);
                payload
                    .read(&mut buffer)
                    .ok_or(FeedError::Send(SendError::Stopped))?;
                self.take_back(msg, buffer, message)?;
            }
            Err(taken) => {
                self.held.push((taken, msg, message.length));
                self.fetch();
            }
        }
        Ok(())
    }

    fn buffer(&mut self, bytes: u32) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        if self.checks {
            buffer.clear();
        }
        buffer.resize(bytes as usize, 0);
        buffer
    }

    fn send(&mut self, msg: MsgId, envelope: Envelope, bytes: usize) -> Result<(), SendError> {
        let payload = if self.checks {
            self.pattern.payload(msg, bytes)
        } else {
            self.payload.resize(bytes, 0);
            &self.payload
        };
        let stamp = self.host.commands_counted();
        if bytes <= self.sender.eager_limit() {
            self.sender.try_send(envelope, payload, stamp)?;
        } else {
            // Without its request, the NIC still delivers the message.
            let sent = self
                .sender
                .try_send_rendezvous(envelope, payload.to_vec(), stamp);
            sent.map(drop).map_err(|(error, _)| error)?;
        }
        self.messages.insert(self.arrivals, (msg, envelope));
        self.arrivals += 1;
        Ok(())
    }

    fn try_cancel(&mut self, request: RequestId, recv: Option<RecvId>) -> bool {
        let issued = self.host.cancel(request, self.arrivals).is_ok();
        if issued {
            self.cancels.push_back(recv);
        }
        issued
    }

    fn expect(&mut self, request: RequestId, asked: PortOperation) {
        let slot = request.slot();
        if slot >= self.asked.len() {
            self.asked.resize(slot + 1, None);
        }
        self.asked[slot] = Some((request, asked));
    }

    fn ended(&mut self, request: RequestId) -> Option<PortOperation> {
        let place = self.asked.get_mut(request.slot())?;
        place
            .take_if(|(known, _)| *known == request)
            .map(|(_, asked)| asked)
    }

    /// Removes a receive that has its result. A later one may reuse its name.
    fn forget(&mut self, recv: RecvId, request: RequestId) {
        if self.receives.get(recv.0) == Some(&request) {
            self.receives.remove(recv.0);
        }
    }

    fn found(&mut self, message: Message, take: bool) -> Result<MsgId, FeedError> {
        let known = match take {
            true => self.messages.remove(message.arrival),
            false => self.messages.get(message.arrival).copied(),
        };
        known
            .map(|(msg, _)| msg)
            .ok_or(FeedError::MatchedTwice(None, None))
    }

    /// Requests the data of taken messages while the command queue has room.
    fn fetch(&mut self) {
        while let Some((taken, msg, length)) = self.held.pop() {
            let buffer = self.buffer(length);
            match self.host.receive(taken, buffer, self.arrivals) {
                Ok(request) => {
                    self.expect(request, PortOperation::Data(msg));
                    self.open += 1;
                }
                Err((_, taken, buffer)) => {
                    self.spare.push(buffer);
                    return self.held.push((taken, msg, length));
                }
            }
        }
    }

    fn take_back(
        &mut self,
        msg: MsgId,
        buffer: Vec<u8>,
        message: Message,
    ) -> Result<(), FeedError> {
        if self.checks {
            let delivered = &buffer[..buffer.len().min(message.length as usize)];
            if delivered != self.pattern.sent(msg, delivered.len()) {
                return Err(FeedError::WrongBytes(msg));
            }
        }
        self.spare.push(buffer);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
