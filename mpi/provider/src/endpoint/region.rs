//! Reads and writes of registered memory. The owner of the memory moves the data when it makes
//! progress, after it has checked key, range and rights.

use std::ffi::c_void;
use std::sync::Arc;

use super::connections::OUTSTANDING_MAX;
use super::progress::Incoming;
use super::tables::{Buffers, Sending, Source, Target, Transfer};
use super::{Common, Completion, Endpoint};
use crate::bindings::{
    FI_EACCES, FI_EMSGSIZE, FI_INJECT, FI_READ, FI_REMOTE_CQ_DATA, FI_REMOTE_READ, FI_REMOTE_WRITE,
    FI_RMA, FI_WRITE, IoVec,
};
use crate::endpoint::tables::Push;
use crate::wire::{EAGER_MAX, Kind, Record, copy_from_peer, copy_to_peer, flag, scatter};

/// Registered memory. A transfer refers to the registration itself, which ends when the program
/// closes it. By then the key may name other memory.
#[derive(Debug)]
pub(crate) struct Region {
    /// Its first byte.
    pub(crate) start: u64,
    /// Address of its first byte for peers.
    pub(crate) base: u64,
    pub(crate) length: u64,
    /// `FI_REMOTE_READ`, `FI_REMOTE_WRITE`.
    pub(crate) access: u64,
}

impl Region {
    /// The address in this process of `length` bytes that a peer names, if it may access them.
    fn range(&self, address: u64, length: u64, access: u64) -> Option<u64> {
        let offset = address.checked_sub(self.base)?;
        let end = offset.checked_add(length)?;
        (end <= self.length && self.access & access != 0).then(|| self.start + offset)
    }
}

/// A read or write as the program requests it.
#[derive(Debug)]
pub(crate) struct Remote<'a> {
    pub(crate) write: bool,
    pub(crate) iov: &'a [IoVec],
    pub(crate) to: u64,
    pub(crate) address: u64,
    pub(crate) key: u64,
    pub(crate) data: Option<u64>,
    pub(crate) context: *mut c_void,
    pub(crate) flags: u64,
    /// It gets a completion.
    pub(crate) completes: bool,
}

impl Endpoint {
    /// Begins a read or write. `Err`: a negative error number.
    ///
    /// # Safety
    /// The buffers can be read, or written, until it completes; with `FI_INJECT`, until this
    /// returns.
    pub(crate) unsafe fn begin_remote(
        &mut self,
        common: &mut Common,
        remote: &Remote<'_>,
    ) -> Result<(), isize> {
        let peer = self.peer(common, remote.to)?;
        let connection = self.route(common, peer)?;
        let mut buffers = Buffers::new(remote.iov);
        let length = buffers.length();
        let direction = if remote.write { FI_WRITE } else { FI_READ };
        let eager = remote.write && length <= EAGER_MAX;
        if remote.flags & FI_INJECT != 0 && !eager {
            return Err(-(FI_EMSGSIZE as isize));
        }
        let mut copy = None;
        let mut record = Record {
            tag: remote.address,
            data: remote.key,
            ..Record::new(Kind::Read)
        };
        if eager {
            record.kind = Kind::Write;
            record.bytes = length as u32;
            record.body[2] = remote.data.unwrap_or(0);
        } else if remote.write {
            record.kind = Kind::WriteLong;
            // SAFETY: the caller's promise.
            (buffers, copy) = unsafe { buffers.in_one_piece() };
            let address = buffers.address(0) as u64;
            record.body = [length as u64, address, remote.data.unwrap_or(0)];
        }
        if remote.data.is_some() {
            record.flags |= flag::DATA;
        }
        record.flags |= flag::ACK;
        let sending = self.add_sending(Sending {
            connection,
            context: remote.context,
            flags: FI_RMA | direction,
            bits: 0,
            since_ms: self.now_ms(),
            completes: remote.completes,
            buffers,
            _copy: copy,
            length,
            pulled: false,
        })?;
        record.cookie = sending as u64;
        let mut token = None;
        if !remote.write {
            let target = Target::Read { sending };
            let transfer = Transfer {
                connection,
                cookie: record.cookie,
                wanted: length,
                got: 0,
                target,
            };
            let key = self.transfers.insert(transfer);
            let address = match remote.iov {
                [one] => one.iov_base as u64,
                _ => 0,
            };
            record.body = [length as u64, key as u64, address];
            token = Some(key);
        }
        // SAFETY: the list holds `length` bytes, no more than which are payload.
        let put = unsafe { self.put(connection, record, remote.iov) };
        if put.is_err() {
            self.take_sending(sending);
            token.map(|key| self.transfers.remove(key));
        }
        put
    }

    /// Ends a send, read or write; `tell`: the program wants its completion.
    pub(super) fn end_sending(&self, common: &mut Common, completion: Completion, tell: bool) {
        if completion.entry.flags & (FI_READ | FI_WRITE) == 0 {
            return self.sent(common, completion, tell);
        }
        common.finish(self.rma_counter, self.tx.queue, completion, tell);
    }

    /// Handles a peer's read or write. `None`: the record breaks the rules.
    pub(super) fn remote(&mut self, common: &mut Common, incoming: Incoming) -> Option<()> {
        let Incoming {
            connection,
            record,
            bytes,
        } = incoming;
        if self.connections[connection].moving >= OUTSTANDING_MAX {
            return None;
        }
        let write = record.kind != Kind::Read;
        let access = if write {
            FI_REMOTE_WRITE
        } else {
            FI_REMOTE_READ
        };
        let length = match record.kind {
            Kind::Write => u64::from(record.bytes),
            _ => record.body[0],
        };
        let region = common.regions.get(&record.data);
        let start = region.and_then(|region| region.range(record.tag, length, access));
        let (Some(region), Some(start), Ok(length)) = (region, start, usize::try_from(length))
        else {
            self.answer(connection, record.cookie, FI_EACCES);
            return Some(());
        };
        let iov = [IoVec {
            iov_base: start as *mut c_void,
            iov_len: length,
        }];
        let cookie = record.cookie;
        match record.kind {
            Kind::Write => {
                // SAFETY: the range was checked against a region that the program registered for
                // remote writing; the payload has `length` bytes.
                unsafe { scatter(&iov, 0, bytes.start, length) };
                self.written(common, connection, &record, length);
                self.answer(connection, cookie, 0);
            }
            Kind::WriteLong => {
                let pid = self.connections[connection].link.pid();
                let pid = pid.filter(|_| common.options.read_peers);
                // SAFETY: as above.
                let read = length == 0
                    || pid.is_some_and(|pid| unsafe {
                        copy_from_peer(pid, record.body[1], &iov, 0, length).is_ok()
                    });
                if read {
                    self.written(common, connection, &record, length);
                    self.answer(connection, cookie, 0);
                } else {
                    let region = Arc::downgrade(region);
                    let target = Target::Region {
                        region,
                        address: start,
                        record,
                    };
                    self.connections[connection].moving += 1;
                    self.pull(Transfer {
                        connection,
                        cookie,
                        wanted: length,
                        got: 0,
                        target,
                    });
                }
            }
            _ => {
                let pid = self.connections[connection].link.pid();
                let pid = pid.filter(|_| common.options.read_peers);
                let target = record.body[2];
                // SAFETY: the range was checked against a region that the program registered for
                // remote reading.
                let written = length == 0
                    || pid.filter(|_| target != 0).is_some_and(|pid| unsafe {
                        copy_to_peer(pid, target, start as *const u8, length)
                    });
                if written {
                    self.answer(connection, cookie, 0);
                    return Some(());
                }
                let region = Arc::downgrade(region);
                let source = Source::Region {
                    region,
                    address: start,
                    cookie,
                };
                let token = record.body[1];
                self.connections[connection].moving += 1;
                self.pushes.push_back(Push {
                    connection,
                    token,
                    source,
                    sent: 0,
                    length,
                });
            }
        }
        Some(())
    }

    /// Sends a peer the outcome of its read or write.
    pub(super) fn answer(&mut self, connection: usize, cookie: u64, error: i32) {
        self.tell(connection, Record::fin(cookie, error));
    }

    /// Finishes a peer's write. With completion data the program gets a completion.
    pub(super) fn written(
        &self,
        common: &mut Common,
        connection: usize,
        record: &Record,
        length: usize,
    ) {
        if record.flags & flag::DATA == 0 {
            return;
        }
        let flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
        let mut completion = Completion::new(std::ptr::null_mut(), flags);
        completion.entry.data = record.body[2];
        completion.entry.len = length;
        completion.from = self.from(self.connections[connection].peer);
        self.received(common, completion, true);
    }

    /// Finishes a transfer whose pieces have all arrived.
    pub(super) fn end_transfer(&mut self, common: &mut Common, transfer: Transfer) {
        let Transfer {
            connection,
            cookie,
            wanted,
            target,
            ..
        } = transfer;
        match target {
            Target::Receive { recv, at, receipt } => {
                self.posts[recv].transfers -= 1;
                self.complete(common, recv, at, wanted, receipt);
                self.answer(connection, cookie, 0);
            }
            Target::Region { region, record, .. } => {
                self.connections[connection].moving -= 1;
                let open = region.strong_count() > 0;
                if open {
                    self.written(common, connection, &record, wanted);
                }
                self.answer(connection, cookie, if open { 0 } else { FI_EACCES });
            }
            Target::Read { sending } => {
                if let Some(sending) = self.take_sending(sending) {
                    let completion = Completion::new(sending.context, sending.flags);
                    self.end_sending(common, completion, sending.completes);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_range_and_the_rights_that_were_given() {
        let region = Region {
            start: 0x7000,
            base: 0x100,
            length: 16,
            access: FI_REMOTE_READ,
        };
        assert_eq!(region.range(0x100, 16, FI_REMOTE_READ), Some(0x7000));
        assert_eq!(region.range(0x108, 8, FI_REMOTE_READ), Some(0x7008));
        for (address, length, access) in [
            (0x100, 16, FI_REMOTE_WRITE),
            (0xff, 1, FI_REMOTE_READ),
            (0x108, 9, FI_REMOTE_READ),
            (0x100, u64::MAX, FI_REMOTE_READ),
            (u64::MAX, 1, FI_REMOTE_READ),
        ] {
            assert_eq!(
                region.range(address, length, access),
                None,
                "{address:x} {length}"
            );
        }
    }
}
