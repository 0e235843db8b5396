//! From a match to the program's buffer.

use super::tables::{Body, Receipt, Target, Transfer};
use super::{Common, Completion, Endpoint};
use crate::bindings::{
    CqTaggedEntry, FI_ETRUNC, FI_MSG, FI_MULTI_RECV, FI_RECV, FI_REMOTE_CQ_DATA, FI_TAGGED,
};
use crate::wire::{Kind, Lent, Record};

impl Endpoint {
    /// Moves the data of a matched message into its receive, or starts to.
    ///
    /// Receives, messages and completions are used in place: a move would read as a whole what was
    /// just written in parts, and the processor would wait for the stores. This function handles
    /// the common case: the data are here and fit, the sender needs no answer, and the receive
    /// takes one message.
    #[inline(always)]
    pub(super) fn deliver(&mut self, common: &mut Common, recv: usize, msg: usize) {
        let (post, message) = (&self.posts[recv], &self.messages[msg]);
        let remote = matches!(message.body, Body::Remote { .. });
        if remote || message.cookie.is_some() || post.multi || message.length > post.capacity() {
            return self.deliver_any(common, recv, msg);
        }
        let length = message.length;
        // SAFETY: the receive's buffers are the program's until it completes, and hold its
        // capacity.
        unsafe { message.copy_to(post.buffers.as_slice(), 0, length) };
        let (kind, tag) = if post.tagged {
            (FI_TAGGED, message.header.bits)
        } else {
            (FI_MSG, 0)
        };
        let (flag, data) = message
            .data
            .map_or((0, 0), |data| (FI_REMOTE_CQ_DATA, data));
        let entry = CqTaggedEntry {
            op_context: post.context,
            flags: FI_RECV | kind | flag,
            len: length,
            buf: post.buffers.address(0),
            data,
            tag,
        };
        let completion = Completion {
            entry,
            olen: 0,
            err: 0,
            from: self.from(message.peer),
        };
        let completes = post.completes;
        self.messages.free(msg);
        self.posts.free(recv);
        self.totals.received += 1;
        self.totals.received_bytes += length as u64;
        self.received(common, completion, completes);
    }

    #[inline(never)]
    fn deliver_any(&mut self, common: &mut Common, recv: usize, msg: usize) {
        let Self {
            posts, messages, ..
        } = self;
        let (post, message) = (&mut posts[recv], &messages[msg]);
        // A receive for several messages stays in its queue until it is full.
        post.waiting &= post.multi;
        let at = post.used;
        let length = message.length.min(post.capacity() - at);
        post.used += length;
        if post.multi && post.capacity() - post.used < self.min_multi {
            post.waiting = false;
        }
        let receipt = Receipt {
            peer: message.peer,
            tag: message.header.bits,
            data: message.data,
            length: message.length,
        };
        let (connection, cookie) = (message.connection, message.cookie);
        if let Body::Remote { address } = message.body {
            self.messages.free(msg);
            let cookie = cookie.unwrap_or(0);
            return self.fetch(
                common, recv, at, length, receipt, connection, cookie, address,
            );
        }
        // SAFETY: the receive's buffers are the program's until it completes, and hold its
        // capacity; `length` is no more than the message's.
        unsafe { message.copy_to(post.buffers.as_slice(), at, length) };
        self.messages.free(msg);
        if let Some(cookie) = cookie {
            self.put_or_queue(
                connection,
                Record {
                    cookie,
                    ..Record::new(Kind::Fin)
                },
            );
        }
        self.complete(common, recv, at, length, receipt);
    }

    /// Reads data that stay at the sender, or requests them in pieces.
    #[expect(clippy::too_many_arguments, reason = "all of one message's way")]
    fn fetch(
        &mut self,
        common: &mut Common,
        recv: usize,
        at: usize,
        length: usize,
        receipt: Receipt,
        connection: usize,
        cookie: u64,
        address: u64,
    ) {
        let buffers = self.posts[recv].buffers.clone();
        let lent = Lent {
            address,
            epoch: None,
        };
        // SAFETY: the receive's buffers are the program's until it completes, and hold its
        // capacity.
        let read =
            unsafe { self.read_lent(common, connection, lent, buffers.as_slice(), at, length) };
        if read {
            self.put_or_queue(
                connection,
                Record {
                    cookie,
                    ..Record::new(Kind::Fin)
                },
            );
            return self.complete(common, recv, at, length, receipt);
        }
        self.posts[recv].transfers += 1;
        self.pull(Transfer {
            connection,
            cookie,
            wanted: length,
            got: 0,
            target: Target::Receive { recv, at, receipt },
        });
        if self.connections.get(connection).is_none() {
            self.fail_transfers(common, connection);
        }
    }

    /// Requests a sender's data in pieces.
    pub(super) fn pull(&mut self, transfer: Transfer) {
        self.totals.pulled += 1;
        let (connection, cookie, wanted) = (transfer.connection, transfer.cookie, transfer.wanted);
        let token = self.transfers.insert(transfer) as u64;
        let body = [token, wanted as u64, 0];
        self.put_or_queue(
            connection,
            Record {
                cookie,
                body,
                ..Record::new(Kind::Pull)
            },
        );
    }

    /// Completes a message that is in the program's buffer.
    #[inline(always)]
    pub(super) fn complete(
        &mut self,
        common: &mut Common,
        recv: usize,
        at: usize,
        length: usize,
        receipt: Receipt,
    ) {
        let mut completion = self.receipt(recv, at, length, receipt);
        if length < receipt.length {
            completion.olen = receipt.length - length;
            completion = completion.failed(FI_ETRUNC);
        }
        self.totals.received += 1;
        self.totals.received_bytes += length as u64;
        self.finish_receive(common, recv, completion);
    }

    #[inline(always)]
    pub(super) fn receipt(
        &self,
        recv: usize,
        at: usize,
        length: usize,
        receipt: Receipt,
    ) -> Completion {
        let post = &self.posts[recv];
        let kind = if post.tagged { FI_TAGGED } else { FI_MSG };
        let mut completion = Completion::new(post.context, FI_RECV | kind);
        completion.entry.len = length;
        completion.entry.buf = post.buffers.address(at);
        if post.tagged {
            completion.entry.tag = receipt.tag;
        }
        if let Some(data) = receipt.data {
            completion.entry.data = data;
            completion.entry.flags |= FI_REMOTE_CQ_DATA;
        }
        completion.from = self.from(receipt.peer);
        completion
    }

    /// Finishes one message of a receive, and the receive itself unless it takes more.
    #[inline(always)]
    pub(super) fn finish_receive(
        &mut self,
        common: &mut Common,
        recv: usize,
        mut completion: Completion,
    ) {
        let post = &self.posts[recv];
        let completes = post.completes;
        if !post.waiting && post.transfers == 0 {
            if !self.cancelled.is_empty() && self.cancelled.contains(&recv) {
                return self.finish_cancelled(common, recv, completion);
            }
            if post.multi {
                completion.entry.flags |= FI_MULTI_RECV;
            }
            self.posts.free(recv);
        }
        self.received(common, completion, completes);
    }

    /// Finishes the last message of a receive that the program has cancelled meanwhile.
    #[cold]
    fn finish_cancelled(&mut self, common: &mut Common, recv: usize, completion: Completion) {
        self.cancelled.retain(|&other| other != recv);
        self.received(common, completion, self.posts[recv].completes);
        self.end_cancelled(common, recv);
    }

    /// Ends a receive; `notify`: the program wants its completion.
    #[inline(always)]
    pub(super) fn received(&self, common: &mut Common, completion: Completion, notify: bool) {
        common.finish(self.rx.counter, self.rx.queue, completion, notify);
    }
}
