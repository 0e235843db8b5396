//! What the NIC tells the host, and the names and handles in it.

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

impl RequestId {
    /// Names no request, ever.
    pub const NONE: Self = Self(u64::MAX);

    /// A small number that no other living request of this port has, nor one whose end software
    /// matching still keeps back.
    pub fn slot(self) -> usize {
        (self.0 & u64::from(u32::MAX)) as usize
    }

    /// The whole name as a number; never that of another request of this port.
    pub fn as_u64(self) -> u64 {
        self.0
    }

    /// The request of that name, as [`as_u64`](Self::as_u64) gave it.
    pub fn from_u64(name: u64) -> Self {
        Self(name)
    }

    pub(crate) fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// A receive or probe that the NIC sent on to the host: only such a one can be withdrawn.
#[derive(PartialEq, Eq, Debug)]
pub struct ForwardedRequest {
    pub(crate) request: RequestId,
    /// Which NIC sent it on: that one has forgotten it, another may be using a request of the same
    /// name.
    pub(crate) nic: NicName,
}

impl ForwardedRequest {
    /// Its name.
    pub fn id(&self) -> RequestId {
        self.request
    }
}

/// An unexpected message that a matched probe took out of matching. The NIC holds it, and
/// [`receive`](crate::HostPort::receive) fetches it; or software matching does, and
/// [`into_payload`](Self::into_payload) gives its data.
///
/// Dropped instead, it is lost: the NIC gives its memory back when the host next polls, and a
/// sender that waits for it is told.
#[derive(Debug)]
#[must_use = "the message is lost unless it is received"]
pub struct TakenMessage(Held);

#[derive(Debug)]
enum Held {
    ByNic(Stored),
    BySoftware(Payload),
}

/// An entry of the unexpected store that is in no chain.
struct Stored {
    shared: Arc<Shared>,
    comm: CommId,
    /// None: received.
    entry: StoredId,
}

impl TakenMessage {
    pub(crate) fn new(shared: &Arc<Shared>, comm: CommId, entry: StoredId) -> Self {
        Self(Held::ByNic(Stored { shared: shared.clone(), comm, entry }))
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

    /// Communicator and entry, for a command that receives it; `None`: the NIC does not hold it.
    pub(crate) fn receive(self) -> Option<(CommId, StoredId)> {
        match self.0 {
            Held::ByNic(mut stored) => {
                Some((stored.comm, core::mem::replace(&mut stored.entry, StoredId::NIL)))
            }
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
        f.debug_struct("Stored").field("entry", &self.entry).finish_non_exhaustive()
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

/// A message's data, sent on to the host for software matching.
#[derive(Debug)]
pub enum Payload {
    /// All of it.
    Eager(Vec<u8>),
    /// Still at the sender.
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

/// The sender's registered buffer of a rendezvous message (O21). Dropped unread, it tells the
/// sender that its message was not received.
pub struct RemoteData {
    shared: Arc<Shared>,
    key: RegionKey,
    read: bool,
}

impl RemoteData {
    pub(crate) fn new(shared: &Arc<Shared>, key: RegionKey) -> Self {
        Self { shared: shared.clone(), key, read: false }
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
        f.debug_struct("RemoteData").field("key", &self.key).finish_non_exhaustive()
    }
}

/// What [`poll`](crate::HostPort::poll) reports, and software matching for what it was sent. All
/// events of a port come in the order of matching.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A receive is complete; `message.length` may exceed the buffer: truncation.
    Received {
        /// Which receive; no longer valid.
        request: RequestId,
        /// Its buffer, filled.
        buffer: Vec<u8>,
        /// What was received.
        message: Message,
        /// The message had been unexpected.
        late: bool,
    },
    /// The receive entered a posted queue: told by the NIC with the order log, by software always.
    Admitted {
        /// Which receive.
        request: RequestId,
    },
    /// The message entered an unexpected queue: told by the NIC with the order log, by software
    /// always.
    Unexpected {
        /// Which message.
        message: Message,
    },
    /// The receive is for software matching; end it with [`withdraw`](crate::HostPort::withdraw).
    PostForwarded {
        /// Which receive.
        request: ForwardedRequest,
    },
    /// The message is for software matching.
    ArrivalForwarded {
        /// Which message.
        message: Message,
        /// Its data.
        payload: Payload,
    },
    /// The receive or probe uses a wildcard that the communicator's hints exclude.
    Refused {
        /// Which request; no longer valid.
        request: RequestId,
        /// Its buffer; empty for a probe.
        buffer: Vec<u8>,
    },
    /// The receive was cancelled.
    Cancelled {
        /// Which receive; no longer valid.
        request: RequestId,
        /// Its buffer.
        buffer: Vec<u8>,
    },
    /// The receive could not be cancelled: it has matched.
    TooLate {
        /// Which receive; its completion came or comes on its own.
        request: RequestId,
    },
    /// The receive to cancel is not on the NIC: look in the software list.
    CancelForwarded {
        /// Which receive.
        request: RequestId,
        /// Its communicator; one that nobody has if the receive had ended when it was cancelled.
        comm: CommId,
    },
    /// Answer to a probe.
    Probed {
        /// Which probe; no longer valid.
        request: RequestId,
        /// The oldest fitting unexpected message.
        found: Option<Message>,
        /// A matched probe's hold on it.
        taken: Option<TakenMessage>,
    },
    /// Nothing fits on the NIC: look in the software list; end it with
    /// [`withdraw`](crate::HostPort::withdraw).
    ProbeForwarded {
        /// Which probe.
        request: ForwardedRequest,
        /// It is a matched probe.
        take: bool,
    },
    /// Answer to [`create`](crate::HostPort::create).
    Created {
        /// Which request; no longer valid.
        request: RequestId,
        /// Whether the NIC has tables for the communicator.
        offloaded: bool,
    },
    /// Answer to [`free`](crate::HostPort::free).
    Freed {
        /// Which request; no longer valid.
        request: RequestId,
        /// Receives or messages are left: nothing was done.
        busy: bool,
    },
    /// The communicator is matched on the NIC again.
    Resumed {
        /// Which communicator.
        comm: CommId,
    },
    /// It is not: the NIC has sent on more since, or has no room.
    Declined {
        /// Which communicator.
        comm: CommId,
        /// The receives that were offered with it.
        receives: Vec<ForwardedRequest>,
    },
}
