//! The wire: how endpoints connect and exchange records.
//!
//! Every endpoint listens on an abstract Unix socket, and on a TCP socket where an address to bind
//! to was given. A peer that connects says hello with its own address and the key that it was
//! given with this endpoint's address. Between processes of one machine the hello carries the
//! descriptor of a memory file with two rings, one for each direction; the socket then only
//! reports a lost peer and wakes a sleeper. Over TCP both sides first prove that they know that key
//! (`proof`), and the hello follows. There are no names in a file system, so a killed
//! process leaves nothing behind, and `/dev/shm` need not exist.
//!
//! Each process writes to its own memory and to the rings, and to nothing else. It may read the
//! memory of a peer that has announced a send or a write, or granted a read (`lease`, `witness`).
//!
//! **Trust.** A peer on the Unix socket must have this process's user, as the kernel says; every
//! peer must know the endpoint's key. A process with the key belongs to the job, and the endpoint
//! trusts its identity, since each process of a job has all addresses and keys. It trusts no other
//! data of a peer: it checks every number before using it as a length, an index or a kind, and cuts
//! off a peer that breaks a rule.

mod address;
mod bells;
mod board;
mod channel;
mod file;
mod inner;
mod lease;
mod link;
mod listener;
mod memory;
mod peers;
mod proof;
mod record;
mod ring;
mod shared;
mod tcp;
mod witness;

pub(crate) use address::Address;
pub(crate) use board::{BELLS, Board};
pub(crate) use channel::SharedInner;
#[cfg(test)]
pub(crate) use file::{new_file, send_file};
pub(crate) use link::{Lent, Link, LinkError};
pub(crate) use listener::{Hello, Listener, PendingPeer, Source, TcpChoice, connect};
pub(crate) use memory::{PeerMemory, gather, scatter};
#[cfg(test)]
pub(crate) use peers::PEERS_MIN;
pub(crate) use peers::{PeerId, Peers};
#[cfg(test)]
pub(crate) use proof::{CALL, PROOF, answer, call};
pub(crate) use record::{Bytes, EAGER_MAX, INLINE, Kind, LONG_MAX, Record, flag};
#[cfg(test)]
pub(crate) use ring::ring_bytes;
#[cfg(test)]
pub(crate) use tcp::{IN_MAX, OUT_MAX};
