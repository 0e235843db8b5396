//! The wire without matching: takes messages out of the completion queues, in each queue's order.
//!
//! For measurements: the cost of senders, queue and bounce buffers alone, and of another matching
//! engine on the same wire. It uses nothing of the NIC but its completion queues.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::event::RemoteData;
use crate::boundary;
use crate::completion_queue::CompletionQueue;
use crate::message::{Protocol, inline_bytes};
use crate::number::QueueId;
use crate::region::RegionKey;
use crate::{Envelope, Leader};

/// A message's data in the NIC.
#[derive(Debug)]
pub enum Data<'a> {
    /// Eager: the whole payload, in the entry or in the bounce buffer.
    Eager(&'a [u8]),
    /// Rendezvous: still at the sender.
    Rendezvous(RemoteData),
}

/// Takes messages out of the completion queues without matching them.
#[derive(Debug)]
pub struct Drain {
    leader: Leader,
    /// How far the drain has emptied each queue.
    fronts: Box<[Front]>,
    /// The queue that the drain empties now.
    turn: QueueId,
}

#[derive(Debug)]
struct Front {
    queue: Arc<CompletionQueue>,
    /// The next message.
    head: u64,
    /// Positions below are released.
    released: u64,
}

/// Messages taken between two releases: as many as the paper's blocks have.
const RELEASE_EVERY: u64 = 32;

impl Front {
    fn is_ready(&self) -> bool {
        self.queue.ring.stamp_if_ready(self.head).is_some()
    }

    /// Releases the entries taken. Returns whether there were any.
    fn release(&mut self) -> bool {
        let any = self.released != self.head;
        if any {
            self.released = self.head;
            self.queue.ring.release(self.head);
        }
        any
    }
}

/// Messages taken since `head` was written; its drop advances `head`, even if the caller panics.
struct HeadGuard<'a> {
    head: &'a mut u64,
    count: usize,
}

impl Drop for HeadGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        *self.head += self.count as u64;
    }
}

impl Drain {
    /// Replaces the leader, whose tables stay as they are. Senders see a stopped NIC once the drain
    /// is dropped.
    pub fn new(leader: Leader) -> Self {
        let arrivals = &leader.shared.arrivals;
        let front = |(queue, front): (usize, &boundary::Front)| {
            let (queue, head) = (arrivals.share(QueueId(queue)), front.head);
            Front {
                queue,
                head,
                released: head,
            }
        };
        let fronts = leader
            .boundary
            .fronts
            .iter()
            .enumerate()
            .map(front)
            .collect();
        Self {
            leader,
            fronts,
            turn: QueueId::FIRST,
        }
    }

    /// Passes the next message to `take`; `None` if there is none now.
    #[inline]
    pub fn next<R>(&mut self, take: impl FnOnce(Envelope, Data<'_>) -> R) -> Option<R> {
        let (mut take, mut taken) = (Some(take), None);
        self.take_waiting(1, |envelope, data| {
            taken = take.take().map(|take| take(envelope, data));
        });
        taken
    }

    /// Passes the waiting messages of one queue to `take`, at most `most`. Returns their number.
    /// Faster than [`next`](Self::next) if many wait.
    #[inline]
    pub fn take_waiting(&mut self, most: usize, mut take: impl FnMut(Envelope, Data<'_>)) -> usize {
        if !self.fronts[self.turn.0].is_ready() && !self.find_queue() {
            return 0;
        }
        let Front {
            queue,
            head,
            released,
        } = &mut self.fronts[self.turn.0];
        let most = most
            .min(RELEASE_EVERY as usize)
            .min(queue.ring.until_end(*head));
        let entries = queue.ring.span(*head, most);
        let mut taken = HeadGuard { head, count: 0 };
        while entries.is_ready(taken.count) {
            let place = taken.count;
            // SAFETY: just seen ready; the drain releases the entry only later.
            let entry = unsafe { entries.peek(place) };
            // Counted before `take`, which may panic: each message is passed on once.
            taken.count += 1;
            if fault!(DrainReleasedInUse) {
                queue.ring.release(entries.position(taken.count));
            }
            match entry.protocol {
                Protocol::Inline => {
                    take(
                        entry.envelope,
                        Data::Eager(inline_bytes(&entry.payload, entry.length)),
                    );
                }
                Protocol::Buffered => {
                    let buffer = queue.bounce_buffer(entries.position(place));
                    let all = |bytes: &[u8]| take(entry.envelope, Data::Eager(bytes));
                    // SAFETY: the bounce buffer belongs to this entry until its release.
                    unsafe { queue.bounce.read(buffer, entry.length as usize, all) };
                }
                Protocol::Rendezvous => {
                    let data = RemoteData::new(&self.leader.shared, RegionKey(entry.payload[0]));
                    take(entry.envelope, Data::Rendezvous(data));
                }
            }
        }
        let count = taken.count;
        drop(taken);
        if *head - *released >= RELEASE_EVERY {
            self.next_queue();
        }
        count
    }

    /// Releases the entries taken of this queue and moves to the next queue.
    #[inline(never)]
    fn next_queue(&mut self) {
        self.fronts[self.turn.0].release();
        self.turn = self.turn.next_of(self.leader.shared.arrivals.in_use());
    }

    /// Moves to the next queue with a message; `false` if there is none. It releases what was taken
    /// and then checks each queue once more, as `HostPort::poll` does.
    #[inline(never)]
    fn find_queue(&mut self) -> bool {
        let queues = self.leader.shared.arrivals.in_use();
        let mut left = queues;
        while left > 0 {
            left = if self.fronts[self.turn.0].release() {
                queues
            } else {
                left - 1
            };
            self.turn = self.turn.next_of(queues);
            if self.fronts[self.turn.0].is_ready() {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::{CommId, Nic, NicConfig, Rank, SendError, Tag};

    fn envelope(tag: u32) -> Envelope {
        let tag = Tag::new(tag).expect("a tag");
        Envelope {
            comm: CommId(0),
            source: Rank::new(1).expect("a rank"),
            tag,
        }
    }

    /// A NIC with small tables, which the drain does not use.
    fn small() -> NicConfig {
        NicConfig {
            receives: 1,
            bins: 1,
            communicators: 1,
            unexpected: 1,
            unexpected_buffers: 1,
            ..NicConfig::default()
        }
    }

    #[test]
    fn messages_come_in_order_with_their_data() {
        let config = NicConfig {
            completion_queue: 64,
            bounce_buffers: 64,
            eager_limit: 4096,
            ..small()
        };
        let nic = Nic::new(&config).expect("a NIC");
        let (mut drain, mut sender) = (Drain::new(nic.leader), nic.sender);
        assert!(drain.next(|_, _| ()).is_none());
        let messages = if cfg!(miri) { 8 } else { 1000 };
        for i in 0..messages {
            // Round robin: empty, in the entry, in a bounce buffer, at the sender.
            let length = [0, 8, 300, 5000][i as usize % 4];
            let bytes = alloc::vec![i as u8; length];
            let request = if length <= 4096 {
                sender.try_send(envelope(i), &bytes, 0).expect("room");
                None
            } else {
                Some(
                    sender
                        .try_send_rendezvous(envelope(i), bytes.clone(), 0)
                        .expect("room"),
                )
            };
            let mut target = alloc::vec![0; length];
            let seen = drain.next(|envelope, data| {
                match data {
                    Data::Eager(eager) => target.copy_from_slice(eager),
                    Data::Rendezvous(remote) => assert_eq!(remote.read(&mut target), Some(length)),
                }
                envelope
            });
            assert_eq!(seen, Some(envelope(i)));
            assert_eq!(target, bytes);
            if let Some(mut request) = request {
                assert_eq!(request.test(), Some(Ok(bytes)), "the sender is released");
            }
        }
    }

    /// Messages of many lengths, three at a time, over many passes of a short ring: with a power of
    /// two of bounce buffers and without.
    #[test]
    fn a_short_queue_never_mixes_its_passes() {
        for bounce_buffers in [8, 3] {
            let sizes = NicConfig {
                handlers: 8,
                completion_queue: 8,
                eager_limit: 600,
                ..small()
            };
            let config = NicConfig {
                bounce_buffers,
                ..sizes
            };
            let nic = Nic::new(&config).expect("a NIC");
            let (mut drain, mut sender) = (Drain::new(nic.leader), nic.sender);
            let bytes = |number: u32| -> alloc::vec::Vec<u8> {
                let length = if number < 60 {
                    number % 30
                } else {
                    number * 7 % 601
                };
                (0..length).map(|at| (at * 3 + number) as u8).collect()
            };
            for first in (0..if cfg!(miri) { 66 } else { 660 }).step_by(3) {
                for number in first..first + 3 {
                    sender
                        .try_send(envelope(number), &bytes(number), 0)
                        .expect("room");
                }
                let mut taken = alloc::vec::Vec::new();
                while let Some(message) = drain.next(|envelope, data| match data {
                    Data::Eager(eager) => (envelope, eager.to_vec()),
                    Data::Rendezvous(_) => unreachable!("all are eager"),
                }) {
                    taken.push(message);
                }
                let sent = (first..first + 3).map(|number| (envelope(number), bytes(number)));
                assert!(taken.iter().cloned().eq(sent), "from {first}: {taken:?}");
            }
        }
    }

    #[test]
    fn messages_that_wait_are_taken_together() {
        let config = NicConfig {
            completion_queue: 32,
            completion_queues: 2,
            ..small()
        };
        let nic = Nic::new(&config).expect("a NIC");
        let (mut drain, mut first) = (Drain::new(nic.leader), nic.sender);
        let mut second = first.clone();
        let mut seen = alloc::vec::Vec::new();
        let mut take = |drain: &mut Drain, most| {
            let before = seen.len();
            let taken = drain.take_waiting(most, |envelope, _| seen.push(envelope.tag.get()));
            assert_eq!(taken, seen.len() - before);
            taken
        };
        assert_eq!(take(&mut drain, 100), 0);
        for tag in 0..24 {
            first.try_send(envelope(tag), &[], 0).expect("room");
        }
        assert_eq!([5, 100, 100].map(|most| take(&mut drain, most)), [5, 19, 0]);
        // Past the end of the ring, and from both queues.
        for tag in 24..40 {
            first.try_send(envelope(tag), &[], 0).expect("room");
        }
        for tag in 100..103 {
            second.try_send(envelope(tag), &[], 0).expect("room");
        }
        let taken: alloc::vec::Vec<usize> = (0..4).map(|_| take(&mut drain, 100)).collect();
        assert_eq!(taken, [3, 8, 8, 0]);
        let expected = (0..24).chain(100..103).chain(24..40);
        assert_eq!(seen, expected.collect::<alloc::vec::Vec<_>>());
    }

    #[test]
    fn the_queue_is_given_back_and_the_end_is_seen() {
        let config = NicConfig {
            completion_queue: 32,
            ..small()
        };
        let nic = Nic::new(&config).expect("a NIC");
        let (mut drain, mut sender) = (Drain::new(nic.leader), nic.sender);
        let fill = |sender: &mut crate::Sender| {
            (0..).find(|_| sender.try_send(envelope(1), &[], 0).is_err())
        };
        assert_eq!(fill(&mut sender), Some(32));
        while drain.next(|_, _| ()).is_some() {}
        assert_eq!(fill(&mut sender), Some(32));
        drop(drain);
        assert_eq!(
            sender.try_send(envelope(1), &[], 0),
            Err(SendError::Stopped)
        );
    }

    /// Waiting messages; `take` panics at every third.
    #[test]
    fn a_panic_loses_the_message_that_it_meets_and_no_other() {
        let config = NicConfig {
            completion_queue: 64,
            ..small()
        };
        let nic = Nic::new(&config).expect("a NIC");
        let (mut drain, mut sender) = (Drain::new(nic.leader), nic.sender);
        let (mut seen, mut sent) = (alloc::vec::Vec::new(), 0);
        for _ in 0..if cfg!(miri) { 4 } else { 40 } {
            while sender.try_send(envelope(sent), &[], 0).is_ok() {
                sent += 1;
            }
            while (seen.len() as u32) < sent {
                let before = seen.len();
                let taken = catch_unwind(AssertUnwindSafe(|| {
                    drain.take_waiting(100, |envelope, _| {
                        seen.push(envelope.tag.get());
                        assert_ne!(envelope.tag.get() % 3, 1, "this panic is part of the test");
                    })
                }));
                assert!(seen.len() > before, "stuck at {before}: {taken:?}");
            }
        }
        assert!(seen.into_iter().eq(0..sent), "each message once, in order");
    }

    /// A rendezvous message's data have one reader, even if the reader outlives a panic.
    #[test]
    fn a_panic_gives_no_message_to_a_second_reader() {
        let nic = Nic::new(&small()).expect("a NIC");
        let (mut drain, mut sender) = (Drain::new(nic.leader), nic.sender);
        drop(
            sender
                .try_send_rendezvous(envelope(1), alloc::vec![7; 100], 0)
                .expect("room"),
        );
        let mut readers = alloc::vec::Vec::new();
        let first = catch_unwind(AssertUnwindSafe(|| {
            drain.next(|_, data| {
                let Data::Rendezvous(remote) = data else {
                    unreachable!("sent so")
                };
                readers.push(remote);
                panic!("this panic is part of the test");
            })
        }));
        assert!(first.is_err());
        let again = drain.next(|_, _| ());
        assert_eq!((again, readers.len()), (None, 1), "the message came twice");
        assert_eq!(
            readers.pop().and_then(|remote| remote.read(&mut [0; 100])),
            Some(100)
        );
    }
}
