//! The records of a location, chunk by chunk.

use std::collections::BTreeMap;

use crate::TraceError;
use crate::region::Region;

use super::cursor::{Cursor, Fault};

/// Kinds of records that are read.
mod kind {
    pub(super) const END_OF_CHUNK: u8 = 0;
    pub(super) const END_OF_BUFFER: u8 = 1;
    pub(super) const END_OF_FILE: u8 = 2;
    pub(super) const TIMESTAMP: u8 = 5;
    pub(super) const ENTER: u8 = 12;
    pub(super) const LEAVE: u8 = 13;
    pub(super) const SEND: u8 = 14;
    pub(super) const ISEND: u8 = 15;
    pub(super) const ISEND_COMPLETE: u8 = 16;
    pub(super) const IRECV_REQUEST: u8 = 17;
    pub(super) const RECV: u8 = 18;
    pub(super) const IRECV: u8 = 19;
    pub(super) const REQUEST_TEST: u8 = 20;
    pub(super) const REQUEST_CANCELLED: u8 = 21;
    pub(super) const COLLECTIVE_END: u8 = 23;
    pub(super) const PROBE: u8 = 89;
    pub(super) const MATCHED_RECV: u8 = 90;
    pub(super) const MATCHED_IRECV_REQUEST: u8 = 91;
    pub(super) const MATCHED_IRECV: u8 = 92;
    /// Records of one number and without a length, as 12, 13, 16, 17, 20 and 21.
    pub(super) const OMP: [u8; 4] = [24, 28, 29, 30];
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Message {
    /// The other rank in the communicator.
    pub(super) peer: u32,
    pub(super) comm: u32,
    pub(super) tag: u32,
    pub(super) bytes: u64,
}

/// A record; the last number of operations without blocking is the request's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    Enter(u32),
    Leave(u32),
    Send(Message),
    Isend(Message, u64),
    Sent(u64),
    Posted(u64),
    Recv(Message),
    Received(Message, u64),
    /// A probe that found a message, whose length is unknown, and the message's number.
    Probe(Message, u64),
    /// A receive of the message with this number, and its length.
    MatchedRecv(u64, u64),
    /// A receive without blocking of the message with the first number; its request.
    MatchedPosted(u64, u64),
    /// A request of such a receive is complete; its length.
    MatchedReceived(u64, u64),
    Pending(u64),
    Cancelled(u64),
    Collective {
        operation: u8,
        comm: u32,
        root: u32,
        sent: u64,
        received: u64,
    },
}

pub(super) struct Events {
    file: Region,
    chunk_bytes: u64,
    chunk: Vec<u8>,
    /// Offset of the chunk in the file.
    start: u64,
    at: usize,
    big: bool,
    /// Ticks of the last timestamp.
    pub(super) ticks: u64,
    /// Records of kinds that are not read, by kind.
    pub(super) skipped: BTreeMap<u8, u64>,
}

enum Found {
    Event(Event),
    Nothing,
    /// A record of a kind that is not read.
    Skipped(u8),
    EndOfChunk,
    EndOfFile,
}

impl Events {
    pub(super) fn new(file: Region, chunk_bytes: u64) -> Self {
        Self {
            file,
            chunk_bytes,
            chunk: Vec::new(),
            start: 0,
            at: 0,
            big: false,
            ticks: 0,
            skipped: BTreeMap::new(),
        }
    }

    /// Reads from the first chunk again.
    pub(super) fn rewind(&mut self) {
        *self = Self::new(self.file.clone(), self.chunk_bytes);
    }

    pub(super) fn file(&self) -> &Region {
        &self.file
    }

    pub(super) fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    /// The next event that concerns messages or functions; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Event>, TraceError> {
        if self.chunk.is_empty() {
            self.load(0)?;
        }
        loop {
            let mut cursor = Cursor::resume(&self.chunk, self.at, self.big);
            let found = read(&mut cursor, &mut self.ticks);
            let end = cursor.position();
            match found.map_err(|fault| fault.at(self.file.name(), self.offset()))? {
                Found::Event(event) => {
                    self.at = end;
                    return Ok(Some(event));
                }
                Found::Nothing => self.at = end,
                Found::Skipped(kind) => {
                    *self.skipped.entry(kind).or_default() += 1;
                    self.at = end;
                }
                Found::EndOfChunk => self.load(self.start + self.chunk_bytes)?,
                Found::EndOfFile => return Ok(None),
            }
        }
    }

    fn load(&mut self, start: u64) -> Result<(), TraceError> {
        self.chunk = self.file.bytes_at(start, self.chunk_bytes)?;
        self.start = start;
        let first =
            Cursor::chunk(&self.chunk).map_err(|fault| fault.at(self.file.name(), start))?;
        (self.big, self.at) = (first.is_big(), first.position());
        Ok(())
    }
}

fn read(it: &mut Cursor<'_>, ticks: &mut u64) -> Result<Found, Fault> {
    Ok(Found::Event(match it.u8()? {
        kind::END_OF_CHUNK => return Ok(Found::EndOfChunk),
        kind::END_OF_BUFFER | kind::END_OF_FILE => return Ok(Found::EndOfFile),
        kind::TIMESTAMP => {
            *ticks = it.whole_u64()?;
            return Ok(Found::Nothing);
        }
        kind::ENTER => Event::Enter(it.u32()?),
        kind::LEAVE => Event::Leave(it.u32()?),
        kind::ISEND_COMPLETE => Event::Sent(it.u64()?),
        kind::IRECV_REQUEST => Event::Posted(it.u64()?),
        kind::REQUEST_TEST => Event::Pending(it.u64()?),
        kind::REQUEST_CANCELLED => Event::Cancelled(it.u64()?),
        omp if kind::OMP.contains(&omp) => {
            it.u64()?;
            return Ok(Found::Nothing);
        }
        kind => {
            let mut it = it.record()?;
            match kind {
                kind::SEND => Event::Send(message(&mut it)?),
                kind::ISEND => Event::Isend(message(&mut it)?, it.u64()?),
                kind::RECV => Event::Recv(message(&mut it)?),
                kind::IRECV => Event::Received(message(&mut it)?, it.u64()?),
                kind::PROBE => {
                    let message = Message {
                        peer: it.u32()?,
                        comm: it.u32()?,
                        tag: it.u32()?,
                        bytes: 0,
                    };
                    Event::Probe(message, it.u64()?)
                }
                kind::MATCHED_RECV => Event::MatchedRecv(it.u64()?, it.u64()?),
                kind::MATCHED_IRECV_REQUEST => Event::MatchedPosted(it.u64()?, it.u64()?),
                kind::MATCHED_IRECV => Event::MatchedReceived(it.u64()?, it.u64()?),
                kind::COLLECTIVE_END => Event::Collective {
                    operation: it.u8()?,
                    comm: it.u32()?,
                    root: it.u32()?,
                    sent: it.u64()?,
                    received: it.u64()?,
                },
                _ => return Ok(Found::Skipped(kind)),
            }
        }
    }))
}

fn message(it: &mut Cursor<'_>) -> Result<Message, Fault> {
    Ok(Message {
        peer: it.u32()?,
        comm: it.u32()?,
        tag: it.u32()?,
        bytes: it.u64()?,
    })
}
