//! Probes, and receives of messages that a matched probe took.

use dpa_model::{Message, TakenMessage};
use dpamatch_vocabulary::{CommId, Selector, SourceSel, TagSel};

use super::base::{Answer, Endpoint};
use super::communicator::Communicator;
use super::error::{PostError, RecvError, Stopped};
use super::request::{Ended, RecvRequest};
use super::status::{Received, Status};

/// A message that a matched probe took out of matching (`MPI_Message`), to be received with
/// [`Endpoint::mrecv`] or [`Endpoint::imrecv`]. Dropping it loses the message and frees its memory;
/// a sender that waits for it gets [`SendError::NotReceived`](crate::SendError::NotReceived).
#[derive(Debug)]
#[must_use = "a matched message must be received"]
pub struct MatchedMessage {
    pub(super) endpoint: u64,
    message: Message,
    taken: TakenMessage,
}

impl MatchedMessage {
    /// Source, tag and length.
    pub fn status(&self) -> Status {
        whole(&self.message)
    }
}

fn whole(message: &Message) -> Status {
    Status::new(message, message.length as usize)
}

/// Rounds of the NIC before a probe, so that the probe sees earlier messages if the NIC keeps up.
const ROUNDS_BEFORE: usize = 64;

impl Endpoint {
    /// The oldest unexpected message that a receive with this source and tag would take, if there
    /// is one: `MPI_Iprobe` (MPI 4.1, section 3.8.1). The message stays.
    ///
    /// A probe may miss a message that was just sent; a later one finds it.
    ///
    /// # Errors
    /// [`RecvError::WildcardExcluded`] (with an empty buffer), [`RecvError::Stopped`].
    ///
    /// # Complexity
    /// One command to the NIC and its answer. The NIC searches one chain.
    pub fn iprobe(
        &mut self,
        comm: &Communicator,
        source: impl Into<SourceSel>,
        tag: impl Into<TagSel>,
    ) -> Result<Option<Status>, RecvError> {
        let selector = Selector::new(source, tag);
        self.settle();
        Ok(self
            .try_probe(comm, selector, false)?
            .map(|(message, _)| whole(&message)))
    }

    /// Waits for an unexpected message with this source and tag: `MPI_Probe` (MPI 4.1, section
    /// 3.8.1). The message stays.
    ///
    /// # Errors
    /// The errors of [`iprobe`](Self::iprobe).
    pub fn probe(
        &mut self,
        comm: &Communicator,
        source: impl Into<SourceSel>,
        tag: impl Into<TagSel>,
    ) -> Result<Status, RecvError> {
        let selector = Selector::new(source, tag);
        let (message, _) = self.poll_until_found(comm, selector, false)?;
        Ok(whole(&message))
    }

    /// Takes the oldest unexpected message that fits out of matching: `MPI_Improbe` (MPI 4.1,
    /// section 3.8.2).
    ///
    /// # Errors
    /// The errors of [`iprobe`](Self::iprobe).
    pub fn improbe(
        &mut self,
        comm: &Communicator,
        source: impl Into<SourceSel>,
        tag: impl Into<TagSel>,
    ) -> Result<Option<MatchedMessage>, RecvError> {
        let selector = Selector::new(source, tag);
        self.settle();
        let found = self.try_probe(comm, selector, true)?;
        Ok(found.and_then(|(message, taken)| self.matched(message, taken)))
    }

    /// Waits for an unexpected message that fits and takes it out of matching: `MPI_Mprobe` (MPI
    /// 4.1, section 3.8.2).
    ///
    /// # Errors
    /// The errors of [`iprobe`](Self::iprobe).
    pub fn mprobe(
        &mut self,
        comm: &Communicator,
        source: impl Into<SourceSel>,
        tag: impl Into<TagSel>,
    ) -> Result<MatchedMessage, RecvError> {
        let selector = Selector::new(source, tag);
        let (message, taken) = self.poll_until_found(comm, selector, true)?;
        self.matched(message, taken).ok_or(RecvError::Stopped)
    }

    /// Starts to receive a message that a matched probe took: `MPI_Imrecv` (MPI 4.1, section
    /// 3.8.3).
    ///
    /// # Errors
    /// [`PostError::Stopped`], with the buffer.
    pub fn imrecv(
        &mut self,
        matched: MatchedMessage,
        mut buffer: Vec<u8>,
    ) -> Result<RecvRequest, PostError> {
        let MatchedMessage {
            endpoint,
            message,
            taken,
        } = matched;
        self.check_own(endpoint);
        let comm: CommId = message.envelope.comm;
        let held = match taken.into_payload() {
            Ok(payload) => {
                if payload.read(&mut buffer).is_none() {
                    return Err(PostError::Stopped(buffer));
                }
                let ended = Ended::Received(buffer, message);
                let index = self.requests.insert_ended(self.port.take_slot(comm), ended);
                return Ok(self.handle(index));
            }
            Err(held) => held,
        };
        let mut waiting = Some((held, buffer));
        let asked = self.wait_until(|endpoint| {
            let (held, buffer) = waiting.take()?;
            match endpoint.port.receive(held, buffer, 0) {
                Ok(id) => Some(id),
                Err((_, held, buffer)) => {
                    waiting = Some((held, buffer));
                    None
                }
            }
        });
        match asked {
            Ok(id) => {
                let index = self.requests.insert(id.slot());
                Ok(self.handle(index))
            }
            Err(Stopped) => Err(PostError::Stopped(
                waiting.map(|(_, buffer)| buffer).unwrap_or_default(),
            )),
        }
    }

    /// Receives a message that a matched probe took: `MPI_Mrecv` (MPI 4.1, section 3.8.3).
    ///
    /// # Errors
    /// [`RecvError::Truncated`], [`RecvError::Stopped`].
    pub fn mrecv(
        &mut self,
        matched: MatchedMessage,
        buffer: Vec<u8>,
    ) -> Result<Received, RecvError> {
        let request = self.imrecv(matched, buffer)?;
        self.wait(request)
    }

    fn matched(&self, message: Message, taken: Option<TakenMessage>) -> Option<MatchedMessage> {
        Some(MatchedMessage {
            endpoint: self.name,
            message,
            taken: taken?,
        })
    }

    fn settle(&mut self) {
        for _ in 0..ROUNDS_BEFORE {
            if !self.progress() {
                break;
            }
        }
    }

    fn poll_until_found(
        &mut self,
        comm: &Communicator,
        selector: Selector,
        take: bool,
    ) -> Result<(Message, Option<TakenMessage>), RecvError> {
        let mut wait = dpa_model::Wait::new();
        let mut seen = self.port.arrivals().1;
        loop {
            if let Some(found) = self.try_probe(comm, selector, take)? {
                return Ok(found);
            }
            // Only a new message counts as progress, an answer does not.
            let arrived = self.port.arrivals().1;
            if self.progress() || arrived != seen {
                wait = dpa_model::Wait::new();
                seen = arrived;
            } else {
                wait.pause();
            }
        }
    }

    fn try_probe(
        &mut self,
        comm: &Communicator,
        selector: Selector,
        take: bool,
    ) -> Result<Option<(Message, Option<TakenMessage>)>, RecvError> {
        self.check_own(comm.endpoint);
        if !comm.allows(selector) {
            return Err(RecvError::WildcardExcluded(Vec::new()));
        }
        self.probing = Some((comm.id, selector, take));
        self.command(|port| port.probe(comm.id, selector, take, 0))?;
        let Answer::Probed { found, taken } = self.answer()? else {
            return Ok(None);
        };
        Ok(found.map(|message| (message, taken)))
    }
}
