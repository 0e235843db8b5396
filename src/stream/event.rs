//! An event and its text form.

use std::fmt;

use dpamatch_vocabulary::{CommId, Envelope, MsgId, Operation, ProbeId, RecvId, Selector};

use crate::engine::Collective;

/// One line of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// A receive is posted.
    Post {
        /// Its id.
        recv: RecvId,
        /// Its communicator.
        comm: CommId,
        /// What it accepts.
        selector: Selector,
        /// Size of its buffer in bytes, if given.
        size: Option<u64>,
        /// The collective operation it belongs to; `None` for point-to-point.
        coll: Option<Collective>,
    },
    /// A message arrives.
    Arrive {
        /// Its id.
        msg: MsgId,
        /// Its envelope.
        envelope: Envelope,
        /// Its length in bytes, if given.
        bytes: Option<u64>,
        /// The collective operation it belongs to; `None` for point-to-point.
        coll: Option<Collective>,
        /// Bits that its sender flips in each hash of the header; 0 from an honest sender. Only an
        /// emulated NIC sees hashes.
        lie: u32,
    },
    /// A receive is cancelled.
    Cancel {
        /// The receive; it may be matched already, or never have been posted.
        recv: RecvId,
    },
    /// A probe for the oldest unexpected message.
    Probe {
        /// Names the result.
        probe: ProbeId,
        /// Communicator searched.
        comm: CommId,
        /// What it accepts.
        selector: Selector,
    },
    /// A probe that takes the oldest unexpected message out of matching.
    Mprobe {
        /// Names the result.
        probe: ProbeId,
        /// Communicator searched.
        comm: CommId,
        /// What it accepts.
        selector: Selector,
    },
}

impl Event {
    /// Bits that the sender of an arriving message flips in each hash of its header.
    pub fn lie(&self) -> u32 {
        match *self {
            Self::Arrive { lie, .. } => lie,
            _ => 0,
        }
    }

    /// Length of an arriving message in bytes, if given.
    pub fn length(&self) -> Option<u64> {
        match *self {
            Self::Arrive { bytes, .. } => bytes,
            _ => None,
        }
    }

    /// The event as an operation. `room` and `length`: default bytes of a receive's buffer and of a
    /// message. An operation's lengths have 32 bits: a longer one becomes `u32::MAX`. Times follow
    /// from [`length`](Self::length), which is exact.
    pub fn operation(&self, room: u32, length: u32) -> Operation {
        let bytes = |given: Option<u64>, otherwise| {
            given.map_or(otherwise, |given| u32::try_from(given).unwrap_or(u32::MAX))
        };
        match *self {
            Self::Post {
                recv,
                comm,
                selector,
                size,
                ..
            } => Operation::Post {
                recv,
                comm,
                selector,
                bytes: bytes(size, room),
            },
            Self::Arrive {
                msg,
                envelope,
                bytes: given,
                ..
            } => Operation::Arrive {
                msg,
                envelope,
                bytes: bytes(given, length),
            },
            Self::Cancel { recv } => Operation::Cancel { recv },
            Self::Probe {
                probe,
                comm,
                selector,
            } => Operation::Probe {
                probe,
                comm,
                selector,
                take: false,
            },
            Self::Mprobe {
                probe,
                comm,
                selector,
            } => Operation::Probe {
                probe,
                comm,
                selector,
                take: true,
            },
        }
    }
}

fn write_selector(f: &mut fmt::Formatter<'_>, comm: CommId, selector: Selector) -> fmt::Result {
    write!(f, ",{}", comm.0)?;
    for number in [selector.source.number(), selector.tag.number()] {
        match number {
            None => f.write_str(",*")?,
            Some(number) => write!(f, ",{number}")?,
        }
    }
    Ok(())
}

fn write_keys(
    f: &mut fmt::Formatter<'_>,
    key: &str,
    length: Option<u64>,
    coll: Option<Collective>,
) -> fmt::Result {
    if let Some(bytes) = length {
        write!(f, ",{key}={bytes}")?;
    }
    if let Some(Collective { name, bytes }) = coll {
        write!(f, ",coll={name}")?;
        if let Some(bytes) = bytes {
            write!(f, ",collbytes={bytes}")?;
        }
    }
    Ok(())
}

/// The event's line, without the line end.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Post {
                recv,
                comm,
                selector,
                size,
                coll,
            } => {
                write!(f, "post,{}", recv.0)?;
                write_selector(f, comm, selector)?;
                write_keys(f, "size", size, coll)
            }
            Self::Arrive {
                msg,
                envelope: Envelope { comm, source, tag },
                bytes,
                coll,
                lie,
            } => {
                write!(
                    f,
                    "arrive,{},{},{},{}",
                    msg.0,
                    comm.0,
                    source.get(),
                    tag.get()
                )?;
                write_keys(f, "bytes", bytes, coll)?;
                match lie {
                    0 => Ok(()),
                    _ => write!(f, ",lie={lie}"),
                }
            }
            Self::Cancel { recv } => write!(f, "cancel,{}", recv.0),
            Self::Probe {
                probe,
                comm,
                selector,
            } => {
                write!(f, "probe,{}", probe.0)?;
                write_selector(f, comm, selector)
            }
            Self::Mprobe {
                probe,
                comm,
                selector,
            } => {
                write!(f, "mprobe,{}", probe.0)?;
                write_selector(f, comm, selector)
            }
        }
    }
}
