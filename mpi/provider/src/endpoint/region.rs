//! Reads and writes of registered memory. The owner of the memory handles a request when it makes
//! progress, after it has checked key, range and rights. It takes the data of a write itself. To a
//! reader on the same machine it grants the memory, and the reader copies the data; other readers
//! get them in pieces. A grant ends with the region (`wire::lease`).

use std::ffi::c_void;
use std::sync::Arc;

use super::connections::OUTSTANDING_MAX;
use super::progress::Incoming;
use super::tables::{Buffers, Grant, Sending, Source, Target, Transfer};
use super::{Common, Completion, Endpoint};
use crate::bindings::{
    FI_EACCES, FI_EMSGSIZE, FI_INJECT, FI_READ, FI_REMOTE_CQ_DATA, FI_REMOTE_READ, FI_REMOTE_WRITE,
    FI_RMA, FI_WRITE, IoVec,
};
use crate::endpoint::tables::Push;
use crate::wire::{EAGER_MAX, Kind, Lent, PeerMemory, Record, flag, scatter};

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
            pulled: !remote.write && !self.reads_memory(common, connection),
            transfer: None,
        })?;
        record.cookie = sending as u64;
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
            let asks = !self.sendings[sending].pulled;
            self.sendings[sending].transfer = Some(key);
            record.body = [length as u64, key as u64, asks.into()];
        }
        // SAFETY: the list holds `length` bytes, no more than which are payload.
        let put = unsafe { self.put(connection, record, remote.iov) };
        if put.is_err() {
            self.take_sending(sending);
        }
        put
    }

    /// Whether this side reads the memory of this peer, as far as it knows.
    fn reads_memory(&self, common: &Common, connection: usize) -> bool {
        let connection = self.connections.get(connection);
        common.options.read_peers && connection.is_some_and(|one| one.link.is_local())
    }

    /// Ends a send, read or write; `notify`: the program wants its completion.
    pub(super) fn end_sending(&self, common: &mut Common, completion: Completion, notify: bool) {
        if completion.entry.flags & (FI_READ | FI_WRITE) == 0 {
            return self.sent(common, completion, notify);
        }
        common.finish(self.rma_counter, self.tx.queue, completion, notify);
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
                let lent = Lent {
                    address: record.body[1],
                    epoch: None,
                };
                let region = Arc::downgrade(region);
                // SAFETY: as above.
                let read = unsafe { self.read_lent(common, connection, lent, &iov, 0, length) };
                if read {
                    self.written(common, connection, &record, length);
                    self.answer(connection, cookie, 0);
                } else {
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
            _ if length == 0 => self.answer(connection, cookie, 0),
            _ => {
                let grant = Grant {
                    connection,
                    region: Arc::downgrade(region),
                    address: start,
                    length,
                    cookie,
                    token: record.body[1],
                };
                self.connections[connection].moving += 1;
                let link = &self.connections[connection].link;
                if record.body[2] == 0 || !link.is_local() {
                    self.push_granted(grant);
                } else {
                    let epoch = link.epoch();
                    let number = self.grants.insert(grant) as u64;
                    let granted = Record {
                        cookie,
                        body: [start, number, epoch],
                        ..Record::new(Kind::Grant)
                    };
                    self.put_or_queue(connection, granted);
                }
            }
        }
        Some(())
    }

    /// Sends a peer in pieces what it reads.
    fn push_granted(&mut self, grant: Grant) {
        let Grant {
            connection,
            region,
            address,
            length,
            cookie,
            token,
        } = grant;
        let source = Source::Region {
            region,
            address,
            cookie,
        };
        self.pushes.push_back(Push {
            connection,
            token,
            source,
            sent: 0,
            length,
        });
    }

    /// Handles the end of a grant. `None`: the record breaks the rules.
    pub(super) fn returned(&mut self, connection: usize, record: &Record) -> Option<()> {
        let number = usize::try_from(record.cookie).ok()?;
        if self.grants.get(number)?.connection != connection {
            return None;
        }
        let grant = self.grants.remove(number);
        if record.body[0] == 0 {
            self.connections[connection].moving -= 1;
        } else {
            self.push_granted(grant);
        }
        Some(())
    }

    /// The program closes a region: no peer takes what it reads there from now on.
    pub(crate) fn revoke(&mut self, region: &Arc<Region>) {
        let granted = self
            .grants
            .iter()
            .filter(|(_, grant)| std::ptr::eq(grant.region.as_ptr(), Arc::as_ptr(region)));
        let mut peers: Vec<_> = granted.map(|(_, grant)| grant.connection).collect();
        peers.sort_unstable();
        peers.dedup();
        for connection in peers {
            self.connections[connection].link.revoke();
        }
    }

    /// Reads the memory that a peer grants for a read of this side. `None`: the record breaks the
    /// rules.
    pub(super) fn granted(
        &mut self,
        common: &mut Common,
        connection: usize,
        record: &Record,
    ) -> Option<()> {
        let key = usize::try_from(record.cookie).ok()?;
        let [address, number, epoch] = record.body;
        let read = self.sendings.get_mut(key)?;
        if read.connection != connection || read.flags & FI_READ == 0 || read.pulled {
            return None;
        }
        // At most one grant comes, and no piece before it is returned.
        read.pulled = true;
        let (buffers, length) = (read.buffers.clone(), read.length);
        let lent = Lent {
            address,
            epoch: Some(epoch),
        };
        let iov = buffers.as_slice();
        // SAFETY: the buffers are the program's until its read completes, and hold its length.
        let has_read = unsafe { self.read_lent(common, connection, lent, iov, 0, length) };
        let body = [u64::from(!has_read), 0, 0];
        self.put_or_queue(
            connection,
            Record {
                cookie: number,
                body,
                ..Record::new(Kind::Return)
            },
        );
        if has_read && let Some(read) = self.take_sending(key) {
            let completion = Completion::new(read.context, read.flags);
            self.end_sending(common, completion, read.completes);
        }
        Some(())
    }

    /// Reads what a peer lends into the list, if it can be read and is still lent after that.
    ///
    /// # Safety
    /// The list's buffers can be written and hold `skip + length` bytes.
    pub(super) unsafe fn read_lent(
        &mut self,
        common: &mut Common,
        connection: usize,
        lent: Lent,
        iov: &[IoVec],
        skip: usize,
        length: usize,
    ) -> bool {
        if length == 0 {
            return true;
        }
        if !common.options.read_peers {
            return false;
        }
        let Some(connection) = self.connections.get_mut(connection) else {
            return false;
        };
        // SAFETY: the caller's promise.
        let read = unsafe { connection.link.read_memory(lent, iov, skip, length) };
        // The kernel forbids it to all processes of this user, so do not try again.
        common.options.read_peers &= read != Err(PeerMemory::Forbidden);
        read.is_ok()
    }

    /// Sends a peer the outcome of its read or write.
    pub(super) fn answer(&mut self, connection: usize, cookie: u64, error: i32) {
        self.put_or_queue(connection, Record::fin(cookie, error));
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
