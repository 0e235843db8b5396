//! Software matching for commands and messages that the card forwards when its tables are full. A
//! forwarded communicator stays here; the library's host would return it.

use dpa_model::{
    Event, ForwardedRequest, HostPort, Message, Payload, RequestId, TakenMessage, TwoLists,
};

/// Forwarded receives and messages, not yet matched.
#[derive(Debug, Default)]
pub(crate) struct Software {
    lists: TwoLists<ForwardedRequest, (Message, Payload)>,
    forwarded: usize,
}

impl Software {
    pub(crate) fn forwarded(&self) -> usize {
        self.forwarded
    }

    /// Handles the part of an event that concerns software matching; returns what is left for the
    /// caller.
    pub(crate) fn digest(&mut self, port: &mut HostPort, event: Event) -> Option<Event> {
        match event {
            Event::PostForwarded { request } => {
                let (comm, selector) = port.describe(request.id())?;
                self.forwarded += 1;
                let (request, (message, payload)) = self.lists.post(request, comm, selector)?;
                deliver(port, request, message, payload, true)
            }
            Event::ArrivalForwarded { message, payload } => {
                self.forwarded += 1;
                let arrival = (message, payload);
                let (request, (message, payload)) = self.lists.arrive(arrival, message.envelope)?;
                deliver(port, request, message, payload, false)
            }
            Event::CancelForwarded { request, .. } => {
                let cancelled = self.lists.cancel(|receive| receive.id() == request);
                Some(match cancelled {
                    Some(receive) => Event::Cancelled {
                        request,
                        buffer: port.withdraw(receive),
                    },
                    None => Event::TooLate { request },
                })
            }
            Event::ProbeForwarded { request, take } => self.probe(port, request, take),
            decided => Some(decided),
        }
    }

    fn probe(
        &mut self,
        port: &mut HostPort,
        forwarded: ForwardedRequest,
        take: bool,
    ) -> Option<Event> {
        let request = forwarded.id();
        let (comm, selector) = port.describe(request)?;
        port.withdraw(forwarded);
        if !take {
            let found = self.lists.probe(comm, selector).map(|held| held.0);
            return Some(Event::Probed {
                request,
                found,
                taken: None,
            });
        }
        let (found, payload) = self.lists.take(comm, selector).unzip();
        Some(Event::Probed {
            request,
            found,
            taken: payload.map(TakenMessage::by_software),
        })
    }
}

fn deliver(
    port: &mut HostPort,
    forwarded: ForwardedRequest,
    message: Message,
    payload: Payload,
    late: bool,
) -> Option<Event> {
    let request: RequestId = forwarded.id();
    let mut buffer = port.withdraw(forwarded);
    payload.read(&mut buffer)?;
    Some(Event::Received {
        request,
        buffer,
        message,
        late,
    })
}
