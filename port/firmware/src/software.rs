//! Software matching for what the card sends on when its tables are full: two lists, in the order
//! of matching. A communicator that was sent on stays here; the library's host gives it back.

use alloc::vec::Vec;

use dpa_model::{
    CommId, Envelope, Event, ForwardedRequest, HostPort, Message, Payload, RequestId, Selector,
    TakenMessage,
};

/// What was sent on and is not matched yet.
#[derive(Default)]
pub(crate) struct Software {
    receives: Vec<(ForwardedRequest, CommId, Selector)>,
    messages: Vec<(Message, Payload)>,
    /// Posts and messages that were sent on.
    forwarded: usize,
}

impl Software {
    /// Posts and messages that were sent on so far.
    pub(crate) fn forwarded(&self) -> usize {
        self.forwarded
    }

    /// What an event means once this has done its part; `None`: nothing yet.
    pub(crate) fn digest(&mut self, port: &mut HostPort, event: Event) -> Option<Event> {
        match event {
            Event::PostForwarded { request } => self.post(port, request),
            Event::ArrivalForwarded { message, payload } => self.arrive(port, message, payload),
            Event::CancelForwarded { request, .. } => Some(self.cancel(port, request)),
            Event::ProbeForwarded { request, take } => self.probe(port, request, take),
            decided => Some(decided),
        }
    }

    fn post(&mut self, port: &mut HostPort, request: ForwardedRequest) -> Option<Event> {
        let (comm, selector) = port.describe(request.id())?;
        self.forwarded += 1;
        match self.oldest_message(comm, selector) {
            Some(index) => {
                let (message, payload) = self.messages.remove(index);
                deliver(port, request, message, payload, true)
            }
            None => {
                self.receives.push((request, comm, selector));
                None
            }
        }
    }

    fn arrive(&mut self, port: &mut HostPort, message: Message, payload: Payload) -> Option<Event> {
        self.forwarded += 1;
        let fits = |&(_, comm, selector): &(ForwardedRequest, CommId, Selector)| {
            accepts(comm, selector, &message.envelope)
        };
        match self.receives.iter().position(fits) {
            Some(index) => {
                let (request, ..) = self.receives.remove(index);
                deliver(port, request, message, payload, false)
            }
            None => {
                self.messages.push((message, payload));
                None
            }
        }
    }

    fn cancel(&mut self, port: &mut HostPort, request: RequestId) -> Event {
        match self.receives.iter().position(|receive| receive.0.id() == request) {
            Some(index) => {
                let (forwarded, ..) = self.receives.remove(index);
                Event::Cancelled { request, buffer: port.withdraw(forwarded) }
            }
            None => Event::TooLate { request },
        }
    }

    fn probe(
        &mut self,
        port: &mut HostPort,
        request: ForwardedRequest,
        take: bool,
    ) -> Option<Event> {
        let id = request.id();
        let (comm, selector) = port.describe(id)?;
        port.withdraw(request);
        let index = self.oldest_message(comm, selector);
        if !take {
            let found = index.map(|index| self.messages[index].0);
            return Some(Event::Probed { request: id, found, taken: None });
        }
        let held = index.map(|index| self.messages.remove(index));
        let found = held.as_ref().map(|held| held.0);
        let taken = held.map(|held| TakenMessage::by_software(held.1));
        Some(Event::Probed { request: id, found, taken })
    }

    fn oldest_message(&self, comm: CommId, selector: Selector) -> Option<usize> {
        self.messages.iter().position(|held| accepts(comm, selector, &held.0.envelope))
    }
}

fn accepts(comm: CommId, selector: Selector, envelope: &Envelope) -> bool {
    envelope.comm == comm && selector.accepts(envelope.source, envelope.tag)
}

fn deliver(
    port: &mut HostPort,
    request: ForwardedRequest,
    message: Message,
    payload: Payload,
    late: bool,
) -> Option<Event> {
    let id = request.id();
    let mut buffer = port.withdraw(request);
    payload.read(&mut buffer)?;
    Some(Event::Received { request: id, buffer, message, late })
}
