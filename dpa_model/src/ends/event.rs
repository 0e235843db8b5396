//! The NIC's reports to the host, and the names and handles in them.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::CommId;
use crate::message::Message;
use crate::number::StoredId;
use crate::region::RegionKey;
use crate::shared::{NicName, Shared};

/// A request that the NIC or the host's software is working on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct RequestId(pub(crate) u64);

/// The bit of a slot's number that marks a request without a slot.
const NUMBERED: u32 = 1 << 31;

impl RequestId {
    /// A name that no request ever has.
    pub const NONE: Self = Self(u64::MAX);

    /// A small number, unique among this port's living requests and among ended ones whose end
    /// software matching still holds back.
    pub fn slot(self) -> usize {
        (self.0 & u64::from(u32::MAX)) as usize
    }

    /// The whole name as a number, unique among all requests of this port.
    pub fn as_u64(self) -> u64 {
        self.0
    }

    /// The request of a name that [`as_u64`](Self::as_u64) gave.
    pub fn from_u64(name: u64) -> Self {
        Self(name)
    }

    /// The request of a receive that [`Leader::post_now`](crate::Leader::post_now) posted under
    /// this number, below 2^31. No request of a port has this name: a port has fewer slots.
    #[inline]
    pub fn of_number(number: u32) -> Self {
        Self(u64::from(number | NUMBERED))
    }

    /// The number of a receive that [`Leader::post_now`](crate::Leader::post_now) posted.
    #[inline]
    pub fn number(self) -> Option<u32> {
        // No generation.
        (self.0 >> 31 == 1).then_some(self.0 as u32 & !NUMBERED)
    }

    pub(crate) fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// A receive or probe that the NIC sent on to the host; only these can be withdrawn.
#[derive(PartialEq, Eq, Debug)]
pub struct ForwardedRequest {
    pub(crate) request: RequestId,
    /// The NIC that sent it on. It has forgotten the request; another NIC may use the same name.
    pub(crate) nic: NicName,
}

impl ForwardedRequest {
    /// Its name.
    pub fn id(&self) -> RequestId {
        self.request
    }
}

/// An unexpected message that a matched probe took out of matching. If the NIC holds it,
/// [`receive`](crate::HostPort::receive) fetches it; if software matching does,
/// [`into_payload`](Self::into_payload) returns its data.
///
/// Dropping it loses the message: the NIC frees its memory when the host next polls, and reports
/// the loss to a sender that waits.
#[derive(Debug)]
#[must_use = "the message is lost unless it is received"]
pub struct TakenMessage(Held);

#[derive(Debug)]
enum Held {
    ByNic(Stored),
    BySoftware(Payload),
}

/// An entry of the unexpected store outside all chains.
struct Stored {
    shared: Arc<Shared>,
    comm: CommId,
    /// `NIL` once received.
    entry: StoredId,
}

impl TakenMessage {
    pub(crate) fn new(shared: &Arc<Shared>, comm: CommId, entry: StoredId) -> Self {
        Self(Held::ByNic(Stored {
            shared: shared.clone(),
            comm,
            entry,
        }))
    }

    /// A message that software matching holds.
    pub fn by_software(payload: Payload) -> Self {
        Self(Held::BySoftware(payload))
    }

    /// The data of a message that software matching holds.
    ///
    /// # Errors
    /// The message, if the NIC holds it.
    pub fn into_payload(self) -> Result<Payload, Self> {
        match self.0 {
            Held::BySoftware(payload) => Ok(payload),
            held @ Held::ByNic(_) => Err(Self(held)),
        }
    }

    pub(crate) fn is_on(&self, nic: &Arc<Shared>) -> bool {
        matches!(&self.0, Held::ByNic(stored) if Arc::ptr_eq(&stored.shared, nic))
    }

    /// Communicator and entry, for a command that receives it; `None` if the NIC does not hold it.
    pub(crate) fn receive(self) -> Option<(CommId, StoredId)> {
        match self.0 {
            Held::ByNic(mut stored) => Some((
                stored.comm,
                core::mem::replace(&mut stored.entry, StoredId::NIL),
            )),
            Held::BySoftware(_) => None,
        }
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        if self.entry != StoredId::NIL {
            self.shared.dropped.put(self.entry);
        }
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored")
            .field("entry", &self.entry)
            .finish_non_exhaustive()
    }
}

/// The command queue is full; poll for completions and try again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandQueueFull;

impl fmt::Display for CommandQueueFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the NIC's command queue is full")
    }
}

impl core::error::Error for CommandQueueFull {}

/// The data of a message that the NIC sent on to the host for software matching.
#[derive(Debug)]
pub enum Payload {
    /// The whole payload.
    Eager(Vec<u8>),
    /// The data is still at the sender.
    Rendezvous(RemoteData),
}

impl Payload {
    /// Copies as much as fits into `target` and returns the number of bytes copied. `None`: the NIC
    /// has stopped, and the sender has taken its buffer back.
    pub fn read(self, target: &mut [u8]) -> Option<usize> {
        match self {
            Self::Eager(bytes) => {
                let length = bytes.len().min(target.len());
                target[..length].copy_from_slice(&bytes[..length]);
                Some(length)
            }
            Self::Rendezvous(data) => data.read(target),
        }
    }
}

/// The sender's registered buffer of a rendezvous message. If dropped unread, it reports to
/// the sender that its message was not received.
///
/// Source: O21.
pub struct RemoteData {
    shared: Arc<Shared>,
    key: RegionKey,
    read: bool,
}

impl RemoteData {
    pub(crate) fn new(shared: &Arc<Shared>, key: RegionKey) -> Self {
        Self {
            shared: shared.clone(),
            key,
            read: false,
        }
    }

    /// RDMA read: copies as much as fits into `target`, releases the sender, and returns the number
    /// of bytes copied. `None`: the NIC has stopped, and the sender has taken its buffer back.
    pub fn read(mut self, target: &mut [u8]) -> Option<usize> {
        self.read = true;
        self.shared.regions.read_on_host(self.key, |bytes| {
            let length = bytes.len().min(target.len());
            target[..length].copy_from_slice(&bytes[..length]);
            length
        })
    }
}

impl Drop for RemoteData {
    fn drop(&mut self) {
        if !self.read {
            self.shared.regions.give_up(self.key);
        }
    }
}

impl fmt::Debug for RemoteData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteData")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// A report of [`poll`](crate::HostPort::poll), or of software matching for what the NIC sent on.
/// All events of a port come in the order of matching.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A receive is complete; a `message.length` above the buffer's length means truncation.
    Received {
        /// The receive; no longer valid.
        request: RequestId,
        /// Its buffer, filled.
        buffer: Vec<u8>,
        /// The message received.
        message: Message,
        /// Whether the message had been unexpected.
        late: bool,
    },
    /// The receive entered a posted queue. The NIC reports this only with the order log, software
    /// always.
    Admitted {
        /// The receive.
        request: RequestId,
    },
    /// The message entered an unexpected queue. The NIC reports this only with the order log,
    /// software always.
    Unexpected {
        /// The message.
        message: Message,
    },
    /// The receive is for software matching; end it with [`withdraw`](crate::HostPort::withdraw).
    PostForwarded {
        /// The receive.
        request: ForwardedRequest,
    },
    /// The message is for software matching.
    ArrivalForwarded {
        /// The message.
        message: Message,
        /// Its data.
        payload: Payload,
    },
    /// The receive or probe uses a wildcard that the communicator's hints exclude.
    Refused {
        /// The request; no longer valid.
        request: RequestId,
        /// Its buffer; empty for a probe.
        buffer: Vec<u8>,
    },
    /// The receive was cancelled.
    Cancelled {
        /// The receive; no longer valid.
        request: RequestId,
        /// Its buffer.
        buffer: Vec<u8>,
    },
    /// The receive could not be cancelled: it has matched.
    TooLate {
        /// The receive; its completion has come or comes on its own.
        request: RequestId,
    },
    /// The receive to cancel is not on the NIC: look in the software list.
    CancelForwarded {
        /// The receive.
        request: RequestId,
        /// Its communicator; none that exists if the receive had ended before the cancel.
        comm: CommId,
    },
    /// Answer to a probe.
    Probed {
        /// The probe; no longer valid.
        request: RequestId,
        /// The oldest fitting unexpected message.
        found: Option<Message>,
        /// The message, if a matched probe took it.
        taken: Option<TakenMessage>,
    },
    /// Nothing on the NIC fits: search the software list, then call
    /// [`withdraw`](crate::HostPort::withdraw).
    ProbeForwarded {
        /// The probe.
        request: ForwardedRequest,
        /// Whether it is a matched probe.
        take: bool,
    },
    /// Answer to [`create`](crate::HostPort::create).
    Created {
        /// The request; no longer valid.
        request: RequestId,
        /// Whether the NIC has tables for the communicator.
        offloaded: bool,
    },
    /// Answer to [`free`](crate::HostPort::free).
    Freed {
        /// The request; no longer valid.
        request: RequestId,
        /// Whether receives or messages are left; if so, the communicator was not freed.
        busy: bool,
    },
    /// The communicator is matched on the NIC again.
    Resumed {
        /// The communicator.
        comm: CommId,
    },
    /// The NIC declined the hand-back: it has sent on more since, or has no room.
    Declined {
        /// The communicator.
        comm: CommId,
        /// The receives offered with it.
        receives: Vec<ForwardedRequest>,
    },
}
