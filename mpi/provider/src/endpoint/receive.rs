//! Receiving: posts, peeks, claims, cancels.

use std::ffi::c_void;

use dpa_model::DirectResult;
use dpamatch_vocabulary::{CommId, Envelope, Selector, SourceSel, TagSel};

use super::log::Entry;
use super::tables::{Body, Buffers, Post, rank_of, selector};
use super::{Common, Completion, Endpoint};
use crate::bindings::{
    FI_ADDR_UNSPEC, FI_CLAIM, FI_DISCARD, FI_ECANCELED, FI_EINVAL, FI_ENOENT, FI_ENOMSG, FI_MSG,
    FI_MULTI_RECV, FI_PEEK, FI_RECV, FI_REMOTE_CQ_DATA, FI_TAGGED, IoVec,
};
use crate::matcher::{
    Criteria, Matching, MessageHeader, MsgKey, NicMatcher, RecvKey, Rule, Verdict,
};
use crate::wire::{Kind, PeerId, Record};

/// A receive as the program requests it.
#[derive(Debug)]
pub(crate) struct Receive<'a> {
    pub(crate) iov: &'a [IoVec],
    pub(crate) from: u64,
    pub(crate) tagged: bool,
    pub(crate) tag: u64,
    pub(crate) ignore: u64,
    pub(crate) context: *mut c_void,
    pub(crate) flags: u64,
    /// It gets a completion.
    pub(crate) completes: bool,
}

impl Endpoint {
    /// Posts a receive, peeks or claims, as the flags say. `Err`: a negative error number.
    ///
    /// # Safety
    /// The buffers can be written until the receive completes.
    #[inline(always)]
    pub(crate) unsafe fn receive(
        &mut self,
        common: &mut Common,
        receive: &Receive<'_>,
    ) -> Result<(), isize> {
        if receive.flags & (FI_CLAIM | FI_PEEK) != 0 {
            return self.peek_or_claim(common, receive);
        }
        let source = self.source(common, receive.from)?;
        if !receive.tagged {
            self.receive_untagged(common, receive, source);
            return Ok(());
        }
        let comm = self.communicator(common, receive.tag, receive.ignore);
        let post = self.new_post(receive, source, comm);
        self.posts_ever += 1;
        let key = self.posts.insert(post);
        let now = match &mut self.matcher {
            Matching::Nic(nic) if !self.unsettled => {
                let recv = RecvKey(key as u32);
                match selector(receive.tag, receive.ignore, source) {
                    exact @ Selector {
                        source: SourceSel::Rank(_),
                        tag: TagSel::Tag(_),
                    } => nic.post_now(recv, comm, exact),
                    _ => post_wildcard_now(nic, recv, comm, receive.tag, receive.ignore, source),
                }
            }
            _ => DirectResult::UseQueues,
        };
        match now {
            DirectResult::Unmatched => self.note_posted_now(key),
            DirectResult::Matched(msg) => self.take_waiting(common, key, msg),
            DirectResult::UseQueues => self.post_to_matcher(key),
        }
        Ok(())
    }

    #[inline(always)]
    fn source(&mut self, common: &Common, from: u64) -> Result<Option<PeerId>, isize> {
        match self.last_source {
            _ if from == FI_ADDR_UNSPEC => return Ok(None),
            (row, peer) if row == from => return Ok(Some(peer)),
            _ => {}
        }
        let peer = self.peer(common, from)?;
        self.last_source = (from, peer);
        Ok(Some(peer))
    }

    /// Rows of the address vector may have other peers now.
    pub(crate) fn forget_source(&mut self) {
        self.last_source = (FI_ADDR_UNSPEC, PeerId(0));
    }

    /// Peeks or claims, as the flags say, which tagged receives may.
    #[inline(never)]
    fn peek_or_claim(&mut self, common: &mut Common, receive: &Receive<'_>) -> Result<(), isize> {
        if !receive.tagged {
            return Err(-(FI_EINVAL as isize));
        }
        if receive.flags & FI_PEEK == 0 {
            return self.claim(common, receive);
        }
        let source = self.source(common, receive.from)?;
        self.peek(common, receive, source);
        Ok(())
    }

    #[inline(never)]
    fn receive_untagged(
        &mut self,
        common: &mut Common,
        receive: &Receive<'_>,
        source: Option<PeerId>,
    ) {
        let key = self.posts.insert(self.new_post(receive, source, CommId(0)));
        self.posts_ever += 1;
        if let Some(usage) = &mut self.usage {
            usage.posted_untagged(self.posts[key].criteria().selector.class());
        }
        self.post_untagged(common, key);
    }

    #[inline(always)]
    fn new_post(&self, receive: &Receive<'_>, source: Option<PeerId>, comm: CommId) -> Post {
        Post {
            context: receive.context,
            buffers: Buffers::new(receive.iov),
            bits: receive.tag,
            ignore: if receive.tagged {
                receive.ignore
            } else {
                u64::MAX
            },
            used: 0,
            comm,
            source,
            tagged: receive.tagged,
            multi: !receive.tagged && receive.flags & FI_MULTI_RECV != 0,
            completes: receive.completes,
            number: self.posts_ever,
            waiting: true,
            transfers: 0,
            since_ms: 0,
        }
    }

    /// The communicator of bits and mask by the rule. The rule may change for it.
    #[inline(always)]
    fn communicator(&mut self, common: &mut Common, bits: u64, ignore: u64) -> CommId {
        match self.rule.receive_alike(bits, ignore) {
            Some(comm) => comm,
            None => self.communicator_anew(common, bits, ignore),
        }
    }

    #[inline(never)]
    fn communicator_anew(&mut self, common: &mut Common, bits: u64, ignore: u64) -> CommId {
        if !self.all_bits && self.rule.has_new_protocol(ignore) {
            self.rebuild(common, Some(Rule::with_protocol(ignore)));
        }
        if !self.all_bits {
            match self.rule.receive(bits, ignore) {
                Some(comm) => return comm,
                None => self.rebuild(common, None),
            }
        }
        CommId(0)
    }

    /// Gives a receive to the matcher.
    pub(super) fn post_to_matcher(&mut self, key: usize) {
        self.matcher
            .post(RecvKey(key as u32), &self.posts[key].criteria());
        self.unsettled = true;
        self.note_posted(key);
    }

    /// Counts a receive that the matcher got.
    #[inline(always)]
    pub(super) fn note_posted(&mut self, key: usize) {
        self.posted_now += 1;
        if self.notes
            && let Some(usage) = &mut self.usage
        {
            let post = &mut self.posts[key];
            usage.posted(post.comm, post.criteria().selector.class(), post.number);
            usage.stamp(&mut post.since_ms);
        }
    }

    /// Counts receives that left the posted queue, which was longest before.
    #[inline(always)]
    pub(super) fn count_left(&mut self, receives: u64) {
        self.totals.posted_high = self.totals.posted_high.max(self.posted_now);
        self.posted_now -= receives;
    }

    /// The envelope of a message by the rule. `None`: the rule does not apply.
    #[inline(always)]
    pub(super) fn header(&mut self, bits: u64, peer: PeerId) -> Option<MessageHeader> {
        let (comm, tag) = match self.all_bits {
            true => Default::default(),
            false => self.rule.message(bits)?,
        };
        Some(MessageHeader {
            bits,
            envelope: Envelope {
                comm,
                source: rank_of(peer),
                tag,
            },
        })
    }

    /// Gives a message to the matcher.
    pub(super) fn arrive_at_matcher(&mut self, key: usize) {
        self.matcher
            .arrive(MsgKey(key as u32), &self.messages[key].header);
        self.unsettled = true;
        self.note_arrived(key);
    }

    /// Counts a message that the matcher got.
    #[inline(always)]
    pub(super) fn note_arrived(&mut self, key: usize) {
        self.unexpected_now += 1;
        if let Some(usage) = &mut self.usage {
            let message = &mut self.messages[key];
            usage.arrived(message.header.envelope.comm, message.length, message.number);
            usage.stamp(&mut message.since_ms);
        }
    }

    /// Settles the matcher and executes its decisions.
    #[inline]
    pub(super) fn settle(&mut self, common: &mut Common) -> Option<usize> {
        if !self.unsettled {
            return None;
        }
        self.unsettled = false;
        let mut verdicts = std::mem::take(&mut self.verdicts);
        self.matcher.settle(&mut verdicts);
        let mut probed = None;
        // Draining the list costs more than one decision.
        for &verdict in &verdicts {
            match verdict {
                Verdict::Matched { recv, msg, late } => {
                    self.matched_in_batch(common, recv.0 as usize, msg.0 as usize, late);
                }
                Verdict::Cancelled(recv) => self.cancelled(common, recv.0 as usize),
                Verdict::Probed { found } => probed = found.map(|msg| msg.0 as usize),
                Verdict::Posted(recv) => self.log_posted(recv.0 as usize, None),
                Verdict::Unexpected(msg) => self.log_arrived(msg.0 as usize, None),
            }
        }
        verdicts.clear();
        self.verdicts = verdicts;
        self.totals.unexpected_high = self.totals.unexpected_high.max(self.unexpected_now);
        if let Some(usage) = &mut self.usage {
            usage.settled(self.posted_now, self.unexpected_now);
        }
        probed
    }

    pub(super) fn matched(&mut self, common: &mut Common, recv: usize, msg: usize, late: bool) {
        self.matched_in_batch(common, recv, msg, late);
    }

    #[inline(always)]
    fn matched_in_batch(&mut self, common: &mut Common, recv: usize, msg: usize, late: bool) {
        if self.log.is_some() {
            let (recv_number, msg_number) = (self.posts[recv].number, self.messages[msg].number);
            match late {
                true => self.log_posted(recv, Some(msg_number)),
                false => self.log_arrived(msg, Some(recv_number)),
            }
        }
        self.count_left(1);
        self.unexpected_now -= 1;
        self.totals.late += u64::from(late);
        if let Some(usage) = &mut self.usage {
            let (criteria, message) = (self.posts[recv].criteria(), &self.messages[msg]);
            usage.count_match(&criteria, &message.header, message.peer, late);
        }
        self.deliver(common, recv, msg);
    }

    pub(super) fn log_posted(&mut self, recv: usize, matched: Option<u64>) {
        if let (Some(log), Some(post)) = (&mut self.log, self.posts.get(recv)) {
            let (recv, size) = (post.number, post.capacity());
            log.write(Entry::Posted {
                recv,
                criteria: &post.criteria(),
                size,
                matched,
            });
        }
    }

    pub(super) fn log_arrived(&mut self, msg: usize, matched: Option<u64>) {
        if let (Some(log), Some(message)) = (&mut self.log, self.messages.get(msg)) {
            let (msg, header, bytes) = (message.number, &message.header, message.length);
            log.write(Entry::Arrived {
                msg,
                header,
                bytes,
                matched,
            });
        }
    }

    fn cancelled(&mut self, common: &mut Common, recv: usize) {
        if let Some(log) = &mut self.log {
            log.write(Entry::Cancelled {
                recv: self.posts[recv].number,
            });
        }
        self.count_left(1);
        if let Some(usage) = &mut self.usage {
            usage.cancelled(self.posts[recv].comm);
        }
        self.end_cancelled(common, recv);
    }

    pub(super) fn end_cancelled(&mut self, common: &mut Common, recv: usize) {
        let post = self.posts.remove(recv);
        let kind = if post.tagged { FI_TAGGED } else { FI_MSG };
        let mut completion = Completion::new(post.context, FI_RECV | kind).failed(FI_ECANCELED);
        completion.entry.tag = post.bits;
        self.totals.cancels += 1;
        self.received(common, completion, true);
    }

    /// Cancels the receive with this context.
    pub(crate) fn cancel(
        &mut self,
        common: &mut Common,
        context: *mut c_void,
    ) -> Result<(), isize> {
        self.settle(common);
        let oldest = self
            .posts
            .iter()
            .filter(|(_, post)| post.waiting && post.context == context)
            .min_by_key(|(_, post)| post.number);
        let Some((key, post)) = oldest else {
            return Err(-(FI_ENOENT as isize));
        };
        if post.tagged {
            let criteria = post.criteria();
            self.matcher.cancel(RecvKey(key as u32), &criteria);
            self.unsettled = true;
            self.settle(common);
        } else {
            let moving = post.transfers > 0;
            self.untagged_posts.retain(|&other| other != key);
            if moving {
                self.posts[key].waiting = false;
                self.cancelled.push(key);
            } else {
                self.end_cancelled(common, key);
            }
        }
        Ok(())
    }

    /// Looks for an unexpected message. The answer is a completion.
    fn peek(&mut self, common: &mut Common, receive: &Receive<'_>, source: Option<PeerId>) {
        self.totals.peeks += 1;
        self.progress(common);
        let take = receive.flags & (FI_CLAIM | FI_DISCARD) != 0;
        let found = self.peek_tagged(common, receive, source, take);
        let mut completion = Completion::new(receive.context, FI_RECV | FI_TAGGED);
        self.note_probe(receive, source, found.is_some());
        let Some(key) = found else {
            self.totals.empty_peeks += 1;
            completion.entry.tag = receive.tag;
            return self.received(common, completion.failed(FI_ENOMSG), true);
        };
        let message = &self.messages[key];
        completion.entry.len = message.length;
        completion.entry.tag = message.header.bits;
        if let Some(data) = message.data {
            completion.entry.data = data;
            completion.entry.flags |= FI_REMOTE_CQ_DATA;
        }
        completion.from = self.from(message.peer);
        if receive.flags & FI_CLAIM != 0 {
            self.messages[key].waiting = false;
            self.claimed.insert(receive.context as usize, key);
        } else if receive.flags & FI_DISCARD != 0 {
            self.discard(key);
        }
        self.received(common, completion, true);
    }

    fn peek_tagged(
        &mut self,
        common: &mut Common,
        receive: &Receive<'_>,
        source: Option<PeerId>,
        take: bool,
    ) -> Option<usize> {
        if self.unexpected_now == 0 {
            // The common case: programs poll.
            return None;
        }
        let (bits, ignore) = (receive.tag, receive.ignore);
        let comm = self.communicator(common, bits, ignore);
        let criteria = Criteria {
            bits,
            ignore,
            comm,
            selector: selector(bits, ignore, source),
        };
        self.matcher.probe(&criteria, take);
        self.unsettled = true;
        let found = self.settle(common);
        if let Some(log) = &mut self.log {
            let found = found.map(|key| self.messages[key].number);
            log.write(Entry::Probe {
                criteria: &criteria,
                take,
                found,
            });
        }
        let taken = take && found.is_some();
        self.unexpected_now -= u64::from(taken);
        if let Some(usage) = &mut self.usage {
            usage.probed(criteria.comm, taken);
        }
        found
    }

    /// Receives or drops a message that was peeked at and claimed.
    fn claim(&mut self, common: &mut Common, receive: &Receive<'_>) -> Result<(), isize> {
        let key = self
            .claimed
            .remove(&(receive.context as usize))
            .ok_or(-(FI_EINVAL as isize))?;
        if receive.flags & FI_DISCARD != 0 {
            let message = &self.messages[key];
            let mut completion = Completion::new(receive.context, FI_RECV | FI_TAGGED);
            completion.entry.tag = message.header.bits;
            self.discard(key);
            self.received(common, completion, receive.completes);
            return Ok(());
        }
        let recv = self.posts.insert(self.new_post(receive, None, CommId(0)));
        self.posts_ever += 1;
        self.deliver(common, recv, key);
        Ok(())
    }

    /// Drops a message that has left its queue.
    fn discard(&mut self, key: usize) {
        let message = self.messages.remove(key);
        if let Some(cookie) = message.cookie {
            self.put_or_queue(
                message.connection,
                Record {
                    cookie,
                    ..Record::new(Kind::Fin)
                },
            );
        }
    }

    /// An untagged receive: takes a waiting message, or waits itself.
    fn post_untagged(&mut self, common: &mut Common, key: usize) {
        let source = self.posts[key].source;
        while let Some(at) = self
            .untagged_messages
            .iter()
            .position(|&message| source.is_none_or(|source| self.messages[message].peer == source))
        {
            let Some(message) = self.untagged_messages.remove(at) else {
                break;
            };
            let multi = self.posts[key].multi;
            self.posts[key].waiting = multi;
            self.deliver(common, key, message);
            if !self.posts.get(key).is_some_and(|post| post.waiting) {
                return;
            }
        }
        self.untagged_posts.push_back(key);
    }

    /// An untagged message: goes to the oldest receive that accepts it, or waits.
    pub(super) fn arrive_untagged(&mut self, common: &mut Common, key: usize) {
        self.totals.untagged += 1;
        let peer = self.messages[key].peer;
        let at = self
            .untagged_posts
            .iter()
            .position(|&post| self.posts[post].source.is_none_or(|source| source == peer));
        if let Some(usage) = &mut self.usage {
            usage.untagged(self.messages[key].length, at.is_none());
        }
        let Some(at) = at else {
            return self.untagged_messages.push_back(key);
        };
        let recv = self.untagged_posts[at];
        let multi = self.posts[recv].multi;
        self.posts[recv].waiting = multi;
        self.deliver(common, recv, key);
        if !self.posts.get(recv).is_some_and(|post| post.waiting) {
            self.untagged_posts.remove(at);
        }
    }

    /// Copies this round's unexpected messages out of the links' memory.
    pub(super) fn hold_batch(&mut self) {
        for key in self.batch.drain(..) {
            if let Some(message) = self.messages.get_mut(key)
                && matches!(message.body, Body::InLink(_))
            {
                message.hold();
            }
        }
    }
}

/// What a message carries to which no rule applies: it is untagged, or will be asked again.
pub(super) fn untranslated(bits: u64) -> MessageHeader {
    MessageHeader {
        bits,
        envelope: Envelope::default(),
    }
}

/// Posts a receive with a wildcard immediately. A separate function that takes what the caller has
/// in registers: a receive without wildcards then pays nothing for it.
#[inline(never)]
fn post_wildcard_now(
    nic: &mut NicMatcher,
    recv: RecvKey,
    comm: CommId,
    bits: u64,
    ignore: u64,
    source: Option<PeerId>,
) -> DirectResult<MsgKey> {
    nic.post_now(recv, comm, selector(bits, ignore, source))
}
