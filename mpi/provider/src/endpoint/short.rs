//! The short path: a short message goes to the receive that waits for it at once, from the ring's
//! line to the program's buffers.
//!
//! It holds as long as the matcher owes no decision: then a receive that finds no message, and a
//! message that finds its receive, decide nothing else. Everything else takes the queues' way
//! (`progress`, `receive`, `deliver`), and so does what follows it until the matcher is settled.
//! Both ways give equal order logs and completions.

use std::ops::ControlFlow;

use dpa_model::Now;
use dpamatch_vocabulary::Envelope;

use super::connections::Connection;
use super::log::Entry;
use super::receive::rank_of;
use super::tables::{Arrived, Body};
use super::{Common, Completion, Endpoint, Sink};
use crate::bindings::{CqTaggedEntry, FI_RECV, FI_REMOTE_CQ_DATA, FI_TAGGED};
use crate::matcher::{Carried, Matching, MsgKey};
use crate::wire::{PeerId, flag};

impl Endpoint {
    /// Counts and logs a receive that was posted at once.
    #[inline(always)]
    pub(super) fn note_posted_now(&mut self, key: usize) {
        self.note_posted(key);
        if self.usage.is_some() || self.log.is_some() {
            self.noted = self.usage.is_some();
            self.log_posted(key, None);
        }
    }

    /// Gives a receive that was posted at once the message that waited for it.
    #[inline(never)]
    pub(super) fn take_waiting(&mut self, common: &mut Common, key: usize, msg: MsgKey) {
        self.note_posted(key);
        self.noted = self.usage.is_some();
        self.matched(common, key, msg.0 as usize, true);
    }

    /// Gives a message to the matcher, at once if possible.
    #[inline(always)]
    pub(super) fn arrive_tagged(&mut self, common: &mut Common, key: usize) {
        let envelope = &self.messages[key].carried.envelope;
        let now = match &mut self.matcher {
            Matching::Nic(nic) if !self.asked => nic.arrive_now(MsgKey(key as u32), envelope),
            _ => Now::Queue,
        };
        if now == Now::Queue {
            return self.arrive_at_matcher(key);
        }
        self.noted |= self.usage.is_some();
        self.note_arrived(key);
        match now {
            Now::Matched(recv) => self.matched(common, recv.0 as usize, key, false),
            _ => {
                self.totals.unexpected_high = self.totals.unexpected_high.max(self.unexpected_now);
                self.log_arrived(key, None);
            }
        }
    }

    /// Delivers the link's next message if its receive waits for it. `Break`: the queues' way, and
    /// nothing has changed.
    #[inline(always)]
    pub(super) fn take_now(
        &mut self,
        common: &mut Common,
        index: usize,
        sink: &mut Sink,
    ) -> ControlFlow<()> {
        let Self { connections, rule, matcher: Matching::Nic(nic), posts, asked: false, .. } = self
        else {
            return ControlFlow::Break(());
        };
        if !nic.is_short() {
            return ControlFlow::Break(());
        }
        let Connection { link, peer, .. } = &mut connections[index];
        let Some(message) = link.peek_short() else { return ControlFlow::Break(()) };
        let (flags, length, bits, peer) = (message.flags, message.bytes, message.tag, *peer);
        if flags & (flag::TAGGED | flag::ACK) != flag::TAGGED {
            return ControlFlow::Break(());
        }
        let Ok((comm, tag)) = rule.message(bits) else { return ControlFlow::Break(()) };
        let envelope = Envelope { comm, source: rank_of(peer), tag };
        let Some(recv) = nic.match_now(&envelope) else { return ControlFlow::Break(()) };
        let key = recv.0 as usize;
        let post = &posts[key];
        let data = (flags & flag::DATA != 0).then_some(message.data());
        let one = match post.buffers.as_slice() {
            &[one] if length <= one.iov_len => one,
            _ => {
                let (carried, body) = (Carried { bits, envelope }, message.body());
                link.pass_short();
                // Its completion goes to the queue, and so do later ones.
                sink.open = false;
                self.deliver_odd(common, index, key, (carried, data, length, body));
                return ControlFlow::Continue(());
            }
        };
        // SAFETY: the receive's buffer is the program's until it completes, and has that many
        // bytes.
        unsafe { message.copy_to(one.iov_base.cast()) };
        let entry = CqTaggedEntry {
            op_context: post.context,
            flags: FI_RECV | FI_TAGGED | if data.is_some() { FI_REMOTE_CQ_DATA } else { 0 },
            len: length,
            buf: one.iov_base,
            data: data.unwrap_or(0),
            tag: bits,
        };
        let completes = post.completes;
        link.pass_short();
        if self.usage.is_some() || self.log.is_some() {
            self.note_taken(key, peer, &Carried { bits, envelope }, length);
        }
        self.posts.free(key);
        self.messages_ever += 1;
        self.posted_now -= 1;
        self.totals.received += 1;
        self.totals.received_bytes += length as u64;
        let from = self.from(peer);
        if sink.open && completes {
            sink.put(&entry, from, &common.vectors);
        } else {
            self.received(common, Completion { entry, olen: 0, err: 0, from }, completes);
        }
        ControlFlow::Continue(())
    }

    /// Counts and logs a message that was matched at once.
    #[inline(never)]
    fn note_taken(&mut self, key: usize, peer: PeerId, carried: &Carried, bytes: usize) {
        self.noted = self.usage.is_some();
        let (post, number) = (&self.posts[key], self.messages_ever);
        if let Some(log) = &mut self.log {
            let matched = Some(post.number);
            log.write(Entry::Arrived { msg: number, carried, bytes, matched });
        }
        if let Some(usage) = &mut self.usage {
            usage.arrived(carried.envelope.comm, bytes, number);
            usage.took(&post.asked, carried, peer, false);
        }
    }

    /// Delivers a matched message that does not fit, or goes to several buffers.
    #[cold]
    #[inline(never)]
    fn deliver_odd(
        &mut self,
        common: &mut Common,
        connection: usize,
        recv: usize,
        (carried, data, length, body): (Carried, Option<u64>, usize, [u64; 3]),
    ) {
        let (number, peer) = (self.messages_ever, self.connections[connection].peer);
        self.note_taken(recv, peer, &carried, length);
        self.messages_ever += 1;
        self.posted_now -= 1;
        let message = Arrived {
            connection,
            peer,
            tagged: true,
            carried,
            data,
            length,
            body: Body::Inline(body),
            cookie: None,
            number,
            waiting: true,
            since_ms: 0,
        };
        let (msg, _) = self.messages.insert(message);
        self.deliver(common, recv, msg);
    }
}
