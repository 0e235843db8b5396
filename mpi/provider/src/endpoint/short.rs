//! The short path: a short message goes directly to the receive that waits for it, from the ring's
//! line to the program's buffers.
//!
//! It holds as long as the matcher has no pending decision: then a receive that finds no message,
//! and a message that finds its receive, decide nothing else. Everything else takes the queues' way
//! (`progress`, `receive`, `deliver`), and so does what follows it until the matcher is settled.
//! Both ways give equal order logs and completions.

use dpa_model::DirectResult;
use dpamatch_vocabulary::Envelope;

use super::connections::Connection;
use super::log::{Entry, Log};
use super::progress::Incoming;
use super::tables::{Buffers, Post, rank_of};
use super::usage::Usage;
use super::{Common, Completion, CompletionSource, Endpoint, Sink};
use crate::bindings::{CqTaggedEntry, FI_RECV, FI_REMOTE_CQ_DATA, FI_TAGGED};
use crate::matcher::{Matching, MessageHeader, MsgKey, RecvKey, tag_of};
use crate::wire::PeerId;

impl Endpoint {
    /// Counts and logs a receive that was posted directly.
    #[inline(always)]
    pub(super) fn note_posted_now(&mut self, key: usize) {
        self.note_posted(key);
        if self.notes {
            self.noted = self.usage.is_some();
            self.log_posted(key, None);
        }
    }

    /// Delivers the message that waited for a receive that was posted directly.
    #[inline(never)]
    pub(super) fn take_waiting(&mut self, common: &mut Common, key: usize, msg: MsgKey) {
        self.note_posted(key);
        self.noted = self.usage.is_some();
        self.matched(common, key, msg.0 as usize, true);
    }

    /// Gives a message to the matcher, directly if possible.
    #[inline(always)]
    pub(super) fn arrive_tagged(&mut self, common: &mut Common, key: usize) {
        let envelope = &self.messages[key].header.envelope;
        let now = match &mut self.matcher {
            Matching::Nic(nic) if !self.unsettled => nic.arrive_now(MsgKey(key as u32), envelope),
            _ => DirectResult::UseQueues,
        };
        if now == DirectResult::UseQueues {
            return self.arrive_at_matcher(key);
        }
        self.noted |= self.usage.is_some();
        self.note_arrived(key);
        match now {
            DirectResult::Matched(recv) => self.matched(common, recv.0 as usize, key, false),
            _ => {
                self.totals.unexpected_high = self.totals.unexpected_high.max(self.unexpected_now);
                self.log_arrived(key, None);
            }
        }
    }

    /// Delivers the link's next messages, at most `most`, as long as their receives wait for them.
    /// Returns how many. The next record, if there is one, takes the queues' way. The matcher is
    /// settled.
    ///
    /// A separate function, so that its values have the registers.
    #[inline(never)]
    pub(super) fn take_batch(
        &mut self,
        common: &mut Common,
        index: usize,
        sink: &mut Sink,
        most: u64,
    ) -> u64 {
        let (first, notes) = (self.messages_ever, self.notes);
        let Self {
            connections,
            rule,
            matcher,
            posts,
            totals,
            log,
            usage,
            vector,
            rx,
            ..
        } = self;
        let Matching::Nic(nic) = matcher else {
            return 0;
        };
        let Connection { link, peer, .. } = &mut connections[index];
        let (Some(ring), peer) = (link.ring(), *peer) else {
            return 0;
        };
        let Some(message) = ring.peek_plain() else {
            return 0;
        };
        let high = message.tag >> 31;
        let Some((comm, _)) = rule.message(message.tag) else {
            return 0;
        };
        let Some(mut row) = nic.batch(comm) else {
            return 0;
        };
        let (source, from) = (
            rank_of(peer),
            CompletionSource {
                vector: *vector,
                peer,
            },
        );
        let most = sink.limit(most);
        let mut odd = None;
        while row.taken() < most
            && let Some(message) = ring.peek_plain()
            && message.tag >> 31 == high
        {
            let (bits, length, data) = (message.tag, message.bytes, message.data());
            let has_data = message.has_data();
            let tag = tag_of(bits);
            let Some(RecvKey(key)) = row.take(source, tag) else {
                break;
            };
            let full = posts.full(key as usize);
            let post = full.get();
            let header = || MessageHeader {
                bits,
                envelope: Envelope { comm, source, tag },
            };
            let number = || first + row.taken() - 1;
            if notes {
                note_taken(log, usage, post, number(), peer, length, &header());
            }
            let buffer = match post.buffers {
                Buffers::One(buffer) if length <= buffer.iov_len => buffer.iov_base,
                _ => {
                    let (record, bytes, lines) =
                        (message.record(), message.outside(), message.lines());
                    let incoming = Incoming {
                        connection: index,
                        record,
                        bytes,
                    };
                    odd = Some((key as usize, incoming, header()));
                    ring.pass(lines);
                    break;
                }
            };
            // SAFETY: the receive's buffer is the program's until it completes, and has that many
            // bytes.
            let lines = unsafe { message.copy_to(buffer.cast()) };
            ring.pass(lines);
            totals.received_bytes += length as u64;
            let (op_context, completes) = (post.context, post.completes);
            // Its one buffer is the program's.
            full.forget();
            let entry = || CqTaggedEntry {
                op_context,
                flags: FI_RECV | FI_TAGGED | if has_data { FI_REMOTE_CQ_DATA } else { 0 },
                len: length,
                buf: buffer,
                data,
                tag: bits,
            };
            if completes && sink.is_open() {
                // SAFETY: it has room for `most`.
                unsafe { sink.put_whole(entry(), from, &common.vectors) };
            } else {
                let completion = Completion {
                    entry: entry(),
                    olen: 0,
                    err: 0,
                    from,
                };
                common.finish(rx.counter, rx.queue, completion, completes);
            }
        }
        let taken = row.taken();
        row.end();
        if taken == 0 {
            return 0;
        }
        self.noted |= usage.is_some();
        self.messages_ever += taken;
        self.count_left(taken);
        self.totals.received += taken - u64::from(odd.is_some());
        if let Some((recv, incoming, header)) = odd {
            // Its completion goes to the queue, and so do later ones.
            sink.close();
            self.deliver_odd(common, recv, incoming, header);
        }
        taken
    }

    /// Delivers the message that came last, which does not fit or goes to several buffers.
    #[cold]
    #[inline(never)]
    fn deliver_odd(
        &mut self,
        common: &mut Common,
        recv: usize,
        incoming: Incoming,
        header: MessageHeader,
    ) {
        if let Some(message) = self.message(incoming, header, self.messages_ever - 1) {
            let msg = self.messages.insert(message);
            self.deliver(common, recv, msg);
        }
    }
}

/// Counts and logs a message that was matched directly: the receive, and the message's number, peer
/// and bytes.
#[inline(never)]
fn note_taken(
    log: &mut Option<Log>,
    usage: &mut Option<Box<Usage>>,
    post: &Post,
    number: u64,
    peer: PeerId,
    bytes: usize,
    header: &MessageHeader,
) {
    if let Some(log) = log {
        let matched = Some(post.number);
        log.write(Entry::Arrived {
            msg: number,
            header,
            bytes,
            matched,
        });
    }
    if let Some(usage) = usage {
        usage.arrived(header.envelope.comm, bytes, number);
        usage.count_match(&post.criteria(), header, peer, false);
    }
}
