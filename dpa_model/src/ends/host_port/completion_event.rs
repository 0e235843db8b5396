//! Events of completions other than received messages.

use super::HostPort;
use crate::ends::event::{Event, ForwardedRequest, Payload, RemoteData, RequestId, TakenMessage};
use crate::message::{Completion, Message, Protocol, inline_bytes};
use crate::number::StoredId;
use crate::region::RegionKey;

impl HostPort {
    /// The event of a completion; `None` for an empty position and for a received message.
    #[cold]
    pub(super) fn other_event(&mut self, result: Completion, position: u64) -> Option<Event> {
        Some(match result {
            Completion::None | Completion::Received { .. } => return None,
            Completion::Admitted { request } => Event::Admitted {
                request: RequestId(request),
            },
            Completion::Unexpected { message } => Event::Unexpected { message },
            Completion::PostForwarded { request } => Event::PostForwarded {
                request: self.forwarded(request),
            },
            Completion::ArrivalForwarded {
                message,
                protocol,
                payload,
            } => Event::ArrivalForwarded {
                message,
                payload: self.payload(message, protocol, payload, position),
            },
            Completion::Refused { request } => {
                let request = RequestId(request);
                Event::Refused {
                    request,
                    buffer: self.requests.end(request),
                }
            }
            Completion::Cancelled { request } => {
                let request = RequestId(request);
                Event::Cancelled {
                    request,
                    buffer: self.requests.end(request),
                }
            }
            Completion::TooLate { request } => Event::TooLate {
                request: RequestId(request),
            },
            Completion::CancelForwarded { request, comm } => Event::CancelForwarded {
                request: RequestId(request),
                comm,
            },
            Completion::ProbedNone { request } => self.probed(RequestId(request), None, None),
            Completion::Probed { request, message } => {
                self.probed(RequestId(request), Some(message), None)
            }
            Completion::ProbedTaken {
                entry,
                request,
                message,
            } => self.probed(RequestId(request), Some(message), Some(entry)),
            Completion::ProbeForwarded { request, take } => Event::ProbeForwarded {
                request: self.forwarded(request),
                take,
            },
            Completion::Created { request, offloaded } => {
                let request = RequestId(request);
                self.requests.end(request);
                Event::Created { request, offloaded }
            }
            Completion::Freed { request, busy } => {
                let request = RequestId(request);
                self.requests.end(request);
                Event::Freed { request, busy }
            }
            Completion::Resumed { comm } => {
                self.offered = None;
                self.requests.end_parking();
                Event::Resumed { comm }
            }
            Completion::Declined { comm } => {
                self.requests.end_parking();
                Event::Declined {
                    comm,
                    receives: self.offered.take().unwrap_or_default(),
                }
            }
        })
    }

    /// A probe has ended; `entry`: the store's entry that holds the message of a matched one.
    fn probed(
        &mut self,
        request: RequestId,
        found: Option<Message>,
        entry: Option<StoredId>,
    ) -> Event {
        self.requests.end(request);
        let taken = found
            .zip(entry)
            .map(|(message, entry)| TakenMessage::new(&self.shared, message.envelope.comm, entry));
        Event::Probed {
            request,
            found,
            taken,
        }
    }

    fn forwarded(&self, request: u64) -> ForwardedRequest {
        ForwardedRequest {
            request: RequestId(request),
            nic: self.nic(),
        }
    }

    fn payload(
        &self,
        message: Message,
        protocol: Protocol,
        payload: [u64; 3],
        position: u64,
    ) -> Payload {
        match protocol {
            Protocol::Inline => Payload::Eager(inline_bytes(&payload, message.length).to_vec()),
            Protocol::Buffered => {
                let staging = (position % self.shared.completions.depth()) as usize;
                // SAFETY: the buffer belongs to this ring position until it is released.
                let bytes = unsafe {
                    self.shared
                        .staging
                        .read(staging, message.length as usize, <[u8]>::to_vec)
                };
                Payload::Eager(bytes)
            }
            Protocol::Rendezvous => {
                Payload::Rendezvous(RemoteData::new(&self.shared, RegionKey(payload[0])))
            }
        }
    }
}
