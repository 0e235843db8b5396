//! A stream of bytes to one peer over the inner endpoint, in frames.
//!
//! The two sides of a TCP connection exchange cards once the caller has proved that it knows the
//! key: the name of the inner endpoint, a number for this channel, and a token that no other
//! process knows. Each frame then carries the receiver's number and token, its place in the order,
//! and the number of buffers that its sender has freed. The socket stays: it reports a lost peer,
//! and the number of the last frame where a peer ends in good order.
//!
//! A side sends no frame without a buffer at the peer. The last of these credits is kept for a
//! frame that carries credits alone, so two sides that both have much to send cannot stop each
//! other.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use siphasher::sip::SipHasher24;
use slab::Slab;

use super::address::{array, random};
use super::inner::{Ended, FRAME, InnerEndpoint, NAME_MAX, WINDOW};
use crate::bindings::FiAddr;
use crate::core_library::CoreLibrary;

/// Bytes of a frame's head: token, sequence number, channel, credits.
const HEAD: usize = 24;
/// Bytes of a card: token, channel, length of the name, name.
pub(super) const CARD: usize = 16 + NAME_MAX;
/// Freed buffers from which on a frame is sent for them alone.
const GIVE_BACK: usize = WINDOW / 2;

/// What a side sends about its end.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Card {
    token: u64,
    channel: u32,
    name: Vec<u8>,
}

impl Card {
    fn to_bytes(&self) -> [u8; CARD] {
        let mut bytes = [0; CARD];
        bytes[..8].copy_from_slice(&self.token.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.channel.to_ne_bytes());
        bytes[12..16].copy_from_slice(&(self.name.len() as u32).to_ne_bytes());
        bytes[16..16 + self.name.len()].copy_from_slice(&self.name);
        bytes
    }

    /// `None`: the name has not this length.
    fn from_bytes(bytes: &[u8; CARD], length: usize) -> Option<Self> {
        let given = u32::from_ne_bytes(array(&bytes[12..16])) as usize;
        (given == length).then(|| Self {
            token: u64::from_ne_bytes(array(&bytes[..8])),
            channel: u32::from_ne_bytes(array(&bytes[8..12])),
            name: bytes[16..16 + length].to_vec(),
        })
    }
}

/// The other end.
#[derive(Debug)]
struct Peer {
    row: FiAddr,
    channel: u32,
    token: u64,
}

/// This end.
#[derive(Debug)]
struct End {
    token: u64,
    /// `None`: its card has not come.
    peer: Option<Peer>,
    /// The connection to notify of what has come.
    connection: Option<usize>,
    /// Frames that were sent, and that have come.
    sent: u64,
    got: u64,
    /// Buffers at the peer.
    credits: usize,
    /// Buffers that are free again, of which the peer does not know.
    unreturned: usize,
    /// Sends that have not ended.
    in_flight: usize,
    /// Frames with data that were not taken: buffer and bytes.
    waiting: VecDeque<(usize, usize)>,
    /// Bytes wait for credits, buffers or the provider.
    stalled: bool,
    /// It is in the list of what has news.
    is_notified: bool,
    failed: bool,
}

/// The inner endpoint with the channels over it.
#[derive(Debug)]
pub(crate) struct Inner {
    endpoint: InnerEndpoint,
    ends: Slab<End>,
    /// The channel of each send that has not ended, by buffer.
    owners: Vec<Option<usize>>,
    /// Channels with news.
    news: Vec<usize>,
    ended: Vec<Ended>,
    /// The provider has given an error that is not one operation's.
    broken: bool,
    mark: u32,
}

/// The endpoint and its links share it. One thread at a time is in a domain, so nobody waits.
#[derive(Clone, Debug)]
pub(crate) struct SharedInner(Arc<Mutex<Inner>>);

impl SharedInner {
    /// Opens an inner endpoint of this provider.
    ///
    /// # Errors
    /// A text that names the cause.
    pub(crate) fn open(library: CoreLibrary, provider: &str, at: IpAddr) -> Result<Self, String> {
        let endpoint = InnerEndpoint::open(library, provider, at)?;
        Ok(Self(Arc::new(Mutex::new(Inner {
            endpoint,
            ends: Slab::new(),
            owners: Vec::new(),
            news: Vec::new(),
            ended: Vec::new(),
            broken: false,
            mark: mark(provider),
        }))))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number that represents the provider's name in a hello. A TCP stream has 0.
    pub(crate) fn mark(&self) -> u32 {
        self.lock().mark
    }

    /// Makes progress, and replaces the list by the connections with news.
    pub(crate) fn progress(&self, news: &mut Vec<usize>) {
        let mut inner = self.lock();
        inner.progress();
        news.clear();
        while let Some(channel) = inner.news.pop() {
            if let Some(end) = inner.ends.get_mut(channel) {
                end.is_notified = false;
                news.extend(end.connection);
            }
        }
    }
}

/// The mark of a provider's name: not 0, and the same on all machines.
fn mark(provider: &str) -> u32 {
    SipHasher24::new_with_keys(0, 0).hash(provider.as_bytes()) as u32 | 1
}

impl Inner {
    fn notify(&mut self, channel: usize) {
        if let Some(end) = self.ends.get_mut(channel)
            && !std::mem::replace(&mut end.is_notified, true)
        {
            self.news.push(channel);
        }
    }

    fn progress(&mut self) {
        if self.ends.is_empty() {
            return;
        }
        let mut ended = std::mem::take(&mut self.ended);
        let polled = self.endpoint.poll(&mut ended);
        for end in ended.drain(..) {
            match end {
                Ended::Received { number, length } => self.take_in(number, length),
                Ended::Sent { number, good } => self.send_ended(number, good),
            }
        }
        self.ended = ended;
        let posted = polled.and_then(|()| self.endpoint.post());
        if let Err(error) = posted
            && !std::mem::replace(&mut self.broken, true)
        {
            let why = std::io::Error::from_raw_os_error(error);
            crate::report(&format!("the inner endpoint has failed: {why}"));
        }
        if self.broken {
            let all: Vec<_> = self.ends.iter().map(|(channel, _)| channel).collect();
            for channel in all {
                self.ends[channel].failed = true;
                self.notify(channel);
            }
        }
    }

    /// A send has ended.
    fn send_ended(&mut self, number: usize, good: bool) {
        self.endpoint.give_back(number);
        let Some(channel) = self.owners[number].take() else {
            return;
        };
        let end = &mut self.ends[channel];
        end.in_flight -= 1;
        end.failed |= !good;
        if end.stalled || end.failed {
            self.notify(channel);
        }
    }

    /// A frame has come. What is none of a channel's is dropped.
    fn take_in(&mut self, number: usize, length: usize) {
        let mut head = [0; HEAD];
        if length >= HEAD {
            let start = self.endpoint.buffer(number);
            // SAFETY: the buffer holds that many bytes, and the provider has done with it.
            unsafe { head.as_mut_ptr().copy_from_nonoverlapping(start, HEAD) };
        }
        let token = u64::from_ne_bytes(array(&head[..8]));
        let sequence = u64::from_ne_bytes(array(&head[8..16]));
        let channel = u32::from_ne_bytes(array(&head[16..20])) as usize;
        let credits = u32::from_ne_bytes(array(&head[20..])) as usize;
        let is_its = |end: &&mut End| length >= HEAD && end.token == token;
        let Some(end) = self.ends.get_mut(channel).filter(is_its) else {
            self.endpoint.repost(number);
            return;
        };
        let fits = credits <= WINDOW - end.credits && end.waiting.len() < WINDOW;
        if sequence != end.got || !fits || end.failed {
            end.failed = true;
            self.endpoint.repost(number);
            return self.notify(channel);
        }
        end.got += 1;
        end.credits += credits;
        let tells = length > HEAD || end.stalled;
        if length > HEAD {
            end.waiting.push_back((number, length));
        } else {
            end.unreturned += 1;
            self.endpoint.repost(number);
            self.return_credits(channel);
        }
        if tells {
            self.notify(channel);
        }
    }

    /// Returns credits for freed buffers, if they are many.
    fn return_credits(&mut self, channel: usize) {
        if self.ends[channel].unreturned >= GIVE_BACK {
            self.send(channel, &[], 1);
        }
    }

    /// Sends a frame with the beginning of these bytes if there are `least` credits. Returns how
    /// many bytes it has taken.
    fn send(&mut self, channel: usize, bytes: &[u8], least: usize) -> usize {
        let end = &mut self.ends[channel];
        let Some(peer) = &end.peer else { return 0 };
        if end.failed || end.credits < least || end.in_flight >= WINDOW {
            return 0;
        }
        let Some(number) = self.endpoint.take_idle() else {
            return 0;
        };
        let taken = bytes.len().min(FRAME - HEAD);
        let mut head = [0; HEAD];
        head[..8].copy_from_slice(&peer.token.to_ne_bytes());
        head[8..16].copy_from_slice(&end.sent.to_ne_bytes());
        head[16..20].copy_from_slice(&peer.channel.to_ne_bytes());
        head[20..].copy_from_slice(&(end.unreturned as u32).to_ne_bytes());
        let start = self.endpoint.buffer(number);
        // SAFETY: a free buffer of `FRAME` bytes, which no operation uses.
        unsafe {
            start.copy_from_nonoverlapping(head.as_ptr(), HEAD);
            start
                .add(HEAD)
                .copy_from_nonoverlapping(bytes.as_ptr(), taken);
        }
        match self.endpoint.send(number, HEAD + taken, peer.row) {
            Ok(true) => {
                end.sent += 1;
                end.credits -= 1;
                end.unreturned = 0;
                end.in_flight += 1;
                if self.owners.len() <= number {
                    self.owners.resize(number + 1, None);
                }
                self.owners[number] = Some(channel);
                taken
            }
            other => {
                end.failed |= other.is_err();
                self.endpoint.give_back(number);
                0
            }
        }
    }
}

/// The state of a channel after a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SendOutcome {
    /// All bytes, and all sends have ended.
    All,
    /// All bytes, and some sends have not ended; or not all bytes.
    Pending,
    Failed,
}

/// One end of a channel.
#[derive(Debug)]
pub(super) struct Channel {
    inner: SharedInner,
    number: usize,
}

impl Channel {
    /// # Errors
    /// [`Errno::NOMEM`], after one line that names the cause; or there are no random numbers.
    pub(super) fn open(inner: &SharedInner) -> Result<Self, Errno> {
        let token = u64::from_ne_bytes(random()?);
        let mut own = inner.lock();
        let count = own.ends.len() + 1;
        if let Err(why) = own.endpoint.make_room(count) {
            crate::report(&format!("no connection over the inner provider: {why}"));
            return Err(Errno::NOMEM);
        }
        let number = own.ends.insert(End {
            token,
            peer: None,
            connection: None,
            sent: 0,
            got: 0,
            credits: WINDOW,
            unreturned: 0,
            in_flight: 0,
            waiting: VecDeque::new(),
            stalled: false,
            is_notified: false,
            failed: false,
        });
        drop(own);
        let inner = inner.clone();
        Ok(Self { inner, number })
    }

    /// What the peer needs to send to this end.
    pub(super) fn card(&self) -> [u8; CARD] {
        let inner = self.inner.lock();
        Card {
            token: inner.ends[self.number].token,
            channel: self.number as u32,
            name: inner.endpoint.name().to_vec(),
        }
        .to_bytes()
    }

    /// Takes the peer's card. `None`: it is none.
    pub(super) fn set_peer(&self, card: &[u8; CARD]) -> Option<()> {
        let mut inner = self.inner.lock();
        let Card {
            token,
            channel,
            name,
        } = Card::from_bytes(card, inner.endpoint.name().len())?;
        let row = inner.endpoint.insert(&name)?;
        inner.ends[self.number].peer = Some(Peer {
            row,
            channel,
            token,
        });
        Some(())
    }

    /// The connection that gets the news of this channel.
    pub(super) fn set_connection(&self, connection: usize) {
        let mut inner = self.inner.lock();
        inner.ends[self.number].connection = Some(connection);
        inner.notify(self.number);
    }

    /// Sends bytes from `sent` on, as far as there is room.
    pub(super) fn send(&self, bytes: &[u8], sent: &mut usize) -> SendOutcome {
        let mut inner = self.inner.lock();
        while *sent < bytes.len() {
            // The last credit is for credits.
            match inner.send(self.number, &bytes[*sent..], 2) {
                0 => break,
                taken => *sent += taken,
            }
        }
        inner.return_credits(self.number);
        let end = &mut inner.ends[self.number];
        end.stalled = *sent < bytes.len();
        match (end.failed, end.stalled || end.in_flight > 0) {
            (true, _) => SendOutcome::Failed,
            (false, true) => SendOutcome::Pending,
            (false, false) => SendOutcome::All,
        }
    }

    /// Moves the bytes that have come to the end of the list, up to `most` bytes in it. Returns
    /// whether there were any; others may wait.
    pub(super) fn take(&self, into: &mut Vec<u8>, most: usize) -> bool {
        let mut guard = self.inner.lock();
        let inner = &mut *guard;
        let end = &mut inner.ends[self.number];
        let mut any = false;
        while let Some(&(number, length)) = end.waiting.front() {
            if into.len() + length - HEAD > most {
                break;
            }
            end.waiting.pop_front();
            end.unreturned += 1;
            // SAFETY: the frame's bytes after its head; the provider has done with the buffer.
            let bytes = unsafe {
                let start = inner.endpoint.buffer(number).add(HEAD);
                std::slice::from_raw_parts(start, length - HEAD)
            };
            into.extend_from_slice(bytes);
            inner.endpoint.repost(number);
            any = true;
        }
        if any {
            // The next progress notices an error.
            let _ = inner.endpoint.post();
            inner.return_credits(self.number);
        }
        any
    }

    /// Frames that wait to be taken.
    pub(super) fn has_waiting(&self) -> bool {
        !self.inner.lock().ends[self.number].waiting.is_empty()
    }

    /// Frames that were sent.
    pub(super) fn sent(&self) -> u64 {
        self.inner.lock().ends[self.number].sent
    }

    /// Frames that were taken or wait to be.
    pub(super) fn got(&self) -> u64 {
        self.inner.lock().ends[self.number].got
    }

    pub(super) fn has_failed(&self) -> bool {
        self.inner.lock().ends[self.number].failed
    }

    /// Makes progress with all channels.
    pub(super) fn progress(&self) {
        self.inner.lock().progress();
    }
}

impl Drop for Channel {
    /// Its buffers stay for the next one. A send that has not ended keeps its own until then.
    fn drop(&mut self) {
        let mut guard = self.inner.lock();
        let inner = &mut *guard;
        let end = inner.ends.remove(self.number);
        for (number, _) in end.waiting {
            inner.endpoint.repost(number);
        }
        for owner in &mut inner.owners {
            owner.take_if(|owner| *owner == self.number);
        }
        if let (0, Some(peer)) = (end.in_flight, end.peer) {
            inner.endpoint.remove(peer.row);
        }
    }
}
